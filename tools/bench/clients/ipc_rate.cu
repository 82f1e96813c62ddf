/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_rate.cu - how fast two processes share blocks by IPC handles, and what remains after one of
 * them was killed.
 *
 *   ipc_rate [HANDLES [KILLS [EXPORTER IMPORTER]]]
 *
 *   HANDLES   blocks to share (2000), each opened once
 *   KILLS     how often to kill an exporter, and how often an importer (3)
 *   EXPORTER  device of the process that owns the blocks (0)
 *   IMPORTER  device of the process that opens them (0)
 *
 * 1. Rate: the exporter allocates a block, fills it and sends its handle; the importer opens it,
 *    checks its first and last byte, and closes it. Then the exporter frees it. One block at a time.
 * 2. Cached opens: the importer has a block open, and opens and closes it again, 10,000 times.
 * 3. Kills: exporters and importers are killed at arbitrary points while blocks are shared. The
 *    other process continues. At the end the device has as much free memory as before, and
 *    /dev/shm as many files.
 *
 * stdout: lines "KEY NUMBER". Exit status: 0, 1 if a byte was wrong, a call failed, or something
 * remains.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define OPENS 10000
#define WINDOW 64           /* live blocks of an exporter that is to be killed */
#define REMAINS (64L << 20) /* memory of the driver itself may differ by this */

struct message {
	cudaIpcMemHandle_t handle;
	size_t bytes;
	int byte;
	int opens; /* 0: once; otherwise also time this many more */
};

struct reply {
	int code; /* of cudaIpcOpenMemHandle */
	int wrong;
	double open_ns, close_ns;
};

struct peer {
	pid_t pid;
	int to, from;
};

static const char *self = "/proc/self/exe";

/* clang-format off */
#define CHECK(call)                                                                            \
	do {                                                                                   \
		int check_code = (int)(call);                                                  \
		if (check_code != 0) {                                                         \
			fprintf(stderr, "ipc_rate: %s: error %d\n", #call, check_code);        \
			exit(1);                                                               \
		}                                                                              \
	} while (0)
/* clang-format on */

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void start(int device)
{
	CHECK(cudaSetDevice(device));
	CHECK(cudaFree(NULL));
}

static size_t size_of(int number)
{
	static const size_t sizes[] = { 512, 4096, 60000, 1 << 20, 3 << 20 };

	return sizes[number % 5];
}

static int read_all(int from, void *to, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t more = read(from, (char *)to + got, bytes - got);

		if (more <= 0)
			return 0;
		got += (size_t)more;
	}
	return 1;
}

/* ---- the importer ---- */

static int is_wrong(const char *block, size_t bytes, int byte)
{
	unsigned char ends[2];

	CHECK(cudaMemcpy(&ends[0], block, 1, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(&ends[1], block + bytes - 1, 1, cudaMemcpyDeviceToHost));
	return ends[0] != byte || ends[1] != byte;
}

static void open_again(const struct message *message, struct reply *reply)
{
	for (int i = 0; i < message->opens; i++) {
		double began = now_ns(), opened;
		void *block;

		CHECK(cudaIpcOpenMemHandle(&block, message->handle,
					   cudaIpcMemLazyEnablePeerAccess));
		opened = now_ns();
		CHECK(cudaIpcCloseMemHandle(block));
		reply->open_ns += opened - began;
		reply->close_ns += now_ns() - opened;
	}
}

static struct reply open_one(const struct message *message)
{
	struct reply reply = { 0, 0, 0, 0 };
	void *block;

	reply.code =
		(int)cudaIpcOpenMemHandle(&block, message->handle, cudaIpcMemLazyEnablePeerAccess);
	if (reply.code != 0) {
		(void)cudaGetLastError();
		return reply;
	}
	reply.wrong = is_wrong((const char *)block, message->bytes, message->byte);
	open_again(message, &reply);
	CHECK(cudaIpcCloseMemHandle(block));
	return reply;
}

static int import_blocks(int device)
{
	struct message message;

	start(device);
	while (read_all(0, &message, sizeof(message))) {
		struct reply reply = open_one(&message);

		if (write(1, &reply, sizeof(reply)) != (ssize_t)sizeof(reply))
			return 1;
	}
	return 0;
}

/* ---- the exporter ---- */

static void *share(int number, struct message *message)
{
	void *block;

	memset(message, 0, sizeof(*message));
	message->bytes = size_of(number);
	message->byte = number % 251 + 1;
	CHECK(cudaMalloc(&block, message->bytes));
	CHECK(cudaMemset(block, message->byte, message->bytes));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcGetMemHandle(&message->handle, block));
	return block;
}

/* Shares blocks until it is killed. A block is freed when a byte reports that the peer closed it. */
static int export_blocks(int device)
{
	void *blocks[WINDOW] = { NULL };
	struct message message;

	start(device);
	for (int i = 0;; i++) {
		char closed;

		if (i >= WINDOW && !read_all(0, &closed, 1))
			return 1;
		CHECK(cudaFree(blocks[i % WINDOW]));
		blocks[i % WINDOW] = share(i, &message);
		if (write(1, &message, sizeof(message)) != (ssize_t)sizeof(message))
			return 1;
	}
}

/* ---- both ---- */

static struct peer start_peer(const char *part, int device)
{
	int down[2], up[2];
	struct peer peer;
	char number[16];

	if (pipe(down) != 0 || pipe(up) != 0)
		exit(1);
	snprintf(number, sizeof(number), "%d", device);
	peer.pid = fork();
	if (peer.pid == 0) {
		dup2(down[0], 0);
		dup2(up[1], 1);
		close(down[0]);
		close(down[1]);
		close(up[0]);
		close(up[1]);
		execl(self, "ipc_rate", part, number, (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	peer.to = down[1];
	peer.from = up[0];
	return peer;
}

static void end_peer(struct peer *peer, int signal)
{
	if (signal != 0)
		kill(peer->pid, signal);
	close(peer->to);
	close(peer->from);
	waitpid(peer->pid, NULL, 0);
}

static int exchange(const struct peer *peer, const struct message *message, struct reply *reply)
{
	return write(peer->to, message, sizeof(*message)) == (ssize_t)sizeof(*message) &&
	       read_all(peer->from, reply, sizeof(*reply));
}

/* Returns what went wrong. */
static int rate(int handles, int device)
{
	struct peer peer = start_peer("--import", device);
	double began = 0;
	int wrong = 0;

	for (int i = -1; i < handles; i++) { /* the first one waits for the peer's start */
		struct message message;
		struct reply reply;
		void *block = share(i + 1, &message);

		if (i == handles - 1)
			message.opens = OPENS;
		if (i == handles - 1)
			printf("handles_per_minute %.0f\n", 60e9 * i / (now_ns() - began));
		if (!exchange(&peer, &message, &reply)) {
			fprintf(stderr, "ipc_rate: the importer ended\n");
			exit(1);
		}
		if (i == -1)
			began = now_ns();
		if (reply.code != 0)
			fprintf(stderr, "ipc_rate: handle %d cannot be opened: error %d\n", i,
				reply.code);
		wrong += reply.code != 0 || reply.wrong;
		if (message.opens != 0)
			printf("cached_open_ns %.0f\ncached_close_ns %.0f\n", reply.open_ns / OPENS,
			       reply.close_ns / OPENS);
		CHECK(cudaFree(block));
	}
	end_peer(&peer, 0);
	return wrong;
}

/* Opens each block that an exporter shares until it is killed, and those still in the pipe. */
static int kill_exporter(int device, int ms)
{
	struct peer peer = start_peer("--export", device);
	int opened = 0, refused = 0, wrong = 0, killed = 0;
	struct message message;
	double until = 0;

	while (read_all(peer.from, &message, sizeof(message))) {
		struct reply reply;

		if (until == 0)
			until = now_ns() + ms * 1e6;
		if (!killed && now_ns() > until) {
			kill(peer.pid, SIGKILL);
			killed = 1;
		}
		reply = open_one(&message);
		opened += reply.code == 0;
		refused += reply.code != 0;
		wrong += reply.wrong;
		if (write(peer.to, "", 1) != 1 && !killed)
			wrong++;
	}
	end_peer(&peer, killed ? 0 : SIGKILL);
	fprintf(stderr, "exporter killed after %d ms: %d opened, %d refused\n", ms, opened,
		refused);
	return wrong + (opened == 0);
}

static int kill_importer(int device, int ms)
{
	struct peer peer = start_peer("--import", device);
	struct message message;
	struct reply reply;
	double until = 0;
	int shared = 0, alive = 1;

	while (alive) {
		void *block = share(shared, &message);

		if (write(peer.to, &message, sizeof(message)) != (ssize_t)sizeof(message))
			alive = 0;
		if (alive && until != 0 && now_ns() > until) {
			kill(peer.pid, SIGKILL);
			alive = 0;
		} else if (alive && !read_all(peer.from, &reply, sizeof(reply))) {
			alive = 0;
		}
		if (until == 0)
			until = now_ns() + ms * 1e6;
		CHECK(cudaFree(block));
		shared++;
	}
	end_peer(&peer, SIGKILL);
	fprintf(stderr, "importer killed after %d ms: %d shared\n", ms, shared);
	return shared < 2;
}

static int files(void)
{
	DIR *folder = opendir("/dev/shm");
	int count = 0;

	while (folder != NULL && readdir(folder) != NULL)
		count++;
	if (folder != NULL)
		closedir(folder);
	return count;
}

/* Free memory once the processes that were killed have left the driver. */
static long free_memory(int device, long wanted)
{
	size_t free_bytes = 0, total;

	for (int i = 0; i < 50; i++) {
		CHECK(cudaSetDevice(device));
		CHECK(cudaMemGetInfo(&free_bytes, &total));
		if ((long)free_bytes >= wanted - REMAINS)
			break;
		usleep(100000);
	}
	return (long)free_bytes;
}

static int kills(int count, int exporter, int importer)
{
	int wrong = 0, before_files, after_files;
	long before, after;

	/* The first ones leave what the driver and mam keep in this process. */
	wrong += kill_exporter(importer, 20);
	CHECK(cudaSetDevice(exporter));
	wrong += kill_importer(importer, 20);
	before = free_memory(exporter, 0);
	before_files = files();
	for (int i = 0; i < count; i++) {
		wrong += kill_exporter(importer, 7 + 13 * i);
		CHECK(cudaSetDevice(exporter));
		wrong += kill_importer(importer, 5 + 17 * i);
	}
	after = free_memory(exporter, before);
	after_files = files();
	printf("kills %d\nleaked_bytes %ld\nleft_files %d\n", 2 * count,
	       before > after ? before - after : 0,
	       after_files > before_files ? after_files - before_files : 0);
	return wrong + (before > after + REMAINS) + (after_files > before_files);
}

static int number(int count, char **arguments, int which, int otherwise)
{
	return count > which ? atoi(arguments[which]) : otherwise;
}

int main(int count, char **arguments)
{
	int exporter = number(count, arguments, 3, 0), importer = number(count, arguments, 4, 0),
	    wrong;

	signal(SIGPIPE, SIG_IGN);
	if (count == 3 && strcmp(arguments[1], "--import") == 0)
		return import_blocks(atoi(arguments[2]));
	if (count == 3 && strcmp(arguments[1], "--export") == 0)
		return export_blocks(atoi(arguments[2]));
	start(exporter);
	wrong = rate(number(count, arguments, 1, 2000), importer);
	wrong += kills(number(count, arguments, 2, 3), exporter, importer);
	printf("wrong %d\n", wrong);
	return wrong != 0;
}
