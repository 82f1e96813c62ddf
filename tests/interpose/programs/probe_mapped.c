/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_mapped.c - scenes on the driver API in which mapped memory would behave differently from
 * memory of cuMemAlloc: copies between devices, the functions for mapped memory, the end of a
 * context, another process.
 */
#include "probe.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define BYTES (5 * MIB)

static struct CUctx_st *contexts[2];
static unsigned long long blocks[2][2];

static void start(int devices)
{
	SHOW(cuInit(0));
	for (int device = 0; device < devices; device++) {
		SHOW(cuDevicePrimaryCtxRetain(&contexts[device], device));
		SHOW(cuCtxSetCurrent(contexts[device]));
	}
}

static bool holds(unsigned long long block, unsigned char value)
{
	static unsigned char bytes[BYTES];

	if (cuMemcpyDtoH_v2(bytes, block, BYTES) != 0)
		return false;
	for (size_t i = 0; i < BYTES; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

static void fill(int device, unsigned char value)
{
	SHOW(cuCtxSetCurrent(contexts[device]));
	SHOW(cuMemsetD8_v2(blocks[device][0], value, BYTES));
	SHOW(cuMemsetD8_v2(blocks[device][1], 0, BYTES));
}

/* Copies from the first block of one device to the second of the other, in each context. */
static void copy_between(int from, unsigned char value)
{
	const int to = 1 - from;

	fill(from, value);
	SHOW(cuMemcpyPeer(blocks[to][1], contexts[to], blocks[from][0], contexts[from], BYTES));
	SHOW(cuCtxSynchronize());
	SHOW(cuCtxSetCurrent(contexts[to]));
	SHOW(cuCtxSynchronize());
	printf("peer copy right %d\n", holds(blocks[to][1], value));
	for (int user = 0; user < 2; user++) {
		fill(from, (unsigned char)(value + user + 1));
		SHOW(cuCtxSynchronize());
		SHOW(cuCtxSetCurrent(contexts[user]));
		SHOW(cuMemcpyDtoD_v2(blocks[to][1], blocks[from][0], BYTES));
		SHOW(cuCtxSynchronize());
		SHOW(cuCtxSetCurrent(contexts[to]));
		printf("copy right %d\n", holds(blocks[to][1], (unsigned char)(value + user + 1)));
	}
}

static void allocate(void)
{
	for (int device = 0; device < 2; device++) {
		SHOW(cuCtxSetCurrent(contexts[device]));
		SHOW(cuMemAlloc_v2(&blocks[device][0], BYTES));
		SHOW(cuMemAlloc_v2(&blocks[device][1], BYTES));
	}
}

/* Memory that was allocated before peer access was enabled, and after. */
static void devices(void)
{
	start(2);
	for (int round = 0; round < 2; round++) {
		allocate();
		copy_between(0, 10);
		copy_between(1, 20);
		SHOW(cuCtxSetCurrent(contexts[0]));
		SHOW(cuCtxEnablePeerAccess(contexts[1], 0));
		SHOW(cuCtxSetCurrent(contexts[1]));
		SHOW(cuCtxEnablePeerAccess(contexts[0], 0));
		copy_between(0, 30);
		copy_between(1, 40);
	}
}

/* To the program, a block of cuMemAlloc is not mapped memory: nothing can unmap or hide it. */
static void pieces(void)
{
	struct cu_access none = { .location = { 1, 0 }, .flags = 0 };
	unsigned long long handle = 0, flags, small;

	start(1);
	SHOW(cuMemAlloc_v2(&small, 512));
	SHOW(cuMemAlloc_v2(&blocks[0][0], BYTES));
	SHOW(cuMemAlloc_v2(&blocks[0][1], BYTES));
	fill(0, 7);
	SHOW(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)blocks[0][0]));
	SHOW(cuMemSetAccess(small / (2 * MIB) * (2 * MIB), 2 * MIB, &none, 1));
	SHOW(cuMemsetD8_v2(small, 6, 512));
	SHOW(cuMemUnmap(small / (2 * MIB) * (2 * MIB), 2 * MIB));
	SHOW(cuMemsetD8_v2(small, 7, 512));
	SHOW(cuMemUnmap(blocks[0][0] / (2 * MIB) * (2 * MIB), 2 * MIB));
	SHOW(cuMemGetAccess(&flags, &none.location, blocks[0][0]));
	printf("the block is unchanged %d\n", holds(blocks[0][0], 7));
}

static void show_dma_buf(const char *what, unsigned long long address, size_t bytes)
{
	int file = -1, code = cuMemGetHandleForAddressRange(&file, address, bytes, 1, 0);

	printf("dma-buf of %s: %d\n", what, code);
	if (code == 0)
		close(file);
}

/* Network cards and storage access memory by a dma-buf, which must not contain other blocks. */
static void dma_bufs(void)
{
	start(1);
	SHOW(cuMemAlloc_v2(&blocks[0][0], BYTES));
	SHOW(cuMemAlloc_v2(&blocks[0][1], 40 * MIB));
	for (int i = 0; i < 2; i++) {
		size_t bytes = i == 0 ? BYTES : 40 * MIB;

		show_dma_buf("a block", blocks[0][i], bytes);
		show_dma_buf("its inside", blocks[0][i] + MIB, bytes - 2 * MIB);
		show_dma_buf("more than a block", blocks[0][i], bytes + MIB);
		show_dma_buf("a part of a page", blocks[0][i], 512);
	}
	SHOW(cuMemFree_v2(blocks[0][1]));
	show_dma_buf("freed memory", blocks[0][1], MIB);
}

static void show_held(void)
{
	struct fake_held held;

	fake_holds(&held);
	printf("handles %d mappings %d reservations %d\n", held.handles, held.mappings,
	       held.reservations);
}

/* Memory ends with its context, whichever call ends it. */
static void ends(void)
{
	struct CUctx_st *own;

	start(1);
	for (int round = 0; round < 2; round++) {
		SHOW(cuMemAlloc_v2(&blocks[0][0], BYTES));
		SHOW(cuMemAlloc_v2(&blocks[0][1], 512));
		SHOW(cuDevicePrimaryCtxReset_v2(0));
		show_held();
		SHOW(cuMemFree_v2(blocks[0][0]));
		SHOW(cuDevicePrimaryCtxRetain(&contexts[0], 0));
		SHOW(cuCtxSetCurrent(contexts[0]));
	}
	SHOW(cuCtxCreate_v2(&own, 0, 0));
	SHOW(cuMemAlloc_v2(&blocks[0][0], BYTES));
	SHOW(cuCtxDestroy(own));
	show_held();
	SHOW(cuCtxSetCurrent(contexts[0]));
	SHOW(cuMemFree_v2(blocks[0][0]));
}

#define SHARED 3

static const size_t shared_bytes[SHARED] = { 512, BYTES, 40 * MIB };

static bool is_filled(unsigned long long block, size_t bytes, unsigned char value)
{
	static unsigned char part[MIB];

	for (size_t at = 0; at < bytes; at += MIB) {
		size_t length = bytes - at < MIB ? bytes - at : MIB;

		if (cuMemcpyDtoH_v2(part, block + at, length) != 0)
			return false;
		for (size_t i = 0; i < length; i++)
			if (part[i] != value)
				return false;
	}
	return true;
}

/* Opens each block twice, checks its bytes and changes them. */
static void open_blocks(int from)
{
	unsigned long long opened[SHARED] = { 0 }, again = 0;
	struct cu_ipc_handle handles[SHARED];
	struct CUctx_st *other;
	size_t bytes;

	if (read(from, handles, sizeof(handles)) != sizeof(handles))
		exit(1);
	start(1);
	for (int i = 0; i < SHARED; i++) {
		int code = cuIpcOpenMemHandle_v2(&opened[i], handles[i], IPC_LAZY_PEER_ACCESS);

		printf("peer: open %d\n", code);
		if (code != 0)
			continue;
		printf("peer: right %d\n",
		       is_filled(opened[i], shared_bytes[i], (unsigned char)(i + 1)));
		SHOW(cuMemsetD8_v2(opened[i], (unsigned char)(i + 11), shared_bytes[i]));
		SHOW(cuIpcOpenMemHandle_v2(&again, handles[i], IPC_LAZY_PEER_ACCESS));
		printf("peer: the same address %d\n", again == opened[i]);
		SHOW(cuIpcCloseMemHandle(again));
	}
	/* The close waits for the context in which the block was opened. */
	SHOW(cuCtxCreate_v2(&other, 0, 0));
	for (int i = 0; i < SHARED; i++)
		if (opened[i] != 0)
			SHOW(cuIpcCloseMemHandle(opened[i]));
	show_held();
	printf("peer: disturbed %d\n", fake_disturbed(&again, &bytes));
	exit(0);
}

static void share(void)
{
	unsigned long long shared[SHARED];
	struct cu_ipc_handle handles[SHARED] = { 0 };
	int down[2], status = -1;
	pid_t child;

	if (pipe(down) != 0)
		exit(1);
	child = fork();
	if (child == 0)
		open_blocks(down[0]);
	start(1);
	for (int i = 0; i < SHARED; i++) {
		SHOW(cuMemAlloc_v2(&shared[i], shared_bytes[i]));
		SHOW(cuMemsetD8_v2(shared[i], (unsigned char)(i + 1), shared_bytes[i]));
		SHOW(cuIpcGetMemHandle(&handles[i], shared[i]));
	}
	SHOW(cuCtxSynchronize());
	if (write(down[1], handles, sizeof(handles)) != sizeof(handles))
		exit(1);
	waitpid(child, &status, 0);
	printf("peer ended %d\n", status);
	for (int i = 0; i < SHARED; i++) {
		printf("changed %d\n",
		       is_filled(shared[i], shared_bytes[i], (unsigned char)(i + 11)));
		SHOW(cuMemFree_v2(shared[i]));
	}
}

#define SLOTS 12

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

struct slot {
	unsigned long long block;
	size_t bytes;
	unsigned char value;
};

/* Checks both ends of a block, changes all of it, and frees it while that work is in flight. */
static int check_and_free(const struct slot *slot, struct CUstream_st *stream)
{
	unsigned char first = 0, last = 0;
	int wrong = cuMemcpyDtoHAsync_v2(&first, slot->block, 1, stream) != 0 ||
		    cuMemcpyDtoHAsync_v2(&last, slot->block + slot->bytes - 1, 1, stream) != 0 ||
		    first != slot->value || last != slot->value;

	wrong += cuMemsetD8Async(slot->block, 0, slot->bytes, stream) != 0;
	wrong += (draw(3) == 0 ? cuMemFreeAsync(slot->block, stream) : cuMemFree_v2(slot->block)) !=
		 0;
	return wrong;
}

/*
 * Random sizes on a small device, in the order of one stream that lags. Pieces of memory move
 * and are unmapped, but neither while work uses them, nor with the bytes of a live block.
 */
static void moves(void)
{
	static const size_t scales[] = { 4096, 600 << 10, 8 * MIB, 24 * MIB };
	struct slot slots[SLOTS] = { 0 };
	struct CUstream_st *stream;
	unsigned long long address;
	int wrong = 0, served = 0;
	size_t bytes;

	start(1);
	SHOW(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	for (int i = 0; i < 1500; i++) {
		struct slot *slot = &slots[draw(SLOTS)];

		if (slot->block != 0)
			wrong += check_and_free(slot, stream);
		*slot = (struct slot){ .bytes = 1 + draw(scales[draw(4)]),
				       .value = (unsigned char)(1 + draw(255)) };
		if (cuMemAlloc_v2(&slot->block, slot->bytes) != 0) {
			slot->block = 0;
			continue;
		}
		served++;
		wrong += cuMemsetD8Async(slot->block, slot->value, slot->bytes, stream) != 0;
	}
	printf("wrong %d, disturbed %d, most served %d\n", wrong, fake_disturbed(&address, &bytes),
	       served > 1000);
}

static const struct probe_scene scenes[] = {
	{ "devices", devices }, { "pieces", pieces }, { "dma-bufs", dma_bufs },
	{ "ends", ends },       { "share", share },   { "moves", moves },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
