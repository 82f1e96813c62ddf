/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_churn.c - many work items allocate and free blocks; a shadow of the heap detects words with
 * two owners.
 */
#include <pthread.h>

#include "opencl/kit.h"

#define MILLION 1000000u

/* The range of sizes: from `min` up, `steps` of them, each `step` larger. */
struct sizes {
	cl_uint min, steps, step;
};

static const struct sizes none = { 4, 1, 0 }, low = { 32, 8, 4 }, high = { 1, 96, 43 },
			  one_superblock = { 2100, 20, 100 }, runs = { 100, 64, 200 };

struct world {
	struct kit kit;
	struct mam_cl_heap *heap;
	cl_mem shadow;
};

static void world_shadow(struct world *world)
{
	size_t bytes = 0;

	kit_ok(clGetMemObjectInfo(mam_cl_heap_buffer(world->heap), CL_MEM_SIZE, sizeof(bytes),
				  &bytes, NULL));
	world->shadow = kit_memory(&world->kit, bytes);
}

static void world_begin(struct world *world, const char *standard, unsigned int superblocks)
{
	kit_open(&world->kit);
	kit_build(&world->kit, "kernels.cl", standard);
	world->heap = kit_heap(&world->kit, superblocks, 0);
	world_shadow(world);
}

static void world_end(struct world *world)
{
	kit_ok(clReleaseMemObject(world->shadow));
	kit_well(mam_cl_heap_destroy(world->heap));
	kit_close(&world->kit);
}

/* If items run one after the other, there is space for all; a GPU runs many at a time. */
static bool one_by_one(struct world *world)
{
	cl_device_type type = 0;

	kit_ok(clGetDeviceInfo(world->kit.device, CL_DEVICE_TYPE, sizeof(type), &type, NULL));
	return type == CL_DEVICE_TYPE_CPU;
}

/* Returns the number of allocated blocks, and that of failed requests; no other error occurred. */
static cl_ulong sound_all(struct world *world, cl_ulong *in_vain)
{
	cl_ulong counts[KIT_COUNTS];

	kit_counted(&world->kit, counts);
	ck_assert_uint_eq(counts[KIT_SHARED], 0);
	ck_assert_uint_eq(counts[KIT_REFUSED], 0);
	ck_assert_uint_eq(counts[KIT_ASTRAY], 0);
	*in_vain = counts[KIT_IN_VAIN];
	return counts[KIT_HAD];
}

/*
 * Returns the number of allocated blocks. `in_vain`: expected number of failed requests; -1: any.
 */
static cl_ulong sound(struct world *world, cl_ulong in_vain)
{
	cl_ulong got, had = sound_all(world, &got);

	if (in_vain != (cl_ulong)-1)
		ck_assert_uint_eq(got, in_vain);
	return had;
}

/* After churns: `all` requests, none of which fails on a CPU. */
static void sound_churn(struct world *world, cl_ulong all)
{
	cl_ulong in_vain, had = sound_all(world, &in_vain);

	ck_assert_uint_eq(had + in_vain, all);
	ck_assert_uint_gt(had, 0);
	if (one_by_one(world))
		ck_assert_uint_eq(in_vain, 0);
}

static void churn(struct world *world, cl_uint items, cl_uint rounds, struct sizes sizes)
{
	kit_run(&world->kit, "churn", items, 64, "mmmuuuu", mam_cl_heap_buffer(world->heap),
		world->shadow, world->kit.counts, rounds, sizes.min, sizes.steps, sizes.step);
}

static void a_million_churns(const char *standard, struct sizes sizes, cl_uint rounds)
{
	struct mam_cl_heap_info stats;
	struct world world;

	world_begin(&world, standard, 4096);
	churn(&world, MILLION, rounds, sizes);
	sound_churn(&world, (cl_ulong)MILLION * rounds);
	kit_empty(&world.kit, world.heap);
	stats = kit_stats(&world.kit, world.heap);
	ck_assert_uint_eq(stats.allocs + stats.no_superblock + stats.no_run,
			  (cl_ulong)MILLION * rounds);
	world_end(&world);
}

START_TEST(blocks_of_one_size)
{
	a_million_churns(NULL, none, 6);
}
END_TEST

START_TEST(blocks_of_similar_sizes)
{
	a_million_churns(NULL, low, 6);
}
END_TEST

START_TEST(blocks_of_very_different_sizes)
{
	a_million_churns(NULL, high, 2);
}
END_TEST

START_TEST(runs_of_superblocks)
{
	struct mam_cl_heap_info stats;
	struct world world;
	cl_ulong had;

	world_begin(&world, NULL, 8192);
	churn(&world, 102400, 8, one_superblock);
	sound_churn(&world, 819200);
	kit_well(mam_cl_heap_reset(world.heap, world.kit.queue));
	churn(&world, 1024, 4, runs);
	sound_churn(&world, 4096);
	kit_empty(&world.kit, world.heap);
	/* Runs become exhausted, as freed superblocks are not merged; nothing else does. */
	churn(&world, 4096, 4, runs);
	had = sound(&world, (cl_ulong)-1);
	kit_empty(&world.kit, world.heap);
	stats = kit_stats(&world.kit, world.heap);
	ck_assert(stats.no_superblock == 0 || !one_by_one(&world));
	if (one_by_one(&world))
		ck_assert_uint_eq(had + stats.no_run, 16384);
	ck_assert_uint_gt(stats.no_run, 0);
	world_end(&world);
}
END_TEST

START_TEST(opencl_12)
{
	a_million_churns("-cl-std=CL1.2", low, 4);
}
END_TEST

START_TEST(opencl_12_with_atomic_reads)
{
	a_million_churns("-cl-std=CL1.2 -DMAM_CL_ATOMIC_READS", low, 1);
}
END_TEST

/* All blocks are alive at the same time, and freed by other items. */
static void keep_and_free(struct world *world, cl_uint items, struct sizes sizes, cl_ulong in_vain)
{
	cl_mem kept = kit_memory(&world->kit, items * sizeof(cl_ulong));
	cl_mem heap = mam_cl_heap_buffer(world->heap);
	struct mam_cl_heap_info before = kit_stats(&world->kit, world->heap), full;
	cl_ulong had;

	kit_run(&world->kit, "keep", items, 0, "mmmmuuu", heap, world->shadow, world->kit.counts,
		kept, sizes.min, sizes.steps, sizes.step);
	had = sound(world, in_vain);
	ck_assert_uint_gt(had, 0);
	full = kit_stats(&world->kit, world->heap);
	ck_assert_uint_eq(full.blocks + full.runs, had);
	/* Each NULL is counted, by its cause. */
	ck_assert_uint_eq(full.no_superblock + full.no_run + full.too_large - before.no_superblock -
				  before.no_run - before.too_large,
			  items - had);
	kit_run(&world->kit, "release", items, 0, "mmmmuuuu", heap, world->shadow,
		world->kit.counts, kept, sizes.min, sizes.steps, sizes.step, 7919u);
	ck_assert_uint_eq(sound(world, 0), 0);
	kit_empty(&world->kit, world->heap);
	kit_ok(clReleaseMemObject(kept));
}

START_TEST(a_million_live_blocks)
{
	struct world world;

	world_begin(&world, NULL, 16384);
	keep_and_free(&world, MILLION, low, 0);
	keep_and_free(&world, MILLION, none, 0);
	world_end(&world);
}
END_TEST

START_TEST(full_heap_returns_null)
{
	struct world world;
	int round;

	world_begin(&world, NULL, 100);
	for (round = 0; round < 3; round++) {
		/* Blocks of 4 B only: 1,024 minus the bitmap, in each superblock. */
		keep_and_free(&world, 200000, none, 200000 - 100 * 992);
		keep_and_free(&world, 100000, high, (cl_ulong)-1);
	}
	world_end(&world);
}
END_TEST

START_TEST(invalid_frees_are_refused)
{
	cl_ulong counts[KIT_COUNTS];
	struct mam_cl_heap_info stats;
	struct world world;

	world_begin(&world, NULL, 16);
	kit_run(&world.kit, "wrong", 1, 1, "mm", mam_cl_heap_buffer(world.heap), world.kit.counts);
	kit_counted(&world.kit, counts);
	ck_assert_uint_eq(counts[KIT_IN_VAIN], 0);
	ck_assert_uint_eq(counts[KIT_REFUSED], 0);
	ck_assert_uint_eq(counts[KIT_HAD], 0);
	stats = kit_stats(&world.kit, world.heap);
	ck_assert_uint_eq(stats.wrong_frees, 7);
	ck_assert_uint_eq(stats.too_large, 1);
	ck_assert_uint_eq(stats.allocs, 2);
	ck_assert_uint_eq(stats.frees, 2);
	world_end(&world);
}
END_TEST

/* Three heaps of two contexts, whose kernels run concurrently. */
START_TEST(several_contexts)
{
	struct world world[3];
	int i;

	world_begin(&world[0], NULL, 2048);
	world_begin(&world[1], NULL, 1024);
	world[2] = world[0];
	world[2].heap = kit_heap(&world[0].kit, 512, 1024);
	world_shadow(&world[2]);
	world[2].kit.counts = kit_memory(&world[2].kit, KIT_COUNTS * sizeof(cl_ulong));
	world[2].kit.queue = kit_queue(world[2].kit.context, world[2].kit.device, true);
	kit_ok(clFinish(world[0].kit.queue));
	for (i = 0; i < 3; i++) {
		churn(&world[i], 64000, 10, low);
		kit_ok(clFlush(world[i].kit.queue));
	}
	for (i = 0; i < 3; i++) {
		sound_churn(&world[i], 64000 * 10);
		kit_empty(&world[i].kit, world[i].heap);
	}
	kit_ok(clReleaseMemObject(world[2].shadow));
	kit_ok(clReleaseMemObject(world[2].kit.counts));
	kit_ok(clReleaseCommandQueue(world[2].kit.queue));
	kit_well(mam_cl_heap_destroy(world[2].heap));
	world_end(&world[0]);
	world_end(&world[1]);
}
END_TEST

/* One heap, two queues. */
START_TEST(two_queues_share_a_heap)
{
	struct world world[2];

	world_begin(&world[0], NULL, 2048);
	world[1] = world[0];
	world[1].kit.queue = kit_queue(world[0].kit.context, world[0].kit.device, true);
	kit_ok(clFinish(world[0].kit.queue));
	churn(&world[0], 64000, 10, low);
	churn(&world[1], 64000, 10, low);
	kit_ok(clFlush(world[0].kit.queue));
	kit_ok(clFinish(world[1].kit.queue));
	kit_ok(clFinish(world[0].kit.queue));
	sound_churn(&world[0], 2 * 64000 * 10);
	kit_empty(&world[0].kit, world[0].heap);
	kit_ok(clReleaseCommandQueue(world[1].kit.queue));
	world_end(&world[0]);
}
END_TEST

static void *thread(void *unused)
{
	struct world world;
	int round;

	for (round = 0; round < 4; round++) {
		world_begin(&world, NULL, 256);
		churn(&world, 6400, 10, low);
		sound_churn(&world, 64000);
		kit_empty(&world.kit, world.heap);
		world_end(&world);
	}
	return unused;
}

START_TEST(two_host_threads)
{
	pthread_t threads[2];
	cl_device_id device;
	int i;

	/* PoCL initializes its devices once; two concurrent threads may find none. */
	ck_assert(kit_device(&device));
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, thread, NULL), 0);
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("opencl/churn");
	TCase *tcase = tcase_create("churn");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, blocks_of_one_size);
	tcase_add_test(tcase, blocks_of_similar_sizes);
	tcase_add_test(tcase, blocks_of_very_different_sizes);
	tcase_add_test(tcase, runs_of_superblocks);
	tcase_add_test(tcase, opencl_12);
	tcase_add_test(tcase, opencl_12_with_atomic_reads);
	tcase_add_test(tcase, a_million_live_blocks);
	tcase_add_test(tcase, full_heap_returns_null);
	tcase_add_test(tcase, invalid_frees_are_refused);
	tcase_add_test(tcase, several_contexts);
	tcase_add_test(tcase, two_queues_share_a_heap);
	tcase_add_test(tcase, two_host_threads);
	suite_add_tcase(suite, tcase);
	return kit_main(suite);
}
