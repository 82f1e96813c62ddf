/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may grow with the pool and what may not; the test reads no clock.
 *
 * Steps are bounded by heights: every descent follows one path of a tree, so the heights of both
 * trees bound the time of an operation. Memory is taken from the pool's own counter, and checked
 * against the system's number.
 */
#include <stdlib.h>
#include <stdio.h>

#include "base/rbtree.h"
#include "index/addrtree.h"
#include "fixture.h"

static unsigned height_below(char *nodes, uint32_t handle)
{
	unsigned left, right;

	if (handle == 0)
		return 0;
	left = height_below(nodes, mam_rb_child(nodes, handle, MAM_RB_LEFT));
	right = height_below(nodes, mam_rb_child(nodes, handle, MAM_RB_RIGHT));
	return 1 + (left > right ? left : right);
}

static unsigned address_height(const struct mam_pool *pool)
{
	return height_below(pool->segments.base + offsetof(struct mam_group, node),
			    pool->by_address);
}

static unsigned size_height(const struct mam_pool *pool)
{
	unsigned highest = 0;

	for (unsigned class = 0; class < MAM_FREELISTS_CLASSES; class ++) {
		uint32_t root = pool->freelists.metadata->root[class];
		unsigned height = 0;

		if (root & MAM_FREELISTS_TREE)
			height = height_below(pool->segments.base +
						      offsetof(struct mam_segment, by_size),
					      root & ~MAM_FREELISTS_TREE);
		if (height > highest)
			highest = height;
	}
	return highest;
}

/* 2^(height / 2) <= count + 1 */
static void ck_assert_low(unsigned height, uint64_t count, const char *what)
{
	ck_assert_msg(((uint64_t)1 << (height / 2)) <= count + 1, "%s: %llu records, height %u",
		      what, (unsigned long long)count, height);
}

/*
 * `count` blocks of 32 sizes, each followed by a live block; when freed they are all in one tree by
 * size.
 */
static struct fixture *comb(size_t count, void **block)
{
	struct mam_pool_config config = { .chunk_bytes = count * 600 * KIB, .granule = 16 };
	struct fixture *f = fixture_new(&config);
	static void *wall;

	for (size_t i = 0; i < count; i++) {
		ck_assert_int_eq(mam_pool_alloc(f->pool, (32768 + i * 37 % 32) * 16, 0, &block[i]),
				 MAM_OK);
		ck_assert_int_eq(mam_pool_alloc(f->pool, 512, 0, &wall), MAM_OK);
	}
	return f;
}

static void free_all(struct fixture *f, void **block, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(mam_pool_free(f->pool, block[i * 7919 % count]), MAM_OK);
}

START_TEST(both_trees_stay_balanced)
{
	static const size_t counts[] = { 10, 100, 1000, 10000 };
	static void *block[10000];
	struct fixture *f = comb(counts[_i], block);
	struct mam_stats stats = stats_of(f);

	ck_assert_low(address_height(f->pool), stats.segments, "by address, all live");
	free_all(f, block, counts[_i]);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.free_blocks, counts[_i]);
	ck_assert_low(address_height(f->pool), stats.segments, "by address, with free blocks");
	ck_assert_low(size_height(f->pool), 32, "by size: at most one node per size");
	/* The free blocks are in a tree, not in bins. */
	ck_assert_uint_ge(size_height(f->pool), counts[_i] < 100 ? 3 : 6);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(segment_needs_at_most_128_bytes_of_host_memory)
{
	enum { COUNT = 100000 };
	void **block = calloc(COUNT, sizeof(*block));
	struct mam_pool_config config = { .chunk_bytes = (size_t)COUNT * 1024 };
	struct fixture *f = fixture_new(&config);
	struct mam_stats stats;

	for (size_t i = 0; i < COUNT; i++)
		ck_assert_int_eq(mam_pool_alloc(f->pool, 1 + i % 512, 0, &block[i]), MAM_OK);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.live_blocks, COUNT);
	ck_assert_uint_le(stats.host_bytes, 128 * stats.segments);
	for (size_t i = 0; i < COUNT; i += 2)
		ck_assert_int_eq(mam_pool_free(f->pool, block[i]), MAM_OK);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.free_blocks, COUNT / 2);
	ck_assert_uint_le(stats.host_bytes, 128 * stats.segments);
	fixture_end(f);
	free(block);
}
END_TEST

/* Resident pages of the whole process, in bytes. */
static uint64_t resident_bytes(void)
{
	unsigned long long size, resident = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	if (statm == NULL)
		return 0;
	if (fscanf(statm, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(statm);
	return resident * 4096;
}

START_TEST(host_bytes_counter_covers_resident_memory)
{
	enum { COUNT = 60000 };
	struct mam_pool_config config = { .chunk_bytes = (size_t)COUNT * 512 };
	struct fixture *f = fixture_new(&config);
	uint64_t before = resident_bytes(), after;
	void *block;

	for (size_t i = 0; i < COUNT; i++)
		(void)mam_pool_alloc(f->pool, 512, 0, &block);
	after = resident_bytes();
	/* Huge pages may be populated before they are used: allow two. */
	if (before && after && !TESTS_ASAN && !TESTS_TSAN) /* sanitizer shadow memory counts too */
		ck_assert_uint_le(after - before, stats_of(f).host_bytes + 4 * MIB);
	fixture_end(f);
}
END_TEST

START_TEST(host_memory_is_constant_in_steady_state)
{
	struct mam_pool_config config = { .chunk_bytes = 4 * MIB };
	struct fixture *f = fixture_new(&config);
	void *block[1000];
	uint64_t host_bytes = 0;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 1000; i++)
			ck_assert_int_eq(mam_pool_alloc(f->pool,
							(size_t)(1 + (i * 7 + round) % 3000), 0,
							&block[i]),
					 MAM_OK);
		for (int i = 0; i < 1000; i++)
			ck_assert_int_eq(mam_pool_free(f->pool, block[(i * 7 + round) % 1000]),
					 MAM_OK);
		if (round == 2)
			host_bytes = stats_of(f).host_bytes;
	}
	ck_assert_uint_le(stats_of(f).host_bytes, host_bytes + 4096);
	fixture_end(f);
}
END_TEST

START_TEST(pool_larger_than_machine_needs_no_memory)
{
	struct mam_source *host;
	struct mam_pool *pool = calloc(1, sizeof(*pool));
	struct mam_pool_config config = { .chunk_bytes = (size_t)80 << 30,
					  .growth_bytes = MAM_GROWTH_NONE };
	void *block;

	ck_assert_int_eq(mam_source_host(0, false, &host), MAM_OK);
	ck_assert_int_eq(mam_pool_init(pool, host, true, &config), MAM_OK);
	ck_assert_int_eq(mam_pool_alloc(pool, (size_t)79 << 30, 0, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	free(pool);
}
END_TEST

START_TEST(pool_struct_is_below_one_kibibyte)
{
	ck_assert_uint_lt(sizeof(struct mam_pool), 1024);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/scale");

	tcase_add_loop_test(tcase, both_trees_stay_balanced, 0, 4);
	tcase_add_test(tcase, segment_needs_at_most_128_bytes_of_host_memory);
	tcase_add_test(tcase, host_bytes_counter_covers_resident_memory);
	tcase_add_test(tcase, host_memory_is_constant_in_steady_state);
	tcase_add_test(tcase, pool_larger_than_machine_needs_no_memory);
	tcase_add_test(tcase, pool_struct_is_below_one_kibibyte);
	return suite_end();
}
