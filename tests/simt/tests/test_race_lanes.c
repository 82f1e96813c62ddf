/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race checker with many lanes: each of them is checked, and lanes may appear late.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt/race/race.h"

static uint64_t word, flag;

static const unsigned int sizes[] = { 2, 7, 8, 9, 10, 33, 64, 100, 1024 };
#define SIZES (int)(sizeof(sizes) / sizeof(sizes[0]))

/* One more than `lanes`; 32 lanes make a block. */
static struct race *create(unsigned int lanes)
{
	struct race *race = race_create(lanes + 1);

	ck_assert_ptr_nonnull(race);
	for (unsigned int i = 0; i <= lanes; i++)
		race_place(race, i, i / 32, false);
	return race;
}

static const char *look(struct race *race, unsigned int lane, bool atomic)
{
	return atomic ? race_atomic(race, lane, &word, 8, SIMT_LOAD, false, MAM_RELAXED,
				    MAM_AT_DEVICE, "look")
		      : race_plain(race, lane, &word, 8, false, "look");
}

/*
 * All lanes read, the last one first; all except one are ordered before the last lane, which
 * writes: the report names the exception.
 */
static void miss_one(struct race *race, unsigned int lanes, unsigned int missed, bool atomic)
{
	const char *text;
	char name[64];

	race_reset(race);
	for (unsigned int i = lanes; i--;)
		ck_assert_ptr_null(look(race, i, atomic));
	for (unsigned int i = 0; i < lanes; i++)
		if (i != missed)
			race_order(race, i, lanes);
	text = race_plain(race, lanes, &word, 8, true, "write");
	if (missed == lanes) {
		ck_assert_msg(!text, "%s", text);
		return;
	}
	snprintf(name, sizeof(name), "by lane %u of block %u at look", missed, missed / 32);
	ck_assert_msg(text && strstr(text, name), "%s, not %s", text ? text : "no race", name);
}

START_TEST(each_of_many_lanes_is_checked)
{
	unsigned int lanes = sizes[_i];
	unsigned int step = lanes > 100 ? 97 : 1;
	struct race *race = create(lanes);

	for (unsigned int missed = 0; missed < lanes; missed += step) {
		miss_one(race, lanes, missed, false);
		miss_one(race, lanes, missed, true);
	}
	miss_one(race, lanes, lanes - 1, false);
	miss_one(race, lanes, lanes, false);
	miss_one(race, lanes, lanes, true);
	race_destroy(race);
}
END_TEST

/* Lanes that first appear when clocks and tables exist already. */
START_TEST(lanes_may_appear_late)
{
	struct race *race = race_create(1);
	const char *text;

	ck_assert_ptr_nonnull(race);
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_ptr_null(look(race, i, false));
	race_place(race, 1999, 7, false);
	ck_assert_ptr_null(look(race, 1999, false));
	for (unsigned int i = 0; i < 1999; i++)
		race_order(race, i, 2000);
	text = race_plain(race, 2000, &word, 8, true, "write");
	ck_assert_msg(text && strstr(text, "lane 1999 of block 7"), "%s", text ? text : "no race");
	race_order(race, 1999, 2000);
	ck_assert_ptr_null(race_plain(race, 2000, &word, 8, true, "write"));
	race_destroy(race);
}
END_TEST

/* A short clock that replaces a long one inherits none of its entries. */
START_TEST(short_clock_replaces_long_one)
{
	struct race *race = race_create(1);

	ck_assert_ptr_nonnull(race);
	race_fence(race, 0, MAM_RELEASE, MAM_AT_DEVICE);
	ck_assert_ptr_null(race_plain(race, 100, &word, 8, true, "write"));
	for (unsigned int lane = 100; lane != -100u; lane -= 100)
		ck_assert_ptr_null(race_atomic(race, lane, &flag, 8, SIMT_STORE, true, MAM_RELEASE,
					       MAM_AT_DEVICE, "store"));
	ck_assert_ptr_null(race_atomic(race, 101, &flag, 8, SIMT_LOAD, false, MAM_ACQUIRE,
				       MAM_AT_DEVICE, "load"));
	ck_assert_ptr_nonnull(race_plain(race, 101, &word, 8, false, "read"));
	race_destroy(race);
}
END_TEST

START_TEST(barrier_of_many_lanes_orders)
{
	static unsigned int lanes[1024];
	struct race *race = create(1024);

	for (unsigned int i = 0; i < 1024; i++)
		lanes[i] = i;
	for (unsigned int i = 0; i < 1024; i++) {
		ck_assert_ptr_null(race_plain(race, i, &word, 8, true, "write"));
		/* In pairs: lane 0 is ordered after lane 1023 through all the others. */
		if (i < 1023)
			race_meet(race, &lanes[i], 2);
	}
	ck_assert_ptr_nonnull(race_plain(race, 0, &word, 8, false, "read"));
	race_meet(race, lanes, 1024);
	for (unsigned int i = 0; i < 1024; i++)
		ck_assert_ptr_null(race_plain(race, i, &word, 8, false, "read"));
	race_destroy(race);
}
END_TEST

/* All lanes add to a counter: the last one is ordered after all, if each releases and acquires. */
START_TEST(counter_orders_all_lanes)
{
	for (int order = MAM_RELAXED; order <= MAM_SEQ_CST; order++) {
		struct race *race = create(256);
		static uint64_t own[256];
		unsigned int races = 0;

		for (unsigned int i = 0; i < 256; i++) {
			ck_assert_ptr_null(race_plain(race, i, &own[i], 8, true, "own"));
			ck_assert_ptr_null(race_atomic(race, i, &flag, 8, SIMT_ADD, true,
						       (enum simt_order)order, MAM_AT_DEVICE,
						       "add"));
		}
		for (unsigned int i = 0; i < 255; i++)
			races += race_plain(race, 255, &own[i], 8, false, "read") != NULL;
		ck_assert_uint_eq(races, order < MAM_ACQ_REL ? 255 : 0);
		race_destroy(race);
	}
}
END_TEST

/* Entries survive when the table grows, among places of earlier runs. */
START_TEST(table_growth_keeps_entries)
{
	static uint64_t words[4000];
	static unsigned int chosen[3000];
	struct race *race = create(2);
	uint32_t random = 1;

	for (unsigned int count = 50; count <= 3000; count += 50) {
		race_reset(race);
		for (unsigned int i = 0; i < count; i++) {
			random = random * 1664525 + 1013904223;
			chosen[i] = (random >> 8) % 4000;
			ck_assert_ptr_null(
				race_plain(race, 0, &words[chosen[i]], 8, true, "write"));
		}
		for (unsigned int i = 0; i < count; i++)
			ck_assert_ptr_nonnull(
				race_plain(race, 1, &words[chosen[i]], 8, false, "read"));
	}
	race_destroy(race);
}
END_TEST

/* Misuse and texts. */
static void name_lane(unsigned int lane, char *text, size_t bytes)
{
	if (lane)
		snprintf(text, bytes, "number %u", lane);
}

START_TEST(race_text_names_lanes)
{
	struct race *race = create(40);
	const char *text;

	race_place(race, 2, 0, true);
	ck_assert_ptr_null(race_plain(race, 0, (char *)&word + 3, 1, true, "some/where/first.c:1"));
	text = race_plain(race, 2, (char *)&word + 2, 2, true, "second.c:2");
	ck_assert_str_eq(
		text,
		"race: a plain write of 1 byte by lane 0 of block 0 at where/first.c:1, and a "
		"plain write of 2 bytes by host thread 2 at second.c:2; nothing orders them. "
		"A release by the first lane at system scope that the second one acquires "
		"would order them.");
	race_names(race, name_lane);
	text = race_plain(race, 33, (char *)&word + 2, 2, true, NULL);
	ck_assert_msg(strstr(text, "by lane 0 of block 0 at") &&
			      strstr(text, "by number 33 at an unknown"),
		      "%s", text);
	text = race_atomic(race, 3, (char *)&flag + 4, 8, SIMT_ADD, true, MAM_RELAXED,
			   MAM_AT_DEVICE, "x");
	ck_assert_msg(text && strstr(text, "not aligned"), "%s", text ? text : "fine");
	race_destroy(race);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/race_lanes");
	TCase *many = tcase_create("many lanes");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, many);
	tcase_set_timeout(many, 120);
	tcase_add_loop_test(many, each_of_many_lanes_is_checked, 0, SIZES);
	tcase_add_test(many, lanes_may_appear_late);
	tcase_add_test(many, short_clock_replaces_long_one);
	tcase_add_test(many, barrier_of_many_lanes_orders);
	tcase_add_test(many, counter_orders_all_lanes);
	tcase_add_test(many, table_growth_keeps_entries);
	tcase_add_test(many, race_text_names_lanes);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
