/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - the memory layout of a heap of superblocks, and its initialization. For host and
 * device.
 *
 *     head | queues | states | entries | superblocks
 *
 * The memory begins at a multiple of MAM_KMA_LINE, and so does each part. Parts are located by
 * offsets, so a heap may be at a different address in each kernel, as OpenCL's buffers may.
 *
 * Any number of lanes of a kernel call mam_kma_format(), and each does its share. One lane alone
 * would do all, as in KMA (Splet and others, GPGPU-7, 2014), where it takes as many steps as there
 * are superblocks. Formatting does not touch the memory of blocks. The end of the kernel, or a
 * barrier if there is only one thread block, must come before the first request.
 *
 * Invariant: fields of the head that are read non-atomically do not change afterwards.
 */
#ifndef MAM_KMA_LAYOUT_H
#define MAM_KMA_LAYOUT_H

#include "kma/actives.h"
#include "kma/classes.h"
#include "kma/fresh.h"
#include "kma/queue.h"

#define MAM_KMA_SLOTS 16u
#define MAM_KMA_QUEUES_SHIFT_MAX 5u
#define MAM_KMA_ENOUGH 1024u /* superblocks, from which up they may be larger */
#define MAM_KMA_ENTRIES_SHIFT_SUITED 8u
#define MAM_KMA_SUPERBLOCKS_MAX 0xfffffff0u

enum mam_kma_failure {
	MAM_KMA_TOO_LARGE,     /* more than all superblocks together */
	MAM_KMA_NO_SUPERBLOCK, /* none is free, and none examined of the class has a free block */
	MAM_KMA_NO_RUN,        /* not enough adjacent superblocks that were never used */
	MAM_KMA_WRONG_FREE,    /* an invalid or double free */
	MAM_KMA_FAILURES
};

struct mam_kma_slot {
	uint64_t allocs, frees; /* atomic */
	uint64_t pad[MAM_KMA_LINE / 8 - 2];
};

struct mam_kma {
	uint32_t superblocks, shift, classes, entries_shift;
	uint32_t search;                 /* how many states are examined before a request fails */
	uint32_t counted;                /* 1: successful requests are counted, too */
	uint64_t states, entries, space; /* byte offsets from the head */
	struct mam_kma_class class_of[MAM_KMA_CLASSES + 1]; /* and one that is not used */
	uint64_t pad0[11];
	uint64_t fresh; /* atomic */
	uint64_t pad1[MAM_KMA_LINE / 8 - 1];
	uint64_t failures[MAM_KMA_LINE / 8]; /* atomic */
	struct mam_kma_slot slots[MAM_KMA_SLOTS];
};

/* Parameters of a heap. */
struct mam_kma_terms {
	uint64_t bytes;         /* of its memory */
	uint32_t shift;         /* superblocks have 1 << shift bytes */
	uint32_t entries_shift; /* 1 << entries_shift entries per class, and queues, up to 32 */
	uint32_t search;        /* 0: all */
	uint32_t counted;
};

MAM_KBOTH uint64_t mam_kma_lines(uint64_t bytes)
{
	return (bytes + MAM_KMA_LINE - 1) / MAM_KMA_LINE * MAM_KMA_LINE;
}

/* As many as entries of a class, but at most the limit. */
MAM_KBOTH uint32_t mam_kma_queues(uint32_t entries_shift)
{
	return 1u << (entries_shift < MAM_KMA_QUEUES_SHIFT_MAX ? entries_shift
							       : MAM_KMA_QUEUES_SHIFT_MAX);
}

MAM_KBOTH uint64_t mam_kma_states_at(uint32_t superblocks, uint32_t entries_shift)
{
	return sizeof(struct mam_kma) +
	       mam_kma_queue_bytes(superblocks, mam_kma_queues(entries_shift));
}

MAM_KBOTH uint64_t mam_kma_entries_at(uint32_t superblocks, uint32_t entries_shift)
{
	return mam_kma_states_at(superblocks, entries_shift) +
	       mam_kma_lines((uint64_t)superblocks * 8);
}

MAM_KBOTH uint64_t mam_kma_space_at(uint32_t superblocks, uint32_t shift, uint32_t entries_shift)
{
	return mam_kma_entries_at(superblocks, entries_shift) +
	       mam_kma_lines((uint64_t)mam_kma_classes(shift) * 8 << entries_shift);
}

/* The memory that `superblocks` superblocks need. */
MAM_KBOTH uint64_t mam_kma_bytes(uint32_t superblocks, uint32_t shift, uint32_t entries_shift)
{
	return mam_kma_space_at(superblocks, shift, entries_shift) +
	       ((uint64_t)superblocks << shift);
}

/* The number of superblocks that fit in the memory; 0: not even one, or the terms are invalid. */
MAM_KBOTH uint32_t mam_kma_superblocks(uint64_t bytes, uint32_t shift, uint32_t entries_shift)
{
	uint64_t max;

	if (shift < MAM_KMA_SHIFT_MIN || shift > MAM_KMA_SHIFT_MAX ||
	    entries_shift > MAM_KMA_ENTRIES_SHIFT_MAX)
		return 0;
	/* Each has a state, a link, a number and a node: an upper bound, less than ten too high. */
	max = bytes / (((uint64_t)1 << shift) + 24);
	if (max > MAM_KMA_SUPERBLOCKS_MAX)
		max = MAM_KMA_SUPERBLOCKS_MAX;
	while (max && mam_kma_bytes((uint32_t)max, shift, entries_shift) > bytes)
		max--;
	return (uint32_t)max;
}

/* The number of entries that hold at most a quarter of `superblocks`, if all classes are in use. */
MAM_KBOTH uint32_t mam_kma_entries_suited(uint64_t superblocks, uint32_t shift)
{
	uint32_t entries_shift = 0;

	while (entries_shift < MAM_KMA_ENTRIES_SHIFT_SUITED &&
	       (uint64_t)mam_kma_classes(shift) * 8 << entries_shift <= superblocks)
		entries_shift++;
	return entries_shift;
}

/*
 * Default terms for a heap of `bytes`, with the shift and the entries' shift. The superblock size
 * is the largest that leaves 1,024 superblocks, at least 4 KiB; up to 256 entries.
 *
 * On an H100 a pair of 4 to 2,000 B took 4 ns with 64 KiB and 256 entries, 39 with 4 KiB, 56 with 4
 * KiB and 32 entries, 500 with one queue and 16 (4,608 lanes; CUDA's malloc: 326).
 */
MAM_KBOTH struct mam_kma_terms mam_kma_suited(uint64_t bytes)
{
	struct mam_kma_terms terms;

	terms.bytes = bytes;
	terms.search = 0;
	terms.counted = 0;
	terms.shift = MAM_KMA_SHIFT;
	while (terms.shift < MAM_KMA_SHIFT_MAX && bytes >> terms.shift >= 2 * MAM_KMA_ENOUGH)
		terms.shift++;
	terms.entries_shift = mam_kma_entries_suited(bytes >> terms.shift, terms.shift);
	return terms;
}

MAM_KBOTH MAM_GLOBAL struct mam_kma_queue *mam_kma_queue(MAM_GLOBAL struct mam_kma *heap)
{
	return (MAM_GLOBAL struct mam_kma_queue *)(heap + 1);
}

MAM_KBOTH MAM_GLOBAL uint64_t *mam_kma_state(MAM_GLOBAL struct mam_kma *heap, uint32_t superblock)
{
	return (MAM_GLOBAL uint64_t *)((MAM_GLOBAL unsigned char *)heap + heap->states) +
	       superblock;
}

MAM_KBOTH MAM_GLOBAL uint64_t *mam_kma_entries(MAM_GLOBAL struct mam_kma *heap)
{
	return (MAM_GLOBAL uint64_t *)((MAM_GLOBAL unsigned char *)heap + heap->entries);
}

MAM_KBOTH MAM_GLOBAL unsigned char *mam_kma_space(MAM_GLOBAL struct mam_kma *heap)
{
	return (MAM_GLOBAL unsigned char *)heap + heap->space;
}

/*
 * Called by `workers` lanes, each with its own number below that. Returns mam_kma_superblocks(): if
 * that is 0, nothing was written.
 */
MAM_KBOTH uint32_t mam_kma_format(MAM_GLOBAL struct mam_kma *heap, struct mam_kma_terms terms,
				  uint32_t worker, uint32_t workers)
{
	uint32_t n = mam_kma_superblocks(terms.bytes, terms.shift, terms.entries_shift), i;
	uint32_t classes = mam_kma_classes(terms.shift);
	MAM_GLOBAL unsigned char *at = (MAM_GLOBAL unsigned char *)heap;
	MAM_GLOBAL uint64_t *words;

	if (!n)
		return 0;
	mam_kma_queue_format(mam_kma_queue(heap), n, mam_kma_queues(terms.entries_shift), worker,
			     workers);
	words = (MAM_GLOBAL uint64_t *)(at + mam_kma_states_at(n, terms.entries_shift));
	for (i = worker; i < n; i += workers)
		words[i] = 0;
	words = (MAM_GLOBAL uint64_t *)(at + mam_kma_entries_at(n, terms.entries_shift));
	for (i = worker; i < classes << terms.entries_shift; i += workers)
		words[i] = MAM_KMA_VACANT;
	for (i = worker; i < MAM_KMA_SLOTS; i += workers)
		heap->slots[i].allocs = heap->slots[i].frees = 0;
	for (i = worker; i < classes; i += workers)
		heap->class_of[i] = mam_kma_class(terms.shift, i);
	if (worker)
		return n;
	heap->superblocks = n;
	heap->shift = terms.shift;
	heap->classes = classes;
	heap->entries_shift = terms.entries_shift;
	heap->search = terms.search && terms.search < n ? terms.search : n;
	heap->counted = terms.counted != 0;
	heap->states = mam_kma_states_at(n, terms.entries_shift);
	heap->entries = mam_kma_entries_at(n, terms.entries_shift);
	heap->space = mam_kma_space_at(n, terms.shift, terms.entries_shift);
	heap->fresh = mam_kma_fresh_word(0, n);
	for (i = 0; i < MAM_KMA_FAILURES; i++)
		heap->failures[i] = 0;
	return n;
}

#endif
