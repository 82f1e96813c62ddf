/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.cu - a million lanes whose requests are coalesced, in each available way, and through the
 * calls of XMalloc as published: no two lanes get the same memory.
 *
 * Over CUDA's malloc() in kernels, or over a heap if compiled with -DXMC_HEAP. Then XMalloc's calls
 * pass requests on to the heap unchanged or, with -DXMC_LAYERS=1, coalesce and buffer them too.
 * Each lane has an entry in a table for its memory: the address, the bytes, and in the first and
 * last eight bytes a pattern made of the two. Kernels allocate, write, check and free on their own.
 * Or one kernel fills the table, and others empty it with other lanes, in parts, in several
 * streams. Sizes are mixed if a way supports that. Between kernels the host checks that no two
 * overlap and that each is aligned, and at the end that the heap is empty.
 *
 *     nvcc -arch=native -I PREFIX/include -o xmalloc xmalloc.cu -L PREFIX/lib -lmam
 *     ./xmalloc [--lanes N] [--part NAME]
 *
 * Prints "ok - PART: ..." for each part, and "all is well" at the end, with status 0; 77 without a
 * GPU. A kernel that does not finish within a minute ends the program with status 3.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#include "xmalloc_kernels.cuh"

#define CLIENT "xmalloc"
#define SECONDS 60
#include "say.cuh"

static const char *const wrongs[WRONGS] = { "another's pattern", "a free refused" };

struct stage {
	struct table table;
	struct means means;
	struct mam_pool *pool;
	struct mam_heap *heap; /* NULL over CUDA's malloc() */
	u64 mistakes;          /* that the heap has counted, and should have */
	cudaStream_t streams[4];
};

static void same(u64 wanted, u64 got, const char *name, const char *what)
{
	if (wanted != got)
		fail(1, "%s: %s: %llu, expected %llu", name, what, got, wanted);
}

/* ---- host checks --------------------------------------------------------------------------- */

/*
 * Returns the number of live parts, which must not overlap and must have the alignment of the way.
 */
static u64 compare(const struct stage *stage, int way, const char *name)
{
	const struct table *table = &stage->table;
	std::vector<unsigned char *> all_at(table->lanes);
	std::vector<unsigned int> all_bytes(table->lanes);
	std::vector<std::pair<u64, u64>> parts;
	bool by_size = way == MAM_WAY_SEGMENTS || way == MAM_WAY_WARP || way == MAM_WAY_BLOCK;

	check(cudaMemcpy(all_at.data(), table->at, table->lanes * sizeof(*table->at),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	check(cudaMemcpy(all_bytes.data(), table->bytes, table->lanes * sizeof(*table->bytes),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	for (unsigned int i = 0; i < table->lanes; i++) {
		u64 at = (u64)(uintptr_t)all_at[i], n = all_bytes[i];
		u64 align = by_size ? std::min<u64>(16, n & (~n + 1)) : 16;

		if (!at)
			continue;
		if (at % align)
			fail(1, "%s: %llu bytes are at 0x%llx", name, n, at);
		parts.push_back(std::make_pair(at, n));
	}
	std::sort(parts.begin(), parts.end());
	for (size_t i = 1; i < parts.size(); i++)
		if (parts[i - 1].first + parts[i - 1].second > parts[i].first)
			fail(1, "%s: 0x%llx with %llu bytes and 0x%llx overlap", name,
			     parts[i - 1].first, parts[i - 1].second, parts[i].first);
	for (int i = 0; i < WRONGS; i++)
		if (table->bad[i])
			fail(1, "%s: %s, %llu times", name, wrongs[i], table->bad[i]);
	return parts.size();
}

static struct mam_heap_info info_of(const struct stage *stage)
{
	struct mam_heap_info info = {};

	info.size = sizeof(info);
	if (stage->heap && mam_heap_stats(stage->heap, NULL, &info) != MAM_OK)
		fail(1, "mam_heap_stats");
	return info;
}

static u64 mistakes_of(const struct stage *stage)
{
	struct mam_heap_info info = info_of(stage);

	return info.double_frees + info.foreign_frees + info.interior_frees;
}

/* After all parts were freed and drained: no object is left, and no free was an error. */
static void compare_empty(const struct stage *stage, const char *name)
{
	same(0, info_of(stage).objects, name, "objects left in the heap");
	same(stage->mistakes, mistakes_of(stage), name, "errors in the heap");
}

/* ---- each way ------------------------------------------------------------------------------ */

/* Four kernels at once, each with a quarter of the entries. */
static void play_churn(struct stage *stage, int way, const char *name)
{
	unsigned int part = stage->table.lanes / 4;

	for (unsigned int i = 0; i < 4; i++)
		churn<<<part / THREADS, THREADS, 0, stage->streams[i]>>>(
			way, stage->means, stage->table, i * part, 10, 700 + i);
	for (unsigned int i = 0; i < 4; i++)
		finish(stage->streams[i], name);
	compare(stage, way, name);
}

static void play(struct stage *stage, int way, const char *name)
{
	struct means means = stage->means;
	struct table table = stage->table;
	unsigned int grid = table.lanes / THREADS;
	auto begin = std::chrono::steady_clock::now();
	u64 first;

	check(cudaMemset(table.at, 0, table.lanes * sizeof(*table.at)), "cudaMemset");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	*table.vain = 0;
	within<<<grid, THREADS, 0, stage->streams[0]>>>(way, means, table, 11, 4);
	finish(stage->streams[0], name);
	same(0, compare(stage, way, name), name, "parts left");
	fill<<<grid, THREADS, 0, stage->streams[0]>>>(way, means, table, 21);
	finish(stage->streams[0], name);
	first = compare(stage, way, name);
	if (first * 100 < (u64)table.lanes * 95)
		fail(1, "%s: only %llu lanes got memory", name, first);
	for (unsigned int round = 0; round < 3; round++) {
		cudaStream_t one = stage->streams[1 + round % 3], two = stage->streams[0];
		bool all = group_of(way) != 1;

		look<<<grid, THREADS, 0, one>>>(table);
		drop<<<grid, THREADS, 0, one>>>(way, means, table, round, 2 + round);
		finish(one, name);
		compare(stage, way, name);
		if (all)
			drop<<<grid, THREADS, 0, two>>>(way, means, table, round, 8);
		fill<<<grid, THREADS, 0, two>>>(way, means, table, 31 + round);
		finish(two, name);
		compare(stage, way, name);
	}
	if (group_of(way) == 1)
		play_churn(stage, way, name);
	look<<<grid, THREADS, 0, stage->streams[3]>>>(table);
	drop<<<grid, THREADS, 0, stage->streams[3]>>>(way, means, table, 0, 8);
	finish(stage->streams[3], name);
	same(0, compare(stage, way, name), name, "parts left");
	same(0, *table.vain, name, "failed requests");
	if (way == MAM_WAY_XMALLOC && means.buffers) {
		drain<<<64, 64>>>(means);
		finish(NULL, name);
	}
	if (way != PUBLISHED)
		compare_empty(stage, name);
	std::printf(
		"ok - %s: %llu lanes at first, %.2f s\n", name, first,
		std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

static void make_xmalloc(struct stage *stage)
{
	static const unsigned int counts[] = { 0, 1, 16, 32 }, blocks[] = { 256, 32, 256, 16384 };
	struct means *means = &stage->means;
	char name[32];

	play(stage, MAM_WAY_XMALLOC, "xmalloc, no buffers");
	for (unsigned int i = 0; i < 4; i++) {
		check(cudaMalloc(&means->buffers, mam_buffers_bytes(counts[i], blocks[i])),
		      "memory");
		format_buffers<<<1, 1>>>(*means, counts[i], blocks[i]);
		finish(NULL, "format_buffers");
		std::snprintf(name, sizeof(name), "xmalloc, %u buffers of %u", counts[i],
			      blocks[i]);
		play(stage, MAM_WAY_XMALLOC, name);
		check(cudaFree(means->buffers), "cudaFree");
		means->buffers = NULL;
	}
}

static void make_fixed(struct stage *stage)
{
	struct means *means = &stage->means;
	/* With spare room: when the map is half full, one part in a few million finds no entry. */
	unsigned int entries = 2 * stage->table.lanes;
	size_t bytes = mam_map_bytes(entries);

	check(cudaMalloc(&means->map, bytes), "memory");
	check(cudaMemset(means->map, 0, bytes), "cudaMemset");
	format_map<<<1, 1>>>(*means, entries);
	finish(NULL, "format_map");
	play(stage, MAM_WAY_WARP_HEADERS, "warp, with headers");
	play(stage, MAM_WAY_WARP, "warp");
	play(stage, MAM_WAY_BLOCK_HEADERS, "block, with headers");
	play(stage, MAM_WAY_BLOCK, "block");
	check(cudaFree(means->map), "cudaFree");
	means->map = NULL;
}

static void make_base(struct stage *stage)
{
	play(stage, MAM_WAY_BASE, "base");
}

static void make_segments(struct stage *stage)
{
	play(stage, MAM_WAY_SEGMENTS, "segments");
}

/* ---- the calls as published ---------------------------------------------------------------- */

static enum mam_status init(const struct stage *stage, unsigned int buffers, unsigned int blocks)
{
#ifndef XMC_HEAP
	(void)stage;
	return xmcInit(buffers, blocks);
#elif XMC_LAYERS
	return xmcInit(stage->heap, buffers, blocks);
#else
	(void)buffers;
	(void)blocks;
	return xmcInit(stage->heap);
#endif
}

/* Invalid numbers. */
static void make_refused(const struct stage *stage)
{
	static const unsigned int wrong[][2] = {
		{ 3, 0 }, { 64, 0 }, { 16, 100 }, { 16, 16 }, { 16, 131072 }
	};

	for (const unsigned int *numbers : wrong)
		same(MAM_ERROR_INVALID_VALUE, init(stage, numbers[0], numbers[1]), "published",
		     "xmcInit() with invalid numbers");
}

static void make_published(struct stage *stage)
{
	static const unsigned int counts[] = { 0, 2, 16, XMC_BUFFERS_OVER_CUDA };
	static const unsigned int blocks[] = { 0, 32, MAM_BUFFERS_BLOCKS, 0 };
	u64 *results;
	char name[32];

	check(cudaMallocManaged(&results, 32 * sizeof(*results)), "memory");
	same(MAM_OK, xmcFini(), "published", "xmcFini() before xmcInit()");
	before_init<<<1, 1>>>(results);
	finish(NULL, "published");
	same(0, results[0] + results[1], "published", "results before xmcInit()");
	if (XMC_LAYERS)
		make_refused(stage);
#ifdef XMC_HEAP
	same(MAM_ERROR_INVALID_VALUE, xmcInit(NULL), "published", "xmcInit(NULL)");
	same(MAM_OK, xmcInit(stage->heap), "published", "xmcInit()");
#else
	same(MAM_OK, xmcInit(), "published", "xmcInit()");
#endif
	same(MAM_ERROR_INVALID_VALUE, init(stage, 1, 0), "published", "a second xmcInit()");
	mistakes<<<1, 32>>>(results);
	finish(NULL, "published");
	for (unsigned int lane = 0; lane < 32; lane++)
		same(7, results[lane], "published", "results of invalid calls");
	same(MAM_OK, xmcFini(), "published", "xmcFini()");
	/*
	 * Without layers the heap counts all of them: three per lane, and all but one a second
	 * time.
	 */
	if (!XMC_LAYERS)
		same(3 * 32 + 31, mistakes_of(stage), "published", "errors in the heap");
	stage->mistakes = mistakes_of(stage);
	for (unsigned int i = 0; i < (XMC_LAYERS ? 4 : 1); i++) {
		same(MAM_OK, init(stage, counts[i], blocks[i]), "published", "xmcInit()");
		std::snprintf(name, sizeof(name), "published, %u buffers of %u", counts[i],
			      blocks[i]);
		play(stage, PUBLISHED, name);
		same(MAM_OK, xmcFini(), name, "xmcFini()");
		compare_empty(stage, name);
	}
	check(cudaFree(results), "cudaFree");
}

/* The allocator underneath all ways gets this many bytes. */
static void make_room(struct stage *stage, size_t bytes)
{
#ifdef XMC_HEAP
	struct mam_pool_attr pool_attr = MAM_POOL_ATTR_INIT;
	struct mam_heap_attr heap_attr = MAM_HEAP_ATTR_INIT;

	heap_attr.bytes = bytes;
	if (mam_pool_create(&pool_attr, &stage->pool) != MAM_OK ||
	    mam_heap_create(stage->pool, &heap_attr, &stage->heap) != MAM_OK)
		fail(1, "no heap of %zu bytes", bytes);
	stage->means.heap = mam_heap_device(stage->heap);
#else
	(void)stage;
	check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes), "cudaDeviceSetLimit");
#endif
}

int main(int argument_count, char **arguments)
{
	static const struct {
		const char *name;
		void (*make)(struct stage *stage);
	} parts[] = { { "published", make_published },
		      { "xmalloc", make_xmalloc },
		      { "segments", make_segments },
		      { "fixed", make_fixed },
		      { "base", make_base } };
	size_t free_bytes, all_bytes, room;
	struct stage stage = {};
	const char *part = NULL;
	int devices;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		std::printf("skipped: there is no GPU\n");
		return 77;
	}
	stage.table.lanes = 1u << 20;
	for (int i = 1; i + 1 < argument_count; i += 2) {
		if (!std::strcmp(arguments[i], "--lanes"))
			stage.table.lanes = (unsigned int)std::atoi(arguments[i + 1]);
		else if (!std::strcmp(arguments[i], "--part"))
			part = arguments[i + 1];
		else
			fail(2, "unknown option %s; use --lanes N or --part NAME", arguments[i]);
	}
	if (!stage.table.lanes || stage.table.lanes % (4 * THREADS))
		fail(2, "--lanes must be a multiple of %d", 4 * THREADS);
	alarm(10 * SECONDS);
	check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
	room = std::min<size_t>((size_t)stage.table.lanes * 2048 + (64 << 20), free_bytes / 2);
	make_room(&stage, room);
	check(cudaMalloc(&stage.table.at, stage.table.lanes * sizeof(*stage.table.at)), "memory");
	check(cudaMalloc(&stage.table.bytes, stage.table.lanes * sizeof(*stage.table.bytes)),
	      "memory");
	check(cudaMallocManaged(&stage.table.vain, (1 + WRONGS) * sizeof(*stage.table.vain)),
	      "memory");
	stage.table.bad = stage.table.vain + 1;
	std::memset(stage.table.vain, 0, (1 + WRONGS) * sizeof(*stage.table.vain));
	for (cudaStream_t &stream : stage.streams)
		check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
		      "cudaStreamCreate");
	std::setvbuf(stdout, NULL, _IOLBF, 0);

	for (const auto &one : parts)
		if (!part || !std::strcmp(part, one.name))
			one.make(&stage);
	for (cudaStream_t stream : stage.streams)
		check(cudaStreamDestroy(stream), "cudaStreamDestroy");
	if (stage.heap &&
	    (mam_heap_destroy(stage.heap) != MAM_OK || mam_pool_destroy(stage.pool) != MAM_OK))
		fail(1, "the heap or the pool could not be destroyed");
	check(cudaFree(stage.table.vain), "cudaFree");
	check(cudaFree(stage.table.bytes), "cudaFree");
	check(cudaFree(stage.table.at), "cudaFree");
	std::printf("all is well\n");
	return 0;
}
