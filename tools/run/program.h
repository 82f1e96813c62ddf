/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the file that a command line starts, and whether libmam-preload.so can be in it.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "run/elf_find.h"

enum program_bar {
	PROGRAM_OPEN,         /* none: the object can be in it */
	PROGRAM_STATIC,       /* linked without a dynamic linker */
	PROGRAM_SET_USER,     /* its file sets the user or the group */
	PROGRAM_CAPABILITIES, /* its file gives capabilities */
	PROGRAM_OTHER_C,      /* a C library that is not glibc */
	PROGRAM_OTHER,        /* for another machine or word size */
	PROGRAM_NOT_ELF,      /* neither an ELF file nor a script */
	PROGRAM_BROKEN,       /* an ELF file that the kernel would refuse */
};

struct program {
	char found[PATH_MAX];   /* what was named, as the PATH leads to it */
	bool is_script;         /* then the place below is its interpreter's */
	struct elf_place place; /* what the kernel loads */
	enum program_bar bar;
};

/*
 * program_look - what would `name` start? False: no such program, or none that may be read;
 * becoming it will tell why. Afterwards program_release(), whatever came of it.
 */
bool program_look(const char *name, struct program *program);
void program_release(struct program *program);

/* One sentence without its full stop, with "it" for the program: why mam cannot be in it. */
const char *program_bar_text(enum program_bar bar);

/* One word, for scripts: "static". */
const char *program_bar_word(enum program_bar bar);

#endif
