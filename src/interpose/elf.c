/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.c - finds the real dlsym() for an object that defines dlsym() itself.
 *
 * Asking the dynamic linker would lead back to us, so the symbol tables in memory are read:
 *   1. walk the loaded objects in their order, which is the order in which the linker searches
 *      them;
 *   2. skip everything up to and including the object that holds this code;
 *   3. in each later one scan the dynamic symbols for a defined function of that name. Old and
 *      new versions of dlsym are one function, so the version does not matter.
 * The number of symbols comes from DT_HASH, or from the end of the last chain of DT_GNU_HASH.
 *
 * Source: the System V ABI, chapter 5, and the layout of .gnu.hash as binutils writes it. Bound:
 * one pass over the symbols of the objects between us and the C library, once in a process. Other
 * objects that define dlsym and stand behind us are found first, so tools of that kind go on
 * working.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "interpose/elf.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What one search carries through the walk. */
struct search {
	const char *name; /* wanted */
	bool behind_us;   /* this object was passed */
	void *found;
};

/* The parts of an object's dynamic section that are needed. */
struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const uint32_t *hash;
	const uint32_t *gnu_hash;
};

/*
 * glibc stores absolute addresses in the dynamic sections of what it loads; a few objects keep
 * offsets.
 */
static const void *dynamic_address(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? object->dlpi_addr + value : value);
}

static bool read_dynamic(const struct dl_phdr_info *object, struct symbols *symbols)
{
	const ElfW(Dyn) *entry = NULL;

	memset(symbols, 0, sizeof(*symbols));
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(object->dlpi_addr +
						    object->dlpi_phdr[i].p_vaddr);
	for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
		const void *address = dynamic_address(object, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: symbols->table = address; break;
		case DT_STRTAB: symbols->names = address; break;
		case DT_HASH: symbols->hash = address; break;
		case DT_GNU_HASH: symbols->gnu_hash = address; break;
		}
	}
	return symbols->table != NULL && symbols->names != NULL;
}

static uint32_t symbol_count(const struct symbols *symbols)
{
	const uint32_t *gnu = symbols->gnu_hash, *buckets, *chains;
	uint32_t last = 0;

	if (symbols->hash != NULL)
		return symbols->hash[1];
	if (gnu == NULL)
		return 0;
	/* header: buckets, first hashed symbol, words of the bloom filter, its shift */
	buckets = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chains = buckets + gnu[0];
	for (uint32_t i = 0; i < gnu[0]; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < gnu[1])
		return gnu[1];
	while ((chains[last - gnu[1]] & 1) == 0)
		last++;
	return last + 1;
}

static bool holds(const struct dl_phdr_info *object, const void *address)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && (ElfW(Addr))address - start < part->p_memsz)
			return true;
	}
	return false;
}

static int visit(struct dl_phdr_info *object, size_t info_bytes, void *user)
{
	struct search *search = user;
	struct symbols symbols;
	uint32_t count;

	(void)info_bytes;
	if (!search->behind_us) {
		search->behind_us = holds(object, (const void *)(uintptr_t)mam_elf_next);
		return 0;
	}
	/* The kernel's vdso keeps offsets and has no such function. */
	if (!read_dynamic(object, &symbols) || strstr(object->dlpi_name, "vdso") != NULL)
		return 0;
	count = symbol_count(&symbols);
	for (uint32_t i = 0; i < count; i++) {
		const ElfW(Sym) *symbol = &symbols.table[i];

		if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
			continue;
		if (strcmp(symbols.names + symbol->st_name, search->name) == 0) {
			search->found = (void *)(object->dlpi_addr + symbol->st_value);
			return 1;
		}
	}
	return 0;
}

void *mam_elf_next(const char *name)
{
	struct search search = { .name = name };

	dl_iterate_phdr(visit, &search);
	return search.found;
}
