/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table from ids to blocks, compared with an array.
 */
#include <check.h>
#include <stdlib.h>

#include "kit/idtable.h"

START_TEST(empty_table_finds_nothing)
{
	struct idtable table = { 0 };

	ck_assert_uint_eq(idtable_find(&table, 0), IDTABLE_NONE);
	ck_assert_uint_eq(idtable_find(&table, UINT64_MAX), IDTABLE_NONE);
	idtable_fini(&table);
}
END_TEST

/* Ids like those of programs: small numbers, addresses, high bits only. */
#define KINDS 4

static uint64_t id_of(uint32_t number, int kind)
{
	static const int shifts[KINDS] = { 0, 9, 21, 44 };

	return (uint64_t)number << shifts[kind];
}

/* The longest run of full slots, which a search may have to scan. */
static size_t longest_run(const struct idtable *table)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i < table->slots_count; i++) {
		run = table->slots[i].block == IDTABLE_NONE ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	return longest;
}

START_TEST(ids_of_every_kind_are_kept)
{
	const uint32_t count = 20000;
	struct idtable table = { 0 };
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t *at = idtable_at(&table, id_of(i, _i));

		wrong += *at != IDTABLE_NONE;
		*at = i;
	}
	for (uint32_t i = 0; i < count; i++)
		wrong += idtable_find(&table, id_of(i, _i)) != i;
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(idtable_find(&table, id_of(count, _i)), IDTABLE_NONE);
	ck_assert_uint_eq(table.used, count);
	ck_assert_uint_le(3 * table.used, 2 * table.slots_count);
	ck_assert_uint_le(longest_run(&table), 200);
	idtable_fini(&table);
}
END_TEST

START_TEST(id_can_change_its_block)
{
	struct idtable table = { 0 };

	*idtable_at(&table, 7) = 1;
	ck_assert_uint_eq(*idtable_at(&table, 7), 1);
	*idtable_at(&table, 7) = 2;
	ck_assert_uint_eq(idtable_find(&table, 7), 2);
	ck_assert_uint_eq(table.used, 1);
	idtable_fini(&table);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("idtable");
	TCase *tests = tcase_create("idtable");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, empty_table_finds_nothing);
	tcase_add_loop_test(tests, ids_of_every_kind_are_kept, 0, KINDS);
	tcase_add_test(tests, id_can_change_its_block);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
