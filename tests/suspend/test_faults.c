/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each driver call of a suspend and of a resume fails once. Then the pool is suspended or as before,
 * with its contents, its counts are those of the driver, and a second call succeeds.
 */
#include "blocks.h"

#define CALLS_MAX 1000

enum { HOST, HOST_AGAIN, TO_FILE, DISCARD, KINDS }; /* again: in memory that the pool kept */

static int lost;            /* handles that the driver refused to release: they stay there */
static size_t others_bytes; /* device memory that is not the pool's */

static size_t others(void)
{
	return held().device_bytes - stats_of(pool).physical_bytes;
}

/* The pool counts what the driver has, except a handle that the failing call was to release. */
static void counts_match(const char *name)
{
	struct fake_held now = held();

	prove();
	ck_assert_int_le(now.handles - now.mappings - lost, 1);
	/* A block of the wait for the device, whose free failed, stays with the driver as well. */
	if (now.handles - now.mappings != lost || strcmp(name, "cuMemFree") == 0)
		others_bytes = others();
	lost = now.handles - now.mappings;
	ck_assert_uint_eq(others(), others_bytes);
}

/* Fail the at-th call of one of the two. Returns whether there was such a call. */
static bool failing(unsigned long at, enum mam_status (*call)(int kind), int kind,
		    enum mam_status *status, char *name, size_t bytes)
{
	int mode = CAPTURE_GLOBAL, failed;

	cuda.fake_fail(at, 1);
	*status = call(kind);
	failed = cuda.fake_failed(name, bytes);
	cuda.fake_fail(0, 0);
	/* The call that restores the thread's mode cannot be retried. */
	if (strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0)
		cuda.cuThreadExchangeStreamCaptureMode(&mode);
	return failed != 0;
}

static enum mam_status suspend_kind(int kind)
{
	return suspend_to(kind == TO_FILE ? "/tmp" : NULL, kind == DISCARD);
}

static enum mam_status resume_kind(int kind)
{
	(void)kind;
	return mam_pool_resume(pool);
}

static void check_kind(int kind)
{
	if (kind != HOST_AGAIN)
		ck_assert_int_eq(mam_pool_unpin(pool, NULL), MAM_OK);
	for (size_t i = 0; i < BLOCKS && kind == DISCARD; i++)
		write_block(blocks[i], sizes[i]);
	expect_usable();
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
}

static bool is_suspended(void)
{
	void *block;
	enum mam_status status = mam_malloc(pool, 512, &block);

	if (status == MAM_OK)
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	else
		ck_assert_int_eq(status, MAM_ERROR_SUSPENDED);
	return status != MAM_OK;
}

static void start(void)
{
	begin("256M");
	fill_pool();
	/* The first wait, which keeps a block, and a first suspend. */
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_unpin(pool, NULL), MAM_OK);
	others_bytes = others();
}

START_TEST(failing_suspend_changes_nothing)
{
	enum mam_status status;
	char name[64] = "";
	unsigned long at = 1, failures = 0;

	start();
	for (; failing(at, suspend_kind, _i, &status, name, sizeof(name)); at++) {
		ck_assert_uint_lt(at, CALLS_MAX);
		counts_match(name);
		ck_assert_int_eq(is_suspended(), status == MAM_OK);
		failures += status != MAM_OK;
		if (status != MAM_OK) {
			ck_assert_uint_eq(stats_of(pool).suspended_bytes, 0);
			ck_assert_int_eq(suspend_kind(_i), MAM_OK);
		}
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		check_kind(_i);
	}
	ck_assert_uint_gt(failures, 3);
	ck_assert_int_eq(status, MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	check_kind(_i);
	end_pool();
}
END_TEST

START_TEST(failing_resume_loses_nothing)
{
	enum mam_status status;
	char name[64] = "";
	unsigned long at = 1, failures = 0;
	bool more = true;

	start();
	for (; more; at++) {
		ck_assert_uint_lt(at, CALLS_MAX);
		ck_assert_int_eq(suspend_kind(_i), MAM_OK);
		more = failing(at, resume_kind, _i, &status, name, sizeof(name));
		counts_match(name);
		ck_assert_int_eq(is_suspended(), status != MAM_OK);
		failures += status != MAM_OK;
		if (status != MAM_OK && at % 2 == 0) /* or a second suspend before it */
			ck_assert_int_eq(suspend_kind(_i), MAM_OK);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		check_kind(_i);
	}
	ck_assert_uint_gt(failures, 5);
	end_pool();
}
END_TEST

/* Copies that were submitted before a failure have ended when the call returns. */
START_TEST(failures_wait_for_earlier_copies)
{
	unsigned long waited;

	setenv("FAKE_CUDA_LAG_US", "100000", 1);
	begin_failing("256M", "cuMemcpyHtoDAsync:3");
	fill_pool();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	waited = cuda.fake_waited();
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_DRIVER);
	ck_assert_uint_gt(cuda.fake_waited(), waited);
	/* A suspend unmaps the memory that they wrote. */
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end_pool();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend/faults");
	TCase *tests = suite_case(suite, "faults");

	tcase_add_loop_test(tests, failing_suspend_changes_nothing, 0, KINDS);
	tcase_add_loop_test(tests, failing_resume_loses_nothing, 0, KINDS);
	tcase_add_test(tests, failures_wait_for_earlier_copies);
	return suite_run(suite);
}
