/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the file that a command line starts, and whether libmam-preload.so can be loaded into
 * it.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "run/elf_find.h"

enum program_bar {
	PROGRAM_OPEN,         /* no obstacle: the object can be loaded */
	PROGRAM_STATIC,       /* linked without a dynamic linker */
	PROGRAM_SET_USER,     /* set-user-id or set-group-id */
	PROGRAM_CAPABILITIES, /* has file capabilities */
	PROGRAM_OTHER_C,      /* uses a C library other than glibc */
	PROGRAM_OTHER,        /* for another machine or word size */
	PROGRAM_NOT_ELF,      /* neither an ELF file nor a script */
	PROGRAM_BROKEN,       /* an ELF file that the kernel would refuse */
};

struct program {
	char found[PATH_MAX];   /* the file that the name denotes, found through PATH */
	bool is_script;         /* true: `place` describes its interpreter */
	struct elf_place place; /* the file that the kernel loads */
	enum program_bar bar;
};

/*
 * program_look - inspect the file that `name` would start. False: there is no such program, or it
 * is unreadable; execvp() will report the reason. The caller calls program_release() in every case.
 */
bool program_look(const char *name, struct program *program);
void program_release(struct program *program);

/*
 * The reason why mam cannot be loaded, as a sentence without full stop, with "it" for the program.
 */
const char *program_bar_text(enum program_bar bar);

/* One word, for scripts: "static". */
const char *program_bar_word(enum program_bar bar);

#endif
