/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base.c - the interface of a base: the test base of kit.h, which must detect errors; sums
 * over lanes; and each coalescer through one interface. Over a heap of objects: test_fixed_heap.c
 * and test_segments_heap.c.
 */
#include "coalesce/ways_kit.h"
#include "device/lanes.h"

/* ---- the test base ------------------------------------------------------------------------- */

static MAM_KERNEL(alloc_and_free)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit);
	size_t bytes = 1 + mam_lane() * 5;
	uint32_t i;
	void *part;

	for (i = 0; i < 3; i++) {
		part = mam_base_alloc(base, bytes);
		MAM_KASSERT(part);
		ckit_own(kit, part, bytes);
		ckit_disown(kit, part);
		MAM_KASSERT(mam_base_free(base, part));
	}
}

START_TEST(test_base_serves_two_blocks)
{
	struct ckit *kit = ckit_create(1 << 16, NULL);

	ckit_explore(kit, "the test base", alloc_and_free, 2, 40, 10, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* A base that does not specify a number of tries gets the default; a heap specifies it. */
START_TEST(base_without_tries_gets_default)
{
	struct mam_kbase base = ckit_base(NULL);

	ck_assert_uint_eq(MAM_BASE_TRIES, 3);
	ck_assert_uint_eq(base.tries, 0);
	ck_assert_uint_eq(mam_base_tries(base), MAM_BASE_TRIES);
	for (base.tries = 1; base.tries < 100; base.tries++)
		ck_assert_uint_eq(mam_base_tries(base), base.tries);
	ck_assert_uint_eq(mam_base_heap(NULL).tries, MAM_BASE_TRIES);
}
END_TEST

static MAM_KERNEL(free_early)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit);
	void *part = mam_base_alloc(base, 40);

	ckit_own(kit, part, 40);
	(void)mam_base_free(base, part);
}

static MAM_KERNEL(free_twice)
{
	struct mam_kbase base = ckit_base(argument);
	void *part = mam_base_alloc(base, 40);

	(void)mam_base_free(base, part);
	(void)mam_base_free(base, part);
}

static MAM_KERNEL(free_never)
{
	MAM_KASSERT(mam_base_alloc(ckit_base(argument), 40));
}

/* Two lanes that believe they own the same part. */
static MAM_KERNEL(have_both)
{
	struct ckit *kit = argument;
	unsigned char *part = mam_base_alloc(ckit_base(kit), 40);

	ckit_own(kit, part, 24);
	ckit_own(kit, part + 16, 24);
}

START_TEST(shadow_detects_misuse)
{
	static simt_kernel *const wrong[] = { free_early, free_twice, free_never, have_both };
	struct ckit *kit = ckit_create(1 << 12, NULL);
	struct simt_case test = {
		.name = "misuse",
		.kernel = wrong[_i],
		.grid = 1,
		.block = 1,
		.argument = kit,
		.begin = ckit_begin,
		.check = ckit_check_empty,
		.seeds = 1,
	};

	simt_must_fail(&test, SIMT_FAILED);
	ckit_destroy(kit);
}
END_TEST

static MAM_KERNEL(refused)
{
	struct ckit *kit = argument;
	void *part[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		part[i] = mam_base_alloc(ckit_base(kit), 16);
		if (!part[i])
			ckit_fail(kit);
	}
	for (i = 0; i < 4; i++)
		if (part[i])
			(void)mam_base_free(ckit_base(kit), part[i]);
}

static const char *check_refused(void *argument)
{
	const struct ckit *kit = argument;
	uint32_t wanted = kit->refuse_after ? 2 : kit->refuse_every ? 2 : 1;

	return kit->failed == wanted && kit->refusals == wanted
		       ? ckit_check_empty(argument)
		       : "the base did not refuse as configured";
}

START_TEST(base_refuses_as_configured)
{
	struct ckit *kit = ckit_create(_i == 2 ? 3 * 16 : 1 << 12, NULL);

	kit->refuse_after = _i == 0 ? 3 : 0;
	kit->refuse_every = _i == 1 ? 2 : 0;
	ckit_explore(kit, "a base that refuses", refused, 1, 1, 1, check_refused);
	ckit_destroy(kit);
}
END_TEST

/* ---- sums over lanes ----------------------------------------------------------------------- */

/* The lanes in `plan`, each with a pseudorandom number, or all with the same one. */
static MAM_KERNEL(sums)
{
	struct ckit *kit = argument;
	uint32_t mask = *(const uint32_t *)kit->plan, round, lane;
	uint64_t numbers[32], before, total;
	struct mam_klanes sum;

	if (!(mask >> mam_lane() & 1))
		return;
	for (round = 0; round < 4; round++) {
		before = total = 0;
		for (lane = 0; lane < 32; lane++) {
			numbers[lane] =
				round % 2 ? ((uint64_t)lane * 7 + round) << (round * 11) : 40;
			if (mask >> lane & 1) {
				total += numbers[lane];
				before += lane < mam_lane() ? numbers[lane] : 0;
			}
		}
		sum = mam_lanes_sum(mask, numbers[mam_lane()]);
		MAM_KASSERT(sum.before == before && sum.total == total);
		MAM_KASSERT(sum.same == (round % 2 == 0 || mam_popc32(mask) == 1));
		MAM_KASSERT(mask >> mam_lanes_leader(mask) & 1);
		MAM_KASSERT(!(mask & ((1u << mam_lanes_leader(mask)) - 1)));
		MAM_KASSERT(mam_popc32(mask & ((1u << mam_lane()) - 1)) == mam_lanes_rank(mask));
	}
}

START_TEST(lane_sums_are_correct)
{
	static const uint32_t masks[] = { 1,          0x80000000, 0xffffffff, 0x0000ffff,
					  0xa5a5a5a5, 0x80000001, 0x7ffffffe };
	struct ckit *kit = ckit_create(1 << 12, &masks[_i]);

	ckit_explore(kit, "sums over lanes", sums, 1, 32, 3, NULL);
	ckit_destroy(kit);
}
END_TEST

/* ---- each coalescer ------------------------------------------------------------------------ */

/*
 * All threads request one size, so that every coalescer is usable; each thread frees what another
 * one allocated.
 */
static MAM_KERNEL(go)
{
	struct ckit *kit = argument;
	const struct ways *ways = kit->own;
	struct mam_kcoalescer c = { ckit_base(kit), ways->buffers, ways->map };
	uint32_t me = mam_block() * simt_block_threads() + simt_thread(), round;
	uint32_t other =
		mam_block() * simt_block_threads() + (simt_thread() * 7 + 3) % simt_block_threads();
	void *part;

	for (round = 0; round < 2; round++) {
		part = mam_way_alloc(ways->way, c, 24);
		MAM_KASSERT(part && (uintptr_t)part % 8 == 0);
		ckit_own(kit, part, 24);
		ckit_keep(kit, me, part);
		mam_syncthreads();
		part = ckit_take(kit, other);
		ckit_disown(kit, part);
		MAM_KASSERT(mam_way_free(ways->way, c, part));
		MAM_KASSERT(mam_way_free(ways->way, c, NULL));
		mam_syncthreads();
	}
	if (ways->way == MAM_WAY_XMALLOC) {
		mam_syncthreads();
		/*
		 * The last block to get here drains the remaining blocks, unless an earlier block
		 * did.
		 */
		(void)mam_buffers_drain(ways->buffers, c.base);
	}
}

START_TEST(each_coalescer_serves_a_block)
{
	/*
	 * The number of threads per block is not a multiple of 7, so each part is freed by exactly
	 * one thread.
	 */
	struct ways ways = ways_make((enum mam_kway)_i);
	struct ckit *kit = ckit_create(1 << 16, NULL);

	kit->own = &ways;
	kit->begin = ways_begin;
	kit->steps_max = 4000000;
	kit->whole = ways.way >= MAM_WAY_BLOCK_HEADERS;
	ckit_explore(kit, "a coalescer", go, 1, 40, CKIT_RACE ? 4 : 12, ckit_check_served);
	ways_drop(&ways);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("base");

	tcase_add_test(tcase, test_base_serves_two_blocks);
	tcase_add_test(tcase, base_without_tries_gets_default);
	tcase_add_loop_test(tcase, shadow_detects_misuse, 0, 4);
	tcase_add_loop_test(tcase, base_refuses_as_configured, 0, 3);
	tcase_add_loop_test(tcase, lane_sums_are_correct, 0, 7);
	tcase_add_loop_test(tcase, each_coalescer_serves_a_block, 0, MAM_WAYS);
	return ckit_run(tcase, "coalesce/base");
}
