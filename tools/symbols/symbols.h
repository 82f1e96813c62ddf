/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - the functions and source lines of addresses in ELF files, and of JIT code.
 *
 * A separate process reads the files: a damaged file or one that changes meanwhile can end that
 * process, but not this one. No server is contacted.
 */
#ifndef TOOLS_SYMBOLS_H
#define TOOLS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

/* One frame. The texts may contain any bytes, and live as long as the symbols. */
struct symbol {
	const char *function; /* C++ names are demangled; "": unknown */
	const char *file;     /* the source file; "": unknown */
	unsigned int line;    /* 0: unknown */
};

/* symbols_create - NULL: out of memory. */
struct symbols *symbols_create(void);
void symbols_destroy(struct symbols *symbols);

/*
 * symbols_find - find the code at `offset` of the file `path`: its function, preceded by the
 * functions that are inlined there, innermost first. At most `max` frames are stored.
 *
 * `offset` is a virtual address of the file, which is an address in memory minus the load bias.
 * `build_id` is the recorded one, in hexadecimal; "-": the file had none; NULL: not recorded.
 * For JIT code, `path` is a perf map (/tmp/perf-PID.map), `build_id` is NULL and `offset` is the
 * address.
 *
 * Returns the number of frames. 0: the file is missing, has another build ID (reported once per
 * file), or has no symbol there. The first call for a file reads its tables; later ones use binary
 * searches.
 */
size_t symbols_find(struct symbols *symbols, const char *path, const char *build_id,
		    uint64_t offset, struct symbol *found, size_t max);

#endif
