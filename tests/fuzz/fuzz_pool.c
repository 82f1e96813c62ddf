/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as calls on a pool: after each call its metadata is consistent and matches a model.
 *
 * The source provides simulated memory in pieces, or addresses alone, so growth, remapping, trim,
 * limits and a full device all happen without a driver. The model knows which blocks are live and
 * how large they are. It checks that no two overlap, that every invalid free is refused for the
 * right reason, and that the counters are right.
 *
 * Input: one byte for the pool's attributes, then calls: one byte that selects the call, and one or
 * two bytes of arguments each.
 */
#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "fuzz.h"

#define MIB ((size_t)1 << 20)
#define BLOCKS 160
#define DEVICE_BYTES (64 * MIB)

struct block {
	char *at;
	size_t bytes; /* usable */
};

struct model {
	const uint8_t *next, *end;
	struct mam_pool *pool;
	struct block blocks[BLOCKS];
	unsigned count;
	uint64_t allocs, frees, failures;
	uint64_t ticket, retired;
	size_t limit, granule;
	bool cached; /* a cached block may be somewhat larger than requested */
};

static unsigned byte(struct model *model)
{
	return model->next < model->end ? *model->next++ : 0;
}

/* 64 bytes to 32 MiB, in sixteen steps per power of two. */
static size_t size(struct model *model)
{
	unsigned drawn = byte(model);
	size_t bytes = (size_t)(1 + drawn % 16) << (6 + drawn / 16);

	return drawn % 5 == 4 ? bytes - 1 : bytes;
}

static struct CUstream_st *stream(struct model *model)
{
	return (struct CUstream_st *)(uintptr_t)(byte(model) % 3);
}

static void took(struct model *model, enum mam_status status, void *block, size_t asked,
		 size_t alignment)
{
	struct block *made = &model->blocks[model->count];

	if (status != MAM_OK) {
		require(status == MAM_ERROR_OUT_OF_MEMORY || status == MAM_ERROR_WOULD_WAIT,
			"a request fails for another reason than memory");
		require(block == model, "a failed request wrote its output");
		model->failures += status != MAM_ERROR_WOULD_WAIT;
		return;
	}
	model->allocs++;
	made->at = block;
	require(mam_usable_size(model->pool, block, &made->bytes) == MAM_OK,
		"a new block has no size");
	require(made->bytes >= asked &&
			made->bytes - asked < model->granule + (model->cached ? asked / 2 : 0),
		"a new block has the wrong size");
	require((uintptr_t)block % (alignment > model->granule ? alignment : model->granule) == 0,
		"a new block is not aligned");
	for (unsigned i = 0; i < model->count; i++)
		require(model->blocks[i].at >= made->at + made->bytes ||
				made->at >= model->blocks[i].at + model->blocks[i].bytes,
			"two live blocks overlap");
	model->count++;
}

static void take(struct model *model, unsigned kind)
{
	size_t bytes = size(model), alignment = 1;
	void *block = model;
	enum mam_status status;

	if (model->count == BLOCKS)
		return;
	if (kind == 0) {
		status = mam_malloc(model->pool, bytes, &block);
	} else if (kind == 1) {
		alignment = (size_t)1 << byte(model) % 24;
		status = mam_malloc_aligned(model->pool, bytes, alignment, &block);
	} else if (kind == 2) {
		status = mam_pool_alloc_nowait(model->pool, bytes, 0, &block);
	} else {
		status = mam_malloc_async(model->pool, bytes, stream(model), &block);
	}
	took(model, status, block, bytes, alignment);
}

static struct block drop(struct model *model)
{
	unsigned at = byte(model) % model->count;
	struct block block = model->blocks[at];

	model->blocks[at] = model->blocks[--model->count];
	return block;
}

static void give(struct model *model, unsigned kind)
{
	struct mam_pool *pool = kind % 2 ? model->pool : NULL;
	struct block block;
	size_t bytes = 0;
	enum mam_status status;

	if (model->count == 0)
		return;
	block = drop(model);
	if (kind < 2) {
		status = mam_free(pool, block.at);
	} else if (kind < 4) {
		status = mam_free_async(pool, block.at, stream(model));
	} else {
		status = mam_pool_retire(model->pool, block.at, &model->ticket, &bytes);
		require(status != MAM_OK || bytes == block.bytes,
			"a retired block has the wrong size");
		model->retired++;
	}
	require(status == MAM_OK, "a live block cannot be freed");
	model->frees++;
	status = mam_free(model->pool, block.at);
	require(status == MAM_ERROR_DOUBLE_FREE || status == MAM_ERROR_NOT_OWNED ||
			status == MAM_ERROR_INTERIOR,
		"a double free is not refused");
}

static void misuse(struct model *model)
{
	unsigned kind = byte(model);
	enum mam_status status;
	const struct block *block;

	require(mam_free(model->pool, model) == MAM_ERROR_NOT_OWNED,
		"the pool owns foreign memory");
	if (model->count == 0)
		return;
	block = &model->blocks[kind % model->count];
	if (block->bytes <= 16)
		return;
	status = kind % 2 ? mam_free(model->pool, block->at + 1 + kind % 15)
			  : mam_free_async(NULL, block->at + block->bytes - 1, NULL);
	require(status == MAM_ERROR_INTERIOR, "an interior free is not refused as such");
}

static void reclaim(struct model *model)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (byte(model) % 2 && model->ticket)
		require(mam_pool_reclaim(model->pool, model->ticket - 1, NULL) == MAM_OK,
			"a partial reclaim fails");
	require(mam_pool_reclaim(model->pool, model->ticket, NULL) == MAM_OK, "no reclaim");
	model->retired = 0;
	require(mam_pool_stats(model->pool, &stats) == MAM_OK && stats.retired_blocks == 0,
		"a block remains retired");
}

static void trim(struct model *model)
{
	size_t keep = size(model), released = 0;
	struct mam_stats before = { .size = sizeof(before) }, after = before;

	require(mam_pool_stats(model->pool, &before) == MAM_OK, "no statistics");
	require(mam_pool_trim(model->pool, keep, &released) == MAM_OK, "no trim");
	require(mam_pool_stats(model->pool, &after) == MAM_OK, "no statistics");
	require(after.physical_bytes + released == before.physical_bytes ||
			after.reserved_bytes + released == before.reserved_bytes,
		"a trim releases another size than it reports");
	require(before.physical_bytes <= keep || after.physical_bytes >= keep,
		"a trim keeps less than requested");
}

static void look(struct model *model)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	uint64_t bytes = 0;
	char why[256] = "";

	if (mam_pool_check(model->pool, why, sizeof(why)) != MAM_OK) {
		fprintf(stderr, "fuzz_pool: %s\n", why);
		require(false, "the metadata are inconsistent");
	}
	for (unsigned i = 0; i < model->count; i++)
		bytes += model->blocks[i].bytes;
	require(mam_pool_stats(model->pool, &stats) == MAM_OK, "no statistics");
	require(stats.live_blocks == model->count && stats.live_rounded_bytes == bytes,
		"live blocks are miscounted");
	require(stats.allocs == model->allocs && stats.frees == model->frees &&
			stats.failures == model->failures,
		"calls are miscounted");
	require(stats.physical_bytes >= bytes + stats.cached_bytes + stats.retired_bytes,
		"blocks have no physical memory");
	require(stats.retired_blocks == model->retired, "retired blocks are miscounted");
	require(!model->limit || stats.physical_bytes <= model->limit,
		"the pool exceeds its limit");
	require(stats.physical_bytes <= DEVICE_BYTES &&
			stats.peak_physical_bytes >= stats.physical_bytes &&
			stats.peak_live_rounded_bytes >= bytes,
		"a peak is below the current value");
}

static void step(struct model *model)
{
	unsigned call = byte(model) % 20;

	if (call < 5)
		take(model, 0);
	else if (call < 9)
		take(model, call - 5);
	else if (call < 12)
		give(model, 1);
	else if (call < 17)
		give(model, call - 12);
	else if (call == 17)
		trim(model);
	else if (call == 18)
		reclaim(model);
	else
		misuse(model);
	look(model);
}

static enum mam_status make(struct model *model, struct mam_source **source)
{
	static const size_t limits[] = { 0, 16 * MIB, 40 * MIB, 6 * MIB };
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_vmm_attr vmm = MAM_VMM_ATTR_INIT;
	unsigned how = byte(model);
	enum mam_status status;

	vmm.simulated = true;
	vmm.total_bytes = DEVICE_BYTES;
	status = how & 1 ? mam_source_host(DEVICE_BYTES, false, source)
			 : mam_source_vmm(&vmm, source);
	require(status == MAM_OK, "no source");
	model->cached = how & 2;
	attr.cache = model->cached ? MAM_CACHE_ON : MAM_CACHE_OFF;
	attr.limit_bytes = model->limit = limits[how / 4 % 4];
	attr.granule = model->granule = how & 16 ? 4096 : 512;
	attr.free_policy = (enum mam_free_policy)(how / 32 % 4);
	attr.growth_bytes = how & 128 ? 2 * MIB : 0;
	return mam_pool_create_on(*source, &attr, &model->pool);
}

static void end(struct model *model)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	while (model->count)
		give(model, 1);
	reclaim(model);
	look(model);
	require(mam_pool_trim(model->pool, 0, NULL) == MAM_OK, "cannot trim everything");
	require(mam_pool_stats(model->pool, &stats) == MAM_OK && stats.physical_bytes <= 4 * MIB,
		"more than 4 MiB remain after trimming everything");
	require(mam_pool_destroy(model->pool) == MAM_OK, "cannot destroy the pool");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct model model;
	struct mam_source *source = NULL;

	if (bytes == 0)
		return 0;
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	model = (struct model){ .next = data, .end = data + bytes };
	require(make(&model, &source) == MAM_OK, "no pool");
	while (model.next < model.end)
		step(&model);
	end(&model);
	mam_source_destroy(source);
	return 0;
}
