/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_read.h - the facts of an ELF file that matter for loading: the libraries that it needs, where
 * it searches for them, and how else it can load libraries.
 */
#ifndef TOOLS_ELF_READ_H
#define TOOLS_ELF_READ_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_NEEDED_MAX 512

enum elf_kind {
	ELF_UNREADABLE, /* errno has the reason */
	ELF_NONE,       /* not an ELF file */
	ELF_BROKEN,     /* starts like an ELF file, but is inconsistent */
	ELF_OTHER,      /* for a machine of another type, or another word size */
	ELF_STATIC,     /* no dynamic linker loads it */
	ELF_DYNAMIC,    /* a program with a dynamic linker, or a library */
};

struct elf {
	enum elf_kind kind;
	char interpreter[PATH_MAX]; /* the dynamic linker that the program names; "" without */
	const char *needed[ELF_NEEDED_MAX];
	size_t needed_count;
	const char *soname, *rpath, *runpath; /* NULL: absent */
	bool no_default;                      /* does not search the system's folders */
	bool imports_dlopen, imports_dlsym;
	char *names; /* the strings of the pointers above; elf_release() frees it */
};

/* elf_read - parse a file. The caller calls elf_release() in every case. */
enum elf_kind elf_read(const char *path, struct elf *elf);
void elf_release(struct elf *elf);

/* elf_mentions - whether a string constant of the file contains `text` (at most 64 characters). */
bool elf_mentions(const char *path, const char *text);

#endif
