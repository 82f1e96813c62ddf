/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_litmus.c - why the relaxed accesses of the in-kernel heap are enough: each kind of them as a
 * kernel with nothing else in it, in which loads may return older values.
 *
 * Each kernel is right as the heap has it, and wrong with any one of its other orders weakened:
 * `broken` is the number of that order. So the test shows on which orders the relaxed accesses rely,
 * and that the simulator detects it if one is missing. litmus.sh fails if a function of src/heap has
 * a relaxed access and the table below does not name it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/suite.h"

#define ROUNDS 3

static struct space {
	uint64_t hint, word, number, owner, closes, slots, open, undone;
	uint64_t ticket[2], list[2], full, stamp, data[2], bits;
	uint64_t seen[4]; /* by block */
	uint64_t plain, count;
	uint32_t broken;
} space;

/* The order of this number, or relaxed. */
static enum simt_order order(uint32_t number, enum simt_order strong)
{
	return space.broken == number ? MAM_RELAXED : strong;
}

static void fence(uint32_t number, enum simt_order strong)
{
	if (space.broken != number)
		mam_fence(strong, MAM_AT_DEVICE);
}

static uint64_t load(uint64_t *where)
{
	return mam_atomic_load64(where, MAM_RELAXED, MAM_AT_DEVICE);
}

static void store(uint64_t *where, uint64_t value)
{
	mam_atomic_store64(where, value, MAM_RELAXED, MAM_AT_DEVICE);
}

static uint64_t add(uint64_t *where, uint64_t value)
{
	return mam_atomic_add64(where, value, MAM_RELAXED, MAM_AT_DEVICE);
}

/* ---- hints, numbers, flags ------------------------------------------------------------------- */

/*
 * A hint may be old, or of a place that is full: the claim decides. The lane that wins bit 0 of the
 * word owns the payload.
 */
MAM_KERNEL(hints)
{
	uint32_t round;

	(void)argument;
	for (round = 0; round < ROUNDS; round++) {
		if (!load(&space.hint) && !(load(&space.word) & 1))
			continue;
		if (!(mam_atomic_and64(&space.word, ~(uint64_t)1, order(1, MAM_ACQUIRE),
				       MAM_AT_DEVICE) &
		      1))
			continue;
		space.plain++;
		store(&space.hint, round);
		mam_atomic_or64(&space.word, 1, order(2, MAM_RELEASE), MAM_AT_DEVICE);
	}
}

/*
 * Numbers that are only added to, or raised: each lane gets others, though it may have read an old
 * one before.
 */
MAM_KERNEL(numbers)
{
	uint64_t before = load(&space.number), mine;

	(void)argument;
	if (before < 1)
		mam_atomic_cas64(&space.number, before, 1, MAM_RELAXED, MAM_AT_DEVICE);
	if (space.broken) {
		mine = load(&space.number);
		store(&space.number, mine + 1);
	} else {
		mine = add(&space.number, 1);
	}
	MAM_KASSERT(mine >= 1 && mine < 4);
	MAM_KASSERT(!mam_atomic_xchg64(&space.seen[mine], 1, MAM_RELAXED, MAM_AT_DEVICE));
}

/* Sets to which lanes only add: a lane that sees its bits there leaves it at that. */
MAM_KERNEL(sets)
{
	uint64_t mine = mam_block() ? 6 : 3, seen = load(&space.bits);

	(void)argument;
	if (mine & ~seen) {
		if (space.broken)
			store(&space.bits, seen | mine);
		else
			mam_atomic_or64(&space.bits, mine, MAM_RELAXED, MAM_AT_DEVICE);
	}
	MAM_KASSERT((load(&space.bits) & mine) == mine);
	add(&space.count, 1);
}

static const char *check_sets(void *argument)
{
	(void)argument;
	return space.bits == 7 ? NULL : "a bit is lost";
}

/* A flag without data: a lane that looks again and again sees it in the end, and no other value. */
MAM_KERNEL(flags)
{
	uint64_t seen;

	(void)argument;
	if (!mam_block()) {
		store(&space.hint, 5);
		store(&space.hint, 9);
		return;
	}
	do {
		seen = load(&space.hint);
		MAM_KASSERT(!seen || seen == 5 || seen == 9);
		mam_nanosleep(1);
	} while (seen != 9);
}

/* The first value stays: all lanes agree on it. */
MAM_KERNEL(first_value)
{
	uint64_t drawn = mam_block() + 1, seen = load(&space.number);

	(void)argument;
	if (!seen && space.broken)
		store(&space.number, drawn);
	else if (!seen)
		seen = mam_atomic_cas64(&space.number, 0, drawn, MAM_RELAXED, MAM_AT_DEVICE);
	space.seen[mam_block()] = seen ? seen : drawn;
}

static const char *check_first(void *argument)
{
	(void)argument;
	return space.seen[0] == space.seen[1] && space.seen[1] == space.seen[2] ? NULL
										: "two values";
}

/* Of concurrent frees one wins: it finds the value that all have read. */
MAM_KERNEL(frees)
{
	uint64_t seen = load(&space.owner), old = seen;

	(void)argument;
	if (seen != 1)
		return;
	if (space.broken)
		store(&space.owner, 0);
	else
		old = mam_atomic_cas64(&space.owner, 1, 0, MAM_RELAXED, MAM_AT_DEVICE);
	if (old == 1)
		MAM_KASSERT(!add(&space.count, 1));
}

/* ---- values that another access publishes ---------------------------------------------------- */

/* Values that are written before a stamp, and read after it. */
MAM_KERNEL(stamped)
{
	(void)argument;
	if (!mam_block()) {
		store(&space.data[0], 3);
		store(&space.data[1], 4);
		mam_atomic_store64(&space.stamp, 1, order(1, MAM_RELEASE), MAM_AT_DEVICE);
		return;
	}
	if (!mam_atomic_load64(&space.stamp, order(2, MAM_ACQUIRE), MAM_AT_DEVICE))
		return;
	MAM_KASSERT(load(&space.data[0]) == 3 && load(&space.data[1]) == 4);
}

/* The same by fences: one serves several words, or a load that is repeated. */
MAM_KERNEL(fenced)
{
	(void)argument;
	if (!mam_block()) {
		store(&space.data[0], 3);
		fence(1, MAM_RELEASE);
		store(&space.ticket[0], 1);
		store(&space.ticket[1], 1);
		return;
	}
	if (!load(&space.ticket[mam_block() - 1]))
		return;
	fence(2, MAM_ACQUIRE);
	MAM_KASSERT(load(&space.data[0]) == 3);
}

/* Values of a slot that has one owner at a time: each sees those of the one before. */
MAM_KERNEL(owned)
{
	(void)argument;
	while (!(mam_atomic_and64(&space.word, ~(uint64_t)1, order(1, MAM_ACQUIRE), MAM_AT_DEVICE) &
		 1))
		mam_nanosleep(1);
	store(&space.data[0], load(&space.data[0]) + 1);
	mam_atomic_or64(&space.word, 1, order(2, MAM_RELEASE), MAM_AT_DEVICE);
}

static const char *check_owned(void *argument)
{
	(void)argument;
	return space.data[0] == 3 ? NULL : "an owner has not seen what the one before wrote";
}

/*
 * Each lane counts, and writes the count down: the last one written is the total. A lane that writes
 * after the one with the total has passed its first fence sees the total.
 */
MAM_KERNEL(total)
{
	uint64_t count = add(&space.number, 1) + 1, stored;

	(void)argument;
	mam_fence(space.broken == 1 ? MAM_ACQ_REL : MAM_SEQ_CST, MAM_AT_SYSTEM);
	do {
		stored = count;
		store(&space.count, stored);
		mam_fence(space.broken == 2 ? MAM_ACQ_REL : MAM_SEQ_CST, MAM_AT_SYSTEM);
		count = load(&space.number);
	} while (count != stored);
}

static const char *check_total(void *argument)
{
	(void)argument;
	return space.count == 3 ? NULL : "the total is too low";
}

/* ---- reads that a second look confirms ------------------------------------------------------- */

#define MOVING 128u

/*
 * Groups that open and close, and a look at them (pass.h). The slot is always free when its group is
 * open: to see it taken there, without a change of `closes`, would be a wrong "no room".
 */
MAM_KERNEL(groups)
{
	uint64_t closes, owner, slots;

	(void)argument;
	if (!mam_block()) {
		mam_atomic_cas64(&space.owner, 1, 1 + MOVING, MAM_ACQ_REL, MAM_AT_DEVICE);
		mam_atomic_add64(&space.closes, 1, order(1, MAM_RELEASE), MAM_AT_DEVICE);
		mam_atomic_cas64(&space.slots, 1, 0, order(2, MAM_ACQ_REL), MAM_AT_DEVICE);
		mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
		mam_atomic_and64(&space.owner, 0, MAM_RELAXED, MAM_AT_DEVICE);
		/* It opens again. */
		mam_atomic_or64(&space.owner, 1 + MOVING, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_or64(&space.slots, 1, MAM_RELEASE, MAM_AT_DEVICE);
		fence(3, MAM_RELEASE);
		mam_atomic_and64(&space.owner, ~(uint64_t)MOVING, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	}
	closes = mam_atomic_load64(&space.closes, order(4, MAM_ACQUIRE), MAM_AT_DEVICE);
	owner = load(&space.owner);
	fence(5, MAM_ACQUIRE);
	slots = load(&space.slots);
	fence(6, MAM_ACQUIRE);
	MAM_KASSERT(owner != 1 || slots || load(&space.closes) != closes);
}

/*
 * Lists that are written in turn, each with its ticket, and a result that names the ticket (scans.h).
 * A list that has the same ticket after it was read is that of the ticket.
 */
MAM_KERNEL(lists)
{
	uint64_t full, value, round;
	uint32_t turn;

	(void)argument;
	if (!mam_block()) {
		for (round = 1; round < 6; round++) {
			store(&space.ticket[round % 2], round);
			fence(1, MAM_RELEASE);
			store(&space.list[round % 2], round);
			fence(2, MAM_RELEASE);
			store(&space.full, round);
		}
		return;
	}
	full = load(&space.full);
	if (!full)
		return;
	fence(3, MAM_ACQUIRE);
	turn = load(&space.ticket[0]) != full;
	value = load(&space.list[turn]);
	fence(4, MAM_ACQUIRE);
	MAM_KASSERT(load(&space.ticket[turn]) != full || value == full);
}

/*
 * A record whose state marks it as busy while it is written (kzone.h): what is read between two
 * looks at one state belongs to it.
 */
MAM_KERNEL(records)
{
	uint64_t round, state, value;

	(void)argument;
	if (!mam_block()) {
		for (round = 1; round < 4; round++) {
			store(&space.stamp, MOVING);
			fence(1, MAM_RELEASE);
			store(&space.data[0], round);
			mam_atomic_store64(&space.stamp, round, order(2, MAM_RELEASE),
					   MAM_AT_DEVICE);
		}
		return;
	}
	state = load(&space.stamp);
	if (!state || state == MOVING)
		return;
	fence(3, MAM_ACQUIRE);
	value = load(&space.data[0]);
	fence(4, MAM_ACQUIRE);
	MAM_KASSERT(load(&space.stamp) != state || value == state);
}

/*
 * A run of two words, of which the second is taken: the claim gives up (runs.h). A look that sees the
 * first word taken sees that the run is open, or that one was undone (scan.h).
 */
MAM_KERNEL(runs)
{
	uint64_t undone, seen;

	(void)argument;
	if (!mam_block()) {
		add(&space.open, 1);
		mam_atomic_cas64(&space.word, 1, 0, order(1, MAM_ACQ_REL), MAM_AT_DEVICE);
		mam_atomic_or64(&space.word, 1, MAM_RELEASE, MAM_AT_DEVICE);
		mam_atomic_add64(&space.undone, 1, MAM_RELEASE, MAM_AT_DEVICE);
		mam_atomic_add64(&space.open, ~(uint64_t)0, order(2, MAM_RELEASE), MAM_AT_DEVICE);
		return;
	}
	undone = mam_atomic_load64(&space.undone, order(3, MAM_ACQUIRE), MAM_AT_DEVICE);
	seen = load(&space.word);
	fence(4, MAM_ACQUIRE);
	if (!seen && !mam_atomic_load64(&space.open, order(5, MAM_ACQUIRE), MAM_AT_DEVICE))
		MAM_KASSERT(mam_atomic_load64(&space.undone, MAM_ACQUIRE, MAM_AT_DEVICE) != undone);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *no_check(void *argument)
{
	(void)argument;
	return NULL;
}

/* clang-format off */
static const struct litmus {
	const char *name;
	simt_kernel *kernel;
	unsigned int grid;
	const char *(*check)(void *argument);
	uint32_t orders;           /* that can be weakened: 1 to this number */
	enum simt_verdict verdict; /* then */
	const char *uses;          /* functions with such accesses */
} cases[] = {
	{ "hints", hints, 3, no_check, 2, SIMT_RACE,
	  "bitmap.h:mam_bitmap_load slots.h:mam_slots_load handle.h:mam_handle_get handle.h:mam_handle_set "
	  "find.h:mam_find_known find.h:mam_find_share find.h:mam_find_hint glance.h:mam_glance_row "
	  "slab.h:mam_slab_publish pass.h:mam_pass_hint search.h:mam_search_hint large.h:mam_large_grab "
	  "large.h:mam_large_claim grow.h:mam_grow_piece" },
	{ "numbers", numbers, 3, no_check, 1, SIMT_FAILED,
	  "cut.h:mam_cut_claim few.h:mam_few_take find.h:mam_find_block find.h:mam_find_next "
	  "pass.h:mam_pass_record scans.h:mam_scans_result tally.h:mam_tally_add slots.h:MAM_STEPS_ADD "
	  "spans.h:mam_object_tally_add large.h:mam_large_alloc kreport.h:mam_kdebug_number" },
	{ "sets", sets, 2, check_sets, 1, SIMT_FAILED,
	  "pass.h:mam_pass_larger scans.h:mam_scans_want scans.h:mam_scans_larger large.h:mam_large_mark" },
	{ "flags", flags, 3, no_check, 0, SIMT_FINE,
	  "search.h:mam_search_over roam.h:mam_roam_next roam.h:mam_roam_fetch parts.h:mam_parts_mark "
	  "parts.h:mam_parts_unmark parts.h:mam_parts_next grow.h:mam_grow_ask grow.h:mam_grow_look "
	  "large.h:mam_large_silent large.h:mam_large_note_silence large.h:mam_large_request "
	  "large.h:mam_large_parts scans.h:mam_scans_dry returns.h:mam_returns_drain" },
	{ "the first value", first_value, 3, check_first, 1, SIMT_FAILED,
	  "collective.h:mam_collective_epoch collective.h:mam_collective_find "
	  "collective.h:mam_collective_wipe" },
	{ "frees", frees, 3, no_check, 1, SIMT_FAILED,
	  "owners.h:mam_owners_take owners.h:mam_owners_change large.h:mam_large_find large.h:mam_large_free "
	  "large.h:mam_large_resend collective.h:mam_collective_drop_all" },
	{ "stamps", stamped, 3, no_check, 2, SIMT_FAILED,
	  "large.h:mam_large_keep large.h:mam_large_ask large.h:mam_large_usable large.h:mam_large_around "
	  "large.h:mam_large_table grow.h:mam_grow_take grow.h:mam_grow_fresh grow.h:mam_grow_fail "
	  "grow.h:mam_grow_step grow.h:mam_grow_extend grow.h:mam_grow_zeroed parts.h:mam_parts_get "
	  "parts.h:mam_parts_find_table kreport.h:mam_kdebug_report kreport.h:mam_kdebug_who "
	  "kzone.h:mam_kdebug_salts scans.h:mam_scans_wanted returns.h:mam_returns_take "
	  "returns.h:mam_returns_drain_lone spans.h:mam_spans_own spans.h:mam_spans_length "
	  "owners.h:mam_owners_set place.h:mam_place_first collective.h:mam_collective_open "
	  "collective.h:mam_collective_end" },
	{ "fences", fenced, 3, no_check, 2, SIMT_FAILED,
	  "scans.h:mam_scans_join scans.h:mam_scans_end owners.h:mam_owners_remove" },
	{ "slots with one owner", owned, 3, check_owned, 2, SIMT_FAILED,
	  "large.h:mam_large_enter large.h:mam_large_send grow.h:mam_grow_ask owners.h:mam_owners_clear "
	  "collective.h:mam_collective_close" },
	{ "totals", total, 3, check_total, 2, SIMT_FAILED, "kreport.h:mam_kdebug_lose" },
	{ "groups", groups, 3, no_check, 6, SIMT_FAILED,
	  "pass.h:mam_pass_block owners.h:mam_owners_load owners.h:mam_owners_add "
	  "owners.h:mam_owners_remove" },
	{ "lists", lists, 3, no_check, 4, SIMT_FAILED,
	  "scans.h:mam_scans_begin scans.h:mam_scans_result scans.h:mam_scans_end pass.h:mam_pass_record" },
	{ "records", records, 3, no_check, 4, SIMT_FAILED,
	  "kzone.h:mam_kdebug_load kzone.h:mam_kdebug_store" },
	{ "runs", runs, 2, no_check, 5, SIMT_FAILED, "runs.h:mam_runs_claim" },
};
/* clang-format on */

static void begin(void *argument)
{
	uint32_t broken = space.broken;

	(void)argument;
	memset(&space, 0, sizeof(space));
	space.broken = broken;
	space.word = space.owner = space.slots = 1;
}

START_TEST(only_all_orders_are_enough)
{
	const struct litmus *litmus = &cases[_i];
	struct simt_case test = { .name = litmus->name,
				  .kernel = litmus->kernel,
				  .grid = litmus->grid,
				  .block = 1,
				  .argument = &space,
				  .begin = begin,
				  .check = litmus->check,
				  .seeds = 1000,
				  .config = { .race = true, .stale = true } };

	for (space.broken = 0; space.broken <= litmus->orders; space.broken++) {
		if (space.broken)
			simt_must_fail(&test, litmus->verdict);
		else
			simt_must_pass(&test);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("heap/litmus");

	tcase_add_loop_test(tcase, only_all_orders_are_enough, 0, sizeof(cases) / sizeof(cases[0]));
	return simt_run_case(tcase, "heap/litmus");
}
