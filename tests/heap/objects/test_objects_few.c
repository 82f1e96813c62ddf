/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_few.c - few lanes use a heap of objects, each alone in its thread block, in many
 * interleavings: the work of one overlaps each step of another. A heap here is one or two groups of
 * slabs. A request that can be served must succeed while groups are in transition: a group that
 * opens or closes does not prove that there is no room.
 *
 * Groups of 960, 1920, 3840 and 7680 bytes have 15 units, with 16, 8, 4 and 2 slots.
 */
#include "heap/motion.h"

struct plan {
	const char *name;
	uint32_t blocks, grid;
	uint32_t live; /* at the end */
	uint32_t seeds;
	uint32_t free;    /* the first units of each block, of which the rest is a run; 0: all */
	size_t held;      /* size of an object that is live from the start, or 0 */
	size_t before[2]; /* sizes of which idle groups exist at the start */
	size_t bytes[6];  /* sizes that lanes request */
};

/* Outside of a launch: leaves an idle group. */
static void leave_idle(struct okit *kit, size_t bytes)
{
	bool freed = true;

	if (bytes)
		freed = mam_objects_free(kit->heap, mam_objects_alloc(kit->heap, bytes));
	ck_assert(freed);
}

static void begin(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t block;

	okit_begin(kit);
	for (block = 0; plan->free && block < plan->blocks; block++)
		motion_run(kit, block * MAM_BLOCK_UNITS + plan->free, MAM_BLOCK_UNITS - plan->free);
	leave_idle(kit, plan->before[0]);
	if (plan->held)
		ck_assert_ptr_nonnull(okit_alloc(kit, plan->held));
	leave_idle(kit, plan->before[1]);
}

/*
 * So many lanes own an object, without those that have a slot of a larger class, and no other request
 * could have succeeded.
 */
static const char *check_live(void *argument)
{
	const struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t live = kit->live - (plan->free ? plan->blocks : 0) - okit_larger(kit);

	if (live != plan->live)
		return okit_wrong("%u lanes own an object, not %u", live, plan->live);
	return kit->failed && kit->only_taken ? okit_check_full(argument) : okit_check(argument);
}

static void explore(const struct plan *plan, simt_kernel *kernel, bool only_taken)
{
	struct okit *kit = okit_create(plan->blocks, 1, plan);
	struct simt_case test = {
		.name = plan->name,
		.kernel = kernel,
		.grid = plan->grid,
		.block = 1,
		.argument = kit,
		.begin = begin,
		.check = check_live,
		.seeds = plan->seeds,
		.config = { .race = KIT_RACE, .strict = true },
	};

	kit->only_taken = only_taken;
	simt_must_pass(&test);
	okit_destroy(kit);
}

/* Each lane makes one request, at a random time, for a size of its own, and keeps the object. */
static MAM_KERNEL(allocate_once)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;

	if (simt_random() & 1)
		mam_nanosleep(simt_random() % 512);
	(void)okit_alloc(kit, plan->bytes[mam_block()]);
}

#define S 300
static const struct plan once[] = {
	{ "two lanes open one group", 1, 2, 2, S, 15, 0, { 0 }, { 960, 960 } },
	{ "three lanes open one group", 1, 3, 3, S, 15, 0, { 0 }, { 3840, 3840, 3840 } },
	{ "two lanes open one of two groups", 1, 2, 2, S, 30, 0, { 0 }, { 960, 960 } },
	{ "one group changes its class", 1, 2, 2, S, 15, 0, { 1920 }, { 960, 960 } },
	/* Each of these has 7 units. */
	{ "two groups become one", 1, 3, 3, S, 15, 0, { 224, 448 }, { 960, 960, 960 } },
	{ "group reused or replaced", 1, 2, 1, S, 15, 0, { 960 }, { 960, 1920 } },
	{ "group reused by two lanes or replaced",
	  2,
	  3,
	  2,
	  S,
	  15,
	  0,
	  { 960, 1920 },
	  { 960, 1920, 3840 } },
	{ "three lanes for two groups", 2, 3, 2, S, 15, 0, { 7680, 0 }, { 960, 1920, 3840 } },
	{ "four lanes for two groups", 2, 4, 2, S, 15, 0, { 0, 0 }, { 960, 1920, 3840, 7680 } },
	{ "one group becomes a run", 1, 2, 1, S, 15, 0, { 960 }, { 960, 15360 } },
	{ "two lanes, one short run", 1, 2, 1, S, 4, 0, { 0 }, { 3840, 3840 } },
	{ "a short run where a group was", 1, 2, 1, S, 4, 0, { 80 }, { 3840, 3000 } },
	{ "two slabs become a run", 2, 2, 1, S, 0, 0, { 1024, 2048 }, { 131072, 2048 } },
	{ "the whole heap, or a slab", 2, 2, 1, S, 0, 0, { 0, 0 }, { 131072, 100 } },
	{ "a run, and one that cannot fit",
	  2,
	  2,
	  2,
	  3000,
	  0,
	  2048,
	  { 0, 1024 },
	  { 131072, 65536 } },
	{ "a slab, and a run that cannot fit",
	  2,
	  2,
	  2,
	  3000,
	  0,
	  2048,
	  { 0, 1024 },
	  { 131072, 8192 } },
	{ "two runs across blocks", 3, 3, 1, S, 0, 0, { 1024, 2048 }, { 131072, 131072, 131072 } },
};
#define ONCE ((int)(sizeof(once) / sizeof(once[0])))

START_TEST(single_request_gets_available_room)
{
	explore(&once[_i], allocate_once, true);
}
END_TEST

/*
 * Lane 0 changes its size each round and owns one object at a time; the others request after a
 * while, and keep their objects. There is room for each at any time, so lane 0 never fails: no
 * other object can move past its search. Another lane may fail while lane 0 moves from a position
 * that the other has not checked yet to one that it has, but not after lane 0 is done.
 */
static MAM_KERNEL(go_from_size_to_size)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint64_t through = 0;
	uint32_t round;
	void *object = NULL;

	if (!mam_block()) {
		for (round = 0; round < 4; round++) {
			object = okit_alloc(kit, plan->bytes[(round & 1) * 5]);
			MAM_KASSERT(object);
			okit_free(kit, object);
		}
		mam_atomic_store64(&kit->kept[0], 1, MAM_RELEASE, MAM_AT_DEVICE);
		return;
	}
	for (round = (uint32_t)simt_random() % 16; round; round--)
		mam_nanosleep(20);
	while (!object && !through) {
		through = mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE);
		object = mam_objects_alloc(kit->heap, plan->bytes[mam_block()]);
		if (!object)
			okit_count_failure(kit, plan->bytes[mam_block()]);
	}
	MAM_KASSERT(object);
	okit_own(kit, object, plan->bytes[mam_block()]);
}

static const struct plan moving[] = {
	{ "from class to class", 2, 2, 1, S, 0, 0, { 0 }, { 1024, 2048, 0, 0, 0, 4096 } },
	{ "from class to class, same class",
	  2,
	  2,
	  1,
	  S,
	  0,
	  0,
	  { 0 },
	  { 1024, 1024, 0, 0, 0, 8192 } },
	{ "from class to class, two others",
	  3,
	  3,
	  2,
	  S,
	  0,
	  0,
	  { 0 },
	  { 1024, 2048, 1088, 0, 0, 4096 } },
	{ "from class to run", 2, 2, 1, S, 0, 0, { 0 }, { 1024, 2048, 0, 0, 0, 65536 } },
	{ "from run to run", 2, 2, 1, S, 0, 0, { 0 }, { 40000, 256, 0, 0, 0, 30000 } },
	{ "from half to half", 1, 2, 1, S, 0, 0, { 0 }, { 512, 600, 0, 0, 0, 700 } },
};
#define GOES ((int)(sizeof(moving) / sizeof(moving[0])))

START_TEST(moving_object_never_hides_room)
{
	explore(&moving[_i], go_from_size_to_size, false);
}
END_TEST

/* Lane 0 owns the whole heap and frees it; then there is room for all, including itself. */
static MAM_KERNEL(everything_and_then)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t tries = 0;
	void *object;

	if (mam_block()) {
		/* These requests may be too early. */
		while (!(object = okit_alloc(kit, plan->bytes[mam_block()]))) {
			mam_nanosleep(100);
			MAM_KASSERT(++tries < 1000);
		}
	} else {
		object = (void *)(uintptr_t)mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE,
							      MAM_AT_DEVICE);
		okit_free(kit, object);
		object = okit_alloc(kit, plan->bytes[0]);
		MAM_KASSERT(object);
	}
	okit_free(kit, object);
}

static void begin_with_everything(void *argument)
{
	struct okit *kit = argument;

	begin(kit);
	okit_keep(kit, 0, okit_alloc(kit, (size_t)kit->blocks << MAM_BLOCK_SHIFT));
}

static const struct plan thens[] = {
	{ "the whole heap, then a slab", 1, 2, 0, S, 0, 0, { 0 }, { 1024, 1024 } },
	{ "the whole heap, then slabs", 2, 3, 0, S, 0, 0, { 0 }, { 5000, 5000, 5000 } },
	{ "the whole heap, then runs", 2, 2, 0, S, 0, 0, { 0 }, { 20000, 20000 } },
};
#define THENS ((int)(sizeof(thens) / sizeof(thens[0])))

START_TEST(room_is_found_after_whole_heap_is_freed)
{
	struct okit *kit = okit_create(thens[_i].blocks, 1, &thens[_i]);
	struct simt_case test = {
		.name = thens[_i].name,
		.kernel = everything_and_then,
		.grid = thens[_i].grid,
		.block = 1,
		.argument = kit,
		.begin = begin_with_everything,
		.check = okit_check_empty,
		.seeds = thens[_i].seeds,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/*
 * The last slots: all except `grid` are allocated before, and each lane allocates one and frees it,
 * so one is free whenever a lane makes a request.
 */
static MAM_KERNEL(last_slots)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	void *object;

	for (round = 0; round < 3; round++) {
		object = okit_alloc(kit, plan->bytes[0]);
		MAM_KASSERT(object);
		okit_free(kit, object);
	}
}

static void begin_almost_full(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i;

	okit_begin(kit);
	for (i = 0; i < plan->live; i++)
		ck_assert_ptr_nonnull(okit_alloc(kit, plan->bytes[0]));
}

static const struct plan lasts[] = {
	{ "the last slot but one", 1, 2, 62, S, 0, 0, { 0 }, { 1024 } },
	{ "the last three slots", 1, 3, 5, S, 0, 0, { 0 }, { 8192 } },
	{ "the last slot, one lane", 1, 1, 7, S, 0, 0, { 0 }, { 8000 } },
};
#define LASTS ((int)(sizeof(lasts) / sizeof(lasts[0])))

START_TEST(last_slot_is_always_found)
{
	struct okit *kit = okit_create(lasts[_i].blocks, 1, &lasts[_i]);
	struct simt_case test = {
		.name = lasts[_i].name,
		.kernel = last_slots,
		.grid = lasts[_i].grid,
		.block = 1,
		.argument = kit,
		.begin = begin_almost_full,
		.check = check_live,
		.seeds = lasts[_i].seeds,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_few");

	tcase_add_loop_test(tcase, single_request_gets_available_room, 0, ONCE);
	tcase_add_loop_test(tcase, moving_object_never_hides_room, 0, GOES);
	tcase_add_loop_test(tcase, room_is_found_after_whole_heap_is_freed, 0, THENS);
	tcase_add_loop_test(tcase, last_slot_is_always_found, 0, LASTS);
	return kit_run(tcase, "heap/objects_few");
}
