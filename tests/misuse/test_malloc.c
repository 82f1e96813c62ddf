/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invalid requests and frees: each returns its own status, and the pool is unchanged.
 *
 * Each test is a forked child that must exit with 0: a crash, an abort or a hang is a failure. The
 * fixture checks the pool's metadata after each test and compares its statistics with those before.
 */
#include <stdint.h>
#include <string.h>

#include <mam/mam.h>
#include <mam/stats.h>

#include "../api/suite.h"

#define CHUNK ((size_t)1 << 20)

static struct mam_pool *pool;
static char *block; /* 4096 bytes, live */
static char *freed; /* was 512 bytes, and is followed by a live block */
static struct mam_stats before;

static void look(struct mam_stats *stats)
{
	char why[200] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	ck_assert_int_eq(mam_pool_stats(pool, stats), MAM_OK);
	stats->failures = 0; /* may count the misuse */
}

static void begin(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	void *following;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("MAM_SOURCE", "host", 1);
	attr.source = "host";
	attr.chunk_bytes = CHUNK;
	attr.growth_bytes = MAM_GROWTH_NONE;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 4096, (void **)&block), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 512, (void **)&freed), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 512, &following), MAM_OK);
	ck_assert_int_eq(mam_free(pool, freed), MAM_OK);
	/* A request that finds no free memory empties the caches: the test ignores that change. */
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	look(&before);
}

static void end(void)
{
	struct mam_stats after;

	look(&after);
	ck_assert_mem_eq(&after, &before, sizeof(after));
}

/* Every call that allocates refuses the request and leaves the output unchanged. */
static void refused(size_t bytes, size_t alignment, enum mam_status status)
{
	void *const untouched = &before;
	void *output = untouched;

	if (alignment == 0)
		ck_assert_int_eq(mam_malloc(pool, bytes, &output), status);
	else
		ck_assert_int_eq(mam_malloc_aligned(pool, bytes, alignment, &output), status);
	ck_assert_ptr_eq(output, untouched);
}

START_TEST(size_0_returns_null)
{
	void *output = &before;

	ck_assert_int_eq(mam_malloc(pool, 0, &output), MAM_OK);
	ck_assert_ptr_null(output);
	output = &before;
	ck_assert_int_eq(mam_malloc_aligned(pool, 0, 4096, &output), MAM_OK);
	ck_assert_ptr_null(output);
	output = &before;
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 0, 0, &output), MAM_OK);
	ck_assert_ptr_null(output);
	ck_assert_int_eq(mam_free(pool, output), MAM_OK);
	ck_assert_int_eq(mam_free(NULL, NULL), MAM_OK);
}
END_TEST

static const size_t huge[] = {
	CHUNK + 1,       (size_t)1 << 40, (size_t)1 << 54, (size_t)1 << 55,
	(size_t)1 << 56, (size_t)1 << 63, SIZE_MAX / 2,    SIZE_MAX - 511,
	SIZE_MAX - 510,  SIZE_MAX - 1,    SIZE_MAX,
};

START_TEST(huge_sizes_are_out_of_memory)
{
	refused(huge[_i], 0, MAM_ERROR_OUT_OF_MEMORY);
	refused(huge[_i], 512, MAM_ERROR_OUT_OF_MEMORY);
	refused(huge[_i], (size_t)1 << 63, MAM_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(huge_sizes_are_out_of_memory_in_growing_pool)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *growing;
	void *output = NULL;

	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &growing), MAM_OK);
	for (size_t i = 1; i < COUNT_OF(huge); i++)
		ck_assert_int_eq(mam_malloc(growing, huge[i], &output), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(output);
	ck_assert_int_eq(mam_pool_check(growing, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(growing), MAM_OK);
}
END_TEST

START_TEST(huge_alignments_are_out_of_memory)
{
	for (size_t alignment = (size_t)1 << 40; alignment != 0; alignment <<= 1)
		refused(1, alignment, MAM_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(alignment_must_be_power_of_two)
{
	const size_t alignments[] = { 3, 513, 1000, 6 << 20, SIZE_MAX };
	void *output = &before;

	for (size_t i = 0; i < COUNT_OF(alignments); i++)
		refused(512, alignments[i], MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc_aligned(pool, 512, 0, &output), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc_aligned(pool, 0, 3, &output), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 512, 3, &output), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_eq(output, &before);
}
END_TEST

START_TEST(null_output_is_invalid)
{
	ck_assert_int_eq(mam_malloc(pool, 512, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc(pool, 0, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc(NULL, 512, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_malloc_aligned(pool, 512, 512, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 512, 0, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_usable_size(pool, block, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_owner(block, NULL, NULL), MAM_OK); /* NULL is valid for this one */
}
END_TEST

START_TEST(double_free_is_reported)
{
	for (int again = 0; again < 3; again++) {
		ck_assert_int_eq(mam_free(pool, freed), MAM_ERROR_DOUBLE_FREE);
		ck_assert_int_eq(mam_free(NULL, freed), MAM_ERROR_DOUBLE_FREE);
	}
}
END_TEST

START_TEST(double_free_after_merge_is_reported)
{
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	look(&before);
	ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DOUBLE_FREE);
	/* Now in the middle of the merged free block. */
	ck_assert_int_eq(mam_free(pool, freed), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free(pool, block + 1), MAM_ERROR_DOUBLE_FREE);
}
END_TEST

START_TEST(free_of_fresh_space_is_reported)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };

	ck_assert_int_eq(mam_owner(block, NULL, &segment), MAM_OK);
	ck_assert_int_eq(mam_free(pool, (char *)segment.chunk_base + CHUNK - 1),
			 MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_free(pool, (char *)segment.chunk_base + CHUNK / 2),
			 MAM_ERROR_DOUBLE_FREE);
}
END_TEST

START_TEST(free_of_interior_pointer_is_reported)
{
	const ptrdiff_t inside[] = { 1, 16, 511, 512, 4095 };

	for (size_t i = 0; i < COUNT_OF(inside); i++) {
		ck_assert_int_eq(mam_free(pool, block + inside[i]), MAM_ERROR_INTERIOR);
		ck_assert_int_eq(mam_free(NULL, block + inside[i]), MAM_ERROR_INTERIOR);
	}
}
END_TEST

START_TEST(free_of_foreign_address_is_reported)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };
	static char data[64];
	char *heap = malloc(64);
	size_t bytes = 77;
	void *foreign[6];

	ck_assert_int_eq(mam_owner(block, NULL, &segment), MAM_OK);
	foreign[0] = heap;
	foreign[1] = data;
	foreign[2] = &bytes;
	foreign[3] = (char *)segment.chunk_base + CHUNK;
	foreign[4] = (char *)segment.chunk_base - 1;
	foreign[5] = (void *)UINTPTR_MAX;
	for (size_t i = 0; i < COUNT_OF(foreign); i++) {
		ck_assert_int_eq(mam_free(pool, foreign[i]), MAM_ERROR_NOT_OWNED);
		ck_assert_int_eq(mam_free(NULL, foreign[i]), MAM_ERROR_NOT_OWNED);
		ck_assert_int_eq(mam_usable_size(NULL, foreign[i], &bytes), MAM_ERROR_NOT_OWNED);
		ck_assert_int_eq(mam_owner(foreign[i], NULL, &segment), MAM_ERROR_NOT_OWNED);
	}
	ck_assert_uint_eq(bytes, 77);
	ck_assert_ptr_nonnull(segment.chunk_base); /* outputs unchanged */
	free(heap);
}
END_TEST

START_TEST(free_into_wrong_pool_is_reported)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *other;
	void *others;

	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &other), MAM_OK);
	ck_assert_int_eq(mam_malloc(other, 512, &others), MAM_OK);
	ck_assert_int_eq(mam_free(pool, others), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(other, block), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(other, others), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(other), MAM_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("misuse/malloc");
	TCase *requests = suite_case(suite, "requests");
	TCase *frees = suite_case(suite, "frees");

	tcase_add_checked_fixture(requests, begin, end);
	tcase_add_checked_fixture(frees, begin, end);
	tcase_add_test(requests, size_0_returns_null);
	tcase_add_loop_test(requests, huge_sizes_are_out_of_memory, 0, COUNT_OF(huge));
	tcase_add_test(requests, huge_sizes_are_out_of_memory_in_growing_pool);
	tcase_add_test(requests, huge_alignments_are_out_of_memory);
	tcase_add_test(requests, alignment_must_be_power_of_two);
	tcase_add_test(requests, null_output_is_invalid);
	tcase_add_test(frees, double_free_is_reported);
	tcase_add_test(frees, double_free_after_merge_is_reported);
	tcase_add_test(frees, free_of_fresh_space_is_reported);
	tcase_add_test(frees, free_of_interior_pointer_is_reported);
	tcase_add_test(frees, free_of_foreign_address_is_reported);
	tcase_add_test(frees, free_into_wrong_pool_is_reported);
	return suite_run(suite);
}
