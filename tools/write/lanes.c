/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.c - assign lanes to items with overlapping lifetimes.
 *
 * Assigning the lowest free lane to each new item uses the minimum number of lanes: a new lane is
 * created only when all others are in use. The free lanes are in a binary heap.
 */
#include "write/lanes.h"

#include <stdlib.h>
#include <string.h>

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Make room in the heap for all lanes, so that lanes_give() cannot fail. */
static bool make_room(struct lanes *lanes)
{
	uint32_t room = lanes->room ? 2 * lanes->room : 16;
	uint32_t *wider;

	if (lanes->count < lanes->room)
		return true;
	wider = realloc(lanes->free, room * sizeof(*wider));
	if (!wider)
		return false;
	lanes->free = wider;
	lanes->room = room;
	return true;
}

bool lanes_take(struct lanes *lanes, uint32_t *lane)
{
	uint32_t *heap = lanes->free, at = 0, child;

	if (lanes->free_count == 0) {
		if (!make_room(lanes))
			return false;
		*lane = lanes->count++;
		return true;
	}
	*lane = heap[0];
	heap[0] = heap[--lanes->free_count];
	while ((child = 2 * at + 1) < lanes->free_count) {
		child += child + 1 < lanes->free_count && heap[child + 1] < heap[child];
		if (heap[at] <= heap[child])
			break;
		swap(&heap[at], &heap[child]);
		at = child;
	}
	return true;
}

void lanes_give(struct lanes *lanes, uint32_t lane)
{
	uint32_t *heap = lanes->free, at = lanes->free_count++;

	heap[at] = lane;
	while (at > 0 && heap[(at - 1) / 2] > heap[at]) {
		swap(&heap[(at - 1) / 2], &heap[at]);
		at = (at - 1) / 2;
	}
}

void lanes_fini(struct lanes *lanes)
{
	free(lanes->free);
	memset(lanes, 0, sizeof(*lanes));
}
