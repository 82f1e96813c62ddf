/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth on a source that maps memory in pieces: which free block grows, and from which memory.
 * Edges, budgets, limits and pieces that are too wide. Every request that fits the free memory is
 * served.
 */
#include "mapped.h"

/* ---- edges ---- */

START_TEST(free_block_grows_upward_by_missing_bytes)
{
	char *below = alloc(8 * MIB), *free_block = alloc(32 * MIB), *between = alloc(32 * MIB);

	alloc(8 * MIB);
	dealloc(between);
	trim_all();
	dealloc(free_block);
	ck_assert_ptr_eq(alloc(64 * MIB), free_block); /* all of the unmapped addresses between */
	ck_assert_uint_eq(stats().physical_bytes, 80 * MIB);
	ck_assert_ptr_eq(below + 8 * MIB, free_block);
	prove();
}
END_TEST

START_TEST(free_block_grows_downward_into_unmapped)
{
	char *gone = alloc(32 * MIB), *free_block = alloc(32 * MIB);

	alloc(32 * MIB);
	dealloc(gone);
	trim_all();
	dealloc(free_block);
	ck_assert_ptr_eq(alloc(56 * MIB), gone + 8 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 88 * MIB);
	prove();
}
END_TEST

/* A row frees some of the small blocks; a request may use only free memory and `more`. */
static const struct {
	const char *free_blocks;
	size_t more, wanted;
	char where;
	bool driver; /* the driver has no more memory, instead of a limit */
} edges[] = {
	{ "", 0, 17, 'l',
	  false }, /* 16 could move, and 7 stay where they are beside the live block */
	{ "", 0, 20, 'l', false },
	{ "", 2, 18, 'f',
	  false }, /* the largest free block is the first choice, if the memory suffices */
	{ "1", 0, 18, 'f', false },  /* a piece of one unit */
	{ "12", 0, 20, 'f', false }, /* two free blocks of the same size */
	{ "s", 0, 18, 'f', false },  /* a small block's piece */
	{ "", 0, 17, 'l', true },    /* found out by a refused call */
	{ "", 0, 20, 'l', true },
};

/* [f 16] [unmapped 16] [8] [1: 2] [2] [2: 2] [2] [1, l 7 in the same piece] [unmapped] */
START_TEST(largest_free_block_grows_if_memory_suffices)
{
	void *first, *gone, *one, *two, *small, *last;

	first = alloc(16 * MIB);
	gone = alloc(16 * MIB);
	alloc(8 * MIB);
	one = alloc(2 * MIB);
	alloc(2 * MIB);
	two = alloc(2 * MIB);
	alloc(2 * MIB);
	dealloc(alloc(8 * MIB));
	alloc(MIB);
	last = alloc(7 * MIB);
	limit_to(stats().physical_bytes + 2 * MIB); /* otherwise it maps more than it needs */
	small = alloc(1000);
	ck_assert_uint_eq(stats().physical_bytes, 58 * MIB);
	dealloc(gone);
	trim_all();
	dealloc(first);
	dealloc(last);
	if (strchr(edges[_i].free_blocks, '1'))
		dealloc(one);
	if (strchr(edges[_i].free_blocks, '2'))
		dealloc(two);
	if (strchr(edges[_i].free_blocks, 's'))
		dealloc(small);
	if (edges[_i].driver)
		inner->properties.total_bytes = stats().physical_bytes;
	limit_to(edges[_i].driver ? 0 : stats().physical_bytes + edges[_i].more * MIB);
	ck_assert_ptr_eq(alloc(edges[_i].wanted * MIB), edges[_i].where == 'f' ? first : last);
	prove();
}
END_TEST

/*
 * [f 16] [unmapped 40] [2], three pieces of [7 free, 1] and one of [1, 7 free]: no edge can be
 * filled with the 16 that could move and the 12 that may be new. The edge that needs the least
 * memory grows: the last free block, none of which could move.
 */
START_TEST(edge_with_most_unmovable_memory_grows)
{
	void *first = alloc(16 * MIB), *gone = alloc(40 * MIB), *parts[4];

	alloc(2 * MIB);
	dealloc(gone);
	trim_all();
	for (int i = 0; i < 4; i++) {
		dealloc(alloc(8 * MIB));
		if (i == 3)
			alloc(MIB);
		parts[i] = alloc(7 * MIB);
		if (i < 3)
			alloc(MIB);
	}
	dealloc(first);
	for (int i = 0; i < 4; i++)
		dealloc(parts[i]);
	ck_assert_uint_eq(stats().physical_bytes, 50 * MIB);
	ck_assert_ptr_eq(alloc(54 * MIB), parts[3]);
	ck_assert_uint_eq(stats().physical_bytes, 82 * MIB);
	prove();
}
END_TEST

START_TEST(narrow_unmapped_gap_is_used_in_half_full_range)
{
	char *a, *between;

	fresh_pool(1024 * MIB, 64 * MIB, NULL);
	a = alloc(16 * MIB);
	between = alloc(16 * MIB);
	alloc(8 * MIB);
	dealloc(between);
	trim_all();
	ck_assert_ptr_eq(alloc(12 * MIB), between);
	ck_assert_ptr_eq(a + 16 * MIB, between);
	prove();
}
END_TEST

START_TEST(full_range_returns_out_of_memory)
{
	fresh_pool(1024 * MIB, 64 * MIB, NULL);
	alloc(24 * MIB);
	ck_assert_int_eq(try_alloc(48 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().physical_bytes, 24 * MIB);
	alloc(40 * MIB);
	ck_assert_int_eq(try_alloc(2 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().failures, 2);
}
END_TEST

/* Only the block's own addresses and those for its alignment can be missing, and no more. */
START_TEST(alignment_above_piece_size_is_padded_once)
{
	char *end = (char *)alloc(2 * MIB) + 2 * MIB;
	size_t alignment = 4 * MIB, before;
	void *block = NULL;

	if ((uintptr_t)end % alignment == 0)
		end = (char *)alloc(2 * MIB) + 2 * MIB;
	if (_i == 1) /* far from the next multiple */
		for (alignment = 512 * MIB;
		     mam_round_up((uintptr_t)end, alignment) - (uintptr_t)end < 200 * MIB;)
			end = (char *)alloc(100 * MIB) + 100 * MIB;
	before = stats().physical_bytes;
	ck_assert_int_eq(mam_pool_alloc(pool, 5 * MIB, alignment, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % alignment, 0);
	ck_assert_uint_eq(stats().physical_bytes,
			  before + mam_round_up(5 * MIB + alignment, 2 * MIB));
	prove();
}
END_TEST

/* ---- growth from new or moved memory ---- */

START_TEST(memory_is_new_below_former_peak)
{
	void *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(32 * MIB);
	dealloc(blocks[0]);
	trim_all();
	dealloc(blocks[1]);
	dealloc(blocks[3]);
	alloc(48 * MIB); /* 96 are mapped, 128 were needed */
	ck_assert_uint_eq(stats().remaps, 0);
	ck_assert_uint_eq(stats().physical_bytes, 112 * MIB);
	prove();
}
END_TEST

/* With `_i` 1, a block is retired: it needs its memory as a live one does. */
START_TEST(only_bytes_over_budget_are_moved)
{
	void *blocks[32];
	uint64_t ticket;
	size_t bytes;

	for (int i = 0; i < 32; i++)
		blocks[i] = alloc(2 * MIB);
	for (int i = 0; i < 32; i += 2)
		dealloc(blocks[i]);
	if (_i == 1)
		ck_assert_int_eq(mam_pool_set_aside(pool, blocks[1], &ticket, &bytes), MAM_OK);
	alloc(40 * MIB);
	/* 72 needed, 74 may be mapped. */
	ck_assert_uint_eq(stats().physical_bytes, 74 * MIB);
	ck_assert_uint_eq(stats().remaps, 15);
	prove();
}
END_TEST

START_TEST(smallest_sufficient_piece_moves)
{
	void *four = alloc(4 * MIB), *eight, *gone;

	alloc(2 * MIB);
	eight = alloc(8 * MIB);
	alloc(2 * MIB);
	gone = alloc(24 * MIB);
	dealloc(gone);
	trim_all();
	dealloc(four);
	dealloc(eight);
	alloc(30 * MIB); /* 26 may be new */
	ck_assert_uint_eq(stats().remaps, 1);
	ck_assert_uint_eq(stats().physical_bytes, 42 * MIB);
	prove();
}
END_TEST

START_TEST(new_piece_size_follows_growth_policy)
{
	alloc(20 * MIB);
	ck_assert_uint_eq(made[MAP], 3); /* 8, 8, 4 */
	alloc(480 * MIB);
	ck_assert_uint_eq(made[MAP], 3 + 12); /* 40 each: a sixth of the mean of both */
}
END_TEST

/* 1126 MiB with free blocks of 64 (one piece) and, next to unmapped addresses, of 60. */
static void make_wide_piece(void)
{
	void *wide, *end;

	alloc(1000 * MIB);
	wide = alloc(64 * MIB);
	alloc(2 * MIB);
	end = alloc(60 * MIB);
	dealloc(wide);
	dealloc(end);
	ck_assert_uint_eq(stats().physical_bytes, 1126 * MIB);
}

START_TEST(too_wide_piece_is_released_for_smaller_one)
{
	make_wide_piece();
	alloc(72 * MIB); /* 12 more */
	ck_assert_uint_eq(stats().physical_bytes, 1074 * MIB);
	ck_assert_uint_eq(stats().remaps, 0);
	prove();
}
END_TEST

START_TEST(wide_piece_moves_whole_at_limit)
{
	make_wide_piece();
	limit_to(1126 * MIB);
	alloc(_i == 0 ? 72 * MIB : 70 * MIB); /* 72 exceeds the budget, 70 is exactly the budget */
	ck_assert_uint_eq(made[UNMAP], 0);
	ck_assert_uint_eq(stats().remaps, 1);
	prove();
}
END_TEST

START_TEST(wide_piece_moves_whole_if_driver_is_full)
{
	fresh_pool(1126 * MIB, 0, NULL);
	make_wide_piece();
	alloc(70 * MIB); /* the budget allows it, the driver does not */
	ck_assert_uint_eq(made[UNMAP], 0);
	ck_assert_uint_eq(stats().remaps, 1);
	prove();
}
END_TEST

/* [80] [unmapped 4] [live 4] [80, in pieces of 8] [live 4]: no piece is as narrow as the gap. */
START_TEST(piece_wider_than_gap_is_replaced)
{
	void *free_block = alloc(80 * MIB), *gone = alloc(4 * MIB), *other;

	alloc(4 * MIB);
	other = alloc(80 * MIB);
	alloc(4 * MIB);
	dealloc(gone);
	trim_all();
	if (_i == 0)
		limit_to(stats().physical_bytes);
	else /* the driver has no more */
		inner->properties.total_bytes = stats().physical_bytes;
	dealloc(free_block);
	dealloc(other);
	ck_assert_ptr_eq(alloc(84 * MIB), free_block);
	ck_assert_uint_eq(stats().physical_bytes, 164 * MIB);
	ck_assert_uint_eq(made[UNMAP], 1 + 1);
	prove();
}
END_TEST

START_TEST(request_over_all_memory_moves_nothing)
{
	void *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(32 * MIB);
	dealloc(blocks[0]);
	dealloc(blocks[2]);
	limit_to(132 * MIB);
	ck_assert_int_eq(try_alloc(70 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(made[MOVE] + made[UNMAP], 0);
	ck_assert_int_eq(try_alloc(68 * MIB), MAM_OK);
}
END_TEST

START_TEST(unaligned_limit_and_lowered_limit_are_kept)
{
	limit_to(65 * MIB);
	alloc(64 * MIB);
	ck_assert_int_eq(try_alloc(1000), MAM_ERROR_OUT_OF_MEMORY);
	limit_to(32 * MIB);
	ck_assert_int_eq(try_alloc(2 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
}
END_TEST

START_TEST(small_request_maps_at_most_one_piece)
{
	for (int i = 0; i < 51; i++)
		alloc(40 * MIB);
	alloc(1000); /* the budget allows 20 more */
	ck_assert_uint_eq(stats().physical_bytes, 2048 * MIB);
}
END_TEST

START_TEST(small_request_maps_last_driver_memory)
{
	fresh_pool(1026 * MIB, 0, NULL);
	alloc(1024 * MIB);
	alloc(1000); /* the budget is 1034 */
	ck_assert_uint_eq(stats().physical_bytes, 1026 * MIB);
	prove();
}
END_TEST

/*
 * Growth in steps of 64 and pieces of 40, when the driver has less than that left: the missing
 * bytes suffice.
 */
START_TEST(missing_bytes_are_mapped_if_step_is_refused)
{
	struct mam_pool_config config = config_of(64 * MIB, 0, 0);
	unsigned int calls;
	void *gone;

	fresh_pool(530 * MIB, 0, &config);
	alloc(470 * MIB);
	trim_all();
	gone = alloc(26 * MIB); /* one piece of a step that exceeds the driver's memory */
	ck_assert_uint_eq(stats().physical_bytes, 510 * MIB);
	alloc(30 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 526 * MIB);
	dealloc(gone);
	calls = made[MAP];
	ck_assert_int_eq(try_alloc(34 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_le(made[MAP], calls + 2); /* after two refusals the pool stops */
	alloc(26 * MIB);
	prove();
}
END_TEST

START_TEST(growth_uses_configured_step)
{
	struct mam_pool_config config = config_of(63 * MIB, 0, 0);

	fresh_pool((size_t)8 << 30, 0, &config);
	alloc(MIB);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
	alloc(62 * MIB);
	alloc(2 * MIB); /* 1 is left */
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	/* a range with no room for a step */
	fresh_pool((size_t)8 << 30, 32 * MIB, &config);
	alloc(MIB);
	ck_assert_uint_eq(stats().physical_bytes, 2 * MIB);
	/* a limit that leaves less than a step */
	config.limit_bytes = 74 * MIB;
	fresh_pool((size_t)8 << 30, 0, &config);
	alloc(60 * MIB);
	alloc(8 * MIB);
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
 * The pool serves every request that fits the free pieces plus the memory that it may still map,
 * wherever they are. The bound is the limit, or the driver's memory.
 */
START_TEST(random_requests_are_served_to_last_unit)
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
			dealloc(blocks[slot]);
			blocks[slot] = NULL;
			continue;
		}
		ck_assert_int_eq(mam_pool_walk(pool, add_free_pieces, &have), MAM_OK);
		have += all - stats().physical_bytes;
		status = mam_pool_alloc(pool, bytes, 0, &blocks[slot]);
		ck_assert_msg(status == MAM_OK || bytes > have,
			      "step %d: %zu bytes are refused while %llu are available", i, bytes,
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

	tcase_add_test(tcase, free_block_grows_upward_by_missing_bytes);
	tcase_add_test(tcase, free_block_grows_downward_into_unmapped);
	tcase_add_loop_test(tcase, largest_free_block_grows_if_memory_suffices, 0,
			    (int)(sizeof(edges) / sizeof(edges[0])));
	tcase_add_test(tcase, edge_with_most_unmovable_memory_grows);
	tcase_add_test(tcase, narrow_unmapped_gap_is_used_in_half_full_range);
	tcase_add_test(tcase, full_range_returns_out_of_memory);
	tcase_add_loop_test(tcase, alignment_above_piece_size_is_padded_once, 0, 2);
	tcase_add_test(tcase, memory_is_new_below_former_peak);
	tcase_add_loop_test(tcase, only_bytes_over_budget_are_moved, 0, 2);
	tcase_add_test(tcase, smallest_sufficient_piece_moves);
	tcase_add_test(tcase, new_piece_size_follows_growth_policy);
	tcase_add_test(tcase, too_wide_piece_is_released_for_smaller_one);
	tcase_add_loop_test(tcase, wide_piece_moves_whole_at_limit, 0, 2);
	tcase_add_test(tcase, wide_piece_moves_whole_if_driver_is_full);
	tcase_add_loop_test(tcase, piece_wider_than_gap_is_replaced, 0, 2);
	tcase_add_test(tcase, request_over_all_memory_moves_nothing);
	tcase_add_test(tcase, unaligned_limit_and_lowered_limit_are_kept);
	tcase_add_test(tcase, small_request_maps_at_most_one_piece);
	tcase_add_test(tcase, small_request_maps_last_driver_memory);
	tcase_add_test(tcase, missing_bytes_are_mapped_if_step_is_refused);
	tcase_add_test(tcase, growth_uses_configured_step);
	tcase_add_loop_test(tcase, random_requests_are_served_to_last_unit, 0, 4);
	return mapped_end();
}
