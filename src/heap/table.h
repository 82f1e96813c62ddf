/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - what a heap that grows knows of its grants and large objects (growth.h), as the host
 * makes it, reads it from the device, and writes it while no kernel uses the heap.
 */
#ifndef MAM_HEAP_TABLE_H
#define MAM_HEAP_TABLE_H

#include "heap/grant.h"

/* mam_table_at - where it is, on the device. */
uintptr_t mam_table_at(const struct mam_heap *heap);

/* mam_table_make - of a new heap, with what never changes as `growth` has it. */
void mam_table_make(const struct mam_heap *heap, struct mam_reach_visit *visit,
		    const struct mam_growth *growth);

/* mam_table_copy - a copy, but for hints at its end, is in `growth` once the visit has waited. */
void mam_table_copy(const struct mam_heap *heap, struct mam_reach_visit *visit,
		    struct mam_growth *growth);

/* mam_table_read - the same in a visit of its own, in the order of `stream`. free() ends it. */
enum mam_status mam_table_read(const struct mam_heap *heap, struct CUstream_st *stream,
			       struct mam_growth **growth);

/* mam_table_plot - number `i` of the grants in use. False: there are not so many. */
bool mam_table_plot(const struct mam_growth *growth, uint32_t i, struct mam_plot *plot);

/* mam_table_large - in slot `i` is a live object. */
bool mam_table_large(const struct mam_growth *growth, uint32_t i);

/* mam_table_forget - on the device, of which there is a copy, no slot has a large object. */
void mam_table_forget(const struct mam_heap *heap, struct mam_reach_visit *visit,
		      struct mam_growth *growth);

/* mam_table_write - the grants in use, as a copy has them; requests begin at the last one. */
void mam_table_write(const struct mam_heap *heap, struct mam_reach_visit *visit,
		     const struct mam_growth *growth);

#endif
