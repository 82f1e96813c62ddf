/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree_reserved.h - the same octree (octree.h) without an allocator: an array of nodes is
 * reserved, and a counter has the number of used nodes. A warp adds to it once.
 *
 * job: got the nodes, `rounds` of them, more the counter.
 */
#ifndef MAM_TOOLS_BENCH_CASES_OCTREE_RESERVED_H
#define MAM_TOOLS_BENCH_CASES_OCTREE_RESERVED_H

#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/octree/octree_bodies.h"

#define OCTREE_TAKE(job, takers) octree_take_reserved(job, takers)
#define OCTREE_GIVE(job, node) ((void)(job), (void)(node)) /* the counter is set to 0 instead */

MAM_KFN struct octree_node *octree_take_reserved(const struct device_job *job, uint32_t takers)
{
	const uint32_t lane = mam_lane(), first = mam_ffs32(takers) - 1;
	uint64_t number = 0;

	if (lane == first)
		number =
			mam_atomic_add64(job->more, mam_popc32(takers), MAM_RELAXED, MAM_AT_DEVICE);
	number = mam_warp_shuffle64(takers, number, first);
	number += mam_popc32(takers & ((1u << lane) - 1));
	if (number < job->rounds)
		return (struct octree_node *)(uintptr_t)job->got + number;
	device_report(&case_told_of(job)->none, 1);
	return NULL;
}

#include "bench/papers/cases/octree/octree.h"

#endif
