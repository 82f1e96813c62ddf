/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_altstack.c - calls in place and on another stack: threads with little stack, deep recursion,
 * signal handlers, coroutines, nested calls, missing memory, and the child of a fork. Each test runs
 * in a process of its own.
 *
 * The linker replaces mmap() of the code under test by the function below.
 */
#include "interpose/process/altstack.h"

#include <check.h>
#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define ROOM (60 << 10) /* bytes that a call can use */
#define STACKS 16
#define FRAMES 64
#define SMALL (16 << 10)

static bool has_memory = true;
static bool is_in_place, has_caller;
static char memory[1 << 20] __attribute__((aligned(4096)));
static ucontext_t first, second;

void *__real_mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset);

void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset)
{
	errno = ENOMEM;
	return has_memory ? __real_mmap(at, bytes, rights, flags, file, offset) : MAP_FAILED;
}

static void look(void *there)
{
	uintptr_t caller = *(uintptr_t *)there, here = (uintptr_t)__builtin_frame_address(0);

	is_in_place = caller > here && caller - here < 4096;
}

/* Needs more than a small stack, and unwinds to the function that made the call. */
static void use(void *there)
{
	volatile char bytes[ROOM];
	void *frames[FRAMES];
	int count;

	for (size_t i = 0; i < sizeof(bytes); i += 1024)
		bytes[i] = 1;
	look(there);
	count = backtrace(frames, FRAMES);
	has_caller = false;
	for (int i = 0; i < count; i++)
		has_caller = has_caller || (uintptr_t)frames[i] - ((uintptr_t *)there)[1] < 512;
}

static void call(void (*run)(void *argument));

/* The functions that unwinding must reach begin at call(), which is short. */
__attribute__((noinline)) static void call(void (*run)(void *argument))
{
	uintptr_t there[2] = { (uintptr_t)__builtin_frame_address(0) };
	void (*own)(void (*)(void *)) = call;

	memcpy(&there[1], &own, sizeof(own));
	mam_altstack_call(run, there);
	__asm__ volatile("" : : "r"(there) : "memory");
}

static void *call_use(void *unused)
{
	call(use);
	return unused;
}

static void in_thread(size_t bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, bytes);
	ck_assert_int_eq(pthread_create(&thread, &attributes, call_use, NULL), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

START_TEST(threads)
{
	call(use);
	ck_assert(is_in_place && has_caller);
	in_thread(256 << 10);
	ck_assert(is_in_place && has_caller);
	in_thread(SMALL < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : SMALL);
	ck_assert(!is_in_place && has_caller);
	call(use);
	ck_assert(is_in_place);
}
END_TEST

/* Calls itself until `depth` bytes of the stack are in use. */
__attribute__((noinline)) static void go_down(uintptr_t begin, uintptr_t depth)
{
	volatile char bytes[1000];

	bytes[0] = 1;
	if (begin - (uintptr_t)__builtin_frame_address(0) >= depth)
		call(use);
	else
		go_down(begin, depth);
	bytes[1] = bytes[0];
}

static void *recur(void *depth)
{
	go_down((uintptr_t)__builtin_frame_address(0), (uintptr_t)depth);
	return NULL;
}

/* Of a stack of 256 KiB, 50 leave room, 200 do not. */
START_TEST(recursion)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (uintptr_t depth = 50 << 10; depth <= 200 << 10; depth += 150 << 10) {
		ck_assert_int_eq(pthread_create(&thread, &attributes, recur, (void *)depth), 0);
		pthread_join(thread, NULL);
		ck_assert(is_in_place == (depth == 50 << 10));
		ck_assert(has_caller);
	}
}
END_TEST

static void handle(int number)
{
	(void)number;
	call(use);
}

START_TEST(signal_handler)
{
	stack_t stack = { .ss_sp = memory, .ss_size = SMALL };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	raise(SIGUSR1);
	ck_assert(!is_in_place && has_caller);
}
END_TEST

static void coroutine(void)
{
	call(use);
}

START_TEST(coroutines)
{
	getcontext(&second);
	second.uc_stack.ss_sp = memory;
	second.uc_stack.ss_size = SMALL;
	second.uc_link = &first;
	makecontext(&second, coroutine, 0);
	ck_assert_int_eq(swapcontext(&first, &second), 0);
	ck_assert(!is_in_place && has_caller);
}
END_TEST

static int levels;

/* Calls within a call, on a stack of mam, each need another one. */
static void nest(void *there)
{
	look(there);
	if (is_in_place)
		return;
	levels++;
	call(nest);
}

static void coroutine_nest(void)
{
	call(nest);
}

static void in_coroutine(void (*run)(void))
{
	getcontext(&second);
	second.uc_stack.ss_sp = memory;
	second.uc_stack.ss_size = sizeof(memory);
	second.uc_link = &first;
	makecontext(&second, run, 0);
	ck_assert_int_eq(swapcontext(&first, &second), 0);
}

START_TEST(too_many)
{
	in_coroutine(coroutine_nest);
	ck_assert_int_eq(levels, STACKS);
	in_coroutine(coroutine_nest); /* all were returned */
	ck_assert_int_eq(levels, 2 * STACKS);
}
END_TEST

START_TEST(no_memory)
{
	has_memory = false;
	in_coroutine(coroutine);
	ck_assert(is_in_place && has_caller);
	has_memory = true;
	in_coroutine(coroutine);
	ck_assert(!is_in_place);
}
END_TEST

static int child_levels;

/* The innermost call forks: all stacks are claimed, and the child has new ones. */
static void nest_and_fork(void *there)
{
	int status;
	pid_t child;

	look(there);
	if (!is_in_place) {
		levels++;
		call(nest_and_fork);
		return;
	}
	child = fork();
	if (child == 0) {
		mam_altstack_restart();
		child_levels = levels;
		levels = 0;
		call(nest);
		_exit(levels == STACKS && child_levels == STACKS ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}

static void coroutine_fork(void)
{
	call(nest_and_fork);
}

START_TEST(child)
{
	in_coroutine(coroutine_fork);
	ck_assert_int_eq(levels, STACKS);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("altstack");
	Suite *suite = suite_create("altstack");
	SRunner *runner = srunner_create(suite);
	int failed;

#ifdef __SANITIZE_THREAD__ /* its frames are larger, and it must be told of each switch of stacks */
	puts("skip - stacks of mam: ThreadSanitizer does not follow a switch of stacks");
	srunner_free(runner);
	return 77;
#endif
	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, threads);
	tcase_add_test(cases, recursion);
	tcase_add_test(cases, signal_handler);
	tcase_add_test(cases, coroutines);
	tcase_add_test(cases, too_many);
	tcase_add_test(cases, no_memory);
	tcase_add_test(cases, child);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
