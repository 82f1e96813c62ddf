/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_waits.c - checks that no allocation waits for the GPU.
 *
 * A stream always has work that only a wait ends. The fake driver counts waits (fake_waited). Its
 * clock advances by a microsecond per call and so counts calls: a call that polls whether work is
 * done counts as a wait too. Each scene prints how many calls failed and how many allocations
 * waited. No allocation of the driver's own waits. Frees may wait.
 */
#include "probe.h"

#include <stdbool.h>
#include <stdint.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define BLOCKS 12
#define CALL_NS 1000
#define CALLS_MAX 1000 /* of an allocation that does not wait: growth maps piece by piece */

static int failed, waits;
static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static struct CUctx_st *start(void)
{
	struct CUctx_st *context = NULL;

	if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
	    cuCtxSetCurrent(context) != 0)
		failed++;
	return context;
}

static unsigned long long allocate(size_t bytes)
{
	unsigned long before = fake_waited();
	uint64_t began = fake_clock();
	unsigned long long block = 0;
	size_t pitch;

	if (draw(8) == 0 && bytes % MIB != 0)
		failed += cuMemAllocPitch_v2(&block, &pitch, 1000, bytes / 1000 + 1, 4) != 0;
	else
		failed += cuMemAlloc_v2(&block, bytes) != 0;
	waits += fake_waited() != before || (fake_clock() - began) / CALL_NS > CALLS_MAX;
	return block;
}

static void use(unsigned long long block, struct CUstream_st *stream)
{
	unsigned long long id;
	uint64_t due;

	failed += fake_use(block, 512, stream, &id, &due) != 0;
}

static void report(void)
{
	printf("failed %d\nwaited %d\n", failed, waits);
}

/* Random sizes: the pool grows again and again, with idle chunks that are too small. */
static void random_sizes(void)
{
	static const size_t scales[] = { 4096, 600 << 10, 40 * MIB, 300 * MIB };
	unsigned long long blocks[BLOCKS] = { 0 };
	struct CUstream_st *stream;

	start();
	failed += cuStreamCreate(&stream, STREAM_NON_BLOCKING) != 0;
	for (int i = 0; i < 500; i++) {
		unsigned long long *block = &blocks[draw(BLOCKS)];

		if (*block != 0 && draw(4) == 0)
			failed += cuMemFreeAsync(*block, stream) != 0;
		else
			failed += cuMemFree_v2(*block) != 0;
		*block = allocate(1 + draw(scales[draw(4)]));
		use(*block, stream);
	}
	report();
}

/*
 * The largest block that fits is freed and allocated while the GPU lags: much memory is freed and
 * still in use.
 */
static void lagging(void)
{
	struct CUstream_st *stream;

	start();
	failed += cuStreamCreate(&stream, STREAM_NON_BLOCKING) != 0;
	for (int i = 0; i < 20; i++) {
		unsigned long long block = allocate(100 * MIB + (size_t)i * MIB);

		use(block, stream);
		failed += cuMemFreeAsync(block, stream) != 0;
	}
	report();
}

/* The first allocation in a context: mam queries the context's owner. */
static void contexts(void)
{
	struct CUctx_st *own, *green_context, *primary = start();
	struct CUgreenCtx_st *green;
	struct CUstream_st *stream;

	failed += cuCtxCreate_v2(&own, 0, 0) != 0;
	failed += cuStreamCreate(&stream, STREAM_NON_BLOCKING) != 0;
	use(0, stream);
	allocate(MIB);
	failed += cuCtxSetCurrent(primary) != 0;
	failed += cuStreamCreate(&stream, STREAM_NON_BLOCKING) != 0;
	use(0, stream);
	failed += cuGreenCtxCreate(&green, NULL, 0, GREEN_DEFAULT_STREAM) != 0;
	failed += cuCtxFromGreenCtx(&green_context, green) != 0;
	failed += cuCtxSetCurrent(green_context) != 0;
	allocate(MIB);
	report();
}

/* Two chunks are idle and too small when the pool grows; a free follows. */
static void outgrow(bool busy)
{
	unsigned long long a, b, small;
	struct CUstream_st *stream;

	start();
	failed += cuStreamCreate(&stream, STREAM_NON_BLOCKING) != 0;
	failed += cuMemAlloc_v2(&a, 40 * MIB) + cuMemAlloc_v2(&b, 50 * MIB) != 0;
	failed += cuMemAlloc_v2(&small, 512) != 0;
	failed += cuMemFree_v2(a) + cuMemFree_v2(b) != 0;
	if (busy)
		use(small, stream);
	a = allocate(70 * MIB);
	failed += cuMemFree_v2(small) != 0;
	report();
}

static void outgrown_idle(void)
{
	outgrow(false);
}

static void outgrown_busy(void)
{
	outgrow(true);
}

/*
 * No memory on one device, while another one works and its pool has an idle chunk and blocks that
 * work may still access. Requests are for a block of the pool, for a block that the driver serves,
 * for managed memory, for an array, and for memory of a stream while the context of the other
 * device is current.
 */
static void devices(void)
{
	struct cu_array_descriptor wanted = { 1 << 20, 1 << 16, 0x20, 4 };
	struct CUctx_st *first = start(), *second = NULL;
	unsigned long long block, idle;
	struct CUstream_st *stream, *of_first;
	struct CUarray_st *array;
	unsigned long before;

	failed += cuDevicePrimaryCtxRetain(&second, 1) != 0 || cuCtxSetCurrent(second) != 0;
	failed += cuMemAlloc_v2(&idle, 64 * MIB) + cuMemAlloc_v2(&block, 40 * MIB) != 0;
	failed += cuMemFree_v2(idle) != 0;
	failed += cuStreamCreate(&stream, STREAM_NON_BLOCKING) != 0;
	use(block, stream);
	failed += cuMemFreeAsync(block, stream) != 0;
	failed += cuCtxSetCurrent(first) != 0;
	failed += cuStreamCreate(&of_first, STREAM_NON_BLOCKING) != 0;
	before = fake_waited();
	printf("far too much: %d\n", cuMemAlloc_v2(&block, (size_t)1 << 40));
	while (cuMemAlloc_v2(&block, 100 * MIB) == 0)
		continue;
	printf("1 GiB more: %d\n", cuMemAlloc_v2(&block, 1024 * MIB));
	printf("managed: %d\n", cuMemAllocManaged(&block, (size_t)1 << 50, 1));
	printf("an array: %d\n", cuArrayCreate_v2(&array, &wanted));
	failed += cuCtxSetCurrent(second) != 0;
	printf("of a stream: %d\n", cuMemAllocAsync(&block, (size_t)1 << 40, of_first));
	waits += fake_waited() != before;
	report();
}

static const struct probe_scene scenes[] = {
	{ "random-sizes", random_sizes },   { "lagging", lagging },
	{ "contexts", contexts },           { "devices", devices },
	{ "outgrown-idle", outgrown_idle }, { "outgrown-busy", outgrown_busy },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
