/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - see ledger.h.
 */
#include "interpose/watch/ledger.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS_FIRST 256 /* of a shard */
#define SPINS 200       /* before the thread yields the processor */

/* Handles and arrays are not device addresses; the driver may return equal numbers for them. */
enum space { ADDRESS, PHYSICAL, ARRAY, MIPMAP };

static enum space space_of(enum mam_table_id function)
{
	switch (function) {
	case MAM_TABLE_cuMemCreate:
	case MAM_TABLE_cuMemRelease: return PHYSICAL;
	case MAM_TABLE_cuArrayCreate_v2:
	case MAM_TABLE_cuArray3DCreate_v2:
	case MAM_TABLE_cuArrayDestroy: return ARRAY;
	case MAM_TABLE_cuMipmappedArrayCreate:
	case MAM_TABLE_cuMipmappedArrayDestroy: return MIPMAP;
	default: return ADDRESS;
	}
}

/* Addresses have fewer than 57 bits. */
uint64_t mam_ledger_key(enum mam_table_id function, const void *block)
{
	return (uint64_t)(uintptr_t)block ^ (uint64_t)space_of(function) << 60;
}

static uint64_t hash(uint64_t key)
{
	key ^= key >> 32;
	return key * 0x9e3779b97f4a7c15u;
}

static struct mam_ledger_shard *shard_of(struct mam_ledger *ledger, uint64_t hashed)
{
	return &ledger->shards[hashed >> 58];
}

static size_t home_of(const struct mam_ledger_shard *shard, uint64_t key)
{
	return (size_t)(hash(key) >> 20) & (shard->slots_count - 1);
}

static void lock(struct mam_ledger_shard *shard)
{
	for (int spin = 0; atomic_exchange_explicit(&shard->lock, 1, memory_order_acquire) != 0;
	     spin++)
		if (spin >= SPINS)
			sched_yield();
}

static void unlock(struct mam_ledger_shard *shard)
{
	atomic_store_explicit(&shard->lock, 0, memory_order_release);
}

/* lock: shard; returns the slot of a key, or the empty one where it belongs */
static size_t find(const struct mam_ledger_shard *shard, uint64_t key)
{
	size_t at = home_of(shard, key);

	while (shard->slots[at].key != 0 && shard->slots[at].key != key)
		at = (at + 1) & (shard->slots_count - 1);
	return at;
}

/* lock: shard */
static bool grow(struct mam_ledger_shard *shard)
{
	size_t count = shard->slots_count == 0 ? SLOTS_FIRST : shard->slots_count * 2;
	struct mam_ledger_shard larger = { .slots_count = count };

	larger.slots = mmap(NULL, count * sizeof(*larger.slots), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (larger.slots == MAP_FAILED)
		return false;
	for (size_t i = 0; i < shard->slots_count; i++)
		if (shard->slots[i].key != 0)
			larger.slots[find(&larger, shard->slots[i].key)] = shard->slots[i];
	if (shard->slots_count != 0)
		munmap(shard->slots, shard->slots_count * sizeof(*shard->slots));
	shard->slots = larger.slots;
	shard->slots_count = count;
	return true;
}

/* lock: shard; empties a slot and closes the gap in its run */
static void remove_at(struct mam_ledger_shard *shard, size_t gap)
{
	size_t mask = shard->slots_count - 1;

	for (size_t at = (gap + 1) & mask; shard->slots[at].key != 0; at = (at + 1) & mask) {
		size_t home = home_of(shard, shard->slots[at].key);

		if (((at - home) & mask) < ((at - gap) & mask))
			continue; /* its home is after the gap, so it must not move there */
		shard->slots[gap] = shard->slots[at];
		gap = at;
	}
	shard->slots[gap].key = 0;
	shard->used--;
}

/* lock: shard; returns whether one more entry fits */
static bool has_room(struct mam_ledger_shard *shard)
{
	return ((size_t)shard->used + 1) * 3 <= shard->slots_count * 2 || grow(shard) ||
	       (size_t)shard->used + 1 < shard->slots_count;
}

bool mam_ledger_put(struct mam_ledger *ledger, const struct mam_ledger_entry *entry,
		    struct mam_ledger_entry *old)
{
	struct mam_ledger_shard *shard = shard_of(ledger, hash(entry->key));
	bool fits;
	size_t at;

	lock(shard);
	old->key = 0;
	fits = has_room(shard);
	if (fits) {
		at = find(shard, entry->key);
		*old = shard->slots[at];
		if (old->key != 0) {
			remove_at(shard, at);
		} else {
			shard->slots[at] = *entry;
			shard->used++;
		}
	}
	unlock(shard);
	return fits;
}

bool mam_ledger_add(struct mam_ledger *ledger, const struct mam_ledger_entry *entry)
{
	struct mam_ledger_shard *shard = shard_of(ledger, hash(entry->key));
	bool fits;
	size_t at;

	lock(shard);
	fits = has_room(shard);
	if (fits) {
		at = find(shard, entry->key);
		fits = shard->slots[at].key == 0;
		if (fits) {
			shard->slots[at] = *entry;
			shard->used++;
		}
	}
	unlock(shard);
	return fits;
}

bool mam_ledger_take_same(struct mam_ledger *ledger, const struct mam_ledger_entry *entry)
{
	struct mam_ledger_shard *shard = shard_of(ledger, hash(entry->key));
	bool found = false;
	size_t at;

	lock(shard);
	if (shard->used != 0) {
		at = find(shard, entry->key);
		found = shard->slots[at].key == entry->key && shard->slots[at].id == entry->id;
		if (found)
			remove_at(shard, at);
	}
	unlock(shard);
	return found;
}

static bool look_up(struct mam_ledger *ledger, uint64_t key, struct mam_ledger_entry *entry,
		    bool takes)
{
	struct mam_ledger_shard *shard = shard_of(ledger, hash(key));
	bool found = false;
	size_t at;

	lock(shard);
	if (shard->used != 0) {
		at = find(shard, key);
		found = shard->slots[at].key == key;
		if (found)
			*entry = shard->slots[at];
		if (found && takes)
			remove_at(shard, at);
	}
	unlock(shard);
	return found;
}

bool mam_ledger_find(struct mam_ledger *ledger, uint64_t key, struct mam_ledger_entry *entry)
{
	return look_up(ledger, key, entry, false);
}

bool mam_ledger_take(struct mam_ledger *ledger, uint64_t key, struct mam_ledger_entry *entry)
{
	return look_up(ledger, key, entry, true);
}

/*
 * lock: shard; removes one entry of the context at or after *at; earlier removals may have moved it
 */
static bool take_one(struct mam_ledger_shard *shard, const void *context, size_t *at,
		     struct mam_ledger_entry *entry)
{
	for (; *at < shard->slots_count; ++*at) {
		if (shard->slots[*at].key == 0 || shard->slots[*at].context != context)
			continue;
		*entry = shard->slots[*at];
		remove_at(shard, *at);
		return true;
	}
	return false;
}

/*
 * An entry that closes a gap comes from a later slot or, around the end of the table, from its
 * start, which was already visited and has no entries of the context. So one pass finds all
 * entries, except those that other threads add in the meantime, which belong to a new context.
 */
void mam_ledger_take_context(struct mam_ledger *ledger, const void *context,
			     void (*gone)(const struct mam_ledger_entry *entry))
{
	for (int i = 0; i < MAM_LEDGER_SHARDS; i++) {
		struct mam_ledger_shard *shard = &ledger->shards[i];
		struct mam_ledger_entry entry;
		bool found = true;

		for (size_t at = 0; found;) {
			lock(shard);
			found = take_one(shard, context, &at, &entry);
			unlock(shard);
			if (found && gone != NULL)
				gone(&entry);
		}
	}
}

void mam_ledger_visit(struct mam_ledger *ledger,
		      bool (*visit)(const struct mam_ledger_entry *entry, void *user), void *user)
{
	bool more = true;

	for (int i = 0; i < MAM_LEDGER_SHARDS && more; i++) {
		struct mam_ledger_shard *shard = &ledger->shards[i];

		lock(shard);
		for (size_t at = 0; at < shard->slots_count && more; at++)
			if (shard->slots[at].key != 0)
				more = visit(&shard->slots[at], user);
		unlock(shard);
	}
}

size_t mam_ledger_copy(struct mam_ledger *ledger, struct mam_ledger_entry *entries, size_t room)
{
	size_t count = 0;

	for (int i = 0; i < MAM_LEDGER_SHARDS; i++) {
		struct mam_ledger_shard *shard = &ledger->shards[i];

		lock(shard);
		for (size_t at = 0; at < shard->slots_count; at++) {
			if (shard->slots[at].key == 0)
				continue;
			if (count < room)
				entries[count] = shard->slots[at];
			count++;
		}
		unlock(shard);
	}
	return count;
}

void mam_ledger_clear(struct mam_ledger *ledger)
{
	for (int i = 0; i < MAM_LEDGER_SHARDS; i++) {
		struct mam_ledger_shard *shard = &ledger->shards[i];

		lock(shard);
		if (shard->slots_count != 0)
			munmap(shard->slots, shard->slots_count * sizeof(*shard->slots));
		shard->slots = NULL;
		shard->slots_count = 0;
		shard->used = 0;
		unlock(shard);
	}
}

void mam_ledger_restart(struct mam_ledger *ledger)
{
	for (int i = 0; i < MAM_LEDGER_SHARDS; i++) {
		struct mam_ledger_shard *shard = &ledger->shards[i];

		/*
		 * A table that was being replaced at the fork may be incomplete, and is not freed.
		 */
		if (atomic_load(&shard->lock) == 0 && shard->slots_count != 0)
			munmap(shard->slots, shard->slots_count * sizeof(*shard->slots));
		memset(shard, 0, sizeof(*shard));
	}
}
