/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_elf.h - the symbol table, the build ID and the debug link of an ELF file.
 */
#ifndef TOOLS_SYMBOLS_ELF_H
#define TOOLS_SYMBOLS_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_ID_BYTES_MAX 64

struct symbols_function {
	uint64_t start, end; /* `end` is exclusive */
	const char *name;
};

/* The functions of a symbol table, sorted by address. Addresses are not shared. */
struct symbols_table {
	struct symbols_function *functions;
	size_t count;
	char *names;
};

struct symbols_elf {
	struct symbols_table table;                  /* .symtab, or .dynsym if there is none */
	bool whole;                                  /* it is .symtab */
	char build_id[2 * SYMBOLS_ID_BYTES_MAX + 1]; /* in hexadecimal; "": none */
	char link[NAME_MAX + 1];                     /* the file name in .gnu_debuglink; "": none */
	uint32_t link_crc;
};

/*
 * symbols_elf_read - read a file. The caller calls symbols_elf_release() in every case. False: it
 * is not a readable ELF file for this machine.
 */
bool symbols_elf_read(const char *path, struct symbols_elf *elf);
void symbols_elf_release(struct symbols_elf *elf);

/* symbols_table_find - the function that contains `address`, or NULL. */
const struct symbols_function *symbols_table_find(const struct symbols_table *table,
						  uint64_t address);

/* symbols_table_sort - sort functions that were added in any order; see symbols_elf.c. */
void symbols_table_sort(struct symbols_table *table);

#endif
