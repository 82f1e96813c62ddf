/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_streams.c - several kernels on one heap, concurrent and consecutive, on several streams: one
 * frees what another allocated, the heap is reset between two, and some lanes of a warp exit early.
 */
#include "heap/motion.h"

#define TCACHES 64

/* Sizes whose slabs have few units, so that a small heap has several slabs, and sizes of runs. */
static const size_t sizes[] = { 16, 24, 64, 64, 100, 128, 500, 9000 };

static size_t some_bytes(void)
{
	return sizes[motion_below(sizeof(sizes) / sizeof(sizes[0]))];
}

/* Objects wait in slots for other lanes: a lane puts its object there, and frees what it finds. */
static void pass_on(struct okit *kit, void *object)
{
	uint32_t i = motion_below(TCACHES), tries;
	void *found = okit_take(kit, i);

	okit_free(kit, found);
	if (!object)
		return;
	/* If another lane has filled the slot meanwhile, tries the next one. */
	for (tries = 0; tries < TCACHES; tries++, i = (i + 1) % TCACHES)
		if (!mam_atomic_cas64(&kit->kept[i], 0, (uintptr_t)object, MAM_ACQ_REL,
				      MAM_AT_DEVICE))
			return;
	okit_free(kit, object);
}

MAM_KERNEL(trade)
{
	struct okit *kit = argument;
	uint32_t n;

	/* Warps are not complete: some lanes never allocate. */
	if (motion_below(4) == 0)
		return;
	for (n = 0; n < 4; n++)
		pass_on(kit, motion_below(3) ? okit_alloc(kit, some_bytes()) : NULL);
}

/* Frees the remaining objects in the slots. */
MAM_KERNEL(clear_up)
{
	struct okit *kit = argument;
	uint32_t i;

	for (i = mam_block() * simt_block_threads() + simt_thread(); i < TCACHES;
	     i += mam_grid_blocks() * simt_block_threads())
		okit_free(kit, okit_take(kit, i));
}

/* Three streams, two kernels in each; nothing is ordered between streams. */
static bool at_once(struct simt_world *world, void *argument)
{
	uint32_t i;

	for (i = 0; i < 6; i++)
		if (!simt_world_launch(world, i % 3, trade, 1 + i % 2, 5 + i % 3, argument))
			return false;
	return true;
}

/* After the run, when the world's kernels have ended: counts what they left. */
static const char *all_but_the_kept(void *argument)
{
	struct okit *kit = argument;
	const char *wrong = okit_check(kit);
	uint32_t i, kept = 0;

	for (i = 0; i < TCACHES; i++)
		kept += !!kit->kept[i];
	if (kept != kit->live)
		return okit_wrong("%u objects are live, but %u were left", kit->live, kept);
	return wrong;
}

START_TEST(concurrent_streams_share_heap)
{
	struct okit *kit = okit_create(2, 4, NULL);

	okit_explore_world(kit, "concurrent streams", at_once, KIT_RACE ? 100 : 400,
			   all_but_the_kept);
	okit_destroy(kit);
}
END_TEST

/* One stream: the last kernel frees what all others left. */
static bool in_turn(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, trade, 2, 6, argument) &&
	       simt_world_launch(world, 0, trade, 1, 12, argument) &&
	       simt_world_launch(world, 0, clear_up, 2, 4, argument) &&
	       simt_world_launch(world, 0, trade, 2, 6, argument) &&
	       simt_world_launch(world, 0, clear_up, 1, 8, argument);
}

START_TEST(later_kernel_frees_objects_of_earlier)
{
	struct okit *kit = okit_create(1, 2, NULL);

	okit_explore_world(kit, "one stream", in_turn, KIT_RACE ? 100 : 300, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/*
 * A tiny heap: one kernel fills it as far as possible, the next one, of another shape, empties it,
 * while a third on another stream allocates and frees: the same number fits again.
 */
MAM_KERNEL(fill)
{
	struct okit *kit = argument;
	uint32_t self = mam_block() * simt_block_threads() + simt_thread(), n;

	for (n = 0; n < 8; n++)
		okit_keep(kit, TCACHES + self * 8 + n,
			  okit_alloc(kit, (size_t)(uintptr_t)kit->plan));
}

MAM_KERNEL(empty)
{
	struct okit *kit = argument;
	uint32_t i;

	for (i = mam_block() * simt_block_threads() + simt_thread(); i < 16 * 8;
	     i += mam_grid_blocks() * simt_block_threads())
		okit_free(kit, okit_take(kit, TCACHES + i));
}

MAM_KERNEL(meddle)
{
	struct okit *kit = argument;
	uint32_t n;

	for (n = 0; n < 6; n++)
		okit_free(kit, okit_alloc(kit, some_bytes()));
}

static bool fill_and_empty(struct simt_world *world, void *argument)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (!simt_world_launch(world, 0, fill, 2, 8, argument) ||
		    !simt_world_launch(world, 0, empty, 1 + i, 5, argument))
			return false;
	return simt_world_launch(world, 7, meddle, 1, 2, argument);
}

static void begin_few(void *argument)
{
	okit_begin(argument);
	motion_run(argument, 12, 52);
	okit_keep(argument, 0, ((struct okit *)argument)->space + (12u << MAM_UNIT_SHIFT));
}

START_TEST(emptied_heap_can_be_filled_again)
{
	static const size_t bytes[] = { 64, 120, 1 };
	struct okit *kit = okit_create(1, 2, (const void *)(uintptr_t)bytes[_i]);
	struct simt_case test = {
		.name = "filled again",
		.build = fill_and_empty,
		.argument = kit,
		.begin = begin_few,
		.check = all_but_the_kept,
		.seeds = KIT_RACE ? 20 : 60,
		.config = { .race = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

/* ---- a reset between two kernels ------------------------------------------------------------- */

/*
 * A kernel leaves all of its objects live; the heap is reset; the next kernel has the whole heap.
 */
MAM_KERNEL(litter)
{
	struct okit *kit = argument;
	uint32_t n;

	for (n = 0; n < 5; n++)
		(void)okit_alloc(kit, some_bytes());
}

MAM_KERNEL(have_all)
{
	struct okit *kit = argument;

	/* The whole heap is one run again. */
	if (!mam_block() && !simt_thread())
		okit_keep(kit, 0, okit_alloc(kit, (size_t)kit->blocks << MAM_BLOCK_SHIFT));
}

static void resets(void *argument)
{
	struct okit *kit = argument;

	simt_host_wait(0, "before the reset");
	okit_begin(kit);
	MAM_KASSERT(simt_host_launch(0, have_all, 1, 3, kit));
	simt_host_wait(0, "after the reset");
	MAM_KASSERT(kit->kept[0] && kit->live == 1);
	okit_begin(kit);
	MAM_KASSERT(simt_host_launch(0, trade, 1, 6, kit));
	MAM_KASSERT(simt_host_launch(0, clear_up, 1, 6, kit));
}

static bool reset_between(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, litter, 2, 5, argument) &&
	       simt_world_host(world, resets, argument);
}

START_TEST(reset_makes_whole_heap_available)
{
	struct okit *kit = okit_create(2, 2, NULL);

	okit_explore_world(kit, "reset between kernels", reset_between, KIT_RACE ? 40 : 150,
			   okit_check_empty);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("streams");

	tcase_add_test(tcase, concurrent_streams_share_heap);
	tcase_add_test(tcase, later_kernel_frees_objects_of_earlier);
	tcase_add_loop_test(tcase, emptied_heap_can_be_filled_again, 0, 3);
	tcase_add_test(tcase, reset_makes_whole_heap_available);
	return kit_run(tcase, "heap/streams");
}
