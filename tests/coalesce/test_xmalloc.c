/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_xmalloc.c - XMalloc: which lanes share a block, what a lane gets if memory is scarce, and
 * that each block is freed to the base once, when no part of it is in use.
 */
#include "coalesce/kit.h"
#include "coalesce/xmalloc.h"

#define LARGE (MAM_COMPARTMENT_MAX + 1)

struct plan {
	uint32_t bytes[40]; /* requested by threads; 0: no request */
	uint32_t blocks;    /* expected from the base, if all lanes converge */
};

static void *get(struct ckit *kit, size_t bytes)
{
	void *object = mam_xmalloc_alloc(ckit_base(kit), kit->own, bytes);

	if (!object) {
		ckit_fail(kit);
		return NULL;
	}
	MAM_KASSERT((uintptr_t)object % 16 == 0);
	ckit_own(kit, object, bytes);
	return object;
}

static void release(struct ckit *kit, void *object)
{
	if (object)
		ckit_disown(kit, object);
	MAM_KASSERT(mam_xmalloc_free(ckit_base(kit), kit->own, object));
}

static uint32_t place(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

/* The number of another thread, out of `threads`. */
static uint32_t other(uint32_t threads)
{
	return (place() * 7 + 3) % threads;
}

/* ---- which lanes share a block ------------------------------------------------------------- */

/* All lanes converge, as there are no others: the mask ensures it. */
static MAM_KERNEL(ask)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t all = simt_block_threads() == 32 ? 0xffffffff : (1u << simt_block_threads()) - 1;
	uint32_t bytes = plan->bytes[mam_lane()];
	void *object;

	mam_warp_sync(all);
	object = bytes ? get(kit, bytes) : NULL;
	mam_warp_sync(all);
	release(kit, object);
}

/* Lanes may arrive in several groups; if they arrive in one, they need this many blocks. */
static uint32_t fewest, max;

static const char *check_blocks(void *argument)
{
	const struct ckit *kit = argument;

	if (kit->allocs < fewest)
		fewest = kit->allocs;
	if (kit->allocs > max)
		max = kit->allocs;
	return ckit_check_served(argument);
}

START_TEST(small_requests_share_a_block)
{
	static const struct plan plans[] = {
		{ { 56, 56, 40, 120 }, 1 },
		{ { 1, 2, 3, 4, 5, 6, 7, 8 }, 1 },
		{ { 8, 8, 8, 8, 8, 8, 8, 8 }, 1 },
		{ { LARGE, 8, 8, LARGE, 8 }, 3 }, /* the large ones are alone */
		{ { LARGE, LARGE, 500 }, 3 },
		{ { 8, LARGE, 0, LARGE }, 3 }, /* a single small one is alone, too */
		{ { 0, 0, 8, 0, 8 }, 1 },
		{ { 100 }, 1 },
		{ { MAM_COMPARTMENT_MAX, MAM_COMPARTMENT_MAX, LARGE }, 2 },
	};
	struct ckit *kit = ckit_create(1 << 14, &plans[_i]);

	fewest = 1000;
	max = 0;
	ckit_explore(kit, "coalesced", ask, 1, 8, CKIT_RACE ? 60 : 400, check_blocks);
	if (!getenv("SIMT_SEED") && !getenv("SIMT_CASE"))
		ck_assert_uint_eq(fewest, plans[_i].blocks);
	ckit_destroy(kit);
}
END_TEST

/* A lane without another small request gets a block without a count. */
static MAM_KERNEL(lone)
{
	struct ckit *kit = argument;
	uint32_t bytes = mam_lane() ? LARGE : 8;
	unsigned char *object = get(kit, bytes);

	MAM_KASSERT(*(uint64_t *)(void *)(object - 8) >> 32 == MAM_COMPARTMENT_ALONE);
	MAM_KASSERT(*(uint64_t *)(void *)(object - 16) == bytes + 16);
	release(kit, object);
}

START_TEST(lone_lane_gets_its_own_block)
{
	struct ckit *kit = ckit_create(1 << 12, NULL);

	ckit_explore(kit, "a lone lane", lone, 2, 1, 10, ckit_check_served);
	ckit_explore(kit, "a lone lane among large ones", lone, 1, 3, 50, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* Every subset of five lanes with small requests; the rest make large requests or none. */
START_TEST(each_subset_of_lanes_is_served)
{
	struct ckit *kit = ckit_create(1 << 14, NULL);
	struct plan plan = { { 0 }, 0 };
	uint32_t small, lane, rest;

	kit->plan = &plan;
	for (rest = 0; rest < 2; rest++)
		for (small = 0; small < 32; small++) {
			for (lane = 0; lane < 5; lane++)
				plan.bytes[lane] = small >> lane & 1 ? 1 + (lane * 53 + small) % 200
						   : rest            ? LARGE + lane
								     : 0;
			ckit_explore(kit, "subsets", ask, 1, 5, 4, ckit_check_served);
		}
	ckit_destroy(kit);
}
END_TEST

/* ---- frees by any lane --------------------------------------------------------------------- */

/* Random sizes, some of them large. */
static uint32_t random_size(void)
{
	uint64_t random = simt_random();

	return 1 + (uint32_t)(random % 5 ? (random >> 8) % 64 : (random >> 8) % 400);
}

static MAM_KERNEL(rounds)
{
	struct ckit *kit = argument;
	void *own = NULL;
	uint32_t round;

	for (round = 0; round < 4; round++) {
		if (own) {
			release(kit, own);
			own = NULL;
		} else if (simt_random() % 3) {
			own = get(kit, random_size());
		}
	}
	release(kit, own);
}

/* Frees what another lane of the block allocated; then parts that lanes of any block left. */
static MAM_KERNEL(swap)
{
	struct ckit *kit = argument;
	uint32_t threads = simt_block_threads(), all = mam_grid_blocks() * threads, i;

	ckit_keep(kit, place(), get(kit, random_size()));
	mam_syncthreads();
	release(kit, ckit_take(kit, mam_block() * threads + (simt_thread() * 7 + 3) % threads));
	ckit_keep(kit, all + place(), get(kit, random_size()));
	for (i = 0; i < all; i += 5)
		release(kit, ckit_take(kit, all + (i + other(all)) % all));
	mam_syncthreads();
	release(kit, ckit_take(kit, all + place()));
}

START_TEST(parts_are_freed_by_any_lane)
{
	struct ckit *kit = ckit_create(1 << 16, NULL);

	ckit_explore(kit, "rounds", rounds, 1, 3, CKIT_RACE ? 400 : 4000, ckit_check_served);
	ckit_explore(kit, "rounds of two warps", rounds, 1, 40, CKIT_RACE ? 30 : 300,
		     ckit_check_served);
	ckit_explore(kit, "rounds of blocks", rounds, 3, 4, CKIT_RACE ? 100 : 800,
		     ckit_check_served);
	ckit_explore(kit, "swapped", swap, 1, 6, CKIT_RACE ? 200 : 2000, ckit_check_served);
	ckit_explore(kit, "swapped by blocks", swap, 3, 9, CKIT_RACE ? 40 : 300, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

static MAM_KERNEL(fill)
{
	struct ckit *kit = argument;

	ckit_keep(kit, place(), get(kit, random_size()));
}

static MAM_KERNEL(empty)
{
	release(argument, ckit_take(argument, other(mam_grid_blocks() * simt_block_threads())));
}

static bool in_turn(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, fill, 2, 12, argument) &&
	       simt_world_launch(world, 2, rounds, 1, 8, argument) &&
	       simt_world_launch(world, 1, empty, 3, 8, argument);
}

START_TEST(parts_are_freed_by_later_kernel)
{
	struct ckit *kit = ckit_create(1 << 16, NULL);

	ckit_explore_world(kit, "a later kernel, and a concurrent one", in_turn,
			   CKIT_RACE ? 80 : 600, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* In the order that `plan` specifies: lane by lane, so that each may be the last of the block. */
static MAM_KERNEL(in_order)
{
	struct ckit *kit = argument;
	uint32_t order = *(const uint32_t *)kit->plan, left[4] = { 0, 1, 2, 3 }, turn, i;
	uint32_t all = (1u << simt_block_threads()) - 1;
	void *object = get(kit, 8 + mam_lane() * 16);

	for (turn = 0; turn < 4; turn++) {
		i = order % (4 - turn);
		order /= 4 - turn;
		mam_warp_sync(all);
		if (left[i] == mam_lane())
			release(kit, object);
		left[i] = left[3 - turn];
	}
}

START_TEST(parts_are_freed_in_every_order)
{
	struct ckit *kit = ckit_create(1 << 12, NULL);
	uint32_t order;

	kit->plan = &order;
	for (order = 0; order < 24; order++)
		ckit_explore(kit, "every order", in_order, 1, 4, CKIT_RACE ? 40 : 300,
			     ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* ---- scarce memory ------------------------------------------------------------------------- */

/* A fragmented base: it has no block for all lanes, but one for each. */
START_TEST(fragmented_base_serves_lanes_one_by_one)
{
	static const struct plan plan = { { 100, 100, 20, 60, 90, 100, 8, 30 }, 0 };
	struct ckit *kit = ckit_create(1 << 14, &plan);

	kit->max_bytes = 120;
	ckit_explore(kit, "a fragmented base", ask, 1, 8, CKIT_RACE ? 40 : 300, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* A lane that would get memory alone gets it, regardless of other lanes. */
static const char *check_four(void *argument)
{
	const struct ckit *kit = argument;

	return kit->failed == 4 ? ckit_check_empty(argument) : "unexpected set of served lanes";
}

START_TEST(fragmented_base_serves_what_fits)
{
	static const struct plan plan = { { 100, 100, 20, 60, 300, 100, 8, 30 }, 0 };
	struct ckit *kit = ckit_create(1 << 14, &plan);

	kit->max_bytes = 80;
	ckit_explore(kit, "a more fragmented base", ask, 1, 8, CKIT_RACE ? 40 : 300, check_four);
	ckit_destroy(kit);
}
END_TEST

static MAM_KERNEL(some)
{
	struct ckit *kit = argument;
	void *own[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		own[i] = get(kit, random_size());
	for (i = 0; i < 3; i++)
		release(kit, own[i]);
}

/* Starting at a call, every third or second call, and in an arena that is too small. */
START_TEST(refused_requests_leak_nothing)
{
	struct ckit *kit = ckit_create(_i == 3 ? 512 : 1 << 14, NULL);
	uint32_t after;

	if (_i == 0)
		for (after = 1; after < 8; after++) {
			kit->refuse_after = after;
			ckit_explore(kit, "refused from a call on", some, 1, 5,
				     CKIT_RACE ? 40 : 300, NULL);
		}
	else {
		kit->refuse_every = _i == 3 ? 0 : (uint32_t)_i + 1;
		ckit_explore(kit, "refused at intervals", some, 2, 6, CKIT_RACE ? 80 : 600, NULL);
	}
	ckit_destroy(kit);
}
END_TEST

/* ---- over buffers -------------------------------------------------------------------------- */

static uint32_t fifos, blocks;

static void buffers_begin(struct ckit *kit)
{
	mam_buffers_format(kit->own, fifos, blocks, (uintptr_t)kit->arena);
}

static MAM_KERNEL(drain)
{
	struct ckit *kit = argument;

	(void)mam_buffers_drain(kit->own, ckit_base(kit));
}

static bool rounds_and_drain(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, rounds, 2, 5, argument) &&
	       simt_world_launch(world, 1, drain, 2, 2, argument);
}

static bool swap_and_drain(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, swap, 2, 9, argument) &&
	       simt_world_launch(world, 1, rounds, 1, 8, argument) &&
	       simt_world_launch(world, 1, drain, 1, 3, argument);
}

static bool some_and_drain(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, some, 2, 6, argument) &&
	       simt_world_launch(world, 1, drain, 1, 3, argument);
}

START_TEST(buffers_cache_blocks)
{
	struct ckit *kit = ckit_create(1 << 16, NULL);

	fifos = _i == 0 ? 0 : _i == 1 ? 1 : 4;
	blocks = _i == 2 ? MAM_BUFFERS_BLOCKS_MIN : MAM_BUFFERS_BLOCKS;
	kit->own = aligned_alloc(128, (mam_buffers_bytes(fifos, blocks) + 127) / 128 * 128);
	ck_assert_ptr_nonnull(kit->own);
	kit->begin = buffers_begin;
	ckit_explore_world(kit, "rounds over buffers", rounds_and_drain, CKIT_RACE ? 40 : 300,
			   ckit_check_served);
	ckit_explore_world(kit, "swapped over buffers", swap_and_drain, CKIT_RACE ? 20 : 150,
			   ckit_check_served);
	kit->refuse_every = 2;
	ckit_explore_world(kit, "refused below buffers", some_and_drain, CKIT_RACE ? 20 : 150,
			   NULL);
	free(kit->own);
	ckit_destroy(kit);
}
END_TEST

/* ---- invalid frees ------------------------------------------------------------------------- */

static MAM_KERNEL(invalid_frees)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit);
	uint32_t all = (1u << simt_block_threads()) - 1;
	unsigned char *object, *large;

	MAM_KASSERT(!mam_xmalloc_alloc(base, kit->own, 0));
	MAM_KASSERT(!mam_xmalloc_alloc(base, kit->own, (size_t)-1));
	MAM_KASSERT(!mam_xmalloc_alloc(base, kit->own, (size_t)-16));
	MAM_KASSERT(mam_xmalloc_free(base, kit->own, NULL));
	mam_warp_sync(all);
	object = get(kit, 40);
	large = get(kit, LARGE + 80);
	MAM_KASSERT(object && large);
	MAM_KASSERT(!mam_xmalloc_free(base, kit->own, object + 1));
	MAM_KASSERT(!mam_xmalloc_free(base, kit->own, object + 8));
	MAM_KASSERT(!mam_xmalloc_free(base, kit->own, object + 16));
	MAM_KASSERT(!mam_xmalloc_free(base, kit->own, large + 16));
	MAM_KASSERT(!mam_xmalloc_free(base, kit->own, large + 48));
	/* All lanes except the first; then again, while the first keeps the block. */
	mam_warp_sync(all);
	if (mam_lane()) {
		release(kit, object);
		MAM_KASSERT(!mam_xmalloc_free(base, kit->own, object));
		MAM_KASSERT(!mam_xmalloc_free(base, kit->own, object));
	}
	mam_warp_sync(all);
	if (!mam_lane())
		release(kit, object);
	release(kit, large);
}

START_TEST(double_free_is_detected)
{
	struct ckit *kit = ckit_create(1 << 14, NULL);

	ckit_explore(kit, "invalid frees", invalid_frees, 1, 6, CKIT_RACE ? 60 : 400,
		     ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* A free that the base detects: the base determines the result. */
static bool no_free(void *heap, void *block)
{
	(void)heap;
	(void)block;
	return false;
}

static MAM_KERNEL(base_result)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit), deaf = { ckit_base_alloc, no_free, kit, 0 };
	void *object = mam_xmalloc_alloc(base, NULL, 500);

	MAM_KASSERT(object && !mam_xmalloc_free(deaf, NULL, object));
	(void)mam_base_free(base, (unsigned char *)object - 16);
}

START_TEST(result_of_base_is_returned)
{
	struct ckit *kit = ckit_create(1 << 12, NULL);

	ckit_explore(kit, "result of the base", base_result, 1, 2, 3, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("xmalloc");

	tcase_add_loop_test(tcase, small_requests_share_a_block, 0, 9);
	tcase_add_test(tcase, lone_lane_gets_its_own_block);
	tcase_add_test(tcase, each_subset_of_lanes_is_served);
	tcase_add_test(tcase, parts_are_freed_by_any_lane);
	tcase_add_test(tcase, parts_are_freed_by_later_kernel);
	tcase_add_test(tcase, parts_are_freed_in_every_order);
	tcase_add_test(tcase, fragmented_base_serves_lanes_one_by_one);
	tcase_add_test(tcase, fragmented_base_serves_what_fits);
	tcase_add_loop_test(tcase, refused_requests_leak_nothing, 0, 4);
	tcase_add_loop_test(tcase, buffers_cache_blocks, 0, 3);
	tcase_add_test(tcase, double_free_is_detected);
	tcase_add_test(tcase, result_of_base_is_returned);
	return ckit_run(tcase, "coalesce/xmalloc");
}
