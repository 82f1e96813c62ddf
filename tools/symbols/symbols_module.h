/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_module.h - the symbols of one file. Damaged DWARF may crash the process: see symbols.c.
 */
#ifndef TOOLS_SYMBOLS_MODULE_H
#define TOOLS_SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct symbols_module;

/*
 * symbols_module_open - read the tables of a file; arguments as in symbols_find(). Without `dwarf`
 * only symbol tables are read. NULL: out of memory.
 */
struct symbols_module *symbols_module_open(const char *path, const char *build_id, bool dwarf);
void symbols_module_close(struct symbols_module *module);

/*
 * symbols_module_changed - whether the file has another build ID than recorded, and there is no
 * debug file of the recorded one.
 */
bool symbols_module_changed(const struct symbols_module *module);

/* symbols_module_find - as symbols_find(). The texts live until the next call. */
size_t symbols_module_find(struct symbols_module *module, uint64_t offset, struct symbol *found,
			   size_t max);

#endif
