/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_files.h - where the debug information of a stripped file is installed.
 */
#ifndef TOOLS_SYMBOLS_FILES_H
#define TOOLS_SYMBOLS_FILES_H

#include <limits.h>
#include <stdbool.h>

#include "symbols/symbols_elf.h"

/* The system's folder of debug files, /usr/lib/debug; tests change it. */
extern const char *symbols_files_root;

/*
 * symbols_files_by_id - find the debug file of a build ID: in the folder .build-id of the system,
 * then in the cache of debuginfod ($DEBUGINFOD_CACHE_PATH, or its default). No server is contacted.
 * False: there is none.
 */
bool symbols_files_by_id(const char *build_id, char path[PATH_MAX]);

/*
 * symbols_files_by_link - find the file that .gnu_debuglink of the file `of` names: in the folder of
 * that file, in its subfolder .debug, and below the system's folder. Its build ID or else its
 * CRC-32 has to match.
 */
bool symbols_files_by_link(const char *of, const struct symbols_elf *elf, char path[PATH_MAX]);

#endif
