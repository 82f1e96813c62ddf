/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - helpers for tests of data structures: the base that detects every error (coalesce/kit.h),
 * lanes that stop (heap/stop.h), and a set of numbers that may be given out once each.
 */
#ifndef MAM_TESTS_DS_KIT_H
#define MAM_TESTS_DS_KIT_H

#include <string.h>

#include "heap/stop.h"
#include "coalesce/kit.h"

#define DKIT_NUMBERS 8192u

/* The test's own: invisible to the race checker, and without ordering. */
static struct {
	uint32_t once[DKIT_NUMBERS]; /* for each number: how often it was noted */
	uint32_t noted;
	uint32_t runs, stopped; /* runs of a search, and lanes that stopped in them */
} dkit;

STOP_UNSEEN void dkit_begin(uint32_t others)
{
	memset(dkit.once, 0, sizeof(dkit.once));
	dkit.noted = 0;
	stop_begin(others);
}

/* Records `number` as given out, for the first time. */
STOP_UNSEEN void dkit_note(uint64_t number)
{
	MAM_KASSERT(number < DKIT_NUMBERS);
	MAM_KASSERT(!dkit.once[number]);
	dkit.once[number]++;
	dkit.noted++;
}

/* Checks that all numbers below `count` were noted, and no others. */
STOP_UNSEEN const char *dkit_check_noted(uint64_t count)
{
	uint64_t i;

	if (dkit.noted != count)
		return "the number of elements differs from the numbers given out";
	for (i = 0; i < count; i++)
		if (!dkit.once[i])
			return "an element below the count has no owner";
	return NULL;
}

STOP_UNSEEN uint32_t dkit_self(void)
{
	return simt_block() * simt_block_threads() + simt_thread();
}

/* Adds the result of a run with lanes that stop. */
STOP_UNSEEN void dkit_count_run(void)
{
	dkit.runs++;
	dkit.stopped += stop.stopped;
}

/*
 * dkit_create - creates a fixture with the base that detects every error, in memory of `bytes`. Its
 * `own` consists of `own_bytes` zero bytes and is initialized by `begin`. A search may take
 * 4,000,000 steps. dkit_destroy() frees both.
 */
static inline struct ckit *dkit_create(size_t bytes, const void *plan, size_t own_bytes,
				       void (*begin)(struct ckit *kit))
{
	struct ckit *kit = ckit_create(bytes, plan);

	kit->own = calloc(1, own_bytes);
	ck_assert_ptr_nonnull(kit->own);
	kit->begin = begin;
	kit->steps_max = 4000000;
	dkit.runs = dkit.stopped = 0;
	return kit;
}

static inline void dkit_destroy(struct ckit *kit)
{
	free(kit->own);
	ckit_destroy(kit);
}

#endif
