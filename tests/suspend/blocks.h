/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.h - a pool on the vmm source of the fake driver, whose memory has contents, with blocks in
 * which each word depends on its place. Check runs each test in its own process.
 */
#ifndef TESTS_SUSPEND_BLOCKS_H
#define TESTS_SUSPEND_BLOCKS_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "api/suite.h"
#include "fake/load.h"

#define MIB ((size_t)1 << 20)

static const size_t sizes[] = { 1000, 5 * MIB, 512, 300000, 2 * MIB, 20 * MIB, 70000, MIB + 1 };

#define BLOCKS COUNT_OF(sizes)

static struct cuda cuda;
static struct mam_pool *pool;
static unsigned char *blocks[BLOCKS];
static uint64_t words[20 * MIB / sizeof(uint64_t)];

static void fill_words(const void *block, size_t bytes)
{
	for (size_t i = 0; i * sizeof(words[0]) < bytes; i++)
		words[i] = ((uintptr_t)block + i) * 0x9e3779b97f4a7c15u;
}

static void write_block(void *block, size_t bytes)
{
	fill_words(block, bytes);
	ck_assert_int_eq(cuda.cuMemcpyHtoD_v2((uintptr_t)block, words, bytes), CUDA_SUCCESS);
}

static void check_block(const void *block, size_t bytes)
{
	unsigned char *found = malloc(bytes);

	ck_assert_ptr_nonnull(found);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(found, (uintptr_t)block, bytes), CUDA_SUCCESS);
	fill_words(block, bytes);
	ck_assert_msg(memcmp(found, words, bytes) == 0, "%zu bytes at %p are wrong", bytes, block);
	free(found);
}

static inline void check_blocks(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i])
			check_block(blocks[i], sizes[i]);
}

static inline void free_block(size_t i)
{
	ck_assert_int_eq(mam_free(pool, blocks[i]), MAM_OK);
	blocks[i] = NULL;
}

static inline struct mam_stats stats_of(struct mam_pool *of)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(of, &stats), MAM_OK);
	return stats;
}

static inline struct fake_held held(void)
{
	struct fake_held now;

	cuda.fake_holds(&now);
	return now;
}

static inline void prove(void)
{
	char why[200] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
}

static inline struct mam_pool *new_pool(const char *name, size_t limit_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *made = NULL;

	attr.source = "vmm";
	attr.name = name;
	attr.limit_bytes = limit_bytes;
	ck_assert_int_eq(mam_pool_create(&attr, &made), MAM_OK);
	return made;
}

static inline void begin_failing(const char *memory, const char *rules)
{
	setenv("FAKE_CUDA_MEMORY", memory, 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	if (rules)
		setenv("FAKE_CUDA_FAIL_AT", rules, 1);
	else
		unsetenv("FAKE_CUDA_FAIL_AT");
	cuda = load();
	pool = new_pool("suspended", 0);
}

static inline void begin(const char *memory)
{
	begin_failing(memory, NULL);
}

static inline void fill_pool(void)
{
	void *block;

	for (size_t i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(mam_malloc(pool, sizes[i], &block), MAM_OK);
		write_block(block, sizes[i]);
		blocks[i] = block;
	}
}

static inline enum mam_status suspend_to(const char *folder, bool discard)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;

	attr.folder = folder;
	attr.discard = discard;
	return mam_pool_suspend(pool, &attr);
}

static inline void expect_suspended(uint64_t bytes)
{
	struct mam_stats stats = stats_of(pool);
	void *untouched = &stats, *block = untouched;

	prove();
	ck_assert_uint_eq(stats.suspended_bytes, bytes);
	ck_assert_int_eq(mam_malloc(pool, 512, &block), MAM_ERROR_SUSPENDED);
	ck_assert_ptr_eq(block, untouched);
}

/* It can allocate, and all contents are there. */
static inline void expect_usable(void)
{
	void *block;

	prove();
	ck_assert_uint_eq(stats_of(pool).suspended_bytes, 0);
	ck_assert_int_eq(mam_malloc(pool, 3 * MIB, &block), MAM_OK);
	write_block(block, 3 * MIB);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	check_blocks();
}

static inline void end_pool(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i])
			free_block(i);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}

#endif
