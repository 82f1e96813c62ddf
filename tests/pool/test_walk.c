/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_pool_walk reports every segment once, in address order over all chunks, and stops when its
 * visitor returns false.
 */
#include "fixture.h"

struct walked {
	uintptr_t end;
	unsigned seen;
	unsigned stop_after;
};

static bool visit(const struct mam_segment_info *segment, void *user)
{
	struct walked *walked = user;

	ck_assert_uint_ge((uintptr_t)segment->base, walked->end);
	walked->end = (uintptr_t)segment->base + segment->bytes;
	return ++walked->seen != walked->stop_after;
}

START_TEST(walk_visits_chunks_by_address)
{
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, SPACE_DOWN, 4096, 4096, 0);
	struct walked walked = { 0 };

	alloc(f, 4096);
	alloc(f, 1024);
	alloc(f, 3584);
	ck_assert_picture(f, 512, "L7 F1 | L2 F6 | L8");
	ck_assert_int_eq(mam_pool_walk(f->pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.seen, 5);
	ck_assert_uint_eq(walked.seen, stats_of(f).segments);
	fixture_end(f);
}
END_TEST

START_TEST(walk_stops_when_visitor_returns_false)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	struct walked walked = { .stop_after = 3 };

	for (int i = 0; i < 10; i++)
		alloc(f, 512);
	ck_assert_int_eq(mam_pool_walk(f->pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.seen, 3);
	alloc(f, 512); /* and the pool is unlocked */
	fixture_end(f);
}
END_TEST

START_TEST(walk_of_empty_pool_reports_nothing)
{
	struct mam_pool_config config = { 0 };
	struct fixture *f = fixture_new(&config);
	struct walked walked = { 0 };

	ck_assert_int_eq(mam_pool_walk(f->pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.seen, 0);
	fixture_end(f);
}
END_TEST

START_TEST(walk_without_visitor_or_pool_is_rejected)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);

	ck_assert_int_eq(mam_pool_walk(f->pool, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_walk(NULL, visit, NULL), MAM_ERROR_INVALID_VALUE);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/walk");

	tcase_add_test(tcase, walk_visits_chunks_by_address);
	tcase_add_test(tcase, walk_stops_when_visitor_returns_false);
	tcase_add_test(tcase, walk_of_empty_pool_reports_nothing);
	tcase_add_test(tcase, walk_without_visitor_or_pool_is_rejected);
	return suite_end();
}
