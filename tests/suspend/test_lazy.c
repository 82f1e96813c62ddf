/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lazily suspended pools: they keep their memory until another pool needs it, and release it in the
 * order in which they were suspended. Each failure leaves them as they were.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "blocks.h"

static struct mam_pool *other;

static enum mam_status suspend_lazily(struct mam_pool *of, const char *folder, bool discard)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;

	attr.folder = folder;
	attr.discard = discard;
	attr.lazy = true;
	return mam_pool_suspend(of, &attr);
}

static void start(const char *memory)
{
	begin(memory);
	fill_pool();
	other = new_pool("other", 0);
}

static void end(void)
{
	end_pool();
	ck_assert_int_eq(mam_pool_destroy(other), MAM_OK);
	ck_assert_int_eq(held().reservations, 0);
}

/* It has its memory, and allocates nothing. */
static void expect_lazy(struct mam_pool *of, uint64_t mapped)
{
	void *block;

	prove();
	ck_assert_uint_eq(stats_of(of).suspended_bytes, 0);
	ck_assert_uint_eq(stats_of(of).physical_bytes, mapped);
	ck_assert_int_eq(mam_malloc(of, 4096, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc(of, 200, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc(of, MIB, &block), MAM_ERROR_SUSPENDED);
}

static void *take(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(other, bytes, &block), MAM_OK);
	write_block(block, bytes < 20 * MIB ? bytes : 20 * MIB);
	return block;
}

static void release(void *block)
{
	ck_assert_int_eq(mam_free(other, block), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(other, 0, NULL), MAM_OK);
}

START_TEST(nothing_happens_without_need)
{
	void *cached, *block;
	uint64_t mapped;

	start("256M");
	ck_assert_int_eq(mam_malloc(pool, 4096, &cached), MAM_OK);
	ck_assert_int_eq(mam_free(pool, cached), MAM_OK); /* now in the thread's cache */
	ck_assert_int_eq(mam_malloc(pool, 200, &cached), MAM_OK);
	mapped = stats_of(pool).physical_bytes;
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
	expect_lazy(pool, mapped);
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
	ck_assert_int_eq(mam_free(pool, cached), MAM_OK);
	block = take(20 * MIB);
	expect_lazy(pool, mapped);
	check_blocks();
	cuda.fake_fail(1, 1000000); /* the resume calls no function of the driver */
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	cuda.fake_fail(0, 0);
	expect_usable();
	release(block);
	end();
}
END_TEST

START_TEST(need_releases_it)
{
	static const char *const folders[] = { NULL, "/tmp", NULL };
	uint64_t mapped;
	void *block;

	start("64M");
	mapped = stats_of(pool).physical_bytes;
	ck_assert_int_eq(mam_malloc(other, 40 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(suspend_lazily(pool, folders[_i], _i == 2), MAM_OK);
	expect_lazy(pool, mapped);
	block = take(40 * MIB);
	expect_suspended(stats_of(pool).suspended_bytes);
	ck_assert_uint_eq(stats_of(pool).physical_bytes, 0);
	ck_assert_uint_gt(stats_of(pool).suspended_bytes, 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_OUT_OF_MEMORY);
	check_block(block, 20 * MIB);
	release(block);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	for (size_t i = 0; i < BLOCKS && _i == 2; i++)
		write_block(blocks[i], sizes[i]);
	expect_usable();
	end();
}
END_TEST

/* A call that is not lazy releases the memory, in its own way. */
START_TEST(suspend_again_releases_it)
{
	uint64_t mapped;

	start("64M");
	mapped = stats_of(pool).physical_bytes;
	ck_assert_int_eq(suspend_lazily(pool, NULL, _i == 1), MAM_OK);
	ck_assert_int_eq(suspend_to("/proc/no such folder", false), MAM_ERROR_IO);
	expect_lazy(pool, mapped);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(pool).physical_bytes, 0);
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK); /* without effect */
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end();
}
END_TEST

#define POOLS 4

/* The one that was suspended first is released first, and no more than needed. */
START_TEST(order_of_release)
{
	static const int order[POOLS] = { 2, 0, 3, 1 };
	struct mam_pool *pools[POOLS];
	void *held_by[POOLS], *first, *second;

	begin("100M");
	other = new_pool("other", 0);
	for (int i = 0; i < POOLS; i++) {
		pools[i] = new_pool("one of several", 0);
		ck_assert_int_eq(mam_malloc(pools[i], 20 * MIB, &held_by[i]), MAM_OK);
		write_block(held_by[i], 20 * MIB);
	}
	for (int i = 0; i < POOLS; i++)
		ck_assert_int_eq(suspend_lazily(pools[order[i]], NULL, false), MAM_OK);
	/* Suspended anew, it is the last one. */
	ck_assert_int_eq(mam_pool_resume(pools[order[0]]), MAM_OK);
	ck_assert_int_eq(suspend_lazily(pools[order[0]], NULL, false), MAM_OK);
	first = take(30 * MIB);
	for (int i = 0; i < POOLS; i++)
		ck_assert_int_eq(stats_of(pools[order[i]]).suspended_bytes != 0, i == 1);
	second = take(45 * MIB);
	for (int i = 0; i < POOLS; i++)
		ck_assert_int_eq(stats_of(pools[order[i]]).suspended_bytes != 0, i != 0);
	release(first);
	release(second);
	for (int i = 0; i < POOLS; i++) {
		ck_assert_int_eq(mam_pool_resume(pools[i]), MAM_OK);
		check_block(held_by[i], 20 * MIB);
		ck_assert_int_eq(mam_free(pools[i], held_by[i]), MAM_OK);
		ck_assert_int_eq(mam_pool_destroy(pools[i]), MAM_OK);
	}
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(other), MAM_OK);
}
END_TEST

/* Two pools that do not fit together take turns: each resume releases the other one. */
START_TEST(resume_releases_others)
{
	void *block;

	start("64M");
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
	block = take(40 * MIB);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(suspend_lazily(other, NULL, false), MAM_OK);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		check_blocks();
		ck_assert_uint_gt(stats_of(other).suspended_bytes, 0);
		ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
		ck_assert_int_eq(mam_pool_resume(other), MAM_OK);
		check_block(block, 20 * MIB);
		ck_assert_uint_gt(stats_of(pool).suspended_bytes, 0);
	}
	release(block);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end();
}
END_TEST

/* Its memory stays if the host has none for it, and other pools keep none for their next suspend. */
START_TEST(host_without_memory)
{
	uint64_t mapped;
	void *block;

	setenv("MAM_HOST_MEMORY", _i == 0 ? "16M" : "48M", 1);
	start("100M");
	mapped = stats_of(pool).physical_bytes;
	block = take(20 * MIB);
	if (_i == 1) {
		ck_assert_int_eq(mam_pool_suspend(other, NULL), MAM_OK);
		ck_assert_int_eq(mam_pool_resume(other), MAM_OK);
	}
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
	if (_i == 0) {
		void *more = &more;

		ck_assert_int_eq(mam_malloc(other, 60 * MIB, &more), MAM_ERROR_OUT_OF_MEMORY);
		ck_assert_ptr_eq(more, &more);
		expect_lazy(pool, mapped);
	} else {
		release(take(60 * MIB));
		ck_assert_uint_gt(stats_of(pool).suspended_bytes, 0);
	}
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	check_block(block, 20 * MIB);
	release(block);
	end();
}
END_TEST

START_TEST(limits_and_refusals)
{
	struct mam_pool *small;
	uint64_t mapped;
	void *block;

	start("256M");
	mapped = stats_of(pool).physical_bytes;
	ck_assert_int_eq(suspend_lazily(pool, "/tmp", true), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
	/* Other pools cannot help against a limit of its own. */
	small = new_pool("small", 8 * MIB);
	ck_assert_int_eq(mam_malloc(small, 20 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_alloc_nowait(other, 230 * MIB, 0, &block), MAM_ERROR_WOULD_WAIT);
	expect_lazy(pool, mapped);
	ck_assert_int_eq(mam_pool_destroy(small), MAM_OK);
	end(); /* while it is lazily suspended */
}
END_TEST

#define CALLS_MAX 1000

/* The first 30 driver calls of an allocation that releases the pool fail, then each third one. */
START_TEST(each_call_fails)
{
	enum mam_status status;
	unsigned long at = 1, failures = 0;
	int mode = CAPTURE_GLOBAL;
	size_t unused, total;
	char name[64] = "";
	bool more = true;
	void *block;

	start("1G");
	for (; more; at += at < 30 ? 1 : 3) {
		unsigned long long filler = 0;

		ck_assert_uint_lt(at, CALLS_MAX);
		/* Leave 64 MiB, whatever the driver lost: a handle that it refused to release stays. */
		ck_assert_int_eq(cuda.cuMemGetInfo_v2(&unused, &total), CUDA_SUCCESS);
		unused += stats_of(pool).physical_bytes + stats_of(other).physical_bytes;
		ck_assert_int_eq(cuda.cuMemAlloc_v2(&filler, unused - 64 * MIB), CUDA_SUCCESS);
		ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
		cuda.fake_fail(at, 1);
		status = mam_malloc(other, 40 * MIB, &block);
		more = cuda.fake_failed(name, sizeof(name)) != 0;
		cuda.fake_fail(0, 0);
		if (strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0)
			cuda.cuThreadExchangeStreamCaptureMode(&mode);
		prove();
		failures += status != MAM_OK;
		if (status != MAM_OK && strcmp(name, "cuMemRelease") != 0) {
			if (stats_of(pool).suspended_bytes == 0 && at % 2 == 0) {
				ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
				ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
			}
			status = mam_malloc(other, 40 * MIB, &block);
			ck_assert_int_eq(status, MAM_OK);
		}
		if (status == MAM_OK)
			release(block);
		ck_assert_int_eq(cuda.cuMemFree_v2(filler), CUDA_SUCCESS);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		check_blocks();
		ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
		if (at % 2 == 0)
			ck_assert_int_eq(mam_pool_unpin(pool, NULL), MAM_OK);
	}
	ck_assert_uint_gt(failures, 5);
	expect_usable();
	end_pool();
}
END_TEST

static atomic_bool stop;

/* Needs more than there is while the other pool has its memory. */
static void *need(void *unused)
{
	unsigned long served = 0;
	void *block;

	(void)unused;
	while (!atomic_load(&stop)) {
		enum mam_status status = mam_malloc(other, 40 * MIB, &block);

		if (status == MAM_OK && mam_free(other, block) == MAM_OK &&
		    mam_pool_trim(other, 0, NULL) == MAM_OK)
			served++;
		else if (status != MAM_ERROR_OUT_OF_MEMORY)
			return NULL;
	}
	return (void *)(served + 1);
}

/* A pool that is awake is never released, whenever the need comes. */
START_TEST(threads_need_it_meanwhile)
{
	pthread_t thread;
	uint64_t spilled = 0;
	void *served;

	start("64M");
	ck_assert_int_eq(pthread_create(&thread, NULL, need, NULL), 0);
	for (int round = 0; round < 100; round++) {
		ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
		for (int i = 0; i < round % 4; i++)
			sched_yield();
		spilled += stats_of(pool).suspended_bytes != 0;
		while (mam_pool_resume(pool) == MAM_ERROR_OUT_OF_MEMORY)
			sched_yield();
		ck_assert_uint_eq(stats_of(pool).suspended_bytes, 0);
		if (round % 10 == 0)
			check_blocks();
	}
	ck_assert_int_eq(suspend_lazily(pool, NULL, false), MAM_OK);
	while (stats_of(pool).suspended_bytes == 0)
		sched_yield();
	atomic_store(&stop, true);
	ck_assert_int_eq(pthread_join(thread, &served), 0);
	ck_assert_ptr_nonnull(served);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend/lazy");
	TCase *tests = suite_case(suite, "lazy");

	tcase_add_test(tests, nothing_happens_without_need);
	tcase_add_loop_test(tests, need_releases_it, 0, 3);
	tcase_add_loop_test(tests, suspend_again_releases_it, 0, 2);
	tcase_add_test(tests, order_of_release);
	tcase_add_test(tests, resume_releases_others);
	tcase_add_loop_test(tests, host_without_memory, 0, 2);
	tcase_add_test(tests, limits_and_refusals);
	tcase_add_test(tests, each_call_fails);
	tcase_add_test(tests, threads_need_it_meanwhile);
	return suite_run(suite);
}
