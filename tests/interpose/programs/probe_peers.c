/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_peers.c - checks that memory is not allocated again while a context of another device still
 * uses it.
 *
 * In each round the context of device 1, the owner, allocates a block; a peer submits work that
 * uses the block; the owner frees it. After each allocation the probe queries the fake driver
 * whether unfinished work uses the new block. The blocks of all rounds together are many times the
 * device's memory, so an allocation fails if freed blocks do not become reusable.
 *
 *   probe_peers SCENE
 *
 * Prints how many calls failed, and how many new blocks were in use.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"
#include "probe.h"

#define BYTES ((size_t)4 << 20)
#define EXPORTED ((size_t)16 << 20)
#define ROUNDS 100
#define MANY 40

static struct CUctx_st *owner, *first; /* the primary contexts of devices 1 and 0 */
static int failures, touched;

static void check(int code)
{
	failures += code != 0;
}

static void start(void)
{
	check(cuInit(0));
	check(cuDevicePrimaryCtxRetain(&first, 0));
	check(cuDevicePrimaryCtxRetain(&owner, 1));
}

static void end(void)
{
	printf("failures %d touched %d\n", failures, touched);
}

/*
 * The peer's work is in `stream` of its own, or in its default stream. NULL: the block is not used.
 */
static void play_round(struct CUctx_st *peer, struct CUstream_st *stream)
{
	unsigned long long block, id;
	uint64_t due_ns;
	int code;

	check(cuCtxSetCurrent(owner));
	code = cuMemAlloc_v2(&block, BYTES);
	check(code);
	if (code != 0)
		return;
	touched += fake_pending(block, BYTES) != 0;
	if (peer) {
		check(cuCtxSetCurrent(peer));
		check(fake_use(block, BYTES, stream, &id, &due_ns));
		check(cuCtxSetCurrent(owner));
	}
	check(cuMemFree_v2(block));
}

static void play_rounds(struct CUctx_st *peer, struct CUstream_st *stream)
{
	for (int i = 0; i < ROUNDS; i++)
		play_round(peer, stream);
}

/* `peer` may use the memory of `of` from now on. */
static void enable(struct CUctx_st *peer, struct CUctx_st *of)
{
	check(cuCtxSetCurrent(peer));
	check(cuCtxEnablePeerAccess(of, 0));
}

static void one_peer(void)
{
	start();
	enable(first, owner);
	play_rounds(first, NULL);
	end();
}

static struct CUctx_st *make_peer(void)
{
	struct CUctx_st *peer;

	check(cuCtxCreate_v2(&peer, 0, 0));
	check(cuCtxPopCurrent_v2(&peer));
	enable(peer, owner);
	return peer;
}

static void many_peers(void)
{
	struct CUctx_st *peers[MANY];

	start();
	for (int i = 0; i < MANY; i++)
		peers[i] = make_peer();
	for (int i = 0; i < 4 * ROUNDS; i++)
		play_round(peers[i % MANY], NULL);
	/* Fewer peers, and new ones among the old. */
	for (int i = 0; i < MANY; i += 2)
		check(cuCtxDestroy_v2(peers[i]));
	for (int i = 0; i < MANY; i += 4)
		peers[i] = make_peer();
	for (int i = 0; i < 4 * ROUNDS; i++)
		if (i % 4 != 2)
			play_round(peers[i % MANY], NULL);
	end();
}

static void peers_come_and_go(void)
{
	start();
	for (int i = 0; i < 8 * MANY; i++) {
		struct CUctx_st *peer = make_peer();

		for (int round = 0; round < 4; round++)
			play_round(peer, NULL);
		check(cuCtxDestroy_v2(peer));
	}
	end();
}

static void peer_is_reset(void)
{
	start();
	for (int i = 0; i < 4; i++) {
		enable(first, owner);
		play_rounds(first, NULL);
		check(cuDevicePrimaryCtxReset_v2(0));
		for (int round = 0; round < i; round++)
			play_round(NULL, NULL);
		check(cuDevicePrimaryCtxRetain(&first, 0));
	}
	end();
}

/* The last release of a primary context ends it too. */
static void peer_is_released(void)
{
	start();
	for (int i = 0; i < 4; i++) {
		enable(first, owner);
		play_rounds(first, NULL);
		check(cuCtxSetCurrent(owner));
		check(cuDevicePrimaryCtxRelease_v2(0));
		check(cuDevicePrimaryCtxRetain(&first, 0));
	}
	end();
}

/* Access that was enabled without mam's knowledge; the program then tries to enable it. */
static void already_enabled(void)
{
	start();
	check(cuCtxSetCurrent(first));
	check(fake_enable_peer(owner));
	failures += cuCtxEnablePeerAccess(owner, 0) != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	play_rounds(first, NULL);
	end();
}

/* The peer gets a sticky error: its event calls return it from then on, and the owner continues. */
static void peer_breaks(void)
{
	unsigned long long block;

	start();
	enable(first, owner);
	check(cuMemAlloc_v2(&block, 4096));
	play_rounds(first, NULL);
	check(cuCtxSetCurrent(first));
	check(cuCtxSynchronize());
	check(cuMemsetD8_v2(block, 1, 4096)); /* see FAKE_CUDA_STICKY_AFTER */
	play_rounds(NULL, NULL);
	end();
}

static struct CUctx_st *make_green(int device, struct CUstream_st **stream)
{
	struct CUgreenCtx_st *green;
	struct CUctx_st *context;

	check(cuGreenCtxCreate(&green, NULL, device, GREEN_DEFAULT_STREAM));
	check(cuCtxFromGreenCtx(&context, green));
	check(cuGreenCtxStreamCreate(stream, green, STREAM_NON_BLOCKING, 0));
	return context;
}

/*
 * Access that was enabled in a green context applies to its primary context and to the other green
 * ones.
 */
static void green_peer(void)
{
	struct CUstream_st *stream, *others;
	struct CUctx_st *green, *other;

	start();
	green = make_green(0, &stream);
	other = make_green(0, &others);
	enable(green, owner);
	for (int i = 0; i < 3 * ROUNDS; i++) {
		if (i % 3 == 0)
			play_round(green, stream);
		else
			play_round(i % 3 == 1 ? first : other, i % 3 == 1 ? NULL : others);
	}
	end();
}

/* Memory of a green context belongs to the primary one. */
static void green_owner(void)
{
	struct CUstream_st *stream;

	start();
	enable(first, make_green(1, &stream));
	play_rounds(first, NULL);
	end();
}

/* A process that exports a block of device 1, and exits when `until` is closed. */
static void export_block(int to, int until)
{
	struct cu_ipc_handle handle;
	unsigned long long block;
	char byte;

	start();
	check(cuCtxSetCurrent(owner));
	check(cuMemAlloc_v2(&block, EXPORTED));
	check(cuIpcGetMemHandle(&handle, block));
	if (failures != 0 || write(to, &handle, sizeof(handle)) != sizeof(handle))
		_exit(1);
	while (read(until, &byte, 1) > 0)
		;
	_exit(0);
}

/*
 * A handle that is opened in a context of device 0 gives that context access to memory of device 1.
 */
static void opened_handle(void)
{
	int handles[2], until[2], status = 1;
	struct cu_ipc_handle handle;
	unsigned long long address;
	pid_t child;

	if (pipe(handles) != 0 || pipe(until) != 0)
		exit(2);
	child = fork();
	if (child == 0) {
		close(until[1]);
		export_block(handles[1], until[0]);
	}
	close(handles[1]);
	close(until[0]);
	if (child < 0 || read(handles[0], &handle, sizeof(handle)) != sizeof(handle))
		exit(2);
	start();
	check(cuCtxSetCurrent(first));
	check(cuIpcOpenMemHandle_v2(&address, handle, IPC_LAZY_PEER_ACCESS));
	play_rounds(first, NULL);
	close(until[1]);
	check(waitpid(child, &status, 0) != child || status != 0);
	end();
}

static const struct probe_scene scenes[] = {
	{ "one-peer", one_peer },
	{ "many-peers", many_peers },
	{ "peers-come-and-go", peers_come_and_go },
	{ "peer-is-reset", peer_is_reset },
	{ "peer-is-released", peer_is_released },
	{ "already-enabled", already_enabled },
	{ "peer-breaks", peer_breaks },
	{ "green-peer", green_peer },
	{ "green-owner", green_owner },
	{ "opened-handle", opened_handle },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
