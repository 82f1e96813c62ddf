/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h - one growing array of equally sized records in host memory, named by handles.
 *
 *  1. An address range is reserved; pages cost memory once touched. A full array doubles and may
 *     move. Therefore handles name records (rbtree.h), and a caller must not keep a pointer to a
 *     record across mam_records_reserve().
 *  2. take returns the most recently returned record, otherwise the next untouched one. O(1), no
 *     system call.
 *  3. take never returns record 0: handle 0 means none.
 *
 * The system's malloc is never used. An allocator that malloc-heavy programs call, or that replaces
 * malloc, must not depend on it. Our own free list also keeps records that are allocated together
 * adjacent in memory.
 *
 * Threads: no synchronization; the owner locks.
 */
#ifndef MAM_BASE_RECORDS_H
#define MAM_BASE_RECORDS_H

#include <mam/mam.h>

#include "base/rbtree.h" /* MAM_RB_UNIT */

struct mam_records {
	char *base;          /* record 0; moves */
	size_t record_bytes; /* a multiple of 16, at most 4096; set at init */
	size_t mapped_bytes; /* size of the address range */
	uint32_t touched;    /* records ever taken, including record 0 */
	uint32_t capacity;   /* records that fit in the range */
	uint32_t idle;       /* last returned record; its first word names the one before */
	uint32_t idle_count;
};

enum mam_status mam_records_init(struct mam_records *records, size_t record_bytes);
void mam_records_fini(struct mam_records *records);

/* mam_records_grow - the slow path of reserve. OUT_OF_HOST_MEMORY changes nothing. */
enum mam_status mam_records_grow(struct mam_records *records, uint32_t count);

/* mam_records_reserve - guarantee that the next `count` takes succeed. May move the array. */
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

/* Bytes of all records ever taken: the memory that the array uses. */
static inline size_t mam_records_bytes(const struct mam_records *records)
{
	return (size_t)records->touched * records->record_bytes;
}

/*
 * mam_records_refuse_at - for tests: the n-th growth from now on, of any array, fails once; 0:
 * none. Debug builds only.
 */
void mam_records_refuse_at(unsigned n);

#endif
