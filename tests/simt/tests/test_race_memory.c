/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without memory the race checker reports that, whichever allocation failed, and works again after
 * a reset with memory. Its sources are compiled into this program with an allocator that fails on
 * demand.
 */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int requests, fails_from; /* 0: no allocation fails */

static bool fails(void)
{
	requests++;
	return fails_from && requests >= fails_from;
}

static void *test_malloc(size_t bytes)
{
	return fails() ? NULL : malloc(bytes);
}

static void *test_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : calloc(count, bytes);
}

static void *test_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : realloc(old, bytes);
}

#define malloc test_malloc
#define calloc test_calloc
#define realloc test_realloc
#include "simt/race/race.c"
#include "simt/race/race_clock.c"
#include "simt/race/race_granule.c"
#include "simt/race/race_memory.c"
#include "simt/race/race_shadow.c"
#include "simt/race/race_sync.c"
#include "simt/race/race_track.c"
#undef malloc
#undef calloc
#undef realloc

#define LANES 200
#define WORDS 3000

static uint64_t words[WORDS];

/* Triggers all allocations, and returns the first error. */
static const char *exercise(struct race *race)
{
	unsigned int all[LANES];
	const char *text = NULL;

	for (unsigned int i = 0; i < LANES; i++) {
		all[i] = i;
		race_place(race, i, i / 32, false);
	}
	for (unsigned int i = 0; i < LANES && !text; i++) {
		race_fence(race, i, MAM_SEQ_CST, MAM_AT_DEVICE);
		text = race_plain(race, i, &words[0], 8, false, "read");
		for (unsigned int w = 1; w < WORDS && !text; w += 37)
			text = race_atomic(race, i, &words[w], 8, SIMT_ADD, true,
					   i % 2 ? MAM_RELAXED : MAM_ACQ_REL, MAM_AT_DEVICE, "add");
	}
	race_meet(race, all, LANES);
	race_order(race, 0, LANES + 50);
	if (!text)
		text = race_plain(race, 0, words, sizeof(words), true, "clear");
	return text ? text : race_plain(race, 1, &words[0], 8, false, "read");
}

START_TEST(each_allocation_may_fail)
{
	unsigned int needed, failed = 0;
	struct race *race = race_create(1);
	const char *text;

	ck_assert_ptr_nonnull(race);
	text = exercise(race);
	ck_assert_msg(text && strstr(text, "race: a plain write of 8 bytes by lane 0"), "%s",
		      text ? text : "no race");
	race_destroy(race);
	needed = requests;
	ck_assert_uint_gt(needed, 20);
	for (unsigned int i = 1; i <= needed; i++) {
		requests = 0;
		fails_from = i;
		race = race_create(1);
		if (!race) {
			failed++;
			continue;
		}
		text = exercise(race);
		ck_assert_msg(text && strstr(text, "no memory"), "request %u of %u: %s", i, needed,
			      text ? text : "fine");
		fails_from = 0;
		race_reset(race);
		text = exercise(race);
		ck_assert_msg(text && strstr(text, "race: a plain write of 8 bytes by lane 0"),
			      "%s", text ? text : "no race");
		race_destroy(race);
	}
	ck_assert_uint_eq(failed, 2);
}
END_TEST

/* A search over many seeds makes no more allocations once it has run for a while. */
START_TEST(reset_keeps_memory)
{
	struct race *race = race_create(LANES + 51);
	unsigned int before;
	size_t bytes;

	ck_assert_ptr_nonnull(race);
	exercise(race);
	race_reset(race);
	exercise(race);
	before = requests;
	bytes = race_memory_bytes(&race->memory);
	for (int i = 0; i < 20; i++) {
		race_reset(race);
		exercise(race);
	}
	ck_assert_uint_eq(requests, before);
	ck_assert_uint_eq(race_memory_bytes(&race->memory), bytes);
	race_destroy(race);
}
END_TEST

/*
 * Pieces are zeroed, aligned and apart, also those larger than a chunk, and those after a reset in
 * another order.
 */
START_TEST(pieces_do_not_overlap)
{
	static const size_t sizes[] = { 1, 16, 17, 5000, 300000, 48, 262144, 100, 700000, 3 };
	struct race_memory memory = { 0 };

	for (int turn = 0; turn < 3; turn++) {
		unsigned char *pieces[10];

		for (int i = 0; i < 10; i++) {
			size_t bytes = sizes[turn == 1 ? 9 - i : i];

			pieces[i] = race_memory_take(&memory, bytes);
			ck_assert_ptr_nonnull(pieces[i]);
			ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
			for (size_t j = 0; j < bytes; j++)
				ck_assert(!pieces[i][j]);
			memset(pieces[i], i + 1, bytes);
		}
		for (int i = 0; i < 10; i++)
			ck_assert(pieces[i][0] == i + 1 &&
				  pieces[i][sizes[turn == 1 ? 9 - i : i] - 1] == i + 1);
		race_memory_reset(&memory);
	}
	ck_assert_ptr_null(race_memory_take(&memory, SIZE_MAX - 8));
	race_memory_fini(&memory);
	ck_assert_uint_eq(race_memory_bytes(&memory), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/race_memory");
	TCase *memory = tcase_create("memory");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, memory);
	tcase_set_timeout(memory, 120);
	tcase_add_test(memory, each_allocation_may_fail);
	tcase_add_test(memory, reset_keeps_memory);
	tcase_add_test(memory, pieces_do_not_overlap);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
