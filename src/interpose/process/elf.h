/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.h - a function's next definition, found without dlsym().
 */
#ifndef MAM_INTERPOSE_ELF_H
#define MAM_INTERPOSE_ELF_H

/*
 * mam_elf_next - return the first definition of the function `name` in the objects loaded after
 * this one, or NULL.
 */
void *mam_elf_next(const char *name);

#endif
