/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where ground grows on a source that maps memory in pieces, and of what: edges, budgets, limits,
 * pieces that are too wide; and that whatever fits the free memory there is, is served.
 */
#include "mapped.h"

/* ---- edges ---- */

START_TEST(a_hole_grows_up_to_what_it_lacks)
{
	char *below = take(8 * MIB), *hole = take(32 * MIB), *between = take(32 * MIB);

	take(8 * MIB);
	give(between);
	give_back_free();
	give(hole);
	ck_assert_ptr_eq(take(64 * MIB), hole); /* all of the void between */
	ck_assert_uint_eq(stats().physical_bytes, 80 * MIB);
	ck_assert_ptr_eq(below + 8 * MIB, hole);
	prove();
}
END_TEST

START_TEST(a_hole_grows_down_into_the_void_below_it)
{
	char *gone = take(32 * MIB), *hole = take(32 * MIB);

	take(32 * MIB);
	give(gone);
	give_back_free();
	give(hole);
	ck_assert_ptr_eq(take(56 * MIB), gone + 8 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 88 * MIB);
	prove();
}
END_TEST

/* A row frees some of the small holes; what lies free is all a request may use, but for `more`. */
static const struct {
	const char *holes;
	size_t more, wanted;
	char where;
	bool driver; /* has no more: it is not the limit */
} edges[] = {
	{ "", 0, 17, 'l', false }, /* 16 could move, and 7 stay where they are by the live one */
	{ "", 0, 20, 'l', false },
	{ "", 2, 18, 'f', false },   /* the largest hole is the first choice, if there is enough */
	{ "1", 0, 18, 'f', false },  /* a piece of one unit */
	{ "12", 0, 20, 'f', false }, /* two holes of one size */
	{ "s", 0, 18, 'f', false },  /* a small block's piece */
	{ "", 0, 17, 'l', true },    /* found out by asking */
	{ "", 0, 20, 'l', true },
};

/* [f 16] [void 16] [8] [1: 2] [2] [2: 2] [2] [1, l 7 in the same piece] [void] */
START_TEST(the_largest_hole_grows_if_there_is_enough_else_the_most_that_stays)
{
	void *first, *gone, *one, *two, *small, *last;

	first = take(16 * MIB);
	gone = take(16 * MIB);
	take(8 * MIB);
	one = take(2 * MIB);
	take(2 * MIB);
	two = take(2 * MIB);
	take(2 * MIB);
	give(take(8 * MIB));
	take(MIB);
	last = take(7 * MIB);
	limit_to(stats().physical_bytes + 2 * MIB); /* or it brings more than it needs */
	small = take(1000);
	ck_assert_uint_eq(stats().physical_bytes, 58 * MIB);
	give(gone);
	give_back_free();
	give(first);
	give(last);
	if (strchr(edges[_i].holes, '1'))
		give(one);
	if (strchr(edges[_i].holes, '2'))
		give(two);
	if (strchr(edges[_i].holes, 's'))
		give(small);
	if (edges[_i].driver)
		inner->properties.total_bytes = stats().physical_bytes;
	limit_to(edges[_i].driver ? 0 : stats().physical_bytes + edges[_i].more * MIB);
	ck_assert_ptr_eq(take(edges[_i].wanted * MIB), edges[_i].where == 'f' ? first : last);
	prove();
}
END_TEST

/*
 * [f 16] [void 40] [2], three pieces of [7 free, 1] and one of [1, 7 free]: no edge can be filled with
 * the 16 that could move and the 12 that may be new. The one that needs the least memory grows: the
 * last hole, of which nothing could move.
 */
START_TEST(where_nothing_is_enough_the_most_that_stays_decides)
{
	void *first = take(16 * MIB), *gone = take(40 * MIB), *parts[4];

	take(2 * MIB);
	give(gone);
	give_back_free();
	for (int i = 0; i < 4; i++) {
		give(take(8 * MIB));
		if (i == 3)
			take(MIB);
		parts[i] = take(7 * MIB);
		if (i < 3)
			take(MIB);
	}
	give(first);
	for (int i = 0; i < 4; i++)
		give(parts[i]);
	ck_assert_uint_eq(stats().physical_bytes, 50 * MIB);
	ck_assert_ptr_eq(take(54 * MIB), parts[3]);
	ck_assert_uint_eq(stats().physical_bytes, 82 * MIB);
	prove();
}
END_TEST

START_TEST(a_narrow_void_is_used_once_the_range_is_half_full)
{
	char *a, *between;

	fresh_pool(1024 * MIB, 64 * MIB, NULL);
	a = take(16 * MIB);
	between = take(16 * MIB);
	take(8 * MIB);
	give(between);
	give_back_free();
	ck_assert_ptr_eq(take(12 * MIB), between);
	ck_assert_ptr_eq(a + 16 * MIB, between);
	prove();
}
END_TEST

START_TEST(a_range_that_is_full_says_so)
{
	fresh_pool(1024 * MIB, 64 * MIB, NULL);
	take(24 * MIB);
	ck_assert_int_eq(try_to_take(48 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().physical_bytes, 24 * MIB);
	take(40 * MIB);
	ck_assert_int_eq(try_to_take(2 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().failures, 2);
}
END_TEST

/* Its own addresses and its alignment's: all that can be missing, and no more. */
START_TEST(an_alignment_over_the_pieces_is_paid_once)
{
	char *end = (char *)take(2 * MIB) + 2 * MIB;
	size_t alignment = 4 * MIB, before;
	void *block = NULL;

	if ((uintptr_t)end % alignment == 0)
		end = (char *)take(2 * MIB) + 2 * MIB;
	if (_i == 1) /* far from the next one */
		for (alignment = 512 * MIB;
		     mam_round_up((uintptr_t)end, alignment) - (uintptr_t)end < 200 * MIB;)
			end = (char *)take(100 * MIB) + 100 * MIB;
	before = stats().physical_bytes;
	ck_assert_int_eq(mam_pool_alloc(pool, 5 * MIB, alignment, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % alignment, 0);
	ck_assert_uint_eq(stats().physical_bytes,
			  before + mam_round_up(5 * MIB + alignment, 2 * MIB));
	prove();
}
END_TEST

/* ---- what it grows by ---- */

START_TEST(memory_is_new_while_less_is_held_than_was_needed_once)
{
	void *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = take(32 * MIB);
	give(blocks[0]);
	give_back_free();
	give(blocks[1]);
	give(blocks[3]);
	take(48 * MIB); /* 96 are held, 128 were needed */
	ck_assert_uint_eq(stats().remaps, 0);
	ck_assert_uint_eq(stats().physical_bytes, 112 * MIB);
	prove();
}
END_TEST

/* With `_i`, of a block that is retired: it needs its memory as a live one does. */
START_TEST(only_what_the_budget_lacks_is_moved)
{
	void *blocks[32];
	uint64_t ticket;
	size_t bytes;

	for (int i = 0; i < 32; i++)
		blocks[i] = take(2 * MIB);
	for (int i = 0; i < 32; i += 2)
		give(blocks[i]);
	if (_i == 1)
		ck_assert_int_eq(mam_pool_set_aside(pool, blocks[1], &ticket, &bytes), MAM_OK);
	take(40 * MIB);
	/* 72 needed, 74 may be held. */
	ck_assert_uint_eq(stats().physical_bytes, 74 * MIB);
	ck_assert_uint_eq(stats().remaps, 15);
	prove();
}
END_TEST

START_TEST(the_smallest_piece_that_is_enough_moves)
{
	void *four = take(4 * MIB), *eight, *gone;

	take(2 * MIB);
	eight = take(8 * MIB);
	take(2 * MIB);
	gone = take(24 * MIB);
	give(gone);
	give_back_free();
	give(four);
	give(eight);
	take(30 * MIB); /* 26 may be new */
	ck_assert_uint_eq(stats().remaps, 1);
	ck_assert_uint_eq(stats().physical_bytes, 42 * MIB);
	prove();
}
END_TEST

START_TEST(new_pieces_are_no_larger_than_growth_policy_says)
{
	take(20 * MIB);
	ck_assert_uint_eq(made[MAP], 3); /* 8, 8, 4 */
	take(480 * MIB);
	ck_assert_uint_eq(made[MAP], 3 + 12); /* 40 each: a sixth of the mean of both */
}
END_TEST

/* 1126 MiB with holes of 64 (one piece) and, at the void, of 60. */
static void make_wide_piece(void)
{
	void *wide, *end;

	take(1000 * MIB);
	wide = take(64 * MIB);
	take(2 * MIB);
	end = take(60 * MIB);
	give(wide);
	give(end);
	ck_assert_uint_eq(stats().physical_bytes, 1126 * MIB);
}

START_TEST(a_piece_that_is_much_too_wide_is_given_back_for_a_smaller_one)
{
	make_wide_piece();
	take(72 * MIB); /* 12 more */
	ck_assert_uint_eq(stats().physical_bytes, 1074 * MIB);
	ck_assert_uint_eq(stats().remaps, 0);
	prove();
}
END_TEST

START_TEST(at_the_limit_it_moves_as_it_is)
{
	make_wide_piece();
	limit_to(1126 * MIB);
	take(_i == 0 ? 72 * MIB : 70 * MIB); /* more than the budget allows, and as much */
	ck_assert_uint_eq(made[UNMAP], 0);
	ck_assert_uint_eq(stats().remaps, 1);
	prove();
}
END_TEST

START_TEST(where_the_driver_has_no_more_it_moves_as_it_is)
{
	fresh_pool(1126 * MIB, 0, NULL);
	make_wide_piece();
	take(70 * MIB); /* the budget allows as much, the driver does not */
	ck_assert_uint_eq(made[UNMAP], 0);
	ck_assert_uint_eq(stats().remaps, 1);
	prove();
}
END_TEST

/* [80] [void 4] [live 4] [80, in pieces of 8] [live 4]: no piece is as narrow as the void. */
START_TEST(a_piece_wider_than_the_void_is_broken_up)
{
	void *hole = take(80 * MIB), *gone = take(4 * MIB), *other;

	take(4 * MIB);
	other = take(80 * MIB);
	take(4 * MIB);
	give(gone);
	give_back_free();
	if (_i == 0)
		limit_to(stats().physical_bytes);
	else /* the driver has no more */
		inner->properties.total_bytes = stats().physical_bytes;
	give(hole);
	give(other);
	ck_assert_ptr_eq(take(84 * MIB), hole);
	ck_assert_uint_eq(stats().physical_bytes, 164 * MIB);
	ck_assert_uint_eq(made[UNMAP], 1 + 1);
	prove();
}
END_TEST

START_TEST(a_request_beyond_all_there_is_moves_nothing)
{
	void *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = take(32 * MIB);
	give(blocks[0]);
	give(blocks[2]);
	limit_to(132 * MIB);
	ck_assert_int_eq(try_to_take(70 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(made[MOVE] + made[UNMAP], 0);
	ck_assert_int_eq(try_to_take(68 * MIB), MAM_OK);
}
END_TEST

START_TEST(a_limit_within_a_unit_and_one_that_fell_are_kept)
{
	limit_to(65 * MIB);
	take(64 * MIB);
	ck_assert_int_eq(try_to_take(1000), MAM_ERROR_OUT_OF_MEMORY);
	limit_to(32 * MIB);
	ck_assert_int_eq(try_to_take(2 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
}
END_TEST

START_TEST(a_small_request_brings_no_more_than_a_piece)
{
	for (int i = 0; i < 51; i++)
		take(40 * MIB);
	take(1000); /* the budget is 20 more */
	ck_assert_uint_eq(stats().physical_bytes, 2048 * MIB);
}
END_TEST

START_TEST(a_small_request_takes_the_little_the_driver_has)
{
	fresh_pool(1026 * MIB, 0, NULL);
	take(1024 * MIB);
	take(1000); /* the budget is 1034 */
	ck_assert_uint_eq(stats().physical_bytes, 1026 * MIB);
	prove();
}
END_TEST

/* Steps of 64, and pieces of 40, of which the driver has none left: what is lacking will do. */
START_TEST(a_driver_with_less_than_a_step_gives_what_is_lacking)
{
	struct mam_pool_config config = config_of(64 * MIB, 0, 0);
	unsigned int calls;
	void *gone;

	fresh_pool(530 * MIB, 0, &config);
	take(470 * MIB);
	give_back_free();
	gone = take(26 * MIB); /* one piece of a step that is more than there is */
	ck_assert_uint_eq(stats().physical_bytes, 510 * MIB);
	take(30 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 526 * MIB);
	give(gone);
	calls = made[MAP];
	ck_assert_int_eq(try_to_take(34 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_le(made[MAP], calls + 2); /* told so twice, it is believed */
	take(26 * MIB);
	prove();
}
END_TEST

START_TEST(growth_comes_in_the_steps_asked_for)
{
	struct mam_pool_config config = config_of(63 * MIB, 0, 0);

	fresh_pool((size_t)8 << 30, 0, &config);
	take(MIB);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
	take(62 * MIB);
	take(2 * MIB); /* what is left is 1 */
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	/* a range with no room for a step */
	fresh_pool((size_t)8 << 30, 32 * MIB, &config);
	take(MIB);
	ck_assert_uint_eq(stats().physical_bytes, 2 * MIB);
	/* a limit that leaves less than a step */
	config.limit_bytes = 74 * MIB;
	fresh_pool((size_t)8 << 30, 0, &config);
	take(60 * MIB);
	take(8 * MIB);
	ck_assert_uint_le(stats().physical_bytes, 74 * MIB);
	prove();
}
END_TEST

/* ---- all of it ---- */

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool add_free_pieces(const struct mam_segment_info *segment, void *user)
{
	uint64_t from = (uintptr_t)segment->base, end = from + segment->bytes;
	struct mam_piece piece;

	if (segment->live || segment->retired)
		return true;
	for (int i = 0; i < MAM_RANGE_PARTS; i++) {
		const struct mam_pieces *pieces = &pool->range->part[i].pieces;

		if (from < pieces->base ||
		    end > pieces->base + (pieces->units << pieces->unit_shift))
			continue;
		for (; mam_pieces_first(pieces, from, end, &piece); from = piece.base + piece.bytes)
			*(uint64_t *)user += piece.bytes;
	}
	return true;
}

/*
 * What fits the free pieces and what may still be had is served, in whatever places they are: by the
 * limit, or by what the driver has.
 */
START_TEST(a_random_run_is_served_to_the_last_unit)
{
	enum { SLOTS = 48 };
	const uint64_t all = 700 * MIB;
	void *blocks[SLOTS] = { NULL };
	uint64_t state = 88172645463325252u + (uint64_t)_i * 977;
	unsigned int failed = 0;

	fresh_pool(_i % 2 ? all : (size_t)8 << 30, 0, NULL);
	limit_to(_i % 2 ? 0 : all);
	for (int i = 0; i < 3000; i++) {
		unsigned int slot = (unsigned int)(next(&state) % SLOTS);
		size_t bytes = ((size_t)4096 << next(&state) % 16) + next(&state) % MIB;
		uint64_t have = 0;
		enum mam_status status;

		if (blocks[slot]) {
			give(blocks[slot]);
			blocks[slot] = NULL;
			continue;
		}
		ck_assert_int_eq(mam_pool_walk(pool, add_free_pieces, &have), MAM_OK);
		have += all - stats().physical_bytes;
		status = mam_pool_alloc(pool, bytes, 0, &blocks[slot]);
		ck_assert_msg(status == MAM_OK || bytes > have,
			      "step %d: %zu bytes are refused while %llu could be had", i, bytes,
			      (unsigned long long)have);
		failed += status != MAM_OK;
		ck_assert_uint_le(stats().physical_bytes, all);
		if (i % 20 == 0)
			prove();
		if (i % 97 == 0)
			ck_assert_int_eq(mam_pool_trim(pool, next(&state) % all, NULL), MAM_OK);
	}
	ck_assert_uint_gt(failed, 0);
	ck_assert_uint_gt(stats().remaps, 10);
}
END_TEST

int main(void)
{
	TCase *tcase = mapped_begin("pool/edges");

	tcase_add_test(tcase, a_hole_grows_up_to_what_it_lacks);
	tcase_add_test(tcase, a_hole_grows_down_into_the_void_below_it);
	tcase_add_loop_test(tcase,
			    the_largest_hole_grows_if_there_is_enough_else_the_most_that_stays, 0,
			    (int)(sizeof(edges) / sizeof(edges[0])));
	tcase_add_test(tcase, where_nothing_is_enough_the_most_that_stays_decides);
	tcase_add_test(tcase, a_narrow_void_is_used_once_the_range_is_half_full);
	tcase_add_test(tcase, a_range_that_is_full_says_so);
	tcase_add_loop_test(tcase, an_alignment_over_the_pieces_is_paid_once, 0, 2);
	tcase_add_test(tcase, memory_is_new_while_less_is_held_than_was_needed_once);
	tcase_add_loop_test(tcase, only_what_the_budget_lacks_is_moved, 0, 2);
	tcase_add_test(tcase, the_smallest_piece_that_is_enough_moves);
	tcase_add_test(tcase, new_pieces_are_no_larger_than_growth_policy_says);
	tcase_add_test(tcase, a_piece_that_is_much_too_wide_is_given_back_for_a_smaller_one);
	tcase_add_loop_test(tcase, at_the_limit_it_moves_as_it_is, 0, 2);
	tcase_add_test(tcase, where_the_driver_has_no_more_it_moves_as_it_is);
	tcase_add_loop_test(tcase, a_piece_wider_than_the_void_is_broken_up, 0, 2);
	tcase_add_test(tcase, a_request_beyond_all_there_is_moves_nothing);
	tcase_add_test(tcase, a_limit_within_a_unit_and_one_that_fell_are_kept);
	tcase_add_test(tcase, a_small_request_brings_no_more_than_a_piece);
	tcase_add_test(tcase, a_small_request_takes_the_little_the_driver_has);
	tcase_add_test(tcase, a_driver_with_less_than_a_step_gives_what_is_lacking);
	tcase_add_test(tcase, growth_comes_in_the_steps_asked_for);
	tcase_add_loop_test(tcase, a_random_run_is_served_to_the_last_unit, 0, 4);
	return mapped_end();
}
