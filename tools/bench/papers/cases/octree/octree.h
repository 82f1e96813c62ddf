/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree.h - kernels of `mam bench case` that build a Barnes-Hut octree, compute its sums, use it,
 * and free it. A cell with two or more bodies is a node, unless it is a single point; the bodies
 * alone determine which nodes exist.
 *
 * Build, one lane per body:
 * 1. Descend from the root to a child that is not a node.
 * 2. If it is empty, insert the body by one CAS. If it is a body at the deepest level, chain the
 *    new body to it.
 * 3. If it is another body, lock the child by one CAS, allocate a node, insert that body into it,
 *    and replace the lock by the node. Then continue with 1 from there. If several lanes of a warp
 *    are at the same child, the lowest tries. A lane that finds a lock retries after the whole warp
 *    has completed the round, so no lane waits for a lane of its own warp, and the lanes that split
 *    get their nodes together.
 * Sums and freeing: one lane per body goes to the node that holds it, and counts one child as done
 * there. The last lane to arrive processes the node and continues with its parent.
 * Use: octree_use.h.
 *
 * Source: M. Burtscher, K. Pingali, "An Efficient CUDA Implementation of the Tree-Based Barnes Hut
 * n-Body Algorithm", GPU Computing Gems, Emerald Edition, 2011: the locks, and nodes by a counter.
 * Their kernel waits in node after node for children to be ready, in the order of their numbers;
 * nodes of a heap are not numbered.
 * Bound: OCTREE_LEVELS nodes from the root to any body.
 * Invariants: a child becomes a node once, and stays one until the tree is freed. No lane reads a
 * node that does not contain its body, and a node is freed only after all bodies in it are done. A
 * lane that gets no node drops its body: OCTREE_BEHIND then excludes it from searches.
 *
 * job: bodies from `seed` up to `count`; own[0] their places, own[1] the chains of bodies, own[2]
 * the root, own[3] forces; forces are computed for `askers` bodies; `lanes` is an enum octree_kind.
 */
#ifndef MAM_TOOLS_BENCH_CASES_OCTREE_H
#define MAM_TOOLS_BENCH_CASES_OCTREE_H

#include "bench/papers/cases/octree/octree_use.h"

/* Nodes come from the heap, unless all are reserved. */
#ifndef OCTREE_TAKE
#define OCTREE_TAKE(job, takers) octree_take(job, takers)
#define OCTREE_GIVE(job, node) octree_give(job, node)

MAM_KFN struct octree_node *octree_take(const struct device_job *job, uint32_t takers)
{
	(void)takers;
	return (struct octree_node *)case_alloc(job->heap, case_told_of(job), job->flags,
						(uint32_t)sizeof(struct octree_node));
}

MAM_KFN void octree_give(const struct device_job *job, struct octree_node *node)
{
	case_free(job->heap, case_told_of(job), job->flags, node,
		  (uint32_t)sizeof(struct octree_node));
}
#endif

/* ---- building ---- */

/* On the way down: a child of `parent`, whose own cell would be at `level`. */
struct octree_spot {
	uint64_t *child;
	uint64_t parent;
	uint32_t level;
};

MAM_KFN void octree_enter(struct octree_spot *spot, uint64_t node, uint64_t place)
{
	spot->child = &octree_node_of(node)->children[octree_octant(place, spot->level)];
	spot->parent = node;
	spot->level++;
}

/* Descends to the first child that is not a node and returns its value. */
MAM_KFN uint64_t octree_descend(struct octree_spot *spot, uint64_t place)
{
	uint64_t seen = mam_atomic_load64(spot->child, MAM_ACQUIRE, MAM_AT_DEVICE);

	while (octree_is_node(seen)) {
		octree_enter(spot, seen, place);
		seen = mam_atomic_load64(spot->child, MAM_ACQUIRE, MAM_AT_DEVICE);
	}
	return seen;
}

/* Chains a body to one in the same place. */
MAM_KFN void octree_chain(const struct device_job *job, uint32_t head, uint32_t body)
{
	uint32_t *const first = octree_behind(job, head);
	uint32_t was = mam_atomic_load32(first, MAM_RELAXED, MAM_AT_DEVICE), now;

	for (;;) {
		mam_atomic_store32(octree_behind(job, body), was | OCTREE_BEHIND, MAM_RELAXED,
				   MAM_AT_DEVICE);
		now = mam_atomic_cas32(first, was, body, MAM_RELEASE, MAM_AT_DEVICE);
		if (now == was)
			return;
		was = now;
	}
}

enum octree_step { OCTREE_WAITS, OCTREE_IN, OCTREE_SPLITS };

/* One attempt at the child, based on the value seen there. */
MAM_KFN enum octree_step octree_try(const struct device_job *job, const struct octree_spot *spot,
				    uint64_t seen, uint32_t body)
{
	if (seen == 0) {
		return mam_atomic_cas64(spot->child, 0, octree_of_body(body), MAM_RELEASE,
					MAM_AT_DEVICE) == 0
			       ? OCTREE_IN
			       : OCTREE_WAITS;
	}
	if (seen == OCTREE_LOCKED)
		return OCTREE_WAITS;
	if (spot->level == OCTREE_LEVELS) {
		octree_chain(job, octree_body_of(seen), body);
		return OCTREE_IN;
	}
	return mam_atomic_cas64(spot->child, seen, OCTREE_LOCKED, MAM_ACQUIRE, MAM_AT_DEVICE) ==
			       seen
		       ? OCTREE_SPLITS
		       : OCTREE_WAITS;
}

/*
 * By the lane that locked the child, which was a body: replaces it by a node. Returns false if
 * there is none.
 */
MAM_KFN bool octree_split(const struct device_job *job, struct octree_spot *spot, uint64_t was,
			  uint64_t place, struct octree_node *node)
{
	uint64_t *const child = spot->child;
	uint32_t i;

	if (node == NULL) {
		mam_atomic_store64(child, was, MAM_RELEASE, MAM_AT_DEVICE);
		return false;
	}
	for (i = 0; i < 8; i++)
		node->children[i] = 0;
	node->children[octree_octant(octree_place_of(job, octree_body_of(was)), spot->level)] = was;
	node->parent = spot->parent;
	node->came = 0;
	octree_enter(spot, (uint64_t)(uintptr_t)node, place);
	mam_atomic_store64(child, (uint64_t)(uintptr_t)node, MAM_RELEASE, MAM_AT_DEVICE);
	return true;
}

MAM_KFN void case_octree_build(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, lane = mam_lane(), body = job->seed + device_thread();
	const bool is_body = body < job->count;
	/* When memory is short, do not start a full search of the heap for every remaining body. */
	const uint64_t none =
		mam_atomic_load64(&case_told_of(job)->none, MAM_RELAXED, MAM_AT_DEVICE);
	const uint64_t place = is_body ? octree_place_of(job, body) : 0;
	struct octree_spot spot = { octree_root(job), 0, 0 };
	bool going = is_body && none == 0;

	if (is_body)
		mam_atomic_store32(octree_behind(job, body),
				   none == 0 ? OCTREE_LAST : OCTREE_LAST | OCTREE_BEHIND,
				   MAM_RELAXED, MAM_AT_DEVICE);
	while (mam_warp_ballot(all, going) != 0) {
		const uint64_t seen = going ? octree_descend(&spot, place) : 0;
		/* No child is at an address below 32. */
		const uint32_t same = mam_warp_match64(all, going ? (uint64_t)(uintptr_t)spot.child
								  : (uint64_t)lane);
		enum octree_step step = OCTREE_WAITS;
		struct octree_node *node = NULL;
		uint32_t takers;

		if (going && mam_ffs32(same) - 1 == lane)
			step = octree_try(job, &spot, seen, body);
		if (step == OCTREE_IN)
			going = false;
		takers = mam_warp_ballot(all, step == OCTREE_SPLITS);
		if (takers >> lane & 1)
			node = OCTREE_TAKE(job, takers);
		if (step == OCTREE_SPLITS && !octree_split(job, &spot, seen, place, node)) {
			mam_atomic_store32(octree_behind(job, body), OCTREE_LAST | OCTREE_BEHIND,
					   MAM_RELAXED, MAM_AT_DEVICE);
			going = false;
		}
	}
}
CASE_KERNEL(octree_build, case_octree_build, OCTREE_BLOCK)

/* ---- from the bodies up ---- */

/*
 * The node that holds a body, and its level; 0: the body is chained to another, dropped, or alone.
 */
MAM_KFN uint64_t octree_holder(const struct device_job *job, uint32_t body, uint32_t *level)
{
	const uint64_t place = octree_place_of(job, body);
	struct octree_spot spot = { octree_root(job), 0, 0 };

	if (mam_atomic_load32(octree_behind(job, body), MAM_RELAXED, MAM_AT_DEVICE) & OCTREE_BEHIND)
		return 0;
	(void)octree_descend(&spot, place);
	*level = spot.level - 1;
	return spot.parent;
}

/* Counts one more child of the node as done. Returns true if it was the last. */
MAM_KFN bool octree_arrive(struct octree_node *node)
{
	uint32_t there = 0, i;

	/* Count first: after its arrival, a lane that is not the last may find the node freed. */
	for (i = 0; i < 8; i++)
		there += node->children[i] != 0;
	if (mam_atomic_add32(&node->came, 1, MAM_ACQ_REL, MAM_AT_DEVICE) + 1 < there)
		return false;
	mam_atomic_store32(&node->came, 0, MAM_RELAXED, MAM_AT_DEVICE);
	return true;
}

/* Computes mass and sums of a node whose children have theirs. */
MAM_KFN void octree_add_up(const struct device_job *job, struct octree_node *node)
{
	uint64_t sums[3] = { 0, 0, 0 };
	uint32_t mass = 0, i, k;

	for (i = 0; i < 8; i++) {
		const uint64_t child = node->children[i];
		uint32_t body;

		if (octree_is_node(child)) {
			for (k = 0; k < 3; k++)
				sums[k] += octree_node_of(child)->sums[k];
			mass += octree_node_of(child)->mass;
			continue;
		}
		if (child == 0)
			continue;
		for (body = octree_body_of(child); body != OCTREE_LAST;
		     body = octree_next(job, body)) {
			const uint64_t place = octree_place_of(job, body);

			for (k = 0; k < 3; k++)
				sums[k] += (uint64_t)octree_mass(body) * octree_axis(place, k);
			mass += octree_mass(body);
		}
	}
	for (k = 0; k < 3; k++)
		node->sums[k] = sums[k];
	node->mass = mass;
	node->centre = octree_pack((uint32_t)(sums[0] / mass), (uint32_t)(sums[1] / mass),
				   (uint32_t)(sums[2] / mass));
}

MAM_KFN void case_octree_sum(const struct device_job *job)
{
	const uint32_t body = device_thread();
	uint32_t level = 0;
	uint64_t at = body < job->count ? octree_holder(job, body, &level) : 0;

	while (at != 0) {
		struct octree_node *const node = octree_node_of(at);

		if (!octree_arrive(node))
			return;
		octree_add_up(job, node);
		at = node->parent;
	}
}
CASE_KERNEL(octree_sum, case_octree_sum, OCTREE_BLOCK)

/*
 * Computes the values that the host compares: the number of nodes, the sum of their levels, and a
 * checksum of them.
 */
MAM_KFN void case_octree_look(const struct device_job *job)
{
	const uint32_t body = device_thread();
	struct case_told *const told = case_told_of(job);
	uint64_t at, count = 0, levels = 0, sum = 0;
	uint32_t level = 0;

	at = body < job->count ? octree_holder(job, body, &level) : 0;
	while (at != 0 && octree_arrive(octree_node_of(at))) {
		const struct octree_node *const node = octree_node_of(at);

		count++;
		levels += level;
		sum += octree_value(octree_place_of(job, body), level, node->mass, node->centre);
		level--;
		at = node->parent;
	}
	device_report(&told->count, count);
	device_report(&told->more, levels);
	device_report(&told->sum, sum);
}
CASE_KERNEL(octree_look, case_octree_look, OCTREE_BLOCK)

/* Frees all nodes. The lanes of a warp loop together, as frees are served together. */
MAM_KFN void case_octree_clear(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, lane = mam_lane(), body = device_thread();
	uint32_t level = 0, givers;
	uint64_t at = body < job->count ? octree_holder(job, body, &level) : 0;

	while (mam_warp_ballot(all, at != 0) != 0) {
		struct octree_node *const node = octree_node_of(at);
		bool gives = false;

		if (at != 0) {
			gives = octree_arrive(node);
			at = gives ? node->parent : 0;
		}
		givers = mam_warp_ballot(all, gives);
		if (givers >> lane & 1)
			OCTREE_GIVE(job, node);
	}
}
CASE_KERNEL(octree_clear, case_octree_clear, OCTREE_BLOCK)

/* Makes the input. */
MAM_KFN void case_octree_deal(const struct device_job *job)
{
	const uint32_t body = device_thread();

	if (body < job->count)
		((uint64_t *)(uintptr_t)job->own[0])[body] = octree_place(body, job->lanes);
}
CASE_KERNEL(octree_deal, case_octree_deal, OCTREE_BLOCK)

#define CASE_OCTREE_KERNELS(each)                                                                \
	each(octree_deal) each(octree_build) each(octree_sum) each(octree_look) each(octree_use) \
		each(octree_clear)

#endif
