/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fiber.c - switches preserve callee-saved state, stacks are separate and reusable, and end in
 * a guard page.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simt/fiber.h"
#include "simt/suite.h"

#define FIBERS 40

static struct simt_fiber self, fiber[FIBERS];
static char trail[64];
static uintptr_t seen_at[FIBERS];
static double sums[FIBERS];

static void make(unsigned int count)
{
	memset(&self, 0, sizeof(self));
	memset(trail, 0, sizeof(trail));
	for (unsigned int i = 0; i < count; i++)
		ck_assert(simt_fiber_init(&fiber[i], i));
}

static void unmake(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		simt_fiber_fini(&fiber[i]);
}

static void note(char c)
{
	trail[strlen(trail)] = c;
}

static void say_twice(void *argument)
{
	char c = *(const char *)argument;

	note(c);
	simt_fiber_switch(&fiber[0], &self);
	note(c);
	simt_fiber_leave(&fiber[0], &self);
}

START_TEST(fiber_resumes_where_it_stopped)
{
	char c = 'a';

	make(1);
	simt_fiber_start(&fiber[0], say_twice, &c);
	note('1');
	simt_fiber_switch(&self, &fiber[0]);
	note('2');
	simt_fiber_switch(&self, &fiber[0]);
	note('3');
	ck_assert_str_eq(trail, "1a2a3");
	unmake(1);
}
END_TEST

START_TEST(restarted_fiber_loses_its_state)
{
	char a = 'a', b = 'b';

	make(1);
	simt_fiber_start(&fiber[0], say_twice, &a);
	simt_fiber_switch(&self, &fiber[0]);
	simt_fiber_start(&fiber[0], say_twice, &b);
	simt_fiber_switch(&self, &fiber[0]);
	simt_fiber_switch(&self, &fiber[0]);
	ck_assert_str_eq(trail, "abb");
	unmake(1);
}
END_TEST

/*
 * Integers and floats that live across switches, in a ring of fibers that never enters the main
 * stack.
 */
static void sum(void *argument)
{
	unsigned int me = (unsigned int)(uintptr_t)argument;
	volatile char local = (char)me;
	uint64_t a = me, b = me + 1, c = me + 2, d = me + 3, e = me + 4, f = me + 5;
	double x = me;

	seen_at[me] = (uintptr_t)&local;
	for (int round = 0; round < 100; round++) {
		simt_fiber_switch(&fiber[me], &fiber[(me + 1) % FIBERS]);
		a += b, b += c, c += d, d += e, e += f, f += 1;
		x += 0.5;
	}
	sums[me] = x;
	ck_assert_int_eq(local, (char)me);
	ck_assert_uint_gt(a, b);
	ck_assert_uint_gt(b, c);
	ck_assert_uint_gt(c, d);
	ck_assert_uint_eq(f, me + 105);
	ck_assert_uint_eq(e, me + 4 + 100 * (me + 5) + 99 * 100 / 2);
	if (me + 1 < FIBERS)
		simt_fiber_leave(&fiber[me], &fiber[me + 1]);
	simt_fiber_leave(&fiber[me], &self);
}

START_TEST(registers_and_stacks_survive_switches)
{
	make(FIBERS);
	for (uintptr_t i = 0; i < FIBERS; i++)
		simt_fiber_start(&fiber[i], sum, (void *)i);
	simt_fiber_switch(&self, &fiber[0]);
	for (unsigned int i = 0; i < FIBERS; i++)
		ck_assert(sums[i] == i + 50.0);
	unmake(FIBERS);
}
END_TEST

static void where(void *argument)
{
	unsigned int me = (unsigned int)(uintptr_t)argument;

	seen_at[me] = (uintptr_t)__builtin_frame_address(0);
	simt_fiber_leave(&fiber[me], &self);
}

START_TEST(hot_lines_are_in_different_cache_sets)
{
	unsigned int sets[64] = { 0 }, max = 0;

	make(32);
	for (uintptr_t i = 0; i < 32; i++) {
		simt_fiber_start(&fiber[i], where, (void *)i);
		simt_fiber_switch(&self, &fiber[i]);
		ck_assert(simt_fiber_contains(&fiber[i], (void *)seen_at[i]));
		ck_assert(!simt_fiber_contains(&fiber[(i + 1) % 32], (void *)seen_at[i]));
		if (++sets[seen_at[i] / 64 % 64] > max)
			max = sets[seen_at[i] / 64 % 64];
	}
	ck_assert_uint_le(max, 4);
	unmake(32);
}
END_TEST

static __attribute__((noinline)) unsigned int deep(unsigned int depth)
{
	volatile unsigned int page[512];
	unsigned int below;

	page[depth % 512] = depth;
	below = depth ? deep(depth - 1) : 0;
	return below +
	       page[depth % 512]; /* the frame is used after the call, which prevents a loop */
}

static volatile unsigned int sink;

static void overflow(void *argument)
{
	sink = deep(*(unsigned int *)argument);
	simt_fiber_leave(&fiber[0], &self);
}

static void touch(void *argument)
{
	fiber[0].stack[-*(int *)argument] = 1;
	simt_fiber_leave(&fiber[0], &self);
}

static bool survives(void (*entry)(void *argument), unsigned int depth)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		make(1);
		simt_fiber_start(&fiber[0], entry, &depth);
		simt_fiber_switch(&self, &fiber[0]);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

START_TEST(stack_overflow_faults)
{
	ck_assert(survives(overflow, 16));
	ck_assert(!survives(overflow, 4096));
	ck_assert(survives(touch, 0));
	ck_assert(!survives(touch, 1));
}
END_TEST

SIMT_SUITE("simt/fiber", fiber_resumes_where_it_stopped, restarted_fiber_loses_its_state,
	   registers_and_stacks_survive_switches, hot_lines_are_in_different_cache_sets,
	   stack_overflow_faults)
