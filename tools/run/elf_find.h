/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_find.h - find a library that an ELF file needs as the dynamic linker would.
 */
#ifndef TOOLS_ELF_FIND_H
#define TOOLS_ELF_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "run/elf_read.h"

/* A file and its dynamic section. */
struct elf_place {
	char path[PATH_MAX];
	struct elf elf;
};

/*
 * elf_find - find the file that `name` denotes in `by`, which is `program` or one of its libraries.
 * False: no folder has such a file for this machine.
 */
bool elf_find(const char *name, const struct elf_place *by, const struct elf_place *program,
	      char path[PATH_MAX]);

#endif
