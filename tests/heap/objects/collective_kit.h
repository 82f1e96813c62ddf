/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_kit.h - helpers for tests of objects in parts: sizes per lane, the expected address of
 * each part, a pattern that fills all of its bytes, and the number of parts that an object still
 * has.
 *
 * The shadow of objects_kit.h contains the object as a whole: the lane that frees its last part
 * removes it from the shadow before that free.
 */
#ifndef MAM_TESTS_HEAP_COLLECTIVE_KIT_H
#define MAM_TESTS_HEAP_COLLECTIVE_KIT_H

#include <mam/heap.cuh>

#include "heap/objects/objects_kit.h"

/* Bytes for lane or thread i of those that call. */
typedef size_t ckit_sizes(uint32_t i);

static inline size_t ckit_word(uint32_t i)
{
	(void)i;
	return 4;
}

static inline size_t ckit_line(uint32_t i)
{
	(void)i;
	return 96;
}

static inline size_t ckit_rising(uint32_t i)
{
	return 1 + i;
}

/* Every third lane has no part. */
static inline size_t ckit_gaps(uint32_t i)
{
	return i % 3 == 1 ? 0 : 8 + 8 * (i % 5);
}

static inline size_t ckit_even_gaps(uint32_t i)
{
	return i % 2 ? 24 : 0;
}

/* Together as large as a run of units. */
static inline size_t ckit_wide(uint32_t i)
{
	return 3000 + 16 * (i % 2);
}

/* Bytes before the parts. */
static inline size_t ckit_front(uint32_t parts, bool differ)
{
	size_t front = 16;

	if (parts > 32)
		front += ((parts + 31) / 32 * 4 + 15) / 16 * 16;
	if (differ)
		front += (parts * 4 + 15) / 16 * 16;
	return front;
}

/* The requests of the lanes of a mask, or of so many threads. */
struct ckit_want {
	size_t before; /* bytes from the first part to that of number `i` */
	size_t total;
	size_t front;
	uint32_t parts, last; /* number of parts, and the number of the last lane that has one */
};

OKIT_UNSEEN struct ckit_want ckit_want(ckit_sizes *sizes, uint32_t mask, uint32_t threads,
				       uint32_t i)
{
	struct ckit_want want = { 0, 0, 0, 0, 0 };
	bool differ = false;
	size_t first = 0;

	for (uint32_t k = 0; k < threads; k++) {
		if (!(mask >> k % 32 & 1) || !sizes(k))
			continue;
		first = first ? first : sizes(k);
		differ |= sizes(k) != first;
		want.before += k < i ? sizes(k) : 0;
		want.total += sizes(k);
		want.parts++;
		want.last = k;
	}
	want.front = ckit_front(want.parts, differ);
	return want;
}

/* Fills a part; `tag` identifies its owner. */
static inline void ckit_fill(unsigned char *part, size_t bytes, uint32_t tag)
{
	for (size_t i = 0; i < bytes; i += i < 32 || bytes - i < 34 ? 1 : bytes - i - 33)
		part[i] = (unsigned char)(tag * 31 + i);
}

static inline void ckit_look(const unsigned char *part, size_t bytes, uint32_t tag)
{
	for (size_t i = 0; i < bytes; i += i < 32 || bytes - i < 34 ? 1 : bytes - i - 33)
		MAM_KASSERT(part[i] == (unsigned char)(tag * 31 + i));
}

#endif
