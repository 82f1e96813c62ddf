/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shapes.c - all threads of two- and three-dimensional blocks and grids allocate: each warp
 * has its own number, and so its own home position, and every object has one owner. Rows are
 * shorter than a warp, as long as one or several, or end in the middle of one.
 */
#include "heap/objects/objects_kit.h"

struct plan {
	const char *name;
	struct simt_dims block, grid;
};

static const struct plan plans[] = {
	{ "256x1", { 256, 1, 1 }, { 2, 1, 1 } },    { "32x8", { 32, 8, 1 }, { 2, 1, 1 } },
	{ "16x16", { 16, 16, 1 }, { 2, 1, 1 } },    { "8x8x4", { 8, 8, 4 }, { 2, 1, 1 } },
	{ "48x4", { 48, 4, 1 }, { 2, 1, 1 } },      { "40x6", { 40, 6, 1 }, { 2, 1, 1 } },
	{ "100x2", { 100, 2, 1 }, { 2, 1, 1 } },    { "33x3", { 33, 3, 1 }, { 4, 1, 1 } },
	{ "7x5x3", { 7, 5, 3 }, { 4, 1, 1 } },      { "1x64", { 1, 64, 1 }, { 4, 1, 1 } },
	{ "64x1, 1x6", { 64, 1, 1 }, { 1, 6, 1 } }, { "32x2, 2x3", { 32, 2, 1 }, { 2, 3, 1 } },
	{ "8x8, 2x2x2", { 8, 8, 1 }, { 2, 2, 2 } }, { "40x3, 1x2x2", { 40, 3, 1 }, { 1, 2, 2 } },
};
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

static uint32_t threads_of(struct simt_dims dims)
{
	return dims.x * dims.y * dims.z;
}

static uint32_t warps_of(const struct plan *plan)
{
	return threads_of(plan->grid) * ((threads_of(plan->block) + SIMT_WARP - 1) / SIMT_WARP);
}

/* Explores `kernel` in the plan's shape with all threads. */
static void explore(struct okit *kit, simt_kernel *kernel, const char *(*check)(void *))
{
	const struct plan *plan = kit->plan;
	struct simt_case test = {
		.name = plan->name,
		.kernel = kernel,
		.grid = threads_of(plan->grid),
		.block = threads_of(plan->block),
		.argument = kit,
		.begin = okit_begin,
		.check = check,
		.seeds = KIT_RACE ? 1 : 3,
		.config = { .block = plan->block,
			    .grid = plan->grid,
			    .race = KIT_RACE,
			    .strict = true,
			    .steps_max = 20000000 },
	};

	simt_must_pass(&test);
}

/* The lanes of a warp share one number, which no other warp has: kit->kept counts the lanes. */
static MAM_KERNEL(number)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t warp = mam_handle_warp();

	MAM_KASSERT(mam_lane() == mam_thread() % SIMT_WARP);
	MAM_KASSERT(mam_thread() == simt_thread() && mam_block() == simt_block());
	MAM_KASSERT(mam_block_threads() == threads_of(plan->block));
	MAM_KASSERT(mam_grid_blocks() == threads_of(plan->grid));
	MAM_KASSERT(mam_block_leader() == !simt_thread());
	MAM_KASSERT(mam_handle_warps() == warps_of(plan));
	MAM_KASSERT(warp < warps_of(plan));
	(void)mam_atomic_or64(&kit->kept[warp], (uint64_t)1 << mam_lane(), MAM_RELAXED,
			      MAM_AT_DEVICE);
	(void)mam_atomic_add64(&kit->kept[warp], (uint64_t)1 << SIMT_WARP, MAM_RELAXED,
			       MAM_AT_DEVICE);
}

static const char *check_numbers(void *argument)
{
	const struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t warps = warps_of(plan), per_block = warps / threads_of(plan->grid), i, lanes;

	for (i = 0; i < warps; i++) {
		lanes = threads_of(plan->block) - i % per_block * SIMT_WARP;
		lanes = lanes < SIMT_WARP ? lanes : SIMT_WARP;
		if (kit->kept[i] != ((uint64_t)lanes << SIMT_WARP | (((uint64_t)1 << lanes) - 1)))
			return okit_wrong("warp number %u does not belong to exactly one warp", i);
	}
	return NULL;
}

START_TEST(warp_number_is_unique)
{
	struct okit *kit = okit_create(1, 1, &plans[_i]);

	explore(kit, number, check_numbers);
	okit_destroy(kit);
}
END_TEST

/* Each thread has objects of two rounds live at a time, first of one size and then of two. */
static MAM_KERNEL(alloc_and_free)
{
	static const size_t sizes[] = { 64, 64, 48, 100 };
	struct okit *kit = argument;
	void *before = NULL, *object;
	uint32_t round;

	for (round = 0; round < 4; round++) {
		object = okit_alloc(kit, sizes[round / 2 * 2 + simt_thread() % 2]);
		okit_free(kit, before);
		before = object;
	}
	okit_free(kit, before);
}

START_TEST(object_has_one_owner)
{
	struct okit *kit = okit_create(16, 64, &plans[_i]);

	explore(kit, alloc_and_free, okit_check_served);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("shapes");

	tcase_add_loop_test(tcase, warp_number_is_unique, 0, PLANS);
	tcase_add_loop_test(tcase, object_has_one_owner, 0, PLANS);
	return kit_run(tcase, "heap/shapes");
}
