/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_life.c - scenes about when and from where a program calls CUDA: before main, in signal
 * handlers, around vfork and exec, with libraries that are loaded and closed, and during exit.
 */
#define _GNU_SOURCE /* vfork */
#include "probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake/driver_api.h"

#define MIB ((size_t)1 << 20)
#define EARLY_FORKS 400
#define CONTEXTS 2000

static unsigned long long early, a;

static void start(void)
{
	struct CUctx_st *context;

	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, probe_device()));
	SHOW(cuCtxSetCurrent(context));
}

/* Only in the scene that tests it: constructors get no arguments, so they read the environment. */
__attribute__((constructor)) static void before(void)
{
	if (getenv("PROBE_EARLY") == NULL)
		return;
	start();
	SHOW(cuMemAlloc_v2(&early, MIB));
}

static void before_main(void)
{
	SHOW(cuMemAlloc_v2(&a, MIB));
	printf("apart %d\n", a != early);
	SHOW(cuMemFree_v2(early));
	SHOW(cuMemFree_v2(a));
}

static void on_signal(int number)
{
	(void)number;
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

static void signals(void)
{
	start();
	SHOW(cuMemAlloc_v2(&early, MIB));
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	SHOW(cuMemFree_v2(early));
}

/* Children that only exec another program leave the parent's memory unchanged. */
static void vforks(void)
{
	int status;
	pid_t child;

	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	fflush(stdout);
	child = vfork();
	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	printf("child ended %d\n", status);
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

/* Before cuInit(), the driver returns an error. */
static void *call_early(void *unused)
{
	cuMemFree_v2(0);
	return unused;
}

/* A process forks about `us` after a thread began its first call. Its child makes one, too. */
static int fork_after(long us)
{
	struct timespec from, now;
	pthread_t thread;
	int status = 1;
	pid_t child;

	if (pthread_create(&thread, NULL, call_early, NULL) != 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
	child = fork();
	if (child == 0) {
		alarm(20); /* a lock that nobody releases */
		call_early(NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	pthread_join(thread, NULL);
	return status != 0;
}

static void forks_early(void)
{
	int good = 0, status;

	for (int i = 0; i < EARLY_FORKS; i++) {
		pid_t process = fork();

		if (process == 0)
			_exit(fork_after(i % 100 * 5));
		waitpid(process, &status, 0);
		good += status == 0;
	}
	printf("%d of %d children ended\n", good, EARLY_FORKS);
}

static void *call_first(void *unused)
{
	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	fflush(stdout);
	return unused;
}

static void call_before_fork(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, call_first, NULL) == 0)
		pthread_join(thread, NULL);
}

/* Another thread makes the process's first call after a fork has begun. */
static void forks_meanwhile(void)
{
	int status = 1;
	pid_t child;

	pthread_atfork(call_before_fork, NULL, NULL);
	child = fork();
	if (child == 0) {
		SHOW(cuMemFree_v2(a));
		SHOW(cuMemAlloc_v2(&a, MIB));
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child ended %d\n", status);
}

static atomic_bool contexts_end;

static void *use_contexts(void *unused)
{
	unsigned long long block, freed;
	struct CUctx_st *context;
	int bad = 0;

	(void)unused;
	for (int i = 0; i < CONTEXTS; i++) {
		bad += cuCtxCreate_v2(&context, 0, probe_device()) != CUDA_SUCCESS;
		bad += cuMemAlloc_v2(&block, MIB) != CUDA_SUCCESS;
		bad += cuMemAlloc_v2(&freed, MIB) != CUDA_SUCCESS;
		bad += cuMemFree_v2(freed) != CUDA_SUCCESS;
		bad += cuCtxDestroy_v2(context) != CUDA_SUCCESS;
	}
	atomic_store(&contexts_end, 1);
	printf("%d calls failed\n", bad);
	return NULL;
}

/*
 * A thread creates contexts and destroys them with their memory, while this one may get memory at the
 * same addresses, which does not belong to a pool, and asks all pools for memory that they do not need.
 */
static void contexts_beside(void)
{
	unsigned long long block, base;
	size_t bytes, wrong = 0;
	pthread_t thread;

	start();
	SHOW(pthread_create(&thread, NULL, use_contexts, NULL));
	while (!atomic_load(&contexts_end)) {
		wrong += cuMemAllocAsync(&block, 3 * MIB, NULL) != CUDA_SUCCESS;
		wrong += cuMemGetAddressRange_v2(&base, &bytes, block) != CUDA_SUCCESS;
		wrong += base != block || bytes != 3 * MIB;
		wrong += cuMemFreeAsync(block, NULL) != CUDA_SUCCESS;
		wrong += cuMemAlloc_v2(&block, 2048 * MIB) != CUDA_ERROR_OUT_OF_MEMORY;
	}
	SHOW(pthread_join(thread, NULL));
	printf("%zu wrong\n", wrong);
}

/* A library that loads CUDA itself is closed and opened again. */
static void closes(void)
{
	start();
	for (int round = 0; round < 3; round++) {
		void *library = dlopen("libcuda.so.1", RTLD_NOW);
		int (*alloc)(unsigned long long *block, size_t bytes) = NULL;
		int (*release)(unsigned long long block) = NULL;

		*(void **)&alloc = library == NULL ? NULL : dlsym(library, "cuMemAlloc_v2");
		*(void **)&release = library == NULL ? NULL : dlsym(library, "cuMemFree_v2");
		if (alloc == NULL || release == NULL) {
			puts("not found");
			return;
		}
		SHOW(alloc(&a, MIB));
		printf("closed %d\n", dlclose(library));
		SHOW(release(a));
	}
}

static void at_end(void)
{
	SHOW(cuMemFree_v2(a));
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemFree_v2(a));
}

static void ends(void)
{
	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	atexit(at_end);
}

static void *leave(void *unused)
{
	(void)unused;
	exit(3);
}

/* A thread ends the program while another thread owns blocks. */
static void ends_in_thread(void)
{
	pthread_t thread;

	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	pthread_create(&thread, NULL, leave, NULL);
	pthread_join(thread, NULL);
}

/* --- ways to exit that run no destructor --- */

static void two_blocks(void)
{
	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	SHOW(cuMemAlloc_v2(&early, MIB));
	SHOW(cuMemFree_v2(early));
}

static void leaves(void)
{
	two_blocks();
	_exit(3);
}

static void leaves_by_c(void)
{
	two_blocks();
	_Exit(4);
}

static void say_so(void)
{
	SHOW(cuMemFree_v2(a));
}

static void leaves_quickly(void)
{
	two_blocks();
	at_quick_exit(say_so);
	quick_exit(5);
}

/* A handle of a block that another process may open. */
static void leaves_shared(void)
{
	struct cu_ipc_handle handle;

	two_blocks();
	SHOW(cuIpcGetMemHandle(&handle, a));
	_exit(3);
}

static void leave_in_handler(int number)
{
	(void)number;
	_exit(6);
}

static void leaves_in_handler(void)
{
	two_blocks();
	signal(SIGUSR1, leave_in_handler);
	raise(SIGUSR1);
}

static void leaves_on_other_stack(void)
{
	struct sigaction action = { .sa_handler = leave_in_handler, .sa_flags = SA_ONSTACK };
	const stack_t stack = { .ss_sp = malloc(MIB), .ss_size = MIB };

	two_blocks();
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

/* The handler interrupts a free that waits about a second for work. */
static void leaves_inside(void)
{
	const struct itimerval soon = { .it_value = { 0, 100000 } };

	two_blocks();
	signal(SIGALRM, leave_in_handler);
	SHOW(cuMemsetD8Async(a, 1, MIB, NULL));
	setitimer(ITIMER_REAL, &soon, NULL);
	SHOW(cuMemFree_v2(a));
}

/* A child that shares its parent's memory exits, and the parent continues. */
static void vfork_leaves(void)
{
	int status;
	pid_t child;

	two_blocks();
	child = vfork();
	if (child == 0) {
		execl("/nowhere/at/all", "all", (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	printf("child ended %d\n", WEXITSTATUS(status));
	SHOW(cuMemFree_v2(a));
}

/* Children that use CUDA themselves, like worker processes. */
static void fork_leaves(void)
{
	size_t free_bytes, total_bytes;
	int status;
	pid_t child;

	/* The parent has called CUDA, but has not created a context. */
	SHOW(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	child = fork();

	if (child == 0)
		leaves();
	waitpid(child, &status, 0);
	printf("child ended %d\n", WEXITSTATUS(status));
	two_blocks();
	child = fork();
	if (child == 0)
		_exit(9);
	waitpid(child, &status, 0);
	printf("child ended %d\n", WEXITSTATUS(status));
}

/* clang-format off */
static const struct probe_scene scenes[] = {
	{ "before-main", before_main }, { "signals", signals }, { "vforks", vforks },
	{ "closes", closes },		{ "ends", ends },	{ "ends-in-thread", ends_in_thread },
	{ "leaves", leaves },
	{ "leaves-by-c", leaves_by_c },
	{ "leaves-quickly", leaves_quickly },
	{ "leaves-shared", leaves_shared },
	{ "leaves-in-handler", leaves_in_handler },
	{ "leaves-on-other-stack", leaves_on_other_stack },
	{ "leaves-inside", leaves_inside },
	{ "vfork-leaves", vfork_leaves },
	{ "fork-leaves", fork_leaves },
	{ "forks-early", forks_early },
	{ "forks-meanwhile", forks_meanwhile },
	{ "contexts-beside", contexts_beside },
};
/* clang-format on */

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
