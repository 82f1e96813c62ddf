/* SPDX-License-Identifier: Apache-2.0 */
/* heap_list.h - lists the chunks and blocks of all pools (<mam/control.h>, dump). */
#ifndef MAM_INTERPOSE_HEAP_LIST_H
#define MAM_INTERPOSE_HEAP_LIST_H

#include <stdbool.h>

struct mam_file_text;

/*
 * Prints the lines of a dump. Each pool is locked while its blocks are copied, not while they are
 * printed. Returns false if there is no host memory. The guard is up.
 */
bool mam_heap_list_put(struct mam_file_text *text);

#endif
