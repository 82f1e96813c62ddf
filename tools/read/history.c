/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.c - repair the order of events from another program's log.
 *
 * 1. If requested, check whether the order is inconsistent: an address that is allocated twice or
 *    freed twice in a row. If so, sort by time, and use that order if it has fewer inconsistencies.
 *    The sort is stable: events of the same microsecond keep their order.
 * 2. From the last event to the first, find the next event at each event's address.
 * 3. A free at an address without an earlier event belongs to a block that is older than the log.
 *    Add an allocation before the first event, with the size that the free gives. (A free without a
 *    size is dropped.)
 * 4. Pass on the older blocks, by address, then event after event. Memory is reused only after it
 *    was freed, so an allocation at a live address was logged before the free that preceded it:
 *    free the old block just before. If the next two events at that address are frees, the first of
 *    them is the delayed one, and is dropped. Any other free of an address that is not live is
 *    dropped.
 *
 * Invariant: the resulting events obey every rule of replay_build.h. O(n log n) for the sort,
 * otherwise O(n).
 */
#include "read/history.h"

#include <stdlib.h>
#include <string.h>

#include "kit/message.h"

#define NO_EVENT UINT32_MAX

bool history_init(struct history *history)
{
	*history = (struct history){ 0 };
	return names_init(&history->names);
}

void history_fini(struct history *history)
{
	free(history->events);
	free(history->before);
	names_fini(&history->names);
	*history = (struct history){ 0 };
}

static bool add(struct history_event **events, size_t *count, size_t *room,
		const struct history_event *event)
{
	if (*count == *room) {
		size_t more = *room ? 2 * *room : 1024;
		struct history_event *wider = realloc(*events, more * sizeof(*wider));

		if (!wider)
			return false;
		*events = wider;
		*room = more;
	}
	(*events)[(*count)++] = *event;
	return true;
}

bool history_add(struct history *history, const struct history_event *event)
{
	return history->count < NO_EVENT &&
	       add(&history->events, &history->count, &history->room, event);
}

bool history_add_before(struct history *history, const struct history_event *event)
{
	return history->before_count < NO_EVENT &&
	       add(&history->before, &history->before_count, &history->before_room, event);
}

/* Merge two sorted neighbors; of equal events the left one comes first. */
static void merge(const struct history_event *from, size_t left, size_t middle, size_t right,
		  struct history_event *to)
{
	size_t a = left, b = middle;

	for (size_t i = left; i < right; i++)
		to[i] = a < middle && (b >= right || from[a].time <= from[b].time) ? from[a++]
										   : from[b++];
}

/* Logs are nearly sorted; a sorted one needs no work. */
static bool is_sorted(const struct history *history)
{
	for (size_t i = 1; i < history->count; i++)
		if (history->events[i].time < history->events[i - 1].time)
			return false;
	return true;
}

/* Sort `from`; the result is in `from` or `to`. Returns which. */
static struct history_event *sort(struct history_event *from, struct history_event *to,
				  size_t count)
{
	for (size_t width = 1; width < count; width *= 2) {
		struct history_event *swap = from;

		for (size_t left = 0; left < count; left += 2 * width) {
			size_t middle = left + width < count ? left + width : count;
			size_t right = left + 2 * width < count ? left + 2 * width : count;

			merge(from, left, middle, right, to);
		}
		from = to;
		to = swap;
	}
	return from;
}

/* Count the inconsistencies of an order. False: out of memory. */
static bool count_conflicts(const struct history_event *events, size_t count, uint64_t *conflicts)
{
	struct idtable last = { 0 }; /* for each address: whether its last event was a free */
	uint32_t *at = NULL;

	*conflicts = 0;
	for (size_t i = 0; i < count; i++) {
		at = idtable_at(&last, events[i].id);
		if (!at)
			break;
		*conflicts += *at == (uint32_t)events[i].frees;
		*at = events[i].frees;
	}
	idtable_fini(&last);
	return count == 0 || at;
}

/* If the file's order is inconsistent and the order by time is less so, use the latter. */
static bool take_order(struct history *history)
{
	size_t bytes = history->count * sizeof(*history->events);
	struct history_event *one, *two, *sorted;
	uint64_t conflicts, others = UINT64_MAX;
	bool good;

	if (!count_conflicts(history->events, history->count, &conflicts))
		return false;
	if (conflicts == 0 || is_sorted(history))
		return true;
	one = malloc(bytes);
	two = malloc(bytes);
	good = one && two;
	if (good) {
		memcpy(one, history->events, bytes);
		sorted = sort(one, two, history->count);
		good = count_conflicts(sorted, history->count, &others);
		if (good && others < conflicts) {
			memcpy(history->events, sorted, bytes);
			history->by_time = true;
		}
	}
	free(one);
	free(two);
	return good;
}

/* The next event at the same address, for each event. */
static uint32_t *find_next(const struct history *history)
{
	uint32_t *next = calloc(history->count + 1, sizeof(*next));
	struct idtable nearest = { 0 };
	bool good = next != NULL;

	for (size_t i = history->count; good && i-- > 0;) {
		uint32_t *at = idtable_at(&nearest, history->events[i].id);

		good = at != NULL;
		if (good) {
			next[i] = *at;
			*at = (uint32_t)i;
		}
	}
	idtable_fini(&nearest);
	if (good)
		return next;
	free(next);
	return NULL;
}

static bool is_free(const struct history *history, uint32_t event)
{
	return event != NO_EVENT && history->events[event].frees;
}

/* A block whose first event is a free was allocated before the log started. */
static bool find_older(struct history *history)
{
	struct idtable seen = { 0 };
	bool good = true;

	for (size_t i = 0; i < history->before_count && good; i++) {
		uint32_t *at = idtable_at(&seen, history->before[i].id);

		good = at != NULL;
		if (at)
			*at = 0;
	}
	for (size_t i = 0; i < history->count && good; i++) {
		struct history_event event = history->events[i];
		uint32_t *at = idtable_at(&seen, event.id);

		good = at != NULL;
		if (!at || *at != IDTABLE_NONE)
			continue;
		*at = 0;
		if (!event.frees || !event.has_bytes)
			continue;
		event.frees = false;
		event.time = history->events[0].time;
		event.has_thread = false;
		good = history_add_before(history, &event);
	}
	idtable_fini(&seen);
	history->older = history->before_count;
	return good;
}

static int by_address(const void *a, const void *b)
{
	const struct history_event *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static bool pass_on(struct history *history, struct replay_build *build,
		    const struct history_event *event, bool frees)
{
	const char *who = history->names.texts[event->who];
	struct replay_told told = {
		.id = event->id,
		.bytes = event->bytes,
		.stream = event->stream,
		.place = event->place,
		.time = event->time,
		.thread = event->thread,
		.who = who,
		.who_bytes = strlen(who),
		.has_stream = event->frees,
		.has_time = event->has_time,
		.has_thread = event->has_thread,
		.device = event->device,
		.stack = event->stack,
		.has_device = event->has_device,
	};

	return frees ? replay_build_free(build, &told) : replay_build_alloc(build, &told);
}

static bool report_before(struct history *history, struct replay_build *build)
{
	if (history->before_count == 0)
		return true;
	qsort(history->before, history->before_count, sizeof(*history->before), by_address);
	for (size_t i = 0; i < history->before_count; i++) {
		if (replay_build_alive(build, history->before[i].id) != REPLAY_NOBODY)
			history->unknown++;
		else if (!pass_on(history, build, &history->before[i], false))
			return false;
	}
	return true;
}

static bool report_events(struct history *history, struct replay_build *build, uint32_t *next)
{
	for (size_t i = 0; i < history->count; i++) {
		const struct history_event *event = &history->events[i];
		bool alive = replay_build_alive(build, event->id) != REPLAY_NOBODY;
		uint32_t then = next[i];

		if (event->place == 0)
			continue; /* the delayed free */
		if (event->frees && !alive) {
			history->unknown++;
			continue;
		}
		if (!event->frees && alive) {
			history->late++;
			if (!pass_on(history, build, event, true))
				return false;
			if (is_free(history, then) && is_free(history, next[then]))
				history->events[then].place = 0;
		}
		if (!pass_on(history, build, event, event->frees))
			return false;
	}
	return true;
}

bool history_report(struct history *history, struct replay_build *build, bool may_sort)
{
	uint32_t *next = NULL;
	bool good = false;

	if ((may_sort && !take_order(history)) || !(next = find_next(history)) ||
	    !find_older(history))
		message_error("%s: out of memory", build->trace->path);
	else
		good = report_before(history, build) && report_events(history, build, next);
	free(next);
	return good;
}
