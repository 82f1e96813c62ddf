/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth on a source that maps memory in pieces: footing, moving, giving back, and what happens when
 * a call to the source is refused.
 */
#include <pthread.h>

#include "mapped.h"

/* Four blocks of 32 MiB, the first and the third freed: 64 MiB free, in two holes. */
static void *kept[4];

static void make_holes(void)
{
	for (int i = 0; i < 4; i++)
		kept[i] = take(32 * MIB);
	give(kept[0]);
	give(kept[2]);
	prove();
}

START_TEST(growth_is_contiguous_and_no_more_than_is_needed)
{
	char *first = take(20 * MIB), *second = take(10 * MIB);

	ck_assert_ptr_eq(first + 20 * MIB, second);
	ck_assert_uint_eq(stats().physical_bytes, 30 * MIB);
	ck_assert_uint_eq(stats().reserved_bytes, 30 * MIB);
	ck_assert_uint_eq(stats().remaps, 0);
	prove();
}
END_TEST

START_TEST(a_request_that_fits_no_hole_takes_the_free_memory_there_is)
{
	void *large;

	make_holes();
	large = take(64 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	ck_assert_uint_gt(stats().remaps, 0);
	ck_assert_uint_eq(made[MOVE], stats().remaps);
	give(large);
	prove();
}
END_TEST

START_TEST(new_memory_comes_first_while_the_growth_policy_allows_it)
{
	make_holes();
	take(65 * MIB); /* one more than is free: a peak of live bytes */
	ck_assert_uint_le(stats().physical_bytes, mam_growth_policy_budget(129 * MIB));
	prove();
}
END_TEST

START_TEST(a_small_request_brings_what_the_growth_policy_allows)
{
	take(1024 * MIB);
	take(1000);
	ck_assert_uint_eq(stats().physical_bytes, 1034 * MIB); /* a 102nd */
	for (int i = 0; i < 3; i++)
		take(4 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 1046 * MIB); /* no more than they lack */
	prove();
}
END_TEST

START_TEST(small_blocks_lie_apart)
{
	char *large = take(8 * MIB), *small = take(1000);
	uint64_t apart = (uint64_t)(small > large ? small - large : large - small);

	ck_assert_uint_gt(apart, (uint64_t)1 << 30);
	give(large);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 2 * MIB);
	prove();
}
END_TEST

START_TEST(trim_gives_all_free_pieces_back)
{
	size_t released = 0;

	make_holes();
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 64 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
	prove();
	give(kept[1]);
	give(kept[3]);
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 0);
	take(MIB);
	prove();
}
END_TEST

START_TEST(trim_keeps_what_it_is_told_to)
{
	give(take(100 * MIB));
	ck_assert_int_eq(mam_pool_trim(pool, 50 * MIB, NULL), MAM_OK);
	ck_assert_uint_ge(stats().physical_bytes, 50 * MIB);
	ck_assert_uint_lt(stats().physical_bytes, 100 * MIB);
	prove();
}
END_TEST

/* There may be work on freed blocks: the pool moves nothing, and is larger for that. */
START_TEST(without_need_nothing_is_waited_for)
{
	make_stream_pool(0);
	make_holes();
	take(64 * MIB);
	ck_assert_uint_eq(made[QUIESCE] + made[MOVE] + made[UNMAP], 0);
	ck_assert_uint_eq(stats().physical_bytes, 192 * MIB);
	prove();
}
END_TEST

START_TEST(work_is_waited_for_before_a_piece_goes_and_only_then)
{
	make_stream_pool(128 * MIB);
	make_holes();
	ck_assert_uint_eq(made[QUIESCE], 0);
	take(64 * MIB);
	ck_assert_uint_eq(made[QUIESCE], 1); /* once for all frees before */
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(made[QUIESCE], 1);
}
END_TEST

START_TEST(a_strict_pool_has_waited_already)
{
	struct mam_pool_config strict = { .free_policy = MAM_FREE_STRICT, .name = "strict" };

	forget_pool();
	ck_assert_int_eq(make_pool(&strict), MAM_OK);
	make_holes();
	take(64 * MIB);
	ck_assert_uint_gt(made[MOVE], 0);
	ck_assert_uint_eq(made[QUIESCE], 0);
}
END_TEST

START_TEST(without_a_wait_nothing_moves)
{
	void *block = NULL;

	make_stream_pool(128 * MIB);
	make_holes();
	refuse_at[QUIESCE] = 1;
	refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_pool_alloc(pool, 64 * MIB, 0, &block), MAM_ERROR_DRIVER);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(made[MOVE], 0);
	prove();
	take(64 * MIB); /* it is still known that a wait is due */
	ck_assert_uint_eq(made[QUIESCE], 2);
	prove();
}
END_TEST

START_TEST(the_limit_counts_memory_and_moving_keeps_to_it)
{
	struct mam_pool_config limited = { .limit_bytes = 128 * MIB,
					   .free_policy = MAM_FREE_STREAM,
					   .name = "limited" };
	void *block = NULL;

	forget_pool();
	ck_assert_int_eq(make_pool(&limited), MAM_OK);
	make_holes();
	ck_assert_int_eq(mam_pool_alloc(pool, 66 * MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_le(stats().peak_physical_bytes, 128 * MIB);
	prove();
	take(64 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	prove();
}
END_TEST

START_TEST(a_pool_that_may_not_grow_moves_what_it_has)
{
	struct mam_pool_config fixed = { .chunk_bytes = 128 * MIB,
					 .growth_bytes = MAM_GROWTH_NONE,
					 .free_policy = MAM_FREE_STREAM,
					 .name = "fixed" };
	void *block;

	forget_pool();
	ck_assert_int_eq(make_pool(&fixed), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	make_holes();
	take(64 * MIB);
	ck_assert_int_eq(mam_pool_alloc(pool, 2 * MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().peak_physical_bytes, 128 * MIB);
	ck_assert_uint_gt(stats().remaps, 0);
	prove();
}
END_TEST

START_TEST(a_device_that_is_full_gives_what_is_free_elsewhere)
{
	void *block;

	tear_down();
	make_source(128 * MIB);
	ck_assert_int_eq(make_pool(NULL), MAM_OK);
	make_holes();
	take(64 * MIB);
	ck_assert_int_eq(mam_pool_alloc(pool, 2 * MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	prove();
}
END_TEST

START_TEST(a_stale_pointer_is_known_after_its_piece_went)
{
	void *block = take(32 * MIB);

	give(block);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_free(pool, block), MAM_ERROR_DOUBLE_FREE);
}
END_TEST

START_TEST(alignment_is_kept)
{
	static const size_t alignments[] = { 512, 4096, 2 * MIB, 16 * MIB };
	void *block = NULL;

	take(3 * MIB + 512);
	ck_assert_int_eq(mam_pool_alloc(pool, 5 * MIB, alignments[_i], &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % alignments[_i], 0);
	prove();
}
END_TEST

START_TEST(nowait_never_asks_the_source)
{
	unsigned int before;
	void *block = NULL;

	make_holes();
	before = made[MAP] + made[MOVE];
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 64 * MIB, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 32 * MIB, 0, &block), MAM_OK);
	ck_assert_uint_eq(made[MAP] + made[MOVE], before);
}
END_TEST

static bool add_bytes(const struct mam_segment_info *segment, void *user)
{
	*(uint64_t *)user += segment->bytes;
	return true;
}

START_TEST(a_walk_sees_memory_and_no_void)
{
	uint64_t bytes = 0;

	make_holes();
	take(64 * MIB);
	ck_assert_int_eq(mam_pool_walk(pool, add_bytes, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, stats().physical_bytes);
}
END_TEST

/* Every call of each kind is refused once in a scene that makes them all. */
static void play_scene(enum call call, unsigned int at, enum mam_status answer, bool lose)
{
	void *large = NULL;
	size_t released;

	make_source((size_t)1 << 30);
	refuse_at[call] = at;
	refusal = answer;
	loses = lose;
	if (make_pool(NULL) != MAM_OK) {
		ck_assert(call == GROW);
		tear_down();
		return;
	}
	for (int i = 0; i < 6; i++)
		kept[i % 4] = mam_pool_alloc(pool, (16 + 4 * (size_t)i) * MIB, 0, &large) == MAM_OK
				      ? large
				      : NULL;
	for (int i = 0; i < 4; i += 2)
		if (kept[i])
			give(kept[i]);
	prove();
	if (mam_pool_alloc(pool, 60 * MIB, 0, &large) == MAM_OK)
		give(large);
	prove();
	(void)mam_pool_trim(pool, 8 * MIB, &released);
	prove();
	(void)mam_pool_trim(pool, 0, &released);
	prove();
	tear_down();
}

START_TEST(any_call_may_be_refused)
{
	for (unsigned int at = 1; at <= 14; at++) {
		play_scene((enum call)_i, at, MAM_ERROR_DRIVER, false);
		play_scene((enum call)_i, at, MAM_ERROR_OUT_OF_MEMORY, false);
		if (_i == MOVE)
			play_scene(MOVE, at, MAM_ERROR_DRIVER, true);
	}
}
END_TEST

START_TEST(a_lost_piece_is_no_longer_counted)
{
	void *block;

	make_holes();
	refuse_at[MOVE] = 1;
	refusal = MAM_ERROR_DRIVER;
	loses = true;
	ck_assert_int_eq(mam_pool_alloc(pool, 64 * MIB, 0, &block), MAM_ERROR_DRIVER);
	ck_assert_uint_lt(stats().physical_bytes, 128 * MIB);
	prove();
}
END_TEST

START_TEST(the_end_leaves_nothing_mapped)
{
	make_holes();
	give(kept[1]);
	give(kept[3]);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	ck_assert_uint_eq(made[SHRINK], made[GROW]);
	/* All handles were released: the source has all its memory again. */
	ck_assert_uint_eq(mam_source_room(inner), (size_t)8 << 30);
}
END_TEST

START_TEST(addresses_are_asked_for_modestly)
{
	tear_down();
	make_source((size_t)8 << 30);
	refuse_at[GROW] = 1; /* of the first range: half of it will do */
	ck_assert_int_eq(make_pool(NULL), MAM_OK);
	ck_assert_uint_eq(made[GROW], 3);
	take(64 * MIB);
	prove();
}
END_TEST

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t some_size(uint64_t *state)
{
	unsigned int octave = (unsigned int)(next(state) % 17); /* 1 KiB to 64 MiB and more */

	return ((size_t)1024 << octave) + next(state) % ((size_t)1024 << octave);
}

START_TEST(a_long_random_run_keeps_every_invariant)
{
	enum { SLOTS = 64 };
	void *blocks[SLOTS] = { NULL };
	uint64_t state = 88172645463325252u + (uint64_t)_i;

	for (int i = 0; i < 4000; i++) {
		unsigned int slot = (unsigned int)(next(&state) % SLOTS);

		if (blocks[slot]) {
			give(blocks[slot]);
			blocks[slot] = NULL;
		} else {
			blocks[slot] = take(some_size(&state));
		}
		if (i % 50 == 0)
			prove();
		if (i % 997 == 0)
			ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	}
	ck_assert_uint_gt(stats().remaps, 0);
	for (int i = 0; i < SLOTS; i++)
		if (blocks[i])
			give(blocks[i]);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 0);
	prove();
}
END_TEST

static void *churn(void *user)
{
	uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(uintptr_t)user;
	void *blocks[16] = { NULL };

	for (int i = 0; i < 1500; i++) {
		unsigned int slot = (unsigned int)(next(&state) % 16);

		if (blocks[slot]) {
			if (mam_pool_free(pool, blocks[slot]) != MAM_OK)
				return user;
			blocks[slot] = NULL;
		} else if (mam_pool_alloc(pool, some_size(&state), 0, &blocks[slot]) != MAM_OK) {
			return user;
		}
		if (i % 300 == 0)
			mam_pool_trim(pool, 0, NULL);
	}
	for (int i = 0; i < 16; i++)
		if (blocks[i] && mam_pool_free(pool, blocks[i]) != MAM_OK)
			return user;
	return NULL;
}

START_TEST(threads_grow_move_and_trim_at_once)
{
	pthread_t threads[4];
	void *wrong;

	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	prove();
	ck_assert_uint_eq(stats().live_blocks, 0);
}
END_TEST

START_TEST(spare_memory_goes_back_by_itself)
{
	struct mam_pool_config sparing = { .free_policy = MAM_FREE_STREAM,
					   .spare_bytes = 40 * MIB,
					   .name = "sparing" };

	forget_pool();
	ck_assert_int_eq(make_pool(&sparing), MAM_OK);
	make_holes(); /* 64 MiB free: less than twice the spare */
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	give(kept[1]); /* 96 MiB */
	ck_assert_uint_ge(stats().physical_bytes, 72 * MIB);
	ck_assert_uint_lt(stats().physical_bytes, 80 * MIB);
	prove();
}
END_TEST

START_TEST(what_cannot_go_is_not_tried_at_each_free)
{
	struct mam_pool_config sparing = { .free_policy = MAM_FREE_STREAM,
					   .spare_bytes = 4 * MIB,
					   .name = "sparing" };
	void *pins[32];
	unsigned int before;

	forget_pool();
	ck_assert_int_eq(make_pool(&sparing), MAM_OK);
	for (int i = 0; i < 32; i++) { /* a block of 1 MiB in each piece of 8 */
		void *rest = take(7 * MIB);

		pins[i] = take(MIB);
		give(rest);
	}
	before = made[UNMAP] + made[QUIESCE];
	for (int i = 0; i < 50; i++)
		give(take(512 * 1024));
	ck_assert_uint_le(made[UNMAP] + made[QUIESCE], before + 1);
	for (int i = 0; i < 32; i++)
		give(pins[i]);
	ck_assert_uint_le(stats().physical_bytes, 16 * MIB);
	prove();
}
END_TEST

START_TEST(growth_policy_is_a_share_of_what_is_needed)
{
	ck_assert_uint_eq(mam_growth_policy_budget(0), 2 * MIB);
	ck_assert_uint_eq(mam_growth_policy_budget(10200 * MIB), 10300 * MIB);
	ck_assert_uint_eq(mam_growth_policy_ahead(1024 * MIB, 1024 * MIB), 1025 * MIB);
	ck_assert_uint_eq(mam_growth_policy_ahead(1024 * MIB, 1034 * MIB), 1034 * MIB);
	ck_assert_uint_eq(mam_growth_policy_piece(0, 0, 2 * MIB), 8 * MIB);
	ck_assert_uint_eq(mam_growth_policy_piece(600 * MIB, 10, 2 * MIB), 10 * MIB);
	ck_assert_uint_eq(mam_growth_policy_piece(6000 * MIB, 10, 2 * MIB), 64 * MIB);
	ck_assert_uint_eq(mam_growth_policy_piece(0, 0, 32 * MIB), 32 * MIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool/range");
	TCase *tcase = tcase_create("range");
	TCase *alone = tcase_create("refusals");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, growth_is_contiguous_and_no_more_than_is_needed);
	tcase_add_test(tcase, a_request_that_fits_no_hole_takes_the_free_memory_there_is);
	tcase_add_test(tcase, new_memory_comes_first_while_the_growth_policy_allows_it);
	tcase_add_test(tcase, a_small_request_brings_what_the_growth_policy_allows);
	tcase_add_test(tcase, small_blocks_lie_apart);
	tcase_add_test(tcase, trim_gives_all_free_pieces_back);
	tcase_add_test(tcase, trim_keeps_what_it_is_told_to);
	tcase_add_test(tcase, without_need_nothing_is_waited_for);
	tcase_add_test(tcase, work_is_waited_for_before_a_piece_goes_and_only_then);
	tcase_add_test(tcase, a_strict_pool_has_waited_already);
	tcase_add_test(tcase, without_a_wait_nothing_moves);
	tcase_add_test(tcase, the_limit_counts_memory_and_moving_keeps_to_it);
	tcase_add_test(tcase, a_pool_that_may_not_grow_moves_what_it_has);
	tcase_add_test(tcase, a_device_that_is_full_gives_what_is_free_elsewhere);
	tcase_add_test(tcase, a_stale_pointer_is_known_after_its_piece_went);
	tcase_add_loop_test(tcase, alignment_is_kept, 0, 4);
	tcase_add_test(tcase, nowait_never_asks_the_source);
	tcase_add_test(tcase, a_walk_sees_memory_and_no_void);
	tcase_add_test(tcase, a_lost_piece_is_no_longer_counted);
	tcase_add_test(tcase, the_end_leaves_nothing_mapped);
	tcase_add_test(tcase, addresses_are_asked_for_modestly);
	tcase_add_loop_test(tcase, a_long_random_run_keeps_every_invariant, 0, 3);
	tcase_add_test(tcase, threads_grow_move_and_trim_at_once);
	tcase_add_test(tcase, spare_memory_goes_back_by_itself);
	tcase_add_test(tcase, what_cannot_go_is_not_tried_at_each_free);
	tcase_add_test(tcase, growth_policy_is_a_share_of_what_is_needed);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(alone, 120);
	tcase_add_loop_test(alone, any_call_may_be_refused, 0, CALLS);
	suite_add_tcase(suite, alone);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
