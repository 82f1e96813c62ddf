/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.cu - mam_cmalloc() for lanes, warps and blocks, new and delete: no two threads share
 * memory that each allocated, whichever thread frees it, and when.
 *
 * Over CUDA's malloc() in kernels, or over a heap if compiled with -DMAM_COLLECTIVE_HEAP. Each
 * thread has an entry in a table for its memory: the address, the bytes, and in all of the memory a
 * pattern made of the two. Kernels fill the table, others check it, and others empty it with
 * different threads, in parts. Another kernel uses all three forms at once, and threads free each
 * other's memory. Between kernels the host checks that no two overlap and that each is aligned to
 * 16 bytes. At the end the heap must be empty.
 *
 *     nvcc -arch=native -I PREFIX/include -o collective collective.cu -L PREFIX/lib -lmam
 *     ./collective [--blocks N]
 *
 * Prints "ok - PART: ..." for each part, and "all is well" at the end, with status 0; 77 without a
 * GPU. A kernel that does not finish within a minute ends the program with status 3.
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
					    "a failed request",
					    "an unexpected result of an invalid call",
					    "an object with wrong contents" };

/* Waits for all kernels, and fails if one counted an error. */
static void finish(const struct table *table, const char *what)
{
	finish((cudaStream_t)NULL, what);
	for (int i = 0; i < WRONGS; i++)
		if (table->bad[i])
			fail(1, "%s: %s, %llu times", what, wrongs[i], table->bad[i]);
}

/* ---- host checks --------------------------------------------------------------------------- */

static unsigned int grid_of(const struct table *table)
{
	return (table->places + THREADS - 1) / THREADS;
}

/* Returns the number of parts; no two may overlap. */
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

/* Checked and emptied by other kernels: half of the parts, then the rest. */
static void empty(const struct table *table, size_t wanted, const char *name)
{
	size_t got = compare(table, name);

	if (got != wanted)
		fail(1, "%s: %zu parts are allocated, expected %zu", name, got, wanted);
	look<<<grid_of(table), THREADS>>>(*table);
	finish(table, name);
	drop<<<grid_of(table), THREADS>>>(*table, 2, 5);
	finish(table, name);
	compare(table, name);
	look<<<grid_of(table), THREADS>>>(*table);
	drop<<<grid_of(table), THREADS>>>(*table, 1, 5);
	finish(table, name);
	if (compare(table, name))
		fail(1, "%s: some parts are left", name);
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
		std::printf("ok - %s: blocks of five shapes, freed by other threads\n", one.name);
	}
	for (unsigned int lanes = 1; lanes < 32; lanes += 10) {
		struct table some = *table;

		some.places = blocks * 96;
		ended<<<blocks, 96>>>(some, lanes);
		finish(&some, "lanes that have exited");
		empty(&some, (size_t)blocks * 3 * lanes, "lanes that have exited");
	}
	std::printf("ok - warp: lanes that have exited\n");
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
		fail(1, "the heap has %llu objects and counted %llu errors, expected %d",
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
		fail(2, "unknown option %s; use --blocks N", arguments[1]);
	if (!blocks || blocks > 4096)
		fail(2, "--blocks must be a number from 1 to 4096");
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
	without_heap<<<2, THREADS>>>(table);
	finish(&table, "without a heap");
	check(mam_collective_use(heap), "mam_collective_use");
	std::printf("ok - without a heap: NULL\n");
#endif

	play_forms(&table, blocks);
	mixed<<<blocks, THREADS>>>(table, 12);
	finish(&table, "mixed");
	std::printf("ok - mixed: all three at once, freed by neighbors\n");
	make_objects<<<blocks, THREADS>>>(table, 5);
	finish(&table, "objects");
	count_objects<<<1, 1>>>(count);
	finish(&table, "objects");
	if (*count)
		fail(1, "objects: %u were not destroyed", *count);
	std::printf("ok - objects: by new and delete, through their base class and in arrays\n");
	/* One block, so that no other thread gets the memory between the two frees. */
	mistakes<<<1, THREADS>>>(table, zeros);
	finish(&table, "mistakes");
	on_device<<<2, THREADS>>>(table);
	finish(&table, "both sides");
	if (!both_sides(MAM_COLLECTIVE_ALONE) || !both_sides(MAM_COLLECTIVE_BLOCK))
		fail(1, "on the host: an allocation failed");
	std::printf("ok - invalid calls: each returns what is documented\n");
	of_heap<<<blocks, THREADS>>>(mam_heap_device(heap), table);
	finish(&table, "an explicit heap");
	std::printf("ok - an explicit heap: three forms\n");
	leave_none(heap);
#ifdef MAM_COLLECTIVE_HEAP
	check(mam_collective_use(NULL), "mam_collective_use");
	without_heap<<<2, THREADS>>>(table);
	finish(&table, "after the heap was unset");
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
