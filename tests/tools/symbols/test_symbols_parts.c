/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables, perf maps, C++ names, and ELF files with invalid sections.
 */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/demangle.h"
#include "symbols/symbols_elf.h"
#include "symbols/symbols_jit.h"
#include "run/elf_file.h"

static char path[] = "/tmp/perf-XXXXXX.map";

static void write_file(const void *data, size_t bytes)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
	ck_assert_int_eq(fclose(file), 0);
}

static void begin(void)
{
	int file = mkstemps(path, 4);

	ck_assert_int_ge(file, 0);
	close(file);
}

static void end(void)
{
	unlink(path);
}

static const char *name_at(const struct symbols_table *table, uint64_t address)
{
	const struct symbols_function *function = symbols_table_find(table, address);

	return function ? function->name : "none";
}

START_TEST(functions_without_a_size_end_at_the_next)
{
	struct symbols_function functions[] = {
		{ 30, 30, "c" }, { 10, 15, "a" }, { 20, 20, "b" }, { UINT64_MAX - 1, 0, "z" }
	};
	struct symbols_table table = { functions, 4, NULL };

	symbols_table_sort(&table);
	ck_assert_uint_eq(table.count, 4);
	ck_assert_str_eq(name_at(&table, 9), "none");
	ck_assert_str_eq(name_at(&table, 10), "a");
	ck_assert_str_eq(name_at(&table, 14), "a");
	ck_assert_str_eq(name_at(&table, 15), "none");
	ck_assert_str_eq(name_at(&table, 20), "b");
	ck_assert_str_eq(name_at(&table, 29), "b");
	ck_assert_str_eq(name_at(&table, 1000), "c");
	ck_assert_str_eq(name_at(&table, UINT64_MAX - 1), "z");
}
END_TEST

START_TEST(alias_with_fewer_underscores_is_kept)
{
	struct symbols_function functions[] = {
		{ 10, 20, "__libc_malloc" }, { 10, 20, "malloc" }, { 10, 12, "local" },
		{ 10, 20, "_malloc" },       { 30, 40, "b" },      { 30, 40, "a" },
	};
	struct symbols_table table = { functions, 6, NULL };

	symbols_table_sort(&table);
	ck_assert_uint_eq(table.count, 2);
	ck_assert_str_eq(name_at(&table, 19), "malloc");
	ck_assert_str_eq(name_at(&table, 30), "a");
}
END_TEST

START_TEST(empty_table_has_nothing)
{
	struct symbols_table table = { NULL, 0, NULL };

	symbols_table_sort(&table);
	ck_assert_ptr_null(symbols_table_find(&table, 0));
}
END_TEST

static const struct {
	const char *name, *readable;
} names[] = {
	{ "", "" },
	{ "main", "main" },
	{ "memcpy@@GLIBC_2.14", "memcpy" },
	{ "work.cold", "work.cold" },
	{ "_Z", "_Z" },
	{ "_Zinvalid", "_Zinvalid" },
	{ "_ZN4deep4leafIiEET_S1_", "int deep::leaf<int>(int)" },
	{ "_ZN4deep4leafIiEET_S1_.constprop.0", "int deep::leaf<int>(int)" },
	{ "_ZN4deep1fEv@@VERSION_1", "deep::f()" },
};

START_TEST(names_of_cxx_are_readable)
{
	char *readable = demangle(names[_i].name);

	ck_assert_str_eq(readable, names[_i].readable);
	free(readable);
}
END_TEST

START_TEST(very_long_names_stay)
{
	static char name[40000] = "_Z";
	char *readable;

	memset(name + 2, '1', sizeof(name) - 3);
	readable = demangle(name);
	ck_assert_str_eq(readable, name);
	free(readable);
}
END_TEST

static void jit(const char *text, struct symbols_table *table)
{
	write_file(text, strlen(text));
	ck_assert(symbols_jit_read(path, table));
}

static void jit_release(struct symbols_table *table)
{
	free(table->functions);
	free(table->names);
}

START_TEST(perf_map_is_recognized_by_its_name)
{
	ck_assert(symbols_jit_is("/tmp/perf-12.map"));
	ck_assert(symbols_jit_is("perf-12.map"));
	ck_assert(!symbols_jit_is("/tmp/perf-12.map/x"));
	ck_assert(!symbols_jit_is("/tmp/libperf.so"));
}
END_TEST

START_TEST(perf_map_later_line_replaces)
{
	struct symbols_table table;

	jit("100 10 old\n200 10 other one\n100 20 new\n0x300 5 prefixed", &table);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_str_eq(name_at(&table, 0x11f), "new");
	ck_assert_str_eq(name_at(&table, 0x120), "none");
	ck_assert_str_eq(name_at(&table, 0x20f), "other one");
	ck_assert_str_eq(name_at(&table, 0x304), "prefixed");
	jit_release(&table);
}
END_TEST

static const char *const bad_lines[] = {
	"",
	"\n\n",
	"100",
	"100 10",
	"100 10 ",

	"x 10 f",
	"100 x f",
	"100 0 f",
	"ffffffffffffffff 10 f",
	"10000000000000000 10 f",
	"100 10\tf",
};

START_TEST(perf_map_other_lines_are_skipped)
{
	struct symbols_table table;

	jit(bad_lines[_i], &table);
	ck_assert_uint_eq(table.count, 0);
	ck_assert_ptr_null(symbols_table_find(&table, 0x100));
	jit_release(&table);
}
END_TEST

/* ---- an ELF file: its header, a table of symbols, their names, sections ---- */

static struct image {
	Elf64_Ehdr header;
	Elf64_Sym symbols[4];
	char names[32];
	char section_names[32];
	struct {
		Elf64_Nhdr head;
		char name[4];
		unsigned char id[4];
	} note;
	char link[16];
	Elf64_Shdr sections[7];
} image;

#define PLACE(field) offsetof(struct image, field), sizeof(image.field)

static void section(size_t index, uint32_t name, uint32_t type, size_t offset, size_t bytes)
{
	image.sections[index] = (Elf64_Shdr){
		.sh_name = name, .sh_type = type, .sh_offset = offset, .sh_size = bytes
	};
}

static void make_image(void)
{
	static const unsigned char id[] = { 0xab, 0x01, 0x00, 0xff };

	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	image.header.e_machine = ELF_FILE_MACHINE;
	image.header.e_type = ET_DYN;
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	image.header.e_shoff = offsetof(struct image, sections);
	image.header.e_shnum = 7;
	image.header.e_shstrndx = 1;
	memcpy(image.names, "\0first\0second", 14);
	memcpy(image.section_names, "\0.gnu_debuglink", 16);
	image.symbols[1] = (Elf64_Sym){ 1, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 6, 0x100, 0x10 };
	image.symbols[2] = (Elf64_Sym){ 7, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, 6, 0x200, 0 };
	image.symbols[3] = (Elf64_Sym){ 7, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, 6, 0x300, 8 };
	image.note.head = (Elf64_Nhdr){ 4, 4, NT_GNU_BUILD_ID };
	memcpy(image.note.name, "GNU", 4);
	memcpy(image.note.id, id, 4);
	memcpy(image.link, "x.debug\0\1\2\3\4", 12);
	section(1, 0, SHT_STRTAB, PLACE(section_names));
	section(2, 0, SHT_SYMTAB, PLACE(symbols));
	section(3, 0, SHT_STRTAB, PLACE(names));
	section(4, 0, SHT_NOTE, PLACE(note));
	section(5, 1, SHT_PROGBITS, offsetof(struct image, link), 12);
	section(6, 0, SHT_PROGBITS, 0, 0);
	image.sections[2].sh_link = 3;
	image.sections[6].sh_flags = SHF_EXECINSTR;
}

static bool read_image(struct symbols_elf *elf)
{
	write_file(&image, sizeof(image));
	return symbols_elf_read(path, elf);
}

START_TEST(elf_has_symbols_build_id_and_link)
{
	struct symbols_elf elf;

	make_image();
	ck_assert(read_image(&elf));
	ck_assert(elf.whole);
	ck_assert_uint_eq(elf.table.count, 2);
	ck_assert_str_eq(name_at(&elf.table, 0x10f), "first");
	ck_assert_str_eq(name_at(&elf.table, 0x110), "none");
	ck_assert_str_eq(name_at(&elf.table, 0x200), "second");
	ck_assert_str_eq(name_at(&elf.table, 0x300), "none");
	ck_assert_str_eq(elf.build_id, "ab0100ff");
	ck_assert_str_eq(elf.link, "x.debug");
	ck_assert_int_eq(memcmp(&elf.link_crc, "\1\2\3\4", 4), 0);
	symbols_elf_release(&elf);
}
END_TEST

/* Each changes one number of a valid file. Only the parts in `missing` cannot be read then. */
enum { NO_FILE = 1, NO_SYMBOLS = 2, NO_ID = 4, NO_LINK = 8, ALL = 14 };

static const struct {
	void *number;
	size_t bytes;
	uint64_t value;
	int missing;
} damages[] = {
#define DAMAGE(field, value, missing)                             \
	{                                                         \
		&image.field, sizeof(image.field), value, missing \
	}
	DAMAGE(header.e_ident[0], 0, NO_FILE),
	DAMAGE(header.e_machine, EM_NONE, NO_FILE),
	DAMAGE(header.e_shentsize, 1, ALL),
	DAMAGE(header.e_shoff, UINT64_MAX, ALL),
	DAMAGE(header.e_shoff, sizeof(image) - 100, ALL),
	DAMAGE(header.e_shnum, 8, ALL),
	DAMAGE(header.e_shnum, 0, ALL),
	DAMAGE(header.e_shstrndx, 7, NO_SYMBOLS | NO_LINK),
	DAMAGE(sections[1].sh_size, UINT64_MAX, NO_SYMBOLS | NO_LINK),
	DAMAGE(sections[1].sh_type, SHT_NOBITS, NO_SYMBOLS | NO_LINK),
	DAMAGE(sections[2].sh_link, 7, NO_SYMBOLS),
	DAMAGE(sections[2].sh_size, 23, NO_SYMBOLS),
	DAMAGE(sections[2].sh_offset, UINT64_MAX - 8, NO_SYMBOLS),
	DAMAGE(sections[3].sh_offset, sizeof(image), NO_SYMBOLS),
	DAMAGE(sections[3].sh_size, 0, NO_SYMBOLS),
	DAMAGE(sections[4].sh_size, 11, NO_ID),
	DAMAGE(sections[4].sh_size, UINT64_C(1) << 40, NO_ID),
	DAMAGE(note.head.n_descsz, 5, NO_ID),
	DAMAGE(note.head.n_descsz, UINT32_MAX, NO_ID),
	DAMAGE(note.head.n_namesz, UINT32_MAX, NO_ID),
	DAMAGE(note.head.n_type, 1, NO_ID),
	DAMAGE(sections[5].sh_size, 11, NO_LINK),
	DAMAGE(sections[5].sh_size, 3, NO_LINK),
	DAMAGE(sections[5].sh_name, 31, NO_LINK),
	DAMAGE(sections[5].sh_name, UINT32_MAX, NO_LINK),
	DAMAGE(link[1], '/', NO_LINK),
};

START_TEST(elf_damaged_number)
{
	struct symbols_elf elf;
	const int missing = damages[_i].missing;

	make_image();
	memcpy(damages[_i].number, &damages[_i].value, damages[_i].bytes);
	ck_assert_int_eq(read_image(&elf), missing != NO_FILE);
	if (missing != NO_FILE) {
		ck_assert_uint_eq(elf.table.count, missing & NO_SYMBOLS ? 0 : 2);
		ck_assert_str_eq(elf.build_id, missing & NO_ID ? "" : "ab0100ff");
		ck_assert_str_eq(elf.link, missing & NO_LINK ? "" : "x.debug");
	}
	symbols_elf_release(&elf);
}
END_TEST

START_TEST(elf_build_id_that_is_too_long_is_ignored)
{
	struct symbols_elf elf;

	make_image();
	image.sections[4].sh_size = sizeof(image) - offsetof(struct image, note);
	image.note.head.n_descsz = SYMBOLS_ID_BYTES_MAX + 4;
	ck_assert(read_image(&elf));
	ck_assert_str_eq(elf.build_id, "");
	symbols_elf_release(&elf);
}
END_TEST

START_TEST(elf_dynamic_symbols_are_second)
{
	struct symbols_elf elf;

	make_image();
	image.sections[2].sh_type = SHT_DYNSYM;
	ck_assert(read_image(&elf));
	ck_assert_uint_eq(elf.table.count, 2);
	ck_assert(!elf.whole);
	symbols_elf_release(&elf);
}
END_TEST

START_TEST(elf_invalid_symbols_are_skipped)
{
	struct symbols_elf elf;

	make_image();
	image.symbols[1].st_name = UINT32_MAX;
	image.symbols[2].st_shndx = 99;
	ck_assert(read_image(&elf));
	ck_assert_uint_eq(elf.table.count, 0);
	symbols_elf_release(&elf);
	make_image();
	image.symbols[1].st_value = UINT64_MAX;
	image.symbols[2].st_value = 0;
	ck_assert(read_image(&elf));
	ck_assert_uint_eq(elf.table.count, 0);
	symbols_elf_release(&elf);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("symbols_parts");
	TCase *tests = tcase_create("parts");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, functions_without_a_size_end_at_the_next);
	tcase_add_test(tests, alias_with_fewer_underscores_is_kept);
	tcase_add_test(tests, empty_table_has_nothing);
	tcase_add_loop_test(tests, names_of_cxx_are_readable, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_test(tests, very_long_names_stay);
	tcase_add_test(tests, perf_map_is_recognized_by_its_name);
	tcase_add_test(tests, perf_map_later_line_replaces);
	tcase_add_loop_test(tests, perf_map_other_lines_are_skipped, 0,
			    sizeof(bad_lines) / sizeof(bad_lines[0]));
	tcase_add_test(tests, elf_has_symbols_build_id_and_link);
	tcase_add_loop_test(tests, elf_damaged_number, 0, sizeof(damages) / sizeof(damages[0]));
	tcase_add_test(tests, elf_build_id_that_is_too_long_is_ignored);
	tcase_add_test(tests, elf_dynamic_symbols_are_second);
	tcase_add_test(tests, elf_invalid_symbols_are_skipped);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
