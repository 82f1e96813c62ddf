/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_dwarf.h - functions, inlined functions and lines from DWARF, through elfutils' libdw.
 *
 * A damaged file may crash libdw. symbols.c calls this in a separate process.
 */
#ifndef TOOLS_SYMBOLS_DWARF_H
#define TOOLS_SYMBOLS_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct symbols_dwarf;

/* symbols_dwarf_open - NULL: the file has no DWARF, or mam was built without libdw. */
struct symbols_dwarf *symbols_dwarf_open(const char *path);
void symbols_dwarf_close(struct symbols_dwarf *dwarf);

/*
 * symbols_dwarf_find - as symbols_find(). The texts live until the next call. The function of the
 * last frame is "" if only the line is known.
 */
size_t symbols_dwarf_find(struct symbols_dwarf *dwarf, uint64_t offset, struct symbol *found,
			  size_t max);

#endif
