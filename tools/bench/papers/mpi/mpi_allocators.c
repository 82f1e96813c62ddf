/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_allocators.c - the allocators of `mam bench mpi`: CUDA's own malloc and mam's, each alone and
 * under every way to coalesce mallocs; and mam's calls for a whole warp and a whole block.
 *
 * A heap consists of its base's heap, the metadata that the way needs, and a few bytes that hold
 * the addresses of both for kernels. A kernel of one thread, which knows the metadata's layout,
 * computes its size and formats it.
 *
 * Buffers store offsets of at most 64 GiB from a reference. For mam's heap the reference is its
 * first byte. The address of CUDA's heap is not documented: a thread allocates memory from it, and
 * the reference is the heap's size below that address.
 */
#include <assert.h>
#include <string.h>

#include "bench/device/device_allocators.h"
#include "bench/harness/gpu.h"
#include "mpi_bench.h"
#include "mpi_job.h"

#define ENTRIES \
	262144u /* capacity of maps in parts: a block on each SM, or all messages of All-to-All */
#define FIFOS 16u

/* own[] of a heap: the base has 0 and 1. */
enum { OWN_TOLD = 2, OWN_METADATA = 3 };
/* own_numbers[] of a heap */
enum { NUMBER_REFERENCE = 0 };

static const char too_little[] = "there is too little free memory on the device";

/* ---- metadata ---- */

static void end_metadata(struct device_heap *heap)
{
	const struct mpi_way *way = mpi_way_of(heap->allocator->name);
	const struct device_job job = { .heap = heap->own[OWN_TOLD] };

	assert(way != NULL);
	/* Buffered blocks belong to the base, which may outlive the buffers. */
	if (way->buffers && heap->own[OWN_METADATA] != NULL && !way->over_mam)
		(void)device_launch_as(heap, "drain", 4, DEVICE_BLOCK, &job, NULL);
	bench_gpu_give(heap->own[OWN_METADATA]);
	bench_gpu_give(heap->own[OWN_TOLD]);
	heap->own[OWN_METADATA] = heap->own[OWN_TOLD] = NULL;
}

/* An address in the base's heap; 0 if it does not know one. */
static bool learn(struct device_heap *heap, struct device_job *job, uint64_t *address)
{
	struct device_job ask = *job;

	ask.flags = MPI_CHECK;
	ask.rounds = 64;
	return device_launch_as(heap, "unit_base", 1, 1, &ask, NULL) &&
	       bench_gpu_fetch(address, job->got, sizeof(*address));
}

/*
 * Makes the heap's description for kernels, and the metadata, which is one block of device memory:
 * map, then buffers.
 */
static const char *put_metadata(struct device_heap *heap, void *base, struct device_job *job)
{
	const struct mpi_way *way = mpi_way_of(heap->allocator->name);
	struct mpi_heap told = { .heap = base };
	struct device_found found;
	uint64_t map, buffers, address = 0;

	assert(way != NULL);
	heap->own[OWN_TOLD] = heap->heap = job->heap = bench_gpu_take(sizeof(told));
	if (heap->heap == NULL)
		return too_little;
	job->count = ENTRIES;
	job->rounds = FIFOS;
	if (!bench_gpu_put(heap->heap, &told, sizeof(told)))
		return bench_gpu_trouble();
	if (!way->map && !way->buffers)
		return NULL;
	if (!device_launch_as(heap, "metadata", 1, 1, job, NULL) ||
	    !bench_gpu_fetch(&found, job->found, sizeof(found)))
		return bench_gpu_trouble();
	map = way->map ? (found.bytes + 255) / 256 * 256 : 0;
	buffers = way->buffers ? found.objects : 0;
	heap->own[OWN_METADATA] = bench_gpu_take(map + buffers + 256);
	if (heap->own[OWN_METADATA] == NULL)
		return too_little;
	heap->space_bytes += map + buffers;
	if (way->buffers && heap->low == 0 && !learn(heap, job, &address))
		return bench_gpu_trouble();
	told.map = way->map ? heap->own[OWN_METADATA] : NULL;
	told.buffers = way->buffers ? (unsigned char *)heap->own[OWN_METADATA] + map : NULL;
	job->own[0] = heap->low > 0 ? heap->low : address > MPI_HEAP ? address - MPI_HEAP : 0;
	if (!bench_gpu_fill(heap->own[OWN_METADATA], 0, map + buffers + 256) ||
	    !bench_gpu_put(heap->heap, &told, sizeof(told)) ||
	    !device_launch_as(heap, "metadata", 1, 1, job, NULL))
		return bench_gpu_trouble();
	return NULL;
}

static const char *make_metadata(struct device_heap *heap, void *base)
{
	struct device_job job = { .lanes = 1, .askers = 1 };
	unsigned char *room = bench_gpu_take(sizeof(struct device_found) + 64);
	const char *why = too_little;

	heap->own[OWN_TOLD] = heap->own[OWN_METADATA] = NULL;
	if (room == NULL)
		return why;
	job.found = (struct device_found *)room;
	job.got = (uint64_t *)(room + sizeof(struct device_found));
	job.more = job.got + 1;
	if (bench_gpu_fill(room, 0, sizeof(struct device_found) + 64))
		why = put_metadata(heap, base, &job);
	else
		why = bench_gpu_trouble();
	bench_gpu_give(room);
	if (why != NULL)
		end_metadata(heap);
	return why;
}

/* ---- heaps ---- */

static const char *make_over_cuda(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	heap->space_bytes = bytes;
	heap->low = heap->high = 0;
	return make_metadata(heap, NULL);
}

static const char *make_over_mam(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	const char *why = device_ours_make(heap, bytes, object_bytes);

	if (why != NULL)
		return why;
	why = make_metadata(heap, heap->heap);
	if (why != NULL)
		device_ours_end(heap);
	return why;
}

static void end_over_mam(struct device_heap *heap)
{
	end_metadata(heap);
	device_ours_end(heap);
}

/* ---- the list ---- */

#ifdef MAM_HAVE_BENCH_KERNELS
#define MODULE(name) mam_mpi_##name##_fatbin
extern const unsigned char MODULE(cuda)[], MODULE(mam)[], MODULE(mam_fixed)[],
	MODULE(mam_collective)[];
#else
#define MODULE(name) NULL
#endif

#define OVER_CUDA(name)                                                                            \
	{                                                                                          \
		name, DEVICE_OURS, MODULE(cuda), false, true, false, make_over_cuda, end_metadata, \
			NULL                                                                       \
	}
#define OVER_MAM(name, module)                                                        \
	{                                                                             \
		name, DEVICE_OURS, MODULE(module), false, true, false, make_over_mam, \
			end_over_mam, NULL                                            \
	}

const struct device_allocator mpi_allocators[] = {
	{ "cuda", DEVICE_SYSTEM, MODULE(cuda), false, true, true, make_over_cuda, end_metadata,
	  NULL },
	OVER_CUDA("cuda-HB"),
	OVER_CUDA("cuda-NB"),
	OVER_CUDA("cuda-HW"),
	OVER_CUDA("cuda-NW"),
	OVER_CUDA("cuda-dynamic"),
	OVER_CUDA("cuda-xmalloc"),
	OVER_MAM("mam", mam),
	OVER_MAM("mam-HB", mam_fixed),
	OVER_MAM("mam-NB", mam_fixed),
	OVER_MAM("mam-HW", mam_fixed),
	OVER_MAM("mam-NW", mam_fixed),
	OVER_MAM("mam-dynamic", mam),
	OVER_MAM("mam-xmalloc", mam),
	OVER_MAM("mam-kwarp", mam_collective),
	OVER_MAM("mam-kblock", mam_collective),
};

const size_t mpi_allocator_count = sizeof(mpi_allocators) / sizeof(mpi_allocators[0]);

/* In the order of the list above. */
static const struct mpi_way ways[sizeof(mpi_allocators) / sizeof(mpi_allocators[0])] = {
	/* suffix, over mam, needs a map, buffers, has trees */
	{ "base", false, false, false, true },   { "hb", false, false, false, true },
	{ "nb", false, true, false, true },      { "hw", false, false, false, true },
	{ "nw", false, true, false, true },      { "dynamic", false, false, false, true },
	{ "xmalloc", false, false, true, true }, { "base", true, false, false, true },
	{ "hb", true, false, false, false },     { "nb", true, true, false, false },
	{ "hw", true, false, false, false },     { "nw", true, true, false, false },
	{ "dynamic", true, false, false, true }, { "xmalloc", true, false, true, true },
	{ "kwarp", true, false, false, false },  { "kblock", true, false, false, false },
};

const struct mpi_way *mpi_way_of(const char *allocator)
{
	size_t i;

	for (i = 0; i < mpi_allocator_count; i++) {
		if (strcmp(mpi_allocators[i].name, allocator) == 0)
			return &ways[i];
	}
	return NULL;
}
