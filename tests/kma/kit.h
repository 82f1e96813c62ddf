/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - test helpers for the heap of superblocks: a heap in memory with guards around it, and a
 * shadow of the owner of each byte.
 *
 * 1. A lane that gets a block owns its bytes (kkit_own): no other lane may own one of them; they
 *    are written with plain stores, and must be unchanged when the block is freed (kkit_disown).
 * 2. After a run in which all blocks were freed, nothing is in use, and each superblock can be
 *    allocated on its own, and freed again (kkit_whole).
 */
#ifndef MAM_TESTS_KMA_KIT_H
#define MAM_TESTS_KMA_KIT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/stop.h"
#include "kma/kma.h"
#include "kma/report.h"
#include "simt/explore.h"
#include "simt/suite.h"

#ifdef SIMT_HOOKS
#define KKIT_RACE true
#else
#define KKIT_RACE false
#endif

#define KKIT_GUARD 128u
#define KKIT_KEPT 1024u

struct kkit {
	struct mam_kma_terms terms;
	unsigned char *memory; /* with guards around it */
	struct mam_kma *heap;
	uint32_t superblocks;
	uint64_t space_bytes;
	uint32_t *owner;  /* per byte of the space: number of its block, 0: no owner */
	uint32_t *length; /* per byte: bytes of the block that begins there; 0: none begins there */
	uint32_t number;
	uint32_t parts, none;     /* live blocks; requests that returned NULL */
	uint64_t kept[KKIT_KEPT]; /* blocks that a lane left for other lanes; atomic */
	const void *plan;
	void (*begin)(struct kkit *kit); /* may be NULL */
	uint32_t others;                 /* number of lanes that do not stop, if some do */
	uint32_t runs, halts;
};

STOP_UNSEEN uint32_t kkit_note(struct kkit *kit, const unsigned char *part, size_t bytes)
{
	size_t at = (size_t)(part - mam_kma_space(kit->heap)), i;

	MAM_KASSERT(part >= mam_kma_space(kit->heap) && at + bytes <= kit->space_bytes);
	kit->number++;
	for (i = at; i < at + bytes; i++) {
		MAM_KASSERT(!kit->owner[i]);
		kit->owner[i] = kit->number;
	}
	kit->length[at] = (uint32_t)bytes;
	kit->parts++;
	return kit->number;
}

STOP_UNSEEN uint32_t kkit_noted(struct kkit *kit, const unsigned char *part, size_t *bytes)
{
	size_t at = (size_t)(part - mam_kma_space(kit->heap));

	MAM_KASSERT(at < kit->space_bytes && kit->length[at]);
	*bytes = kit->length[at];
	return kit->owner[at];
}

STOP_UNSEEN void kkit_forget(struct kkit *kit, const unsigned char *part)
{
	size_t at = (size_t)(part - mam_kma_space(kit->heap)), i;

	for (i = at; i < at + kit->length[at]; i++)
		kit->owner[i] = 0;
	kit->length[at] = 0;
	kit->parts--;
}

STOP_UNSEEN void kkit_none(struct kkit *kit)
{
	kit->none++;
}

static inline unsigned char kkit_pattern(uint32_t number, size_t i)
{
	return (unsigned char)(number * 31 + i * 7 + 1);
}

/* `part` has just been allocated. NULL: returns false. */
static inline bool kkit_own(struct kkit *kit, void *part, size_t bytes)
{
	uint32_t number;
	size_t i;

	if (!part) {
		kkit_none(kit);
		return false;
	}
	number = kkit_note(kit, part, bytes);
	for (i = 0; i < bytes; i++)
		((unsigned char *)part)[i] = kkit_pattern(number, i);
	return true;
}

/* The part is about to be freed. */
static inline void kkit_disown(struct kkit *kit, void *part)
{
	size_t bytes, i;
	uint32_t number = kkit_noted(kit, part, &bytes);

	for (i = 0; i < bytes; i++)
		MAM_KASSERT(((unsigned char *)part)[i] == kkit_pattern(number, i));
	kkit_forget(kit, part);
}

static inline void *kkit_get(struct kkit *kit, size_t bytes)
{
	void *part = mam_kma_alloc(kit->heap, bytes);

	return kkit_own(kit, part, bytes) ? part : NULL;
}

static inline void kkit_put(struct kkit *kit, void *part)
{
	if (part)
		kkit_disown(kit, part);
	MAM_KASSERT(mam_kma_free(kit->heap, part));
}

/* Leaves a block, or NULL, in a place, and takes the previous contents. */
static inline void *kkit_exchange(struct kkit *kit, uint32_t place, void *part)
{
	return (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[place], (uintptr_t)part, MAM_ACQ_REL,
						    MAM_AT_DEVICE);
}

static inline uint32_t kkit_below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

/* ---- before a run, and after it ------------------------------------------------------------ */

static inline struct kkit *kkit_create(uint32_t superblocks, uint32_t shift, uint32_t entries_shift,
				       const void *plan)
{
	struct kkit *kit = calloc(1, sizeof(*kit));

	ck_assert_ptr_nonnull(kit);
	kit->plan = plan;
	kit->superblocks = superblocks;
	kit->space_bytes = (uint64_t)superblocks << shift;
	kit->terms.bytes = mam_kma_bytes(superblocks, shift, entries_shift);
	kit->terms.shift = shift;
	kit->terms.entries_shift = entries_shift;
	kit->terms.counted = 1;
	kit->memory = aligned_alloc(4096, (kit->terms.bytes + 2 * KKIT_GUARD + 4095) / 4096 * 4096);
	kit->owner = calloc(kit->space_bytes, sizeof(*kit->owner));
	kit->length = calloc(kit->space_bytes, sizeof(*kit->length));
	ck_assert(kit->memory && kit->owner && kit->length);
	kit->heap = (struct mam_kma *)(kit->memory + KKIT_GUARD);
	return kit;
}

static inline void kkit_destroy(struct kkit *kit)
{
	free(kit->length);
	free(kit->owner);
	free(kit->memory);
	free(kit);
}

static inline void kkit_begin(void *argument)
{
	struct kkit *kit = argument;

	memset(kit->memory, 0xa5, kit->terms.bytes + 2 * KKIT_GUARD);
	memset(kit->owner, 0, kit->space_bytes * sizeof(*kit->owner));
	memset(kit->length, 0, kit->space_bytes * sizeof(*kit->length));
	memset(kit->kept, 0, sizeof(kit->kept));
	kit->number = kit->parts = kit->none = 0;
	stop_begin(kit->others);
	ck_assert_uint_eq(mam_kma_format(kit->heap, kit->terms, 0, 1), kit->superblocks);
	if (kit->begin)
		kit->begin(kit);
}

static inline struct mam_kma_stats kkit_stats(struct kkit *kit)
{
	struct mam_kma_stats stats;

	memset(&stats, 0, sizeof(stats));
	mam_kma_report(kit->heap, &stats, 0, 1);
	return stats;
}

/* Does an entry of its class name it? */
static inline bool kkit_named(struct kkit *kit, uint32_t superblock)
{
	uint64_t state = *mam_kma_state(kit->heap, superblock);
	const uint64_t *entries =
		mam_kma_entries(kit->heap) + ((size_t)(mam_kma_state_kind(state) - MAM_KMA_OF_CLASS)
					      << kit->heap->entries_shift);
	uint32_t i;

	for (i = 0; i < 1u << kit->heap->entries_shift; i++)
		if (mam_kma_entry_what(entries[i]) == superblock + 1)
			return true;
	return false;
}

/* No lane owns an attached superblock or a mark: otherwise only a search would find it. */
static inline const char *kkit_fault(struct kkit *kit)
{
	uint32_t i;

	for (i = 0; i < kit->superblocks; i++)
		if (mam_kma_state_attached(*mam_kma_state(kit->heap, i)) && !kkit_named(kit, i))
			return "an active superblock that no entry names";
	for (i = 0; i < kit->heap->classes << kit->heap->entries_shift; i++)
		if (mam_kma_entry_what(mam_kma_entries(kit->heap)[i]) == MAM_KMA_MARK)
			return "a mark was left";
	return NULL;
}

/* The guards, and the metadata: nothing is in use. */
static inline const char *kkit_empty(struct kkit *kit)
{
	struct mam_kma_stats stats = kkit_stats(kit);
	uint32_t i;

	for (i = 0; i < KKIT_GUARD; i++)
		if (kit->memory[i] != 0xa5 ||
		    kit->memory[KKIT_GUARD + kit->terms.bytes + i] != 0xa5)
			return "a write outside the heap";
	if (kit->parts)
		return "the test still owns a block";
	if (stats.blocks || stats.runs || stats.in_runs)
		return "a block without an owner is in use";
	if (stats.active + stats.inactive + stats.free != kit->superblocks)
		return "superblocks do not add up";
	if (stats.inactive)
		return "an inactive superblock without a block in use is not free";
	if (stats.allocs != stats.frees)
		return "counts of requests do not add up";
	if (stats.failures[MAM_KMA_WRONG_FREE])
		return "a free was refused";
	return kkit_fault(kit);
}

/* And no superblock is lost: each of them can be allocated. */
static inline const char *kkit_whole(void *argument)
{
	struct kkit *kit = argument;
	const char *wrong = kkit_empty(kit);
	size_t bytes = (size_t)1 << kit->terms.shift;
	void **had;
	uint32_t i;

	kit->runs++;
	kit->halts += stop.stopped;
	if (wrong)
		return wrong;
	had = calloc(kit->superblocks + 1, sizeof(*had));
	ck_assert_ptr_nonnull(had);
	for (i = 0; i <= kit->superblocks; i++)
		had[i] = kkit_get(kit, bytes);
	for (i = 0; i <= kit->superblocks && !wrong; i++)
		if (!had[i] != (i == kit->superblocks))
			wrong = had[i] ? "one superblock too many" : "a superblock is lost";
	for (i = 0; i <= kit->superblocks; i++)
		kkit_put(kit, had[i]);
	free(had);
	return wrong ? wrong : kkit_empty(kit);
}

static inline void kkit_explore(struct kkit *kit, const char *name, simt_kernel *kernel,
				uint32_t grid, uint32_t block, uint32_t seeds,
				const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = kit,
		.begin = kkit_begin,
		.check = check,
		.seeds = seeds,
		.config = { .race = KKIT_RACE, .strict = true, .steps_max = 400000 },
	};

	simt_must_pass(&test);
}

static inline int kkit_run(TCase *tcase, const char *name)
{
	return simt_run_case(tcase, name);
}

#endif
