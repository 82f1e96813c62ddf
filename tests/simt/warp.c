/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/warp.h"

#include "simt/report.h"
#include "simt/sched.h"
#include "simt/step.h"

static struct simt_lane *first_of(struct simt_warp *warp, uint32_t lanes)
{
	return &warp->lanes[__builtin_ctz(lanes)];
}

static void release_site(struct simt_world *world, struct simt_warp *warp, const char *site)
{
	uint32_t together = 0;

	for (uint32_t left = warp->at_active; left; left &= left - 1) {
		struct simt_lane *lane = first_of(warp, left);

		if (lane->site == site)
			together |= lane->bit;
	}
	warp->at_active &= ~together;
	warp->patience = 0;
	for (uint32_t left = together; left; left &= left - 1) {
		struct simt_lane *lane = first_of(warp, left);

		lane->value = together;
		simt_sched_add(world, lane);
	}
}

void simt_warp_release(struct simt_world *world, struct simt_warp *warp)
{
	uint32_t skip =
		simt_below(&world->sched.random, (uint32_t)__builtin_popcount(warp->at_active));
	uint32_t left = warp->at_active;

	while (skip--)
		left &= left - 1;
	release_site(world, warp, first_of(warp, left)->site);
}

uint32_t simt_active(const char *site)
{
	struct simt_lane *lane = simt_device("mam_warp_active()", site);
	struct simt_world *world = simt_now;
	struct simt_warp *warp;

	if (!lane)
		return 1;
	warp = lane->warp;
	simt_count(lane, site);
	simt_sched_remove(world, lane, SIMT_AT_ACTIVE);
	if (!warp->at_active)
		warp->patience = 0;
	warp->at_active |= lane->bit;
	if (simt_below(&world->sched.random, 64) < world->sched.early)
		release_site(world, warp, site);
	else
		simt_warp_idle(world, warp);
	simt_go(lane);
	return (uint32_t)lane->value;
}

static void finish_shuffle(struct simt_warp *warp, const struct simt_group *group)
{
	uint64_t value[SIMT_WARP];

	for (uint32_t left = group->arrived; left; left &= left - 1) {
		struct simt_lane *lane = first_of(warp, left);

		value[lane->lane] = lane->value;
	}
	for (uint32_t left = group->arrived; left; left &= left - 1) {
		struct simt_lane *lane = first_of(warp, left);

		if (!(group->arrived >> lane->source & 1)) {
			simt_stop(SIMT_BAD_LANE,
				  "%s asks for the value of lane %u, which has ended, at %s",
				  simt_report_name(lane), lane->source, lane->site);
		}
		lane->value = value[lane->source];
	}
}

static void finish_match(struct simt_warp *warp, const struct simt_group *group)
{
	for (uint32_t left = group->arrived; left;) {
		uint64_t value = first_of(warp, left)->value;
		uint32_t same = 0;

		for (uint32_t rest = left; rest; rest &= rest - 1) {
			if (first_of(warp, rest)->value == value)
				same |= first_of(warp, rest)->bit;
		}
		left &= ~same;
		for (uint32_t rest = same; rest; rest &= rest - 1)
			first_of(warp, rest)->value = same;
	}
}

static void order(struct simt_world *world, struct simt_warp *warp, const struct simt_group *group)
{
	unsigned int count = 0;

	for (uint32_t left = group->arrived; left; left &= left - 1)
		world->meeting[count++] = first_of(warp, left)->number;
	race_meet(world->race, world->meeting, count);
}

/* All lanes of the group's mask have arrived or ended: all continue. */
static void complete(struct simt_world *world, struct simt_warp *warp, uint32_t which)
{
	const struct simt_group *group = &warp->group[which];

	switch (group->kind) {
	case SIMT_BALLOT:
		for (uint32_t left = group->arrived; left; left &= left - 1)
			first_of(warp, left)->value = group->votes;
		break;
	case SIMT_SHUFFLE: finish_shuffle(warp, group); break;
	case SIMT_MATCH: finish_match(warp, group); break;
	case SIMT_SYNCWARP:
		if (world->race_on)
			order(world, warp, group);
	}
	for (uint32_t left = group->arrived; left; left &= left - 1) {
		struct simt_lane *lane = first_of(warp, left);

		if (lane->state != SIMT_READY)
			simt_sched_add(world, lane);
	}
	warp->group[which] = warp->group[--warp->groups];
}

static void check(struct simt_world *world, struct simt_lane *lane, uint32_t mask)
{
	if (!(mask & lane->bit)) {
		simt_stop(SIMT_BAD_MASK, "%s is not in the mask 0x%x that it gives to %s at %s",
			  simt_report_name(lane), mask, simt_report_kind(lane->kind), lane->site);
	}
	if (world->config.strict && (mask & lane->warp->ended)) {
		uint32_t gone = (uint32_t)__builtin_ctz(mask & lane->warp->ended);

		simt_stop(SIMT_BAD_MASK, "%s gives %s at %s the mask 0x%x, in which lane %u %s",
			  simt_report_name(lane), simt_report_kind(lane->kind), lane->site, mask,
			  gone, lane->warp->exist >> gone & 1 ? "has ended" : "does not exist");
	}
}

static void disagree(const struct simt_lane *lane, const struct simt_group *other)
{
	const struct simt_lane *waits = first_of(lane->warp, other->arrived & lane->mask);

	simt_stop(SIMT_BAD_MASK,
		  "%s comes to %s of 0x%x at %s and waits for lane %u, which waits for it at %s of "
		  "0x%x at %s: "
		  "one call with one mask would let them go on",
		  simt_report_name(lane), simt_report_kind(lane->kind), lane->mask, lane->site,
		  waits->lane, simt_report_kind(waits->kind), waits->mask, waits->site);
}

/*
 * The lane waits for its mask's lanes and continues with them; `value` of the lane is then the
 * result.
 */
static uint64_t meet(struct simt_lane *lane, enum simt_collective kind, uint32_t mask, bool vote,
		     const char *site)
{
	struct simt_world *world = simt_now;
	struct simt_warp *warp = lane->warp;
	struct simt_group *group = NULL;

	simt_count(lane, site);
	lane->kind = kind;
	lane->mask = mask;
	check(world, lane, mask);
	for (uint32_t i = 0; i < warp->groups; i++) {
		if (warp->group[i].kind == kind && warp->group[i].mask == mask)
			group = &warp->group[i];
		else if ((warp->group[i].mask & lane->bit) && (warp->group[i].arrived & mask))
			disagree(lane, &warp->group[i]);
	}
	if (!group) {
		group = &warp->group[warp->groups++];
		*group = (struct simt_group){ .kind = kind, .mask = mask };
	}
	group->arrived |= lane->bit;
	group->votes |= vote ? lane->bit : 0;
	if (!(mask & ~(group->arrived | warp->ended))) {
		complete(world, warp, (uint32_t)(group - warp->group));
	} else {
		simt_sched_remove(world, lane, SIMT_AT_COLLECTIVE);
		simt_warp_idle(world, warp);
	}
	simt_go(lane);
	return lane->value;
}

void simt_warp_ended(struct simt_world *world, struct simt_lane *lane)
{
	struct simt_warp *warp = lane->warp;

	warp->ended |= lane->bit;
	for (uint32_t i = 0; i < warp->groups;) {
		struct simt_group *group = &warp->group[i];

		if (world->config.strict && (group->mask & lane->bit)) {
			const struct simt_lane *waits = first_of(warp, group->arrived);

			simt_stop(SIMT_BAD_MASK,
				  "%s ends, but lane %u waits for it at %s of 0x%x at %s",
				  simt_report_name(lane), waits->lane,
				  simt_report_kind(waits->kind), waits->mask, waits->site);
		}
		if (!(group->mask & ~(group->arrived | warp->ended)))
			complete(world, warp, i);
		else
			i++;
	}
	simt_warp_idle(world, warp);
}

/* Outside any launch the caller is the only lane of a warp. */

uint32_t simt_ballot(uint32_t mask, bool predicate, const char *site)
{
	struct simt_lane *lane = simt_device("mam_warp_ballot()", site);

	return lane ? (uint32_t)meet(lane, SIMT_BALLOT, mask, predicate, site) : predicate;
}

uint64_t simt_shuffle(uint32_t mask, uint64_t value, uint32_t source, const char *site)
{
	struct simt_lane *lane = simt_device("mam_warp_shuffle()", site);

	if (!lane)
		return value;
	if (source >= SIMT_WARP || !(mask >> source & 1)) {
		simt_stop(SIMT_BAD_LANE,
			  "%s asks for the value of lane %u, which is not in its mask 0x%x, at %s",
			  simt_report_name(lane), source, mask, site);
	}
	lane->value = value;
	lane->source = source;
	return meet(lane, SIMT_SHUFFLE, mask, false, site);
}

uint32_t simt_match(uint32_t mask, uint64_t value, const char *site)
{
	struct simt_lane *lane = simt_device("mam_warp_match()", site);

	if (!lane)
		return 1;
	lane->value = value;
	return (uint32_t)meet(lane, SIMT_MATCH, mask, false, site);
}

void simt_syncwarp(uint32_t mask, const char *site)
{
	struct simt_lane *lane = simt_device("mam_warp_sync()", site);

	if (lane)
		meet(lane, SIMT_SYNCWARP, mask, false, site);
}

uint32_t simt_lane(void)
{
	return simt_here ? simt_here->lane : 0;
}
