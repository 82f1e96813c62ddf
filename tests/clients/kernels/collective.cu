/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.cu - mam_cmalloc() for lanes, warps and blocks, new and delete: what a thread gets is its
 * alone, whoever gives it back, and when.
 *
 * Over CUDA's malloc() in kernels; over a heap if this is compiled with -DMAM_COLLECTIVE_HEAP. Each
 * thread has a place in a table where it keeps what it got: the address, the bytes, and in all of
 * them a pattern made of the two. Kernels fill the table, others look, and others empty it, by other
 * threads, in parts; or a kernel has all three forms at once and threads give back each other's.
 * Between kernels the host looks: no two overlap, and each is at a multiple of 16. In the end
 * nothing is left in the heap.
 *
 *     nvcc -arch=native -I PREFIX/include -o collective collective.cu -L PREFIX/lib -lmam
 *     ./collective [--blocks N]
 *
 * Prints "ok - PART: ..." for each part, and "all is well" at the end, with status 0; 77 without a
 * GPU. A kernel that does not come back within a minute ends the program with status 3.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <utility>
#include <vector>

#include "collective_kernels.cuh"

#define CLIENT "collective"
#define SECONDS 60
#include "say.cuh"

static const char *const wrongs[WRONGS] = { "another's pattern", "a free refused",
					    "a request in vain", "the answer to a mistake",
					    "an object that is not what was made" };

/* Waits for all kernels; then nothing may have been wrong. */
static void finish(const struct table *table, const char *what)
{
	finish((cudaStream_t)NULL, what);
	for (int i = 0; i < WRONGS; i++)
		if (table->bad[i])
			fail(1, "%s: %s, %llu times", what, wrongs[i], table->bad[i]);
}

/* ---- what the host sees -------------------------------------------------------------------- */

static unsigned int grid_of(const struct table *table)
{
	return (table->places + THREADS - 1) / THREADS;
}

/* How many there are, which overlap nowhere. */
static size_t compare(const struct table *table, const char *name)
{
	std::vector<unsigned char *> at(table->places);
	std::vector<unsigned int> bytes(table->places);
	std::vector<std::pair<u64, u64>> parts;

	check(cudaMemcpy(at.data(), table->at, table->places * sizeof(*table->at),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	check(cudaMemcpy(bytes.data(), table->bytes, table->places * sizeof(*table->bytes),
			 cudaMemcpyDeviceToHost),
	      "cudaMemcpy");
	for (unsigned int i = 0; i < table->places; i++) {
		if ((u64)(uintptr_t)at[i] % 16)
			fail(1, "%s: %u bytes are at %p", name, bytes[i], (void *)at[i]);
		if (at[i])
			parts.push_back(std::make_pair((u64)(uintptr_t)at[i], (u64)bytes[i]));
	}
	std::sort(parts.begin(), parts.end());
	for (size_t i = 1; i < parts.size(); i++)
		if (parts[i - 1].first + parts[i - 1].second > parts[i].first)
			fail(1, "%s: 0x%llx with %llu bytes and 0x%llx overlap", name,
			     parts[i - 1].first, parts[i - 1].second, parts[i].first);
	return parts.size();
}

/* Looked at, and emptied by other kernels: a half, then the rest. */
static void empty(const struct table *table, size_t wanted, const char *name)
{
	size_t got = compare(table, name);

	if (got != wanted)
		fail(1, "%s: %zu have memory, and not %zu", name, got, wanted);
	look<<<grid_of(table), THREADS>>>(*table);
	finish(table, name);
	drop<<<grid_of(table), THREADS>>>(*table, 2, 5);
	finish(table, name);
	compare(table, name);
	look<<<grid_of(table), THREADS>>>(*table);
	drop<<<grid_of(table), THREADS>>>(*table, 1, 5);
	finish(table, name);
	if (compare(table, name))
		fail(1, "%s: there is some left", name);
}

static void play_form(struct table table, unsigned int blocks, dim3 shape, enum mam_coalesce form,
		      const char *name)
{
	table.places = blocks * shape.x * shape.y * shape.z;
	fill<<<blocks, shape>>>(table, form, 17 + form);
	finish(&table, name);
	empty(&table, table.places, name);
}

static void play_forms(const struct table *table, unsigned int blocks)
{
	static const struct {
		enum mam_coalesce form;
		const char *name;
	} forms[] = { { MAM_COLLECTIVE_ALONE, "alone" },
		      { MAM_COLLECTIVE_WARP, "warp" },
		      { MAM_COLLECTIVE_BLOCK, "block" } };

	for (const auto &one : forms) {
		play_form(*table, blocks, dim3(THREADS), one.form, one.name);
		play_form(*table, blocks, dim3(8, 4, 3), one.form, one.name);
		play_form(*table, blocks, dim3(49), one.form, one.name); /* a warp and a half */
		play_form(*table, blocks, dim3(1), one.form, one.name);
		play_form(*table, 3, dim3(1024), one.form, one.name);
		std::printf("ok - %s: blocks of five shapes, given back by others\n", one.name);
	}
	for (unsigned int lanes = 1; lanes < 32; lanes += 10) {
		struct table some = *table;

		some.places = blocks * 96;
		ended<<<blocks, 96>>>(some, lanes);
		finish(&some, "lanes that have ended");
		empty(&some, (size_t)blocks * 3 * lanes, "lanes that have ended");
	}
	std::printf("ok - warp: lanes that have ended\n");
}

static struct mam_heap *heap_of(void)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap = NULL;

	attr.bytes = ROOM;
	check(mam_heap_create(NULL, &attr, &heap), "mam_heap_create");
	return heap;
}

static void leave_none(struct mam_heap *heap)
{
	struct mam_heap_info info = {};
	uint64_t seen;

	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	seen = info.double_frees + info.foreign_frees + info.interior_frees;
	if (info.objects || seen != MISTAKES)
		fail(1, "in the heap are %llu objects, and it saw %llu mistakes, not %d",
		     (u64)info.objects, (u64)seen, MISTAKES);
}

int main(int argument_count, char **arguments)
{
	unsigned int blocks = 200, *count;
	struct table table = {};
	struct mam_heap *heap;
	unsigned char *zeros;
	size_t max;
	int devices;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		std::printf("skipped: there is no GPU\n");
		return 77;
	}
	if (argument_count == 3 && !std::strcmp(arguments[1], "--blocks"))
		blocks = (unsigned int)std::atoi(arguments[2]);
	else if (argument_count > 1)
		fail(2, "what is %s? Give --blocks N", arguments[1]);
	if (!blocks || blocks > 4096)
		fail(2, "give --blocks a number from 1 to 4096");
	alarm(5 * SECONDS);
	std::setvbuf(stdout, NULL, _IOLBF, 0);
	max = std::max<size_t>((size_t)blocks * THREADS, 3 * 1024);
	check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, ROOM), "cudaDeviceSetLimit");
	check(cudaMalloc(&table.at, max * sizeof(*table.at)), "memory");
	check(cudaMalloc(&table.bytes, max * sizeof(*table.bytes)), "memory");
	check(cudaMalloc(&zeros, 64), "memory");
	check(cudaMemset(zeros, 0, 64), "cudaMemset");
	check(cudaMallocManaged(&table.bad, WRONGS * sizeof(*table.bad)), "memory");
	check(cudaMallocManaged(&count, sizeof(*count)), "memory");
	std::memset(table.bad, 0, WRONGS * sizeof(*table.bad));
	heap = heap_of();
#ifdef MAM_COLLECTIVE_HEAP
	nobody<<<2, THREADS>>>(table);
	finish(&table, "without a heap");
	check(mam_collective_use(heap), "mam_collective_use");
	std::printf("ok - without a heap: NULL\n");
#endif

	play_forms(&table, blocks);
	mixed<<<blocks, THREADS>>>(table, 12);
	finish(&table, "mixed");
	std::printf("ok - mixed: all three at once, given back by neighbours\n");
	make_objects<<<blocks, THREADS>>>(table, 5);
	finish(&table, "objects");
	count_objects<<<1, 1>>>(count);
	finish(&table, "objects");
	if (*count)
		fail(1, "objects: %u were not destroyed", *count);
	std::printf("ok - objects: by new and delete, by their base class and in arrays\n");
	/* One block, so that nobody else has been given what is freed twice. */
	mistakes<<<1, THREADS>>>(table, zeros);
	finish(&table, "mistakes");
	on_device<<<2, THREADS>>>(table);
	finish(&table, "both sides");
	if (!both_sides(MAM_COLLECTIVE_ALONE) || !both_sides(MAM_COLLECTIVE_BLOCK))
		fail(1, "on the host: nothing was given");
	std::printf("ok - mistakes: each is answered as it is written\n");
	of_heap<<<blocks, THREADS>>>(mam_heap_device(heap), table);
	finish(&table, "a heap that is told");
	std::printf("ok - a heap that is told: three forms\n");
	leave_none(heap);
#ifdef MAM_COLLECTIVE_HEAP
	check(mam_collective_use(NULL), "mam_collective_use");
	nobody<<<2, THREADS>>>(table);
	finish(&table, "with no heap any more");
#endif
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(cudaFree(count), "cudaFree");
	check(cudaFree(table.bad), "cudaFree");
	check(cudaFree(zeros), "cudaFree");
	check(cudaFree(table.bytes), "cudaFree");
	check(cudaFree(table.at), "cudaFree");
	std::printf("all is well\n");
	return 0;
}
