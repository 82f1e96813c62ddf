/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree_use.h - the encoding of a child of a node of the octree of `mam bench case` (octree.h),
 * and a use of the tree: the forces on some bodies, one lane per body, by a traversal from the root
 * that opens the cells that are not far.
 *
 * Bound: a lane's stack has a place for each level.
 */
#ifndef MAM_TOOLS_BENCH_CASES_OCTREE_USE_H
#define MAM_TOOLS_BENCH_CASES_OCTREE_USE_H

#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/octree/octree_bodies.h"

#ifndef __CUDACC__
#include <math.h>
#endif

#define OCTREE_BLOCK 256
#define OCTREE_LOCKED 2u
#define OCTREE_BEHIND 0x80000000u /* the tree does not point to this body */
#define OCTREE_LAST 0x7fffffffu   /* the end of a chain */

MAM_KFN struct octree_node *octree_node_of(uint64_t child)
{
	return (struct octree_node *)(uintptr_t)child;
}

MAM_KFN bool octree_is_node(uint64_t child)
{
	return child % 2 == 0 && child > OCTREE_LOCKED;
}

MAM_KFN uint64_t octree_of_body(uint32_t body)
{
	return (uint64_t)body << 1 | 1u;
}

MAM_KFN uint32_t octree_body_of(uint64_t child)
{
	return (uint32_t)(child >> 1);
}

MAM_KFN uint64_t octree_place_of(const struct device_job *job, uint32_t body)
{
	return ((const uint64_t *)(uintptr_t)job->own[0])[body];
}

MAM_KFN uint32_t *octree_behind(const struct device_job *job, uint32_t body)
{
	return (uint32_t *)(uintptr_t)job->own[1] + body;
}

MAM_KFN uint64_t *octree_root(const struct device_job *job)
{
	return (uint64_t *)(uintptr_t)job->own[2];
}

/* The next body of a chain; OCTREE_LAST at its end. */
MAM_KFN uint32_t octree_next(const struct device_job *job, uint32_t body)
{
	return mam_atomic_load32(octree_behind(job, body), MAM_RELAXED, MAM_AT_DEVICE) &
	       OCTREE_LAST;
}

/* ---- forces ---- */

struct octree_pull {
	float force[3];
	uint32_t count; /* of bodies and cells that pulled */
};

/* Adds the pull of one body, or of a cell that counts as one. */
MAM_KFN void octree_pull(struct octree_pull *pull, uint64_t place, uint64_t from, uint32_t mass)
{
	const float apart2 = (float)(octree_distance2(place, from) + 1);
	const float strength = (float)mass / (apart2 * sqrtf(apart2));
	uint32_t i;

	for (i = 0; i < 3; i++)
		pull->force[i] += strength * (float)((int32_t)octree_axis(from, i) -
						     (int32_t)octree_axis(place, i));
	pull->count++;
}

MAM_KFN void octree_pull_bodies(const struct device_job *job, struct octree_pull *pull,
				uint64_t place, uint64_t child)
{
	uint32_t body;

	for (body = octree_body_of(child); body != OCTREE_LAST; body = octree_next(job, body))
		octree_pull(pull, place, octree_place_of(job, body), octree_mass(body));
}

MAM_KFN void octree_walk(const struct device_job *job, struct octree_pull *pull, uint64_t place)
{
	const struct octree_node *path[OCTREE_LEVELS];
	uint32_t turns[OCTREE_LEVELS];
	uint32_t level = 0;

	path[0] = octree_node_of(*octree_root(job));
	turns[0] = 0;
	for (;;) {
		uint64_t child;

		if (turns[level] == 8) {
			if (level == 0)
				return;
			level--;
			continue;
		}
		child = path[level]->children[turns[level]++];
		if (octree_is_node(child)) {
			const struct octree_node *const node = octree_node_of(child);

			if (octree_is_far(place, node->centre, level + 1)) {
				octree_pull(pull, place, node->centre, node->mass);
			} else {
				path[++level] = node;
				turns[level] = 0;
			}
		} else if (child != 0) {
			octree_pull_bodies(job, pull, place, child);
		}
	}
}

MAM_KFN void case_octree_use(const struct device_job *job)
{
	struct octree_pull *const pulls = (struct octree_pull *)(uintptr_t)job->own[3];
	const uint64_t root = *octree_root(job);
	const uint32_t body = device_thread();
	struct octree_pull pull = { { 0, 0, 0 }, 0 };
	uint64_t place;

	if (body >= job->askers)
		return;
	place = octree_place_of(job, body);
	if (octree_is_node(root))
		octree_walk(job, &pull, place);
	else if (root != 0)
		octree_pull_bodies(job, &pull, place, root);
	pulls[body] = pull;
}
CASE_KERNEL(octree_use, case_octree_use, OCTREE_BLOCK)

#endif
