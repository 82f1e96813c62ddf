/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_walk.c - searches start inside the heap and far apart, and jump everywhere.
 */
#include "heap/kit.h"

#define WARPS 16

struct places {
	uint32_t start[WARPS]; /* where each warp began */
	uint32_t visits[16];   /* jumps into each sixteenth of the heap, of all warps */
};

static struct places places;

MAM_KERNEL(start_and_jump)
{
	struct kit *kit = argument;
	uint32_t warp = (mam_block() * simt_block_threads() + simt_thread()) / 32, i;
	struct mam_kwalk walk;

	mam_kwalk_start(&walk, kit->pages);
	MAM_KASSERT(walk.place < kit->pages->words * 64 && !walk.steps);
	if (!mam_lane())
		mam_atomic_store32(&places.start[warp], walk.place, MAM_RELAXED, MAM_AT_DEVICE);
	for (i = 0; i < 4; i++) {
		mam_walk_jump(&walk, kit->pages);
		MAM_KASSERT(walk.place < kit->pages->words * 64);
		(void)mam_atomic_add32(&places.visits[walk.place / 64 * 16 / kit->pages->words], 1,
				       MAM_RELAXED, MAM_AT_DEVICE);
	}
}

static const char *far_apart(void *argument)
{
	const struct kit *kit = argument;
	uint32_t span = kit->count, i, j, a, b, gap;

	for (i = 0; i < WARPS; i++)
		for (j = 0; j < i; j++) {
			a = places.start[i];
			b = places.start[j];
			gap = a > b ? a - b : b - a;
			gap = gap < span - gap ? gap : span - gap;
			/* Even spacing would be span / WARPS. */
			if (gap < span / WARPS / 64)
				return "two warps start at the same position";
		}
	for (i = 0; i < 16; i++)
		if (places.visits[i] < 40 || places.visits[i] > 400)
			return "jumps are not evenly distributed";
	memset(&places, 0, sizeof(places));
	return NULL;
}

START_TEST(warps_start_far_apart)
{
	struct kit *kit = kit_create(1024, NULL);

	kit_explore(kit, "starts", start_and_jump, 4, 32 * WARPS / 4, 40, far_apart);
	kit_destroy(kit);
}
END_TEST

/* Heaps of one word and of one page: a search has nowhere else to go. */
START_TEST(jump_stays_in_small_heap)
{
	struct kit *kit = kit_create(_i ? 64 : 1, NULL);
	struct mam_kwalk walk = { 0, (uint32_t)_i, 0, 0 };
	uint32_t i;

	kit_begin(kit);
	for (i = 0; i < 100; i++) {
		mam_walk_jump(&walk, kit->pages);
		ck_assert_uint_lt(walk.place, 64);
	}
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("walk");

	tcase_add_test(tcase, warps_start_far_apart);
	tcase_add_loop_test(tcase, jump_stays_in_small_heap, 0, 2);
	return kit_run(tcase, "heap/walk");
}
