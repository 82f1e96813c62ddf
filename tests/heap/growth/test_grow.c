/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow.c - a heap that grows while kernels run: warps, lone lanes, lanes that arrive late and
 * blocks that are not resident at first request much more than the root has, as slots, runs and
 * both; every request succeeds, from as many parts as needed.
 */
#include <stdlib.h>

#include "heap/growth/growth_kit.h"

#define HELD_MAX 8

static const size_t sizes[] = { 16,   40,   100,  200,  256,   500,   1000,  1024,  2000,
				3000, 4100, 8192, 9000, 12000, 20000, 40000, 63000, 65000 };

struct plan {
	const char *name;
	uint32_t blocks, columns; /* of the root */
	uint32_t grid, block, resident;
	uint32_t rounds, held;
	uint32_t first, count; /* of sizes */
	uint32_t alike;        /* of eight requests, those with one size for the warp */
	uint32_t apart;        /* maximum delay of a lane in ticks */
	uint32_t parts;        /* minimum number of parts at the end, as a mean of all runs */
	struct gkit_host host;
	uint32_t seeds, seeds_race;
};

static uint64_t runs, parts; /* totals of one case */

static void *some(struct gkit *kit, uint32_t round)
{
	const struct plan *plan = kit->o.plan;
	uint32_t chance = (uint32_t)simt_random();
	void *object;

	if (chance % 8 < plan->alike)
		chance = (round * 5 + mam_block()) << 3;
	object = gkit_alloc(kit, sizes[plan->first + (chance >> 3) % plan->count]);
	MAM_KASSERT(object);
	return object;
}

/* Allocates more and more, frees an object now and then, and all at the end. */
static MAM_KERNEL(allocate_more)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	void *held[HELD_MAX] = { NULL };
	uint32_t round, i;

	if (plan->apart)
		mam_nanosleep((uint32_t)simt_random() % plan->apart);
	for (round = 0; round < plan->rounds; round++) {
		i = round % plan->held;
		if (held[i])
			gkit_free(kit, held[i]);
		held[i] = some(kit, round);
		if (plan->apart && simt_random() % 4 == 0)
			mam_nanosleep((uint32_t)simt_random() % plan->apart);
	}
	for (i = 0; i < HELD_MAX; i++)
		gkit_free(kit, held[i]);
}

static const char *check_grown(void *argument)
{
	const struct gkit *kit = argument;

	runs++;
	parts += gkit_parts(kit);
	return gkit_check_served(argument);
}

/* clang-format off */
static const struct plan plans[] = {
	{ "a warp, small sizes", 1, 1, 1, 32, 0, 8, 8, 5, 3, 8, 0, 1, { 0 }, 20, 8 },
	{ "warps, one class", 1, 1, 4, 32, 0, 6, 6, 6, 1, 8, 0, 2, { 0 }, 12, 4 },
	{ "warps, one class per warp", 1, 2, 4, 32, 0, 4, 4, 5, 5, 8, 0, 2, { 0 }, 10, 4 },
	{ "mixed", 1, 1, 3, 32, 0, 4, 4, 0, 12, 0, 0, 1, { 0 }, 8, 3 },
	{ "mixed, some equal", 1, 2, 2, 40, 0, 4, 4, 0, 12, 5, 0, 1, { 0 }, 8, 3 },
	{ "runs", 1, 1, 2, 20, 0, 2, 2, 12, 3, 0, 0, 2, { 0 }, 20, 8 },
	{ "runs of a warp", 1, 1, 1, 24, 0, 2, 2, 13, 4, 1, 0, 2, { 0 }, 20, 8 },
	{ "runs and slots", 2, 1, 2, 16, 0, 3, 3, 6, 10, 2, 0, 2, { 0 }, 16, 6 },
	{ "lone lanes", 1, 1, 24, 1, 0, 6, 6, 4, 9, 0, 0, 1, { 0 }, 20, 8 },
	{ "late lanes", 1, 1, 2, 32, 0, 4, 4, 5, 6, 4, 4000, 1, { 0 }, 12, 4 },
	{ "late blocks", 1, 1, 8, 16, 2, 4, 3, 5, 7, 4, 0, 1, { 0 }, 12, 4 },
	{ "one block after the other", 1, 2, 12, 8, 1, 6, 6, 8, 5, 4, 0, 0, { 0 }, 12, 4 },
	{ "grants ahead", 1, 1, 4, 32, 0, 4, 4, 6, 3, 8, 0, 2, { .ahead = 2 }, 12, 4 },
	{ "all grants ahead", 1, 1, 4, 32, 0, 3, 3, 7, 3, 8, 0, 2, { .ahead = 7 }, 12, 4 },
	{ "grants of many sizes", 1, 2, 3, 32, 0, 4, 4, 6, 5, 4, 0, 1, { .min = 2, .max = 5 }, 12,
	  4 },
	{ "a late host", 1, 1, 3, 32, 0, 4, 4, 6, 4, 4, 0, 2, { .late = 3000 }, 12, 4 },
	{ "a stopped host", 1, 1, 3, 32, 0, 4, 4, 6, 4, 4, 0, 2,
	  { .stops = 30, .stopped = 8000 }, 12, 4 },
};
/* clang-format on */
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

static uint32_t seeds(const struct plan *plan)
{
	return KIT_RACE ? plan->seeds_race : plan->seeds;
}

START_TEST(heap_grows_until_requests_succeed)
{
	const struct plan *plan = &plans[_i];
	struct gkit *kit = gkit_create(plan->blocks, plan->columns, &plan->host, plan);

	runs = parts = 0;
	kit->only_taken = plan->held >= plan->rounds;
	gkit_explore(kit, plan->name, allocate_more, plan->grid, plan->block, plan->resident,
		     seeds(plan), check_grown);
	/* Not of each run: where a warp ends before the next begins, they need little memory. */
	ck_assert_msg(parts >= plan->parts * runs, "%s: %llu runs grew by only %llu parts in all",
		      plan->name, (unsigned long long)runs, (unsigned long long)parts);
	gkit_destroy(kit);
}
END_TEST

/* ---- one part is enough ----------------------------------------------------------------- */

/*
 * The root is full, and all simultaneous requests fit into half of a part: the heap grows by one.
 */
static MAM_KERNEL(all_want_one)
{
	struct gkit *kit = argument;
	const size_t *bytes = kit->o.plan;
	void *object = gkit_alloc(kit, *bytes);

	MAM_KASSERT(object);
	mam_syncthreads();
	gkit_free(kit, object);
}

/* Of each block of the root, 63 units are a run and the other is a slab of 16-byte slots. */
static void begin_full(void *argument)
{
	static const size_t bytes[] = { 63u << MAM_UNIT_SHIFT, 16 };
	struct gkit *kit = argument;
	uint32_t i;
	void *object;

	gkit_begin(kit);
	/* No host would answer here. */
	kit->o.heap->growth = NULL;
	for (i = 0; i < 2 * kit->root_blocks; i++) {
		object = mam_objects_alloc(kit->o.heap, bytes[i >= kit->root_blocks]);
		ck_assert_ptr_nonnull(object);
		okit_own(&kit->o, object, bytes[i >= kit->root_blocks]);
	}
	kit->o.heap->growth = kit->growth;
}

static const char *check_one(void *argument)
{
	const struct gkit *kit = argument;

	if (kit->o.live != 2 * kit->root_blocks)
		return "the live objects are not the initial ones";
	if (kit->o.failed)
		return "a request failed";
	runs++;
	parts += gkit_parts(kit);
	/* A lane that lost all claims to faster lanes may request another part. */
	if (!gkit_parts(kit) || gkit_parts(kit) > 2)
		return okit_wrong("%u parts although one is enough", gkit_parts(kit));
	if (kit->growth->asks != gkit_parts(kit))
		return okit_wrong("the host was asked %u times", (uint32_t)kit->growth->asks);
	return gkit_check(argument);
}

START_TEST(simultaneous_requests_share_one_part)
{
	static const size_t bytes[] = { 256, 512, 800, 1000 };
	static const uint32_t shapes[][2] = { { 2, 32 }, { 1, 33 }, { 1, 64 }, { 4, 10 } };
	struct gkit *kit = gkit_create(1, 1, NULL, &bytes[_i]);
	struct simt_case test =
		gkit_case(kit, "one part is enough", KIT_RACE ? 15 : 60, gkit_build_one, check_one);

	runs = parts = 0;
	unsetenv("TEST_SHARE"); /* a mean of few seeds is not significant */
	gkit_one.kernel = all_want_one;
	gkit_one.grid = shapes[_i][0];
	gkit_one.block = shapes[_i][1];
	test.begin = begin_full;
	simt_must_pass(&test);
	ck_assert_uint_le(parts, runs + runs / 8);
	gkit_destroy(kit);
}
END_TEST

/* ---- kernels after and beside each other ------------------------------------------------ */

/* Later kernels free the objects that this one leaves, whatever part they are in. */
static MAM_KERNEL(leave)
{
	struct gkit *kit = argument;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread(), i;

	for (i = 0; i < 3; i++)
		okit_keep(&kit->o, me * 3 + i, gkit_alloc(kit, sizes[4 + (me + i) % 7]));
}

static MAM_KERNEL(free_remaining)
{
	struct gkit *kit = argument;
	uint32_t lanes = mam_grid_blocks() * simt_block_threads(), i;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread();

	for (i = me; i < 96 * 3; i += lanes)
		gkit_free(kit, okit_take(&kit->o, i));
}

/* The same requests again need no more memory: freed memory is reused. */
static MAM_KERNEL(again)
{
	struct gkit *kit = argument;
	void *object[3];
	uint32_t me = mam_block() * simt_block_threads() + simt_thread(), i;

	for (i = 0; i < 3; i++) {
		object[i] = gkit_alloc(kit, sizes[4 + (me + i) % 7]);
		MAM_KASSERT(object[i]);
	}
	for (i = 0; i < 3; i++)
		gkit_free(kit, object[i]);
}

static bool one_after_the_other(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, leave, 3, 32, argument) &&
	       simt_world_launch(world, 1, free_remaining, 2, 32, argument) &&
	       simt_world_launch(world, 1, again, 3, 32, argument) && gkit_hosts(world, argument);
}

static bool beside(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, leave, 3, 32, argument) &&
	       simt_world_launch(world, 2, again, 2, 20, argument) &&
	       simt_world_launch(world, 1, free_remaining, 1, 32, argument) &&
	       simt_world_launch(world, 3, again, 5, 1, argument) && gkit_hosts(world, argument);
}

static const char *check_kernels(void *argument)
{
	const struct gkit *kit = argument;

	runs++;
	parts += gkit_parts(kit);
	return gkit_check_served(argument);
}

START_TEST(later_kernels_use_grown_memory)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);
	struct simt_case test =
		gkit_case(kit, _i ? "concurrent kernels" : "three kernels", KIT_RACE ? 4 : 12,
			  _i ? beside : one_after_the_other, check_kernels);

	runs = parts = 0;
	simt_must_pass(&test);
	ck_assert(!runs || parts);
	gkit_destroy(kit);
}
END_TEST

/* ---- growth is bounded ------------------------------------------------------------------ */

/*
 * The same kernel runs repeatedly and frees everything: the next ones find the memory that the
 * first one needed.
 */
#define KERNELS 8

static uint64_t first_parts, last_parts; /* sums of all runs */

static MAM_KERNEL(note_first)
{
	const struct gkit *kit = argument;

	first_parts += gkit_parts(kit);
}

static bool again_and_again(struct simt_world *world, void *argument)
{
	uint32_t i;
	bool fine = simt_world_launch(world, 1, allocate_more, 2, 20, argument) &&
		    simt_world_launch(world, 1, note_first, 1, 1, argument);

	for (i = 1; i < KERNELS; i++)
		fine = fine && simt_world_launch(world, 1, allocate_more, 2, 20, argument);
	return fine && gkit_hosts(world, argument);
}

static const char *check_steady(void *argument)
{
	const struct gkit *kit = argument;

	last_parts += gkit_parts(kit);
	return gkit_check_served(argument);
}

static const struct plan steady[] = {
	{ "repeated kernels, one class", 1, 2, 2, 20, 0, 6, 6, 6, 1, 8, 0, 0, { 0 }, 6, 2 },
	{ "repeated kernels, mixed sizes", 1, 2, 2, 20, 0, 4, 4, 5, 6, 0, 0, 0, { 0 }, 6, 2 },
	{ "repeated kernels, runs", 1, 2, 2, 20, 0, 2, 2, 12, 3, 0, 0, 0, { 0 }, 6, 2 },
};

START_TEST(repeated_kernels_do_not_grow_heap)
{
	const struct plan *plan = &steady[_i];
	struct gkit *kit = gkit_create(1, plan->columns, &plan->host, plan);
	struct simt_case test =
		gkit_case(kit, plan->name, seeds(plan), again_and_again, check_steady);

	first_parts = last_parts = 0;
	unsetenv("TEST_SHARE");   /* a mean of few seeds is not significant */
	test.config.race = false; /* the sums are shared by all lanes */
	simt_must_pass(&test);
	/*
	 * By chance some runs request more, or arrange it worse, than the first; but not every
	 * time.
	 */
	ck_assert_uint_le(last_parts, 2 * first_parts);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("grow");

	tcase_add_loop_test(tcase, heap_grows_until_requests_succeed, 0, PLANS);
	tcase_add_loop_test(tcase, simultaneous_requests_share_one_part, 0, 4);
	tcase_add_loop_test(tcase, later_kernels_use_grown_memory, 0, 2);
	tcase_add_loop_test(tcase, repeated_kernels_do_not_grow_heap, 0,
			    sizeof(steady) / sizeof(steady[0]));
	return kit_run(tcase, "heap/grow");
}
