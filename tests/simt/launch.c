/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - what a world holds: launches in their streams, and host threads, which are launches of
 * one lane.
 */
#include "simt/launch.h"

#include <stdlib.h>
#include <string.h>

#include "simt/report.h"
#include "simt/sched.h"
#include "simt/step.h"

#define NUMBERS_MAX (UINT32_MAX / 2) /* lanes of a world */

static struct simt_launch *new_launch(struct simt_world *world)
{
	if (world->launches == world->launches_room) {
		uint32_t room = world->launches_room ? 2 * world->launches_room : 4;
		struct simt_launch **fresh = realloc(world->launch, room * sizeof(*fresh));

		if (!fresh)
			return NULL;
		world->launch = fresh;
		memset(&fresh[world->launches_room], 0,
		       (room - world->launches_room) * sizeof(*fresh));
		world->launches_room = room;
	}
	if (!world->launch[world->launches]) {
		world->launch[world->launches] = malloc(sizeof(struct simt_launch));
		if (!world->launch[world->launches])
			return NULL;
	}
	return world->launch[world->launches];
}

static struct simt_launch *last_of(const struct simt_world *world, unsigned int stream)
{
	for (uint32_t i = world->launches; i--;) {
		if (!world->launch[i]->host && world->launch[i]->stream == stream)
			return world->launch[i];
	}
	return NULL;
}

static struct simt_launch *add(struct simt_world *world, unsigned int stream, simt_kernel *kernel,
			       unsigned int grid, unsigned int block, void *argument)
{
	struct simt_launch *before = last_of(world, stream);
	struct simt_launch *launch;

	if (!grid || !block || block > 32 * SIMT_WARP ||
	    world->numbers + (uint64_t)grid * block > NUMBERS_MAX)
		return NULL;
	launch = new_launch(world);
	if (!launch)
		return NULL;
	*launch = (struct simt_launch){ .kernel = kernel,
					.argument = argument,
					.grid = grid,
					.block = block,
					.stream = stream,
					.before = before,
					.order = world->numbers,
					.first = world->numbers + 1,
					.place = world->places + 1 };
	world->numbers += 1 + grid * block;
	world->places += 1 + grid;
	world->launches++;
	return launch;
}

bool simt_world_launch(struct simt_world *world, unsigned int stream, simt_kernel *kernel,
		       unsigned int grid, unsigned int block, void *argument)
{
	return add(world, stream, kernel, grid, block, argument);
}

bool simt_world_host(struct simt_world *world, void (*work)(void *argument), void *argument)
{
	struct simt_launch *launch = add(world, 0, work, 1, 1, argument);

	if (!launch)
		return false;
	launch->host = true;
	launch->before = NULL;
	world->hosts++;
	return true;
}

bool simt_host_launch(unsigned int stream, simt_kernel *kernel, unsigned int grid,
		      unsigned int block, void *argument)
{
	struct simt_lane *lane = simt_here;
	struct simt_world *world = simt_now;
	struct simt_launch *launch;

	if (!lane)
		return false;
	if (!lane->block->launch->host)
		simt_stop(SIMT_FAILED, "%s calls simt_host_launch(): only a host thread can",
			  simt_report_name(lane));
	launch = add(world, stream, kernel, grid, block, argument);
	if (!launch)
		return false;
	launch->by = lane->number;
	if (world->race_on) {
		race_place(world->race, launch->order, launch->place - 1, true);
		race_order(world->race, lane->number, launch->order);
	}
	world->attention = true;
	simt_step(lane, "simt_host_launch()");
	return true;
}

/* Have all launches that the host thread waits for ended? */
static bool stream_done(const struct simt_world *world, const struct simt_lane *lane)
{
	for (uint32_t i = 0; i < world->launches; i++) {
		const struct simt_launch *launch = world->launch[i];

		if (!launch->host && launch->stream == lane->value && !launch->ended &&
		    (!launch->by || launch->by == lane->number))
			return false;
	}
	return true;
}

static void order_stream(struct simt_world *world, const struct simt_lane *lane)
{
	for (uint32_t i = 0; i < world->launches; i++) {
		const struct simt_launch *launch = world->launch[i];

		if (!launch->host && launch->stream == lane->value && launch->ended &&
		    (!launch->by || launch->by == lane->number))
			race_order(world->race, launch->order, lane->number);
	}
}

void simt_host_wait(unsigned int stream, const char *site)
{
	struct simt_lane *lane = simt_here;

	if (!lane)
		return;
	if (!lane->block->launch->host)
		simt_stop(SIMT_FAILED, "%s calls simt_host_wait() at %s: only a host thread can",
			  simt_report_name(lane), site);
	simt_count(lane, site);
	lane->value = stream;
	if (!stream_done(simt_now, lane))
		simt_sched_remove(simt_now, lane, SIMT_AT_STREAM);
	simt_go(lane);
	if (simt_now->race_on)
		order_stream(simt_now, lane);
}

void simt_launch_wake(struct simt_world *world)
{
	for (uint32_t i = 0; i < world->slots; i++) {
		struct simt_block *block = world->slot[i];

		if (block->used && block->launch->host && block->lanes[0].state == SIMT_AT_STREAM &&
		    stream_done(world, &block->lanes[0]))
			simt_sched_add(world, &block->lanes[0]);
	}
}
