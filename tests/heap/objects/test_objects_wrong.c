/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_wrong.c - invalid frees of a heap of objects: double frees, interior pointers,
 * unallocated addresses, foreign addresses. Each fails, is counted once under its cause, and
 * changes nothing, also for lanes that make a valid call at the same site.
 */
#include "heap/objects/objects_kit.h"

static const size_t sizes[] = { 16, 24, 100, 256, 500, 1024, 3000, 9000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static bool give(struct okit *kit, const void *address)
{
	return mam_objects_free(kit->heap, (void *)(uintptr_t)address);
}

/* All failed frees together. */
static uint64_t refused(const struct okit *kit)
{
	return okit_tally(kit, MAM_OBJECT_FOREIGN) + okit_tally(kit, MAM_OBJECT_INTERIOR) +
	       okit_tally(kit, MAM_OBJECT_TWICE);
}

/* Each lane tries every invalid address of its object, and then the valid one. */
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
		return okit_wrong("%u errors, %u counted", (uint32_t)wrong, (uint32_t)refused(kit));
	return okit_check_served(argument);
}

START_TEST(free_of_interior_pointer_fails)
{
	struct okit *kit = okit_create(12, 2, NULL);

	okit_explore(kit, "interior pointers", from_inside, 1, 40, 10, check_from_inside);
	okit_destroy(kit);
}
END_TEST

/* Addresses that no object has, in a heap where each lane owns an object. */
static MAM_KERNEL(foreign_addresses)
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

static const char *check_foreign_addresses(void *argument)
{
	const struct okit *kit = argument;

	if (okit_tally(kit, MAM_OBJECT_FOREIGN) != 8 * 40 || refused(kit) != 8 * 40)
		return okit_wrong("%u errors, %u counted", 8 * 40, (uint32_t)refused(kit));
	return okit_check_served(argument);
}

START_TEST(free_of_foreign_address_fails)
{
	struct okit *kit = okit_create(2, 2, NULL);

	okit_explore(kit, "foreign addresses", foreign_addresses, 1, 40, 10,
		     check_foreign_addresses);
	okit_destroy(kit);
}
END_TEST

/*
 * Past the last unit nothing is read as an owner, although the words of the smallest class follow
 * there.
 */
static MAM_KERNEL(past_the_end)
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

START_TEST(free_past_heap_end_fails)
{
	struct okit *kit = okit_create(2, 1, NULL);

	okit_explore(kit, "past the end", past_the_end, 1, 1, 1, okit_check);
	okit_destroy(kit);
}
END_TEST

/*
 * All lanes of a block free one object: one of them succeeds. Then the object has no owner, and
 * another free of it fails.
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

	/* A run leaves no trace: a late free finds no owner there. */
	if (refused(kit) != 39 + 40 || okit_tally(kit, MAM_OBJECT_INTERIOR))
		return okit_wrong("79 errors, %u counted", (uint32_t)refused(kit));
	if (*(const size_t *)kit->plan <= MAM_CLASS_BYTES_MAX &&
	    okit_tally(kit, MAM_OBJECT_TWICE) != 79)
		return okit_wrong("79 double frees, %u counted",
				  (uint32_t)okit_tally(kit, MAM_OBJECT_TWICE));
	return okit_check_served(argument);
}

START_TEST(double_free_fails)
{
	static const size_t bytes[] = { 16, 100, 8192, 8193, 63 << 10, 64 << 10, 128 << 10 };
	struct okit *kit = okit_create(2, 2, &bytes[_i]);
	char name[64];

	snprintf(name, sizeof(name), "%zu bytes twice", bytes[_i]);
	okit_explore(kit, name, all_at_once, 1, 40, 15, check_all_at_once);
	okit_destroy(kit);
}
END_TEST

/* Invalid frees beside valid ones: the valid ones are not affected. */
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
		return "errors were counted under the wrong cause";
	return okit_check_served(argument);
}

START_TEST(invalid_free_does_not_affect_other_lanes)
{
	struct okit *kit = okit_create(4, 2, NULL);

	okit_explore(kit, "errors of some lanes", among_others, 2, 32, 20, check_among_others);
	okit_destroy(kit);
}
END_TEST

/* After a slab's units are reused, old addresses are interior pointers or foreign. */
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

START_TEST(free_of_stale_address_fails)
{
	struct okit *kit = okit_create(4, 2, NULL);

	okit_explore(kit, "old addresses", after_the_slab, 1, 1, 30, okit_check_served);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_wrong");

	tcase_add_test(tcase, free_of_interior_pointer_fails);
	tcase_add_test(tcase, free_of_foreign_address_fails);
	tcase_add_test(tcase, free_past_heap_end_fails);
	tcase_add_loop_test(tcase, double_free_fails, 0, 7);
	tcase_add_test(tcase, invalid_free_does_not_affect_other_lanes);
	tcase_add_test(tcase, free_of_stale_address_fails);
	return kit_run(tcase, "heap/objects_wrong");
}
