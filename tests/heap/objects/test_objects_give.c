/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_give.c - objects freed by other lanes, warps, blocks and kernels than those that
 * allocated them. Invalid frees: test_objects_wrong.c.
 */
#include "heap/objects/objects_kit.h"

static const size_t sizes[] = { 16, 24, 100, 256, 500, 1024, 3000, 9000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static uint32_t me(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

/* Another lane of the block, of this warp or another: one size per warp, or one per lane. */
static MAM_KERNEL(to_a_neighbor)
{
	struct okit *kit = argument;
	const uint32_t *stride = kit->plan;
	uint32_t n = simt_block_threads(), round;

	for (round = 0; round < 3; round++) {
		okit_keep(kit, simt_thread(),
			  okit_alloc(kit, sizes[(*stride > 8 ? mam_lane() : round) % SIZES]));
		mam_syncthreads();
		okit_free(kit, okit_take(kit, (simt_thread() * *stride + round) % n));
		mam_syncthreads();
	}
}

START_TEST(other_lane_may_free)
{
	static const uint32_t strides[] = { 1, 7, 63, 33 };
	struct okit *kit = okit_create(4, 2, &strides[_i]);
	char name[64];

	snprintf(name, sizeof(name), "other lanes, every %u", strides[_i]);
	okit_explore(kit, name, to_a_neighbor, 1, 64, 25, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* Lanes of all blocks exchange objects through a few places, in random order. */
static MAM_KERNEL(swap)
{
	struct okit *kit = argument;
	uint32_t round, place;
	uint64_t mine;

	for (round = 0; round < 4; round++) {
		mine = (uintptr_t)okit_alloc(kit, sizes[simt_random() % (SIZES - round % 2)]);
		place = (uint32_t)simt_random() % 24;
		mine = mam_atomic_xchg64(&kit->kept[place], mine, MAM_ACQ_REL, MAM_AT_DEVICE);
		okit_free(kit, (void *)(uintptr_t)mine);
	}
}

/* Frees the remaining objects, by a kernel of another shape. */
static MAM_KERNEL(sweep)
{
	struct okit *kit = argument;
	uint32_t i;

	for (i = me(); i < 64; i += mam_grid_blocks() * simt_block_threads())
		okit_free(kit, okit_take(kit, i));
}

static bool swap_and_sweep(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, swap, 3, 40, argument) &&
	       simt_world_launch(world, 0, sweep, 5, 7, argument) &&
	       simt_world_launch(world, 0, swap, 40, 1, argument) &&
	       simt_world_launch(world, 0, sweep, 1, 64, argument);
}

START_TEST(other_block_or_kernel_may_free)
{
	struct okit *kit = okit_create(3, 2, NULL);

	kit->steps_max = 20000000;
	okit_explore_world(kit, "other blocks and kernels", swap_and_sweep, 25, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* Two streams: one allocates, the other frees what is available by then. */
static MAM_KERNEL(make)
{
	struct okit *kit = argument;
	uint32_t round;
	void *object;

	for (round = 0; round < 2; round++) {
		object = okit_alloc(kit, sizes[(mam_lane() / 8 + round) % SIZES]);
		okit_free(kit, (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[me() % 64],
								    (uintptr_t)object, MAM_ACQ_REL,
								    MAM_AT_DEVICE));
	}
}

static bool make_and_sweep(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, make, 2, 32, argument) &&
	       simt_world_launch(world, 1, sweep, 2, 32, argument) &&
	       simt_world_launch(world, 1, sweep, 1, 20, argument) &&
	       simt_world_launch(world, 0, make, 1, 40, argument) &&
	       simt_world_launch(world, 0, sweep, 1, 32, argument);
}

/* Objects that the second stream came too late for are still live. */
START_TEST(other_stream_may_free)
{
	struct okit *kit = okit_create(3, 4, NULL);

	okit_explore_world(kit, "two streams", make_and_sweep, 60, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_give");

	tcase_add_loop_test(tcase, other_lane_may_free, 0, 4);
	tcase_add_test(tcase, other_block_or_kernel_may_free);
	tcase_add_test(tcase, other_stream_may_free);
	return kit_run(tcase, "heap/objects_give");
}
