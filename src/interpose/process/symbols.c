/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - scans one object's dynamic symbols.
 *
 * Versions of a function are not distinguished. The number of symbols comes from DT_HASH, or from
 * the end of the last chain of DT_GNU_HASH.
 *
 * Source: the System V ABI, chapter 5, and the layout of .gnu.hash as binutils writes it.
 * Bound: one pass over the object's symbols. Allocates no memory and calls no other function, so it
 * may run in an auditor, and before a sanitizer that replaces strcmp() is ready.
 */
#include "interpose/process/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The required parts of an object's dynamic section. */
struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const uint32_t *hash;
	const uint32_t *gnu_hash;
	uint32_t count; /* of the table */
};

/*
 * glibc stores absolute addresses in the dynamic sections of the objects that it loads; a few
 * objects keep offsets.
 */
static const void *dynamic_address(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
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

static bool read_dynamic(ElfW(Addr) base, const ElfW(Dyn) * entry, struct symbols *symbols)
{
	*symbols = (struct symbols){ .table = NULL };
	for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
		const void *address = dynamic_address(base, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: symbols->table = address; break;
		case DT_STRTAB: symbols->names = address; break;
		case DT_HASH: symbols->hash = address; break;
		case DT_GNU_HASH: symbols->gnu_hash = address; break;
		}
	}
	if (symbols->table == NULL || symbols->names == NULL)
		return false;
	symbols->count = symbol_count(symbols);
	return true;
}

static bool is_equal(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

void *mam_symbols_find(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char *name)
{
	struct symbols symbols;

	if (!read_dynamic(base, dynamic, &symbols))
		return NULL;
	for (uint32_t i = 0; i < symbols.count; i++) {
		const ElfW(Sym) *symbol = &symbols.table[i];

		if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
			continue;
		if (is_equal(symbols.names + symbol->st_name, name))
			return (void *)(base + symbol->st_value);
	}
	return NULL;
}

/* The object's own functions, and its data: dladdr() names both. */
static bool contains(ElfW(Addr) base, const ElfW(Sym) * symbol, ElfW(Addr) address)
{
	const unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || type == STT_TLS || type == STT_SECTION ||
	    ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || address < base + symbol->st_value)
		return false;
	return address - (base + symbol->st_value) < (symbol->st_size == 0 ? 1 : symbol->st_size);
}

const char *mam_symbols_name(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const void *address,
			     size_t *distance)
{
	const ElfW(Sym) *nearest = NULL;
	struct symbols symbols;

	if (!read_dynamic(base, dynamic, &symbols))
		return NULL;
	for (uint32_t i = 0; i < symbols.count; i++) {
		const ElfW(Sym) *symbol = &symbols.table[i];

		if (contains(base, symbol, (ElfW(Addr))address) &&
		    (nearest == NULL || symbol->st_value > nearest->st_value))
			nearest = symbol;
	}
	if (nearest == NULL)
		return NULL;
	*distance = (ElfW(Addr))address - (base + nearest->st_value);
	return symbols.names + nearest->st_name;
}
