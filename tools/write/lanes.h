/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - assign lanes to items so that items which overlap in time never share a lane.
 */
#ifndef TOOLS_LANES_H
#define TOOLS_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: no lanes yet. */
struct lanes {
	uint32_t *free; /* a binary heap of the free lanes, the lowest first */
	uint32_t free_count;
	uint32_t room;
	uint32_t count; /* number of lanes, free or in use */
};

/*
 * lanes_take - allocate the lowest free lane, or a new one if all are in use. False: out of memory.
 * O(log lanes). The number of lanes is the maximum number in use at the same time.
 */
bool lanes_take(struct lanes *lanes, uint32_t *lane);

/* lanes_give - free a lane. */
void lanes_give(struct lanes *lanes, uint32_t lane);

void lanes_fini(struct lanes *lanes);

#endif
