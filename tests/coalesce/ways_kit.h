/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways_kit.h - helpers for tests that use each coalescer of coalesce/way.h: a map and buffers, new
 * for each run; on top of kit.h, whose `own` is the struct below.
 */
#ifndef MAM_TESTS_COALESCE_WAYS_KIT_H
#define MAM_TESTS_COALESCE_WAYS_KIT_H

#include "coalesce/kit.h"
#include "coalesce/way.h"

#define WAYS_ENTRIES 256u
#define WAYS_FIFOS 2u

struct ways {
	enum mam_kway way;
	struct mam_kmap *map;
	struct mam_buffers *buffers;
};

static inline struct ways ways_make(enum mam_kway way)
{
	struct ways ways = { .way = way };

	ways.map = aligned_alloc(128, (mam_map_bytes(WAYS_ENTRIES) + 127) / 128 * 128);
	ways.buffers = aligned_alloc(
		128, (mam_buffers_bytes(WAYS_FIFOS, MAM_BUFFERS_BLOCKS) + 127) / 128 * 128);
	ck_assert(ways.map && ways.buffers);
	return ways;
}

static inline void ways_drop(struct ways *ways)
{
	free(ways->buffers);
	free(ways->map);
}

static inline void ways_begin(struct ckit *kit)
{
	struct ways *ways = kit->own;

	memset(ways->map, 0, mam_map_bytes(WAYS_ENTRIES));
	mam_map_format(ways->map, WAYS_ENTRIES);
	memset(ways->buffers, 0, mam_buffers_bytes(WAYS_FIFOS, MAM_BUFFERS_BLOCKS));
	mam_buffers_format(ways->buffers, WAYS_FIFOS, MAM_BUFFERS_BLOCKS, (uintptr_t)kit->arena);
}

#endif
