/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/block.h"

#include <stdlib.h>
#include <string.h>

#include "simt/sched.h"
#include "simt/step.h"
#include "simt/warp.h"

#define PATTERN 0xa5 /* initial contents of shared memory */

static void end_barrier(struct simt_world *world, struct simt_block *block)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < block->count; i++) {
		struct simt_lane *lane = &block->lanes[i];

		if (lane->state != SIMT_AT_BARRIER)
			continue;
		world->meeting[count++] = lane->number;
		simt_sched_add(world, lane);
	}
	block->at_barrier = 0;
	if (world->race_on)
		race_meet(world->race, world->meeting, count);
}

void simt_syncthreads(const char *site)
{
	struct simt_lane *lane = simt_device("mam_syncthreads()", site);
	struct simt_block *block;

	if (!lane)
		return;
	block = lane->block;
	simt_count(lane, site);
	simt_sched_remove(simt_now, lane, SIMT_AT_BARRIER);
	if (++block->at_barrier == block->live)
		end_barrier(simt_now, block);
	simt_warp_idle(simt_now, lane->warp);
	simt_go(lane);
}

static void run_lane(void *argument)
{
	struct simt_lane *lane = argument;
	struct simt_block *block = lane->block;
	struct simt_world *world = simt_now;

	block->launch->kernel(block->launch->argument);
	simt_sched_remove(world, lane, SIMT_ENDED);
	simt_warp_ended(world, lane);
	if (--block->live == 0)
		world->attention = true;
	else if (block->at_barrier == block->live)
		end_barrier(world, block);
	if (!world->attention) {
		struct simt_lane *next = simt_sched_next(world);

		if (next) {
			simt_here = next;
			simt_fiber_leave(&lane->fiber, &next->fiber);
		}
	}
	simt_fiber_leave(&lane->fiber, &world->main);
}

static bool make_room(struct simt_block *block, uint32_t lanes)
{
	uint32_t warps = (lanes + SIMT_WARP - 1) / SIMT_WARP;
	void *fresh;

	if (lanes <= block->lanes_room)
		return true;
	if (!(fresh = realloc(block->warps, warps * sizeof(*block->warps))))
		return false;
	block->warps = fresh;
	if (!(fresh = realloc(block->lanes, lanes * sizeof(*block->lanes))))
		return false;
	block->lanes = fresh;
	while (block->lanes_room < lanes) {
		uint32_t i = block->lanes_room;

		if (!simt_fiber_init(&block->lanes[i].fiber, i + block->slot * 7))
			return false;
		block->lanes_room++;
	}
	return true;
}

static struct simt_block *free_slot(struct simt_world *world)
{
	struct simt_block *block;

	for (uint32_t i = 0; i < world->slots; i++) {
		if (!world->slot[i]->used)
			return world->slot[i];
	}
	if (world->slots == world->slots_room) {
		uint32_t room = world->slots_room ? 2 * world->slots_room : 8;
		struct simt_block **fresh = realloc(world->slot, room * sizeof(*fresh));

		if (!fresh)
			return NULL;
		world->slot = fresh;
		world->slots_room = room;
	}
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->slot = world->slots;
	return world->slot[world->slots++] = block;
}

static void set_at(uint32_t at[3], uint32_t number, const uint32_t dims[3])
{
	at[0] = number % dims[0];
	at[1] = number / dims[0] % dims[1];
	at[2] = number / dims[0] / dims[1];
}

static void begin_lane(struct simt_world *world, struct simt_block *block, uint32_t i)
{
	struct simt_launch *launch = block->launch;
	struct simt_lane *lane = &block->lanes[i];

	lane->warp = &block->warps[i / SIMT_WARP];
	lane->block = block;
	lane->site = "its start";
	lane->number = launch->first + block->index * launch->block + i;
	lane->thread = i;
	set_at(lane->at, launch->skipped + i, launch->block_dims);
	lane->lane = i % SIMT_WARP;
	lane->bit = 1u << lane->lane;
	simt_fiber_start(&lane->fiber, run_lane, lane);
	simt_sched_new(world, lane);
	simt_sched_add(world, lane);
}

bool simt_block_start(struct simt_world *world, struct simt_launch *launch)
{
	struct simt_block *block = free_slot(world);
	uint32_t warps = (launch->block + SIMT_WARP - 1) / SIMT_WARP;

	if (!block || !make_room(block, launch->block))
		return false;
	block->launch = launch;
	block->count = block->live = launch->block;
	block->index = launch->next++;
	set_at(block->at, block->index, launch->grid_dims);
	block->at_barrier = 0;
	block->pieces = 0;
	block->used = true;
	launch->running++;
	for (uint32_t i = 0; i < warps; i++) {
		struct simt_warp *warp = &block->warps[i];
		uint32_t left = launch->block - i * SIMT_WARP;

		warp->block = block;
		warp->lanes = &block->lanes[(size_t)i * SIMT_WARP];
		warp->index = launch->skipped / SIMT_WARP + i;
		warp->exist = left >= SIMT_WARP ? UINT32_MAX : (1u << left) - 1;
		warp->ended = ~warp->exist;
		warp->ready = warp->at_active = warp->patience = warp->groups = 0;
		warp->turn = SIMT_WARP - 1;
	}
	for (uint32_t i = 0; i < block->count; i++)
		begin_lane(world, block, i);
	return true;
}

void simt_block_free(struct simt_block *block)
{
	for (uint32_t i = 0; i < block->lanes_room; i++)
		simt_fiber_fini(&block->lanes[i].fiber);
	for (uint32_t i = 0; i < block->pieces_room; i++)
		free(block->piece[i].memory);
	free(block->piece);
	free(block->lanes);
	free(block->warps);
	free(block);
}

static struct simt_piece *new_piece(struct simt_block *block, size_t bytes)
{
	struct simt_piece *piece;

	if (block->pieces == block->pieces_room) {
		uint32_t room = block->pieces_room ? 2 * block->pieces_room : 4;
		struct simt_piece *fresh = realloc(block->piece, room * sizeof(*fresh));

		if (!fresh)
			return NULL;
		memset(&fresh[block->pieces_room], 0, (room - block->pieces_room) * sizeof(*fresh));
		block->piece = fresh;
		block->pieces_room = room;
	}
	piece = &block->piece[block->pieces];
	if (piece->room < bytes) {
		free(piece->memory);
		piece->room = 0;
		piece->memory = NULL;
		if (posix_memalign(&piece->memory, 64, bytes))
			return NULL;
		piece->room = bytes;
	}
	block->pieces++;
	return piece;
}

void *simt_shared(const void *key, size_t bytes)
{
	struct simt_lane *lane = simt_device("shared memory", "MAM_SHARED()");
	struct simt_block *block;
	struct simt_piece *piece;

	if (!lane)
		simt_fail("shared memory", "MAM_SHARED()");
	block = lane->block;
	for (uint32_t i = 0; i < block->pieces; i++) {
		if (block->piece[i].key == key && block->piece[i].bytes == bytes)
			return block->piece[i].memory;
	}
	piece = new_piece(block, bytes);
	if (!piece)
		simt_stop(SIMT_NO_MEMORY, "no memory for %zu bytes of shared memory", bytes);
	piece->key = key;
	piece->bytes = bytes;
	memset(piece->memory, PATTERN, bytes);
	if (simt_now->race_on)
		race_forget(simt_now->race, piece->memory, bytes);
	return piece->memory;
}

uint32_t simt_thread(void)
{
	return simt_here ? simt_here->thread : 0;
}

uint32_t simt_block(void)
{
	return simt_here ? simt_here->block->index : 0;
}

uint32_t simt_block_threads(void)
{
	return simt_here ? simt_here->block->count : 1;
}

uint32_t simt_grid_blocks(void)
{
	return simt_here ? simt_here->block->launch->grid : 1;
}

uint32_t simt_thread_at(unsigned int axis)
{
	return simt_here ? simt_here->at[axis] : 0;
}

uint32_t simt_block_at(unsigned int axis)
{
	return simt_here ? simt_here->block->at[axis] : 0;
}

uint32_t simt_block_dim(unsigned int axis)
{
	return simt_here ? simt_here->block->launch->block_dims[axis] : 1;
}

uint32_t simt_grid_dim(unsigned int axis)
{
	return simt_here ? simt_here->block->launch->grid_dims[axis] : 1;
}

/* A slot stays on its SM: the next block in it runs where the last one did. */
uint32_t simt_smid(void)
{
	const struct simt_world *world = simt_now;

	return simt_here ? (simt_here->block->slot + world->shift) % world->config.sms : 0;
}

uint32_t simt_warpid(void)
{
	const struct simt_lane *lane = simt_here;

	if (!lane)
		return 0;
	return lane->block->slot / simt_now->config.sms *
		       ((lane->block->launch->threads + SIMT_WARP - 1) / SIMT_WARP) +
	       lane->warp->index;
}
