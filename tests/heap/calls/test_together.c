/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_together.c - one object shared by several lanes: all of them get the same object, no other
 * lane gets it, it is freed once, and their writes are ordered before those of its next owners.
 */
#include <mam/heap.cuh>

#include "heap/objects/objects_kit.h"

#ifdef SIMT_HOOKS
#define SEEDS 25
#else
#define SEEDS 80
#endif

/* The parameters of a test's kernel. */
struct plan {
	const char *name;
	uint32_t grid, block, blocks;
	uint32_t bytes; /* four per lane */
	uint32_t masks[3];
	simt_kernel *kernel;
};

/* Each owner writes its own word without reading the others. */
static void write_own(uint32_t *object, uint32_t i, uint32_t round)
{
	object[i] = round << 16 | i;
}

static void read_own(const uint32_t *object, uint32_t i, uint32_t round)
{
	MAM_KASSERT(object[i] == (round << 16 | i));
}

/* Groups of a warp that the program names, which call one after another or at the same time. */
static MAM_KERNEL(lanes)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round, mask = 0, leader;
	uint32_t *object;

	for (round = 0; round < 3; round++)
		if (plan->masks[round] >> mam_lane() & 1)
			mask = plan->masks[round];
	if (!mask)
		return;
	leader = mam_ffs32(mask) - 1;
	for (round = 0; round < 4; round++) {
		object = mam_kmalloc_shared_lanes(kit->heap, mask, plan->bytes);
		MAM_KASSERT((uintptr_t)object ==
			    mam_warp_shuffle64(mask, (uintptr_t)object, leader));
		if (!object) {
			if (mam_lane() == leader)
				okit_count_failure(kit, plan->bytes);
			MAM_KASSERT(mam_kfree_shared_lanes(kit->heap, mask, object));
			continue;
		}
		if (mam_lane() == leader)
			okit_note(kit, (unsigned char *)object, plan->bytes);
		write_own(object, mam_lane(), round);
		mam_warp_sync(mask);
		read_own(object, 31 - mam_clz64(mask) + 32, round);
		mam_warp_sync(mask);
		if (mam_lane() == leader)
			okit_forget(kit, (unsigned char *)object);
		mam_warp_sync(mask);
		write_own(object, mam_lane(), ~round);
		MAM_KASSERT(mam_kfree_shared_lanes(kit->heap, mask, object));
	}
}

/* Lanes that happen to converge share an object; each object is freed once. */
static MAM_KERNEL(converged)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t mask = simt_block_threads() >= 32 ? ~0u : (1u << simt_block_threads()) - 1, group;
	uint32_t *object;
	uint32_t round;

	for (round = 0; round < 3; round++) {
		object = mam_kmalloc_shared_warp(kit->heap, plan->bytes);
		MAM_KASSERT(object);
		write_own(object, mam_lane(), round);
		group = mam_warp_match64(mask, (uintptr_t)object);
		if (mam_lane() == mam_ffs32(group) - 1) {
			okit_note(kit, (unsigned char *)object, plan->bytes);
			okit_forget(kit, (unsigned char *)object);
		}
		mam_warp_sync(mask);
		read_own(object, mam_lane(), round);
		/* All lanes, each with its group's object. */
		MAM_KASSERT(mam_kfree_shared_lanes(kit->heap, mask, object));
		/*
		 * Each lane with an object of its own: converged or not, each object is freed once.
		 */
		object = okit_alloc(kit, plan->bytes);
		MAM_KASSERT(object);
		okit_disown(kit, object);
		MAM_KASSERT(mam_kfree_shared_warp(kit->heap, object));
		MAM_KASSERT(mam_kfree_shared_warp(kit->heap, NULL));
	}
}

/* All threads of a block, some of which write until the last moment. */
static MAM_KERNEL(blocks)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round, *one, *two;

	for (round = 0; round < 3; round++) {
		one = mam_kmalloc_shared_block(kit->heap, plan->bytes);
		two = mam_kmalloc_shared_block(kit->heap, plan->bytes);
		if (one)
			write_own(one, simt_thread(), round);
		if (two)
			write_own(two, simt_thread(), ~round);
		if (!simt_thread()) {
			if (one)
				okit_note(kit, (unsigned char *)one, plan->bytes);
			else
				okit_count_failure(kit, plan->bytes);
			if (two)
				okit_note(kit, (unsigned char *)two, plan->bytes);
			else
				okit_count_failure(kit, plan->bytes);
		}
		mam_syncthreads();
		MAM_KASSERT(!one || one != two);
		if (one)
			read_own(one, simt_block_threads() - 1 - simt_thread(), round);
		if (two)
			read_own(two, simt_thread(), ~round);
		mam_syncthreads();
		if (!simt_thread()) {
			if (one)
				okit_forget(kit, (unsigned char *)one);
			if (two)
				okit_forget(kit, (unsigned char *)two);
		}
		mam_syncthreads();
		if (one)
			write_own(one, simt_thread(), round + 7);
		MAM_KASSERT(mam_kfree_shared_block(kit->heap, one));
		MAM_KASSERT(mam_kfree_shared_block(kit->heap, two));
	}
}

/* If two groups free the same object at the same time, one of them succeeds. */
static MAM_KERNEL(twice)
{
	struct okit *kit = argument;
	uint32_t mask = mam_lane() < 16 ? 0xffff : 0xffff0000, all, freed;
	size_t usable;
	void *object = mam_kmalloc_shared_lanes(kit->heap, ~0u, 64);

	freed = mam_kfree_shared_lanes(kit->heap, mask, object);
	all = mam_warp_ballot(~0u, freed);
	MAM_KASSERT(all == 0xffff || all == 0xffff0000);
	MAM_KASSERT(!mam_kfree_shared_block(kit->heap, object));
	MAM_KASSERT(!mam_kfree_shared_lanes(kit->heap, ~0u, (char *)object + 1));
	/* The size is that of the lowest lane, and of the first thread. */
	object = mam_kmalloc_shared_lanes(kit->heap, mask, 100 * (1 + mam_lane()));
	usable = mam_kusable(kit->heap, object);
	/* Two sizes at once: the larger one fits a short run well. */
	MAM_KASSERT(mam_lane() < 16 ? usable == 112 : okit_fits(1700, usable));
	MAM_KASSERT(mam_kfree_shared_lanes(kit->heap, mask, object));
	object = mam_kmalloc_shared_block(kit->heap, 100 * (1 + simt_thread()));
	MAM_KASSERT(mam_kusable(kit->heap, object) == 112);
	MAM_KASSERT(mam_kfree_shared_block(kit->heap, object));
}

static const struct plan plans[] = {
	{ "all lanes", 2, 32, 2, 128, { ~0u, 0, 0 }, lanes },
	{ "three groups of a warp",
	  2,
	  32,
	  2,
	  128,
	  { 0x0000ffffu, 0x00f00000u, 0x80000000u },
	  lanes },
	{ "interleaved groups", 1, 64, 2, 200, { 0x55555555u, 0xaaaaaaaau, 0 }, lanes },
	{ "groups, with room for three objects",
	  2,
	  32,
	  1,
	  20480,
	  { 0x000000ffu, 0xffff0000u, 0 },
	  lanes },
	{ "converged lanes", 2, 32, 4, 128, { 0 }, converged },
	{ "converged lanes, few of them", 2, 7, 2, 300, { 0 }, converged },
	{ "two blocks", 2, 40, 2, 160, { 0 }, blocks },
	{ "blocks, with room for three objects", 3, 33, 1, 20480, { 0 }, blocks },
	{ "blocks of one thread", 3, 1, 1, 64, { 0 }, blocks },
	{ "double free by two groups", 1, 32, 4, 0, { 0 }, twice },
};

/* An error is counted once for all lanes that share the object. */
static const char *check_twice(void *argument)
{
	const struct okit *kit = argument;

	if (okit_tally(kit, MAM_OBJECT_TWICE) != 2)
		return "wrong number of double frees";
	return okit_tally(kit, MAM_OBJECT_INTERIOR) == 1 ? NULL
							 : "wrong number of interior pointers";
}

START_TEST(shared_object_is_allocated_and_freed_once)
{
	const struct plan *plan = &plans[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);

	kit->whole = plan->kernel == blocks || plan->kernel == twice;
	okit_explore(kit, plan->name, plan->kernel, plan->grid, plan->block, SEEDS,
		     plan->kernel == twice ? check_twice : NULL);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("together");

	tcase_add_loop_test(tcase, shared_object_is_allocated_and_freed_once, 0,
			    sizeof(plans) / sizeof(plans[0]));
	return kit_run(tcase, "heap/together");
}
