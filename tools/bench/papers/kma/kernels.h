/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels of a module of `mam bench kma`, of bodies.h. A file that includes it
 * first defines
 *   KMA_BASE(base, heap)  declares the lane's base
 *   KMA_OF_SUPERBLOCKS    if that is a heap of superblocks; KMA_OF_RING: the poor man's
 *
 *   make             initializes a heap of superblocks in job->own[0] bytes, of 1 << own[1] each,
 *                    1 << own[2] entries per class; or the poor man's in own[0] bytes
 *   learn            for a number of bytes, or of own[3] superblocks: returns their number as nodes,
 *                    bytes up to the first as links, bytes of all as sum; own[1] 0: also the
 *                    parameters that suit that number of bytes
 *   left             its blocks and runs that are in use
 *   deal, compute    the edges in job->more; the expected values of their graph
 *   list             makes an empty list of job->most bytes per element in job->own[0], by one lane
 *   clear            frees the list in job->own[0] to the base, by one lane
 *   pairs, apart, together, stamped, give_apart, build, count, prune: as the bodies
 * job->askers are lanes, count edges, own[1] nodes; a list or a tree is at job->own[0].
 */
#ifndef MAM_TOOLS_BENCH_KMA_KERNELS_H
#define MAM_TOOLS_BENCH_KMA_KERNELS_H

#include "bench/device/device_kit.h"
#include "bench/papers/kma/bodies.h"

MAM_KFN struct kma_ask kma_ask_of(const struct device_job *job)
{
	struct kma_ask ask;

	ask.lanes = job->askers;
	ask.rounds = job->rounds;
	ask.min = job->min;
	ask.max = job->max;
	ask.flags = job->flags;
	ask.edges = job->count;
	ask.nodes = (uint32_t)job->own[1];
	return ask;
}

MAM_KFN struct kma_told *kma_told_of(const struct device_job *job)
{
	return (struct kma_told *)job->found;
}

#define KMA_LIST(job) ((struct mam_arraylist *)(uintptr_t)(job)->own[0])
#define KMA_EDGES(job) ((struct edges_edge *)(job)->more)
#define KMA_TREE(job) ((struct mam_tree *)(uintptr_t)(job)->own[0])

MAM_KFN void kernel_pairs(const struct device_job *job)
{
	KMA_BASE(base, job->heap);

	kma_pairs(base, kma_ask_of(job), kma_told_of(job));
}
DEVICE_KERNEL(pairs, kernel_pairs)

MAM_KFN void kernel_apart(const struct device_job *job)
{
	KMA_BASE(base, job->heap);

	kma_apart(base, kma_ask_of(job), job->got, kma_told_of(job));
}
DEVICE_KERNEL(apart, kernel_apart)

MAM_KFN void kernel_together(const struct device_job *job)
{
	MAM_SHARED(struct mam_arraylist_shared, shared);
	KMA_BASE(base, job->heap);

	kma_together(base, kma_ask_of(job), KMA_LIST(job), shared, job->got, kma_told_of(job));
}
DEVICE_KERNEL(together, kernel_together)

MAM_KFN void kernel_stamped(const struct device_job *job)
{
	kma_stamped(kma_ask_of(job), KMA_LIST(job), job->got, kma_told_of(job));
}
DEVICE_KERNEL(stamped, kernel_stamped)

MAM_KFN void kernel_give_apart(const struct device_job *job)
{
	KMA_BASE(base, job->heap);

	kma_give_apart(base, kma_ask_of(job), job->got, kma_told_of(job));
}
DEVICE_KERNEL(give_apart, kernel_give_apart)

MAM_KFN void kernel_list(const struct device_job *job)
{
	if (kma_lane() == 0)
		mam_arraylist_init(KMA_LIST(job), job->max);
}
DEVICE_KERNEL(list, kernel_list)

MAM_KFN void kernel_clear(const struct device_job *job)
{
	KMA_BASE(base, job->heap);

	if (kma_lane() == 0)
		mam_arraylist_clear(KMA_LIST(job), base);
}
DEVICE_KERNEL(clear, kernel_clear)

MAM_KFN void kernel_deal(const struct device_job *job)
{
	kma_deal(kma_ask_of(job), KMA_EDGES(job), job->numbers);
}
DEVICE_KERNEL(deal, kernel_deal)

MAM_KFN void kernel_compute(const struct device_job *job)
{
	kma_compute(kma_ask_of(job), KMA_EDGES(job), job->numbers, kma_told_of(job));
}
DEVICE_KERNEL(compute, kernel_compute)

MAM_KFN void kernel_build(const struct device_job *job)
{
	KMA_BASE(base, job->heap);

	kma_build(base, kma_ask_of(job), KMA_TREE(job), KMA_EDGES(job), kma_told_of(job));
}
DEVICE_KERNEL(build, kernel_build)

MAM_KFN void kernel_count(const struct device_job *job)
{
	kma_count(kma_ask_of(job), KMA_TREE(job), job->numbers, job->got, kma_told_of(job));
}
DEVICE_KERNEL(count, kernel_count)

MAM_KFN void kernel_prune(const struct device_job *job)
{
	KMA_BASE(base, job->heap);

	kma_prune(base, kma_ask_of(job), job->got, kma_told_of(job));
}
DEVICE_KERNEL(prune, kernel_prune)

#ifdef KMA_OF_SUPERBLOCKS
MAM_KFN void kernel_make(const struct device_job *job)
{
	struct mam_kma_terms terms;

	terms.bytes = job->own[0];
	terms.shift = (uint32_t)job->own[1];
	terms.entries_shift = (uint32_t)job->own[2];
	terms.search = 0;
	terms.counted = 0;
	if (kma_lane() < job->askers)
		(void)mam_kma_format((struct mam_kma *)job->heap, terms, kma_lane(), job->askers);
}
DEVICE_KERNEL(make, kernel_make)

MAM_KFN void kernel_learn(const struct device_job *job)
{
	uint32_t shift = (uint32_t)job->own[1], entries_shift = (uint32_t)job->own[2];
	uint32_t count = (uint32_t)job->own[3];
	struct mam_kma_terms terms;

	if (kma_lane() > 0)
		return;
	if (shift == 0) {
		terms = mam_kma_suited(job->own[0]);
		shift = terms.shift;
		entries_shift = terms.entries_shift;
	}
	if (count == 0)
		count = mam_kma_superblocks(job->own[0], shift, entries_shift);
	kma_told_of(job)->nodes = count;
	kma_told_of(job)->links = mam_kma_space_at(count, shift, entries_shift);
	kma_told_of(job)->sum = mam_kma_bytes(count, shift, entries_shift);
	kma_told_of(job)->shift = shift;
	kma_told_of(job)->entries_shift = entries_shift;
}
DEVICE_KERNEL(learn, kernel_learn)

MAM_KFN void kernel_left(const struct device_job *job)
{
	struct mam_kma *heap = (struct mam_kma *)job->heap;
	uint64_t state, left = 0;
	uint32_t i;

	for (i = kma_lane(); i < heap->superblocks; i += kma_lanes()) {
		state = mam_atomic_load64(mam_kma_state(heap, i), MAM_RELAXED, MAM_AT_DEVICE);
		if (mam_kma_state_cut(state))
			left += mam_kma_state_total(state) - mam_kma_state_free(state);
		else
			left += mam_kma_state_kind(state) != MAM_KMA_FREE;
	}
	kma_report(&kma_told_of(job)->nodes, left);
}
DEVICE_KERNEL(left, kernel_left)
#endif

#ifdef KMA_OF_RING
MAM_KFN void kernel_make(const struct device_job *job)
{
	if (kma_lane() == 0)
		edges_ring_init((struct edges_ring *)job->heap, job->own[0]);
}
DEVICE_KERNEL(make, kernel_make)
#endif

#endif
