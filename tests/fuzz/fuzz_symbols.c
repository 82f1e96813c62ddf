/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ELF file and as a perf map: the tables of functions are sorted, and a function
 * that is found contains the address. Debug information is not read: a separate process does that,
 * because libdw is not under test here.
 */
#include "symbols/symbols_elf.h"
#include "symbols/symbols_jit.h"
#include "symbols/symbols_module.h"
#include "fuzz.h"

static void check_table(const struct symbols_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct symbols_function *function = &table->functions[i];
		const struct symbols_function *found = symbols_table_find(table, function->start);

		require(function->start < function->end, "an empty function");
		require(i == 0 || function[-1].start < function->start, "functions not in order");
		require(strlen(function->name) > 0, "a function without a name");
		require(found == function, "a function is not found");
		found = symbols_table_find(table, function->end);
		require(found == NULL || found->start <= function->end, "the wrong function");
	}
}

static void check_elf(const char *path)
{
	struct symbols_elf elf;

	if (symbols_elf_read(path, &elf)) {
		require(strlen(elf.build_id) < sizeof(elf.build_id), "a long build ID");
		require(strspn(elf.build_id, "0123456789abcdef") == strlen(elf.build_id),
			"a build ID that is not hexadecimal");
		require(strchr(elf.link, '/') == NULL, "a debug link out of its folder");
		check_table(&elf.table);
	}
	symbols_elf_release(&elf);
}

static void check_module(const char *path)
{
	struct symbols_module *module = symbols_module_open(path, NULL, false);
	struct symbol found[4];

	require(module != NULL, "no memory");
	for (uint64_t offset = 0; offset < 65536; offset += 509) {
		size_t count = symbols_module_find(module, offset, found, 4);

		require(count <= 1, "inlined functions without DWARF");
		require(count == 0 || (found[0].function[0] != '\0' && found[0].line == 0),
			"a function without a name, or with a line");
	}
	symbols_module_close(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file file;
	struct symbols_table table;

	fuzz_file_put(&file, data, bytes);
	check_elf(file.path);
	check_module(file.path);
	require(symbols_jit_read(file.path, &table), "a perf map cannot be read");
	check_table(&table);
	free(table.functions);
	free(table.names);
	return 0;
}
