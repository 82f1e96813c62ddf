/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_narrow.c - "no page" is reported only if it is true, although runs are claimed and abandoned
 * meanwhile.
 *
 * Two pages are free, the last of one word and the first of the next. All others are allocated
 * permanently. A run of both claims the first, finds the second taken and releases the first. A
 * lane that searches for a page meanwhile sees both taken, one of them by a run that does not keep
 * it, and must look again.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t words;
	uint32_t run_lanes, page_lanes; /* of each warp, as bits */
	uint32_t run_warps, page_warps; /* which warps, as bits */
	uint32_t seeds;
};

#define RUNS_HAD 0 /* an unused word of payload[]: number of runs of both pages allocated */

static void begin_narrow(void *argument)
{
	struct kit *kit = argument;
	uint64_t *bits = mam_pages_bits(kit->pages);
	uint32_t i;

	memset(kit->pages, 0, mam_pages_bytes(kit->count));
	/* No patience: a lane that finds no page starts a scan at once. */
	mam_pages_format(kit->pages, kit->count, 1000);
	memset(kit->owner, 0, sizeof(kit->owner));
	memset(kit->payload, 0, sizeof(kit->payload));
	kit->failed = 0;
	for (i = 0; i < kit->count; i++)
		if (i != 63 && i != 64) {
			bits[i / 64] |= (uint64_t)1 << i % 64;
			kit->owner[i] = ~0u;
		}
}

MAM_KERNEL(pages_and_a_run)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t warp = (mam_block() * simt_block_threads() + simt_thread()) / 32, page, tries;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	if (plan->run_warps >> warp & plan->run_lanes >> mam_lane() & 1) {
		for (tries = 0; tries < 3; tries++) {
			page = mam_pages_take_run(kit->pages, &walk, 2);
			if (page == MAM_NO_PAGE)
				continue;
			(void)mam_atomic_add32(&kit->payload[RUNS_HAD], 1, MAM_RELAXED,
					       MAM_AT_DEVICE);
			kit_own(kit, page, 2);
			break;
		}
	} else if (plan->page_warps >> warp & plan->page_lanes >> mam_lane() & 1) {
		page = mam_pages_take(kit->pages, &walk);
		if (page == MAM_NO_PAGE)
			kit_count_failure(kit);
		else
			kit_own(kit, page, 1);
	}
}

static const char *no_request_failed(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t pages = (uint32_t)(__builtin_popcount(plan->page_lanes) *
				    __builtin_popcount(plan->page_warps));

	if (kit->payload[RUNS_HAD] > 1)
		return "two runs own the same pages";
	if (kit->failed > (kit->payload[RUNS_HAD] ? pages : pages - 2))
		return "a request failed though a page was free";
	if (!pages && !kit->payload[RUNS_HAD])
		return "a run request failed though the run was free";
	return kit_check(kit);
}

static const struct plan plans[] = {
	{ "lone pages and a run", 2, 1, 1, 1, 6, 800 },
	{ "lone pages and two runs", 4, 1, 2, 3, 12, 400 },
	{ "converged lanes and a run", 2, 2, 0x11, 1, 2, 800 },
	{ "converged lanes and a run in the same warp", 3, 8, 0x11, 1, 1, 800 },
	{ "two runs and no page", 2, 3, 0, 1, 0, 400 },
	{ "runs of three warps and no page", 3, 1, 0, 7, 0, 400 },
	{ "three lanes for two pages and a run", 2, 1, 0x20, 1, 14, 400 },
};

START_TEST(failure_is_reported_only_if_true)
{
	const struct plan *plan = &plans[_i];
	struct kit *kit = kit_create(plan->words * 64, plan);
	struct simt_case test = {
		.name = plan->name,
		.kernel = pages_and_a_run,
		.grid = 4,
		.block = 32,
		.argument = kit,
		.begin = begin_narrow,
		.check = no_request_failed,
		.seeds = plan->seeds,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("narrow");

	tcase_add_loop_test(tcase, failure_is_reported_only_if_true, 0,
			    sizeof(plans) / sizeof(plans[0]));
	return kit_run(tcase, "heap/narrow");
}
