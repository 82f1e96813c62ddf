/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_release.c - frees of pages: adjacent pages, scattered pages, double frees and invalid pages.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t callers; /* which lanes of a warp free */
	uint32_t first;   /* the first lane's page */
	uint32_t step;    /* distance between the pages of consecutive callers */
	uint32_t seeds;
};

/*
 * Adjacent callers; rows that end at a word boundary or cross it; pages of one word out of order;
 * distant pages.
 */
static const struct plan plans[] = {
	{ "adjacent", ~0u, 0, 1, 40 },
	{ "adjacent across a word boundary", ~0u, 50, 1, 40 },
	{ "adjacent, some lanes", 0x0f0f0ff0, 64, 1, 40 },
	{ "adjacent across a word boundary, some lanes", 0xffff00ff, 110, 1, 40 },
	{ "every second page", ~0u, 5, 2, 40 },
	{ "backward", ~0u, 200, ~0u, 40 },
	{ "far apart", 0x7fffffff, 3, 70, 40 },
	{ "few lanes", 0x00000111, 60, 1, 80 },
	{ "one lane", 0x00010000, 63, 1, 80 },
};

static uint32_t page_of(const struct kit *kit, uint32_t rank)
{
	const struct plan *plan = kit->plan;

	return (plan->first + rank * plan->step) % kit->count;
}

/* Each caller frees its page, and then frees it again. */
MAM_KERNEL(free_twice)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t page = page_of(kit, mam_popc32(plan->callers & ((1u << mam_lane()) - 1)));

	if (!(plan->callers >> mam_lane() & 1))
		return;
	mam_atomic_store32(&kit->owner[page], 0, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_KASSERT(mam_pages_give(kit->pages, page));
	MAM_KASSERT(!mam_pages_give(kit->pages, page));
}

static const char *each_once_and_once_more(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i, given = 0, lanes = (uint32_t)__builtin_popcount(plan->callers);

	for (i = 0; i < kit->count; i++)
		given += !kit->owner[i];
	if (given != lanes)
		return "the plan frees a page twice";
	if (kit->pages->tally[MAM_TALLY_TWICE] != lanes || kit->pages->tally[MAM_TALLY_FOREIGN])
		return "a double free was not counted";
	return kit_check(kit);
}

START_TEST(double_free_of_page_fails)
{
	const struct plan *plan = &plans[_i];
	struct kit *kit = kit_create(1000, plan);
	struct simt_case test = {
		.name = plan->name,
		.kernel = free_twice,
		.grid = 1,
		.block = 32,
		.argument = kit,
		.begin = kit_begin_full,
		.check = each_once_and_once_more,
		.seeds = plan->seeds,
		.config = { .race = KIT_RACE },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

/*
 * All lanes free the same four pages at the same time: each page is freed once, by any of the
 * lanes.
 */
MAM_KERNEL(free_the_same)
{
	struct kit *kit = argument;
	uint32_t page = 62 + simt_thread() % 4;

	if (mam_pages_give(kit->pages, page))
		(void)mam_atomic_add32(&kit->payload[page], 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store32(&kit->owner[page], 0, MAM_RELAXED, MAM_AT_DEVICE);
}

static const char *four_were_freed(void *argument)
{
	struct kit *kit = argument;
	uint32_t i;

	for (i = 0; i < kit->count; i++)
		if (kit->payload[i] != (i >= 62 && i < 66))
			return "a page was not freed exactly once";
	if (kit->pages->tally[MAM_TALLY_TWICE] != 80 - 4)
		return "a double free was not counted";
	return kit_check(kit);
}

START_TEST(concurrent_free_succeeds_once)
{
	struct kit *kit = kit_create(100, NULL);
	struct simt_case test = {
		.name = "the same pages",
		.kernel = free_the_same,
		.grid = 2,
		.block = 40,
		.argument = kit,
		.begin = kit_begin_full,
		.check = four_were_freed,
		.seeds = 100,
		.config = { .race = false },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

/* Some lanes free an invalid page number; the pages of the others are freed all the same. */
MAM_KERNEL(free_foreign)
{
	struct kit *kit = argument;
	uint32_t lane = mam_lane(), page;

	if (lane % 3 == 1) {
		/* The first invalid page number is the count itself. */
		page = lane % 2 ? MAM_NO_PAGE : kit->count + lane - 4;
		MAM_KASSERT(!mam_pages_give(kit->pages, page));
	} else {
		mam_atomic_store32(&kit->owner[lane], 0, MAM_RELAXED, MAM_AT_DEVICE);
		MAM_KASSERT(mam_pages_give(kit->pages, lane));
	}
}

static const char *foreign_counted(void *argument)
{
	struct kit *kit = argument;

	if (kit->pages->tally[MAM_TALLY_FOREIGN] != 11 || kit->pages->tally[MAM_TALLY_TWICE])
		return "an invalid page was not counted";
	return kit_check(kit);
}

START_TEST(free_of_invalid_page_fails)
{
	struct kit *kit = kit_create(70, NULL);
	struct simt_case test = {
		.name = "foreign",
		.kernel = free_foreign,
		.grid = 1,
		.block = 32,
		.argument = kit,
		.begin = kit_begin_full,
		.check = foreign_counted,
		.seeds = 100,
		.config = { .race = KIT_RACE },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("release");

	tcase_add_loop_test(tcase, double_free_of_page_fails, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, concurrent_free_succeeds_once);
	tcase_add_test(tcase, free_of_invalid_page_fails);
	return kit_run(tcase, "heap/release");
}
