/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quota: bytes in use never exceed the limit, refusals occur exactly at the configured calls,
 * and everything else matches the inner source.
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

START_TEST(quota_has_properties_of_inner_source)
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

START_TEST(total_is_minimum_of_both)
{
	static const size_t totals[][3] = {
		/* Inner, limit, result. */
		{ 100, 10, 10 }, { 10, 100, 10 }, { 0, 10, 10 }, { 10, 0, 10 }, { 0, 0, 0 },
	};
	struct script script = script_of(1, totals[_i][0], SIZE_MAX);
	struct mam_source *source = around(&script.source, totals[_i][1], 0, 0);

	ck_assert_uint_eq(source->properties.total_bytes, totals[_i][2]);
	mam_source_destroy(source);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source;

	ck_assert_int_eq(mam_source_limit(NULL, 1, 0, 0, &source), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_source_limit(&script.source, 1, 0, 0, NULL), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(bytes_in_use_never_exceed_limit)
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

START_TEST(zero_limit_means_unlimited)
{
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 0, 0, 0);
	void *base;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mam_source_grow(source, (size_t)1 << 60, &base), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

/* refuse_at, refuse_count, and which of eight calls succeed ('+'). */
/* clang-format off */
static const struct {
	size_t at, count;
	const char *picture;
} orders[] = {
	{ 0, 0, "++++++++" },  { 1, 1, "-+++++++" }, { 3, 1, "++-+++++" }, { 8, 1, "+++++++-" },
	{ 9, 1, "++++++++" },  { 2, 3, "+---++++" }, { 1, 8, "--------" }, { 3, 0, "++++++++" },
	{ 0, 3, "++++++++" },  { 5, SIZE_MAX, "++++----" },
	{ SIZE_MAX, SIZE_MAX, "++++++++" },
};
/* clang-format on */

START_TEST(refusals_occur_at_configured_calls)
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

START_TEST(refusal_uses_no_quota)
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

START_TEST(inner_status_is_returned_and_failure_uses_no_quota)
{
	struct script script = script_of(PAGE, 0, 0);
	struct mam_source *source = around(&script.source, 4 * PAGE, 0, 0);
	void *base;

	script.refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_ERROR_DRIVER);
	script.max = SIZE_MAX;
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_OK);
	script.shrinks = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_source_shrink(source, base, 4 * PAGE), MAM_ERROR_DRIVER);
	/* The chunk is still in use, so its quota is too. */
	ck_assert_int_eq(mam_source_grow(source, PAGE, &base), MAM_ERROR_OUT_OF_MEMORY);
	script.shrinks = MAM_OK;
	ck_assert_int_eq(mam_source_shrink(source, base, 4 * PAGE), MAM_OK);
	ck_assert_int_eq(mam_source_grow(source, 4 * PAGE, &base), MAM_OK);
	ck_assert_uint_eq(script.shrinks_seen, 2);
	mam_source_destroy(source);
}
END_TEST

START_TEST(quiesce_calls_inner_source)
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

START_TEST(room_is_minimum_of_both)
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

/* ---- around a source that provides addresses and memory separately ---- */

#define PIECE ((size_t)2 << 20)

static struct mam_source *pieces(size_t total)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_source *source;

	attr.simulated = true;
	attr.total_bytes = total;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_OK);
	ck_assert(mam_source_has_pieces(source));
	return source;
}

START_TEST(quota_counts_mapped_memory_not_addresses)
{
	struct mam_source *vmm = pieces(0), *source = around(vmm, 4 * PIECE, 0, 0);
	const size_t piece =
		source->properties.granularity > PIECE ? source->properties.granularity : PIECE;
	void *base;

	ck_assert_int_eq(mam_source_grow(source, 64 * piece, &base), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 4 * PIECE);
	ck_assert_int_eq(mam_source_map(source, base, 3 * PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, (char *)base + 8 * PIECE, 2 * PIECE),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_map(source, (char *)base + 8 * PIECE, PIECE), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 0);
	ck_assert_int_eq(mam_source_unmap(source, base, 3 * PIECE), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 3 * PIECE);
	ck_assert_int_eq(mam_source_unmap(source, (char *)base + 8 * PIECE, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * piece), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 4 * PIECE);
	mam_source_destroy(source);
	mam_source_destroy(vmm);
}
END_TEST

START_TEST(refused_piece_is_not_counted)
{
	struct mam_source *vmm = pieces(PIECE), *source = around(vmm, 2 * PIECE, 0, 0);
	void *base;

	ck_assert_int_eq(mam_source_grow(source, 64 * PIECE, &base), MAM_OK);
	for (int i = 0; i < 2; i++) /* the address has one */
		ck_assert_int_eq(mam_source_map(source, base, 2 * PIECE), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_map(source, base, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, base, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * PIECE), MAM_OK);
	mam_source_destroy(source);
	mam_source_destroy(vmm);
}
END_TEST

START_TEST(moved_piece_stays_counted)
{
	struct mam_source *vmm = pieces(0), *source = around(vmm, 2 * PIECE, 0, 0);
	bool lost = true;
	void *base;

	ck_assert_int_eq(mam_source_grow(source, 64 * PIECE, &base), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, base, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_move(source, base, PIECE, (char *)base + 4 * PIECE, &lost),
			 MAM_OK);
	ck_assert(!lost);
	ck_assert_uint_eq(mam_source_room(source), PIECE);
	ck_assert_int_eq(mam_source_unmap(source, (char *)base + 4 * PIECE, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * PIECE), MAM_OK);
	mam_source_destroy(source);
	mam_source_destroy(vmm);
}
END_TEST

/* A source whose pieces are lost, or stay, when they should move. */
static bool losing;

static enum mam_status give_up(struct mam_source *source, void *from, size_t bytes, void *to,
			       bool *lost)
{
	(void)source;
	(void)from;
	(void)bytes;
	(void)to;
	*lost = losing;
	return MAM_ERROR_DRIVER;
}

static enum mam_status always(struct mam_source *source, void *base, size_t bytes)
{
	(void)source;
	(void)base;
	(void)bytes;
	return MAM_OK;
}

static enum mam_status never(struct mam_source *source, void *base, size_t bytes)
{
	(void)always(source, base, bytes);
	return MAM_ERROR_DRIVER;
}

static uint64_t computed(struct mam_source *source)
{
	(void)source;
	return 4711;
}

START_TEST(lost_piece_is_no_longer_counted)
{
	/* clang-format off */
	static const struct mam_source_ops losing_ops = {
		.size = sizeof(losing_ops),
		.grow = script_grow, .shrink = script_shrink, .map = always, .unmap = never,
		.move = give_up,
	};
	/* clang-format on */
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source;
	bool lost = !_i;

	script.source.ops = &losing_ops;
	source = around(&script.source, 4 * PAGE, 0, 0);
	losing = _i;
	ck_assert_int_eq(mam_source_map(source, (void *)PAGE, PAGE), MAM_OK);
	ck_assert_int_eq(mam_source_move(source, (void *)PAGE, PAGE, (void *)(8 * PAGE), &lost),
			 MAM_ERROR_DRIVER);
	ck_assert_int_eq(lost, losing);
	ck_assert_uint_eq(mam_source_room(source), losing ? 4 * PAGE : 3 * PAGE);
	/* Memory that the driver keeps stays counted. */
	ck_assert_int_eq(mam_source_map(source, (void *)PAGE, PAGE), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, (void *)PAGE, PAGE), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(mam_source_room(source), losing ? 3 * PAGE : 2 * PAGE);
	mam_source_destroy(source);
}
END_TEST

START_TEST(quota_has_operations_of_inner_source)
{
	static const struct mam_source_ops estimate_ops = {
		.size = sizeof(estimate_ops),
		.grow = script_grow,
		.shrink = script_shrink,
		.cost = computed,
	};
	struct script script = script_of(PAGE, 0, SIZE_MAX);
	struct mam_source *source = around(&script.source, 0, 0, 0), *vmm = pieces(0);

	ck_assert(!mam_source_has_pieces(source));
	ck_assert(!source->ops->unmap && !source->ops->move && !source->ops->cost);
	mam_source_destroy(source);
	script.source.ops = &estimate_ops;
	source = around(&script.source, 0, 0, 0);
	ck_assert_uint_eq(source->ops->cost(source), 4711);
	ck_assert_ptr_null(source->ops->quiesce);
	mam_source_destroy(source);
	source = around(vmm, 0, 0, 0);
	ck_assert(mam_source_has_pieces(source));
	ck_assert(source->ops->unmap && source->ops->move);
	ck_assert_int_eq(source->ops->cost != NULL, vmm->ops->cost != NULL);
	mam_source_destroy(source);
	mam_source_destroy(vmm);
}
END_TEST

START_TEST(refusals_apply_to_calls_that_provide_memory)
{
	struct mam_source *vmm = pieces(0), *source = around(vmm, 0, 2, 1);
	void *base, *other;

	ck_assert_int_eq(mam_source_grow(source, 64 * PIECE, &base), MAM_OK);
	ck_assert_int_eq(mam_source_grow(source, 64 * PIECE, &other), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, base, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, other, PIECE), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_map(source, other, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, base, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, other, PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * PIECE), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, other, 64 * PIECE), MAM_OK);
	mam_source_destroy(source);
	mam_source_destroy(vmm);
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

START_TEST(threads_never_exceed_limit_together)
{
	struct mam_source *host, *source;
	pthread_t threads[4];

	/* The host source has room for two pages: a third success would show in its room. */
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
	TCase *apart = tcase_create("separate addresses and memory");
	SRunner *runner;
	int failed;

	tcase_add_test(quota, bytes_in_use_never_exceed_limit);
	tcase_add_test(quota, zero_limit_means_unlimited);
	tcase_add_loop_test(quota, refusals_occur_at_configured_calls, 0,
			    sizeof(orders) / sizeof(orders[0]));
	tcase_add_test(quota, refusal_uses_no_quota);
	tcase_add_test(quota, threads_never_exceed_limit_together);
	suite_add_tcase(suite, quota);
	tcase_add_test(passing, quota_has_properties_of_inner_source);
	tcase_add_loop_test(passing, total_is_minimum_of_both, 0, 5);
	tcase_add_test(passing, invalid_arguments_are_rejected);
	tcase_add_test(passing, inner_status_is_returned_and_failure_uses_no_quota);
	tcase_add_test(passing, quiesce_calls_inner_source);
	tcase_add_test(passing, room_is_minimum_of_both);
	suite_add_tcase(suite, passing);
	tcase_add_test(apart, quota_counts_mapped_memory_not_addresses);
	tcase_add_test(apart, refused_piece_is_not_counted);
	tcase_add_test(apart, moved_piece_stays_counted);
	tcase_add_loop_test(apart, lost_piece_is_no_longer_counted, 0, 2);
	tcase_add_test(apart, quota_has_operations_of_inner_source);
	tcase_add_test(apart, refusals_apply_to_calls_that_provide_memory);
	suite_add_tcase(suite, apart);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
