/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/heap.h"

static bool before(const struct simt_lane *a, const struct simt_lane *b)
{
	return a->key != b->key ? a->key < b->key : a->number < b->number;
}

static void put(struct simt_lane **heap, uint32_t place, struct simt_lane *lane)
{
	heap[place] = lane;
	lane->place = place;
}

static void rise(struct simt_lane **heap, uint32_t place, struct simt_lane *lane)
{
	while (place && before(lane, heap[(place - 1) / 2])) {
		put(heap, place, heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	put(heap, place, lane);
}

void simt_heap_add(struct simt_lane **heap, uint32_t *count, struct simt_lane *lane)
{
	rise(heap, (*count)++, lane);
}

void simt_heap_remove(struct simt_lane **heap, uint32_t *count, struct simt_lane *lane)
{
	struct simt_lane *last = heap[--*count];
	uint32_t place = lane->place;

	if (last == lane)
		return;
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= *count)
			break;
		if (child + 1 < *count && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], last))
			break;
		put(heap, place, heap[child]);
		place = child;
	}
	rise(heap, place, last);
}
