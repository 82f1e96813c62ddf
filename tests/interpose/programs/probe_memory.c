/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_memory.c - scenes on the driver API about pointers in this process and in another one, and
 * about contexts that share memory or fail.
 *
 * Addresses and ids differ from run to run, so the scenes print how they relate.
 */
#include "probe.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static struct CUctx_st *context;
static unsigned long long a, b, c;

static void start(void)
{
	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, probe_device()));
	SHOW(cuCtxSetCurrent(context));
}

static void show_range(const char *what, unsigned long long address, unsigned long long block)
{
	unsigned long long base = 0;
	size_t bytes = 0;
	int code = cuMemGetAddressRange_v2(&base, &bytes, address);

	printf("range of %s: %d, the block's start %d, %zu bytes\n", what, code, base == block,
	       code == 0 ? bytes : 0);
}

static void ranges(void)
{
	start();
	SHOW(cuMemAlloc_v2(&a, 257));
	SHOW(cuMemAlloc_v2(&b, 5 * MIB + 1));
	show_range("a block", a, a);
	show_range("its inside", a + 200, a);
	show_range("a large block", b, b);
	show_range("its inside", b + 5 * MIB, b);
	SHOW(cuMemGetAddressRange_v2(NULL, NULL, a));
	SHOW(cuMemFree_v2(b));
	printf("range of what was freed: %d\n", cuMemGetAddressRange_v2(&c, NULL, b + MIB) != 0);
	printf("range of nothing: %d\n", cuMemGetAddressRange_v2(&c, NULL, 4096) != 0);
	SHOW(cuMemFree_v2(a));
}

static void show_mapping(unsigned long long address, unsigned long long block, size_t bytes)
{
	unsigned long long types = 9, mapping = 0;
	size_t mapped = 0;
	int names[] = { POINTER_HANDLE_TYPES, POINTER_MAPPING_BASE, POINTER_MAPPING_SIZE };
	void *values[] = { &types, &mapping, &mapped };

	SHOW(cuPointerGetAttribute(&types, POINTER_HANDLE_TYPES, address));
	SHOW(cuPointerGetAttribute(&mapping, POINTER_MAPPING_BASE, address));
	SHOW(cuPointerGetAttribute(&mapped, POINTER_MAPPING_SIZE, address));
	for (int i = 0; i < 2; i++) {
		printf("can be exported as %llu, is inside the mapping %d\n", types,
		       mapping <= block && block + bytes <= mapping + mapped);
		types = mapping = mapped = 0;
		SHOW(cuPointerGetAttributes(3, names, values, address));
	}
}

static void show_attributes(unsigned long long address, unsigned long long block)
{
	unsigned long long start_address = 0, pointer = 0;
	struct CUctx_st *owner = NULL;
	unsigned int type = 0, managed = 9;
	int device = -1, code;
	size_t size = 0;
	int names[] = { POINTER_CONTEXT,    POINTER_MEMORY_TYPE,    POINTER_DEVICE_POINTER,
			POINTER_IS_MANAGED, POINTER_DEVICE_ORDINAL, POINTER_RANGE_START,
			POINTER_RANGE_SIZE };
	void *values[] = { &owner, &type, &pointer, &managed, &device, &start_address, &size };

	code = cuPointerGetAttributes(7, names, values, address);
	printf("attributes: %d context %d type %u pointer %d managed %u device %d start %d size "
	       "%zu\n",
	       code, owner == context, type, pointer == address, managed, device,
	       start_address == block, size);
	SHOW(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address));
	SHOW(cuPointerGetAttribute(&size, POINTER_RANGE_SIZE, address));
	printf("size %zu\n", size);
	show_mapping(address, block, size);
}

static void attributes(void)
{
	unsigned int type = 0;

	start();
	SHOW(cuMemAlloc_v2(&a, 1000));
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	show_attributes(a, a);
	show_attributes(a + 999, a);
	show_attributes(b + MIB, b);
	SHOW(cuMemAlloc_v2(&c, 40 * MIB)); /* of several pieces */
	show_attributes(c + MIB, c);
	SHOW(cuMemFree_v2(c));
	SHOW(cuMemFree_v2(a));
	SHOW(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, a));
	SHOW(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, 4096));
	SHOW(cuPointerGetAttribute(&type, 9999, b));
	SHOW(cuMemFree_v2(b));
}

static unsigned long long id_of(unsigned long long address)
{
	unsigned long long id = 0;

	printf("buffer id: %d\n", cuPointerGetAttribute(&id, POINTER_BUFFER_ID, address));
	return id;
}

static void buffer_ids(void)
{
	unsigned long long first, second, third;

	start();
	SHOW(cuMemAlloc_v2(&a, 1000));
	SHOW(cuMemAlloc_v2(&b, 1000));
	first = id_of(a);
	second = id_of(b);
	printf("apart %d, the same again %d, of the inside %d\n", first != second,
	       id_of(a) == first, id_of(a + 10) == first);
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, 1000));
	third = id_of(a);
	printf("new after reuse %d\n", third != first && third != second);
	for (int i = 0; i < 1000; i++) {
		unsigned long long id = 0;

		cuMemFree_v2(a);
		cuMemAlloc_v2(&a, 1000);
		cuPointerGetAttribute(&id, POINTER_BUFFER_ID, a);
		if (id == first || id == second || id == third || id == 0)
			printf("round %d: an id came again\n", i);
	}
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(b));
}

static unsigned int is_synchronous(unsigned long long address)
{
	unsigned int on = 9;

	printf("asked: %d\n", cuPointerGetAttribute(&on, POINTER_SYNC_MEMOPS, address));
	return on;
}

static void synchronous(void)
{
	const unsigned int on = 1, off = 0;

	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	printf("before %u\n", is_synchronous(a));
	SHOW(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a));
	printf("after %u, a neighbor %u\n", is_synchronous(a), is_synchronous(b));
	SHOW(cuPointerSetAttribute(&off, POINTER_SYNC_MEMOPS, a));
	printf("off %u\n", is_synchronous(a));
	SHOW(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a + MIB));
	SHOW(cuMemFree_v2(a));
	SHOW(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a));
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	printf("after reuse %u\n", is_synchronous(a));
	SHOW(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, 4096));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(b));
}

/*
 * Of each pair of blocks one is set while the other is unset or freed, slightly earlier or later
 * each time. At the end the first one is set, and so is the chunk.
 */
#define TOGGLES 4000

static atomic_uint meetings;

/* Both threads return at nearly the same time. */
static void meet(void)
{
	unsigned int number = atomic_fetch_add(&meetings, 1) / 2;

	for (int i = 1; atomic_load(&meetings) < 2 * (number + 1); i++)
		if (i % 1000 == 0)
			sched_yield();
}

static void *set_first(void *unused)
{
	const unsigned int on = 1, off = 0;

	(void)unused;
	cuCtxSetCurrent(context);
	for (int i = 0; i < TOGGLES; i++) {
		cuPointerSetAttribute(&off, POINTER_SYNC_MEMOPS, a);
		meet();
		for (volatile int wait = i % 97 * 8; wait > 0; wait--)
			;
		cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a);
		meet();
		cuMemsetD8_v2(a, 1, 1); /* a line in the driver's log, for the test */
		meet();
	}
	return NULL;
}

static void *unset_second(void *unused)
{
	const unsigned int on = 1, off = 0;

	(void)unused;
	cuCtxSetCurrent(context);
	for (int i = 0; i < TOGGLES; i++) {
		cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, b);
		meet();
		for (volatile int wait = i % 89 * 8; wait > 0; wait--)
			;
		if (i % 2 == 0)
			cuPointerSetAttribute(&off, POINTER_SYNC_MEMOPS, b);
		else
			cuMemFree_v2(b);
		meet();
		if (i % 2 == 1)
			cuMemAlloc_v2(&b, 3 * MIB);
		meet();
	}
	return NULL;
}

static void toggles(void)
{
	pthread_t threads[2];

	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	pthread_create(&threads[0], NULL, set_first, NULL);
	pthread_create(&threads[1], NULL, unset_second, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("the first %u, the second %u\n", is_synchronous(a), is_synchronous(b));
}

/* --- other processes --- */

struct message {
	struct cu_ipc_handle handle;
	int byte; /* the value of every byte of the block */
};

static void answer_messages(int from, int to)
{
	const unsigned int on = 1;
	unsigned long long last = 0, id;
	struct message message;
	struct fake_held held;

	start();
	while (read(from, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		unsigned char byte = 0;
		int code = cuIpcOpenMemHandle_v2(&a, message.handle, IPC_LAZY_PEER_ACCESS);

		printf("peer: open %d\n", code);
		if (code == 0) {
			SHOW(cuMemcpyDtoH_v2(&byte, a, 1));
			printf("peer: right %d\n", byte == message.byte);
			SHOW(cuMemcpyDtoH_v2(&byte, a + 999, 1));
			printf("peer: right %d\n", byte == message.byte);
			show_range("what was opened", a + MIB, a);
			show_attributes(a + 10, a);
			id = id_of(a);
			printf("peer: one id %d, another one %d\n", id_of(a + MIB) == id,
			       id != last);
			last = id;
			SHOW(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a));
			printf("peer: on %u\n", is_synchronous(a));
			SHOW(cuMemsetD8_v2(a, (unsigned char)~message.byte, 1000));
			SHOW(cuCtxSynchronize());
			SHOW(cuIpcOpenMemHandle_v2(&b, message.handle, IPC_LAZY_PEER_ACCESS));
			printf("peer: the same again %d\n", a == b);
			SHOW(cuIpcCloseMemHandle(b));
			SHOW(cuIpcCloseMemHandle(a));
			SHOW(cuIpcCloseMemHandle(a));
			SHOW(cuIpcCloseMemHandle(a));
			printf("peer: still open %d\n", cuMemcpyDtoH_v2(&byte, a, 1) == 0);
		}
		if (write(to, &code, sizeof(code)) != (ssize_t)sizeof(code))
			return;
	}
	fake_holds(&held);
	printf("peer: handles %d mappings %d reservations %d\n", held.handles, held.mappings,
	       held.reservations);
}

static int down[2], up[2];

static int send_block(const struct cu_ipc_handle *handle, int byte)
{
	struct message message = { *handle, byte };
	int code = -1;

	fflush(stdout);
	if (write(down[1], &message, sizeof(message)) != (ssize_t)sizeof(message) ||
	    read(up[0], &code, sizeof(code)) != (ssize_t)sizeof(code))
		puts("the peer is gone");
	return code;
}

static void share(unsigned long long block, int byte)
{
	struct cu_ipc_handle handle, again;
	unsigned char back = 0;

	SHOW(cuMemsetD8_v2(block, (unsigned char)byte, 1000));
	SHOW(cuCtxSynchronize());
	SHOW(cuIpcGetMemHandle(&handle, block));
	SHOW(cuIpcGetMemHandle(&again, block));
	printf("the same handle again %d\n", memcmp(&handle, &again, sizeof(handle)) == 0);
	printf("opened %d\n", send_block(&handle, byte));
	SHOW(cuMemcpyDtoH_v2(&back, block, 1));
	printf("the peer wrote %d\n", back == (unsigned char)~byte);
}

static void processes(void)
{
	struct cu_ipc_handle first, second, garbage;
	pid_t child;
	int status;

	if (pipe(down) != 0 || pipe(up) != 0)
		exit(1);
	child = fork();
	if (child == 0) {
		setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* its lines are printed together, when
							 * it exits */
		close(down[1]);
		close(up[0]);
		answer_messages(down[0], up[1]);
		fflush(stdout);
		exit(0);
	}
	close(down[0]);
	close(up[1]);
	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	SHOW(cuMemAlloc_v2(&c, 3 * MIB));
	share(a, 1);
	share(b, 2);
	share(c, 3);
	SHOW(cuIpcGetMemHandle(&first, b));
	SHOW(cuMemFree_v2(b));
	SHOW(cuIpcGetMemHandle(&garbage, b));
	printf("opened after its free: %d\n", send_block(&first, 2) != 0);
	SHOW(cuMemAlloc_v2(&b, 3 * MIB));
	SHOW(cuIpcGetMemHandle(&second, b));
	printf("another handle after reuse %d\n", memcmp(&first, &second, sizeof(first)) != 0);
	memset(&garbage, 0xa5, sizeof(garbage));
	printf("opened garbage: %d\n", send_block(&garbage, 0));
	SHOW(cuIpcOpenMemHandle_v2(&c, second, IPC_LAZY_PEER_ACCESS));
	printf("handle of nothing: %d\n", cuIpcGetMemHandle(&garbage, 4096));
	close(down[1]);
	waitpid(child, &status, 0);
	printf("peer ended %d\n", status);
}

/* Handles that look like mam's but are invalid: random, truncated, or with one bit flipped. */
static void hostile(void)
{
	struct cu_ipc_handle handle;
	unsigned long long address = 0;

	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuIpcGetMemHandle(&handle, a));
	for (int bit = 0; bit < 24 * 8; bit++) {
		struct cu_ipc_handle changed = handle;
		int code;

		changed.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		code = cuIpcOpenMemHandle_v2(&address, changed, IPC_LAZY_PEER_ACCESS);
		if (code == 0)
			printf("bit %d: opened\n", bit);
	}
	puts("none opened");
}

/* --- contexts --- */

static void green(void)
{
	struct CUgreenCtx_st *made;
	struct CUctx_st *converted = NULL, *owner = NULL, *own = NULL;

	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuGreenCtxCreate(&made, NULL, probe_device(), GREEN_DEFAULT_STREAM));
	SHOW(cuCtxFromGreenCtx(&converted, made));
	SHOW(cuCtxSetCurrent(converted));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuPointerGetAttribute(&owner, POINTER_CONTEXT, b));
	printf("the primary's %d\n", owner == context);
	SHOW(cuMemFree_v2(a));
	SHOW(cuGreenCtxDestroy(made));
	/* Another context, perhaps at the address of that one. */
	SHOW(cuCtxCreate_v2(&own, 0, probe_device()));
	SHOW(cuMemAlloc_v2(&c, MIB));
	SHOW(cuPointerGetAttribute(&owner, POINTER_CONTEXT, c));
	printf("its own %d\n", owner == own);
	SHOW(cuMemFree_v2(c));
	SHOW(cuCtxDestroy_v2(own));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

/* A green context alone keeps the primary one, which ends with it, and with the memory of both. */
static void green_alone(void)
{
	struct CUgreenCtx_st *made;
	struct CUctx_st *own;

	SHOW(cuInit(0));
	SHOW(cuGreenCtxCreate(&made, NULL, probe_device(), GREEN_DEFAULT_STREAM));
	SHOW(cuCtxFromGreenCtx(&context, made));
	SHOW(cuCtxSetCurrent(context));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuGreenCtxDestroy(made));
	SHOW(cuCtxCreate_v2(&own, 0, probe_device()));
	SHOW(cuMemFree_v2(a));
	start();
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemFree_v2(b));
}

/*
 * mam forgets what it knows about blocks when their context ends, although new blocks may have the
 * same addresses.
 */
static void resets(void)
{
	const unsigned int on = 1;
	unsigned long long old;

	start();
	SHOW(cuMemAlloc_v2(&a, 3 * MIB));
	old = id_of(a);
	SHOW(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a));
	SHOW(cuDevicePrimaryCtxReset_v2(probe_device()));
	start();
	for (int i = 0; i < 30; i++) {
		SHOW(cuMemAlloc_v2(&b, 3 * MIB));
		printf("another id %d, synchronous %u\n", id_of(b) != old, is_synchronous(b));
	}
}

/* A kernel fault: from then on every call reports it, until the context is reset. */
static void broken(void)
{
	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemAlloc_v2(&b, MIB));
	SHOW(cuMemsetD8_v2(a, 1, MIB));
	SHOW(cuMemAlloc_v2(&c, MIB));
	SHOW(cuMemFree_v2(b));
	SHOW(cuMemFree_v2(4096));
	SHOW(cuCtxSynchronize());
	SHOW(cuDevicePrimaryCtxReset_v2(probe_device()));
	start();
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

/* Blocks larger than 1 MiB are aligned to 64 KiB, as network cards and file systems require. */
static void aligned(void)
{
	unsigned long long blocks[16] = { 0 };
	unsigned int random = 1, odd = 0;
	size_t pitch;

	start();
	for (int i = 0; i < 400; i++) {
		unsigned long long *block = &blocks[i % 16];
		size_t bytes;

		random = random * 1103515245 + 12345;
		bytes = random % 3 == 0 ? 1 + random / 3 % 100000
					: MIB + 1 + random / 3 % (4 * MIB);
		if (cuMemFree_v2(*block) != 0 ||
		    (i % 8 == 0 ? cuMemAllocPitch_v2(block, &pitch, 1000, bytes / 1000 + 50, 4)
				: cuMemAlloc_v2(block, bytes)) != 0)
			printf("round %d failed\n", i);
		odd += bytes > MIB && *block % (64 << 10) != 0;
	}
	printf("not aligned: %u\n", odd);
}

static const struct probe_scene scenes[] = {
	{ "ranges", ranges },           { "attributes", attributes },
	{ "buffer-ids", buffer_ids },   { "synchronous", synchronous },
	{ "processes", processes },     { "hostile", hostile },
	{ "toggles", toggles },         { "green", green },
	{ "green-alone", green_alone }, { "broken", broken },
	{ "resets", resets },           { "aligned", aligned },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
