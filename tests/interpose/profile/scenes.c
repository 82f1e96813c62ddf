/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.c - allocations whose function and line profile.sh knows: a line with a name in a comment
 * allocates in the function of that name.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaMallocAsync(void **address, size_t bytes, void *stream);

#define THREADS 4
#define ROUNDS 1000
#define PLUGINS 90
#define CANCELLED 200
#define CALL __attribute__((noinline))
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

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

/* A thread that allocates first with little of the smallest stack left. */
static void *work_low(void *unused)
{
	char filled[3000];

	memset(filled, 1, sizeof(filled));
	KEEP(filled);
	work(unused);
	KEEP(filled);
	return unused;
}

static void small(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	check(cudaFree(NULL));
	pthread_attr_init(&attributes);
	check(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
	for (int i = 0; i < THREADS; i++) {
		check(pthread_create(&thread, &attributes, work_low, NULL));
		pthread_join(thread, NULL);
	}
}

/* A stack after pages that cannot be accessed. */
static char *make_stack(size_t *bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *made;

	*bytes = (*bytes + page - 1) / page * page;
	made = mmap(NULL, *bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(made == MAP_FAILED || mprotect(made + page, *bytes, PROT_READ | PROT_WRITE) != 0);
	return made + page;
}

static ucontext_t inside, outside;

CALL static void resumed(void)
{
	weights();
	swapcontext(&inside, &outside);
	weights();
}

static void coroutine(void)
{
	size_t bytes = 8 << 10;

	check(cudaFree(NULL));
	check(getcontext(&inside));
	inside.uc_stack.ss_sp = make_stack(&bytes);
	inside.uc_stack.ss_size = bytes;
	inside.uc_link = &outside;
	makecontext(&inside, resumed, 0);
	check(swapcontext(&outside, &inside));
	scratch();
	check(swapcontext(&outside, &inside));
}

CALL static void on_signal(int number)
{
	(void)number;
	weights();
}

/* The registers on the stack have several KiB. */
static void handler(void)
{
	size_t bytes = (8 << 10) + getauxval(AT_MINSIGSTKSZ);
	stack_t stack = { .ss_sp = make_stack(&bytes), .ss_size = bytes };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	check(cudaFree(NULL));
	check(sigaltstack(&stack, NULL));
	check(sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
}

static pthread_key_t key;

CALL static void farewell(void *unused)
{
	void *block;

	(void)unused;
	check(cudaMalloc(&block, 700)); /* farewell */
	KEEP(block);
}

static void *churn(void *unused)
{
	check(pthread_setspecific(key, &key));
	for (;;) {
		scratch();
		pthread_testcancel();
	}
	return unused;
}

/* Threads that are cancelled between two calls, and allocate once more. */
static void cancelled(void)
{
	pthread_t thread;

	check(pthread_key_create(&key, farewell));
	for (int i = 0; i < CANCELLED; i++) {
		check(pthread_create(&thread, NULL, churn, NULL));
		usleep(200);
		check(pthread_cancel(thread));
		pthread_join(thread, NULL);
	}
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
		{ "cancelled", cancelled },
		{ "small", small },
		{ "coroutine", coroutine },
		{ "handler", handler },
	};

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && count == 2; i++) {
		if (strcmp(arguments[1], scenes[i].name) == 0) {
			scenes[i].play();
			return 0;
		}
	}
	return 2;
}
