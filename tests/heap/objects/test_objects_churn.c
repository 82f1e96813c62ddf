/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_churn.c - the heap of objects while sizes, lanes and times are left to chance: more
 * asked for than there is, slabs that empty and go, handles that several warps have in common; and
 * beside all that a slot that is always there, and so is always found.
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
	uint32_t first, count; /* of sizes */
	uint32_t alike;        /* of eight requests, those of one size for the warp */
	uint32_t seeds;
};

static size_t some_size(const struct plan *plan, uint32_t round)
{
	uint32_t chance = (uint32_t)simt_random();

	if (chance % 8 < plan->alike)
		chance = round * 5 + mam_block();
	return sizes[plan->first + (chance >> 3) % plan->count];
}

/* Takes, keeps up to four, gives one of them back, in any order. */
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
	{ "a warp, small", 1, 1, 1, 32, 0, 12, 0, 8, 4, 20 },
	{ "warps, small, one handle", 1, 1, 3, 32, 0, 8, 0, 8, 6, 16 },
	{ "warps, small, more handles", 2, 8, 4, 40, 0, 6, 0, 8, 8, 12 },
	{ "lone lanes, small", 1, 2, 20, 1, 0, 12, 0, 8, 0, 20 },
	{ "few classes, much too many", 1, 2, 2, 48, 0, 6, 7, 3, 4, 12 },
	{ "a block each", 3, 2, 2, 20, 0, 8, 10, 5, 4, 12 },
	{ "runs only", 2, 1, 3, 6, 0, 8, 15, 3, 2, 16 },
	{ "all sizes", 4, 2, 2, 32, 0, 6, 0, 18, 3, 10 },
	{ "all sizes, few at a time", 3, 2, 10, 8, 2, 6, 0, 18, 3, 10 },
	{ "all sizes, one block of ground", 1, 1, 12, 1, 0, 8, 0, 18, 0, 16 },
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

START_TEST(by_chance)
{
	struct okit *kit = okit_create(plans[_i].blocks, plans[_i].columns, &plans[_i]);

	explore(kit, churn, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* As long as what they hold fits however it lies, nobody goes without. */
static const struct plan roomy[] = {
	/* Two classes of a block each, 8 lanes with 4 at most: 32 blocks may be pinned. */
	{ "room for all, a block each", 34, 2, 2, 4, 0, 16, 10, 2, 4, 6 },
	/* 16 lanes with 4 slots of 4 units at most, in any of 16 places a block: 4 blocks. */
	{ "room for all, small", 5, 1, 2, 8, 0, 16, 0, 5, 4, 10 },
};

START_TEST(room_for_all)
{
	struct okit *kit = okit_create(roomy[_i].blocks, roomy[_i].columns, &roomy[_i]);

	explore(kit, churn, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/* What is still held at the end is what the books say. */
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
	{ "some are left", 4, 2, 2, 40, 0, 5, 0, 16, 4, 8 },
	{ "some are left, small", 1, 1, 3, 32, 0, 5, 0, 8, 4, 8 },
};

START_TEST(live_at_the_end)
{
	struct okit *kit = okit_create(left[_i].blocks, left[_i].columns, &left[_i]);

	explore(kit, leave_some, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * A slab of one class has a slot more than the lanes that ever want one, and one lane holds its
 * first object to the end, so that it stays. Whatever the others do, who wants a slot gets one.
 */
#define PATIENT 40
static MAM_KERNEL(always_there)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	void *object;

	if (!mam_block() && !simt_thread())
		okit_keep(kit, 0, okit_alloc(kit, 256));
	/* Everybody waits for that. */
	while (!mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE))
		mam_nanosleep(10);
	for (round = 0; round < plan->rounds; round++) {
		if (mam_block() % 2) {
			object = okit_alloc(kit, some_size(plan, round));
		} else {
			object = okit_alloc(kit, 230);
			MAM_KASSERT(object);
		}
		if (simt_random() & 1)
			mam_nanosleep(50);
		okit_free(kit, object);
	}
}

static const char *check_always_there(void *argument)
{
	struct okit *kit = argument;
	const char *wrong = okit_check(kit);

	if (!wrong && kit->live != 1)
		wrong = "not just the first is live";
	return wrong;
}

static const struct plan always[] = {
	{ "always a slot", 1, 1, 2, PATIENT, 0, 5, 8, 8, 3, 8 },
	{ "always a slot, and runs", 2, 2, 2, PATIENT, 0, 4, 10, 8, 3, 6 },
	{ "always a slot, lone lanes", 1, 1, 24, 1, 0, 6, 7, 9, 0, 8 },
};

START_TEST(always_a_slot)
{
	struct okit *kit = okit_create(always[_i].blocks, always[_i].columns, &always[_i]);

	explore(kit, always_there, check_always_there);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_churn");

	tcase_add_loop_test(tcase, by_chance, 0, PLANS);
	tcase_add_loop_test(tcase, room_for_all, 0, 2);
	tcase_add_loop_test(tcase, live_at_the_end, 0, 2);
	tcase_add_loop_test(tcase, always_a_slot, 0, 3);
	return kit_run(tcase, "heap/objects_churn");
}
