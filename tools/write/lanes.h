/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - lanes that things take for a while, so that no two are in one at once.
 */
#ifndef TOOLS_LANES_H
#define TOOLS_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: no lane yet. */
struct lanes {
	uint32_t *free; /* a heap of lanes that nobody has, the lowest first */
	uint32_t free_count;
	uint32_t room;
	uint32_t count; /* lanes in all: those below it exist */
};

/*
 * lanes_take - the lowest lane that nobody has; a new one if all have somebody. False: no memory.
 * O(log lanes); as many lanes as things were there at once.
 */
bool lanes_take(struct lanes *lanes, uint32_t *lane);

/* lanes_give - nobody has it now. */
void lanes_give(struct lanes *lanes, uint32_t lane);

void lanes_fini(struct lanes *lanes);

#endif
