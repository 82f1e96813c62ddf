/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retired blocks: freed for the caller, but not available to requests until they are reclaimed, in
 * the order of retirement.
 */
#include "fixture.h"

#include <stdlib.h>

static uint64_t retire(struct fixture *f, void *block)
{
	uint64_t ticket = 0;
	size_t bytes = 0;

	ck_assert_int_eq(mam_pool_retire(f->pool, block, &ticket, &bytes), MAM_OK);
	ck_assert_uint_gt(ticket, 0);
	ck_assert_uint_gt(bytes, 0);
	intact(f);
	return ticket;
}

static size_t reclaim(struct fixture *f, uint64_t ticket)
{
	size_t bytes = SIZE_MAX;

	ck_assert_int_eq(mam_pool_reclaim(f->pool, ticket, &bytes), MAM_OK);
	intact(f);
	return bytes;
}

START_TEST(retired_block_is_not_reused)
{
	struct mam_pool_config config = { .chunk_bytes = 4 * KIB, .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);
	void *a = alloc(f, 4 * KIB);
	uint64_t ticket = retire(f, a);

	refused(f, 512, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(reclaim(f, ticket), 4 * KIB);
	ck_assert_ptr_eq(alloc(f, 4 * KIB), a);
	fixture_end(f);
}
END_TEST

START_TEST(retired_block_counts_as_freed)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	void *a = alloc(f, 1000);
	struct mam_stats stats;
	struct mam_segment_info info;
	size_t released = 1;

	alloc(f, 512);
	retire(f, a);
	kept(f, a, MAM_ERROR_DOUBLE_FREE);
	kept(f, at(a, 512), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_pool_retire(f->pool, a, NULL, NULL), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_pool_retire(f->pool, at(a, 1 << 20), NULL, NULL), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_pool_retire(f->pool, at(a, 1025), NULL, NULL), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_pool_retire(NULL, a, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_reclaim(NULL, 1, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_find(f->pool, a, &info), MAM_OK);
	ck_assert(info.retired && !info.live && info.bytes == 1024 && info.requested == 0);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.live_blocks, 1);
	ck_assert_uint_eq(stats.live_bytes, 512);
	ck_assert_uint_eq(stats.frees, 1);
	ck_assert_uint_eq(stats.retired_blocks, 1);
	ck_assert_uint_eq(stats.retired_bytes, 1024);
	ck_assert_uint_eq(stats.free_blocks, 0);
	ck_assert_uint_eq(stats.free_block_bytes, 0);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 0);
	fixture_end(f);
}
END_TEST

START_TEST(chunk_with_retired_blocks_stays)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	uint64_t ticket = retire(f, alloc(f, 512));
	size_t released = 1;

	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 0);
	reclaim(f, ticket);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(reclaim_follows_order_up_to_ticket)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	void *a = alloc(f, 512), *b = alloc(f, 1024), *c = alloc(f, 512);
	uint64_t first, second;

	alloc(f, 512);
	first = retire(f, c);
	second = retire(f, a);
	ck_assert_uint_eq(second, first + 1);
	ck_assert_uint_eq(reclaim(f, first - 1), 0);
	ck_assert_uint_eq(reclaim(f, first), 512);
	ck_assert_uint_eq(reclaim(f, first), 0);
	ck_assert_uint_eq(stats_of(f).free_blocks, 1);
	retire(f, b);
	ck_assert_uint_eq(reclaim(f, UINT64_MAX), 512 + 1024);
	ck_assert_uint_eq(stats_of(f).free_blocks, 1);
	ck_assert_uint_eq(stats_of(f).largest_free_block_bytes, 2048);
	ck_assert_uint_eq(stats_of(f).peak_retired_bytes, 1536);
	ck_assert_uint_eq(retire(f, alloc(f, 512)), first + 3);
	fixture_end(f);
}
END_TEST

START_TEST(pool_with_retired_blocks_can_be_destroyed)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	void *a = alloc(f, 512);

	retire(f, a);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	ck_assert_int_eq(mam_pool_retire(f->pool, a, NULL, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_reclaim(f->pool, UINT64_MAX, NULL), MAM_ERROR_DESTROYED);
	fixture_end(f);
}
END_TEST

/*
 * Random operations with a shadow model of live and retired blocks: no new block overlaps either.
 */
#define BLOCKS 200

START_TEST(random_blocks_never_overlap_retired_ones)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	struct {
		char *base;
		size_t bytes;
		uint64_t ticket;
		bool used;
	} blocks[BLOCKS] = { { 0 } };
	uint64_t reclaimed = 0, newest = 0;

	srand(7);
	for (int step = 0; step < 20000; step++) {
		int i = rand() % BLOCKS;

		if (rand() % 16 == 0 && newest > reclaimed) {
			reclaimed += 1 + (uint64_t)rand() % (newest - reclaimed);
			reclaim(f, reclaimed);
			for (int k = 0; k < BLOCKS; k++)
				if (blocks[k].ticket != 0 && blocks[k].ticket <= reclaimed)
					blocks[k].used = false, blocks[k].ticket = 0;
		} else if (!blocks[i].used) {
			blocks[i].bytes = 1 + (size_t)rand() % 5000;
			blocks[i].base = alloc(f, blocks[i].bytes);
			for (int k = 0; k < BLOCKS; k++)
				ck_assert(k == i || !blocks[k].used ||
					  blocks[k].base >= blocks[i].base + blocks[i].bytes ||
					  blocks[i].base >= blocks[k].base + blocks[k].bytes);
			blocks[i].used = true;
		} else if (blocks[i].ticket == 0) {
			newest = blocks[i].ticket = retire(f, blocks[i].base);
		}
	}
	reclaim(f, UINT64_MAX);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 0);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("pool/retire");

	tcase_add_test(tests, retired_block_is_not_reused);
	tcase_add_test(tests, retired_block_counts_as_freed);
	tcase_add_test(tests, chunk_with_retired_blocks_stays);
	tcase_add_test(tests, reclaim_follows_order_up_to_ticket);
	tcase_add_test(tests, pool_with_retired_blocks_can_be_destroyed);
	tcase_add_test(tests, random_blocks_never_overlap_retired_ones);
	return suite_end();
}
