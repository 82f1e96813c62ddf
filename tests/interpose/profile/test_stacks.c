/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stacks.c - the numbers of call stacks, and their lines: equal stacks, several threads, lines
 * that are refused, memory that runs out, and the child of a fork.
 *
 * The linker replaces mmap() and mremap() of the code under test by the functions below.
 */
#include "interpose/profile/stacks.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/profile/unwind.h"
#include "interpose/routes/real.h"

#define FRAMES_MAX 100000
#define THREADS 4
#define DEPTHS 40
#define ROUNDS 200

static bool has_libunwind = true;
static bool has_memory = true;
static bool accepts = true;
static atomic_uint maps; /* calls of mmap() and mremap() */

/* What the lines say. lock: the one under which put() is called */
static uint32_t parent_of[FRAMES_MAX];
static bool is_known[FRAMES_MAX], is_module[1000];
static unsigned int wrong, frames;

void *__real_mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset);
void *__real_mremap(void *old, size_t old_bytes, size_t bytes, int flags);
void *__wrap_mremap(void *old, size_t old_bytes, size_t bytes, int flags);

void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset)
{
	maps++;
	errno = ENOMEM;
	return has_memory ? __real_mmap(at, bytes, rights, flags, file, offset) : MAP_FAILED;
}

void *__wrap_mremap(void *old, size_t old_bytes, size_t bytes, int flags)
{
	maps++;
	errno = ENOMEM;
	return has_memory ? __real_mremap(old, old_bytes, bytes, flags) : MAP_FAILED;
}

/* Both unwinders are tested under TSan, too, where mam uses one of them (unwind.c). */
static void *find(void *handle, const char *name)
{
	return has_libunwind && strcmp(name, "__tsan_init") != 0 ? dlsym(handle, name) : NULL;
}

const struct mam_real_linker *mam_real_linker(void)
{
	static const struct mam_real_linker linker = { .dlsym = find };

	return &linker;
}

/* Each number is defined once, after its caller and its module. */
static bool put(const char *line, size_t bytes)
{
	unsigned int number, parent, module, offset;
	char copy[4096], path[4096];

	if (!accepts)
		return false;
	ck_assert_uint_lt(bytes, sizeof(copy));
	memcpy(copy, line, bytes);
	copy[bytes] = '\0';
	wrong += copy[bytes - 1] != '\n' || strchr(copy, '\n') != copy + bytes - 1;
	if (sscanf(copy, "#module %u %s", &number, path) == 2) {
		wrong += number >= 1000 || is_module[number];
		is_module[number % 1000] = true;
		return true;
	}
	if (sscanf(copy, "#frame %u %u native %u 0x%x", &number, &parent, &module, &offset) != 4) {
		wrong++;
		return true;
	}
	wrong += number == 0 || number >= FRAMES_MAX || is_known[number] || module >= 1000 ||
		 !is_module[module] || (parent != 0 && !is_known[parent]);
	is_known[number % FRAMES_MAX] = true;
	parent_of[number % FRAMES_MAX] = parent;
	frames++;
	return true;
}

__attribute__((noinline)) static uint32_t at_depth(volatile unsigned int depth)
{
	uint32_t number = depth == 0 ? mam_stacks_here(put) : at_depth(depth - 1);

	__asm__ volatile("" : : "r"(&number) : "memory"); /* no tail call */
	return number;
}

static unsigned int length_of(uint32_t number)
{
	unsigned int length = 0;

	for (; number != 0; number = parent_of[number])
		length++;
	return length;
}

START_TEST(equal_stacks_have_one_number)
{
	uint32_t first = 0;

	for (volatile unsigned int i = 0; i < 100; i++) {
		uint32_t number = at_depth(3);

		ck_assert_uint_ne(number, 0);
		ck_assert(first == 0 || number == first);
		first = number;
	}
	ck_assert_uint_ne(at_depth(3), first); /* another line called it */
	ck_assert_uint_eq(wrong, 0);
	ck_assert(is_known[first]);
}
END_TEST

/* The innermost frames are kept. A depth within the bound adds one frame per call. */
START_TEST(depth_is_bounded)
{
	uint32_t numbers[3];
	const unsigned int depths[] = { 10, 20, 1000 };

	for (volatile unsigned int i = 0; i < 3; i++)
		numbers[i] = at_depth(depths[i]);
	ck_assert_uint_eq(length_of(numbers[1]), length_of(numbers[0]) + 10);
	ck_assert_uint_le(length_of(numbers[2]), MAM_STACKS_DEPTH);
	ck_assert_uint_gt(length_of(numbers[2]), MAM_STACKS_DEPTH - 8);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* All threads meet the same new stacks at the same time. */
static uint32_t found[THREADS][DEPTHS];
static pthread_barrier_t together;

/* One call site for all rounds. */
__attribute__((noinline)) static void find_all(uint32_t *numbers)
{
	for (volatile unsigned int i = 0; i < DEPTHS; i++)
		numbers[i] = at_depth(i);
}

static void *meet(void *user)
{
	uint32_t *mine = user, again[DEPTHS];

	pthread_barrier_wait(&together);
	for (volatile int round = 0; round < ROUNDS; round++) {
		find_all(again);
		if (round == 0)
			memcpy(mine, again, sizeof(again));
		else if (memcmp(mine, again, sizeof(again)) != 0)
			return user;
	}
	return NULL;
}

START_TEST(threads_agree)
{
	pthread_t threads[THREADS];
	void *failed;

#ifdef __SANITIZE_THREAD__
	has_libunwind = false; /* it locks a mutex after the sanitizer's end of the thread */
#endif
	ck_assert_uint_ne(at_depth(0), 0); /* loads libunwind: see unwinders_agree */
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, meet, found[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
		ck_assert_mem_eq(found[i], found[0], sizeof(found[0]));
	}
	for (int i = 0; i < DEPTHS; i++)
		ck_assert_uint_ne(found[0][i], 0);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* A stack is unknown as long as its lines are refused, and they are not lost. */
START_TEST(refused_lines_are_written_later)
{
	uint32_t numbers[2];

	for (volatile unsigned int i = 0; i < 2; i++) {
		accepts = i == 1;
		numbers[i] = at_depth(5);
	}
	ck_assert_uint_eq(numbers[0], 0);
	ck_assert_uint_ne(numbers[1], 0);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(length_of(numbers[1]), frames);
}
END_TEST

/* The tree has room for 4,096 nodes at first. */
#define NEW_STACKS 6000

/* Different text, around the calls of two branches, so that the compiler does not merge them. */
#define APART(text) __asm__ volatile("/* " text " */" : : : "memory")

/* Calls itself from two lines: the bits of `path` make different stacks. */
__attribute__((noinline)) static uint32_t on_path(volatile unsigned int path, unsigned int bits)
{
	uint32_t number;

	if (bits == 0) {
		number = mam_stacks_here(put);
	} else if (path & 1) {
		APART("one");
		number = on_path(path >> 1, bits - 1);
		APART("one");
	} else {
		APART("other");
		number = on_path(path >> 1, bits - 1);
		APART("other");
	}
	__asm__ volatile("" : : "r"(&number) : "memory");
	return number;
}

/* Memory runs out before the first stack, and when the tree would have to grow. */
START_TEST(lack_of_memory_is_survived)
{
	unsigned int unknown = 0;
	uint32_t numbers[2];

	has_memory = false;
	ck_assert_uint_eq(on_path(0, 13), 0);
	has_memory = true;
	ck_assert_uint_ne(on_path(0, 13), 0);
	has_memory = false;
	for (volatile unsigned int i = 0; i < NEW_STACKS; i++)
		unknown += on_path(i, 13) == 0;
	ck_assert_uint_gt(unknown, 100);
	ck_assert_uint_lt(unknown, NEW_STACKS);
	ck_assert_uint_lt(frames, 4096);
	has_memory = true;
	for (volatile unsigned int i = 0; i < NEW_STACKS; i++)
		ck_assert_uint_ne(on_path(i, 13), 0);
	for (volatile unsigned int i = 0; i < 2; i++)
		numbers[i] = on_path(NEW_STACKS - 1, 13);
	ck_assert_uint_eq(numbers[0], numbers[1]);
	ck_assert_uint_gt(frames, NEW_STACKS);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(child_writes_its_lines_again)
{
	uint32_t before, after;
	int status;
	pid_t child;

	before = at_depth(4);
	ck_assert_uint_ne(before, 0);
	child = fork();
	if (child == 0) {
		memset(is_known, 0, sizeof(is_known));
		memset(is_module, 0, sizeof(is_module));
		mam_stacks_restart();
		after = at_depth(4);
		_exit(after == 0 || wrong != 0 || !is_known[after]);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	for (volatile unsigned int i = 0; i < 2; i++)
		ck_assert_uint_ne(at_depth(4), 0);
}
END_TEST

/* A program may record any number of profiles. */
START_TEST(next_trace_uses_the_same_memory)
{
	unsigned int before = 0;

	for (volatile unsigned int i = 0; i < 100; i++) {
		uint32_t number;

		memset(is_known, 0, sizeof(is_known));
		memset(is_module, 0, sizeof(is_module));
		mam_stacks_begin();
		number = at_depth(20);
		ck_assert_uint_ne(number, 0);
		ck_assert(is_known[number]);
		ck_assert_uint_eq(wrong, 0);
		ck_assert(i == 0 || maps == before);
		before = maps;
	}
}
END_TEST

/*
 * Both unwinders find the same frames, except for the innermost, which called one or the other: in
 * this test, mam_unwind() belongs to the program. A sanitizer's backtrace() calls that of the C
 * library, which is one frame more.
 */
START_TEST(unwinders_agree)
{
	uint32_t numbers[2];

	for (volatile unsigned int i = 0; i < 2; i++) {
		if (i == 1)
			mam_unwind_distrust();
		numbers[i] = at_depth(50);
	}
	ck_assert_uint_ne(numbers[0], 0);
	ck_assert_uint_ne(numbers[1], 0);
	ck_assert_uint_ne(numbers[0], numbers[1]);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	numbers[1] = parent_of[numbers[1]];
#endif
	ck_assert_uint_eq(parent_of[numbers[0]], parent_of[numbers[1]]);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(libunwind_may_be_missing)
{
	has_libunwind = false;
	ck_assert_uint_ne(at_depth(3), 0);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("stacks");
	Suite *suite = suite_create("stacks");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, equal_stacks_have_one_number);
	tcase_add_test(cases, depth_is_bounded);
	tcase_add_test(cases, threads_agree);
	tcase_add_test(cases, refused_lines_are_written_later);
	tcase_add_test(cases, lack_of_memory_is_survived);
	tcase_add_test(cases, child_writes_its_lines_again);
	tcase_add_test(cases, next_trace_uses_the_same_memory);
	tcase_add_test(cases, unwinders_agree);
	tcase_add_test(cases, libunwind_may_be_missing);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
