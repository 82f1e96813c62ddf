/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_allocators.h - interface between the files that make heaps for `mam bench device`.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_ALLOCATORS_H
#define MAM_TOOLS_BENCH_DEVICE_ALLOCATORS_H

#include "device_bench.h"

/* mam's own, of objects or of pages: device_ours.c. Both have the same end and reset. */
const char *device_ours_make(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes);
const char *device_ours_make_pages(struct device_heap *heap, uint64_t bytes, uint32_t page_bytes);
void device_ours_end(struct device_heap *heap);
bool device_ours_reset(struct device_heap *heap);

/* device_heap_end_block - end a heap that is one block of device memory, own[0] */
void device_heap_end_block(struct device_heap *heap);

/*
 * device_added_read - load FILE.fatbin[:BYTES] of --adapter as an allocator named FILE. It stays
 * valid until device_added_fini(). Returns false with one sentence in `why`.
 */
bool device_added_read(const char *text, struct device_allocator *added, char *why,
		       size_t why_bytes);
void device_added_fini(struct device_allocator *added);

#endif
