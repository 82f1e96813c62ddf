/* SPDX-License-Identifier: Apache-2.0 */
/* bound.c - see bound.h. */
#include "simt/bound.h"

#define POINTS_MAX ((1u << SIMT_POINT_BITS) - 1)
#define CHOICES_MAX ((1u << (SIMT_DEVIATION_BITS - SIMT_POINT_BITS)) - 1)

static uint8_t choices[POINTS_MAX];
static uint32_t points;

void simt_bound_begin(struct simt_world *world)
{
	points = 0;
	world->sched.plan = world->config.seed;
	world->sched.yields = false;
}

uint32_t simt_bound_points(const uint8_t **others)
{
	*others = choices;
	return points;
}

uint32_t simt_bound_choose(struct simt_world *world, uint32_t others)
{
	uint64_t *plan = &world->sched.plan;
	uint32_t which;

	if (others == 0 || points == POINTS_MAX)
		return 0;
	choices[points++] = (uint8_t)(others < CHOICES_MAX ? others : CHOICES_MAX);
	if ((*plan & POINTS_MAX) != points)
		return 0;
	which = (uint32_t)(*plan >> SIMT_POINT_BITS) & CHOICES_MAX;
	*plan >>= SIMT_DEVIATION_BITS;
	return which <= others ? which : 0;
}

/* How far a lane is after the last one in the order of numbers; the last one itself is first. */
static uint32_t distance(const struct simt_world *world, const struct simt_lane *lane)
{
	uint32_t last = world->sched.last ? world->sched.last->number : 0;

	return lane->number >= last ? lane->number - last : world->numbers + lane->number - last;
}

/* The ready lane with `rank` others at a smaller distance. */
static struct simt_lane *lane_at(const struct simt_world *world, uint32_t rank)
{
	const struct simt_sched *sched = &world->sched;

	for (uint32_t i = 0; i < sched->lanes_ready; i++) {
		uint32_t nearer = 0;

		for (uint32_t k = 0; k < sched->lanes_ready; k++)
			nearer +=
				distance(world, sched->ready[k]) < distance(world, sched->ready[i]);
		if (nearer == rank)
			return sched->ready[i];
	}
	return sched->ready[0];
}

struct simt_lane *simt_bound_next(struct simt_world *world)
{
	struct simt_sched *sched = &world->sched;
	/* A lane that yields is not among the choices, unless it is alone. */
	uint32_t first =
		sched->yields && sched->lanes_ready > 1 && sched->last->state == SIMT_READY;

	sched->yields = false;
	sched->last =
		lane_at(world, first + simt_bound_choose(world, sched->lanes_ready - 1 - first));
	return sched->last;
}
