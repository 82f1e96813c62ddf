/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trim releases wholly free chunks, but keeps the requested bytes. A refused shrink changes
 * nothing.
 */
#include "fixture.h"

static const struct mam_pool_config small_chunks = { .growth_bytes = 16 * KIB };

/* Four chunks of 16 KiB, one block each. */
static struct fixture *four_chunks(void **block)
{
	struct fixture *f = fixture_new(&small_chunks);

	for (int i = 0; i < 4; i++)
		block[i] = alloc(f, 16 * KIB);
	return f;
}

static size_t trim(struct fixture *f, size_t keep)
{
	size_t released = 77;

	ck_assert_int_eq(mam_pool_trim(f->pool, keep, &released), MAM_OK);
	intact(f);
	return released;
}

START_TEST(trim_releases_only_free_chunks)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	ck_assert_uint_eq(trim(f, 0), 0);
	dealloc(f, block[1]);
	dealloc(f, block[3]);
	alloc(f, 512); /* uses one of them again */
	ck_assert_uint_eq(trim(f, 0), 16 * KIB);
	ck_assert_uint_eq(stats_of(f).chunks, 3);
	ck_assert_uint_eq(stats_of(f).shrinks, 1);
	ck_assert_uint_eq(trim(f, 0), 0);
	fixture_end(f);
}
END_TEST

START_TEST(idle_pool_trims_to_zero_and_grows_again)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	for (int i = 0; i < 4; i++)
		dealloc(f, block[i]);
	ck_assert_uint_eq(trim(f, 0), 64 * KIB);
	ck_assert_uint_eq(f->space.pieces, 0);
	ck_assert_picture(f, 512, "");
	alloc(f, 512);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 16 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(trim_keeps_requested_bytes)
{
	/* clang-format off */
	static const struct { size_t keep, left; } rows[] = {
		{ 64 * KIB, 64 * KIB }, { 64 * KIB - 1, 64 * KIB }, { 48 * KIB + 1, 64 * KIB },
		{ 48 * KIB, 48 * KIB },
		{ 17 * KIB, 32 * KIB }, { 1, 16 * KIB }, { 0, 0 }, { SIZE_MAX, 64 * KIB },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *block[4];
		struct fixture *f = four_chunks(block);

		for (int b = 0; b < 4; b++)
			dealloc(f, block[b]);
		ck_assert_uint_eq(trim(f, rows[i].keep), 64 * KIB - rows[i].left);
		ck_assert_uint_eq(stats_of(f).reserved_bytes, rows[i].left);
		fixture_end(f);
	}
}
END_TEST

START_TEST(released_chunk_is_not_owned)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	dealloc(f, block[2]);
	trim(f, 0);
	kept(f, block[2], MAM_ERROR_NOT_OWNED);
	fixture_end(f);
}
END_TEST

START_TEST(released_output_may_be_null)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	dealloc(f, block[0]);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(f).chunks, 3);
	fixture_end(f);
}
END_TEST

START_TEST(chunk_with_refused_shrink_stays_usable)
{
	void *block[4];
	struct fixture *f = four_chunks(block);
	size_t released = 77;

	dealloc(f, block[1]);
	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(released, 77);
	intact(f);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats_of(f).shrinks, 0);
	ck_assert_ptr_eq(alloc(f, 16 * KIB), block[1]);
	fixture_end(f);
}
END_TEST

START_TEST(bytes_released_before_refusal_are_reported)
{
	void *block[4];
	struct fixture *f = four_chunks(block);
	size_t released = 77;

	for (int i = 0; i < 4; i++)
		dealloc(f, block[i]);
	space_refuse(&f->space, SPACE_SHRINK, 3, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 32 * KIB);
	intact(f);
	ck_assert_uint_eq(trim(f, 0), 32 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(only_chunk_keeps_tail_after_refused_shrink)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	size_t released;

	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_ERROR_DRIVER);
	intact(f);
	alloc(f, 16 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(trim_does_not_lower_peaks)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	for (int i = 0; i < 4; i++)
		dealloc(f, block[i]);
	trim(f, 0);
	ck_assert_uint_eq(stats_of(f).peak_reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 64 * KIB);
	/* A new chunk starts at zero: the high water of the old ones was released with them. */
	alloc(f, 512);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(repeated_trims_leak_no_records)
{
	struct fixture *f = fixture_new(&small_chunks);
	uint64_t host_bytes = 0;

	for (int round = 0; round < 300; round++) {
		void *block[4];

		for (int i = 0; i < 4; i++)
			block[i] = alloc(f, 10 * KIB);
		for (int i = 0; i < 4; i++)
			dealloc(f, block[i]);
		ck_assert_uint_eq(trim(f, 0), 64 * KIB);
		if (round == 10)
			host_bytes = stats_of(f).host_bytes;
	}
	ck_assert_uint_eq(stats_of(f).host_bytes, host_bytes);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/trim");

	tcase_add_test(tcase, trim_releases_only_free_chunks);
	tcase_add_test(tcase, idle_pool_trims_to_zero_and_grows_again);
	tcase_add_test(tcase, trim_keeps_requested_bytes);
	tcase_add_test(tcase, released_chunk_is_not_owned);
	tcase_add_test(tcase, released_output_may_be_null);
	tcase_add_test(tcase, chunk_with_refused_shrink_stays_usable);
	tcase_add_test(tcase, bytes_released_before_refusal_are_reported);
	tcase_add_test(tcase, only_chunk_keeps_tail_after_refused_shrink);
	tcase_add_test(tcase, trim_does_not_lower_peaks);
	tcase_add_test(tcase, repeated_trims_leak_no_records);
	return suite_end();
}
