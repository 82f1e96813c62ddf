/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_memory.c - the effect and result of each atomic, in a launch and outside one, and where the
 * scheduling points are.
 */
#include "device/port.h"
#include "simt/expect.h"
#include "simt/hooks_core.h"

#define HIGH ((uint64_t)0xabcd << 32)

/* Each call with its result; `Y` is 32 or 64, and `h` the upper half of the operand. */
#define EVERY_OPERATION(Y, h)                                                                     \
	do {                                                                                      \
		uint##Y##_t x = 5 | (h);                                                          \
		MAM_KASSERT(mam_atomic_load##Y(&x, MAM_ACQUIRE, MAM_AT_DEVICE) == (5 | (h)));     \
		mam_atomic_store##Y(&x, 12 | (h), MAM_RELEASE, MAM_AT_DEVICE);                    \
		MAM_KASSERT(x == (12 | (h)));                                                     \
		MAM_KASSERT(mam_atomic_or##Y(&x, 3, MAM_RELAXED, MAM_AT_BLOCK) == (12 | (h)));    \
		MAM_KASSERT(x == (15 | (h)));                                                     \
		MAM_KASSERT(mam_atomic_and##Y(&x, 6 | (h), MAM_RELAXED, MAM_AT_BLOCK) ==          \
			    (15 | (h)));                                                          \
		MAM_KASSERT(x == (6 | (h)));                                                      \
		MAM_KASSERT(mam_atomic_add##Y(&x, 4, MAM_RELAXED, MAM_AT_SYSTEM) == (6 | (h)));   \
		MAM_KASSERT(x == (10 | (h)));                                                     \
		MAM_KASSERT(mam_atomic_add##Y(&x, -(uint##Y##_t)1, MAM_RELAXED, MAM_AT_SYSTEM) == \
			    (10 | (h)));                                                          \
		MAM_KASSERT(x == (9 | (h)));                                                      \
		MAM_KASSERT(mam_atomic_xchg##Y(&x, 1, MAM_ACQ_REL, MAM_AT_DEVICE) == (9 | (h)));  \
		MAM_KASSERT(mam_atomic_cas##Y(&x, 2, 3, MAM_ACQ_REL, MAM_AT_DEVICE) == 1);        \
		MAM_KASSERT(x == 1);                                                              \
		MAM_KASSERT(mam_atomic_cas##Y(&x, 1, 3 | (h), MAM_ACQ_REL, MAM_AT_DEVICE) == 1);  \
		MAM_KASSERT(x == (3 | (h)));                                                      \
	} while (0)

/* Two-byte words have fewer operations, and the adjacent bytes are unchanged. */
static void halves(void)
{
	uint16_t x[4] = { 0x1111, 0xabcd, 0x2222, 0x3333 };

	MAM_KASSERT(mam_atomic_load16(&x[1], MAM_ACQUIRE, MAM_AT_DEVICE) == 0xabcd);
	mam_atomic_store16(&x[1], 0x8001, MAM_RELEASE, MAM_AT_DEVICE);
	MAM_KASSERT(mam_atomic_cas16(&x[1], 0x8000, 7, MAM_ACQ_REL, MAM_AT_DEVICE) == 0x8001);
	MAM_KASSERT(x[1] == 0x8001);
	MAM_KASSERT(mam_atomic_cas16(&x[1], 0x8001, 0xffff, MAM_RELEASE, MAM_AT_BLOCK) == 0x8001);
	mam_atomic_store16(&x[2], 0, MAM_RELAXED, MAM_AT_SYSTEM);
	MAM_KASSERT(x[0] == 0x1111 && x[1] == 0xffff && x[2] == 0 && x[3] == 0x3333);
}

MAM_KERNEL(operations)
{
	uint64_t whole = ~UINT64_C(0);

	(void)argument;
	EVERY_OPERATION(32, 0xabcd0000u);
	EVERY_OPERATION(64, HIGH);
	halves();
	mam_atomic_store32((uint32_t *)&whole, 0, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_KASSERT(whole == UINT64_C(0xffffffff00000000));
	mam_fence(MAM_SEQ_CST, MAM_AT_DEVICE);
}

START_TEST(each_atomic_has_right_result)
{
	struct expect what = { .kernel = operations, .grid = 1, .block = 3, .seeds = 3 };

	simt_expect(&what, SIMT_FINE, NULL);
	operations(NULL);
}
END_TEST

MAM_KERNEL(askew)
{
	char *bytes = argument;

	mam_atomic_or64((uint64_t *)(void *)(bytes + 4), 1, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KERNEL(askew_by_one)
{
	char *bytes = argument;

	(void)mam_atomic_load16((uint16_t *)(void *)(bytes + 3), MAM_RELAXED, MAM_AT_DEVICE);
}

START_TEST(unaligned_atomic_fails)
{
	uint64_t words[2] = { 0 };
	struct expect what = { .kernel = askew, .grid = 1, .block = 1, .argument = words };

	simt_expect(&what, SIMT_FAILED, "no multiple of its size, at ");
	what.kernel = askew_by_one;
	simt_expect(&what, SIMT_FAILED, "no multiple of its size, at ");
}
END_TEST

/*
 * Two lanes that read, add and write by two atomics lose a count under some seed; lanes that use
 * one atomic addition, or retry a compare-and-swap, never do.
 */
MAM_KERNEL(counts_badly)
{
	uint32_t *count = argument;
	uint32_t seen = mam_atomic_load32(count, MAM_RELAXED, MAM_AT_DEVICE);

	mam_atomic_store32(count, seen + 1, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KERNEL(counts_halves_badly)
{
	uint16_t *count = argument;
	uint16_t seen = mam_atomic_load16(count, MAM_RELAXED, MAM_AT_DEVICE);

	mam_atomic_store16(count, (uint16_t)(seen + 1), MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KERNEL(counts_halves)
{
	uint16_t *count = argument, seen, old = 0;

	do {
		seen = old;
		old = mam_atomic_cas16(count, seen, (uint16_t)(seen + 1), MAM_RELAXED,
				       MAM_AT_DEVICE);
	} while (old != seen);
}

MAM_KERNEL(counts_plainly)
{
	uint32_t *count = argument;
	uint32_t seen;

	simt_plain(count, sizeof(*count), false, "a read");
	seen = *count;
	simt_plain(count, sizeof(*count), true, "a write");
	*count = seen + 1;
}

static unsigned int losses(simt_kernel *kernel, enum simt_policy policy)
{
	unsigned int lost = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct simt_config config = { .seed = seed, .policy = policy };
		uint32_t count = 0;

		ck_assert_int_eq(simt_launch(&config, kernel, 2, 1, &count, NULL), SIMT_FINE);
		lost += count != 2;
	}
	return lost;
}

START_TEST(each_policy_preempts_between_read_and_write)
{
	for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
		ck_assert_uint_gt(losses(counts_badly, policy), 10);
		ck_assert_uint_lt(losses(counts_badly, policy), 190);
		ck_assert_uint_gt(losses(counts_plainly, policy), 10);
		ck_assert_uint_gt(losses(counts_halves_badly, policy), 10);
		ck_assert_uint_eq(losses(counts_halves, policy), 0);
	}
}
END_TEST

/* A lane's own stack is private. */
MAM_KERNEL(looks_at_its_stack)
{
	volatile char mine = 0;

	(void)argument;
	for (int i = 0; i < 100; i++)
		simt_plain(&mine, 1, true, "mine");
}

START_TEST(own_stack_access_is_no_scheduling_point)
{
	struct expect what = { .kernel = looks_at_its_stack, .grid = 1, .block = 2 };

	ck_assert_uint_lt(simt_expect(&what, SIMT_FINE, NULL)->steps, 10);
	simt_plain(&what, sizeof(what), true, "outside of a launch");
	ck_assert(!simt_inside());
}
END_TEST

SIMT_SUITE("simt/memory", each_atomic_has_right_result, unaligned_atomic_fails,
	   each_policy_preempts_between_read_and_write, own_stack_access_is_no_scheduling_point)
