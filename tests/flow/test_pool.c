/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a pool, as a program sees it: only the public headers and the shared library. */
#include <string.h>

#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "../api/suite.h"

#define MIB ((size_t)1 << 20)

static struct mam_pool *make(size_t chunk, size_t growth, size_t limit)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = "host";
	attr.chunk_bytes = chunk;
	attr.growth_bytes = growth;
	attr.limit_bytes = limit;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

static void *alloc(struct mam_pool *pool, size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(pool, bytes, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	return block;
}

static void dealloc(struct mam_pool *pool, void *block)
{
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
}

static struct mam_stats stats_of(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	char why[200] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

START_TEST(pool_lifecycle_works)
{
	struct mam_pool *pool = make(4 * MIB, 0, 0);
	struct mam_stats stats = stats_of(pool);
	void *first, *second, *third;

	ck_assert_uint_eq(stats.chunks, 1);
	ck_assert_uint_eq(stats.reserved_bytes, 4 * MIB);
	ck_assert_uint_eq(stats.live_blocks, 0);
	first = alloc(pool, 1);
	second = alloc(pool, 513);
	third = alloc(pool, MIB);
	ck_assert_uint_eq((uintptr_t)first % 512, 0);
	ck_assert_uint_eq((uintptr_t)second % 512, 0);
	dealloc(pool, second);
	stats = stats_of(pool);
	ck_assert_uint_eq(stats.live_blocks, 2);
	ck_assert_uint_eq(stats.cached_blocks, 1);
	ck_assert_int_eq(mam_pool_trim(pool, SIZE_MAX, NULL), MAM_OK);
	stats = stats_of(pool);
	ck_assert_uint_eq(stats.cached_blocks, 0);
	ck_assert_uint_eq(stats.live_blocks, 2);
	ck_assert_uint_eq(stats.live_bytes, 1 + MIB);
	ck_assert_uint_eq(stats.live_rounded_bytes, 512 + MIB);
	ck_assert_uint_eq(stats.peak_live_bytes, 1 + 513 + MIB);
	ck_assert_uint_eq(stats.free_blocks, 1);
	ck_assert_uint_eq(stats.free_block_bytes, 64 * 1024 - 512);
	ck_assert_uint_eq(stats.largest_free_block_bytes, 64 * 1024 - 512);
	ck_assert_uint_eq(stats.allocs, 3);
	ck_assert_uint_eq(stats.frees, 1);
	ck_assert_ptr_eq(alloc(pool, 1000), second); /* best fit: the free block that it left */
	dealloc(pool, second);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_LIVE_BLOCKS);
	dealloc(pool, third);
	dealloc(pool, first);
	stats = stats_of(pool);
	ck_assert_uint_eq(stats.segments, 1);
	ck_assert_uint_eq(stats.live_bytes, 0);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(pool_without_first_chunk_grows_on_demand)
{
	struct mam_pool *pool = make(0, MIB, 0);

	ck_assert_uint_eq(stats_of(pool).reserved_bytes, 0);
	dealloc(pool, alloc(pool, 512));
	ck_assert_uint_eq(stats_of(pool).reserved_bytes, MIB);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(blocks_of_backed_source_are_writable)
{
	struct mam_source *source;
	struct mam_pool *pool;
	unsigned char *blocks[200];

	ck_assert_int_eq(mam_source_host(64 * MIB, true, &source), MAM_OK);
	ck_assert_int_eq(mam_pool_create_on(source, NULL, &pool), MAM_OK);
	for (size_t i = 0; i < COUNT_OF(blocks); i++) {
		blocks[i] = alloc(pool, 1 + 97 * i);
		memset(blocks[i], (int)i, 1 + 97 * i);
	}
	for (size_t i = 0; i < COUNT_OF(blocks); i += 2)
		dealloc(pool, blocks[i]);
	for (size_t i = 0; i < COUNT_OF(blocks); i += 2) {
		blocks[i] = alloc(pool, 1 + 97 * i);
		memset(blocks[i], (int)i, 1 + 97 * i);
	}
	for (size_t i = 0; i < COUNT_OF(blocks); i++) {
		for (size_t byte = 0; byte < 1 + 97 * i; byte++)
			ck_assert_uint_eq(blocks[i][byte], i);
		dealloc(pool, blocks[i]);
	}
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(pool_grows_by_chunks_and_releases_them)
{
	struct mam_pool *pool = make(MIB, MIB, 0);
	void *blocks[8];
	size_t released;

	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		blocks[i] = alloc(pool, 3 * MIB / 4); /* no two fit one chunk */
	ck_assert_uint_eq(stats_of(pool).chunks, COUNT_OF(blocks));
	ck_assert_uint_eq(stats_of(pool).grows, COUNT_OF(blocks));
	for (size_t i = 0; i < COUNT_OF(blocks) - 1; i++)
		dealloc(pool, blocks[i]);
	ck_assert_int_eq(mam_pool_trim(pool, 4 * MIB, &released), MAM_OK);
	ck_assert_uint_eq(released, 4 * MIB);
	ck_assert_uint_eq(stats_of(pool).reserved_bytes, 4 * MIB);
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 3 * MIB);
	ck_assert_uint_eq(stats_of(pool).chunks, 1);
	ck_assert_uint_eq(stats_of(pool).shrinks, 7);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	dealloc(pool, blocks[COUNT_OF(blocks) - 1]);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(block_above_growth_size_gets_its_own_chunk)
{
	struct mam_pool *pool = make(MIB, MIB, 0);
	void *block = alloc(pool, 10 * MIB);
	struct mam_segment_info segment = { .size = sizeof(segment) };

	ck_assert_int_eq(mam_owner(block, NULL, &segment), MAM_OK);
	ck_assert_uint_ge(segment.chunk_bytes, 10 * MIB);
	ck_assert_uint_eq(segment.requested, 10 * MIB);
	dealloc(pool, block);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

START_TEST(limit_is_kept_and_pool_stays_usable)
{
	struct mam_pool *pool = make(MIB, MIB, 4 * MIB);
	void *blocks[4], *block = pool;

	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		blocks[i] = alloc(pool, MIB);
	ck_assert_int_eq(mam_malloc(pool, 1, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_malloc(pool, 64 * MIB, &block), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(block, pool);
	ck_assert_uint_eq(stats_of(pool).reserved_bytes, 4 * MIB);
	ck_assert_uint_eq(stats_of(pool).failures, 2);
	dealloc(pool, blocks[2]);
	ck_assert_ptr_eq(alloc(pool, MIB / 2), blocks[2]);
}
END_TEST

START_TEST(refused_source_call_is_retried_later)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_source *host, *limit;
	struct mam_pool *pool;
	void *block = NULL;

	ck_assert_int_eq(mam_source_host(0, false, &host), MAM_OK);
	ck_assert_int_eq(mam_source_limit(host, 0, 1, 3, &limit), MAM_OK);
	attr.growth_bytes = MIB;
	ck_assert_int_eq(mam_pool_create_on(limit, &attr, &pool), MAM_OK);
	for (int tries = 0; tries < 4 && mam_malloc(pool, MIB, &block) != MAM_OK; tries++)
		ck_assert_ptr_null(block);
	ck_assert_ptr_nonnull(block); /* three refusals are at most three failures */
	ck_assert_uint_ge(stats_of(pool).failures, 1);
	dealloc(pool, block);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	mam_source_destroy(limit);
	mam_source_destroy(host);
}
END_TEST

START_TEST(nowait_uses_free_space_and_never_grows)
{
	struct mam_pool *pool = make(MIB, MIB, 0);
	void *whole, *block = pool;

	ck_assert_int_eq(mam_pool_alloc_nowait(pool, MIB, 0, &whole), MAM_OK);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 512, 0, &block), MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_eq(block, pool);
	ck_assert_uint_eq(stats_of(pool).chunks, 1);
	block = alloc(pool, 512); /* this call may grow */
	ck_assert_uint_eq(stats_of(pool).chunks, 2);
	dealloc(pool, block);
	dealloc(pool, whole);
}
END_TEST

START_TEST(aligned_blocks_are_aligned)
{
	struct mam_pool *pool = make(64 * MIB, 0, 0);

	for (size_t alignment = 1; alignment <= 8 * MIB; alignment *= 2) {
		void *block, *odd = alloc(pool, 512);

		ck_assert_int_eq(mam_malloc_aligned(pool, 700, alignment, &block), MAM_OK);
		ck_assert_uint_eq((uintptr_t)block % alignment, 0);
		dealloc(pool, odd);
	}
	ck_assert_uint_eq(stats_of(pool).live_blocks, 24);
}
END_TEST

struct walked {
	struct mam_segment_info last;
	size_t count;
	size_t live;
	size_t stop_after;
};

static bool visit(const struct mam_segment_info *segment, void *user)
{
	struct walked *walked = user;

	if (walked->count > 0 && walked->last.chunk_base == segment->chunk_base)
		ck_assert_ptr_eq(segment->base, (char *)walked->last.base + walked->last.bytes);
	if (walked->count > 0)
		ck_assert((char *)segment->base > (char *)walked->last.base);
	walked->last = *segment;
	walked->count++;
	walked->live += segment->live;
	return walked->count != walked->stop_after;
}

START_TEST(walk_reports_segments_in_address_order)
{
	struct mam_pool *pool = make(MIB, MIB, 0);
	struct walked walked = { .count = 0 };
	void *blocks[30];

	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		blocks[i] = alloc(pool, 100 * 1024);
	for (size_t i = 1; i < COUNT_OF(blocks); i += 3)
		dealloc(pool, blocks[i]);
	ck_assert_int_eq(mam_pool_walk(pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.count, stats_of(pool).segments);
	ck_assert_uint_eq(walked.live, 20);

	walked = (struct walked){ .stop_after = 5 };
	ck_assert_int_eq(mam_pool_walk(pool, visit, &walked), MAM_OK);
	ck_assert_uint_eq(walked.count, 5);
}
END_TEST

START_TEST(pools_recognize_their_own_blocks)
{
	struct mam_pool *red = make(MIB, 0, 0), *blue = make(MIB, 0, 0), *owner;
	void *of_red = alloc(red, 512), *of_blue = alloc(blue, 512);
	struct mam_segment_info segment = { .size = sizeof(segment) };

	ck_assert_int_eq(mam_owner((char *)of_red + 511, &owner, &segment), MAM_OK);
	ck_assert_ptr_eq(owner, red);
	ck_assert_ptr_eq(segment.base, of_red);
	ck_assert_uint_eq(segment.bytes, 512);
	ck_assert_uint_eq(segment.chunk_bytes, MIB);
	ck_assert(segment.live);
	ck_assert_int_eq(mam_owner(of_blue, &owner, NULL), MAM_OK);
	ck_assert_ptr_eq(owner, blue);
	ck_assert_int_eq(mam_owner((char *)of_blue + 600, NULL, &segment), MAM_OK);
	ck_assert(!segment.live);
	ck_assert_int_eq(mam_owner(&owner, &owner, NULL), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(red, of_blue), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(NULL, of_blue), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(blue), MAM_OK);
	ck_assert_uint_eq(stats_of(red).live_blocks, 1);
}
END_TEST

START_TEST(largest_chunk_is_all_source_memory)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = "host";
	attr.chunk_bytes = MAM_CHUNK_LARGEST;
	attr.growth_bytes = MAM_GROWTH_NONE;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_uint_ge(stats_of(pool).reserved_bytes, (size_t)75 << 30);
	alloc(pool, (size_t)70 << 30);
	ck_assert_int_eq(mam_malloc(pool, (size_t)20 << 30, &(void *){ NULL }),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(stats_of(pool).chunks, 1);
}
END_TEST

START_TEST(granules_from_16_bytes_to_2_mib_work)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = "host";
	for (attr.granule = 16; attr.granule <= 2 * MIB; attr.granule *= 2) {
		struct mam_segment_info segment = { .size = sizeof(segment) };
		void *block;

		/* A host source aligns its chunks to no more than it states. */
		if (mam_pool_create(&attr, &pool) != MAM_OK)
			break;
		alloc(pool, 1);
		block = alloc(pool, attr.granule + 1);
		ck_assert_uint_eq((uintptr_t)block % attr.granule, 0);
		ck_assert_int_eq(mam_owner(block, NULL, &segment), MAM_OK);
		ck_assert_uint_eq(segment.bytes, 2 * attr.granule);
	}
	ck_assert_uint_gt(attr.granule, 4096);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flow/pool");
	TCase *life = suite_case(suite, "life");
	TCase *growth = suite_case(suite, "growth");
	TCase *sight = suite_case(suite, "sight");

	tcase_add_test(life, pool_lifecycle_works);
	tcase_add_test(life, pool_without_first_chunk_grows_on_demand);
	tcase_add_test(life, blocks_of_backed_source_are_writable);
	tcase_add_test(life, aligned_blocks_are_aligned);
	tcase_add_test(life, granules_from_16_bytes_to_2_mib_work);
	tcase_add_test(growth, pool_grows_by_chunks_and_releases_them);
	tcase_add_test(growth, block_above_growth_size_gets_its_own_chunk);
	tcase_add_test(growth, limit_is_kept_and_pool_stays_usable);
	tcase_add_test(growth, refused_source_call_is_retried_later);
	tcase_add_test(growth, nowait_uses_free_space_and_never_grows);
	tcase_add_test(growth, largest_chunk_is_all_source_memory);
	tcase_add_test(sight, walk_reports_segments_in_address_order);
	tcase_add_test(sight, pools_recognize_their_own_blocks);
	return suite_run(suite);
}
