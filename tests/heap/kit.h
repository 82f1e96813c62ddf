/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - fixture of the page allocator's tests: a small heap, a shadow array of page owners and a
 * payload that each owner reads and writes with plain accesses.
 *
 * The shadow detects a page with two owners. It is atomic and orders nothing. The payload shows the
 * race checker whether a claim acquires what a release published. After a run every bit must be as
 * it was before.
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

/* Only builds with access hooks observe plain accesses. */
#ifdef SIMT_HOOKS
#define KIT_RACE true
#else
#define KIT_RACE false
#endif

struct kit {
	struct mam_pages *pages;
	uint32_t count;                  /* pages */
	uint32_t owner[KIT_PAGES_MAX];   /* 0: no owner; atomic */
	uint32_t payload[KIT_PAGES_MAX]; /* plain */
	uint32_t failed;                 /* requests that found no page; atomic */
	const void *plan;                /* test-specific */
};

static inline uint32_t kit_me(void)
{
	return mam_block() * simt_block_threads() + simt_thread() + 1;
}

/* Starts a search that randomly claims blindly or looks first. */
static inline void kit_start(struct kit *kit, struct mam_kwalk *walk)
{
	mam_kwalk_start(walk, kit->pages);
	walk->blind = simt_random() & 1;
}

/* Records that the caller has just allocated `n` pages starting at `page`. */
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

/* Records that the caller is about to free them. */
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

/* Creates a new heap before each run. */
static inline void kit_begin(void *argument)
{
	struct kit *kit = argument;

	memset(kit->pages, 0, mam_pages_bytes(kit->count));
	mam_pages_format(kit->pages, kit->count, 5);
	memset(kit->owner, 0, sizeof(kit->owner));
	memset(kit->payload, 0, sizeof(kit->payload));
	kit->failed = 0;
}

/* Marks the pages in [first, end) as permanently allocated, without an owner in the test. */
static inline void kit_fill(struct kit *kit, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = first; i < end; i++) {
		mam_pages_bits(kit->pages)[i / 64] |= (uint64_t)1 << i % 64;
		kit->owner[i] = ~0u;
	}
}

/* Makes one of them free again. */
static inline void kit_vacate(struct kit *kit, uint32_t page)
{
	mam_pages_bits(kit->pages)[page / 64] &= ~((uint64_t)1 << page % 64);
	kit->owner[page] = 0;
}

/* Creates a full heap before each run. */
static inline void kit_begin_full(void *argument)
{
	struct kit *kit = argument;

	kit_begin(kit);
	kit_fill(kit, 0, kit->count);
}

/* After a run: checks that the bits match the shadow and that no run is open. */
static inline const char *kit_check(void *argument)
{
	const struct kit *kit = argument;
	const uint64_t *bits = mam_pages_bits(kit->pages);
	uint32_t i;

	for (i = 0; i < kit->pages->words * 64; i++)
		if ((bits[i / 64] >> i % 64 & 1) != (i >= kit->count || kit->owner[i]))
			return "a bit differs from the shadow";
	return kit->pages->open.value ? "a run is still open" : NULL;
}

/* As kit_check(), and all pages are free. */
static inline const char *kit_check_empty(void *argument)
{
	const struct kit *kit = argument;
	uint32_t i;

	for (i = 0; i < kit->count; i++)
		if (kit->owner[i])
			return "a page still has an owner";
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

/* Explores `kernel` on the fixture, which `begin` initializes. */
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

/* The same with an empty heap; a NULL `check` stands for kit_check_empty(). */
static inline void kit_explore(struct kit *kit, const char *name, simt_kernel *kernel,
			       uint32_t grid, uint32_t block, uint32_t seeds,
			       const char *(*check)(void *))
{
	kit_explore_from(kit, name, kit_begin, kernel, grid, block, seeds,
			 check ? check : kit_check_empty);
}

/* Runs a suite that consists of this one case. */
static inline int kit_run(TCase *tcase, const char *name)
{
	return simt_run_case(tcase, name);
}

#endif
