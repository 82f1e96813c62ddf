/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_share.c - blocks that two processes share by IPC: the peer has files or networks of its own,
 * one of the two is killed at each call of the driver, or there are many handles.
 *
 * The program starts itself as the other process, before either of them uses CUDA.
 */
#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define BLOCKS 3
#define UNABLE 77 /* exit status: the system does not let this process have that */

static const size_t sizes[BLOCKS] = { 1000, 3 * MIB, 20 * MIB };

struct other {
	pid_t process;
	int to, from; /* pipes */
};

static void check(int wrong, const char *what)
{
	if (wrong == 0)
		return;
	printf("failed: %s\n", what);
	exit(1);
}

static void start(void)
{
	struct CUctx_st *context;

	check(cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
		      cuCtxSetCurrent(context) != 0,
	      "start");
}

/* Starts this program as `role`; it reads and writes descriptors 0 and 3. */
static struct other start_other(const char *role)
{
	int down[2], up[2];
	struct other other;

	fflush(stdout);
	check(pipe(down) != 0 || pipe(up) != 0, "pipe");
	other = (struct other){ fork(), down[1], up[0] };
	if (other.process == 0) {
		dup2(down[0], 0);
		dup2(up[1], 3);
		for (int i = 4; i < 64; i++)
			close(i);
		execl("/proc/self/exe", "probe_share", role, (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	return other;
}

/* Returns the exit status; that of a shell if a signal ended it. */
static int end_other(const struct other *other)
{
	int status = -1;

	close(other->to);
	close(other->from);
	waitpid(other->process, &status, 0);
	fprintf(stderr, "process %d\n", (int)other->process);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The call may end early if the other process is killed. */
static int is_whole(ssize_t length, size_t bytes)
{
	return length == (ssize_t)bytes;
}

static int byte_of(unsigned long long block, size_t bytes, unsigned char expected)
{
	unsigned char first = 0, last = 0;

	return cuMemcpyDtoH_v2(&first, block, 1) == 0 &&
	       cuMemcpyDtoH_v2(&last, block + bytes - 1, 1) == 0 && first == expected &&
	       last == expected;
}

static void make(int number, unsigned long long *block, struct cu_ipc_handle *handle)
{
	check(cuMemAlloc_v2(block, sizes[number]), "cuMemAlloc");
	check(cuMemsetD8_v2(*block, (unsigned char)(number + 1), sizes[number]), "cuMemsetD8");
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	check(cuIpcGetMemHandle(handle, *block), "cuIpcGetMemHandle");
}

/* --- the other process --- */

static int export_and_free(void)
{
	unsigned long long blocks[BLOCKS];
	struct cu_ipc_handle handle;
	char go;

	start();
	for (int i = 0; i < BLOCKS; i++) {
		make(i, &blocks[i], &handle);
		check(!is_whole(write(3, &handle, sizeof(handle)), sizeof(handle)), "write");
	}
	while (read(0, &go, 1) > 0)
		;
	for (int i = 0; i < BLOCKS; i++)
		check(cuMemFree_v2(blocks[i]), "cuMemFree");
	return 0;
}

static int import(void)
{
	struct cu_ipc_handle handle;
	unsigned long long block;
	int code, right;

	start();
	for (int i = 0; is_whole(read(0, &handle, sizeof(handle)), sizeof(handle)); i++) {
		code = cuIpcOpenMemHandle_v2(&block, handle, IPC_LAZY_PEER_ACCESS);
		right = code == 0 && byte_of(block, sizes[i], (unsigned char)(i + 1));
		if (code == 0)
			check(cuIpcCloseMemHandle(block), "cuIpcCloseMemHandle");
		code = code != 0 ? code : right ? 0 : -1;
		check(!is_whole(write(3, &code, sizeof(code)), sizeof(code)), "write");
	}
	return 0;
}

static int import_elsewhere(int flags)
{
	if (unshare(flags | CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    (flags == 0 && mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0))
		return UNABLE;
	return import();
}

/* --- scenes --- */

static void play_with(const char *role)
{
	struct other other = start_other(role);
	unsigned long long block;
	struct cu_ipc_handle handle;
	int code, status;

	signal(SIGPIPE, SIG_IGN);
	start();
	for (int i = 0; i < BLOCKS; i++) {
		make(i, &block, &handle);
		if (!is_whole(write(other.to, &handle, sizeof(handle)), sizeof(handle)) ||
		    !is_whole(read(other.from, &code, sizeof(code)), sizeof(code)))
			break;
		printf("block %d: %d\n", i, code);
	}
	status = end_other(&other);
	if (status == UNABLE)
		exit(UNABLE);
	printf("peer ended %d\n", status);
}

static void own_shm(void)
{
	play_with("import-shm");
}

static void own_network(void)
{
	play_with("import-network");
}

static int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

static void say_held(int files)
{
	struct fake_held held;

	fake_holds(&held);
	printf("mappings %d, files %d\n", held.mappings, open_files() - files);
}

/* The n-th run of the other process is killed at its n-th call of the driver; the last one ends. */
static void let_be_killed(int n)
{
	char rule[32];

	snprintf(rule, sizeof(rule), "*:%d:kill", n);
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
}

/* Returns the status of the peer, which opens the blocks. */
static int serve(struct cu_ipc_handle *handles, int *wrong)
{
	struct other other = start_other("import");
	int code;

	for (int i = 0; i < BLOCKS; i++)
		if (is_whole(write(other.to, &handles[i], sizeof(*handles)), sizeof(*handles)) &&
		    is_whole(read(other.from, &code, sizeof(code)), sizeof(code)))
			*wrong += code != 0;
	return end_other(&other);
}

static void killed_importer(void)
{
	struct cu_ipc_handle handles[BLOCKS];
	unsigned long long blocks[BLOCKS];
	int wrong = 0, status, n = 0, files;

	signal(SIGPIPE, SIG_IGN);
	start();
	for (int i = 0; i < BLOCKS; i++)
		make(i, &blocks[i], &handles[i]);
	files = open_files();
	do {
		let_be_killed(++n);
		status = serve(handles, &wrong);
	} while (status == 128 + SIGKILL);
	printf("killed at many calls %d, then ended %d, wrong %d\n", n > 20, status, wrong);
	for (int i = 0; i < BLOCKS; i++) {
		printf("unchanged %d\n", byte_of(blocks[i], sizes[i], (unsigned char)(i + 1)));
		SHOW(cuMemFree_v2(blocks[i]));
		make(i, &blocks[i], &handles[i]);
	}
	printf("another peer ended %d, wrong %d\n", serve(handles, &wrong), wrong);
	printf("files %d\n", open_files() - files);
}

/* Returns the owner's status. Opens what it shares before and after its end. */
static int use(int *opened, int *wrong)
{
	struct other other = start_other("export");
	struct cu_ipc_handle handles[BLOCKS];
	unsigned long long block[BLOCKS] = { 0 }, again;
	int count = 0, code, status;

	while (count < BLOCKS &&
	       is_whole(read(other.from, &handles[count], sizeof(*handles)), sizeof(*handles))) {
		code = cuIpcOpenMemHandle_v2(&block[count], handles[count], IPC_LAZY_PEER_ACCESS);
		if (code != 0)
			block[count] = 0;
		*opened += code == 0;
		*wrong += (code != 0 && code != 1) ||
			  (code == 0 &&
			   !byte_of(block[count], sizes[count], (unsigned char)(count + 1)));
		count++;
	}
	for (int i = 0; i < count; i++)
		if (block[i] != 0)
			*wrong += cuIpcCloseMemHandle(block[i]) != 0;
	status = end_other(&other);
	for (int i = 0; i < count; i++)
		*wrong += cuIpcOpenMemHandle_v2(&again, handles[i], IPC_LAZY_PEER_ACCESS) != 1;
	return status;
}

static void killed_exporter(void)
{
	int opened = 0, wrong = 0, status, n = 0, files;

	signal(SIGPIPE, SIG_IGN);
	start();
	files = open_files();
	do {
		let_be_killed(++n);
		status = use(&opened, &wrong);
	} while (status == 128 + SIGKILL);
	printf("killed at many calls %d, then ended %d, opened some %d, wrong %d\n", n > 20, status,
	       opened > 20, wrong);
	say_held(files);
}

#define MANY 10000

static unsigned long long many_blocks[MANY];
static struct cu_ipc_handle many_handles[MANY];

static int import_many(void)
{
	size_t length = 0;
	int opened = 0, right = 0, closed = 0, files;
	ssize_t part;

	start();
	files = open_files();
	while (length < sizeof(many_handles) &&
	       (part = read(0, (char *)many_handles + length, sizeof(many_handles) - length)) > 0)
		length += (size_t)part;
	for (int i = 0; i < MANY; i++) {
		opened += cuIpcOpenMemHandle_v2(&many_blocks[i], many_handles[i],
						IPC_LAZY_PEER_ACCESS) == 0;
		right += byte_of(many_blocks[i], 1024, (unsigned char)i);
	}
	for (int i = 0; i < MANY; i++)
		closed += cuIpcCloseMemHandle(many_blocks[i]) == 0;
	printf("opened %d, right %d, closed %d\n", opened, right, closed);
	say_held(files);
	return 0;
}

static void many(void)
{
	struct other other = start_other("import-many");
	size_t length = 0;
	int failed = 0;

	start();
	for (int i = 0; i < MANY; i++)
		failed += cuMemAlloc_v2(&many_blocks[i], 1024) != 0 ||
			  cuMemsetD8_v2(many_blocks[i], (unsigned char)i, 1024) != 0 ||
			  cuIpcGetMemHandle(&many_handles[i], many_blocks[i]) != 0;
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	while (length < sizeof(many_handles)) {
		ssize_t part = write(other.to, (char *)many_handles + length,
				     sizeof(many_handles) - length);

		check(part <= 0, "write");
		length += (size_t)part;
	}
	printf("peer ended %d\n", end_other(&other));
	for (int i = 0; i < MANY; i++)
		failed += cuMemFree_v2(many_blocks[i]) != 0;
	printf("failed %d\n", failed);
}

static const struct probe_scene scenes[] = {
	{ "own-shm", own_shm },
	{ "own-network", own_network },
	{ "killed-importer", killed_importer },
	{ "killed-exporter", killed_exporter },
	{ "many", many },
};

int main(int count, char **arguments)
{
	const char *role = count > 1 ? arguments[1] : "";

	if (strcmp(role, "export") == 0)
		return export_and_free();
	if (strcmp(role, "import") == 0)
		return import();
	if (strcmp(role, "import-shm") == 0)
		return import_elsewhere(0);
	if (strcmp(role, "import-network") == 0)
		return import_elsewhere(CLONE_NEWNET);
	if (strcmp(role, "import-many") == 0)
		return import_many();
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
