/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change.c - what a lane sees of a block that other lanes change meanwhile: a pass never misses
 * room while groups close and open; a claim of units that gives up has claimed none, nor does a
 * search for a run that met it fail; a request does not fail by a block in transition.
 */
#include <string.h>

#include "heap/stop.h"
#include "heap/motion.h"

/* ---- a group that changes during the pass ---------------------------------------------------- */

/*
 * Litmus cases of the orders in slab.h and pass.h, for loads that return older values. Units 0 to 3
 * are an idle group of class 5, or free. Other lanes close it, open it, or open a group of class 4 in
 * one of its units, with all slots free, and may stop before any of their atomics. No lane takes an
 * object, so a pass finds room, or closes a group, or is in doubt.
 */
struct change {
	const char *name;
	bool idle, opens;
	uint32_t other;  /* the class that opens */
	uint32_t class_; /* that the pass looks for */
};

static const struct change changes[] = {
	{ "a group closes", true, false, 0, 5 },
	{ "a group closes, for a smaller class", true, false, 0, 24 },
	{ "a group opens", false, true, 5, 5 },
	{ "a group opens, for another class", false, true, 4, 24 },
	{ "a group closes and opens", true, true, 5, 5 },
	{ "a group closes, and another opens", true, true, 4, 5 },
	{ "a group closes, and another is found", true, true, 4, 4 },
};

static void begin_change(void *argument)
{
	struct okit *kit = argument;
	const struct change *plan = kit->plan;

	okit_begin(kit);
	if (plan->idle)
		motion_slab(kit, 5, 0, 0);
	motion_run(kit, 4, 60);
	stop_begin(1);
}

MAM_KERNEL(change_during_pass)
{
	struct okit *kit = argument;
	const struct change *plan = kit->plan;
	uint32_t tries = 4;
	struct mam_klook look;

	switch (mam_block()) {
	case 0:
		motion_wait(16);
		look = motion_look(kit, plan->class_, 0);
		MAM_KASSERT(look.word != MAM_NO_WORD || look.unit != MAM_NO_PAGE || look.doubt);
		stop_leave();
		return;
	case 1:
		stop_after(1 + motion_below(10));
		if (plan->idle)
			(void)mam_slab_close(kit->heap, 5, 0, 0);
		return;
	}
	stop_after(1 + motion_below(10));
	while (plan->opens && tries-- && !motion_open_some(kit, plan->other, 0, ~(uint64_t)0, 0))
		;
}

START_TEST(pass_doubts_group_that_changes)
{
	struct okit *kit = okit_create(1, 1, &changes[_i]);

	motion_explore(kit, changes[_i].name, begin_change, change_during_pass, 3, 1, 1500, NULL);
	okit_destroy(kit);
}
END_TEST

/* ---- units of a block that changes ------------------------------------------------------------ */

/*
 * Lanes claim units of the slab and release them all the time, and a claim of several units may give
 * up: then it reports no group, and has claimed no unit.
 */
static uint32_t gave_up, runs;

MAM_KERNEL(claim_contended)
{
	struct okit *kit = argument;
	uint64_t *bits = mam_pages_bits(kit->heap->units), units, won;
	struct mam_kgroups groups;
	uint32_t n;

	units = mam_slab_free(mam_traits_of(5), 1, okit_all_slots(5), 0).units;
	if (mam_block() % 2) /* so that the claim wins some of its units */
		units &= ~units + 1;
	for (n = 0; mam_block() && n < 30; n++) {
		won = units & ~mam_bitmap_claim(bits, 0, units);
		if (won)
			(void)mam_bitmap_release(bits, 0, won);
	}
	if (mam_block())
		return;
	groups = motion_space(kit, 5, 1, okit_all_slots(5), 0);
	if (groups.slots) {
		motion_publish(kit, 5, 1, groups.units, 0);
		motion_own(kit, 5, 1, groups.slots);
	}
	gave_up += !groups.slots;
	runs++;
}

START_TEST(claim_that_gives_up_claims_nothing)
{
	struct okit *kit = okit_create(1, 1, NULL);

	gave_up = runs = 0;
	motion_explore(kit, "a contended claim", okit_begin, claim_contended, 6, 1,
		       KIT_RACE ? 60 : 200, NULL);
	ck_assert(runs < 100 || (gave_up && gave_up < runs));
	okit_destroy(kit);
}
END_TEST

/* ---- after a scan --------------------------------------------------------------------------- */

/* The only block with room according to a scan has a unit in transition: that proves nothing. */
MAM_KERNEL(end_in_doubt)
{
	struct okit *kit = argument;
	struct mam_krequest request = motion_request(kit, 5, 1);
	uint64_t *bits = mam_pages_bits(kit->heap->units);

	mam_set_flip(&request.wanted.mine, 5);
	request.since = mam_scans_want(kit->heap, &request.wanted.mine);
	MAM_KASSERT(!mam_scans_join(kit->heap, &request.wanted.mine, request.since));
	mam_pass_record(kit->heap, 5, 0, 1);
	(void)mam_scans_report(kit->heap, false, false);
	(void)mam_bitmap_claim(bits, 0, (uint64_t)1 << 63);
	mam_search_verdict(&request);
	MAM_KASSERT(!request.object && request.mine.slot == MAM_NO_SLOT);
	mam_owners_set(kit->heap, 63, 1, MAM_OWNER_FEW + 1);
	mam_search_verdict(&request);
	MAM_KASSERT(!request.object && request.mine.slot == MAM_SLOT_REFUSED);
}

static void begin_but_one(void *argument)
{
	okit_begin(argument);
	motion_run(argument, 0, 63);
}

static const char *anything(void *argument)
{
	(void)argument;
	return NULL;
}

START_TEST(block_in_doubt_proves_nothing)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "one lane", begin_but_one, end_in_doubt, 1, 1, 1, anything);
	okit_destroy(kit);
}
END_TEST

/* ---- a claim that loses a unit ---------------------------------------------------------------- */

/*
 * Units 11 and 12 are free, all others belong to runs. The claims are for units 12 and 13, by threads
 * that saw 13 free a while ago.
 */
static void begin_lost(void *argument)
{
	okit_begin(argument);
	motion_run(argument, 0, 11);
	motion_run(argument, 13, 51);
}

static void claim_and_lose(struct okit *kit)
{
	uint64_t slot = (uint64_t)1 << 12 / 2; /* of 2 KiB: two units */

	MAM_KASSERT(!motion_space(kit, mam_class_of(2048), 0, slot,
				  ~((uint64_t)1 << 12 | (uint64_t)1 << 13))
			     .slots);
}

MAM_KERNEL(lose)
{
	struct okit *kit = argument;
	uint64_t taken = mam_bitmap_load(mam_pages_bits(kit->heap->units), 0);
	uint32_t closes = mam_atomic_load32(kit->heap->closes, MAM_RELAXED, MAM_AT_DEVICE);

	claim_and_lose(kit);
	MAM_KASSERT(mam_bitmap_load(mam_pages_bits(kit->heap->units), 0) == taken);
	MAM_KASSERT(mam_atomic_load32(kit->heap->closes, MAM_RELAXED, MAM_AT_DEVICE) != closes);
}

/* A lane that sees the claimed unit between two looks is in doubt, or sees different `closes`. */
MAM_KERNEL(lose_between_looks)
{
	struct okit *kit = argument;
	struct mam_klook before, after;
	uint64_t seen;
	uint32_t i;

	for (i = 0; mam_block() && i < 3; i++)
		claim_and_lose(kit);
	for (i = 0; !mam_block() && i < 3; i++) {
		before = motion_look(kit, 0, 0);
		seen = mam_bitmap_load(mam_pages_bits(kit->heap->units), 0);
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
		after = motion_look(kit, 0, 0);
		MAM_KASSERT(!(seen >> 12 & 1) || before.doubt || after.doubt ||
			    before.closes != after.closes);
	}
}

/* A search for a run meets the claims, and yet finds units 11 and 12. */
MAM_KERNEL(lose_beside_search)
{
	struct mam_krequest request;
	struct okit *kit = argument;
	uint32_t i;

	for (i = 0; mam_block() && i < 12; i++) {
		motion_wait(6);
		claim_and_lose(kit);
	}
	for (i = 0; !mam_block() && i < 3; i++) {
		request = motion_request(kit, 1, 1);
		request.units = 2;
		request.runs_mask = 1;
		mam_spans_take(&request);
		MAM_KASSERT(request.object);
		MAM_KASSERT(mam_spans_give(kit->heap, request.unit, MAM_OWNER_FEW + 2));
	}
}

START_TEST(lost_claim_hides_no_room)
{
	struct okit *kit = okit_create(1, 1, NULL);

	motion_explore(kit, "a lost claim", begin_lost, lose, 1, 1, 1, NULL);
	motion_explore(kit, "lost claims and two looks", begin_lost, lose_between_looks, 2, 1, 1500,
		       NULL);
	motion_explore(kit, "lost claims and a search", begin_lost, lose_beside_search, 2, 1, 5000,
		       NULL);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("change");

	tcase_add_loop_test(tcase, pass_doubts_group_that_changes, 0,
			    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tcase, claim_that_gives_up_claims_nothing);
	tcase_add_test(tcase, block_in_doubt_proves_nothing);
	tcase_add_test(tcase, lost_claim_hides_no_room);
	return kit_run(tcase, "heap/change");
}
