/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments.c - segments of a block that lanes of a warp share: their positions, the bytes
 * requested from the base, and that the block is freed with the last of them, in any order.
 */
#include "coalesce/segments_kit.h"

/* ---- positions ------------------------------------------------------------------------------ */

/* Computed by hand: header and padding before each payload, from the start of the block. */
static const struct segs mixes[] = {
	/* 4 4, eight times */
	{ 8, 0xff, { 4, 4, 4, 4, 4, 4, 4, 4 }, 64, 0, 0, 0 },
	/* 16 16, eight times: half of it is header and padding */
	{ 8, 0xff, { 16, 16, 16, 16, 16, 16, 16, 16 }, 256, 0, 0, 0 },
	/* 4 100, eight times */
	{ 8, 0xff, { 100, 100, 100, 100, 100, 100, 100, 100 }, 832, 0, 0, 0 },
	/* 2 1, and 3 1 seven times: one byte of padding */
	{ 8, 0xff, { 1, 1, 1, 1, 1, 1, 1, 1 }, 31, 0, 0, 0 },
	/* 2 1, 3 2, 2 3, 7 4, 2 6, 8 8, 4 12, 16 16 */
	{ 8, 0xff, { 1, 2, 3, 4, 6, 8, 12, 16 }, 96, 0, 0, 0 },
	/* 4 100, 2 1, 13 24, 2 3, 11 16, 2 2, 8 12, 2 6 */
	{ 8, 0xff, { 100, 1, 24, 3, 16, 2, 12, 6 }, 208, 0, 0, 0 },
	/* none, 4 4, none, 8 8, 2 1, none, 9 100, 8 24 */
	{ 8, 0xff, { 0, 4, 0, 8, 1, 0, 100, 24 }, 168, 0, 0, 0 },
	/* 2 3, 5 2, 20 48, 2 5, 9 8, 2 1, 21 16, 4 4; in a block of its own: 16 8192 */
	{ 9, 0x1ff, { 3, 2, 48, 5, 8, 1, 16, 4, 8192 }, 8360, 0, 0, 0 },
};

#define MIXES (sizeof(mixes) / sizeof(mixes[0]))

START_TEST(layout_matches_hand_computed_values)
{
	static const struct {
		size_t bytes, total;
	} warps[] = { { 1, 127 },      { 2, 128 },    { 3, 253 },     { 4, 256 },
		      { 6, 256 },      { 8, 512 },    { 12, 512 },    { 16, 1024 },
		      { 24, 1024 },    { 100, 3328 }, { 400, 13312 }, { 4095, 131197 },
		      { 4096, 131584 } };
	struct segs warp = { .lanes = 32, .mask = 0xffffffff };
	size_t i, lane;

	for (i = 0; i < MIXES; i++)
		ck_assert_uint_eq(segs_total(&mixes[i]), mixes[i].want);
	for (i = 0; i < sizeof(warps) / sizeof(warps[0]); i++) {
		for (lane = 0; lane < 32; lane++)
			warp.bytes[lane] = warps[i].bytes;
		ck_assert_uint_eq(segs_total(&warp), warps[i].total);
	}
}
END_TEST

/*
 * The formula against a search of all positions; and headers with valid and with invalid contents.
 */
START_TEST(place_matches_exhaustive_search)
{
	static const uint32_t distances[] = { 2, 100, 16380, 16382, 16384, 16386, 70000 };
	uint32_t end, bytes, i, at, header;
	uint64_t word;

	for (end = 0; end < 64; end++)
		for (bytes = 1; bytes < 64; bytes++)
			for (i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
				/* `before` is even, as ends of payloads are. */
				uint32_t base = 131072, before = (base + end - distances[i]) & ~1u;

				at = mam_segment_place(before, base + end, bytes);
				ck_assert_uint_eq(at, segs_first_place(before, base + end, bytes));
				header = mam_segment_header(at);
				word = mam_segment_word(at - before, i % 2, i % 3 == 0);
				ck_assert(header == 8 || word >> 8 * header == 0);
				ck_assert_uint_eq(mam_segment_distance(word), at - before);
				ck_assert(!(word & MAM_SEGMENT_FREE));
				ck_assert_uint_eq(!!(word & MAM_SEGMENT_FIRST), i % 2);
				ck_assert_uint_eq(!!(word & MAM_SEGMENT_LAST), i % 3 == 0);
				if (i % 2 == 0)
					ck_assert(mam_segment_plausible(at, word));
			}
	ck_assert_uint_eq(mam_segment_header(7), 1);
	ck_assert(!mam_segment_plausible(64, 0));
	ck_assert(!mam_segment_plausible(64, mam_segment_word(8, false, false)));
	ck_assert(mam_segment_plausible(64, mam_segment_word(16, true, false)));
	ck_assert(!mam_segment_plausible(64, mam_segment_word(24, true, false)));
	ck_assert(!mam_segment_plausible(66, mam_segment_word(4, true, false)));
	ck_assert(
		!mam_segment_plausible(64, UINT64_C(1) << 32 | mam_segment_word(64, false, false)));
}
END_TEST

/* ---- each subset of eight lanes ------------------------------------------------------------- */

START_TEST(each_subset_of_lanes_is_served)
{
	struct segs segs = mixes[_i];
	struct ckit *kit = ckit_create(1 << 14, NULL);
	uint32_t mask;

	kit->own = &segs;
	kit->begin = segs_begin;
	ckit_explore(kit, "a mix of sizes", segs_subset, 1, segs.lanes, 20, segs_check_subset);
	ck_assert_uint_gt(segs.together, 0);
	for (mask = 1; mask < 256; mask++) {
		segs.mask = mask | (mixes[_i].mask & ~0xffu);
		segs.want = segs_total(&segs);
		ckit_explore(kit, "a subset", segs_subset, 1, segs.lanes, 2, segs_check_subset);
	}
	ckit_destroy(kit);
}
END_TEST

/* ---- each order of seven -------------------------------------------------------------------- */

#define SEVEN 7u
#define ORDERS 5040u
#define ORDERS_STEP (CKIT_RACE ? 29u : 1u)

/* Permutation `number` of the lanes. */
CKIT_UNSEEN void order_make(uint32_t *order, uint32_t number)
{
	uint32_t left[SEVEN], i, j, at;

	for (i = 0; i < SEVEN; i++)
		left[i] = i;
	for (i = 0; i < SEVEN; i++) {
		at = number % (SEVEN - i);
		number /= SEVEN - i;
		order[i] = left[at];
		for (j = at; j + 1 < SEVEN - i; j++)
			left[j] = left[j + 1];
	}
}

CKIT_UNSEEN uint32_t order_frees(const struct ckit *kit)
{
	return kit->frees;
}

CKIT_UNSEEN uint32_t order_allocs(const struct ckit *kit)
{
	return kit->allocs;
}

/*
 * Seven lanes allocate, and an eighth one frees, in each order. The block is freed with the seventh
 * free and not before.
 */
static MAM_KERNEL(each_order)
{
	struct ckit *kit = argument;
	uint32_t order[SEVEN], number, i, allocs;

	for (number = 0; number < ORDERS; number += ORDERS_STEP) {
		allocs = order_allocs(kit);
		mam_syncthreads();
		if (simt_thread() < SEVEN)
			ckit_keep(kit, simt_thread(), segs_get(kit, 1 + simt_thread() % 3 * 5));
		mam_syncthreads();
		if (simt_thread() == SEVEN) {
			order_make(order, number);
			allocs = order_allocs(kit) - allocs;
			for (i = 0; i < SEVEN; i++) {
				MAM_KASSERT(allocs > 1 ||
					    order_frees(kit) + 1 == order_allocs(kit));
				segs_release(kit, ckit_take(kit, order[i]));
			}
			MAM_KASSERT(order_frees(kit) == order_allocs(kit));
		}
		mam_syncthreads();
	}
}

START_TEST(block_is_freed_with_last_of_seven)
{
	struct segs segs = { .lanes = 8 };
	struct ckit *kit = ckit_create(1 << 10, NULL);

	kit->own = &segs;
	kit->steps_max = 20000000;
	ckit_explore(kit, "each order", each_order, 1, SEVEN + 1, 3, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* ---- the maximum number of segments ---------------------------------------------------------- */

/*
 * From the lowest segment upward, so that the last free passes all of them; and from the highest
 * downward.
 */
static MAM_KERNEL(whole_warp)
{
	struct ckit *kit = argument;
	uint32_t i, up;

	for (up = 0; up < 2; up++) {
		ckit_keep(kit, mam_lane(), segs_get(kit, 2 + up * mam_lane()));
		mam_syncthreads();
		for (i = 0; i < 32 && !mam_lane(); i++)
			segs_release(kit, ckit_take(kit, up ? i : 31 - i));
		mam_syncthreads();
	}
}

START_TEST(full_warp_shares_a_block)
{
	struct segs segs = { .lanes = 32 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "a whole warp", whole_warp, 1, 32, 10, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* ---- many lanes, of other blocks, in a later kernel ----------------------------------------- */

#define MANY_BLOCKS 2u
#define MANY_LANES 34u
#define MANY (MANY_BLOCKS * MANY_LANES)

static size_t many_bytes(void)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 30, 0, 4 };

	return sizes[simt_random() % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* Allocates some segments, and frees those it finds. */
static MAM_KERNEL(many)
{
	struct ckit *kit = argument;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread(), i;

	ckit_keep(kit, me, segs_get(kit, many_bytes()));
	ckit_keep(kit, me + MANY, segs_get(kit, 4));
	for (i = 0; i < 3; i++)
		segs_release(kit, ckit_take(kit, (uint32_t)(simt_random() % (2 * MANY))));
}

static MAM_KERNEL(many_later)
{
	struct ckit *kit = argument;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread(), i;

	for (i = 0; i < 2; i++)
		segs_release(kit, ckit_take(kit, (uint32_t)(simt_random() % (2 * MANY))));
	segs_release(kit, ckit_take(kit, me));
	segs_release(kit, ckit_take(kit, me + MANY));
}

static bool many_build(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, many, MANY_BLOCKS, MANY_LANES, argument) &&
	       simt_world_launch(world, 0, many_later, MANY_BLOCKS, MANY_LANES, argument);
}

START_TEST(segments_are_freed_by_other_lanes)
{
	struct segs segs = { .lanes = 32 };
	struct ckit *kit = ckit_create(1 << 13, NULL);

	kit->own = &segs;
	ckit_explore_world(kit, "by other lanes, and later", many_build, CKIT_RACE ? 100 : 800,
			   NULL);
	ckit_destroy(kit);
}
END_TEST

/* Few lanes that all free at the same time: the search is exhaustive here. */
static MAM_KERNEL(few)
{
	struct ckit *kit = argument;
	uint32_t round;
	void *part;

	for (round = 0; round < 2; round++) {
		part = segs_get(kit, 2);
		MAM_KASSERT(part);
		segs_release(kit, part);
	}
}

START_TEST(concurrent_frees_free_block_once)
{
	struct segs segs = { .lanes = 4 };
	struct ckit *kit = ckit_create(1 << 9, NULL);
	uint32_t lanes;

	kit->own = &segs;
	for (lanes = 2; lanes < 5; lanes++)
		ckit_explore(kit, "at the same time", few, 1, lanes, CKIT_RACE ? 1500 : 8000,
			     ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("segments");

	tcase_add_test(tcase, layout_matches_hand_computed_values);
	tcase_add_test(tcase, place_matches_exhaustive_search);
	tcase_add_loop_test(tcase, each_subset_of_lanes_is_served, 0, MIXES);
	tcase_add_test(tcase, block_is_freed_with_last_of_seven);
	tcase_add_test(tcase, full_warp_shares_a_block);
	tcase_add_test(tcase, segments_are_freed_by_other_lanes);
	tcase_add_test(tcase, concurrent_frees_free_block_once);
	return ckit_run(tcase, "coalesce/segments");
}
