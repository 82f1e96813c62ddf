/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_find.h - where the dynamic linker would find a library that an ELF file needs.
 */
#ifndef TOOLS_ELF_FIND_H
#define TOOLS_ELF_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "run/elf_read.h"

/* A file and what it says of itself. */
struct elf_place {
	char path[PATH_MAX];
	struct elf elf;
};

/*
 * elf_find - the file that `name` means to `by`, a library of `program` or that itself. False:
 * there is none for this machine in any folder.
 */
bool elf_find(const char *name, const struct elf_place *by, const struct elf_place *program,
	      char path[PATH_MAX]);

#endif
