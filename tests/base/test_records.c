/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The array of records: handles stay valid while it moves, no record is allocated twice, and a
 * refused growth changes nothing.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/records.h"

#define RECORD 64
#define MANY 20000

static struct mam_records records;

static void setup(void)
{
	mam_records_refuse_at(0);
	ck_assert_int_eq(mam_records_init(&records, RECORD), MAM_OK);
}

static void teardown(void)
{
	mam_records_refuse_at(0);
	mam_records_fini(&records);
}

static uint32_t take(void)
{
	ck_assert_int_eq(mam_records_reserve(&records, 1), MAM_OK);
	return mam_records_take(&records);
}

static void fill(uint32_t handle)
{
	memset(mam_records_at(&records, handle), (int)(handle % 251), RECORD);
}

/*
 * Check records passed assertions too, which is slower than the comparison: assert only on failure.
 */
static void ck_assert_filled(uint32_t handle)
{
	const unsigned char *bytes = mam_records_at(&records, handle);

	for (size_t i = 0; i < RECORD; i++)
		if (bytes[i] != handle % 251)
			ck_abort_msg("record %u changed at byte %zu", handle, i);
}

START_TEST(handles_are_nonzero_and_even)
{
	for (int i = 0; i < 100; i++) {
		uint32_t handle = take();

		ck_assert_uint_ne(handle, 0);
		ck_assert_uint_eq(handle & 1u, 0);
		ck_assert_uint_eq((uintptr_t)mam_records_at(&records, handle) % 16, 0);
	}
}
END_TEST

START_TEST(contents_survive_moves)
{
	static uint32_t handle[MANY];
	char *base = records.base;
	size_t range = records.mapped_bytes;

	for (size_t i = 0; i < MANY; i++) {
		handle[i] = take();
		fill(handle[i]);
	}
	for (size_t i = 0; i < MANY; i++)
		ck_assert_filled(handle[i]);
	ck_assert_uint_gt(records.mapped_bytes, range);
	(void)base;
}
END_TEST

START_TEST(last_freed_record_is_reused_first)
{
	uint32_t a = take(), b = take(), c = take();

	mam_records_put(&records, a);
	mam_records_put(&records, c);
	mam_records_put(&records, b);
	ck_assert_uint_eq(take(), b);
	ck_assert_uint_eq(take(), c);
	ck_assert_uint_eq(take(), a);
}
END_TEST

START_TEST(no_record_is_allocated_twice)
{
	static bool given[MANY * RECORD / 8];
	static uint32_t held[MANY];
	size_t count = 0;
	uint64_t state = 4101842887655102017u;

	for (unsigned step = 0; step < 50000; step++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (count == 0 || (count < 2000 && state % 5 < 3)) {
			uint32_t handle = take();

			ck_assert_uint_lt(handle, sizeof(given));
			ck_assert_msg(!given[handle], "record %u was allocated twice", handle);
			given[handle] = true;
			fill(handle);
			held[count++] = handle;
		} else {
			size_t pick = (state >> 16) % count;

			ck_assert_filled(held[pick]);
			given[held[pick]] = false;
			mam_records_put(&records, held[pick]);
			held[pick] = held[--count];
		}
	}
}
END_TEST

START_TEST(freed_records_are_reused_before_growth)
{
	uint32_t handle[100];
	size_t bytes;

	for (int i = 0; i < 100; i++)
		handle[i] = take();
	bytes = mam_records_bytes(&records);
	ck_assert_uint_ge(bytes, 100 * RECORD);
	ck_assert_uint_le(bytes, 101 * RECORD);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 100; i++)
			mam_records_put(&records, handle[i]);
		for (int i = 0; i < 100; i++)
			handle[i] = take();
	}
	ck_assert_uint_eq(mam_records_bytes(&records), bytes);
}
END_TEST

START_TEST(reserve_guarantees_that_many_records)
{
	for (uint32_t count = 1; count < 5000; count = count * 3 + 1) {
		char *base;

		ck_assert_int_eq(mam_records_reserve(&records, count), MAM_OK);
		base = records.base;
		for (uint32_t i = 0; i < count; i++)
			fill(mam_records_take(&records));
		ck_assert_ptr_eq(records.base, base);
		ck_assert_uint_le(records.touched, records.capacity);
	}
}
END_TEST

/* Takes all records that are available without growth. */
static uint32_t exhaust(void)
{
	uint32_t last = 0;

	while (records.idle_count + (records.capacity - records.touched) > 0) {
		last = mam_records_take(&records);
		fill(last);
	}
	return last;
}

START_TEST(refused_growth_changes_nothing)
{
	uint32_t last = exhaust();
	struct mam_records before = records;

	mam_records_refuse_at(1);
	ck_assert_int_eq(mam_records_reserve(&records, 1), MAM_ERROR_OUT_OF_HOST_MEMORY);
	ck_assert_mem_eq(&before, &records, sizeof(before));
	ck_assert_filled(last);
	ck_assert_uint_ne(take(), 0); /* once only */
	ck_assert_filled(last);
}
END_TEST

START_TEST(refusal_applies_to_nth_growth)
{
	mam_records_refuse_at(3);
	for (int growth = 1; growth <= 4; growth++) {
		exhaust();
		ck_assert_int_eq(mam_records_reserve(&records, 1),
				 growth == 3 ? MAM_ERROR_OUT_OF_HOST_MEMORY : MAM_OK);
	}
}
END_TEST

START_TEST(first_range_can_be_refused)
{
	struct mam_records other;

	mam_records_refuse_at(1);
	ck_assert_int_eq(mam_records_init(&other, RECORD), MAM_ERROR_OUT_OF_HOST_MEMORY);
	mam_records_fini(&other);
	ck_assert_int_eq(mam_records_init(&other, RECORD), MAM_OK);
	mam_records_fini(&other);
}
END_TEST

START_TEST(address_space_limit_is_reported)
{
	struct rlimit limit;
	uint32_t last = exhaust();
	struct mam_records before = records;
	enum mam_status status;

	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = 1 << 20; /* less than the process already uses: no range can grow */
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		return;
	status = mam_records_reserve(&records, 1);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_AS, &limit);
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
	ck_assert_mem_eq(&before, &records, sizeof(before));
	ck_assert_filled(last);
}
END_TEST

START_TEST(fini_frees_range)
{
	struct mam_records other;
	unsigned char resident;
	char *base;

	ck_assert_int_eq(mam_records_init(&other, RECORD), MAM_OK);
	base = other.base;
	ck_assert_int_eq(mincore(base, 1, &resident), 0);
	mam_records_fini(&other);
	ck_assert_int_ne(mincore(base, 1, &resident), 0);
	mam_records_fini(&other); /* a second call is a no-op */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/records");
	TCase *tcase = tcase_create("records");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, handles_are_nonzero_and_even);
	tcase_add_test(tcase, contents_survive_moves);
	tcase_add_test(tcase, last_freed_record_is_reused_first);
	tcase_add_test(tcase, no_record_is_allocated_twice);
	tcase_add_test(tcase, freed_records_are_reused_before_growth);
	tcase_add_test(tcase, reserve_guarantees_that_many_records);
	tcase_add_test(tcase, refused_growth_changes_nothing);
	tcase_add_test(tcase, refusal_applies_to_nth_growth);
	tcase_add_test(tcase, first_range_can_be_refused);
	tcase_add_test(tcase, address_space_limit_is_reported);
	tcase_add_test(tcase, fini_frees_range);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
