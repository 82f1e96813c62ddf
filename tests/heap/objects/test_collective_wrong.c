/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collective_wrong.c - invalid frees of parts, which change nothing and are counted; lanes of
 * a warp that free valid and invalid parts at the same time; and of several frees that could be the
 * last, exactly one is.
 */
#include "heap/objects/collective_kit.h"

#ifdef SIMT_HOOKS
#define SEEDS 150
#else
#define SEEDS 500
#endif

static uint64_t errors(const struct okit *kit)
{
	return okit_tally(kit, MAM_OBJECT_FOREIGN) + okit_tally(kit, MAM_OBJECT_INTERIOR) +
	       okit_tally(kit, MAM_OBJECT_TWICE);
}

/* Checks an invalid free by a lane that runs alone. */
static void wrong(struct okit *kit, void *address, enum mam_object_tally what)
{
	uint64_t all = errors(kit), kind = okit_tally(kit, what);

	MAM_KASSERT(!mam_kfree(kit->heap, address));
	MAM_KASSERT(errors(kit) == all + 1 && okit_tally(kit, what) == kind + 1);
}

/* ---- one error after the other, in objects of each kind ------ */

static size_t wide_equal(uint32_t i)
{
	(void)i;
	return 3200;
}

static ckit_sizes *const kinds[] = { ckit_word, ckit_rising, ckit_wide, wide_equal };

static MAM_KERNEL(one_by_one)
{
	struct okit *kit = argument;
	ckit_sizes *sizes = *(ckit_sizes *const *)kit->plan;
	struct ckit_want want = ckit_want(sizes, ~0u, 32, 0);
	unsigned char *part = mam_kmalloc_lanes(kit->heap, ~0u, sizes(mam_lane())), *first, *base;
	unsigned char *last =
		(unsigned char *)(uintptr_t)mam_warp_shuffle64(~0u, (uintptr_t)part, 31);
	size_t at;

	first = (unsigned char *)(uintptr_t)mam_warp_shuffle64(~0u, (uintptr_t)part, 0);
	base = first - want.front;
	if (mam_lane() == 5) {
		for (at = 1; at < want.front; at += 3)
			wrong(kit, base + at, MAM_OBJECT_INTERIOR);
		for (at = 1; at < sizes(31); at += 1 + at / 9) {
			wrong(kit, last + at, MAM_OBJECT_INTERIOR);
			MAM_KASSERT(!mam_kusable(kit->heap, last + at));
			MAM_KASSERT(!mam_kfree_parts(kit->heap, last + at));
		}
		if (okit_usable(want.front + want.total) > want.front + want.total)
			wrong(kit, last + sizes(31), MAM_OBJECT_INTERIOR);
		MAM_KASSERT(!mam_kfree_parts(kit->heap, base));
		MAM_KASSERT(!mam_kfree_parts(kit->heap, &kit->heap));
		MAM_KASSERT(!mam_kfree_parts(NULL, part) && mam_kfree_parts(kit->heap, NULL));
		/* Double free. */
		MAM_KASSERT(mam_kfree(kit->heap, part));
		wrong(kit, part, MAM_OBJECT_TWICE);
		MAM_KASSERT(!mam_kfree_parts(kit->heap, part) && !mam_kusable(kit->heap, part));
		MAM_KASSERT(!mam_krealloc(kit->heap, part, 100));
	}
	mam_warp_sync(~0u);
	/* All other parts are unchanged. */
	MAM_KASSERT(mam_kusable(kit->heap, part) == (mam_lane() == 5 ? 0 : sizes(mam_lane())));
	mam_warp_sync(~0u);
	if (mam_lane() != 5)
		MAM_KASSERT(mam_kfree(kit->heap, part));
	mam_warp_sync(~0u);
	/* All parts are freed: the addresses are inside the heap, or in a slab. */
	MAM_KASSERT(!mam_kfree(kit->heap, part));
	MAM_KASSERT(!mam_kfree_parts(kit->heap, part) && !mam_kusable(kit->heap, part));
	mam_warp_sync(~0u);
	/* An ordinary object there, whose first bytes were not written, has no parts. */
	if (mam_lane() == 0) {
		base = mam_kmalloc(kit->heap, want.front + want.total);
		MAM_KASSERT(base);
		for (at = 1; at < want.front + want.total; at += 1 + at / 50)
			wrong(kit, base + at, MAM_OBJECT_INTERIOR);
		MAM_KASSERT(!mam_kfree_parts(kit->heap, base));
		MAM_KASSERT(mam_kfree(kit->heap, base));
	}
}

START_TEST(invalid_free_of_part_fails)
{
	struct okit *kit = okit_create(4, 1, &kinds[_i]);

	okit_explore(kit, "errors", one_by_one, 1, 32, 4, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- requests that fail --- */

static MAM_KERNEL(refused)
{
	struct okit *kit = argument;
	struct mam_kheap *heap = kit->heap;
	size_t all = (size_t)kit->blocks << MAM_BLOCK_SHIFT;
	uint32_t mask = 0xffu, lane = mam_lane();
	uint64_t count = okit_tally(kit, MAM_OBJECT_TOO_LARGE);
	void *part;

	/* A request for nothing is not counted. */
	MAM_KASSERT(!mam_kmalloc_lanes(heap, mask, 0) && !mam_kmalloc_block(heap, 0));
	MAM_KASSERT(!mam_kmalloc_lanes(NULL, mask, 8) && !mam_kmalloc_block(NULL, 8));
	/* If one lane requests too much, no lane gets a part. */
	MAM_KASSERT(!mam_kmalloc_lanes(heap, mask, lane == 3 ? SIZE_MAX : 8));
	MAM_KASSERT(!mam_kmalloc_lanes(heap, mask, SIZE_MAX));
	MAM_KASSERT(!mam_kmalloc_lanes(heap, mask, SIZE_MAX / 8 + 1));
	MAM_KASSERT(!mam_kmalloc_block(heap, SIZE_MAX / 4));
	MAM_KASSERT(!mam_kmalloc_block(heap, lane == 7 ? SIZE_MAX : lane));
	/* The whole heap plus header and table. */
	MAM_KASSERT(!mam_kmalloc_lanes(heap, mask, all / 8));
	mam_warp_sync(mask);
	MAM_KASSERT(okit_tally(kit, MAM_OBJECT_TOO_LARGE) == count + 6);
	MAM_KASSERT(!okit_tally(kit, MAM_OBJECT_ZERO));
	mam_warp_sync(mask);
	/* The whole heap minus the header. */
	part = mam_kmalloc_lanes(heap, mask, lane == 7 ? all / 8 - 48 : all / 8);
	MAM_KASSERT(part);
	/* No room: no lane gets a part; a lane that calls alone may. */
	MAM_KASSERT(!mam_kmalloc_lanes(heap, mask, 16));
	mam_warp_sync(mask);
	MAM_KASSERT(mam_kfree(heap, part));
	mam_warp_sync(mask);
	if (lane == 0)
		kit->failed = 7;
}

START_TEST(no_lane_gets_part_if_request_fails)
{
	struct okit *kit = okit_create(2, 1, NULL);

	kit->whole = true;
	okit_explore(kit, "failing requests", refused, 1, 8, 10, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- converged lanes with different kinds of objects ------ */

static MAM_KERNEL(mixed)
{
	struct okit *kit = argument;
	uint32_t lane = mam_lane(), mask = 0x33333333u, round, other;
	unsigned char *own, *part, *run, *what;
	uint64_t before;
	bool right;

	for (round = 0; round < 3; round++) {
		own = mam_kmalloc(kit->heap, 40);
		run = mam_kmalloc(kit->heap, lane == 9 ? 9000 : 24);
		part = mask >> lane & 1
			       ? mam_kmalloc_lanes(kit->heap, mask, round == 1 ? 12 : 4 + lane)
			       : mam_kmalloc_lanes(kit->heap, ~mask, 20);
		MAM_KASSERT(own && part && run);
		before = errors(kit);
		mam_warp_sync(~0u);
		/* Own objects, parts of other lanes, runs, NULL, and invalid pointers. */
		other = (lane + 8 * round) % 32;
		part = (unsigned char *)(uintptr_t)mam_warp_shuffle64(~0u, (uintptr_t)part, other);
		what = lane % 3 == 0 ? part : lane % 3 == 1 ? run : lane % 2 ? NULL : own + 8;
		right = lane % 3 != 2 || lane % 2;
		MAM_KASSERT(mam_kfree(kit->heap, what) == right);
		mam_warp_sync(~0u);
		MAM_KASSERT(errors(kit) == before + mam_popc32(mam_warp_ballot(~0u, !right)));
		MAM_KASSERT(mam_kusable(kit->heap, own) == 48);
		MAM_KASSERT(mam_kusable(kit->heap, part) == (lane % 3 == 0          ? 0u
							     : !(mask >> other & 1) ? 20u
							     : round == 1           ? 12u
										    : 4 + other));
		mam_warp_sync(~0u);
		MAM_KASSERT(lane % 3 == 1 || mam_kfree(kit->heap, run));
		MAM_KASSERT(mam_kfree(kit->heap, own));
		MAM_KASSERT(lane % 3 == 0 || mam_kfree(kit->heap, part));
		mam_warp_sync(~0u);
	}
}

START_TEST(valid_frees_succeed_beside_invalid)
{
	struct okit *kit = okit_create(4, 2, NULL);

	okit_explore(kit, "valid and invalid frees at the same time", mixed, 1, 32, SEEDS / 2,
		     NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- the last free --- */

static uint32_t rights, wrongs;  /* atomic */
static uint64_t shared_part[64]; /* atomic */

static void begin_race(void *argument)
{
	okit_begin(argument);
	rights = wrongs = 0;
	memset(shared_part, 0, sizeof(shared_part));
}

static void count(bool right)
{
	(void)mam_atomic_add32(right ? &rights : &wrongs, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Block 0's lanes own the parts; a lane of each of the other blocks frees each part. */
static MAM_KERNEL(lasts)
{
	struct okit *kit = argument;
	uint32_t lane = mam_lane(), parts = simt_block_threads();
	bool all = kit->plan != NULL;
	uint64_t address;
	void *part;

	if (mam_block() == 0) {
		part = mam_kmalloc_block(kit->heap, 8 + lane % 2 * 8);
		MAM_KASSERT(part);
		mam_atomic_store64(&shared_part[simt_thread()], (uint64_t)(uintptr_t)part,
				   MAM_RELEASE, MAM_AT_DEVICE);
		return;
	}
	do
		address = mam_atomic_load64(&shared_part[(simt_thread() + mam_block()) % parts],
					    MAM_ACQUIRE, MAM_AT_DEVICE);
	while (!address);
	if (all && mam_block() == 1)
		count(mam_kfree_parts(kit->heap, (void *)(uintptr_t)address));
	else
		count(mam_kfree(kit->heap, (void *)(uintptr_t)address));
}

/*
 * Each part is freed once; of the frees of the whole object one succeeds, and so does each that
 * came before it.
 */
static const char *check_lasts(void *argument)
{
	const struct okit *kit = argument;
	uint32_t parts = 0;

	while (parts < 64 && shared_part[parts])
		parts++;
	if (!kit->plan && rights != parts)
		return okit_wrong("%u parts, but %u were freed", parts, rights);
	if (kit->plan && (rights < 1 || rights > parts))
		return okit_wrong("%u parts, but %u frees succeeded", parts, rights);
	if (errors(kit) != wrongs)
		return okit_wrong("%u errors, but %u were counted", wrongs, (uint32_t)errors(kit));
	return okit_check_empty(argument);
}

static const struct {
	const char *name;
	uint32_t grid, block;
	bool all;
} races[] = {
	{ "by one block", 2, 3, false },
	{ "by one block of two warps", 2, 36, false },
	{ "by two blocks, double free", 3, 3, false },
	{ "the whole object, and each part", 3, 4, true },
	{ "all parts, one block", 2, 4, true },
	{ "all parts, two warps", 3, 34, true },
};

START_TEST(exactly_one_free_is_the_last)
{
	struct okit *kit = okit_create(1, 1, races[_i].all ? "all" : NULL);
	struct simt_case test = {
		.name = races[_i].name,
		.kernel = lasts,
		.grid = races[_i].grid,
		.block = races[_i].block,
		.argument = kit,
		.begin = begin_race,
		.check = check_lasts,
		.seeds = races[_i].block > 8 ? SEEDS / 8 : SEEDS,
		/* A double free reads what another lane writes. */
		.config = { .race = KIT_RACE && races[_i].grid == 2 && !races[_i].all,
			    .strict = true,
			    .whole = true },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* ---- realloc of parts ---------------- */

static MAM_KERNEL(moves)
{
	struct okit *kit = argument;
	uint32_t lane = mam_lane(), mask = 0xff;
	size_t bytes = 1 + 37 * lane, i, k;
	unsigned char *part = mam_kmalloc_lanes(kit->heap, mask, bytes), *moved;
	static const size_t sizes[] = { 1, 20, 150, 1000, 10000 };

	MAM_KASSERT(part);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ckit_fill(part, bytes, lane);
		moved = mam_krealloc(kit->heap, part, sizes[i]);
		MAM_KASSERT(moved && mam_kusable(kit->heap, moved) >= sizes[i]);
		for (k = 0; k < 32 && k < bytes && k < sizes[i]; k++)
			MAM_KASSERT(moved[k] == (unsigned char)(lane * 31 + k));
		part = moved;
		bytes = sizes[i];
	}
	MAM_KASSERT(!mam_krealloc(kit->heap, part, 0));
	mam_warp_sync(mask);
	part = mam_kmalloc_lanes(kit->heap, mask, 200);
	MAM_KASSERT(mam_krealloc(kit->heap, part, 180) == part);
	MAM_KASSERT(mam_krealloc(kit->heap, part, 200) == part);
	MAM_KASSERT(!mam_krealloc(kit->heap, part, 0) && !mam_kusable(kit->heap, part));
}

START_TEST(realloc_moves_part_to_own_object)
{
	struct okit *kit = okit_create(16, 1, NULL);

	okit_explore(kit, "realloc of parts", moves, 1, 8, SEEDS / 2, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- by this thread, which is a single lane -------- */

/* The host frees the whole object, since the heap walk shows no parts: no mark remains. */
START_TEST(free_of_whole_object_leaves_no_mark)
{
	struct okit *kit = okit_create(2, 1, NULL);
	size_t bytes = _i ? 10000 : 100;
	unsigned char *part = mam_kmalloc_lanes(kit->heap, 1, bytes), *object;

	ck_assert(mam_kusable(kit->heap, part) == bytes);
	ck_assert(mam_objects_free_lone(kit->heap, part - 16));
	ck_assert(!mam_kusable(kit->heap, part));
	object = mam_kmalloc(kit->heap, bytes + 16);
	while (object && object != part - 16)
		object = mam_kmalloc(kit->heap, bytes + 16);
	ck_assert_ptr_nonnull(object);
	ck_assert(!mam_kfree(kit->heap, part) && !mam_objects_free_lone(kit->heap, part));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_INTERIOR), 2);
	/* The same function frees parts. */
	part = mam_kmalloc_lanes(kit->heap, 1, 24);
	ck_assert(mam_objects_free_lone(kit->heap, part));
	ck_assert(!mam_objects_free_lone(kit->heap, part));
	okit_destroy(kit);
}
END_TEST

/* A run may start anywhere in a block, and its parts are in other blocks. */
START_TEST(part_in_other_block_is_found)
{
	struct okit *kit = okit_create(8, 1, NULL);
	size_t filled, at;

	for (filled = 10; filled < 130; filled += 7) {
		unsigned char *filler = mam_kmalloc(kit->heap, filled << MAM_UNIT_SHIFT);
		unsigned char *part = mam_kmalloc_lanes(kit->heap, 1, 150000);

		ck_assert(filler && part);
		for (at = 1; at < 150000; at += 500)
			ck_assert(!mam_kfree(kit->heap, part + at));
		ck_assert(mam_kusable(kit->heap, part) == 150000);
		/* A part in another unit than the object's first byte. */
		for (at = 0; at < 147; at++) {
			uint32_t first = mam_place_first(
				kit->heap,
				(uint32_t)((part - kit->space) >> MAM_UNIT_SHIFT) + (uint32_t)at);

			ck_assert_uint_eq(first, (part - kit->space) >> MAM_UNIT_SHIFT);
		}
		ck_assert(mam_kfree(kit->heap, part) && mam_kfree(kit->heap, filler));
	}
	okit_destroy(kit);
}
END_TEST

/* After a reset, old marks are invalid although the memory is unchanged. */
START_TEST(reset_invalidates_old_parts)
{
	struct okit *kit = okit_create(1, 1, NULL);
	unsigned char *part = mam_kmalloc_lanes(kit->heap, 1, 100), *object;
	uint64_t mark = *(uint64_t *)(part - 16);

	okit_begin(kit);
	ck_assert_uint_eq(*(uint64_t *)(part - 16), mark);
	do
		object = mam_kmalloc(kit->heap, 112);
	while (object && object != part - 16);
	ck_assert_ptr_nonnull(object);
	ck_assert(!mam_kfree(kit->heap, part));
	/* The same when the heap gets an epoch again, which differs from the previous one. */
	kit->heap->returns->epoch = 12345;
	part = mam_kmalloc_lanes(kit->heap, 1, 100);
	ck_assert(part && mam_kfree(kit->heap, part));
	ck_assert(!mam_kfree(kit->heap, object + 16));
	ck_assert_uint_eq(errors(kit), 2);
	okit_destroy(kit);
}
END_TEST

/* Shapes, and the table of 64-bit ends, which the heap of no test is large enough for. */
START_TEST(shape_describes_parts)
{
	struct okit *kit = okit_create(1, 1, NULL);
	uint64_t memory[64], each = (uint64_t)3 << 32;
	uint32_t shape, i;
	struct mam_kpiece piece;

	for (i = 1; i <= 1024; i++) {
		shape = mam_collective_shape(i, 0xfffff, (uint64_t)i * 0xfffff);
		ck_assert_uint_eq(mam_collective_parts(shape), i);
		ck_assert_uint_eq(mam_collective_front(shape), ckit_front(i, false));
		shape = mam_collective_shape(i, 0x100000, (uint64_t)i * 0x100000);
		ck_assert_uint_eq(mam_collective_kind(shape), MAM_COLLECTIVE_SHORT);
		ck_assert_uint_eq(mam_collective_front(shape), ckit_front(i, true));
		ck_assert_uint_eq(
			mam_collective_front(mam_collective_shape(i, 0, (uint64_t)1 << 32)),
			ckit_front(i, false) + (8 * i + 15) / 16 * 16);
	}
	memset(memory, 0, sizeof(memory));
	shape = mam_collective_shape(5, 0, 5 * each);
	mam_collective_open(kit->heap, memory, shape);
	for (i = 0; i < 5; i++)
		mam_collective_note(memory, shape, i, (i + 1) * each);
	for (i = 0; i < 5; i++) {
		unsigned char *part =
			(unsigned char *)memory + mam_collective_front(shape) + i * each;

		piece = mam_collective_find(kit->heap, memory, 6 * each, part);
		ck_assert(piece.live && piece.part == i && piece.bytes == each);
		piece = mam_collective_find(kit->heap, memory, 6 * each, part + 1);
		ck_assert(!piece.whole && piece.inside);
	}
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("collective_wrong");

	tcase_add_loop_test(tcase, invalid_free_of_part_fails, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(tcase, no_lane_gets_part_if_request_fails);
	tcase_add_test(tcase, valid_frees_succeed_beside_invalid);
	tcase_add_loop_test(tcase, exactly_one_free_is_the_last, 0,
			    sizeof(races) / sizeof(races[0]));
	tcase_add_test(tcase, realloc_moves_part_to_own_object);
	tcase_add_loop_test(tcase, free_of_whole_object_leaves_no_mark, 0, 2);
	tcase_add_test(tcase, part_in_other_block_is_found);
	tcase_add_test(tcase, reset_invalidates_old_parts);
	tcase_add_test(tcase, shape_describes_parts);
	return kit_run(tcase, "heap/collective_wrong");
}
