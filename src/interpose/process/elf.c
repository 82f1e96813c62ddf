/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.c - finds the real dlsym() for an object that defines dlsym() itself, and names addresses.
 *
 * For dlsym(), the dynamic linker would find our own function, so the symbol tables in memory are read instead:
 *   1. visit the loaded objects in their order, which is the order in which the linker searches
 *      them;
 *   2. skip all objects up to and including the one that contains this code;
 *   3. in each later object search for a function of that name (symbols.h).
 *
 * Bound: one pass over the symbols of the objects between this one and the C library, once per
 * process. Other objects after this one that define dlsym are found first, so that such tools keep
 * working.
 *
 * An address is named inside of dl_iterate_phdr(): the object that contains it is not unloaded
 * meanwhile, as the list of objects is locked.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, program_invocation_name */
#include "interpose/process/elf.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "interpose/process/objects.h"
#include "interpose/process/symbols.h"

/* The state of one search. */
struct search {
	const char *name; /* wanted */
	bool behind_us;   /* this object was passed */
	void *found;
};

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

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(object->dlpi_addr +
						   object->dlpi_phdr[i].p_vaddr);
	return NULL;
}

static int visit(struct dl_phdr_info *object, size_t info_bytes, void *user)
{
	struct search *search = user;

	(void)info_bytes;
	if (!search->behind_us) {
		search->behind_us = holds(object, (const void *)(uintptr_t)mam_elf_next);
		return 0;
	}
	/* The kernel's vdso stores offsets, and does not define the function. */
	if (strstr(object->dlpi_name, "vdso") != NULL)
		return 0;
	search->found = mam_symbols_find(object->dlpi_addr, dynamic_of(object), search->name);
	return search->found != NULL;
}

void *mam_elf_next(const char *name)
{
	struct search search = { .name = name };

	mam_objects_visit(visit, &search);
	return search.found;
}

struct naming {
	const void *address;
	struct mam_elf_place *place;
	bool is_found;
};

static int name_in(struct dl_phdr_info *object, size_t info_bytes, void *user)
{
	struct naming *naming = user;
	struct mam_elf_place *place = naming->place;
	const char *function;

	(void)info_bytes;
	if (!holds(object, naming->address))
		return 0;
	naming->is_found = true;
	place->offset = (uintptr_t)naming->address - object->dlpi_addr;
	place->distance = 0;
	snprintf(place->object, sizeof(place->object), "%s",
		 object->dlpi_name[0] == '\0' ? program_invocation_name : object->dlpi_name);
	function = mam_symbols_name(object->dlpi_addr, dynamic_of(object), naming->address,
				    &place->distance);
	snprintf(place->function, sizeof(place->function), "%s", function == NULL ? "" : function);
	return 1;
}

bool mam_elf_find(const void *address, struct mam_elf_place *place)
{
	struct naming naming = { .address = address, .place = place };

	mam_objects_visit(name_in, &naming);
	return naming.is_found;
}
