/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_pair.c - two processes share blocks of device memory through IPC handles.
 *
 * The parent allocates blocks of several sizes, fills each with its own byte and sends the handles
 * through a pipe. The child is a program that starts before the parent uses CUDA. It opens each
 * handle, checks every byte, fills the block with another byte, and replies. The parent checks the
 * new bytes, and that no other block has changed. Then each block is freed and allocated again, and
 * the same happens. The largest one must have another handle then.
 *
 * stdout: one line per block. With --peer-plain the child starts without LD_PRELOAD and LD_AUDIT,
 * to show the result for a peer without mam: an error, and never wrong bytes.
 *
 * Exit status: 0; 1 if a block was opened and held wrong bytes, or if a call failed.
 *
 * Calls are those of the runtime or, when built with IPC_PAIR_DRIVER, those of the driver.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef IPC_PAIR_DRIVER
#include "../fake/driver_api.h"

#define ADDRESS unsigned long long
#define HANDLE struct cu_ipc_handle

static int start(void)
{
	struct CUctx_st *context;
	int result = cuInit(0);

	if (result == 0)
		result = cuDevicePrimaryCtxRetain(&context, 0);
	return result ? result : cuCtxSetCurrent(context);
}

#define allocate cuMemAlloc_v2
#define release cuMemFree_v2
#define export_handle cuIpcGetMemHandle
#define import_handle cuIpcOpenMemHandle_v2
#define close_handle cuIpcCloseMemHandle
#define wait_for_all cuCtxSynchronize
#define fill cuMemsetD8_v2
#define read_back cuMemcpyDtoH_v2
#else
#include "../fake/runtime_api.h"

#define ADDRESS void *
#define HANDLE struct rt_ipc_handle

static int start(void)
{
	return cudaFree(NULL);
}

static int read_back(void *to, ADDRESS from, size_t bytes)
{
	return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}

#define allocate cudaMalloc
#define release cudaFree
#define export_handle cudaIpcGetMemHandle
#define import_handle cudaIpcOpenMemHandle
#define close_handle cudaIpcCloseMemHandle
#define wait_for_all cudaDeviceSynchronize
#define fill cudaMemset
#endif

#define LAZY_PEER_ACCESS 1u

/* clang-format off */
#define CHECK(call)                                                               \
	do {                                                                      \
		int check_code = (call);                                          \
		if (check_code != 0) {                                            \
			fprintf(stderr, "ipc_pair: %s: error %d\n", #call, check_code); \
			exit(1);                                                  \
		}                                                                 \
	} while (0)
/* clang-format on */

static const size_t sizes[] = { 256, 1000, 65536, 1 << 20, (3 << 20) + 512, 64 << 20 };
enum { BLOCKS = sizeof(sizes) / sizeof(sizes[0]), LARGEST = BLOCKS - 1 };

struct message {
	HANDLE handle;
	size_t bytes;
	int byte;
};

struct reply {
	int opened; /* the code */
	int right;  /* every byte was what it should be */
};

/* A block of the parent's, and what all its bytes are now. */
struct shared {
	ADDRESS block;
	int byte;
};

static int all_are(ADDRESS block, size_t bytes, int byte)
{
	unsigned char *host = malloc(bytes);
	int right = host != NULL;

	if (right)
		CHECK(read_back(host, block, bytes));
	for (size_t i = 0; i < bytes && right; i++)
		right = host[i] == byte;
	free(host);
	return right;
}

static int child(void)
{
	struct message message;

	CHECK(start());
	while (read(0, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		struct reply reply = { 0, 0 };
		ADDRESS block;

		reply.opened = import_handle(&block, message.handle, LAZY_PEER_ACCESS);
		if (reply.opened == 0) {
			reply.right = all_are(block, message.bytes, message.byte);
			CHECK(fill(block, message.byte ^ 0xff, message.bytes));
			CHECK(wait_for_all());
			CHECK(close_handle(block));
		}
		if (write(1, &reply, sizeof(reply)) != (ssize_t)sizeof(reply))
			return 1;
	}
	return 0;
}

static pid_t start_child(int plain, int *to, int *from)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe(down) != 0 || pipe(up) != 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(down[0], 0);
		dup2(up[1], 1);
		close(down[0]);
		close(down[1]);
		close(up[0]);
		close(up[1]);
		if (plain) {
			unsetenv("LD_PRELOAD");
			unsetenv("LD_AUDIT");
		}
		execl("/proc/self/exe", "ipc_pair", "--child", (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	*to = down[1];
	*from = up[0];
	return pid;
}

/* How many blocks are not what they should be. */
static int changed(const struct shared *all)
{
	int wrong = 0;

	for (int i = 0; i < BLOCKS; i++)
		wrong += !all_are(all[i].block, sizes[i], all[i].byte);
	return wrong;
}

/* Has the child open a block. The number of things that are wrong. */
static int exchange(int number, struct shared *all, int to, int from, HANDLE *handle)
{
	struct shared *one = &all[number];
	struct message message;
	struct reply reply;
	int right_here, others;

	memset(&message, 0, sizeof(message));
	message.bytes = sizes[number];
	message.byte = one->byte;
	CHECK(export_handle(&message.handle, one->block));
	*handle = message.handle;
	if (write(to, &message, sizeof(message)) != (ssize_t)sizeof(message) ||
	    read(from, &reply, sizeof(reply)) != (ssize_t)sizeof(reply)) {
		fprintf(stderr, "ipc_pair: the child is gone\n");
		exit(1);
	}
	if (reply.opened == 0)
		one->byte ^= 0xff;
	right_here = all_are(one->block, sizes[number], one->byte);
	others = changed(all) - !right_here;
	printf("block %d of %zu bytes: opened %d, right there %d, right here %d, others wrong %d\n",
	       number, sizes[number], reply.opened, reply.right, right_here, others);
	return (reply.opened == 0 && !reply.right) + !right_here + others;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int count, char **arguments)
{
	int plain = count > 1 && strcmp(arguments[1], "--peer-plain") == 0;
	HANDLE handles[BLOCKS], again;
	struct shared all[BLOCKS];
	int to, from, status, wrong = 0;
	double begin;
	pid_t pid;

	if (count > 1 && strcmp(arguments[1], "--child") == 0)
		return child();
	if (count > 1 && !plain) {
		fprintf(stderr, "usage: %s [--peer-plain]\n", arguments[0]);
		return 2;
	}
	pid = start_child(plain, &to, &from);
	CHECK(start());
	for (int i = 0; i < BLOCKS; i++) {
		all[i].byte = 17 * (i + 1) & 0xff;
		CHECK(allocate(&all[i].block, sizes[i]));
		CHECK(fill(all[i].block, all[i].byte, sizes[i]));
	}
	CHECK(wait_for_all());
	begin = now();
	for (int i = 0; i < BLOCKS; i++)
		wrong += exchange(i, all, to, from, &handles[i]);
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(release(all[i].block));
		CHECK(allocate(&all[i].block, sizes[i]));
		all[i].byte = 99 + i;
		CHECK(fill(all[i].block, all[i].byte, sizes[i]));
		CHECK(wait_for_all());
		wrong += exchange(i, all, to, from, &again);
	}
	fprintf(stderr, "ms_per_round %.4f\n", (now() - begin) / (2 * BLOCKS));
	printf("freed and allocated again: another handle %d\n",
	       memcmp(&again, &handles[LARGEST], sizeof(again)) != 0);
	close(to);
	waitpid(pid, &status, 0);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(release(all[i].block));
	printf("child ended %d, wrong %d\n", status, wrong);
	return wrong != 0 || status != 0;
}
