/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_heap.c - the host's calls: the size of a heap that was created by bytes or by superblocks,
 * its statistics, resets, and the published names.
 */
#include <pthread.h>

#include "opencl/kit.h"

static struct mam_cl_heap_info made(struct kit *kit, struct mam_cl_heap_attr attr)
{
	struct mam_cl_heap_info info;
	struct mam_cl_heap *heap;

	kit_well(mam_cl_heap_create(kit->context, kit->device, kit->queue, &attr, &heap));
	info = kit_stats(kit, heap);
	kit_empty(kit, heap);
	ck_assert_uint_eq(info.unused, info.superblocks);
	kit_well(mam_cl_heap_destroy(heap));
	return info;
}

START_TEST(heap_has_requested_size)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
	struct mam_cl_heap_info info;
	struct kit kit;

	kit_open(&kit);
	attr.bytes = 1;
	info = made(&kit, attr);
	ck_assert_uint_eq(info.superblocks, 1);
	ck_assert_uint_eq(info.superblock_bytes, MAM_CL_SUPERBLOCK_DEFAULT);
	attr.bytes = 10 * 4096 + 1;
	ck_assert_uint_eq(made(&kit, attr).superblocks, 11);
	attr.superblock_bytes = 65536;
	info = made(&kit, attr);
	ck_assert_uint_eq(info.superblocks, 1);
	ck_assert_uint_eq(info.superblock_bytes, 65536);
	attr.bytes = 0;
	attr.superblocks = 100000;
	attr.superblock_bytes = 256;
	attr.entries_per_class = 64;
	attr.search = 10;
	info = made(&kit, attr);
	ck_assert_uint_eq(info.superblocks, 100000);
	ck_assert_uint_eq(info.superblock_bytes, 256);
	kit_close(&kit);
}
END_TEST

/* Allocated blocks are reported, and freed by a reset; in an out-of-order queue, too. */
static void kept_and_reset(bool in_order)
{
	cl_ulong counts[KIT_COUNTS];
	struct mam_cl_heap_info info;
	struct mam_cl_heap *heap;
	cl_mem kept, shadow;
	struct kit kit;
	size_t bytes;
	int round;

	kit_open(&kit);
	kit_build(&kit, "kernels.cl", NULL);
	heap = kit_heap(&kit, 256, 0);
	kit_ok(clGetMemObjectInfo(mam_cl_heap_buffer(heap), CL_MEM_SIZE, sizeof(bytes), &bytes,
				  NULL));
	kept = kit_memory(&kit, 1000 * sizeof(cl_ulong));
	shadow = kit_memory(&kit, bytes);
	kit_ok(clFinish(kit.queue));
	kit_ok(clReleaseCommandQueue(kit.queue));
	kit.queue = kit_queue(kit.context, kit.device, in_order);
	for (round = 0; round < 3; round++) {
		const cl_uchar zero = 0;

		kit_ok(clEnqueueFillBuffer(kit.queue, shadow, &zero, 1, 0, bytes, 0, NULL, NULL));
		kit_ok(clFinish(kit.queue));
		kit_run(&kit, "keep", 1000, 0, "mmmmuuu", mam_cl_heap_buffer(heap), shadow,
			kit.counts, kept, 100u, 1u, 0u);
		info = kit_stats(&kit, heap);
		/* Each one has 128 B. */
		ck_assert_uint_eq(info.blocks, 1000);
		ck_assert_uint_eq(info.allocs, 1000);
		ck_assert_uint_eq(info.bytes, 128000);
		kit_well(mam_cl_heap_reset(heap, kit.queue));
		kit_empty(&kit, heap);
		ck_assert_uint_eq(kit_stats(&kit, heap).allocs, 0);
		ck_assert_uint_eq(kit_stats(&kit, heap).unused, 256);
	}
	kit_counted(&kit, counts);
	ck_assert_uint_eq(counts[KIT_HAD], 3000);
	ck_assert_uint_eq(counts[KIT_SHARED], 0);
	kit_ok(clReleaseMemObject(kept));
	kit_ok(clReleaseMemObject(shadow));
	kit_well(mam_cl_heap_destroy(heap));
	kit_close(&kit);
}

START_TEST(reset_frees_all_blocks)
{
	kept_and_reset(true);
}
END_TEST

START_TEST(reset_works_out_of_order)
{
	kept_and_reset(false);
}
END_TEST

START_TEST(published_names_work)
{
	cl_mem one, two;
	struct kit kit;
	size_t bytes = 0;

	kit_open(&kit);
	one = clSBMalloc_create(kit.context, kit.device, kit.queue, 512, 4096);
	two = clSBMalloc_create(kit.context, kit.device, kit.queue, 16, 1024);
	ck_assert_ptr_ne(one, NULL);
	ck_assert_ptr_ne(two, NULL);
	kit_ok(clGetMemObjectInfo(one, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL));
	ck_assert_uint_gt(bytes, 512 * 4096);
	ck_assert_uint_lt(bytes, 514 * 4096 + 24 * 512);
	ck_assert_int_eq(clSBMalloc_destroy(kit.counts), CL_INVALID_MEM_OBJECT);
	kit_ok(clSBMalloc_destroy(one));
	kit_ok(clSBMalloc_destroy(two));
	ck_assert_int_eq(clSBMalloc_destroy(two), CL_INVALID_MEM_OBJECT);
	kit_close(&kit);
}
END_TEST

static void *other_thread(void *sentence)
{
	mam_cl_error(sentence);
	return NULL;
}

/* Each thread has its own last error. */
START_TEST(errors_are_per_thread)
{
	const char *other = NULL;
	pthread_t thread;

	ck_assert_int_eq(mam_cl_heap_create(NULL, NULL, NULL, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, &other), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ptr_ne(strstr(kit_why(), "the output pointer is NULL"), NULL);
	ck_assert_ptr_ne(other, kit_why());
}
END_TEST

/* A context ends after its last heap: the library keeps no reference to it. */
START_TEST(library_keeps_no_context)
{
	struct mam_cl_heap *one, *two;
	cl_uint users = 0;
	struct kit kit;
	int waits;

	kit_open(&kit);
	one = kit_heap(&kit, 16, 0);
	two = kit_heap(&kit, 16, 0);
	kit_well(mam_cl_heap_destroy(one));
	kit_empty(&kit, two);
	kit_well(mam_cl_heap_destroy(two));
	kit_ok(clFinish(kit.queue));
	kit_ok(clReleaseMemObject(kit.counts));
	kit_ok(clReleaseCommandQueue(kit.queue));
	/*
	 * PoCL releases events, and the objects that they refer to, some time after they are done.
	 */
	for (waits = 0; users != 1 && waits < 5000; waits++) {
		(void)usleep(1000);
		kit_ok(clGetContextInfo(kit.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(users),
					&users, NULL));
	}
	ck_assert_uint_eq(users, 1);
	kit_ok(clReleaseContext(kit.context));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("opencl/heap");
	TCase *tcase = tcase_create("heap");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, heap_has_requested_size);
	tcase_add_test(tcase, reset_frees_all_blocks);
	tcase_add_test(tcase, reset_works_out_of_order);
	tcase_add_test(tcase, published_names_work);
	tcase_add_test(tcase, errors_are_per_thread);
	tcase_add_test(tcase, library_keeps_no_context);
	suite_add_tcase(suite, tcase);
	return kit_main(suite);
}
