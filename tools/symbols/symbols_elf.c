/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_elf.c - parse the sections of an untrusted ELF file.
 *
 * 1. Read the section headers and their names. Files without section headers have no symbols here.
 * 2. Find the symbol table, the note with the build ID, and .gnu_debuglink.
 * 3. Copy the functions of the symbol table and sort them by address. A function without a size
 *    ends where the next one starts. Of several at one address, one is kept.
 *
 * No number from the file is trusted: every read is checked against the length of the file, and
 * names have to end inside their table. Memory and time are bounded by the length of the file.
 */
#include "symbols/symbols_elf.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/elf_file.h"

#define NOTES_BYTES_MAX 65536

struct reader {
	struct elf_file file;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t count;
	char *names; /* of the sections */
	size_t names_bytes;
};

/* A copy of a part of the file, followed by a zero. NULL: it is empty or outside the file. */
static char *copy_part(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	char *copy;

	if (bytes == 0 || offset > file->bytes || bytes > file->bytes - offset)
		return NULL;
	copy = malloc(bytes + 1);
	if (copy == NULL)
		return NULL;
	copy[bytes] = '\0';
	if (elf_file_get(file, offset, copy, bytes))
		return copy;
	free(copy);
	return NULL;
}

static char *copy_section(const struct reader *reader, const Elf64_Shdr *section)
{
	return section->sh_type == SHT_NOBITS
		       ? NULL
		       : copy_part(&reader->file, section->sh_offset, section->sh_size);
}

static bool read_sections(struct reader *reader)
{
	const Elf64_Ehdr *header = &reader->header;
	const Elf64_Shdr *names;

	if (header->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	reader->sections = (Elf64_Shdr *)(void *)copy_part(&reader->file, header->e_shoff,
							   header->e_shnum * sizeof(Elf64_Shdr));
	if (reader->sections == NULL)
		return false;
	reader->count = header->e_shnum;
	if (header->e_shstrndx >= reader->count)
		return false;
	names = &reader->sections[header->e_shstrndx];
	reader->names = copy_section(reader, names);
	reader->names_bytes = reader->names ? names->sh_size : 0;
	return reader->names != NULL;
}

static const Elf64_Shdr *section_named(const struct reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->count; i++)
		if (reader->sections[i].sh_name < reader->names_bytes &&
		    strcmp(reader->names + reader->sections[i].sh_name, name) == 0)
			return &reader->sections[i];
	return NULL;
}

static const Elf64_Shdr *section_of(const struct reader *reader, uint32_t type)
{
	for (size_t i = 0; i < reader->count; i++)
		if (reader->sections[i].sh_type == type)
			return &reader->sections[i];
	return NULL;
}

/* A note: three words, then the name and the contents, each padded to a multiple of 4 bytes. */
static void use_notes(const char *notes, size_t bytes, struct symbols_elf *elf)
{
	while (bytes >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name_bytes, total;
		const char *id;

		memcpy(&note, notes, sizeof(note));
		name_bytes = ((uint64_t)note.n_namesz + 3) / 4 * 4;
		total = sizeof(note) + name_bytes + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (total > bytes)
			return;
		id = notes + sizeof(note) + name_bytes;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + sizeof(note), "GNU", 4) == 0 &&
		    note.n_descsz <= SYMBOLS_ID_BYTES_MAX) {
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(elf->build_id + 2 * i, 3, "%02x", (unsigned char)id[i]);
			return;
		}
		notes += total;
		bytes -= total;
	}
}

static void read_notes(const struct reader *reader, uint64_t offset, uint64_t bytes,
		       struct symbols_elf *elf)
{
	char *notes = bytes <= NOTES_BYTES_MAX ? copy_part(&reader->file, offset, bytes) : NULL;

	if (notes != NULL)
		use_notes(notes, bytes, elf);
	free(notes);
}

/*
 * In debug files only the section headers locate the notes; files without section headers have
 * program headers.
 */
static void read_build_id(const struct reader *reader, struct symbols_elf *elf)
{
	const Elf64_Ehdr *header = &reader->header;
	Elf64_Phdr part;

	for (size_t i = 0; i < reader->count && elf->build_id[0] == '\0'; i++)
		if (reader->sections[i].sh_type == SHT_NOTE)
			read_notes(reader, reader->sections[i].sh_offset,
				   reader->sections[i].sh_size, elf);
	if (reader->count > 0 || header->e_phentsize != sizeof(part))
		return;
	for (size_t i = 0; i < header->e_phnum && elf->build_id[0] == '\0'; i++) {
		if (header->e_phoff > reader->file.bytes ||
		    !elf_file_get(&reader->file, header->e_phoff + i * sizeof(part), &part,
				  sizeof(part)))
			return;
		if (part.p_type == PT_NOTE)
			read_notes(reader, part.p_offset, part.p_filesz, elf);
	}
}

/* The section: a file name with its zero, padding to 4 bytes, a CRC-32. */
static void read_link(const struct reader *reader, struct symbols_elf *elf)
{
	const Elf64_Shdr *section = section_named(reader, ".gnu_debuglink");
	char *link = section ? copy_section(reader, section) : NULL;
	size_t crc = link ? (strlen(link) + 4) / 4 * 4 : 0;

	if (link != NULL && strlen(link) < sizeof(elf->link) && strchr(link, '/') == NULL &&
	    section->sh_size >= sizeof(uint32_t) && crc <= section->sh_size - sizeof(uint32_t)) {
		strcpy(elf->link, link);
		memcpy(&elf->link_crc, link + crc, sizeof(elf->link_crc));
	}
	free(link);
}

/*
 * Of several functions at one address, the largest is kept. Of aliases, the one with fewer leading
 * underscores is kept (malloc, not __libc_malloc), then the first one by name.
 */
static int compare(const void *first, const void *second)
{
	const struct symbols_function *a = first, *b = second;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (strspn(a->name, "_") != strspn(b->name, "_"))
		return strspn(a->name, "_") < strspn(b->name, "_") ? -1 : 1;
	return strcmp(a->name, b->name);
}

void symbols_table_sort(struct symbols_table *table)
{
	struct symbols_function *functions = table->functions;
	size_t kept = 0;

	if (table->count == 0)
		return;
	qsort(functions, table->count, sizeof(*functions), compare);
	for (size_t i = 0; i < table->count; i++)
		if (i == 0 || functions[i].start != functions[kept - 1].start)
			functions[kept++] = functions[i];
	table->count = kept;
	for (size_t i = 0; i < kept; i++)
		if (functions[i].end <= functions[i].start)
			functions[i].end =
				i + 1 < kept ? functions[i + 1].start : functions[i].start + 1;
}

const struct symbols_function *symbols_table_find(const struct symbols_table *table,
						  uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < table->functions[low - 1].end ? &table->functions[low - 1]
								  : NULL;
}

/* A symbol without a type is a function of assembly code if its section is executable. */
static bool is_function(const struct reader *reader, const Elf64_Sym *symbol)
{
	const unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 ||
	    symbol->st_value == UINT64_MAX)
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
		symbol->st_shndx < reader->count &&
		(reader->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR) != 0);
}

static void use_symbols(const struct reader *reader, const char *symbols, size_t count,
			size_t names_bytes, struct symbols_table *table)
{
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
		if (!is_function(reader, &symbol) || symbol.st_name >= names_bytes ||
		    table->names[symbol.st_name] == '\0')
			continue;
		table->functions[table->count++] = (struct symbols_function){
			.start = symbol.st_value,
			.end = symbol.st_value + symbol.st_size,
			.name = table->names + symbol.st_name,
		};
	}
}

static bool read_table(const struct reader *reader, uint32_t type, struct symbols_table *table)
{
	const Elf64_Shdr *section = section_of(reader, type);
	char *symbols;
	size_t count;

	if (section == NULL || section->sh_link >= reader->count)
		return false;
	symbols = copy_section(reader, section);
	count = symbols ? section->sh_size / sizeof(Elf64_Sym) : 0;
	table->names = count ? copy_section(reader, &reader->sections[section->sh_link]) : NULL;
	table->functions = count ? malloc(count * sizeof(*table->functions)) : NULL;
	if (table->names != NULL && table->functions != NULL) {
		use_symbols(reader, symbols, count, reader->sections[section->sh_link].sh_size,
			    table);
		symbols_table_sort(table);
	}
	free(symbols);
	if (table->count > 0)
		return true;
	free(table->names);
	free(table->functions);
	memset(table, 0, sizeof(*table));
	return false;
}

bool symbols_elf_read(const char *path, struct symbols_elf *elf)
{
	struct reader reader = { .count = 0 };
	enum elf_kind kind;
	bool good;

	memset(elf, 0, sizeof(*elf));
	if (!elf_file_open(path, &reader.file))
		return false;
	good = elf_file_header(&reader.file, &reader.header, &kind);
	if (good) {
		if (read_sections(&reader)) {
			elf->whole = read_table(&reader, SHT_SYMTAB, &elf->table);
			if (!elf->whole)
				read_table(&reader, SHT_DYNSYM, &elf->table);
			read_link(&reader, elf);
		}
		read_build_id(&reader, elf);
	}
	free(reader.sections);
	free(reader.names);
	close(reader.file.number);
	return good;
}

void symbols_elf_release(struct symbols_elf *elf)
{
	free(elf->table.functions);
	free(elf->table.names);
	memset(elf, 0, sizeof(*elf));
}
