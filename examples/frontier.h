/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frontier.h - breadth-first search whose frontier grows in the kernel: the number of nodes in a
 * level is not known beforehand, and no memory for the worst case is reserved.
 *
 * One kernel per level:
 * 1. Each lane takes nodes of the current frontier, a vector of names.
 * 2. For each edge to a node that was not reached yet: claim the node for that edge, by
 *    compare-and-swap. The lane that succeeds writes the distance and pushes the node to the next
 *    frontier, which grows as needed.
 * 3. Meanwhile one lane empties the frontier before the current one, for the level after the next; its
 *    memory stays.
 * The level whose frontier is empty is the last.
 *
 * The graph is in compressed rows: edges first[i] to first[i + 1] - 1 leave node i, and sinks[e] is
 * the target of edge e.
 *
 * Bound: each edge is read once, each node pushed once. Memory: each of three frontiers at most
 * twice its largest level, and FRONTIER_SHIFT.
 *
 * Invariants: a node's `by` is FRONTIER_NOBODY first, and then forever the edge that reached it
 * first, or FRONTIER_START; its distance is that of the level in which that happened.
 *
 * Concurrent calls: frontier_start() by one lane, in a separate kernel; frontier_step() by all
 * lanes of a kernel, one kernel after the other.
 *
 * CUDA and OpenCL C. In OpenCL include mam.cl first, which defines MAM_DS_BASE; in CUDA that is a
 * struct mam_kbase.
 */
#ifndef FRONTIER_H
#define FRONTIER_H

#ifdef __CUDACC__
#include <mam/ds.cuh>
#endif

#define FRONTIER_NOBODY 0xffffffffu
#define FRONTIER_START 0xfffffffeu
#define FRONTIER_SHIFT 8u /* the first segment of a frontier has 1 << 8 nodes */

/* State shared by all levels. */
struct frontier {
	struct mam_vector level[3]; /* names of nodes; level k is in k % 3 */
	uint64_t lost;              /* nodes that ran out of memory; atomic */
};

/* Starts from one node; `by` and `distance` are FRONTIER_NOBODY everywhere. */
MAM_KFN void frontier_start(MAM_GLOBAL struct frontier *frontier, MAM_DS_BASE base,
			    MAM_GLOBAL uint32_t *by, MAM_GLOBAL uint32_t *distance, uint32_t node)
{
	MAM_GLOBAL uint32_t *place;
	uint64_t number;
	uint32_t i;

	for (i = 0; i < 3; i++)
		mam_vector_init(&frontier->level[i], sizeof(uint32_t), FRONTIER_SHIFT);
	frontier->lost = 0;
	by[node] = FRONTIER_START;
	distance[node] = 0;
	place = (MAM_GLOBAL uint32_t *)mam_vector_push(&frontier->level[0], base, &number);
	if (place)
		*place = node;
	else
		frontier->lost = 1;
}

/* True: the caller reached `node` first. */
MAM_KFN bool frontier_claim(MAM_GLOBAL uint32_t *by, uint32_t node, uint32_t edge)
{
	if (mam_atomic_load32(&by[node], MAM_RELAXED, MAM_AT_DEVICE) != FRONTIER_NOBODY)
		return false;
	return mam_atomic_cas32(&by[node], FRONTIER_NOBODY, edge, MAM_RELAXED, MAM_AT_DEVICE) ==
	       FRONTIER_NOBODY;
}

/* Follows the edges of one node of level `level`. */
MAM_KFN void frontier_visit(MAM_GLOBAL struct frontier *frontier, MAM_DS_BASE base,
			    MAM_GLOBAL const uint32_t *first, MAM_GLOBAL const uint32_t *sinks,
			    MAM_GLOBAL uint32_t *by, MAM_GLOBAL uint32_t *distance, uint32_t level,
			    uint32_t node)
{
	MAM_GLOBAL struct mam_vector *next = &frontier->level[(level + 1) % 3];
	MAM_GLOBAL uint32_t *place;
	uint64_t number;
	uint32_t edge;

	MAM_ROLLED
	for (edge = first[node]; edge < first[node + 1]; edge++) {
		if (!frontier_claim(by, sinks[edge], edge))
			continue;
		distance[sinks[edge]] = level + 1;
		place = (MAM_GLOBAL uint32_t *)mam_vector_push(next, base, &number);
		if (place)
			*place = sinks[edge];
		else
			(void)mam_atomic_add64(&frontier->lost, 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* One level; `size` receives the number of its nodes: 0 ends the search. */
MAM_KFN void frontier_step(MAM_GLOBAL struct frontier *frontier, MAM_DS_BASE base,
			   MAM_GLOBAL const uint32_t *first, MAM_GLOBAL const uint32_t *sinks,
			   MAM_GLOBAL uint32_t *by, MAM_GLOBAL uint32_t *distance, uint32_t level,
			   MAM_GLOBAL uint64_t *size)
{
	MAM_GLOBAL struct mam_vector *now = &frontier->level[level % 3];
	uint64_t lane = (uint64_t)mam_block() * mam_block_threads() + mam_thread();
	uint64_t lanes = (uint64_t)mam_grid_blocks() * mam_block_threads();
	uint64_t count = mam_vector_count(now), i;

	if (lane == 0) {
		mam_vector_clear(&frontier->level[(level + 2) % 3]);
		*size = count;
	}
	MAM_ROLLED
	for (i = lane; i < count; i += lanes)
		frontier_visit(frontier, base, first, sinks, by, distance, level,
			       *(MAM_GLOBAL uint32_t *)mam_vector_get(now, i));
}

/* Frees all memory, by one lane. */
MAM_KFN void frontier_end(MAM_GLOBAL struct frontier *frontier, MAM_DS_BASE base)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		mam_vector_fini(&frontier->level[i], base);
}

#endif
