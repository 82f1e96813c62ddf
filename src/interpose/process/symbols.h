/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - finds a function of a loaded object by name, without the dynamic linker. */
#ifndef MAM_INTERPOSE_SYMBOLS_H
#define MAM_INTERPOSE_SYMBOLS_H

#include <elf.h>
#include <link.h>

/* Returns NULL if the object does not define a function of that name. `dynamic` may be NULL. */
void *mam_symbols_find(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char *name);

#endif
