/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments_far.c - large segments that share a block: two-byte headers cannot encode their
 * distances, four-byte headers can.
 */
#define MAM_SEGMENTS_MAX 65536u

#include "coalesce/segments_kit.h"

/* Computed by hand, as in test_segments.c. */
static const struct segs mixes[] = {
	/* 2 8191, and 5 8191 seven times */
	{ 8, 0xff, { 8191, 8191, 8191, 8191, 8191, 8191, 8191, 8191 }, 65565, 0, 0, 0 },
	/* 2 16378, 2 1: 16380 apart */
	{ 2, 0x3, { 16378, 1 }, 16383, 0, 0, 0 },
	/* 2 16379, 7 1: a header of four bytes, as 16384 is too far for two */
	{ 2, 0x3, { 16379, 1 }, 16389, 0, 0, 0 },
	/*
	 * One size, and both header sizes in turn: 2 16379, 7 16379, 3 16379, 7 16379, 3 16379 ...
	 */
	{ 8, 0xff, { 16379, 16379, 16379, 16379, 16379, 16379, 16379, 16379 }, 131071, 0, 0, 0 },
	/* 16 40000, 4 6, 22 40000, 4 6, 4 1, 3 8191, 15 8, 8 65536 */
	{ 8, 0xff, { 40000, 6, 40000, 6, 1, 8191, 8, 65536 }, 153824, 0, 0, 0 },
	/* 4 100, 2 8191, 5 1, 17 40000, 4 2, 10 16, 2 3; in a block of its own: 2 65537 */
	{ 8, 0xff, { 100, 65537, 8191, 1, 40000, 2, 16, 3 }, 113896, 0, 0, 0 },
	/* 16 n bytes each */
	{ 8, 0xff, { 40000, 40000, 40000, 40000, 40000, 40000, 40000, 40000 }, 320128, 0, 0, 0 },
};

#define MIXES (sizeof(mixes) / sizeof(mixes[0]))

START_TEST(layout_matches_hand_computed_values)
{
	size_t i;

	for (i = 0; i < MIXES; i++)
		ck_assert_uint_eq(segs_total(&mixes[i]), mixes[i].want);
}
END_TEST

START_TEST(subsets_of_large_segments_are_served)
{
	struct segs segs = mixes[_i];
	struct ckit *kit = ckit_create(400000, NULL);
	uint32_t mask;

	kit->own = &segs;
	kit->begin = segs_begin;
	ckit_explore(kit, "large segments", segs_subset, 1, segs.lanes, 15, segs_check_subset);
	ck_assert_uint_gt(segs.together, 0);
	for (mask = 1; mask < 1u << segs.lanes; mask += 6) {
		segs.mask = mask;
		segs.want = segs_total(&segs);
		ckit_explore(kit, "some large segments", segs_subset, 1, segs.lanes, 1,
			     segs_check_subset);
	}
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("large segments");

	tcase_add_test(tcase, layout_matches_hand_computed_values);
	tcase_add_loop_test(tcase, subsets_of_large_segments_are_served, 0, MIXES);
	return ckit_run(tcase, "coalesce/large segments");
}
