/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_compartments.c - one block for the lanes of a warp: the position of each compartment, the
 * contents of its headers, and which lane gets the block at the end.
 */
#include "coalesce/compartments.h"
#include "coalesce/kit.h"

/* The bytes that lanes request, and the participating lanes. */
struct plan {
	uint32_t mask;
	uint32_t bytes[32];
};

static uint32_t size_of(uint32_t bytes)
{
	return (bytes + 8 + 15) / 16 * 16;
}

/* ---- positions ----------------------------------------------------------------------------- */

static void *deal(struct ckit *kit, uint32_t mask, uint32_t bytes, struct mam_kcompartment *place)
{
	void *block = NULL;

	*place = mam_compartments_place(mask, bytes);
	if (mam_lane() == mam_lanes_leader(mask))
		block = mam_base_alloc(ckit_base(kit), place->total);
	return mam_compartments_deal(mask, *place, block);
}

/* Frees our compartment; returns true if it was the last one of its block. */
static bool leave(struct ckit *kit, uint32_t mask, void *object, size_t bytes)
{
	struct mam_kcompartment_end end = mam_compartments_end(object);
	size_t left = mam_compartments_leave(mask, end);

	MAM_KASSERT(end.block && (!left || left == bytes));
	if (left)
		(void)mam_base_free(ckit_base(kit), (void *)(uintptr_t)end.block);
	return left != 0;
}

static MAM_KERNEL(lie)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t bytes = plan->bytes[mam_lane()], total = 8, offset = 8, lane;
	struct mam_kcompartment place;
	struct mam_kcompartments *header;
	unsigned char *object;

	if (!(plan->mask >> mam_lane() & 1))
		return;
	for (lane = 0; lane < 32; lane++)
		if (plan->mask >> lane & 1) {
			total += size_of(plan->bytes[lane]);
			offset += lane < mam_lane() ? size_of(plan->bytes[lane]) : 0;
		}
	object = deal(kit, plan->mask, bytes, &place);
	MAM_KASSERT(place.total == total && place.offset == offset);
	MAM_KASSERT(object && (uintptr_t)object % 16 == 0);
	header = (struct mam_kcompartments *)(void *)(object - 8 - offset);
	MAM_KASSERT(header->bytes == total && header->count == mam_popc32(plan->mask));
	ckit_own(kit, object, bytes);
	mam_warp_sync(plan->mask);
	ckit_disown(kit, object);
	MAM_KASSERT(leave(kit, plan->mask, object, total) ==
		    (mam_lane() == mam_lanes_leader(plan->mask)));
}

static const char *check_one(void *argument)
{
	const struct ckit *kit = argument;

	return kit->allocs == 1 ? ckit_check_empty(argument) : "more than one block for all";
}

/* The paper's example: 64, 64, 48 and 128 bytes, and 312 in total. */
static const struct plan papers = { 0xf, { 56, 56, 40, 120 } };

static MAM_KERNEL(papers_example)
{
	static const uint32_t offsets[] = { 8, 72, 136, 184 };
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kcompartment place = mam_compartments_place(0xf, plan->bytes[mam_lane()]);

	MAM_KASSERT(place.total == 312 && place.offset == offsets[mam_lane()]);
}

START_TEST(layout_matches_paper)
{
	struct ckit *kit = ckit_create(1 << 12, &papers);

	ckit_explore(kit, "the paper's example", papers_example, 1, 4, 3, NULL);
	ckit_explore(kit, "the paper's example, allocated", lie, 1, 4, CKIT_RACE ? 10 : 50,
		     check_one);
	ckit_destroy(kit);
}
END_TEST

START_TEST(compartments_do_not_overlap)
{
	struct ckit *kit = ckit_create(1 << 14, NULL);
	struct plan plan = { 0, { 0 } };
	uint32_t mask, lane;

	kit->plan = &plan;
	ck_assert_uint_eq(MAM_COMPARTMENT_MAX, 232);
	/* Every subset of five lanes, each with its own size. */
	for (mask = 1; mask < 32; mask++) {
		plan.mask = mask;
		for (lane = 0; lane < 32; lane++)
			plan.bytes[lane] = 1 + (mask * 29 + lane * 47) % MAM_COMPARTMENT_MAX;
		ckit_explore(kit, "subsets of lanes", lie, 1, 5, 2, check_one);
	}
	/* All lanes, with the smallest and the largest size: buffers can still cache the block. */
	plan.mask = 0xffffffff;
	for (lane = 0; lane < 32; lane++)
		plan.bytes[lane] = 1;
	ckit_explore(kit, "smallest sizes", lie, 1, 32, 3, check_one);
	for (lane = 0; lane < 32; lane++)
		plan.bytes[lane] = MAM_COMPARTMENT_MAX;
	kit->max_bytes = MAM_COMPARTMENTS_BYTES;
	ckit_explore(kit, "largest sizes", lie, 1, 32, 3, check_one);
	plan.mask = 0x80000001;
	ckit_explore(kit, "the first lane and the last", lie, 1, 32, 3, check_one);
	ckit_destroy(kit);
}
END_TEST

static MAM_KERNEL(none)
{
	struct mam_kcompartment place;

	MAM_KASSERT(!deal(argument, 0xff, 8 + mam_lane(), &place));
}

START_TEST(failed_base_gives_null_to_all)
{
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->refuse_after = 1;
	ckit_explore(kit, "no block", none, 1, 8, 3, NULL);
	ckit_destroy(kit);
}
END_TEST

/* ---- size limits, and single compartments -------------------------------------------------- */

START_TEST(size_limit_is_exact)
{
	ck_assert(!mam_compartments_fit(0));
	ck_assert(mam_compartments_fit(1));
	ck_assert(mam_compartments_fit(MAM_COMPARTMENT_MAX));
	ck_assert(!mam_compartments_fit(MAM_COMPARTMENT_MAX + 1));
	ck_assert(!mam_compartments_fit((size_t)-1));
	ck_assert(!mam_compartments_fit((size_t)1 << 32 | 8));
	ck_assert(8 + 32 * size_of(MAM_COMPARTMENT_MAX) <= MAM_COMPARTMENTS_BYTES);
	ck_assert(8 + 32 * size_of(MAM_COMPARTMENT_MAX + 1) > MAM_COMPARTMENTS_BYTES);
	ck_assert_uint_eq(mam_compartments_alone(0), 0);
	ck_assert_uint_eq(mam_compartments_alone(1), 17);
	ck_assert_uint_eq(mam_compartments_alone((size_t)5 << 32), ((size_t)5 << 32) + 16);
	ck_assert_uint_eq(mam_compartments_alone((size_t)-17), (size_t)-1);
	ck_assert_uint_eq(mam_compartments_alone((size_t)-16), 0);
	ck_assert_uint_eq(mam_compartments_alone((size_t)-1), 0);
}
END_TEST

/* Each lane has a block of its own, of a size that may exceed 32 bits. */
static MAM_KERNEL(alone)
{
	struct ckit *kit = argument;
	size_t bytes = 1000 + mam_lane(), asked = mam_compartments_alone(bytes);
	unsigned char *block = mam_base_alloc(ckit_base(kit), asked);
	unsigned char *object = mam_compartments_put_alone(block, asked);

	MAM_KASSERT(object == block + 16 && *(uint64_t *)(void *)block == bytes + 16);
	ckit_own(kit, object, bytes);
	ckit_disown(kit, object);
	MAM_KASSERT(leave(kit, 0xffffffff, object, asked));
	*(uint64_t *)(void *)block = 0;
}

START_TEST(single_compartment_has_wide_size)
{
	struct ckit *kit = ckit_create(1 << 16, NULL);

	ckit_explore(kit, "alone in a block", alone, 1, 32, CKIT_RACE ? 3 : 10, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* ---- foreign memory ------------------------------------------------------------------------ */

static MAM_KERNEL(strange)
{
	static const uint32_t tags[] = { 0, 0xffffffff, MAM_COMPARTMENT_FREE,
					 MAM_COMPARTMENT_SHARED ^ 1, MAM_COMPARTMENT_ALONE + 1 };
	struct ckit *kit = argument;
	uint64_t *block = mam_base_alloc(ckit_base(kit), 64);
	struct mam_kcompartment_end end;
	unsigned char *object = (unsigned char *)&block[2];
	uint32_t i;

	for (i = 0; i < 5; i++) {
		block[0] = 77;
		block[1] = (uint64_t)tags[i] << 32 | 8;
		end = mam_compartments_end(object);
		MAM_KASSERT(!end.block && !mam_compartments_leave(1u << mam_lane(), end));
		MAM_KASSERT(block[0] == 77 && block[1] == ((uint64_t)tags[i] << 32 | 8));
	}
	/* The address is not a multiple of 16, although a tag precedes it. */
	block[4] = (uint64_t)MAM_COMPARTMENT_ALONE << 32 | 8;
	MAM_KASSERT(!mam_compartments_end(&block[5]).block);
	MAM_KASSERT(block[4] >> 32 == MAM_COMPARTMENT_ALONE);
	(void)mam_compartments_put_alone(block, 64);
	for (i = 1; i < 16; i++)
		MAM_KASSERT(!mam_compartments_end(object + i).block);
	/* A double free. */
	MAM_KASSERT(leave(kit, 1u << mam_lane(), object, 64));
	MAM_KASSERT(!mam_compartments_end(object).block);
}

START_TEST(foreign_memory_is_recognized)
{
	struct ckit *kit = ckit_create(1 << 12, NULL);

	ckit_explore(kit, "foreign memory", strange, 1, 1, 1, NULL);
	ckit_destroy(kit);
}
END_TEST

/* ---- which lane gets the block at the end -------------------------------------------------- */

static void *have(struct ckit *kit, uint32_t bytes)
{
	struct mam_kcompartment place;
	void *object = deal(kit, mam_warp_active(), bytes, &place);

	MAM_KASSERT(object);
	ckit_own(kit, object, bytes);
	return object;
}

static void release(struct ckit *kit, void *object)
{
	uint32_t mask = mam_warp_active();
	struct mam_kcompartment_end end;
	size_t left;

	ckit_disown(kit, object);
	end = mam_compartments_end(object);
	MAM_KASSERT(end.block && end.shared);
	left = mam_compartments_leave(mask, end);
	if (left)
		(void)mam_base_free(ckit_base(kit), (void *)(uintptr_t)end.block);
}

/*
 * Each lane frees a compartment of another lane, of its own warp or another; any lanes may
 * converge.
 */
static MAM_KERNEL(swap)
{
	struct ckit *kit = argument;
	uint32_t me = simt_thread(), round;

	for (round = 0; round < 2; round++) {
		ckit_keep(kit, me, have(kit, 1 + me * 7 % MAM_COMPARTMENT_MAX));
		mam_syncthreads();
		release(kit, ckit_take(kit, (me * 5 + 3) % simt_block_threads()));
		mam_syncthreads();
	}
}

static MAM_KERNEL(fill)
{
	struct ckit *kit = argument;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread();

	ckit_keep(kit, me, have(kit, 1 + me * 11 % 100));
}

static MAM_KERNEL(empty)
{
	struct ckit *kit = argument;
	uint32_t all = mam_grid_blocks() * simt_block_threads();
	uint32_t me = mam_block() * simt_block_threads() + simt_thread();

	release(kit, ckit_take(kit, (me * 5 + 3) % all));
}

static bool in_turn(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, fill, 2, 12, argument) &&
	       simt_world_launch(world, 1, empty, 3, 8, argument);
}

START_TEST(last_free_by_other_lanes_ends_block)
{
	struct ckit *kit = ckit_create(1 << 15, NULL);

	ckit_explore(kit, "a few compartments", swap, 1, 4, CKIT_RACE ? 300 : 3000, NULL);
	ckit_explore(kit, "compartments of two warps", swap, 1, 36, CKIT_RACE ? 30 : 300, NULL);
	ckit_explore_world(kit, "compartments of an earlier kernel", in_turn,
			   CKIT_RACE ? 150 : 1000, NULL);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("compartments");

	tcase_add_test(tcase, layout_matches_paper);
	tcase_add_test(tcase, compartments_do_not_overlap);
	tcase_add_test(tcase, failed_base_gives_null_to_all);
	tcase_add_test(tcase, size_limit_is_exact);
	tcase_add_test(tcase, single_compartment_has_wide_size);
	tcase_add_test(tcase, foreign_memory_is_recognized);
	tcase_add_test(tcase, last_free_by_other_lanes_ends_block);
	return ckit_run(tcase, "coalesce/compartments");
}
