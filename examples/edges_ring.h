/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges_ring.h - the poor man's heap: memory that is handed out from one end to the other, by one
 * addition a request, and never had back. What a general heap has to measure itself by.
 *
 * 1. alloc adds to the head, and what lies between the old head and the new is the caller's.
 * 2. What a lane gives back it keeps itself, one object, and has it again by its next request of an
 *    object of that kind: so a node that came second to the tree is not lost.
 *
 * Source: Spliet, Howes, Gaster, Varbanescu: KMA, GPGPU-7 (2014), section 5.3. There it is a ring, and
 * wide enough for its head never to come round; here it says NULL at the end.
 *
 * Bound: one atomic addition; nothing is counted, found or put together.
 *
 * Invariant: bytes below the head are somebody's for ever. `head` may be beyond `bytes`.
 *
 * In CUDA a lane says edges_ring_base(&lane) where a base is asked for. In OpenCL the program says
 *
 *	struct edges_keep;
 *	#define MAM_DS_BASE struct edges_keep *
 *	#define mam_ds_alloc(base, bytes) edges_ring_alloc(base, bytes)
 *	#define mam_ds_free(base, block) edges_ring_free(base, block)
 *
 * and declares these two before it includes mam.cl, and this behind edges.h.
 */
#ifndef EDGES_RING_H
#define EDGES_RING_H

#include "edges.h"

/* The first bytes of the ring's memory, which is at a multiple of 16; what it hands out is behind it. */
struct edges_ring {
	uint64_t head;  /* bytes that were handed out; atomic */
	uint64_t bytes; /* behind this */
	uint64_t unused[14];
};

/* A lane's own. */
struct edges_keep {
	MAM_GLOBAL struct edges_ring *ring;
	MAM_GLOBAL void *node; /* came back; NULL: none did */
};

/* Of `bytes` of memory, by the host or one lane. */
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

/* False: it is lost. */
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
