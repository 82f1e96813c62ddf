/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the device's table of a growing heap's grants and large objects (growth.h), as the host
 * creates it, reads it, and writes it while no kernel uses the heap.
 */
#ifndef MAM_HEAP_HOST_TABLE_H
#define MAM_HEAP_HOST_TABLE_H

#include "heap/host/create.h"

/* mam_table_at - its address on the device. */
uintptr_t mam_table_at(const struct mam_heap *heap);

/* mam_table_make - creates that of a new heap, with the constant fields of `growth`. */
void mam_table_make(const struct mam_heap *heap, struct mam_copy_visit *visit,
		    const struct mam_growth *growth);

/* A copy of it and of the tables of parts, except for hints. */
struct mam_table {
	struct mam_growth growth;
	uint32_t room;                     /* parts that the tables have room for */
	struct mam_grant *part;            /* of all tables, one after the other */
	struct mam_kheap *head;            /* likewise */
	uint32_t tables;                   /* count, including the first */
	uint64_t at[MAM_PARTS_TABLES + 1]; /* their addresses */
};

/*
 * mam_table_copy - waits for the visit's stream, and copies all to `table`, which the caller must
 * free(). Returns OUT_OF_HOST_MEMORY; other failures are those of the visit. pre: the heap grows.
 */
enum mam_status mam_table_copy(const struct mam_heap *heap, struct mam_copy_visit *visit,
			       struct mam_table **table);

/* mam_table_read - the same in a visit of its own, in the order of `stream`. */
enum mam_status mam_table_read(const struct mam_heap *heap, struct CUstream_st *stream,
			       struct mam_table **table);

/* mam_table_plot - number `i` of the grants in use. Returns false if there are not so many. */
bool mam_table_plot(const struct mam_table *table, uint32_t i, struct mam_plot *plot);

/* The live large objects, in no order. */
struct mam_table_large {
	struct mam_large *large;
	size_t count;
};

/*
 * mam_table_large - reads them, in the order of `stream`. The caller must free() `large`. pre: the
 * heap grows.
 */
enum mam_status mam_table_large(const struct mam_heap *heap, struct CUstream_st *stream,
				struct mam_table_large *live);

/* mam_table_forget - removes all large objects on the device. `table` is a copy. */
void mam_table_forget(const struct mam_heap *heap, struct mam_copy_visit *visit,
		      struct mam_table *table);

/*
 * mam_table_write - writes the grants in use, as in `part`, `head` and `growth.parts`; requests then
 * start at the last one.
 */
void mam_table_write(const struct mam_heap *heap, struct mam_copy_visit *visit,
		     struct mam_table *table);

#endif
