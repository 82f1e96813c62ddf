/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.cl - the kernels of `mam bench kma` in OpenCL C, of bodies.h: over a heap of mam.cl or,
 * with KMA_POOR, over the poor man's. Follows mam.cl, told.h, examples/edges.h and bodies.h.
 */
#ifdef KMA_POOR
#define KMA_BASE(base, heap)                                                            \
	struct edges_keep base##_keep = { (__global struct edges_ring *)(heap), NULL }; \
	struct edges_keep *const base = &base##_keep

__kernel void make(__global void *heap, ulong bytes)
{
	if (kma_lane() == 0)
		edges_ring_init((__global struct edges_ring *)heap, bytes);
}
#else
#define KMA_BASE(base, heap) __global void *const base = heap
#endif

__kernel void pairs(__global void *heap, struct kma_ask ask, __global struct kma_told *told)
{
	KMA_BASE(base, heap);

	kma_pairs(base, ask, told);
}

__kernel void apart(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		    __global ulong *got)
{
	KMA_BASE(base, heap);

	kma_apart(base, ask, got, told);
}

__kernel void together(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		       __global ulong *got, __global struct mam_arraylist *list)
{
	MAM_SHARED(struct mam_arraylist_shared, shared);
	KMA_BASE(base, heap);

	kma_together(base, ask, list, shared, got, told);
}

__kernel void stamped(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		      __global ulong *got, __global struct mam_arraylist *list)
{
	kma_stamped(ask, ask.flags ? list : NULL, got, told);
}

__kernel void give_apart(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
			 __global ulong *got)
{
	KMA_BASE(base, heap);

	kma_give_apart(base, ask, got, told);
}

__kernel void list(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		   __global ulong *got, __global struct mam_arraylist *list)
{
	if (kma_lane() == 0)
		mam_arraylist_init(list, ask.max);
}

__kernel void clear(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		    __global ulong *got, __global struct mam_arraylist *list)
{
	KMA_BASE(base, heap);

	if (kma_lane() == 0)
		mam_arraylist_clear(list, base);
}

__kernel void deal(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		   __global struct edges_edge *edges, __global uint *marks)
{
	kma_deal(ask, edges, marks);
}

__kernel void compute(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		      __global struct edges_edge *edges, __global uint *marks)
{
	kma_compute(ask, edges, marks, told);
}

__kernel void build(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		    __global struct edges_edge *edges, __global struct mam_tree *tree)
{
	KMA_BASE(base, heap);

	kma_build(base, ask, tree, edges, told);
}

__kernel void count(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		    __global uint *marks, __global struct mam_tree *tree, __global ulong *got)
{
	kma_count(ask, tree, marks, got, told);
}

__kernel void prune(__global void *heap, struct kma_ask ask, __global struct kma_told *told,
		    __global ulong *got)
{
	KMA_BASE(base, heap);

	kma_prune(base, ask, got, told);
}
