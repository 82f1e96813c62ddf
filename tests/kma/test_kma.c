/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kma.c - the heap of superblocks used by many lanes: no block has two owners, blocks are
 * passed between lanes, memory runs out and becomes available again, lanes stop forever; and no
 * memory is lost.
 */
#include "kma/kit.h"

struct plan {
	const char *name;
	uint32_t superblocks, shift, entries_shift;
	uint32_t grid, block, rounds;
	uint32_t sizes[6]; /* one of them at random; up to the first 0 */
	uint32_t places;   /* where blocks are left for other lanes; 0: each lane frees its own */
	uint32_t live;     /* number of blocks at a time */
	uint32_t stoppers; /* number of blocks, from the first one, with a lane that stops */
	uint32_t room;     /* 1: no request may fail; 2: some request must fail in some run */
	uint32_t seeds, seeds_race;
};

#define LIVE_MAX 8u

static uint32_t one_size(const struct plan *plan)
{
	uint32_t n = 0;

	while (n < 6 && plan->sizes[n])
		n++;
	return plan->sizes[kkit_below(n)];
}

static MAM_KERNEL(churn)
{
	struct kkit *kit = argument;
	const struct plan *plan = kit->plan;
	void *blocks[LIVE_MAX] = { NULL };
	uint32_t n, i;

	if (mam_block() < plan->stoppers && simt_thread() == kkit_below(plan->block))
		stop_after(1 + kkit_below(12 * plan->rounds));
	for (n = 0; n < plan->rounds; n++) {
		i = kkit_below(plan->live);
		kkit_put(kit, blocks[i]);
		blocks[i] = kkit_get(kit, one_size(plan));
		MAM_KASSERT(blocks[i] || plan->room != 1);
		if (plan->places)
			blocks[i] = kkit_exchange(kit, kkit_below(plan->places), blocks[i]);
	}
	for (i = 0; i < LIVE_MAX; i++)
		kkit_put(kit, blocks[i]);
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

static uint64_t refused;

static const char *check(void *argument)
{
	struct kkit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kma_stats stats;
	uint32_t i;

	for (i = 0; i < plan->places; i++)
		kkit_put(kit, kkit_exchange(kit, i, NULL));
	stats = kkit_stats(kit);
	if (stats.failures[MAM_KMA_NO_SUPERBLOCK] + stats.failures[MAM_KMA_NO_RUN] != kit->none)
		return "not every NULL was counted";
	refused += kit->none;
	return kkit_whole(kit);
}

static const struct plan plans[] = {
	/*
	 * name, superblocks, shift, entries, grid, block, rounds, sizes, places, live, stoppers,
	 * room, seeds
	 */
	{ "two lanes, halves", 2, 8, 0, 2, 1, 8, { 112 }, 0, 1, 0, 1, 2000, 400 },
	{ "three lanes, halves", 4, 8, 0, 3, 1, 6, { 112 }, 0, 1, 0, 1, 2000, 400 },
	{ "lanes for two halves", 1, 8, 0, 3, 1, 6, { 112 }, 0, 1, 0, 2, 2000, 400 },
	{ "two classes, one superblock", 1, 8, 0, 3, 1, 6, { 112, 80 }, 0, 1, 0, 2, 2000, 400 },
	{ "two classes, two superblocks", 2, 8, 0, 4, 1, 5, { 112, 64 }, 0, 2, 0, 2, 1500, 300 },
	{ "left for other lanes", 3, 8, 0, 3, 1, 8, { 112, 80, 64 }, 2, 1, 0, 0, 1500, 300 },
	{ "entries", 4, 8, 1, 2, 2, 6, { 112, 4 }, 2, 2, 0, 0, 1500, 300 },
	{ "whole ones and halves", 3, 8, 0, 3, 1, 6, { 112, 256 }, 0, 1, 0, 0, 1500, 300 },
	{ "runs", 6, 8, 0, 3, 1, 6, { 300, 512, 200, 60 }, 0, 2, 0, 2, 1500, 300 },
	{ "many blocks of one", 2, 8, 0, 2, 3, 6, { 4 }, 0, 3, 0, 1, 800, 200 },
	{ "a group, several superblocks", 5, 8, 0, 2, 4, 4, { 64 }, 0, 2, 0, 0, 1000, 200 },
	{ "groups and not enough", 2, 8, 1, 2, 5, 4, { 64, 112 }, 2, 1, 0, 0, 1000, 200 },
	{ "a group, and blocks of another", 3, 8, 0, 3, 3, 4, { 48 }, 3, 1, 0, 0, 1000, 200 },
	{ "a warp and more", 16, 8, 1, 2, 40, 3, { 16, 64, 112 }, 4, 1, 0, 0, 30, 6 },
	{ "4,096 B", 6, 12, 2, 4, 8, 6, { 4, 20, 300, 1024, 2032, 5000 }, 4, 4, 0, 0, 200, 40 },
	{ "one lane stops", 4, 8, 0, 4, 1, 5, { 112, 80 }, 0, 1, 1, 0, 1500, 300 },
	{ "two lanes stop", 6, 8, 0, 5, 1, 5, { 112, 80, 256 }, 2, 1, 2, 0, 1500, 300 },
};

START_TEST(blocks_have_one_owner_and_none_is_lost)
{
	const struct plan *plan = &plans[_i];
	struct kkit *kit = kkit_create(plan->superblocks, plan->shift, plan->entries_shift, plan);

	refused = 0;
	kit->others = (plan->grid - plan->stoppers) * plan->block;
	kkit_explore(kit, plan->name, churn, plan->grid, plan->block,
		     KKIT_RACE ? plan->seeds_race : plan->seeds, check);
	/* With fewer runs the test proves nothing. */
	if (kit->runs >= 60) {
		ck_assert(!plan->stoppers || kit->halts > kit->runs / 4);
		ck_assert(plan->room != 2 || refused);
	}
	kkit_destroy(kit);
}
END_TEST

/* Many lanes format the heap, and the same kernel uses it after a barrier. */
static MAM_KERNEL(make_and_use)
{
	struct kkit *kit = argument;
	void *part;

	(void)mam_kma_format(kit->heap, kit->terms, simt_thread(), simt_block_threads());
	mam_syncthreads();
	part = kkit_get(kit, 60);
	MAM_KASSERT(part);
	kkit_put(kit, part);
}

static void spoil(struct kkit *kit)
{
	memset(kit->heap, 0x5a, kit->terms.bytes);
}

START_TEST(heap_can_be_formatted_by_many_lanes)
{
	struct kkit *kit = kkit_create(9, 8, 1, NULL);

	kit->begin = spoil;
	kkit_explore(kit, "formatted by many lanes", make_and_use, 1, 6, KKIT_RACE ? 100 : 400,
		     kkit_whole);
	kkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("kma");

	tcase_add_loop_test(tcase, blocks_have_one_owner_and_none_is_lost, 0,
			    sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, heap_can_be_formatted_by_many_lanes);
	return kkit_run(tcase, "kma/kma");
}
