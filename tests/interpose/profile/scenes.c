/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.c - allocations whose function and line profile.sh knows: a line with a name in a comment
 * allocates in the function of that name.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaMallocAsync(void **address, size_t bytes, void *stream);

#define THREADS 4
#define ROUNDS 1000
#define PLUGINS 90
#define CALL __attribute__((noinline))

static void check(int error)
{
	if (error != 0)
		exit(3);
}

/* Not a tail call: the function stays on the stack. */
#define KEEP(block) __asm__ volatile("" : : "r"(block) : "memory")

CALL static void weights(void)
{
	void *block;

	check(cudaMalloc(&block, 4096)); /* weights */
	KEEP(block);
}

CALL static void scratch(void)
{
	void *block;

	check(cudaMalloc(&block, 512)); /* scratch */
	check(cudaFree(block));
}

CALL static void ordered(void)
{
	void *block;

	check(cudaMallocAsync(&block, 96, NULL)); /* ordered */
	KEEP(block);
}

static void lines(void)
{
	for (volatile int i = 0; i < 5; i++)
		weights();
	for (volatile int i = 0; i < 300; i++)
		scratch();
	ordered();
}

CALL static void even(void)
{
	void *block;

	check(cudaMalloc(&block, 1000)); /* even */
	check(cudaFree(block));
}

CALL static void odd(void)
{
	void *block;

	check(cudaMalloc(&block, 2000)); /* odd */
	check(cudaFree(block));
}

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2 == 0)
			even();
		else
			odd();
	}
	return unused;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&thread[i], NULL, work, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

CALL static void deep(volatile int depth)
{
	if (depth == 0)
		weights();
	else
		deep(depth - 1);
	KEEP(&depth);
}

static void recursion(void)
{
	deep(3000);
}

/* Loads $APP/plugin-a.so, plugin-b.so and plugin-d.so in turn, usually at the same addresses. */
CALL static void plug(const char *name)
{
	char path[4096];
	void (*allocate)(void);
	void *library, *found;

	snprintf(path, sizeof(path), "%s/plugin-%s.so", getenv("APP"), name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	found = library == NULL ? NULL : dlsym(library, "allocate");
	check(found == NULL);
	memcpy(&allocate, &found, sizeof(found));
	printf("%p\n", found);
	allocate();
	check(dlclose(library));
}

static void plugins(void)
{
	for (int i = 0; i < PLUGINS; i++)
		plug(i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "d");
}

/* Unloads an interpreter, after which other code does not find it. */
static void interpreter(void)
{
	for (int i = 0; i < 3; i++) {
		plug("p");
		weights();
	}
}

/* Refers to nothing by its address, so that a copy of it works. */
CALL static int through(int (*call)(void **, size_t), void **block, size_t bytes)
{
	int error = call(block, bytes);

	KEEP(block);
	return error;
}

/* Allocates from code that belongs to no file, and writes its name as a JIT compiler does. */
static void jit(void)
{
	const size_t bytes = 256;
	void *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*copy)(int (*)(void **, size_t), void **, size_t) = through;
	void *from, *block;
	char path[64];
	FILE *map;

	check(code == MAP_FAILED);
	memcpy(&from, &copy, sizeof(from));
	memcpy(code, from, bytes);
	__builtin___clear_cache((char *)code, (char *)code + bytes);
	memcpy(&copy, &code, sizeof(copy));
	for (size_t i = 0; i < 3; i++)
		check(copy(cudaMalloc, &block, 4096));
	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", (long)getpid());
	map = fopen(path, "wx");
	check(map == NULL);
	fprintf(map, "%lx %zx jit_function\n", (unsigned long)(uintptr_t)code, bytes);
	check(fclose(map));
	puts(path);
}

static void family(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		scratch();
		exit(0);
	}
	waitpid(child, &status, 0);
	check(status);
	weights();
}

/* A child of a fork during allocations of other threads. CUDA does not work in it. */
static void *fork_often(void *unused)
{
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		int status = 1;

		if (child == 0) {
			void *block;

			cudaMalloc(&block, 64);
			_exit(0);
		}
		waitpid(child, &status, 0);
		check(status);
	}
	return unused;
}

static void forks(void)
{
	pthread_t thread;

	check(cudaFree(NULL)); /* a child of a process that is loading the driver cannot call it */
	check(pthread_create(&thread, NULL, fork_often, NULL));
	threads();
	pthread_join(thread, NULL);
}

static void killed(void)
{
	lines();
	kill(getpid(), SIGKILL);
}

/* While a thread loads a library whose constructor allocates, others allocate for the first time. */
static void *load(void *unused)
{
	plug("c");
	return unused;
}

static void constructor(void)
{
	pthread_t thread;

	check(cudaFree(NULL)); /* CUDA and mam are ready, and nothing is recorded */
	check(pthread_create(&thread, NULL, load, NULL));
	usleep(20000); /* it is in the constructor by now */
	threads();
	pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*play)(void);
	} scenes[] = {
		{ "lines", lines },
		{ "threads", threads },
		{ "recursion", recursion },
		{ "plugins", plugins },
		{ "family", family },
		{ "forks", forks },
		{ "killed", killed },
		{ "constructor", constructor },
		{ "interpreter", interpreter },
		{ "jit", jit },
	};

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && count == 2; i++) {
		if (strcmp(arguments[1], scenes[i].name) == 0) {
			scenes[i].play();
			return 0;
		}
	}
	return 2;
}
