/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_life.c - scenes about when and from where a program calls CUDA: before main, in signal
 * handlers, around vfork and exec, with libraries that come and go, while it ends.
 */
#define _GNU_SOURCE /* vfork */
#include "probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fake/driver_api.h"

#define MIB ((size_t)1 << 20)

static unsigned long long early, a;

static void start(void)
{
	struct CUctx_st *context;

	SHOW(cuInit(0));
	SHOW(cuDevicePrimaryCtxRetain(&context, 0));
	SHOW(cuCtxSetCurrent(context));
}

/* Only in the scene that looks at it: constructors know no arguments but the environment. */
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

/* Children that only become another program leave the parent's memory as it was. */
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

/* A library that loads CUDA by itself, is closed, and opened again. */
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

/* The program ends in a thread while another one holds blocks. */
static void ends_in_thread(void)
{
	pthread_t thread;

	start();
	SHOW(cuMemAlloc_v2(&a, MIB));
	pthread_create(&thread, NULL, leave, NULL);
	pthread_join(thread, NULL);
}

static const struct probe_scene scenes[] = {
	{ "before-main", before_main }, { "signals", signals }, { "vforks", vforks },
	{ "closes", closes },		{ "ends", ends },	{ "ends-in-thread", ends_in_thread },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
