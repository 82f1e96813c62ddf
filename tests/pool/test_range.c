/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth on a source that maps memory in pieces: growth policy, moves, releases, and refused source
 * calls.
 */
#include <pthread.h>

#include "mapped.h"

/* Four blocks of 32 MiB, the first and the third freed: 64 MiB free, in two blocks. */
static void *kept[4];

static void make_free_blocks(void)
{
	for (int i = 0; i < 4; i++)
		kept[i] = alloc(32 * MIB);
	dealloc(kept[0]);
	dealloc(kept[2]);
	prove();
}

START_TEST(growth_is_contiguous_and_minimal)
{
	char *first = alloc(20 * MIB), *second = alloc(10 * MIB);

	ck_assert_ptr_eq(first + 20 * MIB, second);
	ck_assert_uint_eq(stats().physical_bytes, 30 * MIB);
	ck_assert_uint_eq(stats().reserved_bytes, 30 * MIB);
	ck_assert_uint_eq(stats().remaps, 0);
	prove();
}
END_TEST

START_TEST(request_over_largest_free_block_moves_free_memory)
{
	void *large;

	make_free_blocks();
	large = alloc(64 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	ck_assert_uint_gt(stats().remaps, 0);
	ck_assert_uint_eq(made[MOVE], stats().remaps);
	dealloc(large);
	prove();
}
END_TEST

START_TEST(new_memory_is_mapped_while_policy_permits)
{
	make_free_blocks();
	alloc(65 * MIB); /* one more than is free: a new peak of live bytes */
	ck_assert_uint_le(stats().physical_bytes, mam_growth_policy_budget(129 * MIB));
	prove();
}
END_TEST

START_TEST(small_request_maps_what_policy_permits)
{
	alloc(1024 * MIB);
	alloc(1000);
	ck_assert_uint_eq(stats().physical_bytes, 1034 * MIB); /* a 102nd */
	for (int i = 0; i < 3; i++)
		alloc(4 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 1046 * MIB); /* no more than the missing bytes */
	prove();
}
END_TEST

START_TEST(small_blocks_have_separate_range)
{
	char *large = alloc(8 * MIB), *small = alloc(1000);
	uint64_t apart = (uint64_t)(small > large ? small - large : large - small);

	ck_assert_uint_gt(apart, (uint64_t)1 << 30);
	dealloc(large);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 2 * MIB);
	prove();
}
END_TEST

START_TEST(trim_releases_all_free_pieces)
{
	size_t released = 0;

	make_free_blocks();
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 64 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
	prove();
	dealloc(kept[1]);
	dealloc(kept[3]);
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 0);
	alloc(MIB);
	prove();
}
END_TEST

START_TEST(trim_keeps_requested_bytes)
{
	dealloc(alloc(100 * MIB));
	ck_assert_int_eq(mam_pool_trim(pool, 50 * MIB, NULL), MAM_OK);
	ck_assert_uint_ge(stats().physical_bytes, 50 * MIB);
	ck_assert_uint_lt(stats().physical_bytes, 100 * MIB);
	prove();
}
END_TEST

/* Work on freed blocks may be running: the pool moves nothing, and grows instead. */
START_TEST(pool_does_not_wait_if_it_can_grow)
{
	make_stream_pool(0);
	make_free_blocks();
	alloc(64 * MIB);
	ck_assert_uint_eq(made[QUIESCE] + made[MOVE] + made[UNMAP], 0);
	ck_assert_uint_eq(stats().physical_bytes, 192 * MIB);
	prove();
}
END_TEST

START_TEST(pool_waits_once_before_it_moves_a_piece)
{
	make_stream_pool(128 * MIB);
	make_free_blocks();
	ck_assert_uint_eq(made[QUIESCE], 0);
	alloc(64 * MIB);
	ck_assert_uint_eq(made[QUIESCE], 1); /* one wait for all previous frees */
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(made[QUIESCE], 1);
}
END_TEST

START_TEST(strict_pool_moves_without_second_wait)
{
	struct mam_pool_config strict = { .free_policy = MAM_FREE_STRICT, .name = "strict" };

	forget_pool();
	ck_assert_int_eq(make_pool(&strict), MAM_OK);
	make_free_blocks();
	alloc(64 * MIB);
	ck_assert_uint_gt(made[MOVE], 0);
	ck_assert_uint_eq(made[QUIESCE], 0);
}
END_TEST

START_TEST(failed_wait_moves_nothing)
{
	void *block = NULL;

	make_stream_pool(128 * MIB);
	make_free_blocks();
	refuse_at[QUIESCE] = 1;
	refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_pool_alloc(pool, 64 * MIB, 0, &block), MAM_ERROR_DRIVER);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(made[MOVE], 0);
	prove();
	alloc(64 * MIB); /* the pool still knows that it has to wait */
	ck_assert_uint_eq(made[QUIESCE], 2);
	prove();
}
END_TEST

START_TEST(limit_counts_mapped_memory_and_permits_moves)
{
	struct mam_pool_config limited = { .limit_bytes = 128 * MIB,
					   .free_policy = MAM_FREE_STREAM,
					   .name = "limited" };
	void *block = NULL;

	forget_pool();
	ck_assert_int_eq(make_pool(&limited), MAM_OK);
	make_free_blocks();
	ck_assert_int_eq(mam_pool_alloc(pool, 66 * MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_le(stats().peak_physical_bytes, 128 * MIB);
	prove();
	alloc(64 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	prove();
}
END_TEST

START_TEST(pool_without_growth_moves_its_memory)
{
	struct mam_pool_config fixed = { .chunk_bytes = 128 * MIB,
					 .growth_bytes = MAM_GROWTH_NONE,
					 .free_policy = MAM_FREE_STREAM,
					 .name = "fixed" };
	void *block;

	forget_pool();
	ck_assert_int_eq(make_pool(&fixed), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	make_free_blocks();
	alloc(64 * MIB);
	ck_assert_int_eq(mam_pool_alloc(pool, 2 * MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().peak_physical_bytes, 128 * MIB);
	ck_assert_uint_gt(stats().remaps, 0);
	prove();
}
END_TEST

START_TEST(full_device_moves_free_pieces)
{
	void *block;

	tear_down();
	make_source(128 * MIB);
	ck_assert_int_eq(make_pool(NULL), MAM_OK);
	make_free_blocks();
	alloc(64 * MIB);
	ck_assert_int_eq(mam_pool_alloc(pool, 2 * MIB, 0, &block), MAM_ERROR_OUT_OF_MEMORY);
	prove();
}
END_TEST

START_TEST(double_free_is_detected_after_unmap)
{
	void *block = alloc(32 * MIB);

	dealloc(block);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_free(pool, block), MAM_ERROR_DOUBLE_FREE);
}
END_TEST

START_TEST(alignment_is_honored)
{
	static const size_t alignments[] = { 512, 4096, 2 * MIB, 16 * MIB };
	void *block = NULL;

	alloc(3 * MIB + 512);
	ck_assert_int_eq(mam_pool_alloc(pool, 5 * MIB, alignments[_i], &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % alignments[_i], 0);
	prove();
}
END_TEST

START_TEST(nowait_makes_no_source_call)
{
	unsigned int before;
	void *block = NULL;

	make_free_blocks();
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

START_TEST(walk_reports_mapped_memory_only)
{
	uint64_t bytes = 0;

	make_free_blocks();
	alloc(64 * MIB);
	ck_assert_int_eq(mam_pool_walk(pool, add_bytes, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, stats().physical_bytes);
}
END_TEST

/* Each call of each kind is refused once in a scenario that contains all of them. */
static void play_scene(enum call call, unsigned int at, enum mam_status status, bool lose)
{
	void *large = NULL;
	size_t released;

	make_source((size_t)1 << 30);
	refuse_at[call] = at;
	refusal = status;
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
			dealloc(kept[i]);
	prove();
	if (mam_pool_alloc(pool, 60 * MIB, 0, &large) == MAM_OK)
		dealloc(large);
	prove();
	(void)mam_pool_trim(pool, 8 * MIB, &released);
	prove();
	(void)mam_pool_trim(pool, 0, &released);
	prove();
	tear_down();
}

START_TEST(pool_survives_refusal_of_any_call)
{
	for (unsigned int at = 1; at <= 14; at++) {
		play_scene((enum call)_i, at, MAM_ERROR_DRIVER, false);
		play_scene((enum call)_i, at, MAM_ERROR_OUT_OF_MEMORY, false);
		if (_i == MOVE)
			play_scene(MOVE, at, MAM_ERROR_DRIVER, true);
	}
}
END_TEST

START_TEST(lost_piece_is_no_longer_counted)
{
	void *block;

	make_free_blocks();
	refuse_at[MOVE] = 1;
	refusal = MAM_ERROR_DRIVER;
	loses = true;
	ck_assert_int_eq(mam_pool_alloc(pool, 64 * MIB, 0, &block), MAM_ERROR_DRIVER);
	ck_assert_uint_lt(stats().physical_bytes, 128 * MIB);
	prove();
}
END_TEST

START_TEST(fini_unmaps_everything)
{
	make_free_blocks();
	dealloc(kept[1]);
	dealloc(kept[3]);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	ck_assert_uint_eq(made[SHRINK], made[GROW]);
	/* All handles were released: all memory is available in the source. */
	ck_assert_uint_eq(mam_source_room(inner), (size_t)8 << 30);
}
END_TEST

START_TEST(refused_range_is_retried_at_half_size)
{
	tear_down();
	make_source((size_t)8 << 30);
	refuse_at[GROW] = 1; /* for the first range: half of it suffices */
	ck_assert_int_eq(make_pool(NULL), MAM_OK);
	ck_assert_uint_eq(made[GROW], 3);
	alloc(64 * MIB);
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

START_TEST(random_operations_keep_invariants)
{
	enum { SLOTS = 64 };
	void *blocks[SLOTS] = { NULL };
	uint64_t state = 88172645463325252u + (uint64_t)_i;

	for (int i = 0; i < 4000; i++) {
		unsigned int slot = (unsigned int)(next(&state) % SLOTS);

		if (blocks[slot]) {
			dealloc(blocks[slot]);
			blocks[slot] = NULL;
		} else {
			blocks[slot] = alloc(some_size(&state));
		}
		if (i % 50 == 0)
			prove();
		if (i % 997 == 0)
			ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	}
	ck_assert_uint_gt(stats().remaps, 0);
	for (int i = 0; i < SLOTS; i++)
		if (blocks[i])
			dealloc(blocks[i]);
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

START_TEST(threads_grow_move_and_trim_concurrently)
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

START_TEST(memory_above_spare_is_released)
{
	struct mam_pool_config sparing = { .free_policy = MAM_FREE_STREAM,
					   .spare_bytes = 40 * MIB,
					   .name = "sparing" };

	forget_pool();
	ck_assert_int_eq(make_pool(&sparing), MAM_OK);
	make_free_blocks(); /* 64 MiB free: less than twice the spare */
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	dealloc(kept[1]); /* 96 MiB */
	ck_assert_uint_ge(stats().physical_bytes, 72 * MIB);
	ck_assert_uint_lt(stats().physical_bytes, 80 * MIB);
	prove();
}
END_TEST

START_TEST(unreleasable_memory_is_not_retried_at_each_free)
{
	struct mam_pool_config sparing = { .free_policy = MAM_FREE_STREAM,
					   .spare_bytes = 4 * MIB,
					   .name = "sparing" };
	void *pins[32];
	unsigned int before;

	forget_pool();
	ck_assert_int_eq(make_pool(&sparing), MAM_OK);
	for (int i = 0; i < 32; i++) { /* a block of 1 MiB in each piece of 8 */
		void *rest = alloc(7 * MIB);

		pins[i] = alloc(MIB);
		dealloc(rest);
	}
	before = made[UNMAP] + made[QUIESCE];
	for (int i = 0; i < 50; i++)
		dealloc(alloc(512 * 1024));
	ck_assert_uint_le(made[UNMAP] + made[QUIESCE], before + 1);
	for (int i = 0; i < 32; i++)
		dealloc(pins[i]);
	ck_assert_uint_le(stats().physical_bytes, 16 * MIB);
	prove();
}
END_TEST

START_TEST(growth_policy_is_proportional_to_need)
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
	tcase_add_test(tcase, growth_is_contiguous_and_minimal);
	tcase_add_test(tcase, request_over_largest_free_block_moves_free_memory);
	tcase_add_test(tcase, new_memory_is_mapped_while_policy_permits);
	tcase_add_test(tcase, small_request_maps_what_policy_permits);
	tcase_add_test(tcase, small_blocks_have_separate_range);
	tcase_add_test(tcase, trim_releases_all_free_pieces);
	tcase_add_test(tcase, trim_keeps_requested_bytes);
	tcase_add_test(tcase, pool_does_not_wait_if_it_can_grow);
	tcase_add_test(tcase, pool_waits_once_before_it_moves_a_piece);
	tcase_add_test(tcase, strict_pool_moves_without_second_wait);
	tcase_add_test(tcase, failed_wait_moves_nothing);
	tcase_add_test(tcase, limit_counts_mapped_memory_and_permits_moves);
	tcase_add_test(tcase, pool_without_growth_moves_its_memory);
	tcase_add_test(tcase, full_device_moves_free_pieces);
	tcase_add_test(tcase, double_free_is_detected_after_unmap);
	tcase_add_loop_test(tcase, alignment_is_honored, 0, 4);
	tcase_add_test(tcase, nowait_makes_no_source_call);
	tcase_add_test(tcase, walk_reports_mapped_memory_only);
	tcase_add_test(tcase, lost_piece_is_no_longer_counted);
	tcase_add_test(tcase, fini_unmaps_everything);
	tcase_add_test(tcase, refused_range_is_retried_at_half_size);
	tcase_add_loop_test(tcase, random_operations_keep_invariants, 0, 3);
	tcase_add_test(tcase, threads_grow_move_and_trim_concurrently);
	tcase_add_test(tcase, memory_above_spare_is_released);
	tcase_add_test(tcase, unreleasable_memory_is_not_retried_at_each_free);
	tcase_add_test(tcase, growth_policy_is_proportional_to_need);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(alone, 120);
	tcase_add_loop_test(alone, pool_survives_refusal_of_any_call, 0, CALLS);
	suite_add_tcase(suite, alone);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
