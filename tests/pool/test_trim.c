/* SPDX-License-Identifier: Apache-2.0 */
/* Trim gives wholly free chunks back, never below what is to be kept, and a source that will not take one costs nothing. */
#include "fixture.h"

static const struct mam_pool_config small_chunks = { .growth_bytes = 16 * KIB };

/* Four chunks of 16 KiB, one block each. */
static struct fixture *four_chunks(void **block)
{
	struct fixture *f = fixture_new(&small_chunks);

	for (int i = 0; i < 4; i++)
		block[i] = take(f, 16 * KIB);
	return f;
}

static size_t trim(struct fixture *f, size_t keep)
{
	size_t released = 77;

	ck_assert_int_eq(mam_pool_trim(f->pool, keep, &released), MAM_OK);
	intact(f);
	return released;
}

START_TEST(only_wholly_free_chunks_go)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	ck_assert_uint_eq(trim(f, 0), 0);
	give(f, block[1]);
	give(f, block[3]);
	take(f, 512); /* lies in one of them again */
	ck_assert_uint_eq(trim(f, 0), 16 * KIB);
	ck_assert_uint_eq(stats_of(f).chunks, 3);
	ck_assert_uint_eq(stats_of(f).shrinks, 1);
	ck_assert_uint_eq(trim(f, 0), 0);
	fixture_end(f);
}
END_TEST

START_TEST(an_idle_pool_trims_to_nothing_and_grows_again)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	for (int i = 0; i < 4; i++)
		give(f, block[i]);
	ck_assert_uint_eq(trim(f, 0), 64 * KIB);
	ck_assert_uint_eq(f->space.pieces, 0);
	ck_assert_picture(f, 512, "");
	take(f, 512);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 16 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(the_pool_keeps_what_it_is_told_to)
{
	/* clang-format off */
	static const struct { size_t keep, left; } rows[] = {
		{ 64 * KIB, 64 * KIB }, { 64 * KIB - 1, 64 * KIB }, { 48 * KIB + 1, 64 * KIB }, { 48 * KIB, 48 * KIB },
		{ 17 * KIB, 32 * KIB }, { 1, 16 * KIB }, { 0, 0 }, { SIZE_MAX, 64 * KIB },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *block[4];
		struct fixture *f = four_chunks(block);

		for (int b = 0; b < 4; b++)
			give(f, block[b]);
		ck_assert_uint_eq(trim(f, rows[i].keep), 64 * KIB - rows[i].left);
		ck_assert_uint_eq(stats_of(f).reserved_bytes, rows[i].left);
		fixture_end(f);
	}
}
END_TEST

START_TEST(a_trimmed_chunk_is_no_longer_owned)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	give(f, block[2]);
	trim(f, 0);
	kept(f, block[2], MAM_ERROR_NOT_OWNED);
	fixture_end(f);
}
END_TEST

START_TEST(the_released_bytes_need_not_be_asked_for)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	give(f, block[0]);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(f).chunks, 3);
	fixture_end(f);
}
END_TEST

START_TEST(a_chunk_the_source_refuses_to_take_stays_in_use)
{
	void *block[4];
	struct fixture *f = four_chunks(block);
	size_t released = 77;

	give(f, block[1]);
	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(released, 77);
	intact(f);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats_of(f).shrinks, 0);
	ck_assert_ptr_eq(take(f, 16 * KIB), block[1]);
	fixture_end(f);
}
END_TEST

START_TEST(what_went_before_a_refusal_is_reported)
{
	void *block[4];
	struct fixture *f = four_chunks(block);
	size_t released = 77;

	for (int i = 0; i < 4; i++)
		give(f, block[i]);
	space_refuse(&f->space, SPACE_SHRINK, 3, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 32 * KIB);
	intact(f);
	ck_assert_uint_eq(trim(f, 0), 32 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(the_only_chunk_put_back_has_the_tail_again)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	size_t released;

	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_ERROR_DRIVER);
	intact(f);
	take(f, 16 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(trimming_does_not_lower_what_was_once_reached)
{
	void *block[4];
	struct fixture *f = four_chunks(block);

	for (int i = 0; i < 4; i++)
		give(f, block[i]);
	trim(f, 0);
	ck_assert_uint_eq(stats_of(f).peak_reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 64 * KIB);
	take(f, 512); /* a new chunk begins at zero: the high water of old ones went with them */
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(records_do_not_leak_through_many_trims)
{
	struct fixture *f = fixture_new(&small_chunks);
	uint64_t host_bytes = 0;

	for (int round = 0; round < 300; round++) {
		void *block[4];

		for (int i = 0; i < 4; i++)
			block[i] = take(f, 10 * KIB);
		for (int i = 0; i < 4; i++)
			give(f, block[i]);
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

	tcase_add_test(tcase, only_wholly_free_chunks_go);
	tcase_add_test(tcase, an_idle_pool_trims_to_nothing_and_grows_again);
	tcase_add_test(tcase, the_pool_keeps_what_it_is_told_to);
	tcase_add_test(tcase, a_trimmed_chunk_is_no_longer_owned);
	tcase_add_test(tcase, the_released_bytes_need_not_be_asked_for);
	tcase_add_test(tcase, a_chunk_the_source_refuses_to_take_stays_in_use);
	tcase_add_test(tcase, what_went_before_a_refusal_is_reported);
	tcase_add_test(tcase, the_only_chunk_put_back_has_the_tail_again);
	tcase_add_test(tcase, trimming_does_not_lower_what_was_once_reached);
	tcase_add_test(tcase, records_do_not_leak_through_many_trims);
	return suite_end();
}
