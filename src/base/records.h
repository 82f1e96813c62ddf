/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h - one growing array of equal records in host memory, named by handles.
 *
 *  1. A range of addresses is reserved; pages cost memory once touched. When it is full it doubles,
 *     and may move: hence handles (rbtree.h), and hence no pointer to a record may be kept across
 *     mam_records_reserve().
 *  2. take hands out the record put back last, else the next untouched one. O(1), no system call.
 *  3. Record 0 is never handed out: handle 0 means none.
 *
 * The system's malloc is never used: an allocator that is called from inside malloc-heavy programs,
 * or in their place, must not depend on it, and a free list of our own keeps neighbours in time
 * neighbours in memory.
 *
 * Threads: none of its own; the owner locks.
 */
#ifndef MAM_BASE_RECORDS_H
#define MAM_BASE_RECORDS_H

#include <mam/mam.h>

#include "base/rbtree.h" /* MAM_RB_UNIT */

struct mam_records {
	char *base;          /* record 0; moves */
	size_t record_bytes; /* a multiple of 16, at most 4096; set at init */
	size_t mapped_bytes; /* address range held */
	uint32_t touched;    /* records ever handed out, record 0 counted */
	uint32_t capacity;   /* records that fit the range */
	uint32_t idle;       /* record put back last; its first word names the one before */
	uint32_t idle_count;
};

enum mam_status mam_records_init(struct mam_records *records, size_t record_bytes);
void mam_records_fini(struct mam_records *records);

/* mam_records_grow - the slow half of reserve. OUT_OF_HOST_MEMORY leaves everything as it was. */
enum mam_status mam_records_grow(struct mam_records *records, uint32_t count);

/* mam_records_reserve - make the next `count` takes sure to succeed. May move the array. */
static inline enum mam_status mam_records_reserve(struct mam_records *records, uint32_t count)
{
	if (records->idle_count + (records->capacity - records->touched) >= count)
		return MAM_OK;
	return mam_records_grow(records, count);
}

static inline void *mam_records_at(const struct mam_records *records, uint32_t handle)
{
	return records->base + (size_t)handle * MAM_RB_UNIT;
}

/* mam_records_take - a record, contents undefined. pre: reserved. */
static inline uint32_t mam_records_take(struct mam_records *records)
{
	uint32_t handle = records->idle;

	if (handle != 0) {
		records->idle = *(uint32_t *)mam_records_at(records, handle);
		records->idle_count--;
		return handle;
	}
	return (uint32_t)(records->touched++ * (records->record_bytes / MAM_RB_UNIT));
}

static inline void mam_records_put(struct mam_records *records, uint32_t handle)
{
	*(uint32_t *)mam_records_at(records, handle) = records->idle;
	records->idle = handle;
	records->idle_count++;
}

/* Bytes of memory that records were ever in: what the array costs. */
static inline size_t mam_records_bytes(const struct mam_records *records)
{
	return (size_t)records->touched * records->record_bytes;
}

/*
 * mam_records_refuse_at - tests: the n-th growth from now on, of any array, fails once; 0: none.
 * Debug builds only.
 */
void mam_records_refuse_at(unsigned n);

#endif
