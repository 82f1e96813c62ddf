/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quota: no more than its limit at once, refusals exactly where they were ordered, and all else
 * as the inner source answers it.
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "source/script.h"

#define PAGE ((size_t)4096)

static struct mam_source *around(struct mam_source *inner, size_t limit, size_t at, size_t count)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_limit(inner, limit, at, count, &source), MAM_OK);
	return source;
}

START_TEST(it_has_the_properties_of_the_inner_source)
{
	struct script script = script_of(PAGE, 100 * PAGE, SIZE_MAX);
	struct mam_source *source = around(&script.source, 10 * PAGE, 0, 0);

	ck_assert_str_eq(source->properties.name, "limit");
	ck_assert_uint_eq(source->properties.granularity, PAGE);
	ck_assert_uint_eq(source->properties.alignment, 2 << 20);
	ck_assert_int_eq(source->properties.device, 3);
	ck_assert(!source->properties.survives_fork);
	ck_assert_uint_eq(source->properties.total_bytes, 10 * PAGE);
	mam_source_destroy(source);
}
END_TEST

START_TEST(its_total_is_the_lesser_one)
{
	static const size_t totals[][3] = { /* inner, limit, answer */
		{ 100, 10, 10 }, { 10, 100, 10 }, { 0, 10, 10 }, { 10, 0, 10 }, { 0, 0, 0 },
	};
	struct script script = script_of(1, totals[_i][0], SIZE_MAX);
	struct mam_source *source = around(&script.source, totals[_i][1], 0, 0);

	ck_assert_uint_eq(source->properties.total_bytes, totals[_i][2]);
	mam_source_destroy(source);
}
END_TEST

START_TEST(wrong_arguments)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source;

	ck_assert_int_eq(mam_source_limit(NULL, 1, 0, 0, &source), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_source_limit(&script.source, 1, 0, 0, NULL), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(no_more_than_the_limit_at_once)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 10 * PAGE, 0, 0);
	void *a, *b = NULL;

	ck_assert_int_eq(mam_source_grow(source, 11 * PAGE, &b), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_grow(source, 6 * PAGE, &a), MAM_OK);
	ck_assert_int_eq(mam_source_grow(source, 5 * PAGE, &b), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(b);
	ck_assert_uint_eq(script.grows, 1);
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &b), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, a, 6 * PAGE), MAM_OK);
	ck_assert_int_eq(mam_source_grow(source, 7 * PAGE, &a), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_grow(source, 6 * PAGE, &a), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(without_a_limit_there_is_none)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 0, 0, 0);
	void *base;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mam_source_grow(source, (size_t)1 << 60, &base), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

/* refuse_at and refuse_count, and the calls out of eight that are let through, as a picture. */
static const struct {
	size_t at, count;
	const char *picture;
} orders[] = {
	{ 0, 0, "++++++++" },  { 1, 1, "-+++++++" }, { 3, 1, "++-+++++" }, { 8, 1, "+++++++-" },
	{ 9, 1, "++++++++" },  { 2, 3, "+---++++" }, { 1, 8, "--------" }, { 3, 0, "++++++++" },
	{ 0, 3, "++++++++" },  { 5, SIZE_MAX, "++++----" },
	{ SIZE_MAX, SIZE_MAX, "++++++++" },
};

START_TEST(refusals_come_when_ordered)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 0, orders[_i].at, orders[_i].count);
	unsigned int asked = 0;

	for (int i = 0; i < 8; i++) {
		const bool is_let = orders[_i].picture[i] == '+';
		void *base = NULL;

		ck_assert_int_eq(mam_source_grow(source, PAGE, &base),
				 is_let ? MAM_OK : MAM_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(base != NULL, is_let);
		asked += is_let;
		ck_assert_uint_eq(script.grows, asked);
	}
	mam_source_destroy(source);
}
END_TEST

START_TEST(a_refusal_takes_nothing_of_the_quota)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 4 * PAGE, 1, 2);
	void *base;

	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(the_inner_answers_pass_and_failures_take_nothing)
{
	struct script script = script_of(PAGE, 0, 0);
	struct mam_source *source = around(&script.source, 4 * PAGE, 0, 0);
	void *base;

	script.refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_ERROR_DRIVER);
	script.most = SIZE_MAX;
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_OK);
	script.shrinks = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_source_shrink(source, base, 4 * PAGE), MAM_ERROR_DRIVER);
	/* The chunk is still out, so the quota is still used. */
	ck_assert_int_eq(mam_source_grow(source, PAGE, &base), MAM_ERROR_OUT_OF_MEMORY);
	script.shrinks = MAM_OK;
	ck_assert_int_eq(mam_source_shrink(source, base, 4 * PAGE), MAM_OK);
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_OK);
	ck_assert_uint_eq(script.shrinks_seen, 2);
	mam_source_destroy(source);
}
END_TEST

START_TEST(it_waits_if_the_inner_source_does)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 0, 0, 0), *host, *at_once;

	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_uint_eq(script.quiesces, 1);
	mam_source_destroy(source);
	ck_assert_int_eq(mam_source_host(0, false, &host), MAM_OK);
	at_once = around(host, 0, 0, 0);
	ck_assert_ptr_null(at_once->ops->quiesce);
	mam_source_destroy(at_once);
	mam_source_destroy(host);
}
END_TEST

START_TEST(room_is_the_lesser_of_both)
{
	struct mam_source *host, *source, *outer;
	void *base;

	ck_assert_int_eq(mam_source_host(10 * PAGE, false, &host), MAM_OK);
	source = around(host, 8 * PAGE, 0, 0);
	outer = around(source, 0, 0, 0);
	ck_assert_uint_eq(mam_source_room(outer), 8 * PAGE);
	ck_assert_int_eq(mam_source_grow(outer, 2 * PAGE, &base), MAM_OK);
	ck_assert_uint_eq(mam_source_room(outer), 6 * PAGE);
	ck_assert_int_eq(mam_source_grow(host, 5 * PAGE, &base), MAM_OK);
	ck_assert_uint_eq(mam_source_room(outer), 3 * PAGE);
	mam_source_destroy(outer);
	mam_source_destroy(source);
	mam_source_destroy(host);
}
END_TEST

static void *grow_and_shrink(void *user)
{
	struct mam_source *source = user;
	void *base;

	for (int i = 0; i < 2000; i++) {
		if (mam_source_grow(source, PAGE, &base) == MAM_OK)
			mam_source_shrink(source, base, PAGE);
	}
	return NULL;
}

START_TEST(threads_never_pass_the_limit_together)
{
	struct mam_source *host, *source;
	pthread_t threads[4];

	/* The host source has room for two pages: a third let through would be seen by its room. */
	ck_assert_int_eq(mam_source_host(2 * PAGE, false, &host), MAM_OK);
	source = around(host, 2 * PAGE, 0, 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, grow_and_shrink, source), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(mam_source_room(host), 2 * PAGE);
	ck_assert_uint_eq(mam_source_room(source), 2 * PAGE);
	mam_source_destroy(source);
	mam_source_destroy(host);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/limit");
	TCase *quota = tcase_create("quota");
	TCase *passing = tcase_create("passing");
	SRunner *runner;
	int failed;

	tcase_add_test(quota, no_more_than_the_limit_at_once);
	tcase_add_test(quota, without_a_limit_there_is_none);
	tcase_add_loop_test(quota, refusals_come_when_ordered, 0,
			    sizeof(orders) / sizeof(orders[0]));
	tcase_add_test(quota, a_refusal_takes_nothing_of_the_quota);
	tcase_add_test(quota, threads_never_pass_the_limit_together);
	suite_add_tcase(suite, quota);
	tcase_add_test(passing, it_has_the_properties_of_the_inner_source);
	tcase_add_loop_test(passing, its_total_is_the_lesser_one, 0, 5);
	tcase_add_test(passing, wrong_arguments);
	tcase_add_test(passing, the_inner_answers_pass_and_failures_take_nothing);
	tcase_add_test(passing, it_waits_if_the_inner_source_does);
	tcase_add_test(passing, room_is_the_lesser_of_both);
	suite_add_tcase(suite, passing);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
