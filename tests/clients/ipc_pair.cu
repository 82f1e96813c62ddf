/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_pair.cu - two processes share blocks of device memory by their IPC handles.
 *
 * The parent allocates blocks of several sizes, fills each with its own byte and sends the handles
 * through a pipe. The child, a program started anew, opens each, checks every byte of it, fills it
 * with another, and answers; the parent checks that. Then a block is freed and allocated again: its
 * handle must be another one if the size is the same.
 *
 * stdout: one line a block. With --peer-plain the child is started without LD_PRELOAD, to show what
 * a peer without mam gets.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime.h>

#define CHECK(call)                                                                            \
	do {                                                                                   \
		cudaError_t code = (call);                                                     \
		if (code != cudaSuccess) {                                                     \
			fprintf(stderr, "ipc_pair: %s: %s\n", #call, cudaGetErrorString(code)); \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static const size_t sizes[] = { 256, 1000, 65536, 1 << 20, (3 << 20) + 512, 64 << 20 };
enum { BLOCKS = sizeof(sizes) / sizeof(sizes[0]) };

struct message {
	cudaIpcMemHandle_t handle;
	size_t bytes;
	int byte;
};

struct answer {
	int opened; /* the code */
	int right;  /* every byte was what it should be */
};

static int all_are(const void *device, size_t bytes, int byte)
{
	unsigned char *host = (unsigned char *)malloc(bytes);
	int right = 1;

	CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < bytes; i++)
		right = right && host[i] == byte;
	free(host);
	return right;
}

static int child()
{
	struct message message;

	while (read(0, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		struct answer answer = { 0, 0 };
		void *block;

		answer.opened = cudaIpcOpenMemHandle(&block, message.handle,
						     cudaIpcMemLazyEnablePeerAccess);
		if (answer.opened == cudaSuccess) {
			answer.right = all_are(block, message.bytes, message.byte);
			CHECK(cudaMemset(block, message.byte ^ 0xff, message.bytes));
			CHECK(cudaDeviceSynchronize());
			CHECK(cudaIpcCloseMemHandle(block));
		}
		if (write(1, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			return 1;
	}
	return 0;
}

static pid_t start(const char *program, bool plain, int *to, int *from)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe(down) != 0 || pipe(up) != 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(down[0], 0);
		dup2(up[1], 1);
		close(down[0]), close(down[1]), close(up[0]), close(up[1]);
		if (plain)
			unsetenv("LD_PRELOAD");
		execl(program, program, "--child", (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	*to = down[1];
	*from = up[0];
	return pid;
}

static void exchange(int number, void *block, size_t bytes, int to, int from,
		     cudaIpcMemHandle_t *handle)
{
	struct message message = {};
	struct answer answer;

	message.bytes = bytes;
	message.byte = 17 * (number + 1) & 0xff;
	CHECK(cudaMemset(block, message.byte, bytes));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcGetMemHandle(&message.handle, block));
	*handle = message.handle;
	if (write(to, &message, sizeof(message)) != (ssize_t)sizeof(message) ||
	    read(from, &answer, sizeof(answer)) != (ssize_t)sizeof(answer)) {
		fprintf(stderr, "ipc_pair: the child is gone\n");
		exit(1);
	}
	printf("block %d of %zu bytes: opened %d, right there %d, right here %d\n", number, bytes,
	       answer.opened, answer.right,
	       answer.opened == cudaSuccess && all_are(block, bytes, message.byte ^ 0xff));
}

int main(int count, char **arguments)
{
	bool plain = count > 1 && strcmp(arguments[1], "--peer-plain") == 0;
	cudaIpcMemHandle_t handles[BLOCKS], again;
	void *blocks[BLOCKS];
	int to, from, status;
	pid_t pid;

	if (count > 1 && strcmp(arguments[1], "--child") == 0)
		return child();
	pid = start("/proc/self/exe", plain, &to, &from);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(cudaMalloc(&blocks[i], sizes[i]));
	for (int i = 0; i < BLOCKS; i++)
		exchange(i, blocks[i], sizes[i], to, from, &handles[i]);
	CHECK(cudaFree(blocks[BLOCKS - 1]));
	CHECK(cudaMalloc(&blocks[BLOCKS - 1], sizes[BLOCKS - 1]));
	exchange(BLOCKS - 1, blocks[BLOCKS - 1], sizes[BLOCKS - 1], to, from, &again);
	printf("freed and allocated again: another handle %d\n",
	       memcmp(&again, &handles[BLOCKS - 1], sizeof(again)) != 0);
	close(to);
	waitpid(pid, &status, 0);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(cudaFree(blocks[i]));
	printf("child ended %d\n", status);
	return 0;
}
