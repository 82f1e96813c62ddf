/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory for contents: it stays with the pool after a resume, grows with the pool, is freed on
 * request and when another pool needs it, and never exceeds MAM_HOST_MEMORY.
 */
#include <sys/stat.h>

#include "blocks.h"

static char calls[] = "/tmp/mam-host-XXXXXX"; /* the log of the stand-in */

/* Bytes that are registered now, and the calls of cuMemHostRegister so far. */
struct registered {
	size_t bytes, calls;
};

static struct registered registered(void)
{
	static struct {
		void *address;
		size_t bytes;
	} ranges[1000];
	struct registered sum = { 0, 0 };
	FILE *file = fopen(calls, "r");
	char line[512];

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, "address=");
		void *address;
		size_t bytes;

		if (!strstr(line, "cuMemHost") || !strstr(line, "result=0") || !at)
			continue;
		if (sscanf(at, "address=%p bytes=%zu", &address, &bytes) == 2) {
			ck_assert_uint_lt(sum.calls, COUNT_OF(ranges));
			ranges[sum.calls].address = address;
			ranges[sum.calls++].bytes = bytes;
			sum.bytes += bytes;
			continue;
		}
		for (size_t i = sum.calls; i-- > 0;)
			if (ranges[i].address == address) {
				sum.bytes -= ranges[i].bytes;
				break;
			}
	}
	fclose(file);
	return sum;
}

static void start(void)
{
	int number = mkstemp(calls);

	ck_assert_int_ge(number, 0);
	close(number);
	setenv("FAKE_CUDA_LOG", calls, 1);
	begin("256M");
	fill_pool();
}

static void cycle(void)
{
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
}

static size_t unpin(struct mam_pool *of)
{
	size_t bytes = 1;

	ck_assert_int_eq(mam_pool_unpin(of, &bytes), MAM_OK);
	return bytes;
}

static void end(void)
{
	end_pool();
	ck_assert_uint_eq(registered().bytes, 0);
	ck_assert_int_eq(unlink(calls), 0);
}

START_TEST(next_suspend_uses_it_again)
{
	struct registered first, now;
	uint64_t suspended;

	start();
	ck_assert_uint_eq(unpin(pool), 0);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	suspended = stats_of(pool).suspended_bytes;
	first = registered();
	ck_assert_uint_ge(first.bytes, suspended);
	ck_assert_uint_lt(first.bytes, suspended + suspended / 64 + 2 * MIB);
	ck_assert_uint_eq(unpin(pool), 0); /* the contents stay */
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	for (int i = 0; i < 3; i++)
		cycle();
	now = registered();
	ck_assert_uint_eq(now.calls, first.calls);
	ck_assert_uint_eq(now.bytes, first.bytes);
	ck_assert_uint_eq(unpin(pool), now.bytes);
	ck_assert_uint_eq(registered().bytes, 0);
	ck_assert_uint_eq(unpin(pool), 0);
	cycle();
	ck_assert_uint_eq(registered().bytes, first.bytes);
	end();
}
END_TEST

/* A little more is registered in addition; for much more, the memory is replaced. */
START_TEST(it_grows_with_the_pool)
{
	static const size_t more[] = { 2 * MIB, 60 * MIB };
	struct registered first, now;
	void *block;

	start();
	cycle();
	first = registered();
	ck_assert_int_eq(mam_malloc(pool, more[_i], &block), MAM_OK);
	write_block(block, 2 * MIB);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	now = registered();
	ck_assert_uint_gt(now.bytes, first.bytes);
	ck_assert_uint_ge(now.bytes, stats_of(pool).suspended_bytes);
	if (_i == 0)
		ck_assert_uint_le(now.calls, first.calls + 2);
	else
		ck_assert_uint_gt(now.calls, first.calls * 2);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	check_block(block, 2 * MIB);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	cycle();
	ck_assert_uint_eq(registered().calls, now.calls);
	end();
}
END_TEST

/* Suspends that do not need it free it. */
START_TEST(other_ways_free_it)
{
	start();
	cycle();
	ck_assert_uint_gt(registered().bytes, 0);
	ck_assert_int_eq(suspend_to(_i == 0 ? "/tmp" : NULL, _i == 1), MAM_OK);
	ck_assert_uint_le(registered().bytes, _i == 0 ? 32 * MIB : 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_uint_eq(registered().bytes, 0);
	for (size_t i = 0; i < BLOCKS && _i == 1; i++)
		write_block(blocks[i], sizes[i]);
	expect_usable();
	end();
}
END_TEST

START_TEST(it_ends_with_the_pool)
{
	start();
	cycle();
	if (_i == 0) {
		end();
	} else {
		ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
		ck_assert_int_eq(unlink(calls), 0);
	}
	ck_assert_int_eq(mam_pool_unpin(pool, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_unpin(NULL, NULL), MAM_ERROR_INVALID_VALUE);
}
END_TEST

/* Memory that another pool keeps is freed for a suspend; its contents are not. */
START_TEST(limit_holds_for_all_pools)
{
	struct mam_pool *first, *second;
	void *block;

	setenv("MAM_HOST_MEMORY", "48M", 1);
	start();
	first = pool;
	second = new_pool("second", 0);
	ck_assert_int_eq(mam_malloc(second, 40 * MIB, &block), MAM_OK);
	write_block(block, 20 * MIB);
	cycle();
	ck_assert_uint_gt(registered().bytes, 28 * MIB);
	if (_i == 0) {
		ck_assert_int_eq(mam_pool_suspend(second, NULL), MAM_OK);
		ck_assert_uint_eq(unpin(first), 0);
	} else {
		ck_assert_int_eq(mam_pool_suspend(first, NULL), MAM_OK);
		ck_assert_int_eq(mam_pool_suspend(second, NULL), MAM_ERROR_OUT_OF_HOST_MEMORY);
		ck_assert_uint_eq(stats_of(second).suspended_bytes, 0);
		check_block(block, 20 * MIB);
		ck_assert_int_eq(mam_pool_resume(first), MAM_OK);
		expect_usable();
		ck_assert_int_eq(mam_pool_suspend(second, NULL), MAM_OK);
	}
	ck_assert_uint_le(registered().bytes, 48 * MIB);
	ck_assert_int_eq(mam_pool_resume(second), MAM_OK);
	check_block(block, 20 * MIB);
	ck_assert_int_eq(mam_free(second, block), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(second), MAM_OK);
	end();
}
END_TEST

START_TEST(more_than_the_limit)
{
	setenv("MAM_HOST_MEMORY", "16M", 1);
	start();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_ERROR_OUT_OF_HOST_MEMORY);
	expect_usable();
	ck_assert_uint_eq(registered().calls, 0);
	ck_assert_int_eq(suspend_to(NULL, true), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	end();
}
END_TEST

static char said[] = "/tmp/mam-said-XXXXXX";

/* The driver's exit handler ran before: every call of it fails. */
static void end_late(void)
{
	struct CUctx_st *current;
	struct stat file;
	size_t released;
	bool good = cuda.cuCtxGetCurrent(&current) == CUDA_ERROR_DEINITIALIZED;

	good &= mam_pool_trim(pool, 0, &released) == MAM_OK;
	good &= mam_pool_destroy(pool) == MAM_OK;
	good &= stat(said, &file) == 0 && file.st_size == 0;
	unlink(said);
	_exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

START_TEST(nothing_is_reported_while_the_process_exits)
{
	int number = mkstemp(said);

	ck_assert_int_ge(number, 0);
	close(number);
	ck_assert_int_eq(atexit(end_late), 0);
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("MAM_LOG_FILE", said, 1);
	cuda = load();
	pool = new_pool("late", 0);
	fill_pool();
	cycle();
	for (size_t i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mam_free_async(pool, blocks[i], NULL), MAM_OK);
	exit(EXIT_FAILURE); /* end_late() decides */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend/host");
	TCase *tests = suite_case(suite, "host");

	tcase_add_test(tests, next_suspend_uses_it_again);
	tcase_add_loop_test(tests, it_grows_with_the_pool, 0, 2);
	tcase_add_loop_test(tests, other_ways_free_it, 0, 2);
	tcase_add_loop_test(tests, it_ends_with_the_pool, 0, 2);
	tcase_add_loop_test(tests, limit_holds_for_all_pools, 0, 2);
	tcase_add_test(tests, more_than_the_limit);
	tcase_add_exit_test(tests, nothing_is_reported_while_the_process_exits, EXIT_SUCCESS);
	return suite_run(suite);
}
