/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_kit.h - what tests of objects in parts share: sizes for lanes, where each part must lie,
 * a pattern in all of its bytes, and how many parts of an object are left.
 *
 * The shadow of objects_kit.h knows the object as a whole: who leaves its last part forgets it there,
 * before that is given back.
 */
#ifndef MAM_TESTS_HEAP_COLLECTIVE_KIT_H
#define MAM_TESTS_HEAP_COLLECTIVE_KIT_H

#include <mam/heap.cuh>

#include "heap/objects/objects_kit.h"

/* Bytes for lane or thread i of those that come. */
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

/* Every third has none. */
static inline size_t ckit_holes(uint32_t i)
{
	return i % 3 == 1 ? 0 : 8 + 8 * (i % 5);
}

static inline size_t ckit_even_holes(uint32_t i)
{
	return i % 2 ? 24 : 0;
}

/* Together a run of units. */
static inline size_t ckit_wide(uint32_t i)
{
	return 3000 + 16 * (i % 2);
}

/* Bytes in front of the parts. */
static inline size_t ckit_front(uint32_t parts, bool differ)
{
	size_t front = 16;

	if (parts > 32)
		front += ((parts + 31) / 32 * 4 + 15) / 16 * 16;
	if (differ)
		front += (parts * 4 + 15) / 16 * 16;
	return front;
}

/* What the lanes of a mask, or so many threads, want. */
struct ckit_want {
	size_t before; /* of number `i`: from the first part to its own */
	size_t total;
	size_t front;
	uint32_t parts, last; /* count, and the number of the last one that has any */
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

/* All of a part; `tag` says whose. */
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
