/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cut.c - the runs that the lanes of a warp cut from stretches of whole blocks (cut.h): their
 * places, which blocks they come from, and that no unit is lost.
 */
#include "heap/motion.h"

#define LANES 32

static uint32_t *frontier_of(const struct okit *kit)
{
	return &mam_metadata_searches(kit->heap)->frontier;
}

static uint32_t units_of(uint32_t class_)
{
	return (mam_class_bytes(class_) + 1023) / 1024;
}

static bool is_power(uint32_t class_)
{
	return !(mam_class_bytes(class_) & (mam_class_bytes(class_) - 1));
}

static bool suits(uint32_t class_)
{
	return units_of(class_) > 1 && mam_few_suits(mam_traits_of(class_));
}

/*
 * All lanes whose places are in one block have their objects there, at these places, or none has one.
 * A lane whose place reaches into the next block has none.
 */
static void check_place(struct okit *kit, uint32_t mask, uint32_t class_, bool wants,
			const unsigned char *object)
{
	uint32_t n = wants && suits(class_) ? units_of(class_) : 0, block, peers, got, unit;
	struct mam_kcut mine = mam_cut_places(mask, n, is_power(class_));

	block = mine.place / MAM_BLOCK_UNITS;
	if (n && (mine.place + n - 1) / MAM_BLOCK_UNITS != block)
		n = 0;
	MAM_KASSERT(n || !object);
	peers = mam_warp_match32(mask, n ? block + 1 : 0);
	got = mam_warp_ballot(mask, object != NULL) & peers;
	MAM_KASSERT(!got || !n || got == peers);
	unit = object ? (uint32_t)((object - kit->space) / 1024) : 0;
	MAM_KASSERT(mam_warp_shuffle32(mask, unit, mam_ffs32(peers) - 1) / MAM_BLOCK_UNITS ==
		    unit / MAM_BLOCK_UNITS);
	MAM_KASSERT(!object || unit % MAM_BLOCK_UNITS == mine.place % MAM_BLOCK_UNITS);
}

/* Calls mam_cut() by the active lanes; the caller owns all units of its object. */
static unsigned char *cut(struct okit *kit, uint32_t class_, bool wants)
{
	uint32_t n = units_of(class_), bytes = mam_class_bytes(class_), unit;
	uint32_t mask = mam_warp_active();
	unsigned char *object = mam_cut(kit->heap, mask, class_, wants);

	check_place(kit, mask, class_, wants, object);
	if (!object)
		return NULL;
	unit = (uint32_t)((object - kit->space) / 1024);
	MAM_KASSERT(!is_power(class_) || unit % n == 0);
	/* Of other sizes the object reaches into the last unit, whatever the class. */
	if (!is_power(class_))
		bytes = mam_class_bytes(mam_class_of(n << MAM_UNIT_SHIFT) - 1);
	okit_own(kit, object, bytes);
	MAM_KASSERT(mam_objects_usable(kit->heap, object) == n << MAM_UNIT_SHIFT);
	return object;
}

/* ---- places ---------------------------------------------------------------------------------- */

#define WARPS 8 /* of the shapes of a block with so many threads */

static struct {
	uint32_t mask, units, place, end;
	bool aligned;
} lanes[WARPS][LANES];

MAM_KERNEL(places)
{
	uint32_t warp = mam_thread() / LANES, lane = mam_lane(), units = motion_below(9);
	bool aligned = units > 1 && (0x116 >> units & 1) && motion_below(2);
	uint32_t mask = mam_warp_active();
	struct mam_kcut mine = mam_cut_places(mask, units, aligned);

	(void)argument;
	lanes[warp][lane].mask = mask;
	lanes[warp][lane].units = units;
	lanes[warp][lane].aligned = aligned;
	lanes[warp][lane].place = mine.place;
	lanes[warp][lane].end = mine.end;
}

static void begin_places(void *argument)
{
	okit_begin(argument);
	memset(lanes, 0, sizeof(lanes));
}

/* Those of lanes that called together: no gaps, no overlap; aligned ones are multiples of their units. */
static const char *check_group(uint32_t warp, uint32_t mask)
{
	uint8_t used[8 * LANES] = { 0 };
	uint32_t lane, i, sum = 0;

	for (lane = 0; lane < LANES; lane++)
		sum += mask >> lane & 1 ? lanes[warp][lane].units : 0;
	for (lane = 0; lane < LANES; lane++) {
		if (!(mask >> lane & 1))
			continue;
		if (lanes[warp][lane].end != sum)
			return "the end is not the sum of all units";
		if (lanes[warp][lane].aligned && lanes[warp][lane].place % lanes[warp][lane].units)
			return "a place is not aligned";
		for (i = 0; i < lanes[warp][lane].units; i++)
			if (lanes[warp][lane].place + i >= sum ||
			    used[lanes[warp][lane].place + i]++)
				return "two places overlap, or one is after the end";
	}
	return NULL;
}

static const char *check_places(void *argument)
{
	const char *wrong = NULL;
	uint32_t warp, lane;

	(void)argument;
	for (warp = 0; warp < WARPS; warp++)
		for (lane = 0; lane < LANES && !wrong; lane++)
			wrong = check_group(warp, lanes[warp][lane].mask);
	return wrong;
}

START_TEST(places_are_disjoint_and_aligned)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "places", begin_places, places, 1, LANES, 200, check_places);
	okit_destroy(kit);
}
END_TEST

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint32_t wanted, served; /* by lanes with classes that suit */

static void count(uint32_t *what)
{
	(void)mam_atomic_add32(what, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static void begin_empty(void *argument)
{
	okit_begin(argument);
	wanted = served = 0;
}

/* In a heap of mostly empty blocks most lanes are served, in stretches of several blocks, too. */
static const char *no_unit_is_taken(void *argument)
{
	struct okit *kit = argument;
	uint32_t block;

	if (kit->blocks >= 64 && served * 3 < wanted * 2)
		return "a third of the lanes found no room";
	for (block = 0; block < kit->blocks; block++)
		if (mam_pages_bits(kit->heap->units)[block])
			return "a unit is still allocated";
	return okit_check_empty(kit);
}

/* Any classes, or those of 5 to 8 units; some lanes want nothing, some are not active. */
MAM_KERNEL(cut_and_free)
{
	struct okit *kit = argument;
	unsigned char *object;
	uint32_t n, class_;
	bool wants;

	for (n = 0; n < 3; n++) {
		class_ = n ? 1 + motion_below(MAM_CLASSES) : MAM_CLASSES - motion_below(16);
		wants = n < 2 || motion_below(4);
		if (n == 1 && !motion_below(3))
			continue;
		object = cut(kit, class_, wants);
		if (wants && suits(class_))
			count(&wanted);
		if (object) {
			count(&served);
			okit_free(kit, object);
		}
	}
}

START_TEST(no_unit_is_lost)
{
	/* One warp in many blocks; then several that compete for few. */
	static const uint32_t blocks[] = { 64, 8, 3 }, warps[] = { 1, 2, 3 };
	struct okit *kit = okit_create(blocks[_i], 1, NULL);

	motion_explore(kit, "warps that cut", begin_empty, cut_and_free, warps[_i], LANES,
		       KIT_RACE ? 20 : 60, no_unit_is_taken);
	okit_destroy(kit);
}
END_TEST

/* The first units of each block before number `full` are taken, so many of them. */
struct fill {
	uint32_t blocks, full, units;
	uint32_t frontier; /* before, in blocks */
	bool served;       /* a lane finds room */
	bool moves;        /* the frontier */
};

static void begin_filled(void *argument)
{
	struct okit *kit = argument;
	const struct fill *plan = kit->plan;
	uint32_t block, at;

	begin_empty(kit);
	for (block = 0; block < plan->full; block++)
		for (at = 0; at < plan->units; at += 8)
			motion_run(kit, 64 * block + at, 8);
	*frontier_of(kit) = plan->frontier * MAM_BLOCK_UNITS;
}

MAM_KERNEL(cut_once)
{
	struct okit *kit = argument;
	const struct fill *plan = kit->plan;
	unsigned char *object = cut(kit, mam_lane() % 2 ? 72 : 70, true);

	MAM_KASSERT(!object || object - kit->space >= (ptrdiff_t)plan->full * 65536);
	if (object) {
		count(&served);
		okit_free(kit, object);
	}
}

static const char *check_served(void *argument)
{
	const struct okit *kit = argument;
	const struct fill *plan = kit->plan;

	if (!served != !plan->served)
		return "a lane found room, or none did";
	if ((*frontier_of(kit) != plan->frontier * MAM_BLOCK_UNITS) != plan->moves)
		return "the frontier moved, or did not";
	return okit_check(argument);
}

/*
 * A heap whose blocks are fragmented has no stretch; nor has one that is full to its end, wherever the
 * frontier is. Full blocks before the frontier, three quarters of their units or more: the stretches
 * are after it, and not after the last block.
 */
static const struct fill fills[] = {
	{ 64, 64, 32, 0, false, false }, { 70, 64, 40, 0, false, false },
	{ 64, 64, 64, 0, false, false }, { 70, 70, 64, 70, false, false },
	{ 80, 64, 64, 0, true, true },   { 80, 64, 48, 0, true, true },
	{ 66, 66, 64, 65, false, true },
};

START_TEST(fragmented_blocks_are_left_to_lanes)
{
	struct okit *kit = okit_create(fills[_i].blocks, 1, &fills[_i]);

	motion_explore(kit, "fragmented blocks", begin_filled, cut_once, 2, LANES, 10,
		       check_served);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("cut");

	tcase_add_test(tcase, places_are_disjoint_and_aligned);
	tcase_add_loop_test(tcase, no_unit_is_lost, 0, 3);
	tcase_add_loop_test(tcase, fragmented_blocks_are_left_to_lanes, 0,
			    sizeof(fills) / sizeof(fills[0]));
	return kit_run(tcase, "heap/cut");
}
