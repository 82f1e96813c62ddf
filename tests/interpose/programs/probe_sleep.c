/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sleep.c - a program whose memory is suspended, for mam ctl and mam share.
 *
 *   probe_sleep              executes the lines of its input, and prints one line after each
 *   probe_sleep COUNT BYTES ROUNDS [FILE]   allocates, then writes and checks all blocks ROUNDS
 *                            times, and appends its process ID to FILE before each round
 *
 *   fill COUNT BYTES  allocate blocks, and write a pattern to each
 *   check             print how many blocks have other contents than their pattern
 *   lookup            check, with functions from cuGetProcAddress() and dlsym()
 *   free              free all of them
 *   threads COUNT     start threads that allocate, write, check and free until the program ends
 *   rounds            print how often all threads together have checked a block
 *   wrong             print how many of these checks or calls failed
 *   address           print the address of the first block
 *   begin, end        begin and end a stream capture
 *   busy              submit work on the first block, which takes FAKE_CUDA_LAG_US
 *   cancel            cancel a thread in a copy of the first block, which takes as long
 *   disturbed         print how often memory was unmapped while work used it
 *   holds             print the bytes of device memory that the driver has allocated
 *   share, export, peer   what prevents a suspend: each prints the driver's code
 *   faults SOCKET REQUEST   until all driver calls of the request and of a resume have failed once:
 *                     make the next one fail, send both, and check; print how often something was lost
 *   failures          print how many requests were refused meanwhile
 *   fork              fork a child that tries to allocate; print the code
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define BLOCKS_MAX 4096
#define BYTES_MAX ((size_t)8 << 20)
#define THREAD_BYTES 300000

static struct block {
	unsigned long long at;
	size_t bytes;
	uint32_t seed;
} blocks[BLOCKS_MAX];
static int block_count;
static struct CUctx_st *context;
static struct CUstream_st *stream;
static atomic_ulong rounds, wrong;

static void draw(uint32_t *words, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes / 4; i++)
		words[i] = seed * 2654435761u + (uint32_t)i * 40503u;
}

static int put(const struct block *block, uint32_t *words)
{
	draw(words, block->bytes, block->seed);
	return cuMemcpyHtoD_v2(block->at, words, block->bytes);
}

/* Whether the block has its pattern. */
static int is_good(const struct block *block, uint32_t *words)
{
	uint32_t *found = words + BYTES_MAX / 4;

	draw(words, block->bytes, block->seed);
	memset(found, 0xee, block->bytes);
	return cuMemcpyDtoH_v2(found, block->at, block->bytes) == 0 &&
	       memcmp(found, words, block->bytes / 4 * 4) == 0;
}

typedef int copy_function(void *to, unsigned long long from, size_t bytes);

/* Whether both functions are the same one, and return the pattern of the first block. */
static int lookup(void)
{
	static uint32_t found[BYTES_MAX / 4], drawn[BYTES_MAX / 4];
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *by_name, *by_base;
	int status;

	by_name = library ? dlsym(library, "cuMemcpyDtoH_v2") : NULL;
	if (by_name == NULL ||
	    cuGetProcAddress_v2("cuMemcpyDtoH", &by_base, 3020, 0, &status) != 0 ||
	    by_base != by_name)
		return 2;
	draw(drawn, blocks[0].bytes, blocks[0].seed);
	return ((copy_function *)(uintptr_t)by_base)(found, blocks[0].at, blocks[0].bytes) != 0 ||
	       memcmp(found, drawn, blocks[0].bytes / 4 * 4) != 0;
}

static uint32_t *words_of(void)
{
	return malloc(2 * BYTES_MAX);
}

static int fill(int count, size_t bytes, uint32_t *words)
{
	int code = 0;

	for (int i = 0; i < count && code == 0 && block_count < BLOCKS_MAX; i++) {
		struct block *block = &blocks[block_count];

		*block = (struct block){ 0, bytes, (uint32_t)(block_count + getpid()) };
		code = cuMemAlloc_v2(&block->at, bytes);
		if (code == 0)
			code = put(block, words);
		block_count += code == 0;
	}
	return code;
}

static int check(uint32_t *words)
{
	int bad = 0;

	for (int i = 0; i < block_count; i++)
		bad += !is_good(&blocks[i], words);
	return bad;
}

static int free_all(void)
{
	int code = 0;

	while (block_count > 0)
		code |= cuMemFree_v2(blocks[--block_count].at);
	return code;
}

static void *work(void *argument)
{
	struct block block = { 0, 0, (uint32_t)(uintptr_t)argument };
	uint32_t *words = words_of();

	cuCtxSetCurrent(context);
	for (;;) {
		block.seed = block.seed * 1664525u + 1013904223u;
		block.bytes = 4 + block.seed % THREAD_BYTES / 4 * 4;
		if (cuMemAlloc_v2(&block.at, block.bytes) != 0 || put(&block, words) != 0 ||
		    !is_good(&block, words) || cuMemFree_v2(block.at) != 0)
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static int start_threads(int count)
{
	pthread_t thread;
	int code = 0;

	for (int i = 0; i < count; i++)
		code |= pthread_create(&thread, NULL, work, (void *)(uintptr_t)(i + 1));
	return code;
}

static int fork_child(void)
{
	unsigned long long at;
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(cuMemAlloc_v2(&at, 1000));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int share(void)
{
	struct cu_ipc_handle handle;

	return cuIpcGetMemHandle(&handle, blocks[0].at);
}

static int export(void)
{
	int number = -1;

	return cuMemGetHandleForAddressRange(&number, blocks[0].at, 4096, 1, 0);
}

static int enable_peer(void)
{
	struct CUctx_st *other;
	int code = cuDevicePrimaryCtxRetain(&other, 1);

	return code != 0 ? code : cuCtxEnablePeerAccess(other, 0);
}

static int begin(void)
{
	return (stream == NULL ? cuStreamCreate(&stream, 1) : 0) |
	       cuStreamBeginCapture_v2(stream, 2);
}

static int end(void)
{
	struct CUgraph_st *graph;

	return cuStreamEndCapture(stream, &graph);
}

static int busy(void)
{
	unsigned long long id;
	uint64_t ends;

	return (stream == NULL ? cuStreamCreate(&stream, 1) : 0) |
	       fake_use(blocks[0].at, 4, stream, &id, &ends);
}

static void *copy_first(void *unused)
{
	char found[4];

	cuCtxSetCurrent(context);
	cuMemcpyDtoH_v2(found, blocks[0].at, sizeof(found));
	return unused;
}

static int cancel(void)
{
	void *result = NULL;
	pthread_t thread;

	return pthread_create(&thread, NULL, copy_first, NULL) != 0 ||
	       pthread_cancel(thread) != 0 || pthread_join(thread, &result) != 0 ||
	       result != PTHREAD_CANCELED;
}

static int disturbed(void)
{
	unsigned long long at;
	size_t bytes;

	return fake_disturbed(&at, &bytes);
}

/* Returns whether the process executed the request. */
static int request(const char *path, const char *text)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int number = socket(AF_UNIX, SOCK_STREAM, 0);
	char reply[4096];
	size_t length = 0;
	ssize_t got = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(number, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    send(number, text, strlen(text), MSG_NOSIGNAL) < 0) {
		close(number);
		return 0;
	}
	while (length < sizeof(reply) - 1 &&
	       (got = recv(number, reply + length, sizeof(reply) - 1 - length, 0)) > 0)
		length += (size_t)got;
	reply[length] = '\0';
	close(number);
	return strstr(reply, "\ndone ") != NULL;
}

static long failures;

static int try_faults(const char *path, const char *text, uint32_t *words)
{
	unsigned long at = 0;
	int bad = 0, failed;
	char name[64];

	do {
		fake_fail(++at, 1);
		failures += !request(path, text);
		failures += !request(path, "resume\n");
		failed = fake_failed(name, sizeof(name));
		fake_fail(0, 0);
		request(path, "resume\n");
		if (check(words) != 0 || disturbed() != 0) {
			fprintf(stderr, "call %lu, %s: something is lost\n", at, name);
			bad++;
		}
	} while (failed != 0);
	return bad;
}

static long play(const char *line, uint32_t *words)
{
	static const struct {
		const char *name;
		int (*act)(void);
	} acts[] = { { "free\n", free_all },   { "share\n", share },  { "export\n", export },
		     { "begin\n", begin },     { "end\n", end },      { "peer\n", enable_peer },
		     { "fork\n", fork_child }, { "busy\n", busy },    { "disturbed\n", disturbed },
		     { "lookup\n", lookup },   { "cancel\n", cancel } };
	char path[100], text[1100];
	struct fake_held held;
	int count = 0;
	size_t bytes = 0;

	if (sscanf(line, "fill %d %zu", &count, &bytes) == 2)
		return fill(count, bytes, words);
	if (sscanf(line, "threads %d", &count) == 1)
		return start_threads(count);
	if (sscanf(line, "faults %90s %[^\n]", path, text) == 2) {
		strcat(text, "\n");
		return try_faults(path, text, words);
	}
	if (strcmp(line, "failures\n") == 0)
		return failures;
	if (strcmp(line, "check\n") == 0)
		return check(words);
	if (strcmp(line, "rounds\n") == 0)
		return (long)atomic_load(&rounds);
	if (strcmp(line, "wrong\n") == 0)
		return (long)atomic_load(&wrong);
	if (strcmp(line, "holds\n") == 0) {
		fake_holds(&held);
		return (long)held.device_bytes;
	}
	if (strcmp(line, "address\n") == 0)
		return (long)blocks[0].at;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (strcmp(line, acts[i].name) == 0)
			return acts[i].act();
	return -1;
}

/* A program without input. Exit status 3: wrong contents. */
static int train(int count, size_t bytes, int all, const char *file, uint32_t *words)
{
	FILE *log = file ? fopen(file, "a") : NULL;

	if (fill(count, bytes, words) != 0)
		return 1;
	for (int round = 0; round < all; round++) {
		if (check(words) != 0)
			return 3;
		for (int i = 0; i < block_count; i++) {
			blocks[i].seed++;
			if (put(&blocks[i], words) != 0)
				return 4;
		}
		if (log != NULL) {
			fprintf(log, "%ld\n", (long)getpid());
			fflush(log);
		}
		usleep(1000);
	}
	return free_all();
}

int main(int argc, char **argv)
{
	uint32_t *words = words_of();
	char line[1000];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (words == NULL || cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
	    cuCtxSetCurrent(context) != 0)
		return 2;
	if (argc > 3)
		return train(atoi(argv[1]), strtoul(argv[2], NULL, 10), atoi(argv[3]),
			     argc > 4 ? argv[4] : NULL, words);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) != NULL)
		printf("%ld\n", play(line, words));
	return 0;
}
