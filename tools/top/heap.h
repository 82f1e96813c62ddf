/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - the heap of one running process as a strip: how much of each range of addresses is used;
 * and the tags or call sites that hold most of it.
 *
 * The process lists its blocks if it runs under mam run (<mam/control.h>, dump): at most once per
 * second, and only while it is shown. It is also asked to sample call sites, until a minute after it
 * was shown last. Nothing here waits for it.
 */
#ifndef TOOLS_TOP_HEAP_H
#define TOOLS_TOP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page/page_list.h"

/*
 * top_heap_show - which process is shown from now on; NULL: none. top_heap_poll - send a request if
 * it is time for one, and read what has arrived. Returns true if there is a new list of blocks.
 * top_heap_is_busy - a reply is on its way: poll again soon.
 */
void top_heap_show(const struct page_entry *process);
bool top_heap_poll(uint64_t now_ns);
bool top_heap_is_busy(void);

struct top_strip {
	size_t chunks, blocks;       /* count; freed blocks that wait for the GPU are included */
	uint64_t bytes;              /* of the chunks */
	uint64_t used_bytes;         /* of the blocks */
	uint64_t largest_free_bytes; /* between blocks of one chunk */
	uint64_t cell_bytes;
};

/*
 * top_heap_strip - the heap on a GPU of the process: `cells` has the used bytes of `count` ranges
 * of equal size, of all chunks in the order of their addresses. False: it is unknown, or empty.
 */
bool top_heap_strip(int gpu, uint64_t *cells, size_t count, struct top_strip *strip);

/* The live blocks of one tag or call site. */
struct top_origin {
	const char *name; /* any bytes; NULL: blocks without one, and those of all further ones */
	size_t blocks;    /* count */
	uint64_t bytes;   /* requested */
};

/*
 * top_heap_origins - those of a GPU with the largest sums of bytes, in descending order, and then
 * that of the rest, if it has blocks. Returns their number, which is at most `room`, and `room` is at
 * least 1; 0: no block has a tag or a call site. Names are valid until the next call of
 * top_heap_poll() or top_heap_show().
 */
size_t top_heap_origins(int gpu, struct top_origin *origins, size_t room);

#endif
