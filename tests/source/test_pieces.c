/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pieces in an address range. */
#include <check.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "source/pieces.h"

#define UNIT ((uint64_t)2 << 20)
#define BASE ((uint64_t)1 << 40)

static struct mam_pieces pieces;

static void set_up(void)
{
	ck_assert_int_eq(mam_pieces_init(&pieces, BASE, 64 * UNIT, UNIT), MAM_OK);
}

static void tear_down(void)
{
	mam_pieces_fini(&pieces);
}

static uint64_t at(uint64_t unit)
{
	return BASE + unit * UNIT;
}

/* Base and size of the first piece in units, or -1. */
static int first(uint64_t from, uint64_t to)
{
	struct mam_piece piece;

	if (!mam_pieces_first(&pieces, from, to, &piece))
		return -1;
	return (int)((piece.base - BASE) / UNIT * 100 + piece.bytes / UNIT);
}

START_TEST(empty_range_has_no_piece)
{
	ck_assert_int_eq(first(BASE, at(64)), -1);
	ck_assert(!mam_pieces_tile(&pieces, BASE, at(1)));
	ck_assert(mam_pieces_tile(&pieces, at(3), at(3)));
}
END_TEST

START_TEST(piece_is_found_only_if_entirely_inside)
{
	mam_pieces_put(&pieces, at(10), 4 * UNIT);
	ck_assert_int_eq(first(BASE, at(64)), 1004);
	ck_assert_int_eq(first(at(10), at(14)), 1004);
	ck_assert_int_eq(first(at(10) - 1, at(14) + 1), 1004);
	ck_assert_int_eq(first(at(10) + 1, at(64)), -1);
	ck_assert_int_eq(first(BASE, at(14) - 1), -1);
	ck_assert_int_eq(first(at(11), at(13)), -1);
}
END_TEST

START_TEST(pieces_are_found_in_address_order)
{
	mam_pieces_put(&pieces, at(10), 4 * UNIT);
	mam_pieces_put(&pieces, at(14), 1 * UNIT);
	mam_pieces_put(&pieces, at(63), 1 * UNIT);
	ck_assert_int_eq(first(BASE, at(64)), 1004);
	ck_assert_int_eq(first(at(14), at(64)), 1401);
	ck_assert_int_eq(first(at(12), at(64)), 1401);
	ck_assert_int_eq(first(at(15), at(64)), 6301);
	mam_pieces_take(&pieces, at(10));
	ck_assert_int_eq(first(BASE, at(64)), 1401);
}
END_TEST

START_TEST(piece_is_found_at_each_of_its_addresses)
{
	mam_pieces_put(&pieces, at(10), 4 * UNIT);
	mam_pieces_put(&pieces, at(14), 1 * UNIT);
	for (uint64_t address = at(10); address < at(15); address += UNIT / 2) {
		struct mam_piece piece = mam_pieces_at(&pieces, address);

		ck_assert_uint_eq(piece.base, address < at(14) ? at(10) : at(14));
		ck_assert_uint_eq(piece.bytes, address < at(14) ? 4 * UNIT : UNIT);
	}
}
END_TEST

/* Of pieces of 1 to 5 units without gaps, for all bounds, also between units; compared with a scan. */
START_TEST(whole_pieces_of_a_run_are_summed)
{
	uint64_t unit = 3, granule = UNIT / 2;

	for (uint64_t units = 1; unit + units <= 60; unit += units, units = units % 5 + 1)
		mam_pieces_put(&pieces, at(unit), units * UNIT);
	for (uint64_t from = at(3); from <= at(unit); from += granule) {
		for (uint64_t to = from; to <= at(unit); to += granule) {
			struct mam_piece piece;
			uint64_t sum = 0, next = from;

			for (; mam_pieces_first(&pieces, next, to, &piece);
			     next = piece.base + piece.bytes)
				sum += piece.bytes;
			ck_assert_uint_eq(mam_pieces_whole(&pieces, from, to), sum);
		}
	}
}
END_TEST

START_TEST(tile_rejects_gaps_and_overhang)
{
	mam_pieces_put(&pieces, at(4), 2 * UNIT);
	mam_pieces_put(&pieces, at(6), 3 * UNIT);
	ck_assert(mam_pieces_tile(&pieces, at(4), at(9)));
	ck_assert(mam_pieces_tile(&pieces, at(6), at(9)));
	ck_assert(!mam_pieces_tile(&pieces, at(4), at(8)));
	ck_assert(!mam_pieces_tile(&pieces, at(5), at(9)));
	ck_assert(!mam_pieces_tile(&pieces, at(4), at(10)));
	for (uint64_t inside = 7; inside < 9; inside++) { /* of another piece */
		mam_pieces_put(&pieces, at(inside), 1 * UNIT);
		ck_assert(!mam_pieces_tile(&pieces, at(4), at(9)));
		mam_pieces_take(&pieces, at(inside));
	}
	ck_assert(mam_pieces_tile(&pieces, at(4), at(9)));
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
START_TEST(init_fails_without_table_memory)
{
	const uint64_t wide = (uint64_t)64 << 40; /* a table of 128 MiB */
	struct mam_pieces none;
	struct rlimit limit, narrow;
	enum mam_status status;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	narrow = limit;
	narrow.rlim_cur = 64 << 20;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &narrow), 0);
	status = mam_pieces_init(&none, BASE, wide, UNIT);
	setrlimit(RLIMIT_AS, &limit);
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
	mam_pieces_fini(&none);
	ck_assert_ptr_null(none.length);
}
END_TEST
#endif

static struct mam_pieces *range(void *user, unsigned i)
{
	(void)user;
	return i == 0 ? &pieces : NULL;
}

START_TEST(addresses_of_a_piece_are_a_ring)
{
	for (uint64_t unit = 1; unit <= 4; unit++)
		mam_pieces_put(&pieces, at(unit), UNIT);
	mam_pieces_link(range, NULL, at(1), at(2));
	mam_pieces_link(range, NULL, at(1), at(3));
	ck_assert(!mam_pieces_has_twin(&pieces, at(4)));
	ck_assert_ptr_null(mam_pieces_twin(range, NULL, at(64)));
	ck_assert_ptr_null(mam_pieces_twin(range, NULL, BASE - UNIT));
	ck_assert_uint_eq(*mam_pieces_twin(range, NULL, at(1)), at(3));
	ck_assert_uint_eq(*mam_pieces_twin(range, NULL, at(3)), at(2));
	ck_assert_uint_eq(*mam_pieces_twin(range, NULL, at(2)), at(1));
	mam_pieces_unlink(range, NULL, at(3));
	ck_assert(!mam_pieces_has_twin(&pieces, at(3)));
	ck_assert_uint_eq(*mam_pieces_twin(range, NULL, at(1)), at(2));
	mam_pieces_unlink(range, NULL, at(1));
	for (uint64_t unit = 1; unit <= 4; unit++)
		ck_assert(!mam_pieces_has_twin(&pieces, at(unit)));
	mam_pieces_unlink(range, NULL, at(2)); /* alone: nothing happens */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/pieces");
	TCase *tcase = tcase_create("pieces");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, empty_range_has_no_piece);
	tcase_add_test(tcase, piece_is_found_only_if_entirely_inside);
	tcase_add_test(tcase, pieces_are_found_in_address_order);
	tcase_add_test(tcase, piece_is_found_at_each_of_its_addresses);
	tcase_add_test(tcase, addresses_of_a_piece_are_a_ring);
	tcase_add_test(tcase, whole_pieces_of_a_run_are_summed);
	tcase_add_test(tcase, tile_rejects_gaps_and_overhang);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they need address space */
	tcase_add_test(tcase, init_fails_without_table_memory);
#endif
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
