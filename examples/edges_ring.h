/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges_ring.h - the poor man's heap: a bump allocator that serves a request by one addition and
 * never reuses memory. It is the baseline for a general heap.
 *
 * 1. alloc adds to the head, and the memory between the old head and the new one belongs to the
 *    caller.
 * 2. A lane keeps one object that it frees, and reuses it for its next request of an object of that
 *    kind: so a node that lost the race to the tree is not wasted.
 *
 * Source: Spliet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), section 5.3. There it is a ring,
 * large enough that its head never wraps around; here it returns NULL at the end.
 *
 * Bound: one atomic addition; it does not count, search or merge.
 *
 * Invariant: bytes below the head stay allocated forever. `head` may be beyond `bytes`.
 *
 * In CUDA a lane passes edges_ring_base(&lane) as the base. In OpenCL the program writes
 *
 *	struct edges_keep;
 *	#define MAM_DS_BASE struct edges_keep *
 *	#define mam_ds_alloc(base, bytes) edges_ring_alloc(base, bytes)
 *	#define mam_ds_free(base, block) edges_ring_free(base, block)
 *
 * and declares these two functions before it includes mam.cl, and includes this after edges.h.
 */
#ifndef EDGES_RING_H
#define EDGES_RING_H

#include "edges.h"

/* The first bytes of the ring's memory, which is at a multiple of 16; allocations follow it. */
struct edges_ring {
	uint64_t head;  /* allocated bytes; atomic */
	uint64_t bytes; /* that follow this struct */
	uint64_t unused[14];
};

/* Belongs to one lane. */
struct edges_keep {
	MAM_GLOBAL struct edges_ring *ring;
	MAM_GLOBAL void *node; /* was freed; NULL: none */
};

/* Initializes a ring of `bytes` of memory; called by the host or one lane. */
MAM_KBOTH void edges_ring_init(MAM_GLOBAL struct edges_ring *ring, uint64_t bytes)
{
	ring->head = 0;
	ring->bytes = bytes > sizeof(*ring) ? bytes - sizeof(*ring) : 0;
}

MAM_KFN MAM_GLOBAL void *edges_ring_take(MAM_GLOBAL struct edges_ring *ring, size_t bytes)
{
	uint64_t whole = ((uint64_t)bytes + 15) / 16 * 16, at;

	at = mam_atomic_add64(&ring->head, whole, MAM_RELAXED, MAM_AT_DEVICE);
	if (at > ring->bytes || ring->bytes - at < whole)
		return NULL;
	return (MAM_GLOBAL unsigned char *)(ring + 1) + at;
}

MAM_KFN MAM_GLOBAL void *edges_ring_alloc(struct edges_keep *keep, size_t bytes)
{
	MAM_GLOBAL void *node = keep->node;

	if (!node || bytes != sizeof(struct edges_node))
		return edges_ring_take(keep->ring, bytes);
	keep->node = NULL;
	return node;
}

/* False: the memory is lost. */
MAM_KFN bool edges_ring_free(struct edges_keep *keep, MAM_GLOBAL void *node)
{
	bool kept = !keep->node;

	if (kept)
		keep->node = node;
	return kept;
}

#ifndef __OPENCL_C_VERSION__
MAM_KFN void *edges_ring_base_alloc(void *keep, size_t bytes)
{
	return edges_ring_alloc((struct edges_keep *)keep, bytes);
}

MAM_KFN bool edges_ring_base_free(void *keep, void *node)
{
	return edges_ring_free((struct edges_keep *)keep, node);
}

MAM_KFN struct mam_kbase edges_ring_base(struct edges_keep *keep)
{
	struct mam_kbase base;

	base.alloc = edges_ring_base_alloc;
	base.free = edges_ring_base_free;
	base.heap = keep;
	base.tries = 0;
	return base;
}
#endif

#endif
