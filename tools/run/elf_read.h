/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_read.h - what an ELF file says of itself: the libraries it needs, where it looks for them,
 * and which ways it has of finding others.
 */
#ifndef TOOLS_ELF_READ_H
#define TOOLS_ELF_READ_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_NEEDED_MOST 512

enum elf_kind {
	ELF_UNREADABLE, /* errno says why */
	ELF_NONE,       /* some other kind of file */
	ELF_BROKEN,     /* begins like an ELF file, but its parts do not fit together */
	ELF_OTHER,      /* for a machine of another kind, or of another word size */
	ELF_STATIC,     /* no dynamic linker starts it */
	ELF_DYNAMIC,    /* a program with a dynamic linker, or a library */
};

struct elf {
	enum elf_kind kind;
	char interpreter[PATH_MAX]; /* the dynamic linker that a program names; "": none */
	const char *needed[ELF_NEEDED_MOST];
	size_t needed_count;
	const char *soname, *rpath, *runpath; /* NULL: none */
	bool no_default;                      /* it does without the system's folders */
	bool imports_dlopen, imports_dlsym;
	char *names; /* what the pointers above point into; elf_release() frees it */
};

/* elf_read - look at a file. Afterwards elf_release(), whatever came of it. */
enum elf_kind elf_read(const char *path, struct elf *elf);
void elf_release(struct elf *elf);

/* elf_mentions - whether a constant string of the file contains `text` (at most 64 characters). */
bool elf_mentions(const char *path, const char *text);

#endif
