/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_jit.h - perf maps: the functions that a JIT compiler wrote to /tmp/perf-PID.map.
 */
#ifndef TOOLS_SYMBOLS_JIT_H
#define TOOLS_SYMBOLS_JIT_H

#include <stdbool.h>

#include "symbols/symbols_elf.h"

/* symbols_jit_is - whether a path is called like a perf map. */
bool symbols_jit_is(const char *path);

/*
 * symbols_jit_read - read a perf map. Later functions replace earlier ones at the same address.
 * False: it cannot be read. The caller frees table->functions and table->names in every case.
 */
bool symbols_jit_read(const char *path, struct symbols_table *table);

#endif
