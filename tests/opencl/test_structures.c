/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_structures.c - each structure over a heap, filled by many work items: the contents are
 * counted, and must match the values that the host computes; and the heap is empty after the
 * structures were freed.
 */
#include "opencl/kit.h"

#define ITEMS 65536u
#define OF_GROUPS 10u /* elements of each item, in all rounds */
#define KEYS 1000u
#define BUCKETS 257u

/* The first count of each kind, in units of ITEMS: the same as in the kernels. */
enum { IN_VECTOR, IN_LANES, IN_LIST, VISITS, IN_MAP, IN_GROUPS, KINDS };

static cl_uint out[KINDS * ITEMS];

/* The number of items with that key. */
static cl_uint of_key(cl_uint key)
{
	return ITEMS / KEYS + (key < ITEMS % KEYS);
}

static void compare(void)
{
	cl_uint i;

	for (i = 0; i < ITEMS; i++) {
		ck_assert_uint_eq(out[IN_VECTOR * ITEMS + i], 1);
		ck_assert_uint_eq(out[IN_LANES * ITEMS + i], 1);
		ck_assert_uint_eq(out[IN_LIST * ITEMS + i], 1);
		ck_assert_uint_eq(out[IN_GROUPS * ITEMS + i], OF_GROUPS);
	}
	for (i = 0; i < KEYS; i++) {
		ck_assert_uint_eq(out[VISITS * ITEMS + i], of_key(i));
		ck_assert_uint_eq(out[IN_MAP * ITEMS + i], of_key(i));
	}
}

static void nothing_wrong(struct kit *kit, cl_ulong had)
{
	cl_ulong counts[KIT_COUNTS];

	kit_counted(kit, counts);
	ck_assert_uint_eq(counts[KIT_IN_VAIN], 0);
	ck_assert_uint_eq(counts[KIT_SHARED], 0);
	ck_assert_uint_eq(counts[KIT_REFUSED], 0);
	ck_assert_uint_eq(counts[KIT_HAD], had);
}

static void structures(const char *standard)
{
	struct mam_cl_heap *heap;
	cl_mem all, map, counted, sums, buffer;
	cl_ulong sum[5];
	struct kit kit;
	int round;

	kit_open(&kit);
	kit_build(&kit, "structures.cl", standard);
	heap = kit_heap(&kit, 4096, 0);
	buffer = mam_cl_heap_buffer(heap);
	all = kit_memory(&kit, 4096);
	map = kit_memory(&kit, 16 * (BUCKETS + 1));
	sums = kit_memory(&kit, sizeof(sum));
	counted = kit_memory(&kit, sizeof(out));
	for (round = 0; round < 2; round++) {
		const cl_uchar zero = 0;

		kit_run(&kit, "make", 1, 1, "mml", all, map, (cl_ulong)BUCKETS);
		kit_run(&kit, "fill", ITEMS, 64, "mmmmu", buffer, all, map, kit.counts, KEYS);
		kit_run(&kit, "fill_groups", ITEMS, 64, "mmm", buffer, all, kit.counts);
		/* This number of keys was new. */
		nothing_wrong(&kit, KEYS);
		kit_ok(clEnqueueFillBuffer(kit.queue, counted, &zero, 1, 0, sizeof(out), 0, NULL,
					   NULL));
		kit_run(&kit, "collect", ITEMS, 64, "mmmmu", all, map, kit.counts, counted, KEYS);
		kit_run(&kit, "follow", 1, 1, "mmmmmlm", buffer, all, map, kit.counts, counted,
			(cl_ulong)ITEMS, sums);
		nothing_wrong(&kit, 0);
		kit_get(&kit, counted, out, sizeof(out));
		kit_get(&kit, sums, sum, sizeof(sum));
		compare();
		ck_assert_uint_eq(sum[0], ITEMS);
		ck_assert_uint_eq(sum[1], ITEMS);
		ck_assert_uint_eq(sum[2], OF_GROUPS * ITEMS);
		ck_assert_uint_eq(sum[3], KEYS + ITEMS);
		ck_assert_uint_eq(sum[4], KEYS);
		kit_empty(&kit, heap);
		/* Segments of the vector were runs, which are not merged when they are freed. */
		kit_well(mam_cl_heap_reset(heap, kit.queue));
	}
	kit_ok(clReleaseMemObject(all));
	kit_ok(clReleaseMemObject(map));
	kit_ok(clReleaseMemObject(sums));
	kit_ok(clReleaseMemObject(counted));
	kit_well(mam_cl_heap_destroy(heap));
	kit_close(&kit);
}

START_TEST(structures_have_right_contents)
{
	structures(NULL);
}
END_TEST

START_TEST(structures_have_right_contents_opencl_12)
{
	structures("-cl-std=CL1.2");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("opencl/structures");
	TCase *tcase = tcase_create("structures");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, structures_have_right_contents);
	tcase_add_test(tcase, structures_have_right_contents_opencl_12);
	suite_add_tcase(suite, tcase);
	return kit_main(suite);
}
