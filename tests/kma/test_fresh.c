/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fresh.c - superblocks that were never used: each is allocated once, runs consist of
 * neighbors, and superblocks freed at the upper end can be allocated again.
 */
#include "kma/kit.h"

#define MAX 64u

struct plan {
	const char *name;
	uint32_t superblocks, grid, block, rounds, longest;
	uint32_t seeds, seeds_race;
};

struct own {
	const struct plan *plan;
	uint64_t fresh;
	uint32_t value[MAX]; /* of its owner */
	uint32_t held[MAX];  /* the test's own */
	uint32_t back, none;
};

STOP_UNSEEN void note(struct own *own, uint32_t first, uint32_t count, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = first; i < first + count; i++) {
		MAM_KASSERT(i < own->plan->superblocks && own->held[i] == from);
		own->held[i] = to;
	}
}

STOP_UNSEEN void note_result(uint32_t *count)
{
	(*count)++;
}

static MAM_KERNEL(take_and_return)
{
	struct own *own = argument;
	uint32_t n, i, first, count, self = mam_kma_self() + 1;

	for (n = 0; n < own->plan->rounds; n++) {
		count = 1 + kkit_below(own->plan->longest);
		first = mam_kma_fresh_take(&own->fresh, count);
		if (first == MAM_KMA_NONE) {
			note_result(&own->none);
			continue;
		}
		note(own, first, count, 0, self);
		for (i = first; i < first + count; i++)
			own->value[i] += self;
		if (count == 1 || kkit_below(4) == 0)
			continue;
		note(own, first, count, self, 0);
		if (mam_kma_fresh_give(&own->fresh, first, count))
			note_result(&own->back);
		else
			note(own, first, count, 0, self);
	}
}

static void begin(void *argument)
{
	struct own *own = argument;

	memset(own->value, 0, sizeof(own->value));
	memset(own->held, 0, sizeof(own->held));
	own->fresh = mam_kma_fresh_word(0, own->plan->superblocks);
	stop_begin(0);
}

/* The rest has no owner. */
static const char *check(void *argument)
{
	struct own *own = argument;
	uint32_t i, left;

	for (i = left = 0; i < own->plan->superblocks; i++)
		left += !own->held[i];
	for (i = 0; i < left; i++)
		note(own, mam_kma_fresh_take(&own->fresh, 1), 1, 0, 1);
	return mam_kma_fresh_take(&own->fresh, 1) == MAM_KMA_NONE ? NULL : "one too many";
}

static const struct plan plans[] = {
	{ "one by one", 4, 3, 1, 2, 1, 1000, 300 },
	{ "up to three", 9, 3, 1, 5, 3, 2000, 400 },
	{ "all of it", 4, 3, 1, 5, 4, 2000, 400 },
	{ "a warp", 40, 1, 20, 3, 4, 100, 20 },
};

START_TEST(concurrent_runs_do_not_overlap)
{
	const struct plan *plan = &plans[_i];
	struct own *own = calloc(1, sizeof(*own));
	struct simt_case test = {
		.name = plan->name,
		.kernel = take_and_return,
		.grid = plan->grid,
		.block = plan->block,
		.argument = own,
		.begin = begin,
		.check = check,
		.seeds = KKIT_RACE ? plan->seeds_race : plan->seeds,
		.config = { .race = KKIT_RACE, .strict = true, .steps_max = 100000 },
	};

	ck_assert_ptr_nonnull(own);
	own->plan = plan;
	simt_must_pass(&test);
	ck_assert(getenv("SIMT_SEED") || getenv("SIMT_CASE") ||
		  (own->none && !own->back == (plan->longest == 1)));
	free(own);
}
END_TEST

START_TEST(runs_are_returned_at_the_upper_end_only)
{
	uint64_t fresh = mam_kma_fresh_word(0, 10);

	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 11), MAM_KMA_NONE);
	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 1), 0);
	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 3), 7);
	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 2), 5);
	ck_assert(!mam_kma_fresh_give(&fresh, 7, 3) && !mam_kma_fresh_give(&fresh, 0, 1));
	ck_assert(mam_kma_fresh_give(&fresh, 5, 2));
	ck_assert(mam_kma_fresh_give(&fresh, 7, 3));
	ck_assert_uint_eq(fresh, mam_kma_fresh_word(1, 10));
	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 9), 1);
	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 1), MAM_KMA_NONE);
	/* No superblock is left; the run can be returned nevertheless. */
	ck_assert(mam_kma_fresh_give(&fresh, 1, 9));
	ck_assert_uint_eq(mam_kma_fresh_take(&fresh, 9), 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fresh");

	tcase_add_test(tcase, runs_are_returned_at_the_upper_end_only);
	tcase_add_loop_test(tcase, concurrent_runs_do_not_overlap, 0,
			    sizeof(plans) / sizeof(plans[0]));
	return kkit_run(tcase, "kma/fresh");
}
