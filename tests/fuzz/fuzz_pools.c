/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as calls on two pools that share a quota, with memory that can be written: the contents
 * of a block stay until its free, no two blocks overlap, and the metadata of the pools and the
 * quota is consistent after each call.
 *
 * Besides allocations and frees of all kinds: limits and the quota change, memory is reserved,
 * streams end, statistics scopes are pushed and popped, a callback frees blocks before a request
 * fails, and pools are destroyed and created again.
 *
 * Input: a byte for the pools' attributes, then calls of one byte and one or two bytes of arguments
 * each.
 */
#include <mam/mam.h>
#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "fuzz.h"

#define MIB ((size_t)1 << 20)
#define POOLS 2
#define BLOCKS 60
#define SOURCE_BYTES (24 * MIB)
#define MARK_EACH 4096

struct block {
	unsigned char *at;
	size_t bytes;
	unsigned char mark;
};

struct pool {
	struct mam_source *source;
	struct mam_pool *pool;
	struct block blocks[BLOCKS];
	unsigned int count, scopes;
	size_t limit;  /* 0: none */
	bool was_over; /* the limit was set below the pool's current memory */
};

static struct model {
	struct fuzz_bytes from;
	struct pool pools[POOLS];
	struct mam_quota *quota;
	size_t quota_bytes;             /* 0: none */
	bool was_over;                  /* the quota was set below the pools' current memory */
	unsigned int how, marks, gives; /* blocks that the callback may still free */
} model;

static size_t draw_size(void)
{
	unsigned int drawn = fuzz_byte(&model.from);

	return (size_t)(1 + drawn % 16) << (5 + drawn / 16); /* 32 B to 16 MiB */
}

/* Marks both ends, and a byte every MARK_EACH in between. */
static void mark(struct block *block)
{
	block->mark = (unsigned char)++model.marks;
	for (size_t i = 0; i < block->bytes; i += MARK_EACH)
		block->at[i] = block->mark;
	block->at[block->bytes - 1] = block->mark;
}

static void require_mark(const struct block *block)
{
	for (size_t i = 0; i < block->bytes; i += MARK_EACH)
		require(block->at[i] == block->mark, "a block's contents changed");
	require(block->at[block->bytes - 1] == block->mark, "a block's last byte changed");
}

static struct block take_out(struct pool *pool, unsigned int at)
{
	struct block *place = &pool->blocks[at % pool->count], block = *place;

	require_mark(&block);
	*place = pool->blocks[--pool->count];
	return block;
}

/* The pool is out of memory: frees a block of one of the pools, if allowed. */
static bool give_up(struct mam_pool *asked, size_t bytes, void *user)
{
	struct pool *pool = user;

	(void)asked;
	(void)bytes;
	if (model.gives == 0 || pool->count == 0)
		return false;
	model.gives--;
	require(mam_free(NULL, take_out(pool, 0).at) == MAM_OK, "the callback cannot free");
	return true;
}

static void make(struct pool *pool, unsigned int how)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.quota = model.quota;
	attr.cache = how & 1 ? MAM_CACHE_ON : MAM_CACHE_OFF;
	attr.growth_bytes = how & 2 ? MIB : 0;
	attr.chunk_bytes = how & 4 ? 2 * MIB : 0;
	attr.spare_bytes = how & 8 ? 2 * MIB : 0;
	attr.limit_bytes = pool->limit = how & 16 ? 8 * MIB : 0;
	pool->was_over = false;
	if (!pool->source)
		require(mam_source_host(SOURCE_BYTES, true, &pool->source) == MAM_OK, "no source");
	if (mam_pool_create_on(pool->source, &attr, &pool->pool) != MAM_OK) {
		attr.chunk_bytes = 0; /* the quota is used up */
		require(mam_pool_create_on(pool->source, &attr, &pool->pool) == MAM_OK, "no pool");
	}
	require(mam_pool_on_oom(pool->pool, give_up, pool) == MAM_OK, "no callback");
}

static void alloc(struct pool *pool, unsigned int kind)
{
	size_t bytes = draw_size();
	struct block *made;
	void *at = &model;
	enum mam_status status;

	if (pool->count == BLOCKS)
		return;
	switch (kind % 3) {
	case 0: status = mam_malloc(pool->pool, bytes, &at); break;
	case 1:
		status = mam_malloc_async(pool->pool, bytes,
					  (struct CUstream_st *)(uintptr_t)(kind / 3 % 3), &at);
		break;
	default: status = mam_malloc_aligned(pool->pool, bytes, MARK_EACH, &at); break;
	}
	if (status != MAM_OK) {
		require(status == MAM_ERROR_OUT_OF_MEMORY && at == &model, "another failure");
		return;
	}
	made = &pool->blocks[pool->count++];
	*made = (struct block){ .at = at };
	require(mam_usable_size(NULL, at, &made->bytes) == MAM_OK && made->bytes >= bytes,
		"a block is too small");
	mark(made);
}

static void give(struct pool *pool, unsigned int kind)
{
	struct block block;
	enum mam_status status;

	if (pool->count == 0)
		return;
	block = take_out(pool, fuzz_byte(&model.from));
	if (kind % 2)
		status = mam_free(kind & 2 ? pool->pool : NULL, block.at);
	else
		status = mam_free_async(NULL, block.at,
					(struct CUstream_st *)(uintptr_t)(kind / 2 % 3));
	require(status == MAM_OK, "a live block cannot be freed");
	require(mam_free(NULL, block.at) != MAM_OK, "a double free is not refused");
}

static struct mam_stats stats_of(const struct pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	require(mam_pool_stats(pool->pool, &stats) == MAM_OK, "no statistics");
	return stats;
}

static void set_limit(struct pool *pool)
{
	size_t bytes = fuzz_byte(&model.from) * MIB / 8, limit = 4711;

	require(mam_pool_set_limit(pool->pool, bytes) == MAM_OK, "no limit");
	require(mam_pool_limit(pool->pool, &limit) == MAM_OK && limit == bytes, "another limit");
	pool->limit = bytes;
	pool->was_over = bytes > 0 && stats_of(pool).physical_bytes > bytes;
}

static size_t held(void)
{
	size_t bytes;

	require(mam_quota_held(model.quota, &bytes) == MAM_OK, "cannot read the quota");
	return bytes;
}

static void set_quota(void)
{
	model.quota_bytes = fuzz_byte(&model.from) * MIB / 8;
	require(mam_quota_set(model.quota, model.quota_bytes) == MAM_OK, "no quota");
	model.was_over = model.quota_bytes > 0 && held() > model.quota_bytes;
}

/* Reserved memory can be allocated without a call to the source. */
static void reserve(struct pool *pool)
{
	size_t bytes = draw_size();
	enum mam_status status = mam_pool_reserve(pool->pool, bytes);
	void *at;

	if (status != MAM_OK) {
		require(status == MAM_ERROR_OUT_OF_MEMORY,
			"a reserve fails for another reason than memory");
		return;
	}
	require(mam_pool_alloc_nowait(pool->pool, bytes, 0, &at) == MAM_OK,
		"reserved memory is missing");
	require(mam_free(pool->pool, at) == MAM_OK, "cannot free reserved memory");
}

/* A pool without live blocks can be destroyed, and is created again. */
static void renew(struct pool *pool, unsigned int how)
{
	enum mam_status status = mam_pool_destroy(pool->pool);
	size_t bytes;

	require(status == (pool->count > 0 ? MAM_ERROR_LIVE_BLOCKS : MAM_OK),
		"wrong result of mam_pool_destroy()");
	if (status != MAM_OK)
		return;
	require(mam_pool_limit(pool->pool, &bytes) == MAM_ERROR_DESTROYED,
		"a pool exists after its destruction");
	pool->scopes = 0;
	make(pool, how);
}

static void scope(struct pool *pool, bool push)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (push && pool->scopes < 8) {
		require(mam_stats_push(pool->pool) == MAM_OK, "no scope");
		pool->scopes++;
	} else if (!push) {
		require(mam_stats_pop(pool->pool, &stats) ==
				(pool->scopes > 0 ? MAM_OK : MAM_ERROR_INVALID_VALUE),
			"a wrong scope ends");
		pool->scopes -= pool->scopes > 0;
	}
}

static void look(void)
{
	uint64_t physical = 0;
	char why[256];

	for (int i = 0; i < POOLS; i++) {
		struct pool *pool = &model.pools[i];
		struct mam_stats stats = stats_of(pool);
		uint64_t bytes = 0;

		require(mam_pool_check(pool->pool, why, sizeof(why)) == MAM_OK, why);
		for (unsigned int j = 0; j < pool->count; j++)
			bytes += pool->blocks[j].bytes;
		require(stats.live_blocks == pool->count && stats.live_rounded_bytes == bytes,
			"live blocks are miscounted");
		pool->was_over &= stats.physical_bytes > pool->limit;
		require(pool->limit == 0 || pool->was_over || stats.physical_bytes <= pool->limit,
			"a pool exceeds its limit");
		physical += stats.physical_bytes;
	}
	require(held() == physical, "the quota has the wrong sum");
	model.was_over &= physical > model.quota_bytes;
	require(model.quota_bytes == 0 || model.was_over || physical <= model.quota_bytes,
		"the pools exceed their quota");
}

static void step(void)
{
	unsigned int what = fuzz_byte(&model.from), kind = what / 32;
	struct pool *pool = &model.pools[what & 1];

	switch (what / 2 % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4: alloc(pool, kind); break;
	case 5:
	case 6:
	case 7:
	case 8: give(pool, kind); break;
	case 9: set_limit(pool); break;
	case 10: set_quota(); break;
	case 11: reserve(pool); break;
	case 12: require(mam_pool_trim(pool->pool, kind * MIB, NULL) == MAM_OK, "no trim"); break;
	case 13: model.gives = kind; break;
	case 14: scope(pool, kind & 1); break;
	default:
		if (kind == 7)
			renew(pool, fuzz_byte(&model.from));
		else
			require(mam_stream_release(pool->pool,
						   (struct CUstream_st *)(uintptr_t)(kind % 3)) ==
					MAM_OK,
				"cannot end a stream");
		break;
	}
	look();
}

static void end(void)
{
	for (int i = 0; i < POOLS; i++) {
		struct pool *pool = &model.pools[i];

		while (pool->count > 0)
			require(mam_free(NULL, take_out(pool, 0).at) == MAM_OK,
				"the last free fails");
		require(mam_pool_off_oom(pool->pool, give_up, pool) == MAM_OK, "no callback");
		require(mam_pool_destroy(pool->pool) == MAM_OK, "cannot destroy a pool");
	}
	require(held() == 0, "the quota still counts memory");
	mam_quota_destroy(model.quota);
	for (int i = 0; i < POOLS; i++)
		mam_source_destroy(model.pools[i].source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes == 0)
		return 0;
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	memset(&model, 0, sizeof(model));
	model.from = (struct fuzz_bytes){ data, data + bytes };
	model.how = fuzz_byte(&model.from);
	model.quota_bytes = model.how & 64 ? 12 * MIB : 0;
	require(mam_quota_create(model.quota_bytes, &model.quota) == MAM_OK, "no quota");
	for (int i = 0; i < POOLS; i++)
		make(&model.pools[i], model.how ^ (model.how & 128 ? i : 0));
	look();
	while (fuzz_left(&model.from) > 0)
		step();
	end();
	return 0;
}
