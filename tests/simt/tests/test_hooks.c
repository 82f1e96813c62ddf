/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instrumented memory accesses reach the race checker: each size, copies, odd addresses; but not a
 * lane's own stack, and not accesses outside lanes. Built with access hooks only.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/expect.h"

struct __attribute__((packed)) odd {
	uint8_t first[6];
	uint32_t across; /* bytes 6 to 9 */
	uint64_t far;    /* bytes 10 to 17 */
};

struct large {
	uint64_t part[9];
};

static struct space {
	union {
		uint8_t byte[128];
		uint16_t half[64];
		uint32_t word[32];
		uint64_t pair[16];
		struct odd odd;
		struct large large[1];
	} at;
	uint64_t guard;
	uint64_t *published;
	uint64_t results[10];
} space;

static volatile uint32_t hidden; /* hides a value from the compiler */

/* Block 0 makes one access, block 1 writes its last byte, or the next one. */
/* clang-format off */
#define AGAINST(name, statement, last)                                                          \
	MAM_KERNEL(name##_meets)                                                                \
	{                                                                                       \
		struct space *g = argument;                                                    \
                                                                                                \
		if (simt_block() == 0) {                                                        \
			statement;                                                              \
		} else {                                                                        \
			g->at.byte[last] = 1;                                                   \
		}                                                                               \
	}                                                                                       \
	MAM_KERNEL(name##_passes)                                                               \
	{                                                                                       \
		struct space *g = argument;                                                    \
                                                                                                \
		if (simt_block() == 0) {                                                        \
			statement;                                                              \
		} else {                                                                        \
			g->at.byte[(last) + 1] = 1;                                             \
		}                                                                               \
	}
/* clang-format on */

/* `last` is the last byte that the statement accesses. */
AGAINST(byte, g->at.byte[5] = 1, 5)
AGAINST(byte_read, hidden = g->at.byte[5], 5)
AGAINST(half, g->at.half[1] = 1, 3)
AGAINST(word, g->at.word[1]++, 7)
AGAINST(word_read, hidden = g->at.word[1], 7)
AGAINST(pair, g->at.pair[1] = 1, 15)
AGAINST(across, g->at.odd.across = 1, 9)
AGAINST(across_read, hidden = g->at.odd.across, 9)
AGAINST(far, g->at.odd.far = 1, 17)
AGAINST(changed, *(volatile uint32_t *)&g->at.word[2] = 1, 11)
AGAINST(copied, memcpy(&g->at.byte[3], "1234567890123456789012345678901234567", hidden + 35), 37)
AGAINST(copied_from, memcpy(&g->results, &g->at.byte[3], hidden + 35), 37)
AGAINST(moved, memmove(&g->at.byte[8], &g->at.byte[0], hidden + 30), 37)
AGAINST(cleared, memset(&g->at.byte[1], 0, hidden + 21), 21)
/* clang makes a plain memcpy() of an assignment that is too large for registers. */
#ifndef __clang__
/* clang-format off */
AGAINST(assigned, struct large large = { { hidden } }; g->at.large[0] = large, 71)
#endif

#define BOTH(name) { name##_meets, name##_passes }

static simt_kernel *const pairs[][2] = {
	BOTH(byte), BOTH(byte_read), BOTH(half), BOTH(word), BOTH(word_read), BOTH(pair),
	BOTH(across), BOTH(across_read), BOTH(far), BOTH(changed), BOTH(copied), BOTH(copied_from),
	BOTH(moved), BOTH(cleared),
#ifndef __clang__
	BOTH(assigned),
#endif
};
/* clang-format on */

static struct expect on_space(simt_kernel *kernel, unsigned int grid, unsigned int block)
{
	return (struct expect){ .kernel = kernel,
				.grid = grid,
				.block = block,
				.argument = &space,
				.zero = sizeof(space),
				.config = { .race = true } };
}

/*
 * `_passes` writes a byte that no other access touches; `hidden` itself is written by block 0
 * alone.
 */
START_TEST(each_access_is_checked)
{
	struct expect what;

	hidden = 0;
	what = on_space(pairs[_i][0], 2, 1);
	simt_expect(&what, SIMT_RACE, "test_hooks");
	what = on_space(pairs[_i][1], 2, 1);
	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* All lanes read the same bytes, with each size and by copies. */
MAM_KERNEL(reads)
{
	const struct space *g = argument;
	struct large large = g->at.large[0];
	char bytes[32];
	uint64_t sum = large.part[hidden];

	memcpy(bytes, &g->at.byte[7], hidden + 20);
	sum += (uint64_t)bytes[hidden] + g->at.byte[3] + g->at.half[2] + g->at.word[2];
	sum += g->at.pair[3] + g->at.odd.across + g->at.odd.far;
	MAM_KASSERT(sum == 0);
}

START_TEST(concurrent_reads_do_not_race)
{
	struct expect what = on_space(reads, 2, 2);

	hidden = 0;
	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

static __attribute__((noinline)) void fill(uint64_t *where, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		where[i] += value;
}

MAM_KERNEL(own_stack)
{
	uint64_t mine[8] = { 0 };

	(void)argument;
	fill(mine, simt_thread());
	MAM_KASSERT(mine[7] == simt_thread());
}

MAM_KERNEL(other_stack)
{
	struct space *g = argument;
	uint64_t mine[8] = { 0 };

	if (simt_thread() == 0)
		g->published = mine;
	mam_syncthreads();
	fill(g->published, 1);
	mam_syncthreads();
}

START_TEST(own_stack_is_not_checked)
{
	struct expect what = on_space(own_stack, 2, 3);

	/* A lane's own stack is private: the only steps are calls into the simulator. */
	ck_assert_uint_lt(simt_expect(&what, SIMT_FINE, NULL)->steps, 20);
	what = on_space(other_stack, 1, 3);
	simt_expect(&what, SIMT_RACE, "a plain");
}
END_TEST

/* The compiler's own atomics order as seq_cst ones do. */
MAM_KERNEL(message)
{
	struct space *g = argument;

	if (simt_block() == 0) {
		g->at.pair[0] = 7;
		__atomic_store_n(&g->guard, 1, __ATOMIC_RELEASE);
	} else {
		while (!__atomic_load_n(&g->guard, __ATOMIC_ACQUIRE))
			mam_nanosleep(1);
		MAM_KASSERT(g->at.pair[0] == 7);
	}
}

MAM_KERNEL(counting)
{
	struct space *g = argument;

	if (__atomic_add_fetch(&g->guard, 1, __ATOMIC_ACQ_REL) == 6)
		for (int i = 0; i < 6; i++)
			g->at.word[i]++;
}

/* Atomics of two bytes, which leave the adjacent bytes alone. */
MAM_KERNEL(halves)
{
	struct space *g = argument;
	uint16_t expected = 1;

	if (simt_block() == 0) {
		g->at.byte[0] = 9;
	} else {
		__atomic_store_n(&g->at.half[1], 1, __ATOMIC_RELAXED);
		MAM_KASSERT(__atomic_compare_exchange_n(&g->at.half[1], &expected, 0xabcd, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED));
		MAM_KASSERT(__atomic_load_n(&g->at.half[1], __ATOMIC_RELAXED) == 0xabcd);
	}
}

/* Device code has no atomics of one byte. */
MAM_KERNEL(a_byte)
{
	struct space *g = argument;

	__atomic_store_n(&g->at.byte[1], 1, __ATOMIC_RELAXED);
}

static void operate(struct space *g)
{
	uint32_t value = 12, expected = 1;

	g->results[0] = __atomic_fetch_add(&value, 5, __ATOMIC_RELAXED);
	g->results[1] = __atomic_fetch_sub(&value, 3, __ATOMIC_RELAXED);
	g->results[2] = __atomic_fetch_and(&value, 10, __ATOMIC_RELAXED);
	g->results[3] = __atomic_fetch_or(&value, 5, __ATOMIC_RELAXED);
	g->results[4] = __atomic_fetch_xor(&value, 1, __ATOMIC_RELAXED);
	g->results[5] = __atomic_exchange_n(&value, 99, __ATOMIC_RELAXED);
	g->results[6] = __atomic_compare_exchange_n(&value, &expected, 4, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	g->results[7] = __atomic_compare_exchange_n(&value, &expected, 8, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	g->results[8] = __atomic_fetch_nand(&value, 12, __ATOMIC_RELAXED);
	g->results[9] = __atomic_load_n(&value, __ATOMIC_RELAXED);
}

MAM_KERNEL(operations)
{
	operate(argument);
}

START_TEST(compiler_atomics_are_seq_cst)
{
	static const uint64_t want[] = { 12, 17, 14, 10, 15, 14, 0, 1, 8, 0xfffffff7 };
	struct expect what = on_space(message, 2, 1);

	simt_expect(&what, SIMT_FINE, NULL);
	what = on_space(counting, 2, 3);
	simt_expect(&what, SIMT_FINE, NULL);
	what = on_space(halves, 2, 1);
	simt_expect(&what, SIMT_FINE, NULL);
	what = on_space(a_byte, 1, 1);
	simt_expect(&what, SIMT_FAILED, "of one byte");
	what = on_space(operations, 1, 1);
	simt_expect(&what, SIMT_FINE, NULL);
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
			ck_assert_msg(space.results[i] == want[i], "%s, %zu: %llu",
				      turn ? "outside" : "in a lane", i,
				      (unsigned long long)space.results[i]);
		memset(&space, 0, sizeof(space));
		operate(&space);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/hooks");
	TCase *hooks = tcase_create("hooks");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, hooks);
	tcase_set_timeout(hooks, 120);
	tcase_add_loop_test(hooks, each_access_is_checked, 0, sizeof(pairs) / sizeof(pairs[0]));
	tcase_add_test(hooks, concurrent_reads_do_not_race);
	tcase_add_test(hooks, own_stack_is_not_checked);
	tcase_add_test(hooks, compiler_atomics_are_seq_cst);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
