/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - finds functions of a loaded object, without the dynamic linker. */
#ifndef MAM_INTERPOSE_SYMBOLS_H
#define MAM_INTERPOSE_SYMBOLS_H

#include <elf.h>
#include <link.h>
#include <stddef.h>

/* Returns NULL if the object does not define a function of that name. `dynamic` may be NULL. */
void *mam_symbols_find(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char *name);

/*
 * Returns the name of the function that contains the address, as dladdr() does, and the distance
 * from its start. Returns NULL if it is unknown. The name belongs to the object.
 */
const char *mam_symbols_name(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const void *address,
			     size_t *distance);

#endif
