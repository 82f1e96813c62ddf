/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.c - finds the real dlsym() for an object that defines dlsym() itself, and names addresses.
 *
 * For dlsym(), the dynamic linker would find our own function, so the symbol tables in memory are read instead:
 *   1. go through the loaded objects after the one that contains this code, in the order in which the
 *      linker searches them;
 *   2. in each, search for a function of that name (symbols.h).
 *
 * The list is read without the linker's lock: up to the C library, where the search ends, it has only
 * objects that were loaded with the program, which are never unloaded. dl_iterate_phdr() would take the
 * lock, but a sanitizer that calls dlsym() first of all replaces it, and is not ready for calls then. The
 * same holds for functions of <string.h>.
 *
 * Bound: one pass over the symbols of the objects between this one and the C library, once per
 * process. Other objects after this one that define dlsym are found first, so that such tools keep
 * working.
 *
 * An address is named inside of dl_iterate_phdr(): the object that contains it is not unloaded
 * meanwhile, as the list of objects is locked.
 */
#define _GNU_SOURCE /* dladdr1, program_invocation_name */
#include "interpose/process/elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "interpose/process/objects.h"
#include "interpose/process/symbols.h"

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

void *mam_elf_next(const char *name)
{
	const struct link_map *object = NULL;
	void *found = NULL;
	Dl_info info;

	mam_objects_enter();
	if (dladdr1((const void *)(uintptr_t)mam_elf_next, &info, (void **)&object,
		    RTLD_DL_LINKMAP) == 0)
		object = NULL;
	mam_objects_leave();
	while (found == NULL && object != NULL && (object = object->l_next) != NULL)
		/* The kernel's vdso stores offsets, and does not define the function. */
		if (object->l_addr != getauxval(AT_SYSINFO_EHDR))
			found = mam_symbols_find(object->l_addr, object->l_ld, name);
	return found;
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
