/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_watched.c - scenes for the observers (statistics, leaks, trace): each scene's comment gives
 * the expected report. Linked so that the dynamic linker knows the names of its functions.
 */
#include "probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/runtime_api.h"

#define MIB ((size_t)1 << 20)
#define THREADS 4
#define ROUNDS 5000

static void *get(size_t bytes)
{
	void *block = NULL;

	if (cudaMalloc(&block, bytes) != cudaSuccess)
		exit(3);
	return block;
}

static void put(void *block)
{
	if (cudaFree(block) != cudaSuccess)
		exit(4);
}

/* Not inlined and not tail calls: their names must be on the stack. */
#define NAMED __attribute__((noinline, visibility("default")))
NAMED void probe_lose_large(void);
NAMED void probe_lose_small(void);

void probe_lose_large(void)
{
	void *block = get(2 * MIB);

	__asm__ volatile("" : : "r"(block) : "memory");
}

void probe_lose_small(void)
{
	void *block = get(300);

	__asm__ volatile("" : : "r"(block) : "memory");
}

/* Five blocks of two call sites are leaked, 4195204 bytes; a hundred blocks are freed. */
static void leak(void)
{
	for (int i = 0; i < 100; i++)
		put(get(1000));
	for (volatile int i = 0; i < 3; i++) /* one call site: not unrolled */
		probe_lose_small();
	for (volatile int i = 0; i < 2; i++)
		probe_lose_large();
	puts("lost");
}

static void tidy(void)
{
	for (int i = 0; i < 100; i++)
		put(get(1000));
	puts("tidy");
}

/*
 * Blocks freed by a reset are not leaks. A block allocated afterwards is: one block of 300 bytes.
 * Of the blocks before the reset, the address of the last is not reused.
 */
static void reset(void)
{
	for (int i = 0; i < 3; i++)
		probe_lose_large();
	SHOW(cudaDeviceReset());
	probe_lose_small();
	tidy();
}

/* Each thread's blocks overlap with those of the others; none is leaked. */
static void *work(void *unused)
{
	void *held[8] = { NULL };

	for (int i = 0; i < ROUNDS; i++) {
		void **slot = &held[i % 8];

		if (*slot != NULL)
			put(*slot);
		*slot = get((size_t)(i % 100) * 100 + 1);
	}
	for (int i = 0; i < 8; i++)
		put(held[i]);
	return unused;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, NULL) != 0)
			exit(5);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	puts("joined");
}

/* Forty thousand events, and an end at which nothing can be reported. */
static void work_and_keep(void)
{
	void *last[16];

	work(NULL);
	for (int i = 0; i < 3; i++)
		work(NULL);
	for (int i = 0; i < 16; i++)
		last[i] = get((size_t)i + 1);
	__asm__ volatile("" : : "r"(last) : "memory");
	puts("killing");
}

static void end_by(int number)
{
	const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	work_and_keep();
	signal(number, SIG_DFL); /* shells let background commands ignore SIGINT */
	kill(getpid(), number);
}

static void killed(void)
{
	end_by(SIGKILL);
}

static void crashed(void)
{
	end_by(SIGSEGV);
}

static void interrupted(void)
{
	end_by(SIGINT);
}

static void leaves_unseen(void)
{
	work_and_keep();
	syscall(SYS_exit_group, 3);
}

/* From here on no file may grow beyond the limit. CUDA is initialized and needs no file. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	SHOW(cudaFree(NULL));
	SHOW(setrlimit(RLIMIT_FSIZE, &limit));
	threads();
}

static void limited(void)
{
	limit_files(1000000);
}

static void no_files(void)
{
	limit_files(0);
}

/* A child of a process that has not used CUDA uses it, and so does the process afterwards. */
static void family(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		void *block = get(1000);

		probe_lose_small();
		put(block);
		exit(0);
	}
	waitpid(child, &status, 0);
	SHOW(status);
	probe_lose_large();
}

/* mam sees a lookup of CUDA, and nothing else. */
static void woken(void)
{
	if (dlsym(dlopen(NULL, RTLD_LAZY), "cudaMalloc") == NULL)
		exit(6);
}

/* family(), after mam has seen a lookup of CUDA. */
static void woken_family(void)
{
	woken();
	family();
}

/* The process used CUDA before the fork: the driver rejects the child's frees. */
static void late_child(void)
{
	void *block = get(5000);
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		cudaFree(block);
		exit(0);
	}
	waitpid(child, &status, 0);
	SHOW(status);
	put(block);
}

/* One block, then a word into the pipe READY; another block after a word from GO. */
static void held(void)
{
	const char *ready = getenv("READY"), *go = getenv("GO");
	char word[8];
	FILE *pipe;

	put(get(1000));
	pipe = ready == NULL ? NULL : fopen(ready, "w");
	if (pipe == NULL || fputs("ready\n", pipe) < 0 || fclose(pipe) != 0)
		exit(6);
	pipe = go == NULL ? NULL : fopen(go, "r");
	if (pipe == NULL || fgets(word, sizeof(word), pipe) == NULL)
		exit(7);
	fclose(pipe);
	put(get(1000));
	puts("held");
}

/* One process, two programs: work, and then an exec of this program. */
static void again(void)
{
	tidy();
	execl("/proc/self/exe", "again", "leak", (char *)NULL);
}

__attribute__((visibility("default"))) int main(int count, char **arguments)
{
	static const struct probe_scene scenes[] = {
		{ "leak", leak },
		{ "tidy", tidy },
		{ "reset", reset },
		{ "limited", limited },
		{ "no-files", no_files },
		{ "threads", threads },
		{ "killed", killed },
		{ "crashed", crashed },
		{ "interrupted", interrupted },
		{ "leaves-unseen", leaves_unseen },
		{ "family", family },
		{ "woken", woken },
		{ "woken-family", woken_family },
		{ "late-child", late_child },
		{ "held", held },
		{ "again", again },
	};

	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
