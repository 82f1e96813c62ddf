/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_give.c - objects in all parts of a heap that has grown: freed by other lanes, also of a
 * later kernel; queried for their size; resized. And invalid frees: double frees, interior
 * pointers, addresses in metadata, between parts, or in memory that the heap does not have yet.
 * Each of these fails and is counted once, at the root.
 */
#include "heap/growth/growth_kit.h"

static const size_t sizes[] = { 16, 100, 256, 500, 1024, 3000, 8192, 9000, 20000, 66000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* All of them together. */
static uint64_t errors(const struct gkit *kit)
{
	return gkit_tally(kit, MAM_OBJECT_FOREIGN) + gkit_tally(kit, MAM_OBJECT_INTERIOR) +
	       gkit_tally(kit, MAM_OBJECT_TWICE);
}

static bool give(struct gkit *kit, const void *address)
{
	return mam_objects_free(kit->o.heap, (void *)(uintptr_t)address);
}

static uint32_t me(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

static uint64_t parts; /* total of all runs of a case */

static const char *check_parts(void *argument)
{
	const struct gkit *kit = argument;

	parts += gkit_parts(kit);
	if (errors(kit))
		return "a valid free was counted as an error";
	return gkit_check_served(argument);
}

/* ---- valid frees ------------------------------------------------------------------------ */

/*
 * Each lane leaves some objects; then each frees those of another lane, whatever part they are in.
 */
static MAM_KERNEL(by_others)
{
	struct gkit *kit = argument;
	uint32_t lanes = mam_grid_blocks() * simt_block_threads(), i;
	void *object;
	size_t bytes;

	for (i = 0; i < 4; i++) {
		bytes = sizes[(mam_lane() * 3 + i) % SIZES];
		object = gkit_alloc(kit, bytes);
		MAM_KASSERT(object);
		MAM_KASSERT(okit_fits(bytes, mam_objects_usable(kit->o.heap, object)));
		okit_keep(&kit->o, i * lanes + me(), object);
	}
	mam_syncthreads();
	for (i = 0; i < 4; i++) {
		object = okit_take(&kit->o, i * lanes + (me() * 5 + 7) % lanes);
		if (!object)
			continue;
		(void)okit_noted(&kit->o, object, &bytes);
		MAM_KASSERT(mam_objects_usable(kit->o.heap, object) == bytes);
		gkit_free(kit, object);
	}
	mam_syncthreads();
	for (i = 0; i < 4; i++)
		gkit_free(kit, okit_take(&kit->o, i * lanes + me()));
}

START_TEST(other_lanes_may_free)
{
	static const uint32_t shapes[][2] = { { 1, 32 }, { 3, 9 }, { 12, 3 } };
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);

	parts = 0;
	gkit_explore(kit, "freed by other lanes", by_others, shapes[_i][0], shapes[_i][1], 0,
		     KIT_RACE ? 5 : 15, check_parts);
	ck_assert(parts || getenv("SIMT_CASE"));
	gkit_destroy(kit);
}
END_TEST

/* An object's contents, which a move preserves: also to another part, or to the host. */
static void write_all(unsigned char *object, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes / 8; i += 1 + bytes / 200)
		((uint64_t *)object)[i] = (uint64_t)seed << 32 | i;
}

static void read_all(const unsigned char *object, size_t bytes, size_t of, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes / 8; i += 1 + of / 200)
		MAM_KASSERT(((const uint64_t *)object)[i] == ((uint64_t)seed << 32 | i));
}

static MAM_KERNEL(resize)
{
	struct gkit *kit = argument;
	uint32_t round, at = mam_lane();
	size_t bytes = sizes[at % SIZES], next, kept;
	unsigned char *object = gkit_alloc(kit, bytes), *moved;

	for (round = 0; round < 5; round++) {
		MAM_KASSERT(object);
		bytes = okit_usable(bytes);
		at = at * 5 + 3 + round;
		next = sizes[at % SIZES];
		okit_disown(&kit->o, object);
		write_all(object, bytes, me());
		moved = mam_objects_realloc(kit->o.heap, object, next);
		MAM_KASSERT(moved);
		kept = mam_objects_usable(kit->o.heap, moved);
		MAM_KASSERT(kept >= next);
		read_all(moved, next < bytes ? next : bytes, bytes, me());
		okit_own(&kit->o, moved, kept);
		object = moved;
		bytes = kept;
	}
	gkit_free(kit, object);
}

START_TEST(realloc_keeps_contents_across_parts)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);

	parts = 0;
	gkit_explore(kit, "resized", resize, 2, 18, 0, KIT_RACE ? 4 : 12, check_parts);
	ck_assert(parts || getenv("SIMT_CASE"));
	gkit_destroy(kit);
}
END_TEST

/* ---- invalid frees ---------------------------------------------------------------------- */

/* For each object: all kinds of invalid addresses, then a valid free, then a double free. */
static MAM_KERNEL(wrongly)
{
	struct gkit *kit = argument;
	unsigned char *object[4];
	uint32_t i, step;
	size_t usable;

	for (i = 0; i < 4; i++) {
		object[i] = gkit_alloc(kit, sizes[(mam_lane() + 2 * i) % (SIZES - 1)]);
		MAM_KASSERT(object[i]);
	}
	for (i = 0; i < 4; i++) {
		usable = okit_usable(sizes[(mam_lane() + 2 * i) % (SIZES - 1)]);
		for (step = 1; step < 4; step++) {
			MAM_KASSERT(!give(kit, object[i] + step * (usable / 4) - (step == 3)));
			MAM_KASSERT(!mam_objects_usable(kit->o.heap, object[i] + step));
		}
		MAM_KASSERT(mam_objects_usable(kit->o.heap, object[i]) == usable);
	}
	mam_syncthreads();
	for (i = 0; i < 4; i++)
		gkit_free(kit, object[i]);
	mam_syncthreads();
	for (i = 0; i < 4; i++) {
		MAM_KASSERT(!give(kit, object[i]));
		MAM_KASSERT(!mam_objects_usable(kit->o.heap, object[i]));
	}
}

static const char *check_wrongly(void *argument)
{
	const struct gkit *kit = argument;

	parts += gkit_parts(kit);
	if (gkit_tally(kit, MAM_OBJECT_INTERIOR) != 40 * 4 * 3)
		return okit_wrong("%u interior pointers, %u counted", 40 * 4 * 3,
				  (uint32_t)gkit_tally(kit, MAM_OBJECT_INTERIOR));
	/* A freed run leaves no trace. */
	if (gkit_tally(kit, MAM_OBJECT_TWICE) + gkit_tally(kit, MAM_OBJECT_FOREIGN) != 40 * 4)
		return okit_wrong("%u double frees, %u counted", 40 * 4,
				  (uint32_t)(errors(kit) - 40 * 4 * 3));
	return gkit_check_served(argument);
}

START_TEST(invalid_free_fails)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);

	parts = 0;
	gkit_explore(kit, "invalid addresses", wrongly, 1, 40, 0, KIT_RACE ? 4 : 12, check_wrongly);
	ck_assert(parts || getenv("SIMT_CASE"));
	gkit_destroy(kit);
}
END_TEST

/* All lanes of a block free one object of a part: one of them succeeds. */
static MAM_KERNEL(all_at_once)
{
	struct gkit *kit = argument;
	const size_t *bytes = kit->o.plan;
	void *first, *object;

	if (!simt_thread()) {
		/* Makes the other object go to a part. */
		first = gkit_alloc(kit, 63000);
		MAM_KASSERT(first);
		object = gkit_alloc(kit, *bytes);
		MAM_KASSERT(object && (gkit_parts(kit) || *bytes > 100000));
		okit_keep(&kit->o, 0, object);
		gkit_free(kit, first);
	}
	mam_syncthreads();
	object = (void *)(uintptr_t)mam_atomic_load64(&kit->o.kept[0], MAM_ACQUIRE, MAM_AT_DEVICE);
	if (!simt_thread())
		okit_disown(&kit->o, object);
	mam_syncthreads();
	if (mam_objects_free(kit->o.heap, object))
		(void)mam_atomic_add64(&kit->o.kept[1], 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_syncthreads();
	MAM_KASSERT(mam_atomic_load64(&kit->o.kept[1], MAM_RELAXED, MAM_AT_DEVICE) == 1);
}

static const char *check_all_at_once(void *argument)
{
	const struct gkit *kit = argument;

	if (errors(kit) != 34)
		return okit_wrong("34 errors, %u counted", (uint32_t)errors(kit));
	return gkit_check_served(argument);
}

START_TEST(double_free_fails)
{
	static const size_t bytes[] = { 3000, 8192, 20000, 65000, 90000, 150000 };
	struct gkit *kit = gkit_create(1, 1, NULL, &bytes[_i]);
	char name[64];

	snprintf(name, sizeof(name), "%zu bytes twice", bytes[_i]);
	gkit_explore(kit, name, all_at_once, 1, 35, 0, KIT_RACE ? 10 : 30, check_all_at_once);
	gkit_destroy(kit);
}
END_TEST

/*
 * Foreign addresses: metadata, gaps, memory of the pool, and posted grants that no lane has used.
 */
static MAM_KERNEL(foreign_addresses)
{
	struct gkit *kit = argument;
	void *held[3];
	uint32_t i, wrongs = 0;
	unsigned char *at;

	for (i = 0; i < 3; i++) {
		held[i] = gkit_alloc(kit, 40000);
		MAM_KASSERT(held[i]);
	}
	for (i = 0; i <= gkit_parts(kit); i++) {
		at = (unsigned char *)gkit_head(kit, i);
		MAM_KASSERT(!give(kit, at));
		MAM_KASSERT(!give(kit, at + 1024));
		MAM_KASSERT(!mam_objects_usable(kit->o.heap, at));
		at = gkit_head(kit, i)->space;
		MAM_KASSERT(!give(kit, at - 16));
		MAM_KASSERT(!give(kit, at - 1));
		wrongs += 4;
	}
	for (i = 0; i < GKIT_PIECES; i++) {
		at = gkit_piece_at(kit, i);
		if (kit->o.owner[(size_t)(at - kit->o.space) / OKIT_GRAIN] != UINT32_MAX)
			continue;
		MAM_KASSERT(!give(kit, at));
		MAM_KASSERT(!mam_objects_usable(kit->o.heap, at + 1024));
		wrongs++;
	}
	MAM_KASSERT(!give(kit, kit->mail) && !give(kit, kit->growth) && !give(kit, &wrongs));
	MAM_KASSERT(!give(kit, (void *)(uintptr_t)16) && !give(kit, (void *)~(uintptr_t)15));
	MAM_KASSERT(gkit_tally(kit, MAM_OBJECT_FOREIGN) == wrongs + 5);
	for (i = 0; i < 3; i++)
		gkit_free(kit, held[i]);
}

static const char *check_foreign_addresses(void *argument)
{
	const struct gkit *kit = argument;

	if (errors(kit) != gkit_tally(kit, MAM_OBJECT_FOREIGN))
		return "an error was counted under the wrong cause";
	return gkit_check_served(argument);
}

START_TEST(free_of_foreign_address_fails)
{
	static const struct gkit_host host = { .ahead = 1 };
	struct gkit *kit = gkit_create(1, 1, &host, NULL);

	gkit_explore(kit, "foreign addresses", foreign_addresses, 1, 1, 0, 20,
		     check_foreign_addresses);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("grow_give");

	tcase_add_loop_test(tcase, other_lanes_may_free, 0, 3);
	tcase_add_test(tcase, realloc_keeps_contents_across_parts);
	tcase_add_test(tcase, invalid_free_fails);
	tcase_add_loop_test(tcase, double_free_fails, 0, 6);
	tcase_add_test(tcase, free_of_foreign_address_fails);
	return kit_run(tcase, "heap/grow_give");
}
