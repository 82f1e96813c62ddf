/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pages.c - many lanes allocate and free pages in heaps so small that they must collide: no
 * page has two owners, its payload belongs to its owner, and every bit is clear at the end.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t count, grid, block;
	uint32_t callers; /* which lanes of a warp call */
	uint32_t rounds, holds;
	uint32_t seeds;
};

static const struct plan plans[] = {
	{ "one page, two lanes", 1, 1, 2, ~0u, 4, 1, 2000 },
	{ "two pages, a warp", 2, 1, 32, ~0u, 2, 1, 60 },
	{ "three pages, lone lanes", 3, 4, 32, 1u << 7, 4, 2, 400 },
	{ "a word minus one page, two warps", 31, 1, 64, ~0u, 2, 1, 60 },
	{ "one word, two blocks", 64, 2, 32, ~0u, 2, 2, 60 },
	{ "one word plus a page, odd lanes", 65, 2, 32, 0xaaaaaaaau, 2, 3, 60 },
	{ "two words minus one page, some lanes", 127, 2, 40, 0x0f0ff00fu, 3, 3, 60 },
	{ "enough for all, two warps", 640, 1, 64, ~0u, 3, 3, 60 },
	{ "three lanes of each of four warps", 16, 2, 64, 0x00010101u, 3, 2, 150 },
};

MAM_KERNEL(alloc_and_free)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t held[4], n, round;
	struct mam_kwalk walk;

	if (!(plan->callers >> mam_lane() & 1))
		return;
	kit_start(kit, &walk);
	for (round = 0; round < plan->rounds; round++) {
		for (n = 0; n < plan->holds; n++) {
			held[n] = mam_pages_take(kit->pages, &walk);
			if (held[n] == MAM_NO_PAGE)
				break;
			kit_own(kit, held[n], 1);
		}
		while (n--) {
			kit_disown(kit, held[n], 1);
			MAM_KASSERT(mam_pages_give(kit->pages, held[n]));
		}
	}
}

START_TEST(page_has_one_owner)
{
	const struct plan *plan = &plans[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, alloc_and_free, plan->grid, plan->block, plan->seeds, NULL);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("pages");

	tcase_add_loop_test(tcase, page_has_one_owner, 0, sizeof(plans) / sizeof(plans[0]));
	return kit_run(tcase, "heap/pages");
}
