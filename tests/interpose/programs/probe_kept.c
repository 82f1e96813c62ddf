/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_kept.c - scenes about memory that the driver keeps cached: freed memory in its own pools,
 * and the memory of graphs. Devices have 64 MiB, or the limit is 64 MiB. "trim" and "graphs" also
 * run on a GPU.
 */
#include "probe.h"

#include <stdint.h>
#include <stdlib.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)

static struct CUctx_st *context;
static struct CUmemPoolHandle_st *pool;
static unsigned long long a, b;

static void start(void)
{
	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, 0));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuDeviceGetDefaultMemPool(&pool, 0));
}

/* The default pool caches 40 MiB that are not in use. */
static void keep(void)
{
	uint64_t all = UINT64_MAX;

	SHOW(cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &all));
	SHOW(cuMemAllocAsync(&a, 40 * MIB, NULL));
	SHOW(cuMemFreeAsync(a, NULL));
	SHOW(cuCtxSynchronize());
}

/*
 * Each kind of memory needs the memory that the pool caches. mam forwards a block of more than half
 * the device.
 */
static void pools(void)
{
	struct cu_memory_properties properties = { .type = 1, .location = { 1, 0 } };

	start();
	keep();
	SHOW(cuMemAlloc_v2(&b, 30 * MIB));
	SHOW(cuMemFree_v2(b));
	keep();
	SHOW(cuMemAlloc_v2(&b, 60 * MIB));
	SHOW(cuMemFree_v2(b));
	keep();
	SHOW(cuMemCreate(&b, 60 * MIB, &properties, 0));
	SHOW(cuMemRelease(b));
	keep();
	SHOW(cuMemAlloc_v2(&b, 100 * MIB));
}

static void show_kept(void)
{
	uint64_t kept = 0;

	SHOW(cuMemPoolGetAttribute(pool, POOL_RESERVED_NOW, &kept));
	printf("kept %llu MiB\n", (unsigned long long)(kept / MIB));
}

/* A request larger than any device, and the bytes that the pool caches before and after it. */
static void trim(void)
{
	start();
	keep();
	show_kept();
	SHOW(cuMemAlloc_v2(&b, (size_t)1 << 50));
	show_kept();
}

/* The pool of device 1 caches memory, which device 0 cannot use. */
static void other_device(void)
{
	struct CUctx_st *other;

	start();
	SHOW(cuDevicePrimaryCtxRetain(&other, 1));
	SHOW(cuDeviceGetDefaultMemPool(&pool, 1));
	SHOW(cuCtxSetCurrent(other));
	keep();
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemAlloc_v2(&b, 100 * MIB));
	for (int i = 0; i < 3; i++) /* blocks of a pool, and one that does not fit */
		SHOW(cuMemAlloc_v2(&b, 30 * MIB));
}

/* The current pool is one that the program created. */
static void current_pool(void)
{
	struct cu_pool_properties properties = { .type = 1, .location = { 1, 0 } };

	start();
	SHOW(cuMemPoolCreate(&pool, &properties));
	SHOW(cuDeviceSetMemPool(0, pool));
	keep();
	SHOW(cuMemAlloc_v2(&b, 60 * MIB));
}

static void add(struct CUgraph_st *graph, size_t bytes)
{
	struct cu_alloc_node alloc = {
		.pool = { .type = 1, .location = { 1, 0 } },
		.bytes = bytes,
	};
	struct cu_node node = { .type = NODE_MEM_ALLOC, .alloc = alloc }, empty = { .type = 5 };
	__typeof__(&cuGraphAddMemAllocNode) add_alloc;
	__typeof__(&cuGraphAddNode) add_node;
	__typeof__(&cuGraphAddNode_v2) add_edges;
	struct CUgraphNode_st *made;
	int status;

	SHOW(cuGraphAddNode(&made, graph, NULL, 0, &empty));
	SHOW(cuGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc));
	if (bytes < 64 * MIB)
		return;
	SHOW(cuGraphAddNode(&made, graph, NULL, 0, &node));
	SHOW(cuGraphAddNode_v2(&made, graph, NULL, NULL, 0, &node));
	SHOW(cuGetProcAddress_v2("cuGraphAddMemAllocNode", (void **)&add_alloc, 13000, 0, &status));
	SHOW(add_alloc(&made, graph, NULL, 0, &alloc));
	SHOW(cuGetProcAddress_v2("cuGraphAddNode", (void **)&add_node, 12020, 0, &status));
	SHOW(add_node(&made, graph, NULL, 0, &node));
	SHOW(cuGetProcAddress_v2("cuGraphAddNode", (void **)&add_edges, 13000, 0, &status));
	SHOW(add_edges(&made, graph, NULL, NULL, 0, &node));
	SHOW(cuGraphAddMemAllocNode(&made, graph, NULL, 0, NULL));
	SHOW(cuGraphAddNode_v2(&made, graph, NULL, NULL, 0, NULL));
}

/* 40 MiB of a graph, before and after it is launched; then 30 MiB for something else. */
static void graphs(void)
{
	struct CUgraphExec_st *exec;
	struct CUgraph_st *graph;
	size_t free_bytes, total_bytes;

	start();
	SHOW(cuGraphCreate(&graph, 0));
	add(graph, 70 * MIB);
	SHOW(cuGraphDestroy(graph));
	SHOW(cuGraphCreate(&graph, 0));
	add(graph, 40 * MIB);
	SHOW(cuGraphInstantiateWithFlags(&exec, graph, 0));
	SHOW(cuMemAllocAsync(&a, 40 * MIB, NULL));
	SHOW(cuMemFreeAsync(a, NULL));
	SHOW(cuCtxSynchronize());
	SHOW(cuGraphLaunch(exec, NULL));
	SHOW(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("free %zu MiB\n", free_bytes / MIB);
	SHOW(cuMemAllocAsync(&a, 24 * MIB, NULL));
	SHOW(cuMemAllocAsync(&b, 2 * MIB, NULL));
	SHOW(cuMemFreeAsync(a, NULL));
	SHOW(cuMemAlloc_v2(&a, 30 * MIB));
	SHOW(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("free %zu MiB\n", free_bytes / MIB);
	SHOW(cuGraphExecDestroy(exec));
	SHOW(cuGraphDestroy(graph));
}

/*
 * 70 and 40 MiB on a capturing stream: nodes of its graph, which the fake driver does not support.
 */
static void captured(void)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;

	start();
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
	SHOW(cuMemAllocAsync(&a, 70 * MIB, stream));
	SHOW(cuMemAllocFromPoolAsync(&a, 70 * MIB, pool, stream));
	SHOW(cuMemAllocAsync(&b, 40 * MIB, stream));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuMemAlloc_v2(&a, 2 * MIB));
}

int main(int count, char **arguments)
{
	static const struct probe_scene scenes[] = {
		{ "pools", pools },
		{ "trim", trim },
		{ "current-pool", current_pool },
		{ "other-device", other_device },
		{ "graphs", graphs },
		{ "captured", captured },
	};

	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
