/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_silent.c - a host that does not answer: it dies before any one of its stores, is
 * stopped for a while, does not see a request, or is later than kernels wait. Each request ends in
 * bounded time. A request that fails is counted with the cause that the host was silent. No request
 * waits again for a host that has shown no sign of life since. When the host lives again, the heap
 * grows again, and late grants are used first.
 */
#include "heap/growth/growth_kit.h"

struct plan {
	const char *name;
	uint32_t grid, block, resident;
	uint32_t rounds;
	size_t bytes[4];
	uint64_t wait_ns;
	struct gkit_host host;
	uint32_t seeds, seeds_race;
};

static uint64_t runs, nulls, grown, dead, lost;

static struct gkit *create(const struct plan *plan)
{
	struct gkit *kit = gkit_create(1, 1, &plan->host, plan);

	kit->wait_ns = plan->wait_ns;
	runs = nulls = grown = dead = lost = 0;
	return kit;
}

/* So many requests per lane, answered or not. */
static MAM_KERNEL(ask)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	void *held[8] = { NULL };
	uint32_t round;

	for (round = 0; round < plan->rounds; round++) {
		if (held[round % 8])
			gkit_free(kit, held[round % 8]);
		held[round % 8] = gkit_alloc(kit, plan->bytes[(round + mam_block()) % 4]);
	}
	for (round = 0; round < 8; round++)
		gkit_free(kit, held[round]);
}

/* Each failure has the cause that the host was silent. */
static const char *check_silent(void *argument)
{
	const struct gkit *kit = argument;

	runs++;
	nulls += kit->o.failed;
	grown += gkit_parts(kit);
	dead += kit->life.dead;
	lost += kit->life.lost;
	if (gkit_tally(kit, MAM_OBJECT_SILENT) != kit->o.failed)
		return okit_wrong("%u requests failed, but only %u because the host was silent",
				  kit->o.failed, (uint32_t)gkit_tally(kit, MAM_OBJECT_SILENT));
	return gkit_check_empty(argument);
}

/* clang-format off */
static const struct plan deaths[] = {
	{ "dies at once", 2, 32, 0, 4, { 4100, 8192, 1000, 3000 }, 3000, { .dies = 1 }, 10, 4 },
	{ "dies early", 1, 12, 0, 6, { 9000, 8192, 20000, 3000 }, 2000, { .dies = 12 }, 40, 15 },
	{ "dies at any time", 2, 24, 0, 4, { 9000, 8192, 5000, 3000 }, 3000, { .dies = 300 }, 15,
	  6 },
	{ "dies at any time, lone lanes", 10, 1, 0, 6, { 9000, 8192, 20000, 3000 }, 2000,
	  { .dies = 300 }, 30, 10 },
	{ "dies with grants ahead", 1, 24, 0, 4, { 9000, 8192, 20000, 3000 }, 2000,
	  { .dies = 12, .ahead = 2 }, 20, 8 },
	{ "dies late, few lanes at a time", 6, 16, 2, 4, { 9000, 8192, 5000, 3000 }, 2000,
	  { .dies = 1000 }, 15, 5 },
};
/* clang-format on */
#define DEATHS ((int)(sizeof(deaths) / sizeof(deaths[0])))

START_TEST(requests_end_when_host_dies)
{
	const struct plan *plan = &deaths[_i];
	struct gkit *kit = create(plan);

	gkit_explore(kit, plan->name, ask, plan->grid, plan->block, plan->resident,
		     KIT_RACE ? plan->seeds_race : plan->seeds, check_silent);
	/* Otherwise the test is not meaningful. */
	ck_assert(runs < 12 || (dead && nulls));
	gkit_destroy(kit);
}
END_TEST

/* ---- duration --------------------------------------------------------------------------- */

#define WAIT 20000u
/* Upper bound of a search in a small heap, without waiting. */
#define SEARCH 6000u

/* The host is dead. The first request waits once; the next ones do not wait. */
static MAM_KERNEL(time_it)
{
	struct gkit *kit = argument;
	void *run = gkit_alloc(kit, 60000);
	uint64_t began, took;
	uint32_t i;

	MAM_KASSERT(run);
	for (i = 0; i < 3; i++) {
		began = mam_clock();
		/* A run leaves five units. */
		MAM_KASSERT(!gkit_alloc(kit, i == 1 ? 20000 : 5500));
		took = mam_clock() - began;
		if (i)
			MAM_KASSERT(took < SEARCH);
		else
			MAM_KASSERT(took >= WAIT && took < WAIT + SEARCH);
	}
	gkit_free(kit, run);
	run = gkit_alloc(kit, 5500);
	MAM_KASSERT(run);
	gkit_free(kit, run);
}

static const char *check_three(void *argument)
{
	const struct gkit *kit = argument;

	if (kit->growth->asks != 1)
		return okit_wrong("a dead host was asked %u times", (uint32_t)kit->growth->asks);
	if (kit->o.failed != 3)
		return "not exactly three requests failed";
	return check_silent(argument);
}

START_TEST(only_first_request_waits_for_dead_host)
{
	static const struct plan plan = { .name = "one wait",
					  .wait_ns = WAIT,
					  .host = { .dies = 1 } };
	struct gkit *kit = create(&plan);

	gkit_explore(kit, plan.name, time_it, 1, 1, 0, 30, check_three);
	gkit_destroy(kit);
}
END_TEST

/* All lanes make requests at the same time, repeatedly: none waits longer than a single one may. */
static MAM_KERNEL(time_many)
{
	struct gkit *kit = argument;
	uint64_t began = mam_clock();
	uint32_t i;

	for (i = 0; i < 6; i++)
		(void)gkit_alloc(kit, 20000);
	/* Time is counted in steps, and those of all lanes count. */
	MAM_KASSERT(mam_clock() - began < 2 * WAIT + 6 * SEARCH * mam_grid_blocks());
}

START_TEST(many_lanes_wait_for_dead_host_once)
{
	static const struct plan plan = { .name = "many lanes wait once",
					  .wait_ns = WAIT,
					  .host = { .dies = 1 } };
	struct gkit *kit = create(&plan);

	gkit_explore(kit, plan.name, time_many, 8, 1, 0, 12, gkit_check);
	gkit_destroy(kit);
}
END_TEST

/* ---- a host that lives again ------------------------------------------------------------ */

/* Repeats each request until it succeeds: a live host answers eventually. */
static MAM_KERNEL(insist)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	void *held[8] = { NULL };
	uint32_t round;

	for (round = 0; round < plan->rounds; round++) {
		while (!(held[round] = gkit_alloc(kit, plan->bytes[(round + mam_block()) % 4])))
			mam_nanosleep(1000);
	}
	for (round = 0; round < 8; round++)
		gkit_free(kit, held[round]);
}

/* clang-format off */
static const struct plan lives[] = {
	{ "stopped for a while", 1, 12, 0, 4, { 9000, 8192, 20000, 5000 }, 1500,
	  { .stops = 30, .stopped = 6000 }, 30, 10 },
	{ "stopped for a while, warps", 3, 16, 0, 4, { 3000, 8192, 5000, 2000 }, 1500,
	  { .stops = 30, .stopped = 20000 }, 12, 4 },
	{ "stopped, lone lanes", 10, 1, 0, 4, { 9000, 8192, 20000, 5000 }, 1500,
	  { .stops = 60, .stopped = 6000 }, 30, 10 },
	{ "later than any lane waits", 1, 12, 0, 4, { 9000, 8192, 20000, 5000 }, 800,
	  { .late = 8000 }, 20, 8 },
	{ "late, lone lanes", 8, 1, 0, 4, { 9000, 8192, 20000, 5000 }, 800, { .late = 6000 }, 20,
	  8 },
	{ "lost requests", 1, 12, 0, 4, { 9000, 8192, 20000, 5000 }, 1500, { .lost = 128 }, 20, 8 },
	{ "lost requests, warps", 3, 12, 0, 4, { 9000, 8192, 3000, 5000 }, 1500, { .lost = 200 },
	  10, 4 },
};
/* clang-format on */
#define LIVES ((int)(sizeof(lives) / sizeof(lives[0])))

START_TEST(heap_grows_again_when_host_lives)
{
	const struct plan *plan = &lives[_i];
	struct gkit *kit = create(plan);

	gkit_explore(kit, plan->name, insist, plan->grid, plan->block, plan->resident,
		     KIT_RACE ? plan->seeds_race : plan->seeds, check_silent);
	ck_assert(!runs || grown);
	ck_assert(runs < 12 || nulls);
	ck_assert(runs < 12 || !plan->host.lost || lost);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("grow_silent");

	tcase_add_loop_test(tcase, requests_end_when_host_dies, 0, DEATHS);
	tcase_add_test(tcase, only_first_request_waits_for_dead_host);
	tcase_add_test(tcase, many_lanes_wait_for_dead_host_once);
	tcase_add_loop_test(tcase, heap_grows_again_when_host_lives, 0, LIVES);
	return kit_run(tcase, "heap/grow_silent");
}
