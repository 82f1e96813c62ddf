/* SPDX-License-Identifier: Apache-2.0 */
/* The walk shows every segment once, in address order over all chunks, and stops when told. */
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

START_TEST(chunks_are_walked_by_address_not_by_age)
{
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, SPACE_DOWN, 4096, 4096, 0);
	struct walked walked = { 0 };

	take(f, 4096);
	take(f, 1024);
	take(f, 3584);
	ck_assert_picture(f, 512, "L7 F1 | L2 F6 | L8");
	ck_assert_int_eq(mam_pool_walk(f->pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.seen, 5);
	ck_assert_uint_eq(walked.seen, stats_of(f).segments);
	fixture_end(f);
}
END_TEST

START_TEST(the_walk_stops_when_the_visitor_has_enough)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	struct walked walked = { .stop_after = 3 };

	for (int i = 0; i < 10; i++)
		take(f, 512);
	ck_assert_int_eq(mam_pool_walk(f->pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.seen, 3);
	take(f, 512); /* and lets go of the pool */
	fixture_end(f);
}
END_TEST

START_TEST(a_pool_without_chunks_has_nothing_to_show)
{
	struct mam_pool_config config = { 0 };
	struct fixture *f = fixture_new(&config);
	struct walked walked = { 0 };

	ck_assert_int_eq(mam_pool_walk(f->pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.seen, 0);
	fixture_end(f);
}
END_TEST

START_TEST(a_walk_without_a_visitor_or_a_pool_is_refused)
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

	tcase_add_test(tcase, chunks_are_walked_by_address_not_by_age);
	tcase_add_test(tcase, the_walk_stops_when_the_visitor_has_enough);
	tcase_add_test(tcase, a_pool_without_chunks_has_nothing_to_show);
	tcase_add_test(tcase, a_walk_without_a_visitor_or_a_pool_is_refused);
	return suite_end();
}
