/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_sync.c - heads of release sequences, and what lanes acquire from them.
 *
 * A clock is always passed on as a whole, and an epoch ends right after; so a lane that knows epoch
 * e of another lane knows everything in the clock passed on then. One comparison thus finds whether
 * the heads of a lane are already known: a lane that spins on a flag does not join its clock each
 * time.
 */
#include "simt/race/race_sync.h"

void race_sync_tick(struct race_lane *lane, uint32_t id)
{
	lane->now.at[id]++;
}

static bool knows(const struct race_clock *clock, const struct race_head *head)
{
	return clock->set && head->lane != RACE_NO_LANE &&
	       race_clock_of(clock, head->lane) >= head->epoch;
}

static struct race_head *head_find(struct race_memory *memory, struct race_head **heads,
				   enum simt_scope scope, uint32_t group)
{
	struct race_head *head, *spare = NULL;

	for (head = *heads; head; head = head->next) {
		if (head->clock.set && head->scope == scope && head->group == group)
			return head;
		if (!head->clock.set)
			spare = head;
	}
	head = spare;
	if (!head) {
		head = race_memory_take(memory, sizeof(*head));
		if (!head)
			return NULL;
		head->next = *heads;
		*heads = head;
	}
	head->scope = scope;
	head->group = group;
	return head;
}

/*
 * `clock` of lane `id`, whose own entry there is the epoch that it ends, becomes a head or part of
 * one.
 */
static bool head_add(struct race_memory *memory, struct race_head **heads, enum simt_scope scope,
		     uint32_t group, uint32_t id, const struct race_clock *clock)
{
	struct race_head *head = head_find(memory, heads, scope, group);

	if (!head)
		return false;
	if (head->clock.set && race_clock_of(&head->clock, id) >= race_clock_of(clock, id))
		return true;
	if (!head->clock.set || knows(clock, head)) {
		head->lane = id;
		head->epoch = race_clock_of(clock, id);
		return race_clock_copy(memory, &head->clock, clock);
	}
	head->lane = RACE_NO_LANE;
	return race_clock_join(memory, &head->clock, clock);
}

static void heads_drop(struct race_head *heads)
{
	for (; heads; heads = heads->next)
		heads->clock.set = false;
}

static void miss(struct race_lane *lane, const struct race_sync *sync, const struct race_side *read,
		 enum race_miss_why why)
{
	struct race_miss *slot = &lane->misses[lane->next_miss++ % RACE_MISSES];

	slot->why = why;
	slot->lane = sync->lane;
	slot->epoch = sync->epoch;
	slot->write = sync->write;
	slot->read = *read;
}

bool race_sync_read(struct race_memory *memory, struct race_lane *lanes, uint32_t id,
		    const struct race_sync *sync, const struct race_side *read)
{
	struct race_lane *lane = &lanes[id];
	enum race_miss_why why = RACE_WRITE_RELAXED;
	bool good = true;

	if (!sync->written)
		return true;
	if (!race_covers(sync->write.scope, lanes[sync->lane].group, read->scope, lane->group)) {
		miss(lane, sync, read, RACE_SCOPE);
		return true;
	}
	for (const struct race_head *head = sync->heads; head; head = head->next) {
		enum simt_scope need;

		if (!head->clock.set)
			continue;
		need = race_need(head->group, lane->group);
		if (head->scope < need) {
			why = RACE_SCOPE;
			continue;
		}
		if (race_acquires(read->order) && read->scope >= need) {
			why = RACE_NO_MISS;
			if (!knows(&lane->now, head))
				good = race_clock_join(memory, &lane->now, &head->clock) && good;
			continue;
		}
		if (why != RACE_NO_MISS)
			why = race_acquires(read->order) ? RACE_SCOPE : RACE_READ_RELAXED;
		if (!knows(&lane->now, head) && !knows(&lane->seen[need], head))
			good = race_clock_join(memory, &lane->seen[need], &head->clock) && good;
	}
	if (why != RACE_NO_MISS && sync->lane != id)
		miss(lane, sync, read, why);
	return good;
}

bool race_sync_write(struct race_memory *memory, struct race_lane *lanes, uint32_t id,
		     struct race_sync *sync, const struct race_side *write, bool rmw)
{
	const struct race_lane *lane = &lanes[id];
	bool releases = race_releases(write->order);
	bool good = true;

	if (!rmw || !sync->written ||
	    !race_covers(sync->write.scope, lanes[sync->lane].group, write->scope, lane->group))
		heads_drop(sync->heads);
	if (releases)
		good = head_add(memory, &sync->heads, write->scope, lane->group, id, &lane->now);
	for (enum simt_scope scope = MAM_AT_BLOCK; scope < RACE_SCOPES; scope++) {
		if (!lane->released[scope].set || (releases && scope <= write->scope))
			continue;
		good = head_add(memory, &sync->heads, scope, lane->group, id,
				&lane->released[scope]) &&
		       good;
	}
	sync->written = true;
	sync->lane = id;
	sync->epoch = lane->now.at[id];
	sync->write = *write;
	return good;
}

bool race_sync_copy(struct race_memory *memory, struct race_sync *to, const struct race_sync *from)
{
	heads_drop(to->heads);
	for (const struct race_head *head = from->heads; head; head = head->next) {
		struct race_head *copy;

		if (!head->clock.set)
			continue;
		copy = head_find(memory, &to->heads, head->scope, head->group);
		if (!copy || !race_clock_copy(memory, &copy->clock, &head->clock))
			return false;
		copy->lane = head->lane;
		copy->epoch = head->epoch;
	}
	to->written = from->written;
	to->lane = from->lane;
	to->epoch = from->epoch;
	to->write = from->write;
	return true;
}

void race_sync_break(struct race_sync *sync)
{
	heads_drop(sync->heads);
	sync->past = NULL;
	sync->written = false;
}

static bool fence_acquire(struct race_memory *memory, struct race_lane *lane,
			  enum simt_scope widest)
{
	bool good = true;

	for (enum simt_scope scope = MAM_AT_BLOCK; scope <= widest; scope++) {
		if (!lane->seen[scope].set)
			continue;
		good = race_clock_join(memory, &lane->now, &lane->seen[scope]) && good;
		lane->seen[scope].set = false;
	}
	return good;
}

/* A fence that is at least as wide replaces earlier ones: its clock includes theirs. */
static bool fence_release(struct race_memory *memory, struct race_lane *lane,
			  enum simt_scope widest)
{
	for (enum simt_scope scope = MAM_AT_BLOCK; scope < widest; scope++)
		lane->released[scope].set = false;
	return race_clock_copy(memory, &lane->released[widest], &lane->now);
}

bool race_sync_fence(struct race_memory *memory, struct race_lane *lanes, uint32_t id,
		     struct race_head **fences, enum simt_order order, enum simt_scope scope)
{
	struct race_lane *lane = &lanes[id];
	bool good = true;

	if (race_acquires(order))
		good = fence_acquire(memory, lane, scope);
	if (order == MAM_SEQ_CST) {
		for (const struct race_head *head = *fences; head; head = head->next)
			if (head->clock.set && !knows(&lane->now, head) &&
			    race_covers(head->scope, head->group, scope, lane->group))
				good = race_clock_join(memory, &lane->now, &head->clock) && good;
		good = head_add(memory, fences, scope, lane->group, id, &lane->now) && good;
	}
	if (race_releases(order)) {
		good = fence_release(memory, lane, scope) && good;
		race_sync_tick(lane, id);
	}
	return good;
}
