/* SPDX-License-Identifier: Apache-2.0 */
/* heap_list.h - lists the chunks and blocks of all pools (<mam/control.h>, dump and trace). */
#ifndef MAM_INTERPOSE_HEAP_LIST_H
#define MAM_INTERPOSE_HEAP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mam_file_text;
struct mam_pools_entry;

/*
 * Prints the lines of a dump. Each pool is locked while its blocks are copied, not while they are
 * printed. Returns false if there is no host memory. The guard is up.
 */
bool mam_heap_list_put(struct mam_file_text *text);

struct mam_heap_list_block {
	uintptr_t base, chunk;
	size_t bytes;     /* 0: its chunk has no block */
	size_t requested; /* 0: it is not live */
	size_t chunk_bytes;
};

/* The same for any use of the blocks: `use` gets those of one pool, by address. */
bool mam_heap_list_visit(void (*use)(const struct mam_pools_entry *entry,
				     const struct mam_heap_list_block *blocks, size_t count,
				     void *user),
			 void *user);

#endif
