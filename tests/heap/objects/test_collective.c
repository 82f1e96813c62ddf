/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collective.c - objects of which several lanes own a part each: where the parts are, that any
 * lane may free them in any order, and that the object is freed with the last part and not before.
 */
#include "heap/objects/collective_kit.h"

#ifdef SIMT_HOOKS
#define SEEDS 60
#else
#define SEEDS 200
#endif

/* The parameters of a test's kernel. */
struct plan {
	const char *name;
	ckit_sizes *sizes;
	uint32_t grid, block, blocks;
};

/* In the memory of a block: its parts, by thread. */
struct table {
	uint64_t part[128]; /* atomic */
	uint32_t left;      /* atomic */
};

static void put(struct table *table, uint32_t i, void *part)
{
	mam_atomic_store64(&table->part[i], (uint64_t)(uintptr_t)part, MAM_RELEASE, MAM_AT_BLOCK);
}

static unsigned char *get(struct table *table, uint32_t i)
{
	return (unsigned char *)(uintptr_t)mam_atomic_load64(&table->part[i], MAM_ACQUIRE,
							     MAM_AT_BLOCK);
}

/*
 * For each subset of the lanes of a small warp: layout and bytes; each part is freed by the next
 * lane.
 */
static MAM_KERNEL(subsets)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t mask, all = (1u << simt_block_threads()) - 1, next, leader;
	struct ckit_want want;
	unsigned char *part, *first, *other;
	size_t bytes;

	for (mask = 1; mask <= all; mask++) {
		if (!(mask >> mam_lane() & 1))
			continue;
		bytes = plan->sizes(mam_lane());
		want = ckit_want(plan->sizes, mask, 32, mam_lane());
		part = mam_kmalloc_lanes(kit->heap, mask, bytes);
		MAM_KASSERT(!part == !bytes);
		leader = mam_ffs32(mam_warp_ballot(mask, bytes != 0) | 1u << 31) - 1;
		if (!want.parts)
			continue;
		first = (unsigned char *)(uintptr_t)mam_warp_shuffle64(mask, (uintptr_t)part,
								       leader);
		MAM_KASSERT((uintptr_t)first % 16 == 0);
		MAM_KASSERT(!part || part == first + want.before);
		MAM_KASSERT(mam_kusable(kit->heap, part) == bytes);
		if (mam_lane() == leader)
			okit_note(kit, first - want.front, want.front + want.total);
		mam_warp_sync(mask);
		ckit_fill(part, bytes, mam_lane());
		mam_warp_sync(mask);
		/* The next lane's, cyclically. */
		next = mam_ffs32(mask >> mam_lane() >> 1)
			       ? mam_lane() + mam_ffs32(mask >> mam_lane() >> 1)
			       : mam_ffs32(mask) - 1;
		other = (unsigned char *)(uintptr_t)mam_warp_shuffle64(mask, (uintptr_t)part, next);
		bytes = plan->sizes(next);
		if (other)
			ckit_look(other, bytes, next);
		MAM_KASSERT(!other || mam_kusable(kit->heap, other) == bytes);
		if (mam_lane() == leader)
			okit_forget(kit, first - want.front);
		mam_warp_sync(mask);
		if (mask % 3) {
			MAM_KASSERT(mam_kfree(kit->heap, other));
			/*
			 * The lanes are synchronized, so all parts are freed. Lanes that are not in
			 * the mask may have reused the memory.
			 */
			mam_warp_sync(mask);
			MAM_KASSERT(mask != all || !mam_kusable(kit->heap, other));
		} else if (mam_lane() == leader) {
			MAM_KASSERT(mam_kfree_parts(kit->heap, part));
			MAM_KASSERT(mask != all || !mam_kusable(kit->heap, part));
		}
		mam_warp_sync(mask);
	}
}

/* Three parts are freed in each order by each lane: the object is live until the last. */
static MAM_KERNEL(orders)
{
	static const uint8_t order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					     { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t turn, step, k, part;
	struct ckit_want want = ckit_want(plan->sizes, 7, 3, 0);
	unsigned char *own, *parts[3], *base;

	for (turn = 0; turn < 18; turn++) {
		own = mam_kmalloc_lanes(kit->heap, 7, plan->sizes(mam_lane()));
		MAM_KASSERT(own);
		ckit_fill(own, plan->sizes(mam_lane()), turn);
		mam_warp_sync(7);
		for (k = 0; k < 3; k++)
			parts[k] = (unsigned char *)(uintptr_t)mam_warp_shuffle64(7, (uintptr_t)own,
										  k);
		base = parts[0] - want.front;
		if (mam_lane() == turn % 3) {
			okit_note(kit, base, want.front + want.total);
			for (step = 0; step < 3; step++) {
				MAM_KASSERT(mam_kusable(kit->heap, base));
				part = order[turn / 3][step];
				ckit_look(parts[part], plan->sizes(part), turn);
				if (step == 2)
					okit_forget(kit, base);
				MAM_KASSERT(mam_kfree(kit->heap, parts[part]));
				MAM_KASSERT(!mam_kusable(kit->heap, parts[part]));
			}
			MAM_KASSERT(!mam_kusable(kit->heap, base));
		}
		mam_warp_sync(7);
	}
}

/* Parts for all threads of a block; they are freed by other threads, or all at once. */
static MAM_KERNEL(blocks)
{
	MAM_SHARED(struct table, table);
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i = simt_thread(), n = simt_block_threads(), round, other;
	struct ckit_want want = ckit_want(plan->sizes, ~0u, n, i);
	unsigned char *part, *first;
	size_t bytes;

	for (round = 0; round < 3; round++) {
		bytes = plan->sizes(i);
		part = mam_kmalloc_block(kit->heap, bytes);
		put(table, i, part);
		if (i == 0)
			mam_atomic_store32(&table->left, want.parts, MAM_RELAXED, MAM_AT_BLOCK);
		ckit_fill(part, part ? bytes : 0, i + round);
		mam_syncthreads();
		/* No room: no thread gets a part. */
		if (!get(table, want.last)) {
			MAM_KASSERT(!part);
			if (i == 0 && want.parts)
				okit_count_failure(kit, want.front + want.total);
			mam_syncthreads();
			continue;
		}
		MAM_KASSERT(!part == !bytes);
		first = get(table, want.last) - ckit_want(plan->sizes, ~0u, n, want.last).before;
		MAM_KASSERT((uintptr_t)first % 16 == 0 && (!part || part == first + want.before));
		if (i == 0)
			okit_note(kit, first - want.front, want.front + want.total);
		mam_syncthreads();
		other = (i * (round ? 1 : 7) + 3) % n;
		if (n % 7 == 0)
			other = n - 1 - i;
		part = get(table, other);
		bytes = plan->sizes(other);
		if (part) {
			ckit_look(part, bytes, other + round);
			MAM_KASSERT(mam_kusable(kit->heap, part) == bytes);
		}
		mam_syncthreads();
		if (round < 2) {
			if (part &&
			    mam_atomic_add32(&table->left, ~0u, MAM_RELAXED, MAM_AT_BLOCK) == 1)
				okit_forget(kit, first - want.front);
			MAM_KASSERT(mam_kfree(kit->heap, part));
		} else if (i == n / 2) {
			/* One lane's, before all others. */
			if (want.parts > 1) {
				MAM_KASSERT(mam_kfree(kit->heap, get(table, want.last)));
				MAM_KASSERT(!mam_kusable(kit->heap, get(table, want.last)));
			}
			okit_forget(kit, first - want.front);
			MAM_KASSERT(mam_kfree_parts(kit->heap, first));
			MAM_KASSERT(!mam_kusable(kit->heap, first));
		}
		mam_syncthreads();
	}
}

/* ---- parts that other lanes free, also in a later kernel ---- */

#define LEFT_OBJECTS 64
static uint32_t parts_left[LEFT_OBJECTS]; /* atomic */

static void begin_left(void *argument)
{
	okit_begin(argument);
	memset(parts_left, 0, sizeof(parts_left));
}

/*
 * A part starts with the number of its object in the test, the distance from the object's start,
 * and the part's size.
 */
static void label(uint32_t *part, uint32_t number, size_t front, size_t bytes)
{
	part[0] = number;
	part[1] = (uint32_t)front;
	part[2] = (uint32_t)bytes;
	ckit_fill((unsigned char *)(part + 3), bytes - 12, number);
}

static void drop(struct okit *kit, uint32_t *part)
{
	if (!part)
		return;
	MAM_KASSERT(mam_kusable(kit->heap, part) == part[2]);
	ckit_look((unsigned char *)(part + 3), part[2] - 12, part[0]);
	if (mam_atomic_add32(&parts_left[part[0]], ~0u, MAM_RELAXED, MAM_AT_DEVICE) == 1)
		okit_forget(kit, (unsigned char *)part - part[1]);
	MAM_KASSERT(mam_kfree(kit->heap, part));
}

static size_t labeled(uint32_t i)
{
	return 12 + 4 * (i % 3);
}

/* Lanes allocate parts, leave them to other lanes, and free what others left. */
static MAM_KERNEL(exchange)
{
	struct okit *kit = argument;
	uint32_t lanes = simt_block_threads(), mask = lanes < 32 ? (1u << lanes) - 1 : ~0u;
	uint32_t place = mam_block() * lanes + simt_thread(), all = mam_grid_blocks() * lanes,
		 round;
	struct ckit_want want = ckit_want(labeled, mask, lanes, mam_lane());
	uint32_t *part, *first, number;

	for (round = 0; round < 3; round++) {
		part = mam_kmalloc_lanes(kit->heap, mask, labeled(mam_lane()));
		number = mam_block() * 4 + round;
		first = (uint32_t *)(uintptr_t)mam_warp_shuffle64(mask, (uintptr_t)part, 0);
		if (!part && mam_lane() == 0)
			okit_count_failure(kit, want.front + want.total);
		if (part && mam_lane() == 0) {
			okit_note(kit, (unsigned char *)first - want.front,
				  want.front + want.total);
			mam_atomic_store32(&parts_left[number], want.parts, MAM_RELAXED,
					   MAM_AT_DEVICE);
		}
		mam_warp_sync(mask);
		if (part)
			label(part, number, want.front + want.before, labeled(mam_lane()));
		drop(kit, okit_take(kit, (place * 5 + round) % all));
		drop(kit, okit_take(kit, place));
		okit_keep(kit, place, part);
	}
}

static MAM_KERNEL(empty)
{
	struct okit *kit = argument;
	uint32_t at, lanes = mam_grid_blocks() * simt_block_threads();

	for (at = mam_block() * simt_block_threads() + simt_thread(); at < OKIT_KEPT && at < 256;
	     at += lanes)
		drop(kit, okit_take(kit, at));
}

static bool build_exchange(struct simt_world *world, void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	return simt_world_launch(world, 1, exchange, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, empty, 2, 20, argument);
}

/* ---- the cases ---- */

static const struct plan small[] = {
	{ "words", ckit_word, 1, 5, 2 },
	{ "rising", ckit_rising, 1, 5, 2 },
	{ "lanes without part", ckit_gaps, 1, 5, 2 },
	{ "equal, lanes without part", ckit_even_gaps, 1, 5, 2 },
	{ "runs", ckit_wide, 1, 4, 2 },
};

START_TEST(subset_of_lanes_gets_adjacent_parts)
{
	const struct plan *plan = &small[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	okit_explore(kit, plan->name, subsets, plan->grid, plan->block, SEEDS / 2, NULL);
	okit_destroy(kit);
}
END_TEST

static const struct plan three[] = {
	{ "three words", ckit_word, 1, 3, 2 },
	{ "three, rising", ckit_rising, 1, 3, 2 },
	{ "three, in runs", ckit_wide, 1, 3, 2 },
};

START_TEST(last_part_frees_object_in_any_order)
{
	const struct plan *plan = &three[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	okit_explore(kit, plan->name, orders, 1, 3, SEEDS / 2, NULL);
	okit_destroy(kit);
}
END_TEST

static const struct plan whole[] = {
	{ "one thread", ckit_word, 2, 1, 1 },
	{ "20 threads", ckit_rising, 1, 20, 1 },
	{ "32 threads", ckit_line, 1, 32, 1 },
	{ "33 threads", ckit_word, 1, 33, 1 },
	{ "33 threads, rising", ckit_rising, 1, 33, 1 },
	{ "35 threads, some without part", ckit_even_gaps, 1, 35, 1 },
	{ "96 threads", ckit_line, 1, 96, 1 },
	{ "96 threads, some without part", ckit_gaps, 1, 96, 1 },
	{ "in runs, with room for one", ckit_wide, 2, 40, 3 },
};

START_TEST(block_gets_adjacent_parts)
{
	const struct plan *plan = &whole[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	kit->whole = true;
	okit_explore(kit, plan->name, blocks, plan->grid, plan->block, SEEDS / 4, NULL);
	okit_destroy(kit);
}
END_TEST

static const struct plan others[] = {
	{ "few lanes", labeled, 4, 3, 1 },
	{ "warps", labeled, 3, 32, 2 },
};

START_TEST(other_lanes_may_free_parts)
{
	const struct plan *plan = &others[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);
	struct simt_case test = {
		.name = plan->name,
		.build = build_exchange,
		.argument = kit,
		.begin = begin_left,
		.check = okit_check_empty,
		.seeds = SEEDS,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("collective");

	tcase_add_loop_test(tcase, subset_of_lanes_gets_adjacent_parts, 0,
			    sizeof(small) / sizeof(small[0]));
	tcase_add_loop_test(tcase, last_part_frees_object_in_any_order, 0,
			    sizeof(three) / sizeof(three[0]));
	tcase_add_loop_test(tcase, block_gets_adjacent_parts, 0, sizeof(whole) / sizeof(whole[0]));
	tcase_add_loop_test(tcase, other_lanes_may_free_parts, 0,
			    sizeof(others) / sizeof(others[0]));
	return kit_run(tcase, "heap/collective");
}
