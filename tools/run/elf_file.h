/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.h - read bytes of an ELF file at an offset, for the readers in elf*.c.
 */
#ifndef TOOLS_ELF_FILE_H
#define TOOLS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/elf_read.h"

#if defined(__x86_64__)
#define ELF_FILE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_FILE_MACHINE EM_AARCH64
#else
#error "which e_machine do this machine's programs have?"
#endif

struct elf_file {
	int number;
	uint64_t bytes;
};

/* Open a regular file for reading; close(file->number) closes it. False: errno has the reason. */
bool elf_file_open(const char *path, struct elf_file *file);

/* False: the file ends before the last of these bytes. */
bool elf_file_get(const struct elf_file *file, uint64_t offset, void *data, size_t bytes);

/*
 * Read the file header of a program or library for this machine. False: *kind is what the file is
 * instead.
 */
bool elf_file_header(const struct elf_file *file, Elf64_Ehdr *header, enum elf_kind *kind);

#endif
