/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.c - a run from its first lane to its last.
 *
 * 1. Launches whose stream is free start; blocks start while fewer than `resident` run.
 * 2. A lane is entered. Lanes switch to one another; this stack continues when one of them ended a
 *    block or launched a kernel, when no lane can continue, or with a verdict.
 * 3. Ended blocks and launches are removed; then from 1. again, until nothing is left.
 *
 * A destroyed world is kept and reused: stacks, lists and clocks cost nothing the next time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt/block.h"
#include "simt/hooks_core.h"
#include "simt/launch.h"
#include "simt/report.h"
#include "simt/sched.h"
#include "simt/step.h"

#define STEPS_MAX 1000000
#define SMS 4

static struct simt_world *spare;

static void forget(struct simt_world *world)
{
	for (uint32_t i = 0; i < world->slots; i++)
		world->slot[i]->used = false;
	world->launches = world->hosts = 0;
	world->numbers = world->places = 1; /* 0 is the program itself */
	world->steps = world->clock = 0;
	world->attention = false;
	world->result.verdict = SIMT_FINE;
	world->result.text[0] = '\0';
}

static void free_world(struct simt_world *world)
{
	for (uint32_t i = 0; i < world->slots; i++)
		simt_block_free(world->slot[i]);
	for (uint32_t i = 0; i < world->launches_room; i++)
		free(world->launch[i]);
	if (world->race)
		race_destroy(world->race);
	simt_sched_free(world);
	free(world->slot);
	free(world->launch);
	free(world);
}

static void free_spare(void)
{
	struct simt_world *world = spare;

	spare = NULL;
	if (world)
		free_world(world);
}

/*
 * No lane should be running. A lane that left its stack by longjmp(), as Check's assertions do, no
 * longer exists; its world has no owner.
 */
static void abandon(void)
{
	char here = 0;

	if (!simt_here)
		return;
	if (simt_fiber_contains(&simt_here->fiber, &here)) {
		simt_stop(SIMT_FAILED, "%s launches: only host threads can, by simt_host_launch()",
			  simt_report_name(simt_here));
	}
	simt_here = NULL;
	simt_fiber_jumped(&simt_now->main);
	if (!spare)
		spare = simt_now;
}

struct simt_world *simt_world_create(const struct simt_config *config)
{
	static bool registered;
	struct simt_world *world;

	abandon();
	world = spare;
	if (world) {
		spare = NULL;
	} else {
		world = calloc(1, sizeof(*world));
		if (!world)
			return NULL;
		if (!registered)
			registered = !atexit(free_spare);
	}
	forget(world);
	world->config = *config;
	if (!world->config.sms)
		world->config.sms = SMS;
	world->steps_max = config->steps_max ? config->steps_max : STEPS_MAX;
	return world;
}

void simt_world_destroy(struct simt_world *world)
{
	if (!world || world == spare)
		return;
	if (spare)
		free_world(world);
	else
		spare = world;
}

/*
 * Orders all lanes of a launch and the number that represents it: once when it starts, once when it
 * has ended.
 */
static void order_launch(struct simt_world *world, const struct simt_launch *launch)
{
	uint32_t lanes = launch->grid * launch->block;

	for (uint32_t i = 0; i <= lanes; i++)
		world->meeting[i] = launch->order + i;
	race_meet(world->race, world->meeting, lanes + 1);
}

static bool begin_launch(struct simt_world *world, struct simt_launch *launch)
{
	launch->begun = true;
	if (!simt_sched_room(world, world->numbers))
		return false;
	if (world->race_on) {
		if (launch->before)
			race_order(world->race, launch->before->order, launch->order);
		for (uint32_t i = 0; i < launch->grid * launch->block; i++)
			race_place(world->race, launch->first + i,
				   launch->place + i / launch->block, launch->host);
		order_launch(world, launch);
	}
	return true;
}

/* Starts the launches and blocks that may start; false: out of memory. */
static bool start(struct simt_world *world)
{
	uint32_t resident = world->config.resident ? world->config.resident : UINT32_MAX;

	for (uint32_t i = 0; i < world->launches; i++) {
		struct simt_launch *launch = world->launch[i];

		if (launch->ended || (launch->before && !launch->before->ended))
			continue;
		if (!launch->begun && !begin_launch(world, launch))
			return false;
		while (launch->next < launch->grid && launch->running < resident) {
			if (!simt_block_start(world, launch))
				return false;
		}
	}
	return true;
}

static void retire(struct simt_world *world)
{
	for (uint32_t i = 0; i < world->slots; i++) {
		struct simt_block *block = world->slot[i];
		struct simt_launch *launch = block->launch;

		if (!block->used || block->live)
			continue;
		block->used = false;
		launch->running--;
		if (launch->running || launch->next < launch->grid)
			continue;
		launch->ended = true;
		if (world->race_on)
			order_launch(world, launch);
	}
}

static bool done(const struct simt_world *world)
{
	for (uint32_t i = 0; i < world->launches; i++) {
		if (!world->launch[i]->ended)
			return false;
	}
	return true;
}

static bool prepare_race(struct simt_world *world)
{
	uint32_t room = world->numbers;

	world->race_on = world->config.race;
	if (!world->race_on)
		return true;
	if (world->race && world->race_room >= room && world->race_room < 4 * room) {
		race_reset(world->race);
	} else {
		if (world->race)
			race_destroy(world->race);
		world->race = race_create(room);
		world->race_room = room;
	}
	if (!world->race)
		return false;
	race_names(world->race, simt_report_number);
	/* The program's own past accesses belong to no lane: they cannot race. */
	for (uint32_t i = 0; i < world->launches; i++)
		race_place(world->race, world->launch[i]->order, world->launch[i]->place - 1, true);
	return true;
}

static void run(struct simt_world *world)
{
	while (!done(world)) {
		struct simt_lane *lane;

		if (!start(world)) {
			simt_report_no_memory(world);
			return;
		}
		simt_launch_wake(world);
		world->attention = false;
		lane = simt_sched_next(world);
		if (!lane) {
			simt_report_deadlock(world);
			return;
		}
		simt_here = lane;
		simt_fiber_switch(&world->main, &lane->fiber);
		simt_here = NULL;
		if (world->result.verdict != SIMT_FINE)
			return;
		retire(world);
	}
}

enum simt_verdict simt_world_run(struct simt_world *world, struct simt_result *result)
{
	abandon();
	simt_now = world;
	simt_host_begin();
	world->trace = getenv("SIMT_TRACE") && getenv("SIMT_SEED");
	world->hash = UINT64_C(0xcbf29ce484222325);
	simt_sched_begin(world, world->numbers);
	world->shift = simt_below(&world->sched.random, world->config.sms);
	if (!prepare_race(world))
		simt_report_no_memory(world);
	else
		run(world);
	simt_host_begin();
	world->result.steps = world->steps;
	world->result.hash = world->hash;
	if (result)
		*result = world->result;
	return world->result.verdict;
}

enum simt_verdict simt_launch(const struct simt_config *config, simt_kernel *kernel,
			      unsigned int grid, unsigned int block, void *argument,
			      struct simt_result *result)
{
	struct simt_world *world;
	enum simt_verdict verdict = SIMT_NO_MEMORY;

	world = simt_world_create(config);
	if (world && simt_world_launch(world, 0, kernel, grid, block, argument)) {
		verdict = simt_world_run(world, result);
	} else if (result) {
		memset(result, 0, sizeof(*result));
		result->verdict = verdict;
		snprintf(result->text, sizeof(result->text),
			 "no memory for a launch of %u blocks of %u lanes, or there is no such "
			 "launch",
			 grid, block);
	}
	simt_world_destroy(world);
	return verdict;
}
