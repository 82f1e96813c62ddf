/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_case_join.c - the hash joins of `mam bench case` on a simulated GPU: with each
 * allocator and in two passes the result is that of a naive join of the two tables, for any tables,
 * pages, partitions and ranges; no memory remains allocated; and running out of memory is reported.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/cases/join/play_join.h"
#include "bench/harness/gpu.h"
#include "tools/bench/device_player.h"
#include "tools/bench/sim/device_sim.h"

static const struct device_suite suite = {
	.prefix = "case",
	.allocators = case_allocators,
	.allocator_count = &case_allocator_count,
	.works = case_works,
	.work_count = CASE_WORKS,
	.system_heap = CASE_SYSTEM_HEAP,
	.takes_part = case_takes_part,
	.places = case_places,
};

static struct device_cell cell_of(uint32_t n, uint32_t part, uint32_t page, uint32_t first)
{
	struct device_cell cell = player_cell(CASE_JOIN, 1, page, page, first);

	cell.heap_bytes = UINT64_C(8) << 20;
	cell.share = 1000;
	cell.filled = n;
	cell.lanes = part;
	return cell;
}

static void setup(void)
{
	player_setup_suite(&suite);
}

/* Every tuple with every other. */
static struct join_result naive(uint32_t kind, uint32_t n)
{
	struct join_result right = { 0, 0, 0 };
	uint64_t mark;
	uint32_t r, s, key;

	for (s = 0; s < n; s++) {
		key = join_key_of(join_number_of_s(kind, s, n));
		for (r = 0; r < n; r++) {
			if (join_key_of(join_number_of_r(kind, r, n)) != key)
				continue;
			mark = join_row_mark(key, r, s);
			right.rows++;
			right.sum += mark;
			right.more += mark * mark;
		}
	}
	return right;
}

START_TEST(reference_equals_a_naive_join)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 13, 100, 1023, 3000 };
	struct join_result one, two;
	uint32_t kind;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (kind = JOIN_USUAL; kind <= JOIN_EQUAL; kind++) {
			one = naive(kind, sizes[i]);
			two = join_reference(kind, sizes[i]);
			ck_assert_uint_eq(one.rows, two.rows);
			ck_assert_uint_eq(one.sum, two.sum);
			ck_assert_uint_eq(one.more, two.more);
		}
	}
	/* About one match each, and none where none must be. */
	one = join_reference(JOIN_USUAL, 100000);
	ck_assert_double_eq_tol((double)one.rows, 100000, 1000);
	ck_assert_uint_eq(join_reference(JOIN_NONE, 1000).rows, 0);
	ck_assert_uint_eq(join_reference(JOIN_EQUAL, 50).rows, 2500);
}
END_TEST

/* All that take part are right. */
static void play_all(struct device_cell cell)
{
	size_t i;

	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	for (i = 0; i < case_allocator_count; i++) {
		const char *name = case_allocators[i].name;

		if (!case_takes_part(&case_allocators[i], &cell))
			continue;
		ck_assert_msg(player_value(name, "wrong") == 0 && player_value(name, "none") == 0,
			      "%s: wrong %g none %g: %s", name, player_value(name, "wrong"),
			      player_value(name, "none"), player_notes);
		ck_assert_double_gt(player_value(name, "us"), 0);
		ck_assert_double_gt(player_value(name, "peak_mib"), 0);
	}
}

START_TEST(tables_of_any_size_are_joined)
{
	static const struct {
		uint32_t n, part, page, first;
	} cells[] = {
		{ 1, 64, 256, 0 },
		{ 3, 2, 256, 500 },
		{ 1000, 64, 256, 0 },
		{ 1001, 100, 512, 780 },
		{ 4097, 256, 256, 780 },
		{ 5003, 2048, 1024, 0 },
		/* Two steps: more partitions than a tile is sorted by. */
		{ 3001, 4, 256, 0 },
		{ 5000, 4, 512, 780 },
	};

	play_all(cell_of(cells[_i].n, cells[_i].part, cells[_i].page, cells[_i].first));
}
END_TEST

START_TEST(equal_and_unmatched_keys_are_joined)
{
	struct device_cell cell = cell_of(300, 64, 256, _i % 2 ? 780 : 0);

	cell.buffers = _i / 2 ? JOIN_EQUAL : JOIN_NONE;
	play_all(cell);
}
END_TEST

/* Only one key, and more of R than a table holds: S is read again, lists have trees. */
START_TEST(table_larger_than_its_buffer_is_joined_in_pieces)
{
	struct device_cell cell = cell_of(2700, 2700, 256, 0);

	cell.heap_bytes = UINT64_C(24) << 20;
	play_all(cell);
	cell = cell_of(400, 8, 256, 0);
	cell.buffers = JOIN_EQUAL;
	play_all(cell);
}
END_TEST

START_TEST(heap_in_use_gives_the_same_result)
{
	static const uint32_t shares[] = { 500, 50 };
	struct device_cell cell = cell_of(600, 64, 256, 780);

	cell.heap_bytes = case_heap_bytes(20 * 600 + 8 * 1024, shares[_i]);
	if (shares[_i] == 50)
		cell.heap_bytes = UINT64_C(10) << 20;
	cell.share = shares[_i];
	play_all(cell);
}
END_TEST

START_TEST(shape_matches_the_plan)
{
	struct device_cell cell = cell_of(1 << 20, 2048, 1024, 780);
	struct join_shape shape = join_shape_of(&cell);

	ck_assert_uint_eq(shape.total, 512);
	ck_assert_uint_eq(shape.cut, 399);
	ck_assert_uint_eq(shape.shift, 0);
	cell.filled = 64 << 20;
	shape = join_shape_of(&cell);
	ck_assert_uint_eq(shape.total, 32768);
	ck_assert_uint_eq(shape.shift, 7);
	ck_assert_uint_eq(shape.cut % 128, 0);
	cell.rounds = 0;
	ck_assert_uint_eq(join_shape_of(&cell).cut, 32768);
	cell.rounds = 1;
	cell.filled = 100;
	shape = join_shape_of(&cell);
	ck_assert_uint_eq(shape.cut, shape.total);
}
END_TEST

/* A heap with too little room for half of it. */
START_TEST(failed_requests_give_no_time)
{
	static const char *const names[] = { CASE_MAM, CASE_MAM_PAGES, "corw", "rw" };
	struct device_cell cell = _i == 0 ? cell_of(9000, 128, 256, 780) : cell_of(2100, 4, 256, 0);
	size_t i;

	cell.heap_bytes = 100 << 10;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		player_play(names[i], cell);
		ck_assert_str_eq(player_trouble, "");
		ck_assert_msg(player_value(names[i], "none") > 0, "%s: %s", names[i], player_notes);
		ck_assert_double_eq(player_value(names[i], "wrong"), 0);
		ck_assert_double_eq(player_value(names[i], "us"), -1);
	}
}
END_TEST

/* Counting first needs both tables and the results; one pass in two ranges needs far less. */
START_TEST(peak_memory_is_as_computed)
{
	const struct device_cell cell = cell_of(20000, 1000, 512, 780);
	const double n = 20000.0 / BENCH_MIB;
	double one, two;

	player_play(CASE_MAM, cell);
	one = player_value(CASE_MAM, "peak_mib");
	player_play(CASE_RESERVED, cell);
	two = player_value(CASE_RESERVED, "peak_mib");
	ck_assert_double_ge(two, 28 * n * 0.99);
	ck_assert_double_le(two, 28 * n * 1.03);
	ck_assert_double_ge(one, 12 * n * 0.99);
	/*
	 * From a million up, where the remainders of pages and blocks are small, it is less than
	 * half.
	 */
	ck_assert_msg(one <= two * 0.53, "%g of %g", one, two);
}
END_TEST

int main(void)
{
	Suite *checks = suite_create("bench case join");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, reference_equals_a_naive_join);
	tcase_add_test(tc, shape_matches_the_plan);
	tcase_add_loop_test(tc, tables_of_any_size_are_joined, 0, 8);
	tcase_add_loop_test(tc, equal_and_unmatched_keys_are_joined, 0, 4);
	tcase_add_test(tc, table_larger_than_its_buffer_is_joined_in_pieces);
	tcase_add_loop_test(tc, heap_in_use_gives_the_same_result, 0, 2);
	tcase_add_loop_test(tc, failed_requests_give_no_time, 0, 2);
	tcase_add_test(tc, peak_memory_is_as_computed);
	suite_add_tcase(checks, tc);
	runner = srunner_create(checks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
