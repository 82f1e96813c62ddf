/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fixed.c - one block for the parts of a thread block or a warp, with headers and with a map:
 * the positions of parts, any set of participating lanes, and frees in every order, by any lane, at
 * any time.
 */
#include "coalesce/fixed_kit.h"

/* ---- positions of parts ---------------------------------------------------------------------- */

/*
 * Parts of one block are in the order of their threads, a stride apart, from byte 16 up; their
 * addresses are in kit->kept. A block has the parts of a thread block, or of lanes of one warp.
 */
CKIT_UNSEEN void check_layout(struct ckit *kit, uint32_t from, uint32_t bytes)
{
	const struct plan *plan = kit->plan;
	uint64_t stride = plan->way & WITH_MAP ? bytes : (bytes + 8u + 15u) / 16u * 16u, at, before;
	uint32_t n = simt_block_threads(), warp = plan->way & BY_BLOCK ? n : 32, i, k;

	if (!(plan->way & WITH_MAP) && stride >= 128)
		stride |= 16; /* not a multiple of 32 */
	for (i = 0; i < n; i++) {
		at = kit->kept[from + i] - (uintptr_t)kit->arena;
		if (!kit->kept[from + i])
			continue;
		/* Go to the preceding part in the block. */
		for (k = i; k-- > i / warp * warp;) {
			before = kit->kept[from + k] - (uintptr_t)kit->arena;
			if (kit->kept[from + k] && kit->block[before / 16] == kit->block[at / 16])
				break;
		}
		if (k + 1 > i / warp * warp) /* one was found */
			MAM_KASSERT(at == before + stride);
		else
			MAM_KASSERT(at % 16 == 0 && at && kit->extent[at / 16 - 1]);
		MAM_KASSERT(plan->way & WITH_MAP || at % 16 == 0);
	}
}

/* Each thread frees what another one of its block allocated. */
static MAM_KERNEL(go)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t n = simt_block_threads(), round, from;
	void *part;

	for (round = 0; round < plan->rounds; round++) {
		from = (round % 2 * mam_grid_blocks() + mam_block()) * n;
		part = fixed_alloc(kit, plan->bytes);
		MAM_KASSERT(part);
		ckit_own(kit, part, plan->bytes);
		ckit_keep(kit, from + simt_thread(), part);
		mam_syncthreads();
		if (round == 0) {
			if (simt_thread() == 0)
				check_layout(kit, from, plan->bytes);
			mam_syncthreads();
		}
		fixed_release(kit, ckit_take(kit, from + (simt_thread() * 37 + 5 + round) % n));
	}
}

static const uint32_t threads[] = { 1, 2, 31, 33, 40, 70 };
static const uint32_t sizes[] = { 1, 3, 8, 9, 24, 100, 112, 120, 300 };

START_TEST(parts_are_a_stride_apart)
{
	struct plan plan = { .way = (uint32_t)_i % WAYS, .rounds = 3 };
	struct ckit *kit = fixed_create(&plan, 1 << 18);
	uint32_t i = (uint32_t)_i / WAYS, k;

	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		plan.bytes = sizes[k];
		ckit_explore(kit, "each size", go, 2, threads[i],
			     fixed_seeds(threads[i] > 4 ? 4 : 40), fixed_check);
	}
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- any set of lanes ------------------------------------------------------------------------ */

/*
 * Lanes of the plan's mask call together. The other lanes have ended before, or call afterward,
 * each time as a group of their own.
 */
static MAM_KERNEL(some)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	void *part;

	if (!(plan->mask >> mam_lane() & 1)) {
		if (plan->order)
			return;
		part = fixed_alloc(kit, 8);
		MAM_KASSERT(part);
		ckit_own(kit, part, 8);
		fixed_release(kit, part);
		return;
	}
	for (round = 0; round < 2; round++) {
		part = fixed_alloc(kit, plan->bytes);
		MAM_KASSERT(part);
		ckit_own(kit, part, plan->bytes);
		fixed_release(kit, part);
	}
}

START_TEST(any_subset_of_lanes_is_served)
{
	struct plan plan = { .way = _i % 2 ? WITH_MAP : 0, .bytes = 20, .order = (uint32_t)_i / 2 };
	struct ckit *kit = fixed_create(&plan, 1 << 14);

	for (plan.mask = 1; plan.mask < 32; plan.mask++)
		ckit_explore(kit, "some lanes of five", some, 1, 5, fixed_seeds(20), fixed_check);
	for (plan.mask = 0x80000000; plan.mask; plan.mask = plan.mask == 0x80000000   ? 0xffff0000
							    : plan.mask == 0xffff0000 ? 0x55555555
							    : plan.mask == 0x55555555 ? 0x7fffffff
										      : 0)
		ckit_explore(kit, "some lanes", some, 2, 32, fixed_seeds(8), fixed_check);
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- every order of frees -------------------------------------------------------------------- */

#define PARTS 4u

static MAM_KERNEL(have)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	void *part = fixed_alloc(kit, plan->bytes);

	MAM_KASSERT(part);
	ckit_own(kit, part, plan->bytes);
	ckit_keep(kit, fixed_self(), part);
}

/* The i-th element of permutation number `n` of four. */
static uint32_t nth(uint32_t order, uint32_t i)
{
	uint32_t left[PARTS] = { 0, 1, 2, 3 }, k, n, got = 0;

	for (k = 0; k <= i; k++) {
		n = order % (PARTS - k);
		order /= PARTS - k;
		got = left[n];
		for (; n + 1 < PARTS - k; n++)
			left[n] = left[n + 1];
	}
	return got;
}

/* One lane frees all parts, one after another. */
static MAM_KERNEL(free_in_order)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i;

	for (i = 0; i < PARTS; i++) {
		MAM_KASSERT(kit->frees < kit->allocs);
		fixed_release(kit, ckit_take(kit, nth(plan->order, i)));
	}
}

/* Each lane of any block frees one part. */
static MAM_KERNEL(free_apart)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	fixed_release(kit, ckit_take(kit, nth(plan->order, fixed_self())));
}

static bool build_one(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, have, 1, PARTS, argument) &&
	       simt_world_launch(world, 0, free_in_order, 1, 1, argument);
}

static bool build_apart(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, have, 1, PARTS, argument) &&
	       simt_world_launch(world, 0, free_apart, PARTS, 1, argument);
}

static bool build_together(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, have, 2, PARTS / 2, argument) &&
	       simt_world_launch(world, 0, free_apart, 1, PARTS, argument);
}

START_TEST(parts_are_freed_in_every_order)
{
	struct plan plan = { .way = (uint32_t)_i % WAYS, .bytes = 12 };
	struct ckit *kit = fixed_create(&plan, 1 << 12);

	for (plan.order = 0; plan.order < 24; plan.order++) {
		ckit_explore_world(kit, "one lane frees", build_one, 3, fixed_check);
		ckit_explore_world(kit, "each lane frees", build_apart, fixed_seeds(16),
				   fixed_check);
		ckit_explore_world(kit, "a warp frees", build_together, fixed_seeds(16),
				   fixed_check);
	}
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- frees by any lane, at any time ---------------------------------------------------------- */

#define KEPT 60u

/*
 * Each lane leaves its part where any lane may take it, and frees the part it finds there: of other
 * warps, blocks, and rounds, while the next parts are allocated.
 */
static MAM_KERNEL(exchange)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round, bytes;
	void *part, *other;

	for (round = 0; round < plan->rounds; round++) {
		bytes = plan->bytes + round * 11;
		part = fixed_alloc(kit, bytes);
		MAM_KASSERT(part);
		ckit_own(kit, part, bytes);
		other = (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[simt_random() % KEPT],
							     (uintptr_t)part, MAM_ACQ_REL,
							     MAM_AT_DEVICE);
		if (other)
			fixed_release(kit, other);
	}
}

static MAM_KERNEL(sweep)
{
	struct ckit *kit = argument;
	uint32_t i;
	void *part;

	for (i = fixed_self(); i < KEPT; i += mam_grid_blocks() * simt_block_threads()) {
		part = ckit_take(kit, i);
		if (part)
			fixed_release(kit, part);
	}
}

static bool build_exchange(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, exchange, 2, 12, argument) &&
	       simt_world_launch(world, 0, exchange, 1, 36, argument) &&
	       simt_world_launch(world, 0, sweep, 2, 5, argument);
}

START_TEST(parts_are_freed_by_any_lane)
{
	struct plan plan = { .way = (uint32_t)_i % WAYS, .bytes = 5, .rounds = 3 };
	struct ckit *kit = fixed_create(&plan, 1 << 15);

	ckit_explore_world(kit, "exchange", build_exchange, fixed_seeds(120), fixed_check);
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- single lanes ---------------------------------------------------------------------------- */

/* A block of the base for one part, with 16 bytes before it. */
CKIT_UNSEEN void check_alone(struct ckit *kit, const unsigned char *part, uint32_t bytes)
{
	size_t at = (size_t)(part - kit->arena);

	MAM_KASSERT(at >= 16 && at % 16 == 0);
	MAM_KASSERT(kit->extent[at / 16 - 1] == 1 + (bytes + 15) / 16);
}

/*
 * Diverged lanes, each with its own size, and in the next round together with all others: the lane
 * that frees does not know which of these a part was.
 */
static MAM_KERNEL(alone)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round, bytes, n = simt_block_threads();
	void *part;

	for (round = 0; round < plan->rounds; round++) {
		bytes = 1 + (simt_thread() * 29 + round) % 200;
		if (round % 2) {
			bytes = plan->bytes;
			part = fixed_alloc(kit, bytes);
		} else if (simt_thread() % 3 == 0) {
			part = NULL;
			MAM_KASSERT(!mam_fixed_alloc_one(ckit_base(kit), 0));
			MAM_KASSERT(!mam_fixed_alloc_one(ckit_base(kit), SIZE_MAX));
		} else {
			part = mam_fixed_alloc_one(ckit_base(kit), bytes);
			MAM_KASSERT(part);
			check_alone(kit, part, bytes);
		}
		if (part)
			ckit_own(kit, part, bytes);
		ckit_keep(kit, (round * 2 + mam_block()) * n + simt_thread(), part);
	}
	mam_syncthreads();
	for (round = 0; round < plan->rounds; round++) {
		part = ckit_take(kit,
				 (((round + simt_thread()) % plan->rounds) * 2 + mam_block()) * n +
					 (simt_thread() * 7 + 3) % n);
		if (!part)
			continue;
		fixed_release(kit, part);
	}
}

START_TEST(single_lanes_get_their_own_blocks)
{
	struct plan plan = { .way = _i % 2 ? BY_BLOCK : 0, .bytes = 40, .rounds = 4 };
	struct ckit *kit = fixed_create(&plan, 1 << 16);

	ckit_explore(kit, "single lanes", alone, 2, _i / 2 ? 36 : 5, fixed_seeds(60), fixed_check);
	fixed_destroy(kit, &plan);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fixed");

	tcase_add_loop_test(tcase, parts_are_a_stride_apart, 0, WAYS * 6);
	tcase_add_loop_test(tcase, any_subset_of_lanes_is_served, 0, 4);
	tcase_add_loop_test(tcase, parts_are_freed_in_every_order, 0, WAYS);
	tcase_add_loop_test(tcase, parts_are_freed_by_any_lane, 0, WAYS);
	tcase_add_loop_test(tcase, single_lanes_get_their_own_blocks, 0, 4);
	return ckit_run(tcase, "coalesce/fixed");
}
