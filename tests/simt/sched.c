/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/sched.h"

#include <stdlib.h>

#include "simt/bound.h"
#include "simt/heap.h"

#define BEHIND (UINT64_C(1) << 63) /* first key for lanes that fell behind */
#define IN_A_ROW 256 /* by PCT: a lane falls behind after this many consecutive points of its own */
#define PERIOD 1024  /* and any running lane after this many points of all lanes */
#define SLEEP_MAX 1000 /* ticks: the longest sleep; more would be taken for a livelock */

static int compare_steps(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * The steps at which priorities change must not depend on earlier runs, or a seed alone would not
 * reproduce a run: the assumed length of a run, from 2 to 128 steps per lane, is also derived from
 * the seed.
 */
static void choose_changes(struct simt_sched *sched, unsigned int changes, uint32_t lanes)
{
	uint32_t span = (lanes ? lanes : 1) * (2u << simt_below(&sched->random, 7));

	sched->changes = changes ? changes : 3;
	if (sched->changes > sizeof(sched->change) / sizeof(sched->change[0]))
		sched->changes = sizeof(sched->change) / sizeof(sched->change[0]);
	for (uint32_t i = 0; i < sched->changes; i++)
		sched->change[i] = 1 + simt_below(&sched->random, span);
	qsort(sched->change, sched->changes, sizeof(sched->change[0]), compare_steps);
	sched->changed = 0;
}

void simt_sched_begin(struct simt_world *world, uint32_t lanes)
{
	static const uint8_t early[] = { 0, 1, 4, 16 };
	struct simt_sched *sched = &world->sched;

	sched->policy = world->config.policy;
	sched->random = world->config.seed * SIMT_POLICIES + sched->policy;
	sched->random = simt_dice(&sched->random);
	world->dice = sched->random ^ UINT64_C(0x5851f42d4c957f2d);
	sched->lanes_ready = sched->warps_ready = sched->sleepers = 0;
	sched->warp = NULL;
	sched->last = NULL;
	sched->in_a_row = 0;
	sched->last_key = BEHIND;
	sched->run_on = simt_below(&sched->random, 2);
	sched->early = early[simt_below(&sched->random, sizeof(early))];
	if (sched->policy == SIMT_BY_PCT)
		choose_changes(sched, world->config.changes, lanes);
	if (sched->policy == SIMT_BY_BOUND)
		simt_bound_begin(world);
}

bool simt_sched_room(struct simt_world *world, uint32_t lanes)
{
	struct simt_sched *sched = &world->sched;
	uint32_t room = sched->room ? sched->room : 64;
	void *fresh;

	if (lanes <= sched->room)
		return true;
	while (room < lanes)
		room *= 2;
	if (!(fresh = realloc(sched->ready, room * sizeof(*sched->ready))))
		return false;
	sched->ready = fresh;
	if (!(fresh = realloc(sched->warps, room * sizeof(*sched->warps))))
		return false;
	sched->warps = fresh;
	if (!(fresh = realloc(sched->asleep, room * sizeof(*sched->asleep))))
		return false;
	sched->asleep = fresh;
	if (!(fresh = realloc(world->meeting, room * sizeof(*world->meeting))))
		return false;
	world->meeting = fresh;
	sched->room = room;
	return true;
}

void simt_sched_free(struct simt_world *world)
{
	free(world->sched.ready);
	free(world->sched.warps);
	free(world->sched.asleep);
	free(world->meeting);
}

void simt_sched_new(struct simt_world *world, struct simt_lane *lane)
{
	lane->state = SIMT_AT_BARRIER;
	if (world->sched.policy == SIMT_BY_PCT)
		lane->key = simt_dice(&world->sched.random) >> 1;
}

void simt_sched_add(struct simt_world *world, struct simt_lane *lane)
{
	struct simt_sched *sched = &world->sched;
	struct simt_warp *warp = lane->warp;

	lane->state = SIMT_READY;
	switch (sched->policy) {
	case SIMT_BY_WARP:
		if (!warp->ready) {
			warp->place = sched->warps_ready;
			sched->warps[sched->warps_ready++] = warp;
		}
		sched->lanes_ready++;
		break;
	case SIMT_BY_PCT: simt_heap_add(sched->ready, &sched->lanes_ready, lane); break;
	default: lane->place = sched->lanes_ready; sched->ready[sched->lanes_ready++] = lane;
	}
	warp->ready |= lane->bit;
}

void simt_sched_remove(struct simt_world *world, struct simt_lane *lane, enum simt_state state)
{
	struct simt_sched *sched = &world->sched;
	struct simt_warp *warp = lane->warp;

	lane->state = state;
	warp->ready &= ~lane->bit;
	switch (sched->policy) {
	case SIMT_BY_WARP:
		sched->lanes_ready--;
		if (!warp->ready) {
			struct simt_warp *last = sched->warps[--sched->warps_ready];

			sched->warps[warp->place] = last;
			last->place = warp->place;
		}
		break;
	case SIMT_BY_PCT: simt_heap_remove(sched->ready, &sched->lanes_ready, lane); break;
	default: {
		struct simt_lane *last = sched->ready[--sched->lanes_ready];

		sched->ready[lane->place] = last;
		last->place = lane->place;
	}
	}
}

void simt_sched_sleep(struct simt_world *world, struct simt_lane *lane, uint32_t ns)
{
	simt_sched_remove(world, lane, SIMT_ASLEEP);
	/* Hardware sleeps between zero and twice the given time. */
	lane->key = world->clock + 1 +
		    simt_below(&world->sched.random, 2 * (ns < SLEEP_MAX ? ns : SLEEP_MAX) + 1);
	simt_heap_add(world->sched.asleep, &world->sched.sleepers, lane);
}

static void wake(struct simt_world *world)
{
	struct simt_sched *sched = &world->sched;

	if (!sched->lanes_ready && world->clock < sched->asleep[0]->key)
		world->clock = sched->asleep[0]->key;
	while (sched->sleepers && sched->asleep[0]->key <= world->clock) {
		struct simt_lane *lane = sched->asleep[0];

		simt_heap_remove(sched->asleep, &sched->sleepers, lane);
		lane->key = sched->last_key++; /* a sleeping lane lets others go first */
		simt_sched_add(world, lane);
	}
}

static struct simt_lane *next_by_warp(struct simt_sched *sched)
{
	struct simt_warp *warp = sched->warp;
	uint64_t dice = simt_dice(&sched->random);
	bool stray = (dice & 15) == 0;
	uint32_t later, some;

	if (!warp || !warp->ready || stray)
		warp = sched->warps[simt_below(&sched->random, sched->warps_ready)];
	else if (sched->run_on && (warp->ready >> warp->turn & 1))
		return &warp->lanes[warp->turn];
	later = warp->ready & ~((2u << warp->turn) - 1);
	if (!later && (dice & 16)) { /* a round is over: the next warp's turn */
		warp = sched->warps[simt_below(&sched->random, sched->warps_ready)];
		later = warp->ready & ~((2u << warp->turn) - 1);
	}
	if (!later)
		later = warp->ready;
	some = later & (uint32_t)(dice >> 32);
	if ((dice >> 5 & 31) == 0 && some) /* sometimes out of order */
		later = some;
	sched->warp = warp;
	warp->turn = (uint32_t)__builtin_ctz(later);
	return &warp->lanes[warp->turn];
}

/*
 * As with one program counter per warp: after a divergence, one side runs until it waits or ends,
 * and only then the other. Turns pass to higher lanes at any point, and to lower ones only when the
 * higher ones cannot run.
 */
static struct simt_lane *next_in_lockstep(struct simt_sched *sched)
{
	struct simt_warp *warp = sched->warp;
	uint64_t dice = simt_dice(&sched->random);
	uint32_t later;

	if (!warp || !warp->ready || (dice & 7) == 0)
		warp = sched->warps[simt_below(&sched->random, sched->warps_ready)];
	later = warp->ready & ~((2u << warp->turn) - 1);
	if (!(warp->ready >> warp->turn & 1) || (later && (dice >> 3 & 7) == 0))
		warp->turn = (uint32_t)__builtin_ctz(later ? later : warp->ready);
	sched->warp = warp;
	return &warp->lanes[warp->turn];
}

static void fall_behind(struct simt_sched *sched, struct simt_lane *lane)
{
	simt_heap_remove(sched->ready, &sched->lanes_ready, lane);
	lane->key = sched->last_key++;
	simt_heap_add(sched->ready, &sched->lanes_ready, lane);
	sched->in_a_row = 0;
}

static struct simt_lane *next_by_pct(struct simt_world *world)
{
	struct simt_sched *sched = &world->sched;
	struct simt_lane *lane = sched->ready[0];
	bool change =
		sched->changed < sched->changes && world->steps >= sched->change[sched->changed];

	if (change)
		sched->changed++;
	sched->in_a_row = lane == sched->last ? sched->in_a_row + 1 : 0;
	if (change || sched->in_a_row > IN_A_ROW || world->steps % PERIOD == PERIOD - 1)
		fall_behind(sched, lane);
	return sched->last = sched->ready[0];
}

struct simt_lane *simt_sched_next(struct simt_world *world)
{
	struct simt_sched *sched = &world->sched;
	struct simt_lane *lane;

	if (sched->sleepers && (!sched->lanes_ready || sched->asleep[0]->key <= world->clock))
		wake(world);
	if (!sched->lanes_ready)
		return NULL;
	switch (sched->policy) {
	case SIMT_BY_WARP:
		lane = world->config.lockstep ? next_in_lockstep(sched) : next_by_warp(sched);
		break;
	case SIMT_BY_PCT: lane = next_by_pct(world); break;
	case SIMT_BY_BOUND: lane = simt_bound_next(world); break;
	default: lane = sched->ready[simt_below(&sched->random, sched->lanes_ready)];
	}
	world->hash = (world->hash ^ (lane->number + 1)) * UINT64_C(0x100000001b3);
	return lane;
}
