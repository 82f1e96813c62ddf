/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.h - searches the loaded objects without dlsym().
 */
#ifndef MAM_INTERPOSE_ELF_H
#define MAM_INTERPOSE_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define MAM_ELF_NAMES 2048

/*
 * mam_elf_next - return the first definition of the function `name` in the objects loaded after
 * this one, or NULL. pre: this object was loaded with the program.
 */
void *mam_elf_next(const char *name);

/* What dladdr() reports of an address, without the function's address. */
struct mam_elf_place {
	size_t offset;                /* in the object, as addr2line takes it */
	size_t distance;              /* from the start of the function */
	char object[PATH_MAX];        /* its file name; that of the program as it was started */
	char function[MAM_ELF_NAMES]; /* truncated; "": unknown */
};

/*
 * Returns false if no loaded object contains the address. dladdr() waits for the lock that a thread
 * in dlopen() holds while it runs the constructors of a library, for any time. This function only
 * waits for that of the list of objects, which no code of the program runs under.
 */
bool mam_elf_find(const void *address, struct mam_elf_place *place);

#endif
