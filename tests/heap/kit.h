/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - what tests of the page allocator share: a small heap with a shadow of who has what,
 * and a payload that its owner writes and reads plainly.
 *
 * The shadow finds a page that two have; it is atomic and orders nothing. The payload shows the
 * race checker whether a claim acquires what a release gave. After a run every bit must be as it
 * was.
 */
#ifndef MAM_TESTS_HEAP_KIT_H
#define MAM_TESTS_HEAP_KIT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/pages/pages.h"
#include "simt/explore.h"
#include "simt/suite.h"

#define KIT_PAGES_MAX 1024

/* Plain accesses are seen in builds with hooks only. */
#ifdef SIMT_HOOKS
#define KIT_RACE true
#else
#define KIT_RACE false
#endif

struct kit {
	struct mam_pages *pages;
	uint32_t count;                  /* pages */
	uint32_t owner[KIT_PAGES_MAX];   /* 0: nobody; atomic */
	uint32_t payload[KIT_PAGES_MAX]; /* plain */
	uint32_t failed;                 /* requests that got nothing; atomic */
	const void *plan;                /* the test's own */
};

static inline uint32_t kit_me(void)
{
	return mam_block() * simt_block_threads() + simt_thread() + 1;
}

/* A walk that claims blindly, or looks first, by chance. */
static inline void kit_start(struct kit *kit, struct mam_kwalk *walk)
{
	mam_kwalk_start(walk, kit->pages);
	walk->blind = simt_random() & 1;
}

/* The caller has just got `n` pages from `page` on. */
static inline void kit_own(struct kit *kit, uint32_t page, uint32_t n)
{
	uint32_t i;

	MAM_KASSERT(page < kit->count && n <= kit->count - page);
	for (i = page; i < page + n; i++) {
		MAM_KASSERT(
			!mam_atomic_xchg32(&kit->owner[i], kit_me(), MAM_RELAXED, MAM_AT_DEVICE));
		kit->payload[i] = kit_me();
	}
}

/* The caller is about to give them back. */
static inline void kit_disown(struct kit *kit, uint32_t page, uint32_t n)
{
	uint32_t i;

	for (i = page; i < page + n; i++) {
		MAM_KASSERT(kit->payload[i] == kit_me());
		kit->payload[i] = 0;
		MAM_KASSERT(mam_atomic_xchg32(&kit->owner[i], 0, MAM_RELAXED, MAM_AT_DEVICE) ==
			    kit_me());
	}
}

static inline void kit_count_failure(struct kit *kit)
{
	(void)mam_atomic_add32(&kit->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

/* A new heap, before each run. */
static inline void kit_begin(void *argument)
{
	struct kit *kit = argument;

	memset(kit->pages, 0, mam_pages_bytes(kit->count));
	mam_pages_format(kit->pages, kit->count, 5);
	memset(kit->owner, 0, sizeof(kit->owner));
	memset(kit->payload, 0, sizeof(kit->payload));
	kit->failed = 0;
}

/* The pages from `first` to before `end` are taken for good, by nobody here. */
static inline void kit_fill(struct kit *kit, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = first; i < end; i++) {
		mam_pages_bits(kit->pages)[i / 64] |= (uint64_t)1 << i % 64;
		kit->owner[i] = ~0u;
	}
}

/* But this one is not. */
static inline void kit_vacate(struct kit *kit, uint32_t page)
{
	mam_pages_bits(kit->pages)[page / 64] &= ~((uint64_t)1 << page % 64);
	kit->owner[page] = 0;
}

/* A full heap, before each run. */
static inline void kit_begin_full(void *argument)
{
	struct kit *kit = argument;

	kit_begin(kit);
	kit_fill(kit, 0, kit->count);
}

/* After a run: the bits say what the shadow says, and no run is open. */
static inline const char *kit_check(void *argument)
{
	const struct kit *kit = argument;
	const uint64_t *bits = mam_pages_bits(kit->pages);
	uint32_t i;

	for (i = 0; i < kit->pages->words * 64; i++)
		if ((bits[i / 64] >> i % 64 & 1) != (i >= kit->count || kit->owner[i]))
			return "a bit does not say what the shadow says";
	return kit->pages->open.value ? "a run is still open" : NULL;
}

/* As kit_check(), and all pages are back. */
static inline const char *kit_check_empty(void *argument)
{
	const struct kit *kit = argument;
	uint32_t i;

	for (i = 0; i < kit->count; i++)
		if (kit->owner[i])
			return "a page has still an owner";
	return kit_check(argument);
}

static inline struct kit *kit_create(uint32_t count, const void *plan)
{
	struct kit *kit = calloc(1, sizeof(*kit));

	ck_assert_ptr_nonnull(kit);
	ck_assert_uint_le(count, KIT_PAGES_MAX);
	kit->count = count;
	kit->plan = plan;
	kit->pages = aligned_alloc(MAM_PAGES_LINE, (mam_pages_bytes(count) + MAM_PAGES_LINE - 1) /
							   MAM_PAGES_LINE * MAM_PAGES_LINE);
	ck_assert_ptr_nonnull(kit->pages);
	return kit;
}

static inline void kit_destroy(struct kit *kit)
{
	free(kit->pages);
	free(kit);
}

/* Explores `kernel` on the kit, which `begin` makes. */
static inline void kit_explore_from(struct kit *kit, const char *name, void (*begin)(void *),
				    simt_kernel *kernel, uint32_t grid, uint32_t block,
				    uint32_t seeds, const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = kit,
		.begin = begin,
		.check = check,
		.seeds = seeds,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
}

/* The same from an empty heap; `check` is NULL for kit_check_empty(). */
static inline void kit_explore(struct kit *kit, const char *name, simt_kernel *kernel,
			       uint32_t grid, uint32_t block, uint32_t seeds,
			       const char *(*check)(void *))
{
	kit_explore_from(kit, name, kit_begin, kernel, grid, block, seeds,
			 check ? check : kit_check_empty);
}

/* Runs the suite that has this one case. */
static inline int kit_run(TCase *tcase, const char *name)
{
	return simt_run_case(tcase, name);
}

#endif
