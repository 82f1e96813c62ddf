/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pairs.c - the device's rate of malloc and free pairs per second; and their time must grow
 * with the work and no faster. The rates are printed; on a machine with other load they are lower
 * bounds. The best of three runs counts.
 */
#include <time.h>

#include "opencl/kit.h"

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds of one run. */
static double run(struct kit *kit, struct mam_cl_heap *heap, size_t items, cl_uint rounds,
		  cl_uint steps)
{
	double best = 1e9, began;
	int i;

	for (i = 0; i < 3; i++) {
		began = now();
		kit_run(kit, "pairs", items, items > 64 ? 64 : items, "mmuuuu",
			mam_cl_heap_buffer(heap), kit->counts, rounds, 4u, steps, 28u);
		kit_ok(clFinish(kit->queue));
		if (now() - began < best)
			best = now() - began;
	}
	return best;
}

static double rate(const char *what, size_t items, cl_uint rounds, double seconds)
{
	printf("%s: %zu items x %u, %.2f M pairs/s\n", what, items, rounds,
	       (double)items * rounds / seconds * 1e-6);
	return seconds;
}

static void pairs(const char *standard)
{
	struct mam_cl_heap *heap;
	cl_ulong counts[KIT_COUNTS];
	struct kit kit;
	double min, max;

	kit_open(&kit);
	kit_build(&kit, "kernels.cl", standard);
	heap = kit_heap(&kit, 8192, 0);
	(void)run(&kit, heap, 64, 1, 1);
	min = rate("4 B, one work item", 1, 10000, run(&kit, heap, 1, 10000, 1));
	max = rate("4 B, one work item", 1, 80000, run(&kit, heap, 1, 80000, 1));
	ck_assert_double_lt(max, min * 8 * 4 + 0.01);
	min = rate("10 sizes, 4 to 256 B", 131072, 10, run(&kit, heap, 131072, 10, 10));
	max = rate("10 sizes, 4 to 256 B", 1048576, 10, run(&kit, heap, 1048576, 10, 10));
	ck_assert_double_lt(max, min * 8 * 4 + 0.01);
	kit_counted(&kit, counts);
	ck_assert_uint_eq(counts[KIT_IN_VAIN], 0);
	kit_empty(&kit, heap);
	kit_well(mam_cl_heap_destroy(heap));
	kit_close(&kit);
}

START_TEST(pairs_scale_with_work)
{
	pairs(NULL);
}
END_TEST

START_TEST(pairs_scale_with_work_opencl_12)
{
	pairs("-cl-std=CL1.2");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("opencl/pairs");
	TCase *tcase = tcase_create("pairs");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, pairs_scale_with_work);
	tcase_add_test(tcase, pairs_scale_with_work_opencl_12);
	suite_add_tcase(suite, tcase);
	return kit_main(suite);
}
