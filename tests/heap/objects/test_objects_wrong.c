/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_wrong.c - what cannot be given back to a heap of objects: twice, from inside, what
 * nobody has, what lies elsewhere. Each such mistake is refused and counted once, as what it is,
 * and changes nothing, also for lanes that do right at the same place.
 */
#include "heap/objects/objects_kit.h"

static const size_t sizes[] = { 16, 24, 100, 256, 500, 1024, 3000, 9000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static bool give(struct okit *kit, const void *address)
{
	return mam_objects_free(kit->heap, (void *)(uintptr_t)address);
}

/* All that is refused, together. */
static uint64_t refused(const struct okit *kit)
{
	return okit_tally(kit, MAM_OBJECT_FOREIGN) + okit_tally(kit, MAM_OBJECT_INTERIOR) +
	       okit_tally(kit, MAM_OBJECT_TWICE);
}

/* Each lane tries every wrong address of its object, and then the right one. */
static MAM_KERNEL(from_inside)
{
	struct okit *kit = argument;
	size_t bytes = sizes[(simt_thread() * 3) % SIZES], usable = okit_usable(bytes), step;
	unsigned char *object = okit_alloc(kit, bytes);

	MAM_KASSERT(object);
	for (step = 1; step < usable; step += step < 32 ? 7 : usable / 5) {
		MAM_KASSERT(!give(kit, object + step));
		MAM_KASSERT(!mam_objects_usable(kit->heap, object + step));
	}
	MAM_KASSERT(!give(kit, object + usable - 1));
	MAM_KASSERT(mam_objects_usable(kit->heap, object) == usable);
	okit_free(kit, object);
}

static const char *check_from_inside(void *argument)
{
	const struct okit *kit = argument;
	uint64_t wrong = 0;
	uint32_t lane;
	size_t usable, step;

	for (lane = 0; lane < 40; lane++) {
		usable = okit_usable(sizes[(lane * 3) % SIZES]);
		for (step = 1; step < usable; step += step < 32 ? 7 : usable / 5)
			wrong++;
		wrong++;
	}
	if (okit_tally(kit, MAM_OBJECT_INTERIOR) != wrong || refused(kit) != wrong)
		return okit_wrong("%u mistakes, %u counted", (uint32_t)wrong,
				  (uint32_t)refused(kit));
	return okit_check_served(argument);
}

START_TEST(inside)
{
	struct okit *kit = okit_create(12, 2, NULL);

	okit_explore(kit, "inside of an object", from_inside, 1, 40, 10, check_from_inside);
	okit_destroy(kit);
}
END_TEST

/* Addresses that are nobody's, in a heap where each lane has something. */
static MAM_KERNEL(nobodys)
{
	struct okit *kit = argument;
	const unsigned char *end = kit->space + ((size_t)kit->blocks << MAM_BLOCK_SHIFT);
	void *object = okit_alloc(kit, 64);
	uint32_t here = 0;

	MAM_KASSERT(object);
	MAM_KASSERT(mam_objects_free(kit->heap, NULL));
	MAM_KASSERT(!give(kit, kit->space - 1));
	MAM_KASSERT(!give(kit, kit->space - 16));
	MAM_KASSERT(!give(kit, end));
	MAM_KASSERT(!give(kit, end + 16));
	MAM_KASSERT(!give(kit, &here));
	MAM_KASSERT(!give(kit, kit->heap));
	MAM_KASSERT(!give(kit, (void *)(uintptr_t)16));
	MAM_KASSERT(!give(kit, (void *)~(uintptr_t)15));
	MAM_KASSERT(!mam_objects_usable(kit->heap, &here));
	MAM_KASSERT(!mam_objects_usable(kit->heap, end));
	MAM_KASSERT(!mam_objects_usable(kit->heap, NULL));
	okit_free(kit, object);
}

static const char *check_nobodys(void *argument)
{
	const struct okit *kit = argument;

	if (okit_tally(kit, MAM_OBJECT_FOREIGN) != 8 * 40 || refused(kit) != 8 * 40)
		return okit_wrong("%u mistakes, %u counted", 8 * 40, (uint32_t)refused(kit));
	return okit_check_served(argument);
}

START_TEST(foreign)
{
	struct okit *kit = okit_create(2, 2, NULL);

	okit_explore(kit, "nobody's", nobodys, 1, 40, 10, check_nobodys);
	okit_destroy(kit);
}
END_TEST

/* Right behind the last unit nothing is read as an owner: the words of the smallest class lie there. */
static MAM_KERNEL(behind_the_end)
{
	struct okit *kit = argument;
	unsigned char *object, *end = kit->space + ((size_t)kit->blocks << MAM_BLOCK_SHIFT);
	uint32_t unit;

	do {
		object = okit_alloc(kit, 16);
		MAM_KASSERT(object);
	} while (object >= kit->space + 4096);
	for (unit = 0; unit < 64; unit++) {
		MAM_KASSERT(!give(kit, end + ((size_t)unit << MAM_UNIT_SHIFT)));
		MAM_KASSERT(!mam_objects_usable(kit->heap, end + ((size_t)unit << MAM_UNIT_SHIFT)));
	}
	MAM_KASSERT(okit_tally(kit, MAM_OBJECT_FOREIGN) == 64);
}

START_TEST(behind)
{
	struct okit *kit = okit_create(2, 1, NULL);

	okit_explore(kit, "behind the end", behind_the_end, 1, 1, 1, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * All lanes of a block give one object back: one of them does. Then nothing has it, and a unit of
 * nobody is asked for too.
 */
static MAM_KERNEL(all_at_once)
{
	struct okit *kit = argument;
	const size_t *bytes = kit->plan;
	uint32_t won;
	void *object;

	if (!simt_thread())
		okit_keep(kit, 0, okit_alloc(kit, *bytes));
	mam_syncthreads();
	object = (void *)(uintptr_t)mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE);
	if (!simt_thread())
		okit_disown(kit, object);
	mam_syncthreads();
	won = mam_objects_free(kit->heap, object);
	if (won)
		(void)mam_atomic_add64(&kit->kept[1], 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_syncthreads();
	MAM_KASSERT(mam_atomic_load64(&kit->kept[1], MAM_RELAXED, MAM_AT_DEVICE) == 1);
	MAM_KASSERT(!mam_objects_usable(kit->heap, object));
	MAM_KASSERT(!mam_objects_free(kit->heap, object));
}

static const char *check_all_at_once(void *argument)
{
	const struct okit *kit = argument;

	/* A run leaves no trace: who comes late finds nobody there. */
	if (refused(kit) != 39 + 40 || okit_tally(kit, MAM_OBJECT_INTERIOR))
		return okit_wrong("79 mistakes, %u counted", (uint32_t)refused(kit));
	if (*(const size_t *)kit->plan <= MAM_CLASS_BYTES_MAX &&
	    okit_tally(kit, MAM_OBJECT_TWICE) != 79)
		return okit_wrong("79 times twice, %u counted",
				  (uint32_t)okit_tally(kit, MAM_OBJECT_TWICE));
	return okit_check_served(argument);
}

START_TEST(twice)
{
	static const size_t bytes[] = { 16, 100, 8192, 8193, 63 << 10, 64 << 10, 128 << 10 };
	struct okit *kit = okit_create(2, 2, &bytes[_i]);
	char name[64];

	snprintf(name, sizeof(name), "%zu bytes twice", bytes[_i]);
	okit_explore(kit, name, all_at_once, 1, 40, 15, check_all_at_once);
	okit_destroy(kit);
}
END_TEST

/* A mistake beside others that make none: these go on as if nothing were. */
static MAM_KERNEL(among_others)
{
	struct okit *kit = argument;
	uint32_t round;
	unsigned char *object, *gone;

	for (round = 0; round < 3; round++) {
		object = okit_alloc(kit, sizes[mam_lane() % 4]);
		MAM_KASSERT(object);
		gone = object;
		switch (mam_lane() % 8) {
		case 0: gone = object + 8; break;
		case 1: gone = kit->space + ((size_t)kit->blocks << MAM_BLOCK_SHIFT); break;
		case 2: gone = NULL; break;
		default: okit_disown(kit, object);
		}
		MAM_KASSERT(mam_objects_free(kit->heap, gone) == (mam_lane() % 8 >= 2));
		if (mam_lane() % 8 < 3)
			okit_free(kit, object);
	}
}

static const char *check_among_others(void *argument)
{
	const struct okit *kit = argument;

	if (okit_tally(kit, MAM_OBJECT_INTERIOR) != 3 * 2 * 4 ||
	    okit_tally(kit, MAM_OBJECT_FOREIGN) != 3 * 2 * 4 || okit_tally(kit, MAM_OBJECT_TWICE))
		return "mistakes are not counted as what they are";
	return okit_check_served(argument);
}

START_TEST(some_lanes_only)
{
	struct okit *kit = okit_create(4, 2, NULL);

	okit_explore(kit, "mistakes of some lanes", among_others, 2, 32, 20, check_among_others);
	okit_destroy(kit);
}
END_TEST

/* What a slab was, when its units are another's: old addresses are inside of that, or nobody's. */
static MAM_KERNEL(after_the_slab)
{
	struct okit *kit = argument;
	size_t everything = (size_t)kit->blocks << MAM_BLOCK_SHIFT;
	void *old[4], *run;
	uint32_t i;

	for (i = 0; i < 4; i++)
		old[i] = okit_alloc(kit, sizes[i + 3]);
	for (i = 0; i < 4; i++)
		okit_free(kit, old[i]);
	run = okit_alloc(kit, everything);
	MAM_KASSERT(run == kit->space);
	for (i = 0; i < 4; i++)
		MAM_KASSERT(old[i] == run || !mam_objects_free(kit->heap, old[i]));
	MAM_KASSERT(!mam_objects_free(kit->heap, (unsigned char *)run + 1024));
	okit_free(kit, run);
	for (i = 0; i < 4; i++)
		MAM_KASSERT(!mam_objects_free(kit->heap, old[i]));
	MAM_KASSERT(okit_tally(kit, MAM_OBJECT_FOREIGN) == 4);
	MAM_KASSERT(!okit_tally(kit, MAM_OBJECT_TWICE));
}

START_TEST(old_addresses)
{
	struct okit *kit = okit_create(4, 2, NULL);

	okit_explore(kit, "old addresses", after_the_slab, 1, 1, 30, okit_check_served);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_wrong");

	tcase_add_test(tcase, inside);
	tcase_add_test(tcase, foreign);
	tcase_add_test(tcase, behind);
	tcase_add_loop_test(tcase, twice, 0, 7);
	tcase_add_test(tcase, some_lanes_only);
	tcase_add_test(tcase, old_addresses);
	return kit_run(tcase, "heap/objects_wrong");
}
