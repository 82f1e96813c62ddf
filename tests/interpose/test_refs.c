/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_refs.c - when physical memory is freed: handles and mappings in the orders that occur in
 * programs.
 *
 * Each test runs in a process of its own.
 */
#include "interpose/kinds/refs.h"

#include <check.h>

#define MIB ((size_t)1 << 20)
#define BASE ((uint64_t)0x7f0000000000)

static uint64_t ended[8]; /* pieces that an unmapping freed, in order */
static unsigned int ends;

static void gone(uint64_t piece)
{
	ended[ends++ % 8] = piece;
}

START_TEST(handle_alone_keeps_the_memory)
{
	uint64_t piece = mam_refs_create(77);

	ck_assert_uint_ne(piece, 0);
	ck_assert_uint_eq(mam_refs_of(77), piece);
	ck_assert(mam_refs_release(piece));
	ck_assert_uint_eq(mam_refs_of(77), 0);
	ck_assert(!mam_refs_release(piece));
}
END_TEST

START_TEST(mapping_outlives_the_handle)
{
	uint64_t piece = mam_refs_create(77);

	mam_refs_map(BASE, 4 * MIB, 77);
	mam_refs_map(BASE + 32 * MIB, 2 * MIB, 77);
	ck_assert(!mam_refs_release(piece));
	mam_refs_unmap(BASE, 4 * MIB, gone);
	ck_assert_uint_eq(ends, 0);
	mam_refs_unmap(BASE, 4 * MIB, gone);
	ck_assert_uint_eq(ends, 0);
	mam_refs_unmap(BASE + 32 * MIB, 2 * MIB, gone);
	ck_assert_uint_eq(ends, 1);
	ck_assert_uint_eq(ended[0], piece);
	ck_assert_uint_eq(mam_refs_of(77), 0);
}
END_TEST

START_TEST(handle_outlives_a_mapping)
{
	uint64_t piece = mam_refs_create(77);

	mam_refs_map(BASE, 4 * MIB, 77);
	mam_refs_unmap(BASE, 4 * MIB, gone);
	ck_assert_uint_eq(ends, 0);
	ck_assert(mam_refs_release(piece));
}
END_TEST

START_TEST(retained_handle_is_released_twice)
{
	uint64_t piece = mam_refs_create(77);

	mam_refs_map(BASE, 4 * MIB, 77);
	mam_refs_retain(77, BASE + MIB);
	ck_assert(!mam_refs_release(piece));
	mam_refs_unmap(BASE, 4 * MIB, gone);
	ck_assert_uint_eq(ends, 0);
	ck_assert(mam_refs_release(piece));
}
END_TEST

START_TEST(retained_handle_is_identified_by_its_address)
{
	uint64_t piece = mam_refs_create(77);

	mam_refs_map(BASE, 4 * MIB, 77);
	mam_refs_retain(78, BASE);
	ck_assert_uint_eq(mam_refs_of(78), piece);
	ck_assert(!mam_refs_release(piece));
	mam_refs_unmap(BASE, 4 * MIB, gone);
	ck_assert_uint_eq(ends, 0);
	ck_assert(mam_refs_release(mam_refs_of(78)));
}
END_TEST

START_TEST(unmap_frees_many_pieces_and_skips_foreign_ones)
{
	uint64_t pieces[3];

	for (unsigned int i = 0; i < 3; i++) {
		pieces[i] = mam_refs_create(100 + i);
		mam_refs_map(BASE + i * 8 * MIB, i == 1 ? 2 * MIB : 8 * MIB, 100 + i);
		ck_assert(!mam_refs_release(pieces[i]));
	}
	mam_refs_map(BASE + 10 * MIB, 4 * MIB, 999); /* an import; mam saw no call for the range
						      * after it */
	mam_refs_unmap(BASE, 24 * MIB, gone);
	ck_assert_uint_eq(ends, 3);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_uint_eq(ended[i], pieces[i]);
}
END_TEST

/* Another thread created new memory after the driver's release and before mam recorded it. */
START_TEST(reused_handle_is_new_memory)
{
	uint64_t first = mam_refs_create(77), second = mam_refs_create(77);

	ck_assert_uint_ne(first, second);
	ck_assert(mam_refs_release(first));
	ck_assert_uint_eq(mam_refs_of(77), second);
	ck_assert(mam_refs_release(second));
	ck_assert_uint_eq(mam_refs_of(77), 0);
}
END_TEST

START_TEST(foreign_handles_change_nothing)
{
	uint64_t piece = mam_refs_create(77);

	ck_assert_uint_eq(mam_refs_of(5), 0);
	ck_assert_uint_eq(mam_refs_of(0), 0);
	ck_assert(!mam_refs_release(0));
	mam_refs_retain(5, BASE);
	mam_refs_unmap(0, 4 * MIB, gone);
	mam_refs_unmap(BASE, 0, gone);
	ck_assert_uint_eq(ends, 0);
	ck_assert(mam_refs_release(piece));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("refs");
	Suite *suite = suite_create("refs");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_test(cases, handle_alone_keeps_the_memory);
	tcase_add_test(cases, mapping_outlives_the_handle);
	tcase_add_test(cases, handle_outlives_a_mapping);
	tcase_add_test(cases, retained_handle_is_released_twice);
	tcase_add_test(cases, retained_handle_is_identified_by_its_address);
	tcase_add_test(cases, unmap_frees_many_pieces_and_skips_foreign_ones);
	tcase_add_test(cases, reused_handle_is_new_memory);
	tcase_add_test(cases, foreign_handles_change_nothing);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
