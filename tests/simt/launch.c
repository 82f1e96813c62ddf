/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - the contents of a world: launches in their streams, and host threads, which are
 * launches of one lane.
 */
#include "simt/launch.h"

#include <stdlib.h>
#include <string.h>

#include "simt/report.h"
#include "simt/sched.h"
#include "simt/step.h"

#define NUMBERS_MAX (UINT32_MAX / 2) /* lanes of a world */
#define THREADS_MAX (32 * SIMT_WARP) /* of a block */

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

/* `dims` for `count` threads or blocks. */
static void set_dims(uint32_t dims[3], struct simt_dims wanted, uint32_t count)
{
	dims[0] = wanted.x ? wanted.x : count;
	dims[1] = !wanted.x ? 1 : wanted.y ? wanted.y : count / dims[0];
	dims[2] = !wanted.x || !wanted.y ? 1 : wanted.z ? wanted.z : count / (dims[0] * dims[1]);
}

/* The longest row of several that `count` threads form, `max` threads at most. */
static uint32_t row_of(uint32_t count, uint32_t max)
{
	uint32_t row = count > max ? max : count - 1;

	while (row > 1 && count % row)
		row--;
	return row ? row : 1;
}

/* Returns false if such a grid or block is invalid. */
static bool set_shape(struct simt_launch *launch, const struct simt_config *config)
{
	struct simt_dims wanted = config->block;
	uint32_t layer;

	if (config->whole && wanted.x)
		wanted = (struct simt_dims){ .x = row_of(launch->block, wanted.x) };
	set_dims(launch->grid_dims, config->grid, launch->grid);
	set_dims(launch->block_dims, wanted, launch->block);
	layer = launch->block_dims[0] * launch->block_dims[1];
	if (layer && layer * launch->block_dims[2] < launch->block)
		launch->block_dims[2] = (launch->block + layer - 1) / layer;
	launch->threads = layer * launch->block_dims[2];
	launch->skipped = launch->threads >= launch->block + SIMT_WARP ? SIMT_WARP : 0;
	return launch->grid && launch->block && launch->threads >= launch->block &&
	       launch->threads <= THREADS_MAX &&
	       launch->grid_dims[0] * launch->grid_dims[1] * launch->grid_dims[2] == launch->grid;
}

static struct simt_launch *add(struct simt_world *world, bool host, unsigned int stream,
			       simt_kernel *kernel, unsigned int grid, unsigned int block,
			       void *argument)
{
	static const struct simt_config line;
	struct simt_launch made = { .kernel = kernel,
				    .argument = argument,
				    .grid = grid,
				    .block = block,
				    .stream = stream,
				    .before = host ? NULL : last_of(world, stream),
				    .order = world->numbers,
				    .first = world->numbers + 1,
				    .place = world->places + 1,
				    .host = host };
	struct simt_launch *launch;

	if (!set_shape(&made, host ? &line : &world->config) ||
	    world->numbers + (uint64_t)grid * block > NUMBERS_MAX)
		return NULL;
	launch = new_launch(world);
	if (!launch)
		return NULL;
	*launch = made;
	world->numbers += 1 + grid * block;
	world->places += 1 + grid;
	world->launches++;
	return launch;
}

bool simt_world_launch(struct simt_world *world, unsigned int stream, simt_kernel *kernel,
		       unsigned int grid, unsigned int block, void *argument)
{
	return add(world, false, stream, kernel, grid, block, argument);
}

bool simt_world_host(struct simt_world *world, void (*work)(void *argument), void *argument)
{
	if (!add(world, true, 0, work, 1, 1, argument))
		return false;
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
	launch = add(world, false, stream, kernel, grid, block, argument);
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
