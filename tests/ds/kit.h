/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - what tests of structures share: the base that notices everything (coalesce/kit.h), lanes
 * that stop (heap/stop.h), and a book of numbers that may be given out once each.
 */
#ifndef MAM_TESTS_DS_KIT_H
#define MAM_TESTS_DS_KIT_H

#include <string.h>

#include "heap/stop.h"
#include "coalesce/kit.h"

#define DKIT_NUMBERS 8192u

/* Of the test's own: the race checker does not see them, and they order nothing. */
static struct {
	uint32_t once[DKIT_NUMBERS]; /* a number: how often it was noted */
	uint32_t noted;
	uint32_t runs, stopped; /* runs of a search, and lanes that stopped in them */
} dkit;

STOP_UNSEEN void dkit_begin(uint32_t others)
{
	memset(dkit.once, 0, sizeof(dkit.once));
	dkit.noted = 0;
	stop_begin(others);
}

/* Somebody was told `number`, for the first time. */
STOP_UNSEEN void dkit_note(uint64_t number)
{
	MAM_KASSERT(number < DKIT_NUMBERS);
	MAM_KASSERT(!dkit.once[number]);
	dkit.once[number]++;
	dkit.noted++;
}

/* All numbers below `count` were noted, and no others. */
STOP_UNSEEN const char *dkit_check_noted(uint64_t count)
{
	uint64_t i;

	if (dkit.noted != count)
		return "more or fewer were told a number than there are elements";
	for (i = 0; i < count; i++)
		if (!dkit.once[i])
			return "an element below the count is nobody's";
	return NULL;
}

STOP_UNSEEN uint32_t dkit_self(void)
{
	return simt_block() * simt_block_threads() + simt_thread();
}

/* What a run of a search with lanes that stop says in the end. */
STOP_UNSEEN void dkit_count_run(void)
{
	dkit.runs++;
	dkit.stopped += stop.stopped;
}

/*
 * dkit_create - a kit of the base that notices everything, over `bytes`, whose `own` is `own_bytes` of
 * zeros and is made anew by `begin`; a search tries 4,000,000 steps. dkit_destroy() has both freed.
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
