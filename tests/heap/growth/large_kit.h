/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_kit.h - fixture of the tests of large objects: a heap that consists of a mailbox, a host
 * that answers it in a fiber of its own and behaves as the test specifies, and a shadow of the
 * owners.
 *
 * 1. The host has a pool of units. It allocates the lowest that fit, so freed units are reused at
 *    once. It writes to memory that it hands out and to memory that it gets back, with plain
 *    accesses, as other users of the pool would.
 * 2. lkit_own() detects memory with two owners. The host detects double frees, frees of memory that
 *    still has an owner, and invalid messages.
 * 3. After a run the records and the host must agree on what is live (lkit_check()).
 *
 * The shadow is written between two steps of the simulator and orders nothing.
 */
#ifndef MAM_TESTS_HEAP_LARGE_KIT_H
#define MAM_TESTS_HEAP_LARGE_KIT_H

#ifndef MAM_MAIL_SLOTS
#define MAM_MAIL_SLOTS 128u
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/growth/large.h"
#include "heap/growth/records.h"
#include "simt/explore.h"
#include "simt/suite.h"

/* Only builds with access hooks observe plain accesses. */
#ifdef SIMT_HOOKS
#define LKIT_RACE true
#define LKIT_SEEDS(n) ((n) / 3 + 1)
#else
#define LKIT_RACE false
#define LKIT_SEEDS(n) (n)
#endif

#define LKIT_UNITS 64u
#define LKIT_UNIT (1u << MAM_UNIT_SHIFT)
#define LKIT_LANES 64u
#define LKIT_KEPT 8u
#define LKIT_FOREVER (UINT64_C(1) << 40)

/*
 * For the fixture's own metadata: no other lane runs in between, and the race checker does not see
 * it.
 */
#define LKIT_UNSEEN static __attribute__((noinline, unused, no_sanitize("thread")))

/* A test's plan. Shares are percentages. */
struct lkit_plan {
	uint64_t wait_ns;    /* 0: unlimited */
	uint64_t generation; /* initial generation of the slots */
	uint32_t slots;      /* usable slots, spread over all; 0: 8 */
	uint32_t units;      /* of the pool; 0: all */
	uint32_t limit;      /* units that may be live at a time; 0: all */
	uint32_t slow;       /* share of messages that the host serves slowly */
	uint32_t patience;   /* duration of the delay in steps */
	uint32_t first;      /* only so many messages are slow or lost; 0: all */
	uint32_t lost;       /* share of ALLOCs that the host never answers */
	uint32_t stale;      /* share of messages that it first answers with an older generation */
	uint32_t dies_after; /* messages after which the host is gone; 0: never */
	bool knocks;         /* the host looks only after a knock */
	/* The host has ended growth: it reports the end, NULL, or an unknown cause. */
	bool ended, nothing, odd;
	bool absent; /* there is no host */
	bool apart;  /* objects of several units are not among the first eight */
	/* Test-specific, or NULL: called before each run; replaces the host's look at all slots. */
	void (*begin)(void *argument);
	bool (*look)(void);
};

/* A large object, by its first unit. */
struct lkit_given {
	uint64_t bytes; /* 0: none starts here */
	struct mam_large *record;
};

struct lkit {
	struct mam_kheap heap;
	struct mam_tallies tallies;
	struct mam_growth growth;
	struct mam_mail mail;
	const struct lkit_plan *plan;
	unsigned char *space;
	/* Owned by the host. */
	uint64_t seen[MAM_MAIL_SLOTS];     /* stamps */
	uint64_t answered[MAM_MAIL_SLOTS]; /* the address, if the last message was an ALLOC */
	struct lkit_given given[LKIT_UNITS];
	struct records records;
	bool taken[LKIT_UNITS];
	uint32_t held;           /* units */
	uint32_t messages, lost; /* count */
	bool dead;
	/* Owned by the lanes. */
	uint32_t owner[LKIT_UNITS];
	uint32_t number, failed[MAM_OBJECT_TALLIES], nulls;
	uint64_t left;            /* lanes that have left; atomic */
	uint32_t lanes;           /* lanes in all */
	uint64_t kept[LKIT_KEPT]; /* objects that lanes leave for others; atomic */
	/* Totals of all runs. */
	uint64_t all_failed[MAM_OBJECT_TALLIES], all_given, all_cancelled;
};

static struct lkit lkit;

LKIT_UNSEEN const char *lkit_wrong(const char *what, uint32_t a, uint32_t b)
{
	static char text[128];

	snprintf(text, sizeof(text), what, a, b);
	return text;
}

/* ---- the host -------------------------------------------------------------------------------- */

/* The host's accesses, which are not device code: stop.h does not affect them. */
#define lkit_load(where, order) \
	simt_atomic(where, 8, SIMT_LOAD, 0, 0, order, MAM_AT_SYSTEM, SIMT_SITE)
#define lkit_store(where, value, order) \
	((void)simt_atomic(where, 8, SIMT_STORE, value, 0, order, MAM_AT_SYSTEM, SIMT_SITE))

LKIT_UNSEEN uint32_t lkit_unit(uint64_t address)
{
	return (uint32_t)((address - (uintptr_t)lkit.space) >> MAM_UNIT_SHIFT);
}

/* Returns whether kernels may use this slot. */
LKIT_UNSEEN bool lkit_usable(uint32_t slot)
{
	uint32_t slots = lkit.plan->slots ? lkit.plan->slots : 8, every = MAM_MAIL_SLOTS / slots;

	return slot % every == every / 2 && slot / every < slots;
}

/* The owner of units writes their ends. */
static inline void lkit_write(uint64_t address, uint64_t bytes, uint64_t what)
{
	uint64_t *at = (uint64_t *)(uintptr_t)address;

	MAM_KASSERT(bytes <= LKIT_UNITS * LKIT_UNIT);
	at[0] = what;
	at[bytes / 8 - 1] = ~what;
}

/* The host's answer to a request for `bytes`: GIVEN and `address`, or the cause of failure. */
LKIT_UNSEEN enum mam_mail_cause lkit_take(uint64_t bytes, uint64_t *address)
{
	uint32_t n = (uint32_t)(bytes >> MAM_UNIT_SHIFT), units = lkit.plan->units, unit, run = 0;

	units = units ? units : LKIT_UNITS;
	if (!bytes || bytes > (uint64_t)LKIT_UNITS * LKIT_UNIT)
		return MAM_MAIL_BAD;
	MAM_KASSERT(bytes % LKIT_UNIT == 0);
	if (lkit.plan->limit && lkit.held + n > lkit.plan->limit)
		return MAM_MAIL_LIMIT;
	for (unit = lkit.plan->apart && n > 1 ? 8 : 0; unit < units; unit++) {
		run = lkit.taken[unit] ? 0 : run + 1;
		if (run < n)
			continue;
		for (; run; run--) {
			MAM_KASSERT(!lkit.owner[unit + 1 - run]);
			lkit.taken[unit + 1 - run] = true;
		}
		lkit.held += n;
		*address = (uintptr_t)lkit.space + (uint64_t)(unit + 1 - n) * LKIT_UNIT;
		return MAM_MAIL_GIVEN;
	}
	return MAM_MAIL_FULL;
}

/* Returns the units to the pool. */
LKIT_UNSEEN void lkit_return(uint64_t address, uint64_t bytes)
{
	uint32_t unit = lkit_unit(address), end = unit + (uint32_t)(bytes / LKIT_UNIT);

	for (; unit < end; unit++) {
		MAM_KASSERT(lkit.taken[unit]);
		MAM_KASSERT(!lkit.owner[unit]);
		lkit.taken[unit] = false;
		lkit.held--;
	}
}

static inline void lkit_answer(uint32_t slot, uint64_t stamp)
{
	lkit_store(&lkit.mail.answer[slot].stamp, stamp, MAM_RELEASE);
}

LKIT_UNSEEN bool lkit_chance(uint32_t share)
{
	return share && !lkit.dead && simt_random() % 100 < share;
}

/* The same for cases in which the host fails. */
LKIT_UNSEEN bool lkit_fails(uint32_t share)
{
	return (!lkit.plan->first || lkit.messages <= lkit.plan->first) && lkit_chance(share);
}

/* Lets others run meanwhile; at the end, when there are no others, does nothing. */
static inline void lkit_wait(uint32_t looks)
{
	for (; looks; looks--)
		simt_host_yield("host takes its time");
}

/* Before the answer to the generation of `stamp`: a delay, or an answer to an older generation. */
static inline void lkit_before(uint32_t slot, uint64_t stamp)
{
	if (lkit_fails(lkit.plan->slow))
		lkit_wait(lkit.plan->patience);
	if (!lkit_chance(lkit.plan->stale))
		return;
	lkit_store(&lkit.mail.answer[slot].address, (uintptr_t)lkit.space, MAM_RELAXED);
	lkit_answer(slot, (stamp & ~(uint64_t)255) - 256 + MAM_MAIL_GIVEN);
	lkit_wait(2);
}

/*
 * A message follows the previous one: then this returns true. Or it is the CANCEL of one that was
 * not seen.
 */
static inline bool lkit_see(uint32_t slot, uint64_t stamp)
{
	uint64_t step = ((stamp >> 8) - (lkit.seen[slot] >> 8)) & (MAM_WORD_FULL >> 8);

	MAM_KASSERT(step == 1 || (step == 2 && (stamp & 255) == MAM_MAIL_CANCEL));
	lkit.seen[slot] = stamp;
	lkit.messages++;
	return step == 1;
}

/* Frees the object at an address to the pool. */
static inline void lkit_take_back(uint64_t address)
{
	struct lkit_given *given = &lkit.given[lkit_unit(address)];

	MAM_KASSERT(given->bytes);
	lkit_write(address, given->bytes, 1);
	lkit_return(address, given->bytes);
	records_give(&lkit.records, given->record);
	given->bytes = 0;
}

static inline void lkit_serve_end(uint32_t slot, uint64_t stamp, bool cancel, bool next)
{
	uint64_t address = lkit_load(&lkit.mail.ask[slot].detail, MAM_RELAXED);

	if (cancel) {
		lkit.all_cancelled++;
		/* Of the request before it; another one's object has an owner. */
		address = next ? lkit.answered[slot] : 0;
	} else {
		MAM_KASSERT(address);
	}
	lkit.answered[slot] = 0;
	if (address)
		lkit_take_back(address);
	lkit_before(slot, stamp);
	lkit_answer(slot, stamp & ~(uint64_t)255);
}

/* Serves frees and cancels, and nothing else. */
static inline void lkit_serve_ends(void)
{
	uint64_t stamp;
	uint32_t slot;
	bool next;

	for (slot = 0; slot < MAM_MAIL_SLOTS; slot++) {
		if (!lkit_usable(slot))
			continue;
		stamp = lkit_load(&lkit.mail.ask[slot].stamp, MAM_ACQUIRE);
		if (stamp == lkit.seen[slot] || (stamp & 255) == MAM_MAIL_ALLOC)
			continue;
		next = lkit_see(slot, stamp);
		lkit_serve_end(slot, stamp, (stamp & 255) == MAM_MAIL_CANCEL, next);
	}
}

/* Returns whether this is the slot's last message, or its lane has given up meanwhile. */
LKIT_UNSEEN bool lkit_has_request(uint32_t slot, uint64_t stamp)
{
	uint64_t sent = lkit.growth.large_sent[slot];

	return sent == stamp ||
	       sent == (((stamp & ~MAM_LARGE_LOW) + MAM_LARGE_NEXT) | MAM_MAIL_CANCEL);
}

/* Enters an object, and chooses its record. */
LKIT_UNSEEN void lkit_enter(uint32_t slot, uint64_t address, uint64_t bytes)
{
	struct lkit_given *given = &lkit.given[lkit_unit(address)];
	struct mam_mail_answer *answer = &lkit.mail.answer[slot];

	MAM_KASSERT(!given->bytes);
	given->bytes = bytes;
	given->record = records_take(&lkit.records, address, simt_random(), &answer->tables);
	MAM_KASSERT(given->record);
	answer->record = (uintptr_t)given->record;
	lkit.answered[slot] = address;
}

static inline void lkit_serve_alloc(uint32_t slot, uint64_t stamp)
{
	uint64_t bytes = lkit_load(&lkit.mail.ask[slot].detail, MAM_RELAXED);
	uint32_t cause = lkit.plan->ended ? MAM_MAIL_ENDED : lkit.plan->odd ? 77 : MAM_MAIL_GIVEN;
	uint64_t address = 0;

	lkit.answered[slot] = 0;
	MAM_KASSERT(lkit_has_request(slot, stamp));
	if (lkit_fails(lkit.plan->lost)) {
		lkit.lost++;
		return;
	}
	if (cause == MAM_MAIL_GIVEN && !lkit.plan->nothing)
		cause = lkit_take(bytes, &address);
	if (cause == MAM_MAIL_FULL || cause == MAM_MAIL_LIMIT) {
		lkit_serve_ends();
		/* The slot's own CANCEL may have been among them. */
		if (lkit.seen[slot] != stamp)
			return;
		cause = lkit_take(bytes, &address);
	}
	if (address) {
		lkit_enter(slot, address, bytes);
		lkit_write(address, bytes, 0);
	}
	lkit_before(slot, stamp);
	lkit_store(&lkit.mail.answer[slot].address, address, MAM_RELAXED);
	lkit_answer(slot, (stamp & ~(uint64_t)255) | cause);
}

/* Serves one slot if it has a message. */
static inline bool lkit_serve(uint32_t slot)
{
	uint64_t stamp = lkit_load(&lkit.mail.ask[slot].stamp, MAM_ACQUIRE);
	bool next;

	if (stamp == lkit.seen[slot])
		return false;
	next = lkit_see(slot, stamp);
	switch (stamp & 255) {
	case MAM_MAIL_ALLOC: lkit_serve_alloc(slot, stamp); break;
	case MAM_MAIL_FREE: lkit_serve_end(slot, stamp, false, next); break;
	case MAM_MAIL_CANCEL: lkit_serve_end(slot, stamp, true, next); break;
	default: MAM_KASSERT(!"an invalid message");
	}
	return true;
}

/* Returns whether the host dies now. At the end it comes back. */
static inline bool lkit_dies(void)
{
	return !lkit.dead && (lkit.plan->absent ||
			      (lkit.plan->dies_after && lkit.messages >= lkit.plan->dies_after));
}

/* Looks at all slots once. */
static inline bool lkit_look(void)
{
	bool any = false;
	uint32_t slot;

	if (lkit.plan->look)
		return lkit.plan->look();
	lkit_store(&lkit.mail.beat, lkit.mail.beat + 1, MAM_RELEASE);
	for (slot = 0; slot < MAM_MAIL_SLOTS; slot++) {
		if (lkit_usable(slot) && lkit_serve(slot))
			any = true;
		if (lkit_dies())
			return any;
	}
	return any;
}

/* The fiber: runs until all lanes have left. */
static inline void lkit_host(void *argument)
{
	uint64_t knock = 0, now;

	(void)argument;
	while (lkit_load(&lkit.left, MAM_ACQUIRE) < lkit.lanes) {
		if (lkit_dies())
			break;
		now = lkit_load(&lkit.mail.knock, MAM_ACQUIRE);
		if (!lkit.plan->knocks || now != knock)
			(void)lkit_look();
		else
			simt_host_yield("host");
		knock = now;
	}
	lkit.dead = true;
}

/* ---- for kernels ----------------------------------------------------------------------------- */

LKIT_UNSEEN uint64_t lkit_note(uint64_t address, uint64_t bytes)
{
	uint32_t unit = lkit_unit(address), end = unit + (uint32_t)(bytes / LKIT_UNIT);

	MAM_KASSERT(address >= (uintptr_t)lkit.space && end <= LKIT_UNITS && unit < end);
	MAM_KASSERT(address % LKIT_UNIT == 0);
	lkit.number++;
	lkit.all_given++;
	for (; unit < end; unit++) {
		MAM_KASSERT(lkit.taken[unit]);
		MAM_KASSERT(!lkit.owner[unit]);
		lkit.owner[unit] = lkit.number;
	}
	return lkit.number;
}

/* Removes the object's owner; returns its number and its bytes. */
LKIT_UNSEEN uint64_t lkit_forget(uint64_t address, uint64_t *bytes)
{
	uint32_t unit = lkit_unit(address), number = lkit.owner[unit];

	MAM_KASSERT(number);
	*bytes = 0;
	for (; unit < LKIT_UNITS && lkit.owner[unit] == number; unit++) {
		lkit.owner[unit] = 0;
		*bytes += LKIT_UNIT;
	}
	return number;
}

/* Counts a failed request; the tallies must have counted it, too. */
LKIT_UNSEEN void lkit_count(void)
{
	uint32_t all = 0, i;

	lkit.nulls++;
	for (i = 0; i < MAM_OBJECT_TALLIES; i++)
		all += (uint32_t)lkit.tallies.of[i].value;
	MAM_KASSERT(all >= lkit.nulls);
}

/* Number of messages that lanes have posted. */
LKIT_UNSEEN uint64_t lkit_posted(void)
{
	uint64_t all = 0;

	for (uint32_t slot = 0; slot < MAM_MAIL_SLOTS; slot++)
		all += (lkit.mail.ask[slot].stamp >> 8) - lkit.plan->generation;
	return all;
}

static inline void *lkit_alloc(size_t bytes)
{
	void *object = mam_large_alloc(&lkit.heap, bytes);
	uint64_t length = (bytes + LKIT_UNIT - 1) / LKIT_UNIT * LKIT_UNIT;

	if (object)
		lkit_write((uintptr_t)object, length, lkit_note((uintptr_t)object, length));
	else
		lkit_count();
	return object;
}

/* Records that the caller, which need not have allocated the object, is about to free it. */
static inline void lkit_disown(void *object)
{
	uint64_t bytes, number = lkit_forget((uintptr_t)object, &bytes), *at = object;

	MAM_KASSERT(at[0] == number);
	MAM_KASSERT(at[bytes / 8 - 1] == ~number);
}

static inline void lkit_free(void *object)
{
	enum mam_large_answer answer;

	lkit_disown(object);
	answer = mam_large_free(&lkit.heap, object);
	MAM_KASSERT(answer == MAM_LARGE_GIVEN);
}

/* Records that the caller has finished. */
static inline void lkit_leave(void)
{
	(void)simt_atomic(&lkit.left, 8, SIMT_ADD, 1, 0, MAM_RELEASE, MAM_AT_SYSTEM, SIMT_SITE);
}

/* Leaves an object, or NULL, to a lane that looks here; returns the previous one. */
static inline void *lkit_swap(uint32_t i, void *object)
{
	return (void *)(uintptr_t)mam_atomic_xchg64(&lkit.kept[i % LKIT_KEPT], (uintptr_t)object,
						    MAM_ACQ_REL, MAM_AT_DEVICE);
}

/* ---- before and after a run ------------------------------------------------------------------ */

static inline void lkit_begin(void *argument)
{
	uint64_t stamp = lkit.plan->generation << 8;
	uint32_t slot;

	memset(&lkit.tallies, 0, sizeof(lkit.tallies));
	memset(&lkit.growth, 0, sizeof(lkit.growth));
	memset(&lkit.mail, 0, sizeof(lkit.mail));
	memset(lkit.given, 0, sizeof(lkit.given));
	memset(lkit.answered, 0, sizeof(lkit.answered));
	records_begin(&lkit.records, lkit.growth.large, &lkit.mail);
	memset(lkit.taken, 0, sizeof(lkit.taken));
	memset(lkit.owner, 0, sizeof(lkit.owner));
	memset(lkit.kept, 0, sizeof(lkit.kept));
	lkit.held = lkit.messages = lkit.lost = lkit.number = lkit.nulls = lkit.left = 0;
	lkit.dead = false;
	if (lkit.plan->begin)
		lkit.plan->begin(argument);
	lkit.heap.tallies = &lkit.tallies;
	lkit.heap.growth = &lkit.growth;
	lkit.growth.mail = &lkit.mail;
	lkit.growth.wait_ns = lkit.plan->wait_ns ? lkit.plan->wait_ns : LKIT_FOREVER;
	for (slot = 0; slot < MAM_MAIL_SLOTS; slot++) {
		lkit.growth.large_sent[slot] = stamp;
		lkit.mail.ask[slot].stamp = lkit.seen[slot] = stamp;
		lkit.mail.answer[slot].stamp = stamp;
		if (lkit_usable(slot))
			lkit.growth.large_free[slot / 64] |= (uint64_t)1 << slot % 64;
	}
}

LKIT_UNSEEN uint64_t lkit_failed(void)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < MAM_OBJECT_TALLIES; i++)
		all += lkit.tallies.of[i].value;
	return all;
}

/* Units of objects that were freed without a message. */
static uint32_t lkit_unsent;

/* The record of a unit where an object starts, or where none does. */
static inline const char *lkit_check_unit(uint32_t unit)
{
	const struct lkit_given *given = &lkit.given[unit];
	uint64_t address = (uintptr_t)lkit.space + (uint64_t)unit * LKIT_UNIT;
	const struct mam_large *found = mam_large_find(&lkit.growth, address);

	if (!given->bytes)
		return found ? lkit_wrong("there is a record of unit %u", unit, 0) : NULL;
	if (given->record->address == (address | MAM_LARGE_UNSENT)) {
		if (!lkit.growth.large_unsent || lkit.owner[unit])
			return lkit_wrong("no message will be sent for unit %u", unit, 0);
		lkit_unsent += (uint32_t)(given->bytes / LKIT_UNIT);
		return NULL;
	}
	if (found != given->record || found->bytes != given->bytes)
		return lkit_wrong("host and device disagree on unit %u", unit, 0);
	if (!lkit.owner[unit])
		return lkit_wrong("the object at unit %u has no owner", unit, 0);
	return NULL;
}

/* Device and host agree on the live objects. Messages without an answer are answered now. */
static inline const char *lkit_check(void *argument)
{
	const char *wrong = NULL;
	uint32_t slot, unit;

	(void)argument;
	lkit.dead = true;
	while (lkit_look())
		;
	if (lkit_failed() != lkit.nulls)
		return lkit_wrong("%u requests failed, but %u were counted", lkit.nulls,
				  (uint32_t)lkit_failed());
	for (uint32_t i = 0; i < MAM_OBJECT_TALLIES; i++)
		lkit.all_failed[i] += lkit.tallies.of[i].value;
	for (slot = 0; slot < MAM_MAIL_SLOTS; slot++)
		if ((lkit.growth.large_free[slot / 64] >> slot % 64 & 1) != lkit_usable(slot))
			return lkit_wrong("slot %u is unused, but its bit is wrong", slot, 0);
	lkit_unsent = 0;
	for (unit = 0; unit < LKIT_UNITS && !wrong; unit++)
		wrong = lkit_check_unit(unit);
	return wrong;
}

/* As lkit_check(), and no object is live. */
static inline const char *lkit_check_empty(void *argument)
{
	const char *wrong = lkit_check(argument);

	return wrong                      ? wrong
	       : lkit.held != lkit_unsent ? lkit_wrong("%u units are still allocated", lkit.held, 0)
					  : NULL;
}

/* Runs a suite that consists of this one case. */
static inline int lkit_run(TCase *tcase, const char *name)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, SIMT_TEST_SECONDS);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static uint64_t lkit_steps = 3000000; /* of a run, at most */
static simt_kernel *lkit_kernel;
static uint32_t lkit_grid, lkit_block;

static inline bool lkit_build(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, lkit_kernel, lkit_grid, lkit_block, argument) &&
	       simt_world_host(world, lkit_host, argument);
}

/* Explores `kernel`, each lane of which ends with lkit_leave(), beside the host of `plan`. */
static inline void lkit_explore(const char *name, const struct lkit_plan *plan, simt_kernel *kernel,
				uint32_t grid, uint32_t block, uint32_t seeds,
				const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.build = lkit_build,
		.argument = &lkit,
		.begin = lkit_begin,
		.check = check,
		.seeds = LKIT_SEEDS(seeds),
		.config = { .race = LKIT_RACE, .strict = true, .steps_max = lkit_steps },
	};

	if (!lkit.space)
		lkit.space = aligned_alloc(LKIT_UNIT, LKIT_UNITS * LKIT_UNIT);
	ck_assert_ptr_nonnull(lkit.space);
	lkit.plan = plan;
	lkit.lanes = grid * block;
	lkit_kernel = kernel;
	lkit_grid = grid;
	lkit_block = block;
	memset(lkit.all_failed, 0, sizeof(lkit.all_failed));
	lkit.all_given = lkit.all_cancelled = 0;
	simt_must_pass(&test);
}

#endif
