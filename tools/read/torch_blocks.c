/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_blocks.c - the segments and live blocks at the time of a PyTorch snapshot, and the
 * conclusions for the time before its first event.
 *
 * 1. Each segment of the device has a size and a sequence of blocks, some of them alive.
 * 2. A live block whose address no event mentions was alive during the whole history, or was
 *    allocated after recording was stopped. If an allocation overlaps it, it was allocated later,
 *    and is dropped. To find overlaps, sort the allocations by address; each has the maximum end of
 *    those up to it.
 * 3. The bytes reserved at the start are those reserved at the end less those that the events
 *    added.
 *
 * O(n log n). The number of steps is bounded by the bytes of the pickle: a list that is referenced
 * a thousand times is not traversed a thousand times.
 */
#include <stdlib.h>
#include <string.h>

#include "read/torch_snapshot.h"

void torch_reserve(struct torch_snapshot *snapshot, uint64_t bytes, bool gets)
{
	snapshot->reserved += gets ? (double)bytes : -(double)bytes;
	if (snapshot->reserved > snapshot->reserved_max)
		snapshot->reserved_max = snapshot->reserved;
}

static bool is_alive(const struct torch_snapshot *snapshot, struct pickle_value block)
{
	static const char alive[] = "active_allocated";
	const char *text;
	size_t bytes;

	return pickle_text(&snapshot->pickle, pickle_get(&snapshot->pickle, block, "state"), &text,
			   &bytes) &&
	       bytes == strlen(alive) && memcmp(text, alive, bytes) == 0;
}

/*
 * The requested size: in the block since 2.1; before, in the first entry of the block's own
 * history.
 */
static uint64_t asked_of(const struct torch_snapshot *snapshot, struct pickle_value block,
			 uint64_t size)
{
	const struct pickle *pickle = &snapshot->pickle;
	struct pickle_value history = pickle_get(pickle, block, "history");
	uint64_t asked;

	if (torch_number(snapshot, block, "requested_size", &asked) && asked <= size)
		return asked;
	if (pickle_kind(history) == PICKLE_LIST && pickle_count(pickle, history) &&
	    torch_number(snapshot, pickle_item(pickle, history, 0), "real_size", &asked) &&
	    asked <= size)
		return asked;
	return size;
}

/* Add a block that is alive at the end. */
static bool add_block(struct torch_snapshot *snapshot, struct pickle_value block, uint64_t address,
		      uint64_t size, uint64_t stream)
{
	struct history_event event = { .id = address, .stream = stream, .place = 1 };
	uint32_t state = idtable_find(&snapshot->states, address);

	if (state != IDTABLE_NONE) {
		snapshot->younger += state == TORCH_FREED;
		return true;
	}
	event.bytes = asked_of(snapshot, block, size);
	if (snapshot->history.count && snapshot->history.events[0].has_time) {
		event.has_time = true;
		event.time = snapshot->history.events[0].time;
	}
	if (!torch_who(snapshot, block, &event.who) || !torch_stack(snapshot, block, &event.stack))
		return false;
	return history_add_before(&snapshot->history, &event) || torch_fail_memory(snapshot);
}

/* Subtract `count` from the steps that are left. False: the budget is exceeded. */
static bool spend(const struct torch_snapshot *snapshot, uint64_t *budget, uint64_t count)
{
	if (count > *budget)
		return torch_fail(snapshot,
				  "has segments with more blocks than the file has bytes");
	*budget -= count;
	return true;
}

static bool read_blocks(struct torch_snapshot *snapshot, struct pickle_value segment,
			uint64_t *budget)
{
	const struct pickle *pickle = &snapshot->pickle;
	struct pickle_value blocks = pickle_get(pickle, segment, "blocks");
	size_t count = pickle_kind(blocks) == PICKLE_LIST ? pickle_count(pickle, blocks) : 0;
	uint64_t address = 0, size, stream = 0;

	torch_number(snapshot, segment, "address", &address);
	torch_number(snapshot, segment, "stream", &stream);
	for (size_t i = 0; i < count; i++) {
		struct pickle_value block = pickle_item(pickle, blocks, i);

		if (!spend(snapshot, budget, 1 + pickle_count(pickle, block)))
			return false;
		size = 0;
		torch_number(snapshot, block, "address", &address);
		torch_number(snapshot, block, "size", &size);
		if (size > INT64_MAX)
			return torch_fail(snapshot, "contains a block with a negative size");
		if (is_alive(snapshot, block) && !add_block(snapshot, block, address, size, stream))
			return false;
		address += size;
	}
	return true;
}

/* The addresses from `id` to `end`. */
struct range {
	uint64_t id;
	uint64_t end; /* the maximum end of this and all earlier ranges */
};

static int by_address(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static uint64_t end_of(const struct history_event *event)
{
	uint64_t bytes = event->bytes ? event->bytes : 1;

	return event->id > UINT64_MAX - bytes ? UINT64_MAX : event->id + bytes;
}

/* The ranges of all allocations, sorted; NULL: out of memory. */
static struct range *ranges_of(const struct history *history, size_t *count)
{
	struct range *ranges = malloc((history->count + 1) * sizeof(*ranges));

	*count = 0;
	if (!ranges)
		return NULL;
	for (size_t i = 0; i < history->count; i++) {
		const struct history_event *event = &history->events[i];

		if (!event->frees)
			ranges[(*count)++] = (struct range){ event->id, end_of(event) };
	}
	qsort(ranges, *count, sizeof(*ranges), by_address);
	for (size_t i = 1; i < *count; i++)
		if (ranges[i].end < ranges[i - 1].end)
			ranges[i].end = ranges[i - 1].end;
	return ranges;
}

static bool overlaps(const struct range *ranges, size_t count, const struct history_event *block)
{
	size_t low = 0, high = count;

	/*
	 * Count the ranges that start before the block's end; the last of them has their maximum
	 * end.
	 */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].id < end_of(block))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && ranges[low - 1].end > block->id;
}

static bool drop_younger(struct torch_snapshot *snapshot)
{
	struct history *history = &snapshot->history;
	struct range *ranges;
	size_t count, kept = 0;

	if (history->before_count == 0)
		return true;
	ranges = ranges_of(history, &count);
	if (!ranges)
		return torch_fail_memory(snapshot);
	for (size_t i = 0; i < history->before_count; i++)
		if (!overlaps(ranges, count, &history->before[i]))
			history->before[kept++] = history->before[i];
	snapshot->younger += history->before_count - kept;
	history->before_count = kept;
	free(ranges);
	return true;
}

/* Segments without a device are from versions that recorded only one. */
static bool is_ours(const struct torch_snapshot *snapshot, struct pickle_value segment)
{
	uint64_t device;

	return !torch_number(snapshot, segment, "device", &device) || device == snapshot->device;
}

bool torch_blocks_read(struct torch_snapshot *snapshot)
{
	const struct pickle *pickle = &snapshot->pickle;
	struct pickle_value segments = pickle_get(pickle, pickle->root, "segments");
	size_t count = pickle_kind(segments) == PICKLE_LIST ? pickle_count(pickle, segments) : 0;
	uint64_t budget = pickle->bytes, size;
	double reserved = 0;

	for (size_t i = 0; i < count; i++) {
		struct pickle_value segment = pickle_item(pickle, segments, i);

		if (!spend(snapshot, &budget, 1 + pickle_count(pickle, segment)))
			return false;
		if (pickle_kind(segment) != PICKLE_DICT || !is_ours(snapshot, segment))
			continue;
		if (torch_number(snapshot, segment, "total_size", &size) && size <= INT64_MAX)
			reserved += (double)size;
		if (!read_blocks(snapshot, segment, &budget))
			return false;
	}
	if (reserved > snapshot->reserved)
		snapshot->reserved_max += reserved - snapshot->reserved;
	return drop_younger(snapshot);
}
