/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_find.c - see python_find.h.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "interpose/profile/python_find.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "interpose/process/objects.h"
#include "interpose/process/stack.h"

/* A variable that the program has a copy of (a copy relocation) is found there: it comes first. */
enum symbol {
	RUNTIME,
	STATE,
	CURRENT,        /* since 3.13 */
	CURRENT_OLD,    /* up to 3.12 */
	VERSION_NUMBER, /* since 3.11 */
	IN_3_10,
	IN_3_9,
	CODE_TYPE,
	TEXT_TYPE,
	BYTES_TYPE,
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[RUNTIME] = "_PyRuntime",
	[STATE] = "PyGILState_GetThisThreadState",
	[CURRENT] = "PyThreadState_GetUnchecked",
	[CURRENT_OLD] = "_PyThreadState_UncheckedGet",
	[VERSION_NUMBER] = "Py_Version",
	[IN_3_10] = "PyModule_AddObjectRef",
	[IN_3_9] = "PyObject_GC_IsTracked",
	[CODE_TYPE] = "PyCode_Type",
	[TEXT_TYPE] = "PyUnicode_Type",
	[BYTES_TYPE] = "PyBytes_Type",
};

/* The state of one search. */
struct search {
	uint32_t hashes[SYMBOLS];
	uintptr_t found[SYMBOLS];
	uintptr_t begin, end; /* the file with the interpreter's functions */
};

/* The parts of a file's dynamic section that a search needs. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash;
};

static const struct mam_python *_Atomic python; /* atomic; NULL: not loaded, or not searched */
static _Atomic uint64_t changes = 1;            /* atomic; mam_python_check() counts */
static _Atomic uint64_t searched;               /* atomic; changes at the last search in vain */

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* glibc stores absolute addresses in the dynamic sections that it loads; a few keep offsets. */
static const void *dynamic_address(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

static bool read_dynamic(const struct dl_phdr_info *file, struct tables *tables)
{
	const ElfW(Dyn) *entry = NULL;

	memset(tables, 0, sizeof(*tables));
	for (int i = 0; i < file->dlpi_phnum; i++)
		if (file->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(file->dlpi_addr + file->dlpi_phdr[i].p_vaddr);
	for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
		const void *address = dynamic_address(file->dlpi_addr, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: tables->symbols = address; break;
		case DT_STRTAB: tables->names = address; break;
		case DT_GNU_HASH: tables->hash = address; break;
		}
	}
	return tables->symbols != NULL && tables->names != NULL && tables->hash != NULL &&
	       tables->hash[0] != 0 && tables->hash[2] != 0;
}

/* Returns the offset of the symbol's definition, or 0. */
static ElfW(Addr) find_symbol(const struct tables *tables, const char *name, uint32_t hash)
{
	/* buckets, first hashed symbol, words of the bloom filter, its shift; then these arrays */
	const uint32_t *head = tables->hash;
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(head + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + head[2]), *chain = bucket + head[0];
	const unsigned int bits = 8 * sizeof(*bloom);
	ElfW(Addr) word = bloom[hash / bits % head[2]];
	uint32_t i = bucket[hash % head[0]];

	if ((word >> hash % bits & word >> (hash >> head[3]) % bits & 1) == 0 || i < head[1])
		return 0;
	for (;; i++) {
		const ElfW(Sym) *symbol = &tables->symbols[i];
		uint32_t other = chain[i - head[1]];

		if ((other | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
		    strcmp(tables->names + symbol->st_name, name) == 0)
			return symbol->st_value;
		if ((other & 1) != 0)
			return 0;
	}
}

static int visit(struct dl_phdr_info *file, size_t info_bytes, void *user)
{
	struct search *search = user;
	struct tables tables;

	(void)info_bytes;
	if (!read_dynamic(file, &tables))
		return 0;
	for (int i = 0; i < SYMBOLS; i++) {
		ElfW(Addr) value = search->found[i] == 0
					   ? find_symbol(&tables, names[i], search->hashes[i])
					   : 0;

		if (value == 0)
			continue;
		search->found[i] = file->dlpi_addr + value;
		if (i != STATE)
			continue;
		search->begin = UINTPTR_MAX;
		for (int j = 0; j < file->dlpi_phnum; j++) {
			const ElfW(Phdr) *part = &file->dlpi_phdr[j];
			uintptr_t begin = file->dlpi_addr + part->p_vaddr;

			if (part->p_type != PT_LOAD)
				continue;
			if (begin < search->begin)
				search->begin = begin;
			if (begin + part->p_memsz > search->end)
				search->end = begin + part->p_memsz;
		}
	}
	return 0;
}

static uint32_t version_of(const struct search *search)
{
	if (search->found[VERSION_NUMBER] != 0)
		return (uint32_t) * (const unsigned long *)search->found[VERSION_NUMBER];
	if (search->found[IN_3_10] != 0)
		return 0x030a00f0;
	return search->found[IN_3_9] != 0 ? 0x030900f0 : 0;
}

static void describe(const struct search *search, struct mam_python *made)
{
	uint32_t version = version_of(search);
	uintptr_t current =
		search->found[CURRENT] != 0 ? search->found[CURRENT] : search->found[CURRENT_OLD];

	memset(made, 0, sizeof(*made));
	made->begin = search->begin;
	made->end = search->end;
	made->runtime = search->found[RUNTIME];
	made->code_type = search->found[CODE_TYPE];
	made->text_type = search->found[TEXT_TYPE];
	made->bytes_type = search->found[BYTES_TYPE];
	memcpy(&made->state, &search->found[STATE], sizeof(made->state));
	memcpy(&made->current, &current, sizeof(made->current));
	made->current_is_own = version >= 0x030c0000;
	made->supported = made->code_type != 0 && made->text_type != 0 && made->bytes_type != 0 &&
			  current != 0 &&
			  mam_python_layout(version, (const void *)made->runtime, &made->layout);
	if (version != 0)
		snprintf(made->version, sizeof(made->version), "%u.%u", version >> 24 & 0xff,
			 version >> 16 & 0xff);
	else
		snprintf(made->version, sizeof(made->version), "before 3.9");
}

static void search_all(struct search *search)
{
	memset(search, 0, sizeof(*search));
	for (int i = 0; i < SYMBOLS; i++)
		search->hashes[i] = hash_of(names[i]);
	mam_objects_visit(visit, search);
}

const struct mam_python *mam_python_find(void)
{
	const struct mam_python *found = atomic_load_explicit(&python, memory_order_acquire);
	struct mam_python *made;
	struct search search;
	uint64_t before = atomic_load_explicit(&changes, memory_order_acquire);

	if (found != NULL)
		return found;
	if (before == atomic_load_explicit(&searched, memory_order_relaxed))
		return NULL;
	search_all(&search);
	atomic_store_explicit(&searched, before, memory_order_relaxed);
	if (search.found[RUNTIME] == 0 || search.found[STATE] == 0)
		return NULL;
	made = mam_stack_cut(sizeof(*made));
	if (made == NULL)
		return NULL;
	describe(&search, made);
	if (!atomic_compare_exchange_strong(&python, &found, made))
		return found; /* another thread was faster */
	return made;
}

void mam_python_check(void)
{
	const struct mam_python *found = atomic_load_explicit(&python, memory_order_acquire);
	struct mam_python now = { .begin = 0 };
	struct search search;

	atomic_fetch_add_explicit(&changes, 1, memory_order_release);
	if (found == NULL)
		return;
	search_all(&search);
	if (search.found[RUNTIME] != 0 && search.found[STATE] != 0)
		describe(&search, &now);
	if (now.begin == found->begin && now.runtime == found->runtime &&
	    strcmp(now.version, found->version) == 0)
		return;
	atomic_store_explicit(&python, NULL, memory_order_release);
}
