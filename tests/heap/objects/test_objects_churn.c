/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_churn.c - the heap of objects under random sizes, lanes and times: requests for more
 * than there is, slabs that become empty and are closed, handles that several warps share; and a
 * slot that is always free, and so must always be found.
 */
#include "heap/objects/objects_kit.h"

#define HELD 4

static const size_t sizes[] = { 1,    16,   40,   64,   112,  200,  256,  500,   512,
				1000, 1024, 1500, 2048, 4100, 8192, 9000, 12000, 20000 };

struct plan {
	const char *name;
	uint32_t blocks, columns;
	uint32_t grid, block, resident;
	uint32_t rounds;
	uint32_t first, count; /* first size, number of sizes */
	uint32_t alike;        /* of eight requests, those with one size for the warp */
	uint32_t seeds;
};

static size_t some_size(const struct plan *plan, uint32_t round)
{
	uint32_t chance = (uint32_t)simt_random();

	if (chance % 8 < plan->alike)
		chance = round * 5 + mam_block();
	return sizes[plan->first + (chance >> 3) % plan->count];
}

/* Allocates, keeps up to four objects, frees one of them, in random order. */
static MAM_KERNEL(churn)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	void *held[HELD] = { NULL };
	uint32_t round, which;

	for (round = 0; round < plan->rounds; round++) {
		which = (uint32_t)simt_random() % HELD;
		if (held[which]) {
			okit_free(kit, held[which]);
			held[which] = NULL;
		}
		if (simt_random() % 4)
			held[which] = okit_alloc(kit, some_size(plan, round));
	}
	for (which = 0; which < HELD; which++)
		okit_free(kit, held[which]);
}

static const struct plan plans[] = {
	{ "a warp, small sizes", 1, 1, 1, 32, 0, 12, 0, 8, 4, 20 },
	{ "warps, small sizes, one handle", 1, 1, 3, 32, 0, 8, 0, 8, 6, 16 },
	{ "warps, small sizes, several handles", 2, 8, 4, 40, 0, 6, 0, 8, 8, 12 },
	{ "lone lanes, small sizes", 1, 2, 20, 1, 0, 12, 0, 8, 0, 20 },
	{ "few classes, far too many requests", 1, 2, 2, 48, 0, 6, 7, 3, 4, 12 },
	{ "each class fills a block", 3, 2, 2, 20, 0, 8, 10, 5, 4, 12 },
	{ "runs only", 2, 1, 3, 6, 0, 8, 15, 3, 2, 16 },
	{ "all sizes", 4, 2, 2, 32, 0, 6, 0, 18, 3, 10 },
	{ "all sizes, few lanes at a time", 3, 2, 10, 8, 2, 6, 0, 18, 3, 10 },
	{ "all sizes, one block of memory", 1, 1, 12, 1, 0, 8, 0, 18, 0, 16 },
};
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

static void explore(struct okit *kit, simt_kernel *kernel, const char *(*check)(void *))
{
	const struct plan *plan = kit->plan;
	struct simt_case test = {
		.name = plan->name,
		.kernel = kernel,
		.grid = plan->grid,
		.block = plan->block,
		.argument = kit,
		.begin = okit_begin,
		.check = check,
		.seeds = plan->seeds,
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = 20000000,
			    .resident = plan->resident },
	};

	simt_must_pass(&test);
}

START_TEST(random_requests_keep_heap_consistent)
{
	struct okit *kit = okit_create(plans[_i].blocks, plans[_i].columns, &plans[_i]);

	explore(kit, churn, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* As long as the live objects fit in any arrangement, no request fails. */
static const struct plan roomy[] = {
	/*
	 * Two classes that fill a block each, 8 lanes with at most 4: up to 32 blocks are pinned.
	 */
	{ "room for all, each class fills a block", 34, 2, 2, 4, 0, 16, 10, 2, 4, 6 },
	/* 16 lanes with at most 4 slots of 4 units, in any of 16 positions per block: 4 blocks. */
	{ "room for all, small sizes", 5, 1, 2, 8, 0, 16, 0, 5, 4, 10 },
};

START_TEST(random_requests_with_room_succeed)
{
	struct okit *kit = okit_create(roomy[_i].blocks, roomy[_i].columns, &roomy[_i]);

	explore(kit, churn, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/* The metadata matches what is still live at the end. */
static MAM_KERNEL(leave_some)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	void *object;

	for (round = 0; round < plan->rounds; round++) {
		object = okit_alloc(kit, some_size(plan, round));
		if (object && simt_random() % 3)
			okit_free(kit, object);
	}
}

static const struct plan left[] = {
	{ "some objects stay live", 4, 2, 2, 40, 0, 5, 0, 16, 4, 8 },
	{ "some objects stay live, small sizes", 1, 1, 3, 32, 0, 5, 0, 8, 4, 8 },
};

START_TEST(live_objects_match_metadata)
{
	struct okit *kit = okit_create(left[_i].blocks, left[_i].columns, &left[_i]);

	explore(kit, leave_some, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * A slab of one class, which has one group, has more slots than there are lanes that ever request
 * one, and one lane keeps its first object to the end, so the slab stays. Each request for a slot
 * succeeds, in every interleaving with the others.
 */
#define PATIENT 40
static MAM_KERNEL(slot_is_always_free)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	void *object;

	if (!mam_block() && !simt_thread())
		okit_keep(kit, 0, okit_alloc(kit, 80));
	/* All lanes wait for that. */
	while (!mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE))
		mam_nanosleep(10);
	for (round = 0; round < plan->rounds; round++) {
		if (mam_block() % 2) {
			object = okit_alloc(kit, some_size(plan, round));
		} else {
			object = okit_alloc(kit, 72);
			MAM_KASSERT(object);
		}
		if (simt_random() & 1)
			mam_nanosleep(50);
		okit_free(kit, object);
	}
}

static const char *check_slot_always_free(void *argument)
{
	struct okit *kit = argument;
	const char *wrong = okit_check(kit);

	if (!wrong && kit->live != 1)
		wrong = "the first object is not the only live one";
	return wrong;
}

static const struct plan always[] = {
	{ "always a free slot", 1, 1, 2, PATIENT, 0, 5, 8, 8, 3, 8 },
	{ "always a free slot, and runs", 2, 2, 2, PATIENT, 0, 4, 10, 8, 3, 6 },
	{ "always a free slot, lone lanes", 1, 1, 24, 1, 0, 6, 7, 9, 0, 8 },
};

START_TEST(free_slot_is_always_found)
{
	struct okit *kit = okit_create(always[_i].blocks, always[_i].columns, &always[_i]);

	explore(kit, slot_is_always_free, check_slot_always_free);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_churn");

	tcase_add_loop_test(tcase, random_requests_keep_heap_consistent, 0, PLANS);
	tcase_add_loop_test(tcase, random_requests_with_room_succeed, 0, 2);
	tcase_add_loop_test(tcase, live_objects_match_metadata, 0, 2);
	tcase_add_loop_test(tcase, free_slot_is_always_found, 0, 3);
	return kit_run(tcase, "heap/objects_churn");
}
