/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_looks.c - how a scan and a warp look at words, step by step: each word once, on to the next
 * word after a lost claim, as long as there are free pages.
 */
#include "heap/kit.h"

/* Two lanes, one free page in each of two words: the lane that loses the first takes the second. */
MAM_KERNEL(take_in_a_unit)
{
	struct kit *kit = argument;
	struct mam_kwalk walk;
	uint32_t page;

	kit_start(kit, &walk);
	page = mam_scan_unit(kit->pages, &walk, 0);
	MAM_KASSERT(page != MAM_NO_PAGE);
	kit_own(kit, page, 1);
}

static void begin_two(void *argument)
{
	struct kit *kit = argument;

	kit_begin_full(kit);
	kit_vacate(kit, 10);
	kit_vacate(kit, 138);
}

START_TEST(lost_claim_moves_on_within_unit)
{
	struct kit *kit = kit_create(190, NULL);

	kit_explore_from(kit, "a unit for two lanes", begin_two, take_in_a_unit, 2, 1, 60,
			 kit_check);
	kit_destroy(kit);
}
END_TEST

/* The first word with room, and its number; none past the end. */
MAM_KERNEL(look_at_words)
{
	struct kit *kit = argument;
	uint64_t *bits = mam_pages_bits(kit->pages);
	uint32_t at = 0;

	MAM_KASSERT(mam_scan_look(bits, 4, &at) == ~((uint64_t)1 << 10) && at == 2);
	at = 0;
	MAM_KASSERT(mam_scan_look(bits, 2, &at) == MAM_WORD_FULL && at == 0);
	at = 3;
	MAM_KASSERT(mam_scan_look(bits, 5, &at) == ~((uint64_t)1 << 63) && at == 3);
	MAM_KASSERT(mam_warp_look(kit->pages, 1, 1, &at) == ~((uint64_t)1 << 10) && at == 2);
	MAM_KASSERT(mam_warp_look(kit->pages, 3, 4, &at) == ~((uint64_t)1 << 10) && at == 2);
	/* A lane whose rank is too high has no word. */
	MAM_KASSERT(mam_warp_look(kit->pages, 3, 5, &at) == MAM_WORD_FULL);
}

static void begin_look(void *argument)
{
	struct kit *kit = argument;

	kit_begin_full(kit);
	kit_vacate(kit, 2 * 64 + 10);
	kit_vacate(kit, 3 * 64 + 63);
}

START_TEST(look_finds_first_word_with_room)
{
	struct kit *kit = kit_create(5 * 64, NULL);

	kit_explore_from(kit, "look at words", begin_look, look_at_words, 1, 1, 1, kit_check);
	kit_destroy(kit);
}
END_TEST

/* One lane sees a word of free pages, the others see none: all are served from it. */
MAM_KERNEL(harvest_one_word)
{
	struct kit *kit = argument;
	uint32_t needy = ~0u, page;
	bool vain = true;

	page = mam_warp_harvest(kit->pages, 0, ~0u, MAM_NO_PAGE, 20, &needy, &vain);
	MAM_KASSERT(page != MAM_NO_PAGE && !needy && !vain);
	kit_own(kit, page, 1);
	needy = ~0u;
	page = mam_warp_harvest(kit->pages, 1, ~0u, MAM_NO_PAGE, 20, &needy, &vain);
	MAM_KASSERT(page == MAM_NO_PAGE ? needy >> mam_lane() & 1 : !vain);
}

static void begin_one_word(void *argument)
{
	struct kit *kit = argument;
	uint32_t i;

	kit_begin_full(kit);
	for (i = 0; i < 32; i++)
		kit_vacate(kit, 2 * i);
}

START_TEST(harvest_serves_all_lanes_from_one_word)
{
	struct kit *kit = kit_create(128, NULL);

	kit_explore_from(kit, "a harvest", begin_one_word, harvest_one_word, 1, 32, 20, kit_check);
	kit_destroy(kit);
}
END_TEST

/* The same as a search: the returned state has the position of that word and counts one look. */
MAM_KERNEL(search_one_word)
{
	struct kit *kit = argument;
	struct mam_kfound found;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	walk.place = 0;
	walk.steps = 8;
	found = mam_warp_search(kit->pages, walk, ~0u, MAM_NO_PAGE);
	MAM_KASSERT(found.page != MAM_NO_PAGE);
	MAM_KASSERT(found.walk.steps == 9 && found.walk.place == 0);
	kit_own(kit, found.page, 1);
}

START_TEST(search_returns_position_and_looks)
{
	struct kit *kit = kit_create(128, NULL);

	kit_explore_from(kit, "a search", begin_one_word, search_one_word, 1, 32, 20, kit_check);
	kit_destroy(kit);
}
END_TEST

/*
 * Without patience a warp scans at once, as a unit: it visits every word, whatever the lanes'
 * positions.
 */
MAM_KERNEL(take_the_last)
{
	struct kit *kit = argument;
	struct mam_kwalk walk;
	uint32_t page;

	kit_start(kit, &walk);
	page = mam_pages_take(kit->pages, &walk);
	if (page == MAM_NO_PAGE)
		kit_count_failure(kit);
	else
		kit_own(kit, page, 1);
}

static void begin_last(void *argument)
{
	struct kit *kit = argument;

	kit_begin(kit);
	memset(kit->pages, 0, mam_pages_bytes(kit->count));
	mam_pages_format(kit->pages, kit->count, 1000);
	kit_fill(kit, 0, kit->count);
	kit_vacate(kit, 11 * 64 + 5);
}

static const char *all_but_one_failed(void *argument)
{
	struct kit *kit = argument;

	if (kit->failed != 3 || kit->pages->tally[MAM_TALLY_FULL] != 3)
		return "not exactly one of four lanes got the last page";
	return kit_check(kit);
}

START_TEST(one_of_four_lanes_gets_last_page)
{
	struct kit *kit = kit_create(1024, NULL);

	kit_explore_from(kit, "the last page", begin_last, take_the_last, 1, 4, 60,
			 all_but_one_failed);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("look at words");

	tcase_add_test(tcase, lost_claim_moves_on_within_unit);
	tcase_add_test(tcase, look_finds_first_word_with_room);
	tcase_add_test(tcase, harvest_serves_all_lanes_from_one_word);
	tcase_add_test(tcase, search_returns_position_and_looks);
	tcase_add_test(tcase, one_of_four_lanes_gets_last_page);
	return kit_run(tcase, "heap/looks");
}
