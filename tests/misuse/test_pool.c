/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invalid pools: handles of destroyed pools, made-up handles, attributes out of range, missing
 * outputs.
 *
 * Each test is a forked child that must exit with 0: a crash, an abort or a hang is a failure.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "../api/suite.h"

#define CHUNK ((size_t)1 << 20)

static struct mam_pool *pool;
static void *block;

static void begin(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("MAM_SOURCE", "host", 1);
	attr.source = "host";
	attr.chunk_bytes = CHUNK;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 512, &block), MAM_OK);
}

static bool visit_none(const struct mam_segment_info *segment, void *user)
{
	(void)segment;
	*(bool *)user = true;
	return true;
}

/* Every call that takes a pool returns this status, and writes nothing. */
static void every_call_returns(struct mam_pool *handle, enum mam_status status)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[] = "untouched";
	void *output = why;
	bool visited = false;
	size_t bytes = 77;

	ck_assert_int_eq(mam_malloc(handle, 512, &output), status);
	ck_assert_int_eq(mam_malloc(handle, SIZE_MAX, &output), status);
	ck_assert_int_eq(mam_malloc_aligned(handle, 512, 4096, &output), status);
	ck_assert_int_eq(mam_pool_alloc_nowait(handle, 512, 0, &output), status);
	ck_assert_int_eq(mam_free(handle, block), status);
	ck_assert_int_eq(mam_usable_size(handle, block, &bytes), status);
	ck_assert_int_eq(mam_pool_trim(handle, 0, &bytes), status);
	ck_assert_int_eq(mam_pool_stats(handle, &stats), status);
	ck_assert_int_eq(mam_pool_walk(handle, visit_none, &visited), status);
	ck_assert_int_eq(mam_pool_check(handle, why, sizeof(why)), status);
	ck_assert_int_eq(mam_pool_destroy(handle), status);
	ck_assert_int_eq(mam_pool_abandon(handle), status);
	ck_assert_ptr_eq(output, why);
	ck_assert_str_eq(why, "untouched");
	ck_assert_uint_eq(bytes, 77);
	ck_assert_uint_eq(stats.chunks, 0);
	ck_assert(!visited);
}

static void is_intact(void)
{
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}

START_TEST(destroy_with_live_blocks_fails)
{
	for (int again = 0; again < 3; again++)
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_LIVE_BLOCKS);
	is_intact();
}
END_TEST

START_TEST(calls_on_destroyed_pool_fail)
{
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	every_call_returns(pool, MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_NOT_OWNED);
}
END_TEST

START_TEST(calls_on_abandoned_pool_fail)
{
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	every_call_returns(pool, MAM_ERROR_DESTROYED);
}
END_TEST

START_TEST(handles_are_never_reused)
{
	struct mam_pool *ended = pool;

	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	for (int i = 0; i < 2000; i++) {
		begin();
		ck_assert_ptr_ne(pool, ended);
		ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	}
	every_call_returns(ended, MAM_ERROR_DESTROYED);
}
END_TEST

/* No pool was ever at these addresses; they must not be dereferenced. */
START_TEST(calls_on_made_up_handle_fail)
{
	char here[64];
	struct mam_pool *const handles[] = {
		(struct mam_pool *)1,
		(struct mam_pool *)8,
		(struct mam_pool *)4096,
		(struct mam_pool *)UINTPTR_MAX,
		(struct mam_pool *)(UINTPTR_MAX / 2 + 1),
		(struct mam_pool *)here,
		(struct mam_pool *)block,
		(struct mam_pool *)((char *)pool + 1),
		(struct mam_pool *)((char *)pool + 64),
		(struct mam_pool *)((char *)pool - 64),
		(struct mam_pool *)((char *)pool + 4096),
	};
	void *output = here;
	size_t bytes;

	memset(here, 0xff, sizeof(here));
	for (size_t i = 0; i < COUNT_OF(handles); i++) {
		ck_assert_int_eq(mam_malloc(handles[i], 512, &output), MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_malloc(handles[i], 0, &output), MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_malloc_aligned(handles[i], 512, 512, &output),
				 MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_free(handles[i], block), MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_free(handles[i], NULL), MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_usable_size(handles[i], block, &bytes),
				 MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_pool_destroy(handles[i]), MAM_ERROR_INVALID_VALUE);
		ck_assert_int_eq(mam_pool_abandon(handles[i]), MAM_ERROR_INVALID_VALUE);
	}
	ck_assert_ptr_eq(output, here);
	is_intact();
}
END_TEST

START_TEST(calls_on_null_pool_fail)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	void *output = &stats;
	bool visited = false;
	size_t bytes = 77;

	ck_assert_int_eq(mam_pool_destroy(NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_abandon(NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_alloc_nowait(NULL, 512, 0, &output), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_trim(NULL, 0, &bytes), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_stats(NULL, &stats), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_walk(NULL, visit_none, &visited), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_check(NULL, NULL, 0), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_eq(output, &stats);
	ck_assert_uint_eq(bytes, 77);
	ck_assert(!visited);
	is_intact();
}
END_TEST

START_TEST(null_outputs_are_rejected)
{
	ck_assert_int_eq(mam_pool_create(NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_create_on(NULL, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_default(0, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_stats(pool, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_walk(pool, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 100), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	is_intact();
}
END_TEST

/* Each row has one wrong attribute in an otherwise valid struct. */
static const struct mam_pool_attr wrong[] = {
	{ .source = "no such source" },
	{ .source = "" },
	{ .source = "HOST" },
	{ .source = "limit" }, /* exists, but needs another source */
	{ .source = "host", .device = -2 },
	{ .source = "host", .granule = 3 },
	{ .source = "host", .granule = 8 },
	{ .source = "host", .granule = (size_t)1 << 30 },
	{ .source = "host", .free_policy = (enum mam_free_policy)77 },
	{ .source = "host", .chunk_bytes = 2 * CHUNK, .limit_bytes = CHUNK },
	{ .source = "host", .growth_bytes = MAM_GROWTH_NONE },
};

START_TEST(attributes_out_of_range_are_rejected)
{
	struct mam_pool_attr attr = wrong[_i];
	struct mam_pool *const untouched = pool;
	struct mam_pool *output = untouched;

	attr.size = sizeof(attr);
	ck_assert_int_eq(mam_pool_create(&attr, &output), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_eq(output, untouched);
	is_intact();
}
END_TEST

START_TEST(invalid_attr_sizes_are_rejected)
{
	const size_t sizes[] = { 0, 1, 7, 9, 4097, SIZE_MAX };
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *output;

	attr.source = "host";
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		attr.size = sizes[i];
		ck_assert_int_eq(mam_pool_create(&attr, &output), MAM_ERROR_INVALID_VALUE);
	}
	is_intact();
}
END_TEST

START_TEST(impossible_first_chunk_is_refused)
{
	const size_t chunks[] = { SIZE_MAX - 1, SIZE_MAX / 2 + 1, (size_t)1 << 50 };
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *output = pool;

	attr.source = "host";
	for (size_t i = 0; i < COUNT_OF(chunks); i++) {
		attr.chunk_bytes = chunks[i];
		ck_assert_int_eq(mam_pool_create(&attr, &output), MAM_ERROR_OUT_OF_MEMORY);
	}
	ck_assert_ptr_eq(output, pool);
	is_intact();
}
END_TEST

/* Continues as long as the pool exists. Any status except these is an error. */
static void *use_until_it_ends(void *used)
{
	enum mam_status status = MAM_OK;

	while (status == MAM_OK || status == MAM_ERROR_OUT_OF_MEMORY) {
		void *mine;

		status = mam_malloc(used, 4096, &mine);
		if (status == MAM_OK)
			status = mam_free(used, mine);
	}
	return status == MAM_ERROR_DESTROYED ? NULL : "a status other than DESTROYED";
}

START_TEST(pool_in_use_can_be_abandoned)
{
	pthread_t threads[4];
	void *wrong_status;

	for (size_t i = 0; i < COUNT_OF(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_until_it_ends, pool), 0);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_ne(mam_pool_check(pool, NULL, 0), MAM_ERROR_CORRUPT);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	for (size_t i = 0; i < COUNT_OF(threads); i++) {
		pthread_join(threads[i], &wrong_status);
		ck_assert_msg(!wrong_status, "%s", (const char *)wrong_status);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("misuse/pool");
	TCase *ends = suite_case(suite, "ends");
	TCase *handles = suite_case(suite, "handles");
	TCase *making = suite_case(suite, "making");

	tcase_add_checked_fixture(ends, begin, NULL);
	tcase_add_checked_fixture(handles, begin, NULL);
	tcase_add_checked_fixture(making, begin, NULL);
	tcase_add_test(ends, destroy_with_live_blocks_fails);
	tcase_add_test(ends, calls_on_destroyed_pool_fail);
	tcase_add_test(ends, calls_on_abandoned_pool_fail);
	tcase_add_test(ends, handles_are_never_reused);
	tcase_add_test(ends, pool_in_use_can_be_abandoned);
	tcase_add_test(handles, calls_on_made_up_handle_fail);
	tcase_add_test(handles, calls_on_null_pool_fail);
	tcase_add_test(making, null_outputs_are_rejected);
	tcase_add_loop_test(making, attributes_out_of_range_are_rejected, 0, COUNT_OF(wrong));
	tcase_add_test(making, invalid_attr_sizes_are_rejected);
	tcase_add_test(making, impossible_first_chunk_is_refused);
	return suite_run(suite);
}
