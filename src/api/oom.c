/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.c - implements oom.h: trims other pools first, then calls the program's callbacks, in order.
 *
 *   1. The other pools on the pool's device release chunks that are entirely free, until the
 *      released bytes reach the request. If the quota has too little left, pools of the same quota
 *      do so on any device. This waits for the work of their devices only. It happens once per
 *      request, and not if the pool's own limit is the cause.
 *   2. Those of the same pools that are lazily suspended (pool/suspend.h) release their memory, the one
 *      that has waited longest first. This waits for the work of the device, and copies. If the request
 *      still fails, the next one follows.
 *   3. The first callback is called repeatedly as long as it returns true and the request fails.
 *      Then the next callback is called. A callback that frees a little at a time can be called
 *      several times, and one that returns true but frees nothing does not starve the others.
 *   4. A thread inside a callback gets no help for its own requests.
 *
 * One list serves all pools, in order of registration. It is short and used only when memory has
 * run out. References to an entry are held by the list and by each thread that is in its callback;
 * the last reference frees it. A thread that unregisters a callback waits for the other references,
 * except if it is inside a callback itself. This exception prevents deadlocks.
 *
 * Bound: MAM_OOM_TRIES calls of each callback that existed when the request first failed.
 */
#include "api/oom.h"

#include <stdlib.h>
#include <time.h>

#include <mam/stats.h>

#include "api/registry.h"
#include "api/slots.h"
#include "base/lock.h"
#include "pool/scope.h"
#include "pool/suspend.h"
#include "source/quota.h"

typedef bool oom_fn(struct mam_pool *pool, size_t bytes, void *user);

struct entry {
	struct entry *next;    /* lock: oom */
	struct mam_pool *pool; /* lock: none, set at registration: a handle; also the next three */
	oom_fn *callback;
	void *user;
	uint64_t serial;    /* counted from 1 */
	unsigned int hands; /* lock: oom; count: the list, and each thread in the callback */
};

/* Never held with another lock of mam, or across a call out of this file. */
static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_REGISTRY, "oom");
static struct entry *first;                /* lock: oom; by serial */
static uint64_t serials;                   /* lock: oom; the newest */
static _Thread_local struct entry *inside; /* thread; NULL: not in a callback */

static void let_go_locked(struct entry *entry)
{
	if (--entry->hands == 0)
		free(entry);
}

static struct entry **place_locked(const struct mam_pool *handle, oom_fn *callback,
				   const void *user)
{
	struct entry **at = &first;

	while (*at && ((*at)->pool != handle || (*at)->callback != callback || (*at)->user != user))
		at = &(*at)->next;
	return at;
}

/* A pool's state becomes ENDED first; its callbacks are removed afterwards. */
static bool is_ready(const struct mam_pool *handle)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(handle, &section);
	bool ready = pool && atomic_load(&pool->state) == MAM_POOL_READY;

	if (pool)
		mam_epoch_leave(section);
	return ready;
}

enum mam_status mam_pool_on_oom(struct mam_pool *handle, oom_fn *callback, void *user)
{
	enum mam_status status = MAM_OK;
	struct entry *entry;
	struct entry **at;

	if (!mam_slots_know(handle) || !callback)
		return MAM_ERROR_INVALID_VALUE;
	entry = malloc(sizeof(*entry));
	if (!entry)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	mam_lock_take(&lock);
	if (!is_ready(handle)) {
		status = MAM_ERROR_DESTROYED;
	} else if (*place_locked(handle, callback, user)) {
		status = MAM_ERROR_INVALID_VALUE;
	} else {
		*entry = (struct entry){ NULL, handle, callback, user, ++serials, 1 };
		for (at = &first; *at; at = &(*at)->next)
			;
		*at = entry;
	}
	mam_lock_release(&lock);
	if (status != MAM_OK)
		free(entry);
	return status;
}

/* Wait until only the caller and threads outside of callbacks hold a reference. */
static void await_others(struct entry *entry)
{
	const struct timespec a_moment = { 0, 20000 };

	mam_lock_take(&lock);
	while (entry->hands != 1) {
		mam_lock_release(&lock);
		nanosleep(&a_moment, NULL);
		mam_lock_take(&lock);
	}
	mam_lock_release(&lock);
}

enum mam_status mam_pool_off_oom(struct mam_pool *handle, oom_fn *callback, void *user)
{
	struct entry *entry;
	struct entry **at;

	if (!handle || !callback)
		return MAM_ERROR_INVALID_VALUE;
	mam_lock_take(&lock);
	at = place_locked(handle, callback, user);
	entry = *at;
	if (entry)
		*at = entry->next;
	mam_lock_release(&lock);
	if (!entry)
		return MAM_ERROR_INVALID_VALUE;
	if (!inside)
		await_others(entry);
	mam_lock_take(&lock);
	let_go_locked(entry);
	mam_lock_release(&lock);
	return MAM_OK;
}

void mam_oom_forget(const struct mam_pool *handle)
{
	struct entry **at = &first;

	mam_lock_take(&lock);
	while (*at) {
		struct entry *entry = *at;

		if (entry->pool == handle) {
			*at = entry->next;
			let_go_locked(entry);
		} else {
			at = &entry->next;
		}
	}
	mam_lock_release(&lock);
}

/* The next callback to call, with a reference for this thread; NULL: there is none left. */
static struct entry *next_in_hand(struct mam_oom_walk *walk, const struct mam_pool *handle)
{
	struct entry *entry;

	mam_lock_take(&lock);
	if (walk->until == 0)
		walk->until = serials;
	if (walk->tries >= MAM_OOM_TRIES) {
		walk->serial++;
		walk->tries = 0;
	}
	for (entry = first; entry; entry = entry->next)
		if (entry->pool == handle && entry->serial >= walk->serial)
			break;
	if (entry && entry->serial > walk->until)
		entry = NULL;
	if (entry) {
		entry->hands++;
		if (entry->serial != walk->serial)
			walk->tries = 0;
		walk->serial = entry->serial;
		walk->tries++;
	}
	mam_lock_release(&lock);
	return entry;
}

static bool callbacks_helped(struct mam_oom_walk *walk, struct mam_pool *handle, size_t bytes)
{
	struct entry *entry;
	bool helped = false;

	while (!helped && (entry = next_in_hand(walk, handle)) != NULL) {
		inside = entry;
		helped = entry->callback(handle, bytes, entry->user);
		inside = NULL;
		if (!helped)
			walk->tries = MAM_OOM_TRIES; /* continue with the next one */
		mam_lock_take(&lock);
		let_go_locked(entry);
		mam_lock_release(&lock);
	}
	return helped;
}

/* A pool that needs memory, and the device and quota that it shares with others. */
struct asker {
	struct mam_pool *handle;
	int device;                    /* -1: not on a device */
	const struct mam_quota *quota; /* only to compare; NULL: none */
	bool grows;
};

/* False: the pool ended. */
static bool describe(struct mam_pool *handle, struct asker *asker)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(handle, &section);
	const struct mam_slot *slot = (const struct mam_slot *)pool;

	if (!pool)
		return false;
	*asker = (struct asker){ handle, slot->device, slot->quota,
				 pool->config.growth_bytes != MAM_GROWTH_NONE };
	mam_epoch_leave(section);
	return true;
}

/* Whether the pool may not grow, even if other pools release memory. */
static bool may_not_grow(const struct asker *asker, size_t bytes)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	size_t limit = 0;

	if (!asker->grows || mam_pool_stats(asker->handle, &stats) != MAM_OK ||
	    mam_pool_limit(asker->handle, &limit) != MAM_OK)
		return true;
	return limit != 0 &&
	       (stats.physical_bytes >= limit || bytes > limit - stats.physical_bytes);
}

/* The source, and its quota, exist as long as the pool has not ended. */
static bool quota_refuses(const struct asker *asker, size_t bytes)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(asker->handle, &section);
	bool refuses = false;

	if (!pool)
		return false;
	mam_lock_take(&pool->grow_lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY)
		refuses = mam_limit_refuses(pool->source, bytes);
	mam_lock_release(&pool->grow_lock);
	mam_epoch_leave(section);
	return refuses;
}

static bool shares(const struct asker *asker, bool by_quota, const struct mam_registry_view *other)
{
	return (asker->device >= 0 && asker->device == other->device) ||
	       (by_quota && asker->quota == other->quota);
}

/* When the pool was lazily suspended; 0: it is not. */
static uint64_t lazy_since(struct mam_pool *handle)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(handle, &section);
	uint64_t since = 0;

	if (!pool)
		return 0;
	mam_lock_take(&pool->lock);
	if (pool->suspension && pool->suspension->spill)
		since = pool->suspension->since;
	mam_lock_release(&pool->lock);
	mam_epoch_leave(section);
	return since;
}

bool mam_oom_unpin_others(const struct mam_pool *handle)
{
	struct mam_registry_view view;
	size_t number = 0, bytes;
	bool any = false;

	while (mam_registry_next(&number, &view))
		if (view.pool != handle && mam_pool_unpin(view.pool, &bytes) == MAM_OK)
			any |= bytes != 0;
	return any;
}

/* *bytes: what was released. A resume, or another thread, may have come first. */
static enum mam_status try_spill(struct mam_pool *handle, uint64_t *bytes)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(handle, &section);
	enum mam_status status = MAM_OK;
	uint64_t before;

	*bytes = 0;
	if (!pool)
		return MAM_OK;
	mam_lock_take(&pool->grow_lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY &&
	    pool->suspension && pool->suspension->spill) {
		before = pool->counts.physical_bytes;
		status = pool->suspension->spill(pool);
		*bytes = before - pool->counts.physical_bytes;
	}
	mam_lock_release(&pool->grow_lock);
	mam_epoch_leave(section);
	return status;
}

static uint64_t spill(struct mam_pool *handle)
{
	uint64_t bytes, more;

	if (try_spill(handle, &bytes) == MAM_ERROR_OUT_OF_HOST_MEMORY &&
	    mam_oom_unpin_others(handle) && try_spill(handle, &more) == MAM_OK)
		bytes += more;
	return bytes;
}

/* The lazily suspended pool that has waited longest, of those after walk->spilled. NULL: none */
static struct mam_pool *next_lazy(struct mam_oom_walk *walk, const struct asker *asker,
				  bool by_quota)
{
	struct mam_registry_view view;
	struct mam_pool *found = NULL;
	uint64_t first_since = UINT64_MAX;
	size_t number = 0;

	while (mam_registry_next(&number, &view)) {
		uint64_t since = view.pool != asker->handle && shares(asker, by_quota, &view)
					 ? lazy_since(view.pool)
					 : 0;

		if (since > walk->spilled && since < first_since) {
			first_since = since;
			found = view.pool;
		}
	}
	if (found)
		walk->spilled = first_since;
	return found;
}

static size_t trim_others(const struct asker *asker, bool by_quota, size_t bytes)
{
	struct mam_registry_view view;
	size_t number = 0, gained = 0;

	while (gained < bytes && mam_registry_next(&number, &view)) {
		size_t released = 0;

		if (view.pool != asker->handle && shares(asker, by_quota, &view) &&
		    mam_pool_trim(view.pool, 0, &released) == MAM_OK)
			gained += released;
	}
	return gained;
}

static bool others_helped(struct mam_oom_walk *walk, struct mam_pool *handle, size_t bytes)
{
	struct mam_pool *lazy;
	struct asker asker;
	bool by_quota, helped = false;

	if (!describe(handle, &asker) || (asker.device < 0 && !asker.quota) ||
	    may_not_grow(&asker, bytes))
		return false;
	by_quota = asker.quota && quota_refuses(&asker, bytes);
	if (!walk->begun)
		helped = trim_others(&asker, by_quota, bytes) != 0;
	walk->begun = true;
	while (!helped && (lazy = next_lazy(walk, &asker, by_quota)) != NULL)
		helped = spill(lazy) != 0;
	return helped;
}

bool mam_oom_again(struct mam_oom_walk *walk, struct mam_pool *handle, size_t bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	bool helped;

	if (inside)
		return false;
	helped = others_helped(walk, handle, bytes);
	if (!helped)
		helped = callbacks_helped(walk, handle, bytes);
	pool = helped ? mam_handle_enter(handle, &section) : NULL;
	if (pool) {
		mam_scope_unfail(pool);
		mam_epoch_leave(section);
	}
	return helped;
}

void mam_oom_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_oom_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

/* Of the threads that were in callbacks, only this one exists in the child. */
void mam_oom_fork_child(void)
{
	for (struct entry *entry = first; entry; entry = entry->next)
		entry->hands = entry == inside ? 2 : 1;
	mam_lock_reinit(&lock);
}
