/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.h - the free segments of one size, as a list that is represented by its first segment.
 *
 * The owner stores the first segment (in a bin or a tree node): put and take return the new first
 * segment.
 *
 * The choice among equal free blocks determines how high in a chunk blocks spread. Always using the
 * lowest would need a tree among peers and a descent of uncached lines. A list that keeps a low one
 * at the front is as good. High-water ratios (high water over peak live bytes, 512 B granule) by
 * the free block chosen among equals, for three recorded training runs and synthetic mixes of sizes
 * (the mean of three seeds each):
 *
 *                          lowest   as here   newest   oldest
 *      resnet50-train       1.009    1.005     1.014    1.010
 *      gnn-train            1.162    1.162     1.162    1.162
 *      gpt2-train           1.103    1.103     1.103    1.103
 *      32 fixed sizes       1.065    1.063     1.068    1.068
 *      the same, in phases  1.072    1.069     1.071    1.071
 *      powers of two        1.029    1.024     1.026    1.023
 *      uniform to 64 KiB    1.050    1.051     1.056    1.054
 *
 * Bound: O(1). lock: pool.
 */
#ifndef MAM_INDEX_PEERS_H
#define MAM_INDEX_PEERS_H

#include "index/segment.h"

/*
 * mam_peers_put - insert a segment. One with a lower address than `first` becomes the first, any
 * other becomes the second. `first` 0: an empty list.
 *
 * No branches: these conditions are unpredictable, and a misprediction costs more than all the
 * rest. Record 0 stands for no segment. Its address is above all others, and it receives the links
 * that a missing peer would have had.
 */
static inline uint32_t mam_peers_put(const struct mam_records *segments, uint32_t first,
				     uint32_t handle)
{
	struct mam_segment *segment = mam_segment_at(segments, handle);
	const struct mam_segment *front = mam_segment_at(segments, first);
	bool lower = segment->base < front->base;
	uint32_t prev = lower ? 0 : first;
	uint32_t next = lower ? first : front->peer_next;

	segment->peer_prev = prev;
	segment->peer_next = next;
	mam_segment_at(segments, next)->peer_prev = handle;
	mam_segment_at(segments, prev)->peer_next = handle;
	return lower ? handle : first;
}

/*
 * mam_peers_take - remove a segment from the list. Returns the first of the remaining ones, 0 if
 * none is left. `first` as before the call. No branches, as above.
 */
static inline uint32_t mam_peers_take(const struct mam_records *segments, uint32_t first,
				      uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(segments, handle);
	uint32_t prev = segment->peer_prev;
	uint32_t next = segment->peer_next;

	mam_segment_at(segments, next)->peer_prev = prev;
	mam_segment_at(segments, prev)->peer_next = next;
	return prev == 0 ? next : first;
}

/*
 * mam_peers_check - check links and sizes. Adds the length to *count, which `most` bounds, so that
 * a cycle is reported.
 */
const char *mam_peers_check(const struct mam_records *segments, uint32_t first, uint64_t bytes,
			    uint64_t max, uint64_t *count);

#endif
