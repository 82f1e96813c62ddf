/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_read.c - parse an untrusted ELF file.
 *
 * 1. Read the file header, then the program headers: where parts of the file are loaded.
 * 2. Read the dynamic section. It contains addresses; the loadable segment that covers an address
 *    gives its file offset.
 * 3. Undefined symbols precede the first hashed one (DT_GNU_HASH), or are anywhere in the table
 *    (DT_HASH).
 *
 * Section headers are not used here: a stripped program may have none.
 *
 * No number from the file is trusted. Each read is given the offset and length that the file
 * specifies, and fails if the file is shorter. Counts are bounded, and names have to end inside
 * their table. So arbitrary bytes give a result in bounded time and memory. Source: the System V
 * ABI, chapters 4 and 5.
 */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "run/elf_read.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/elf_file.h"

#define PARTS_MAX 512
#define DYNAMIC_MAX 4096
#define SYMBOLS_MAX 4000000u
#define SYMBOLS_AT_ONCE 1024

/* The entries of the dynamic section that are used. Addresses, until they are resolved. */
struct dynamic {
	uint64_t names, names_bytes, symbols, hash, gnu_hash;
	uint64_t soname, rpath, runpath; /* offsets in the string table; 0: absent */
	uint64_t needed[ELF_NEEDED_MAX];
	size_t needed_count;
	bool no_default;
};

struct reader {
	struct elf_file file;
	Elf64_Ehdr header;
	Elf64_Phdr parts[PARTS_MAX];
	struct dynamic dynamic;
};

bool elf_file_open(const char *path, struct elf_file *file)
{
	struct stat status;

	file->number = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (file->number < 0)
		return false;
	if (fstat(file->number, &status) == 0 && S_ISREG(status.st_mode)) {
		file->bytes = (uint64_t)status.st_size;
		return true;
	}
	close(file->number);
	errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
	return false;
}

bool elf_file_get(const struct elf_file *file, uint64_t offset, void *data, size_t bytes)
{
	size_t done = 0;

	if (offset > file->bytes || bytes > file->bytes - offset)
		return false;
	while (done < bytes) {
		ssize_t got = pread(file->number, (char *)data + done, bytes - done,
				    (off_t)(offset + done));

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

bool elf_file_header(const struct elf_file *file, Elf64_Ehdr *header, enum elf_kind *kind)
{
	static const union {
		uint16_t number;
		uint8_t first;
	} order = { 1 };

	*kind = ELF_NONE;
	memset(header, 0, sizeof(*header));
	if (!elf_file_get(file, 0, header->e_ident, EI_NIDENT) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	*kind = ELF_OTHER;
	if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != (order.first ? ELFDATA2LSB : ELFDATA2MSB))
		return false;
	*kind = ELF_BROKEN;
	if (!elf_file_get(file, 0, header, sizeof(*header)))
		return false;
	*kind = ELF_OTHER;
	if (header->e_machine != ELF_FILE_MACHINE)
		return false;
	*kind = ELF_BROKEN;
	return true;
}

static bool read_parts(struct reader *reader)
{
	const Elf64_Ehdr *header = &reader->header;

	return (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum > 0 &&
	       header->e_phnum <= PARTS_MAX &&
	       elf_file_get(&reader->file, header->e_phoff, reader->parts,
			    header->e_phnum * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *part_of(const struct reader *reader, uint32_t type)
{
	for (size_t i = 0; i < reader->header.e_phnum; i++)
		if (reader->parts[i].p_type == type)
			return &reader->parts[i];
	return NULL;
}

/* The file offset of an address; the end of the file if no segment covers it. */
static uint64_t offset_of(const struct reader *reader, uint64_t address)
{
	for (size_t i = 0; i < reader->header.e_phnum; i++) {
		const Elf64_Phdr *part = &reader->parts[i];
		const uint64_t within = address - part->p_vaddr;

		if (part->p_type == PT_LOAD && address >= part->p_vaddr &&
		    within < part->p_filesz && part->p_offset <= reader->file.bytes)
			return within <= reader->file.bytes - part->p_offset
				       ? part->p_offset + within
				       : reader->file.bytes;
	}
	return reader->file.bytes;
}

static void take_entry(struct dynamic *dynamic, const Elf64_Dyn *entry)
{
	const uint64_t value = entry->d_un.d_val;

	switch (entry->d_tag) {
	case DT_NEEDED:
		if (dynamic->needed_count < ELF_NEEDED_MAX)
			dynamic->needed[dynamic->needed_count++] = value;
		break;
	case DT_STRTAB: dynamic->names = value; break;
	case DT_STRSZ: dynamic->names_bytes = value; break;
	case DT_SYMTAB: dynamic->symbols = value; break;
	case DT_HASH: dynamic->hash = value; break;
	case DT_GNU_HASH: dynamic->gnu_hash = value; break;
	case DT_SONAME: dynamic->soname = value; break;
	case DT_RPATH: dynamic->rpath = value; break;
	case DT_RUNPATH: dynamic->runpath = value; break;
	case DT_FLAGS_1: dynamic->no_default = value & DF_1_NODEFLIB; break;
	}
}

static bool read_dynamic(struct reader *reader, const Elf64_Phdr *part)
{
	uint64_t offset = part->p_offset;
	Elf64_Dyn entry;

	for (size_t i = 0; i < DYNAMIC_MAX && i < part->p_filesz / sizeof(entry); i++) {
		if (offset > reader->file.bytes ||
		    !elf_file_get(&reader->file, offset + i * sizeof(entry), &entry, sizeof(entry)))
			return false;
		if (entry.d_tag == DT_NULL)
			break;
		take_entry(&reader->dynamic, &entry);
	}
	return true;
}

/* Copy the string table and terminate it, even if it is unterminated in the file. */
static bool read_names(const struct reader *reader, struct elf *elf)
{
	const uint64_t bytes = reader->dynamic.names_bytes;

	if (bytes > reader->file.bytes || bytes == 0)
		return false;
	elf->names = malloc(bytes + 1);
	if (elf->names == NULL)
		return false;
	elf->names[bytes] = '\0';
	return elf_file_get(&reader->file, offset_of(reader, reader->dynamic.names), elf->names,
			    bytes);
}

static const char *name_at(const struct reader *reader, const struct elf *elf, uint64_t place)
{
	return place < reader->dynamic.names_bytes ? elf->names + place : NULL;
}

static void use_names(const struct reader *reader, struct elf *elf)
{
	const struct dynamic *dynamic = &reader->dynamic;

	for (size_t i = 0; i < dynamic->needed_count; i++) {
		const char *name = name_at(reader, elf, dynamic->needed[i]);

		if (name != NULL && *name != '\0')
			elf->needed[elf->needed_count++] = name;
	}
	elf->soname = dynamic->soname ? name_at(reader, elf, dynamic->soname) : NULL;
	elf->rpath = dynamic->rpath ? name_at(reader, elf, dynamic->rpath) : NULL;
	elf->runpath = dynamic->runpath ? name_at(reader, elf, dynamic->runpath) : NULL;
	elf->no_default = dynamic->no_default;
}

/* The number of symbols to read in order to see all undefined ones. */
static uint32_t symbol_count(const struct reader *reader)
{
	const struct dynamic *dynamic = &reader->dynamic;
	uint32_t words[2];
	uint64_t place = dynamic->gnu_hash ? dynamic->gnu_hash : dynamic->hash;

	/* DT_GNU_HASH: buckets, first hashed symbol. DT_HASH: buckets, symbols. */
	if (place == 0 ||
	    !elf_file_get(&reader->file, offset_of(reader, place), words, sizeof(words)))
		return 0;
	return words[1] < SYMBOLS_MAX ? words[1] : SYMBOLS_MAX;
}

static void use_symbol(const struct reader *reader, const Elf64_Sym *symbol, struct elf *elf)
{
	const char *name = name_at(reader, elf, symbol->st_name);

	if (symbol->st_shndx != SHN_UNDEF || name == NULL || name[0] != 'd' || name[1] != 'l')
		return;
	elf->imports_dlopen |= strcmp(name, "dlopen") == 0 || strcmp(name, "dlmopen") == 0;
	elf->imports_dlsym |= strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
}

static void read_symbols(const struct reader *reader, struct elf *elf)
{
	const uint64_t start = offset_of(reader, reader->dynamic.symbols);
	Elf64_Sym symbols[SYMBOLS_AT_ONCE];
	uint32_t count = symbol_count(reader);

	for (uint32_t first = 0; first < count; first += SYMBOLS_AT_ONCE) {
		uint32_t some = count - first < SYMBOLS_AT_ONCE ? count - first : SYMBOLS_AT_ONCE;

		if (!elf_file_get(&reader->file, start + (uint64_t)first * sizeof(symbols[0]),
				  symbols, some * sizeof(symbols[0])))
			return;
		for (uint32_t i = 0; i < some; i++)
			use_symbol(reader, &symbols[i], elf);
	}
}

static bool read_interpreter(const struct reader *reader, struct elf *elf)
{
	const Elf64_Phdr *part = part_of(reader, PT_INTERP);

	return part == NULL ||
	       (part->p_filesz < sizeof(elf->interpreter) &&
		elf_file_get(&reader->file, part->p_offset, elf->interpreter, part->p_filesz));
}

static enum elf_kind read_all(struct reader *reader, struct elf *elf)
{
	const Elf64_Phdr *dynamic;
	enum elf_kind kind;

	if (!elf_file_header(&reader->file, &reader->header, &kind))
		return kind;
	if (!read_parts(reader) || !read_interpreter(reader, elf))
		return ELF_BROKEN;
	dynamic = part_of(reader, PT_DYNAMIC);
	if (dynamic == NULL)
		return ELF_STATIC;
	if (!read_dynamic(reader, dynamic) || !read_names(reader, elf))
		return ELF_BROKEN;
	use_names(reader, elf);
	read_symbols(reader, elf);
	/*
	 * A static position-independent program relocates itself: it names no interpreter and needs
	 * no library.
	 */
	return elf->interpreter[0] == '\0' && elf->needed_count == 0 && elf->soname == NULL
		       ? ELF_STATIC
		       : ELF_DYNAMIC;
}

enum elf_kind elf_read(const char *path, struct elf *elf)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	memset(elf, 0, sizeof(*elf));
	elf->kind = ELF_UNREADABLE;
	if (reader != NULL && elf_file_open(path, &reader->file)) {
		elf->kind = read_all(reader, elf);
		close(reader->file.number);
	}
	free(reader);
	return elf->kind;
}

void elf_release(struct elf *elf)
{
	free(elf->names);
	memset(elf, 0, sizeof(*elf));
}
