/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps that map, release and move pieces, one by one: their results when another thread
 * allocated the piece meanwhile, when they wait for the device, and what the pool releases by
 * itself. Also a test of the check on which all tests of ranges rely.
 */
#include <unistd.h>

#include "mapped.h"
#include "index/addrtree.h"
#include "pool/remap.h"

static struct mam_edge edge_at(const void *address)
{
	return (struct mam_edge){ .part = MAM_RANGE_LARGE, .at = (uintptr_t)address };
}

START_TEST(best_fitting_piece_is_picked)
{
	static const size_t sizes[] = { 4, 8, 2, 6 };
	static const struct {
		uint64_t want, max, found;
	} picks[] = { { 4, 99, 4 }, { 5, 99, 6 }, { 7, 99, 8 }, { 9, 99, 8 }, { 9, 7, 6 },
		      { 9, 6, 6 },  { 1, 99, 2 }, { 2, 2, 2 },  { 2, 1, 0 } };
	struct mam_free_piece found;
	void *blocks[4];

	for (int i = 0; i < 4; i++) {
		blocks[i] = alloc(sizes[i] * MIB);
		alloc(2 * MIB);
	}
	for (int i = 0; i < 4; i++)
		dealloc(blocks[i]);
	ck_assert(mam_remap_pick(pool, NULL, picks[_i].want * MIB, picks[_i].max * MIB, &found) ==
		  (picks[_i].found != 0));
	ck_assert_uint_eq(found.piece.bytes, picks[_i].found * MIB);
	ck_assert_uint_eq(found.part, MAM_RANGE_LARGE);
}
END_TEST

/* The free block that is to grow keeps its pieces, on whichever side it grows. */
START_TEST(free_block_at_edge_keeps_its_pieces)
{
	struct mam_free_piece found;
	struct mam_edge edge;
	char *gone = alloc(8 * MIB), *free_block = alloc(16 * MIB), *between = alloc(8 * MIB);

	alloc(2 * MIB);
	dealloc(gone);
	dealloc(between);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	dealloc(free_block);
	edge = edge_at(free_block + 16 * MIB);
	edge.keep_from = (uintptr_t)free_block;
	edge.keep_to = edge.at;
	ck_assert(!mam_remap_pick(pool, &edge, MIB, UINT64_MAX, &found));
	edge = edge_at(free_block);
	edge.down = true;
	edge.keep_from = edge.at;
	edge.keep_to = (uintptr_t)free_block + 16 * MIB;
	ck_assert(!mam_remap_pick(pool, &edge, MIB, UINT64_MAX, &found));
	ck_assert(mam_remap_pick(pool, NULL, MIB, UINT64_MAX, &found));
}
END_TEST

/*
 * 32 MiB free in four pieces, in use by the device as far as the pool knows; `end` is followed by
 * unmapped addresses.
 */
static char *free_block, *end;

static void make_free_block(struct mam_free_piece *found)
{
	make_stream_pool(0);
	free_block = alloc(32 * MIB);
	end = (char *)alloc(32 * MIB) + 32 * MIB;
	dealloc(free_block);
	ck_assert(mam_remap_pick(pool, NULL, 8 * MIB, UINT64_MAX, found));
	ck_assert_ptr_eq((char *)(uintptr_t)found->piece.base, free_block);
}

START_TEST(allocated_piece_is_not_moved_or_released)
{
	struct mam_free_piece found;
	struct mam_edge edge;
	void *block;

	make_free_block(&found);
	edge = edge_at(end);
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, false), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_remap_release(pool, &found, false), MAM_ERROR_WOULD_WAIT);
	if (_i == 2) { /* its front is still free */
		void *front = alloc(2 * MIB);

		block = alloc(4 * MIB);
		dealloc(front);
	} else { /* its front is allocated, or all of it */
		block = alloc(_i == 0 ? MIB + 512 : 20 * MIB);
	}
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, true), MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_eq((char *)(uintptr_t)edge.at, end);
	ck_assert_int_eq(mam_remap_release(pool, &found, true), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(made[QUIESCE] + made[MOVE] + made[UNMAP], 0);
	prove();
	/* For another piece, the pool still knows that it has to wait. */
	ck_assert(mam_remap_pick(pool, NULL, 8 * MIB, UINT64_MAX, &found));
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, true), MAM_OK);
	ck_assert_uint_eq(made[QUIESCE], 1);
	ck_assert_ptr_eq((char *)(uintptr_t)edge.at, end + 8 * MIB);
	prove();
	dealloc(block);
}
END_TEST

/* From the middle of a free block: three splits, with no record left for any. */
START_TEST(metadata_grows_before_piece_is_split)
{
	struct mam_records *records;
	struct mam_free_piece found;
	struct mam_edge edge;
	uint32_t *used;
	size_t count = 0;

	make_free_block(&found);
	records = &pool->segments; /* of the pool that make_free_block() made */
	edge = edge_at(end);
	found.piece.base += found.piece.bytes;
	used = calloc(records->capacity, sizeof(*used));
	ck_assert_ptr_nonnull(used);
	while (records->idle_count + records->capacity > records->touched)
		used[count++] = mam_records_take(records);
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, true), MAM_OK);
	ck_assert_uint_le(records->touched, records->capacity);
	while (count > 0)
		mam_records_put(records, used[--count]);
	free(used);
	prove();
}
END_TEST

START_TEST(nothing_is_mapped_without_unmapped_addresses)
{
	struct mam_free_piece found;
	struct mam_edge edge;

	make_free_block(&found);
	edge = edge_at(end - 32 * MIB); /* a block uses it */
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, true), MAM_ERROR_WOULD_WAIT);
	prove();
	ck_assert_int_eq(mam_remap_fresh(pool, &edge, 8 * MIB), MAM_ERROR_WOULD_WAIT);
	prove();
	edge = edge_at(end - 8 * MIB); /* a block uses half of it */
	ck_assert_int_eq(mam_remap_fresh(pool, &edge, 16 * MIB), MAM_ERROR_WOULD_WAIT);
	prove();
	ck_assert_uint_eq(made[MOVE], 0);
	ck_assert_uint_eq(stats().physical_bytes, 64 * MIB);
}
END_TEST

START_TEST(end_of_range_can_be_mapped)
{
	const struct mam_pieces *pieces = &pool->range->part[MAM_RANGE_LARGE].pieces;
	struct mam_edge edge;

	edge = edge_at((char *)(uintptr_t)(pieces->base + (pieces->units << pieces->unit_shift)));
	edge.down = true;
	ck_assert_int_eq(mam_remap_fresh(pool, &edge, 8 * MIB), MAM_OK);
	ck_assert_int_eq(mam_remap_fresh(pool, &edge, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 12 * MIB);
	ck_assert_uint_eq(stats().largest_free_bytes, 12 * MIB);
	prove();
}
END_TEST

static void check_wait_came_first(enum call call)
{
	if (call == UNMAP || call == MOVE)
		ck_assert_uint_eq(made[QUIESCE], 1);
}

START_TEST(pieces_are_released_after_one_wait)
{
	void *other;

	make_stream_pool(0);
	other = alloc(24 * MIB);
	dealloc(alloc(32 * MIB));
	dealloc(other);
	meanwhile = check_wait_came_first;
	ck_assert_int_eq(mam_pool_trim(pool, 32 * MIB, NULL), MAM_OK);
	ck_assert_uint_gt(made[UNMAP], 0);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(made[QUIESCE], 1);
	ck_assert_uint_eq(stats().physical_bytes, 0);
}
END_TEST

START_TEST(failed_wait_releases_nothing)
{
	make_stream_pool(0);
	dealloc(alloc(32 * MIB));
	refuse_at[QUIESCE] = 1;
	refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(made[UNMAP], 0);
	prove();
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(made[QUIESCE], 2);
	ck_assert_uint_eq(stats().physical_bytes, 0);
	prove();
}
END_TEST

START_TEST(failed_wait_keeps_free_block_whole)
{
	struct mam_free_piece found;
	struct mam_edge edge;

	make_free_block(&found);
	edge = edge_at(end);
	refuse_at[QUIESCE] = 1;
	refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, true), MAM_ERROR_DRIVER);
	prove();
	/* The unmapped addresses there are one segment. */
	ck_assert_ptr_eq((char *)alloc(40 * MIB), end);
}
END_TEST

static void make_sparing(size_t spare)
{
	struct mam_pool_config sparing = { .free_policy = MAM_FREE_STREAM,
					   .spare_bytes = spare,
					   .name = "sparing" };

	fresh_pool((size_t)8 << 30, 0, &sparing);
}

/* Retired memory is in use: it is neither free nor spare. */
START_TEST(spare_counts_free_memory_only)
{
	void *blocks[4];
	uint64_t ticket;
	size_t bytes;

	make_sparing(40 * MIB);
	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(32 * MIB);
	ck_assert_int_eq(mam_pool_set_aside(pool, blocks[3], &ticket, &bytes), MAM_OK);
	dealloc(blocks[0]);
	dealloc(blocks[1]);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB); /* 64 is less than twice the spare */
	dealloc(blocks[2]);
	ck_assert_uint_eq(stats().physical_bytes, 72 * MIB);
	prove();
}
END_TEST

/* Pieces of 8 MiB, of which 7 are free. */
static void make_stuck(int pieces)
{
	void *free_parts[8];

	for (int i = 0; i < pieces; i++) {
		dealloc(alloc(8 * MIB));
		free_parts[i] = alloc(7 * MIB);
		alloc(MIB);
	}
	for (int i = 0; i < pieces; i++)
		dealloc(free_parts[i]);
	prove();
}

/*
 * Memory that could not be released at one attempt, less the spare, raises the threshold of the
 * next.
 */
START_TEST(unreleasable_memory_raises_spare_threshold)
{
	static const struct {
		int stuck;
		size_t first, then;
		unsigned int unmapped;
	} rows[] = {
		{ 6, 0, 8, 0 },   /* 35 stayed at a threshold of 32: now 51; 50 are free */
		{ 6, 0, 10, 2 },  /* 52 are free */
		{ 3, 16, 13, 2 }, /* 16 of 37 were released, 21 stayed: now 37; 35 are free */
		{ 3, 16, 16, 4 },
	};

	make_sparing(16 * MIB);
	make_stuck(rows[_i].stuck);
	if (rows[_i].first)
		dealloc(alloc(rows[_i].first * MIB));
	dealloc(alloc(rows[_i].then * MIB));
	ck_assert_uint_eq(made[UNMAP], rows[_i].unmapped);
	prove();
}
END_TEST

START_TEST(unlimited_spare_is_never_released)
{
	make_sparing((size_t)1 << 63);
	dealloc(alloc(512 * MIB));
	ck_assert_uint_eq(stats().physical_bytes, 512 * MIB);
}
END_TEST

START_TEST(blocks_from_one_mebibyte_use_large_range)
{
	static const struct {
		size_t bytes;
		enum mam_range_part_id part;
	} sizes[] = { { MIB, MAM_RANGE_LARGE }, { MIB - 512, MAM_RANGE_SMALL } };
	const struct mam_pieces *pieces = &pool->range->part[sizes[_i].part].pieces;

	ck_assert_uint_lt((uintptr_t)alloc(sizes[_i].bytes) - pieces->base,
			  pieces->units << pieces->unit_shift);
}
END_TEST

/* ---- the check ---- */

static struct mam_segment *segment_of(const void *address)
{
	uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, (uintptr_t)address);

	ck_assert_uint_ne(handle, 0);
	return mam_segment_at(&pool->segments, handle);
}

static struct mam_pieces *large_pieces(void)
{
	return &pool->range->part[MAM_RANGE_LARGE].pieces;
}

static void piece_in_unmapped_addresses(void)
{
	mam_pieces_put(large_pieces(), (uintptr_t)end, 2 * MIB);
}

static void piece_in_lost_addresses(void)
{
	struct mam_edge edge = edge_at(end);

	bad_from = (uintptr_t)end;
	bad_to = bad_from + MIB;
	ck_assert_int_eq(mam_remap_fresh(pool, &edge, 2 * MIB), MAM_ERROR_DRIVER);
	prove();
	piece_in_unmapped_addresses();
}

static void free_block_without_piece(void)
{
	mam_pieces_take(large_pieces(), (uintptr_t)free_block);
}

static void live_block_without_piece(void)
{
	mam_pieces_take(large_pieces(), (uintptr_t)end - 8 * MIB);
}

static void piece_too_long(void)
{
	mam_pieces_put(large_pieces(), (uintptr_t)end - 8 * MIB, 10 * MIB);
}

static void too_many_bytes_counted(void)
{
	pool->counts.physical_bytes += 2 * MIB;
	pool->counts.reserved_bytes += 2 * MIB;
	pool->counts.peak_reserved_bytes += 2 * MIB;
}

static void free_block_not_in_freelists(void)
{
	mam_freelists_remove(
		&pool->range->part[MAM_RANGE_LARGE].free_blocks, &pool->segments,
		mam_addrtree_find(&pool->segments, pool->by_address, (uintptr_t)free_block));
}

static void unmapped_not_in_freelists(void)
{
	mam_freelists_remove(&pool->range->part[MAM_RANGE_LARGE].unmapped, &pool->segments,
			     mam_addrtree_find(&pool->segments, pool->by_address, (uintptr_t)end));
}

static void small_unmapped_not_in_freelists(void)
{
	const struct mam_range_part *small = &pool->range->part[MAM_RANGE_SMALL];

	mam_freelists_remove(
		&pool->range->part[MAM_RANGE_SMALL].unmapped, &pool->segments,
		mam_addrtree_find(&pool->segments, pool->by_address, small->pieces.base));
}

static void unmapped_marked_free(void)
{
	segment_of(end)->state = MAM_SEGMENT_FREE;
}

static const struct {
	void (*do_it)(void);
	const char *message;
} damages[] = {
	{ piece_in_unmapped_addresses, "unmapped" },
	{ piece_in_lost_addresses, "unmapped" },
	{ free_block_without_piece, "whole pieces" },
	{ live_block_without_piece, "whole pieces" },
	{ piece_too_long, "" },
	{ too_many_bytes_counted, "physical" },
	{ free_block_not_in_freelists, "free segments" },
	{ unmapped_not_in_freelists, "unmapped segments" },
	{ small_unmapped_not_in_freelists, "unmapped segments" },
	{ unmapped_marked_free, "" },
};

START_TEST(check_detects_corruption)
{
	struct mam_free_piece found;
	char why[200] = "";

	make_free_block(&found);
	damages[_i].do_it();
	ck_assert_int_eq(mam_pool_check(pool, why, sizeof(why)), MAM_ERROR_CORRUPT);
	ck_assert_msg(strstr(why, damages[_i].message) != NULL, "%s", why);
	_exit(EXIT_SUCCESS); /* such a pool cannot be destroyed */
}
END_TEST

static enum mam_status checked = MAM_ERROR_CORRUPT;

static void check_in_between(enum call call)
{
	const char *fault;

	if (call != MOVE && call != MAP && call != UNMAP)
		return;
	mam_lock_take(&pool->lock);
	fault = mam_pool_fault_locked(pool);
	mam_lock_release(&pool->lock);
	ck_assert_msg(fault == NULL, "%s", fault);
	checked = MAM_OK;
}

START_TEST(check_accepts_piece_in_transit)
{
	struct mam_free_piece found;
	struct mam_edge edge;

	meanwhile = check_in_between;
	make_free_block(&found);
	edge = edge_at(end);
	ck_assert_int_eq(mam_remap_move(pool, &edge, &found, true), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_gt(made[MAP] * made[MOVE] * made[UNMAP], 0);
	ck_assert_int_eq(checked, MAM_OK);
}
END_TEST

int main(void)
{
	TCase *tcase = mapped_begin("pool/remap");

	tcase_add_loop_test(tcase, best_fitting_piece_is_picked, 0, 9);
	tcase_add_test(tcase, free_block_at_edge_keeps_its_pieces);
	tcase_add_loop_test(tcase, allocated_piece_is_not_moved_or_released, 0, 3);
	tcase_add_test(tcase, metadata_grows_before_piece_is_split);
	tcase_add_test(tcase, nothing_is_mapped_without_unmapped_addresses);
	tcase_add_test(tcase, end_of_range_can_be_mapped);
	tcase_add_test(tcase, pieces_are_released_after_one_wait);
	tcase_add_test(tcase, failed_wait_releases_nothing);
	tcase_add_test(tcase, failed_wait_keeps_free_block_whole);
	tcase_add_test(tcase, spare_counts_free_memory_only);
	tcase_add_loop_test(tcase, unreleasable_memory_raises_spare_threshold, 0, 4);
	tcase_add_test(tcase, unlimited_spare_is_never_released);
	tcase_add_loop_test(tcase, blocks_from_one_mebibyte_use_large_range, 0, 2);
	tcase_add_loop_test(tcase, check_detects_corruption, 0,
			    (int)(sizeof(damages) / sizeof(damages[0])));
	tcase_add_test(tcase, check_accepts_piece_in_transit);
	return mapped_end();
}
