/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - creates pools, destroys them, and finds them again (registry.h).
 *
 * To create a pool:
 *  1. read the attributes (attr.h), create or check the source;
 *  2. take a slot (slots.h): from now on its address is a handle;
 *  3. let the pool allocate its first chunk, without the registry's lock: that may take a driver a
 *     fifth of a second;
 *  4. add it to the list.
 * Destruction is the reverse. The slot is reused once no call uses it any more.
 *
 * The first of the threads that find no default pool creates it, under the registry's lock. Threads
 * wait for each other only here. There is one default pool per context that requested one, and one
 * for all with the source "host". A thread remembers those that it used, and takes the lock for
 * others.
 *
 * No call reports that a context was destroyed or reset. Its pool is not found again, because the
 * id of the context is not (context.h), and is abandoned before the next default pool is created.
 *
 * Invariants: a pool is on the list from before its handle is known to a caller until it ends; a
 * default pool is on the list or is about to be forgotten.
 */
#include "api/registry.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/attr.h"
#include "api/context.h"
#include "api/init.h"
#include "api/oom.h"
#include "api/slots.h"
#include "base/event.h"
#include "base/lock.h"
#include "cache/cache.h"
#include "pool/pool.h"
#include "redzone/redzone.h"
#include "source/device.h"
#include "source/quota.h"
#include "source/source.h"
#include "stream/stream.h"

/* So many default pools a thread remembers. A power of two. */
#define KNOWN 4u

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_REGISTRY, "registry");
static struct mam_slot *oldest, *newest;        /* lock: registry */
static _Atomic uint64_t pools_made;             /* atomic; count */
static _Atomic(struct mam_pool *) host_default; /* atomic; set under lock: registry */
static struct mam_slot *defaults;               /* lock: registry; of contexts */
static _Atomic bool any_default;                /* atomic; one was made, once */
static const char *first_source;                /* lock: registry; of the first one that was made */

/* A default pool that the thread used; the pool is a handle. */
struct known {
	struct mam_context context;
	struct mam_pool *pool;
};

static _Thread_local struct known known[KNOWN] __attribute__((tls_model("initial-exec")));

/* From here on, a fork stops all threads that use the pool, so its counts can be shown. */
static void link_locked(struct mam_slot *slot)
{
	mam_pool_show(&slot->pool, slot->source, slot->device);
	slot->previous = newest;
	slot->next = NULL;
	*(newest ? &newest->next : &oldest) = slot;
	newest = slot;
}

static void unlink_locked(struct mam_slot *slot)
{
	*(slot->next ? &slot->next->previous : &newest) = slot->previous;
	*(slot->previous ? &slot->previous->next : &oldest) = slot->next;
	slot->next = slot->previous = NULL;
}

/*
 * Step 3. A pool without a name is named by its number among all pools ever created. On failure an
 * owned source is destroyed, as in mam_pool_init().
 */
static enum mam_status fill(struct mam_slot *slot, struct mam_source *source, bool owns_source,
			    const struct mam_pool_attr *attr)
{
	struct mam_pool_config config;
	struct mam_streams *streams;
	enum mam_status status;

	mam_attr_config(attr, &config);
	/* Only if chunks have this alignment too. */
	if (source->properties.alignment >= MAM_POOL_LARGE_ALIGNMENT)
		config.large_alignment = MAM_POOL_LARGE_ALIGNMENT;
	if (config.name[0] == '\0')
		snprintf(config.name, sizeof(config.name), "pool %" PRIu64,
			 atomic_fetch_add_explicit(&pools_made, 1, memory_order_relaxed));
	slot->survives_fork = source->properties.survives_fork;
	slot->device = source->properties.device;
	slot->quota = attr->quota;
	snprintf(slot->source, sizeof(slot->source), "%s",
		 source->properties.name ? source->properties.name : "");
	if (mam_redzone_is_wanted(slot->device) && source->ops->quiesce)
		config.free_policy = MAM_FREE_STRICT;
	status = mam_streams_attach(&slot->pool, source);
	if (status != MAM_OK) {
		if (owns_source)
			mam_source_destroy(source);
		return status;
	}
	streams = slot->pool.stream;
	status = mam_pool_init(&slot->pool, source, owns_source, &config);
	if (status != MAM_OK)
		mam_streams_detach(&slot->pool, streams);
	else if (mam_redzone_is_wanted(slot->device))
		mam_redzone_open(&slot->pool);
	else if (attr->cache != MAM_CACHE_OFF)
		mam_cache_open(&slot->pool, mam_slots_number(&slot->pool));
	if (status == MAM_OK)
		mam_event_emit(MAM_EVENT_POOL_CREATE, &slot->pool, NULL, 0);
	return status;
}

/* Wrap the source of a pool that joins a quota in one that charges the quota. */
static enum mam_status join_quota(const struct mam_pool_attr *attr, struct mam_source **source,
				  bool *owns_source)
{
	enum mam_status status = MAM_OK;

	if (attr->quota)
		status = mam_limit_share(*source, *owns_source, attr->quota, source);
	if (status != MAM_OK && *owns_source)
		mam_source_destroy(*source);
	if (attr->quota)
		*owns_source = true;
	return status;
}

static enum mam_status make(struct mam_source *source, bool owns_source,
			    const struct mam_pool_attr *attr, struct mam_pool **pool)
{
	enum mam_status status = join_quota(attr, &source, &owns_source);
	struct mam_slot *slot;

	if (status != MAM_OK)
		return status;
	mam_lock_take(&lock);
	slot = mam_slots_take();
	mam_lock_release(&lock);
	if (!slot) {
		if (owns_source)
			mam_source_destroy(source);
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	}
	status = fill(slot, source, owns_source, attr);
	mam_lock_take(&lock);
	if (status == MAM_OK)
		link_locked(slot);
	else
		mam_slots_put_back(slot);
	mam_lock_release(&lock);
	if (status == MAM_OK)
		*pool = mam_handle_of(&slot->pool);
	return status;
}

enum mam_status mam_pool_create_on(struct mam_source *source, const struct mam_pool_attr *attr,
				   struct mam_pool **pool)
{
	struct mam_pool_attr whole;
	enum mam_status status = mam_attr_read(attr, &whole);

	if (status != MAM_OK)
		return status;
	if (!pool || !mam_source_is_usable(source))
		return MAM_ERROR_INVALID_VALUE;
	mam_init();
	return make(source, false, &whole, pool);
}

/* Create the source that an attr names, on its device. */
static enum mam_status source_of(const struct mam_pool_attr *attr, struct mam_source **source)
{
	return mam_source_create(attr->source ? attr->source : "cudamalloc", attr->device, source);
}

enum mam_status mam_pool_create(const struct mam_pool_attr *attr, struct mam_pool **pool)
{
	struct mam_pool_attr whole;
	struct mam_source *source;
	enum mam_status status = mam_attr_read(attr, &whole);

	if (status == MAM_OK && !pool)
		status = MAM_ERROR_INVALID_VALUE;
	if (status == MAM_OK)
		status = source_of(&whole, &source);
	if (status != MAM_OK)
		return status;
	mam_init();
	return make(source, true, &whole, pool);
}

/*
 * The pool accepts no more calls: remove it from the list, and let the next use of a default pool
 * create a new one. From now on its handle is that of an ended pool.
 */
static void ended(struct mam_pool *pool)
{
	const struct mam_pool *handle = mam_handle_of(pool);

	mam_registry_forget(handle);
	mam_oom_forget(handle);
	mam_event_emit(MAM_EVENT_POOL_DESTROY, pool, NULL, 0);
	mam_lock_take(&lock);
	unlink_locked((struct mam_slot *)pool);
	mam_slots_retire((struct mam_slot *)pool);
	mam_lock_release(&lock);
}

/* Whether all live blocks are cached: another thread freed some since the caches were drained. */
static bool is_only_cached(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	return mam_pool_stats(mam_handle_of(pool), &stats) == MAM_OK && stats.live_blocks == 0 &&
	       stats.cached_blocks != 0;
}

static enum mam_status destroy(struct mam_pool *pool)
{
	enum mam_status status;

	do {
		(void)mam_cache_drain(pool);
		if (pool->redzone)
			(void)mam_redzone_flush(pool);
		status = mam_pool_fini(pool);
	} while (status == MAM_ERROR_LIVE_BLOCKS && is_only_cached(pool));
	if (status == MAM_OK) {
		mam_cache_close(pool);
		ended(pool);
	}
	return status;
}

enum mam_status mam_pool_destroy(struct mam_pool *handle)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_slots_enter(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	status = destroy(pool);
	mam_epoch_leave(section);
	return status;
}

/*
 * The memory of an abandoned pool is gone: its quota no longer counts it. A pool with a quota owns its
 * source until it is destroyed; a fork may find it so, still on the list.
 */
static void lost(struct mam_pool *pool)
{
	if (((struct mam_slot *)pool)->quota && pool->owns_source)
		mam_limit_lost(pool->source);
}

enum mam_status mam_pool_abandon(struct mam_pool *handle)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_slots_enter(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	mam_cache_close(pool);
	status = mam_pool_drop(pool);
	if (status == MAM_OK) {
		if (pool->redzone)
			mam_redzone_drop(pool);
		lost(pool);
		ended(pool);
	}
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_registry_bind(const struct mam_pool *handle, struct mam_context *context)
{
	struct mam_slot *slot = (struct mam_slot *)mam_handle_storage(handle);
	enum mam_status status;
	bool retained;

	if (slot->survives_fork) {
		*context = (struct mam_context){ 0 };
		return MAM_OK;
	}
	/* The source keeps the primary context that it made. */
	status = mam_context_retain(context, &retained);
	if (status != MAM_OK)
		return status;
	mam_lock_take(&lock);
	if (mam_handle_is(handle, &slot->pool))
		slot->context = *context;
	mam_lock_release(&lock);
	mam_context_release(context, retained);
	return MAM_OK;
}

enum mam_status mam_registry_select_source(const char *source)
{
	enum mam_status status = MAM_OK;

	mam_lock_take(&lock);
	if (!first_source)
		status = mam_attr_select_source(source);
	else if (source && strcmp(source, first_source) != 0)
		status = MAM_ERROR_UNSUPPORTED;
	mam_lock_release(&lock);
	return status;
}

/* The pool of a handle may be used. It may end a moment later: calls then return DESTROYED. */
static bool is_ready(const struct mam_pool *handle)
{
	const struct mam_pool *pool = mam_handle_storage(handle);

	return mam_handle_is(handle, pool) &&
	       atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

static bool is_same(const struct mam_context *one, const struct mam_context *other)
{
	return one->handle == other->handle && one->id == other->id;
}

static struct known *place_of(const struct mam_context *context)
{
	uintptr_t bits = (uintptr_t)context->handle;

	return &known[(bits >> 4 ^ bits >> 9 ^ bits >> 14) % KNOWN];
}

static struct mam_pool *find_default_locked(const struct mam_context *context)
{
	for (struct mam_slot *slot = defaults; slot; slot = slot->next_default)
		if (is_same(&slot->context, context) && is_ready(mam_handle_of(&slot->pool)))
			return mam_handle_of(&slot->pool);
	return NULL;
}

/* NULL: there is none yet. */
static struct mam_pool *find_default(const struct mam_context *context)
{
	struct known *place = place_of(context);
	struct mam_pool *found = NULL;

	if (!context->handle)
		return NULL;
	if (place->pool && is_same(&place->context, context) && is_ready(place->pool))
		return place->pool;
	mam_lock_take(&lock);
	found = find_default_locked(context);
	mam_lock_release(&lock);
	if (found)
		*place = (struct known){ *context, found };
	return found;
}

static void forget_locked(const struct mam_slot *slot)
{
	for (struct mam_slot **at = &defaults; *at; at = &(*at)->next_default) {
		if (*at == slot) {
			*at = slot->next_default;
			return;
		}
	}
}

void mam_registry_abandon(struct mam_pool *handle)
{
	struct mam_section section;
	struct mam_pool *pool;

	if (mam_slots_enter(handle, &pool, &section) != MAM_OK)
		return;
	/* No thread grows or trims a pool that has ended. In this section its storage is not reused. */
	if (mam_pool_abandon(handle) == MAM_OK && pool->owns_source)
		mam_source_free_mapped(pool->source);
	mam_epoch_leave(section);
}

void mam_registry_abandon_ended(void)
{
	struct mam_pool *handle;

	do {
		handle = NULL;
		mam_lock_take(&lock);
		for (struct mam_slot *slot = defaults; slot && !handle; slot = slot->next_default)
			if (mam_context_has_ended(&slot->context)) {
				handle = mam_handle_of(&slot->pool);
				forget_locked(slot);
			}
		mam_lock_release(&lock);
		if (handle)
			mam_registry_abandon(handle);
	} while (handle);
}

/* `name`, `device` and `source` are set in `attr` already. The pool is on no list of defaults yet. */
static enum mam_status make_default_locked(struct mam_pool_attr *attr, struct mam_slot **made)
{
	struct mam_slot *slot = mam_slots_take();
	struct mam_source *source;
	enum mam_status status;

	if (!slot)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = source_of(attr, &source);
	if (status == MAM_OK)
		status = fill(slot, source, true, attr);
	if (status != MAM_OK) {
		mam_slots_put_back(slot);
		return status;
	}
	link_locked(slot);
	if (!first_source)
		first_source = attr->source;
	atomic_store_explicit(&any_default, true, memory_order_relaxed);
	*made = slot;
	return MAM_OK;
}

static enum mam_status make_in_locked(struct mam_context *context, struct mam_pool **pool)
{
	struct mam_pool_attr attr;
	struct mam_slot *slot;
	enum mam_status status;
	char name[32];
	bool retained;

	status = mam_context_retain(context, &retained);
	if (status == MAM_ERROR_NO_DEVICE)
		mam_device_report_none();
	if (status != MAM_OK)
		return status;
	*pool = find_default_locked(context);
	if (!*pool) {
		mam_attr_environment(&attr);
		if (mam_context_is_primary(context))
			snprintf(name, sizeof(name), "default (device %d)", context->device);
		else
			snprintf(name, sizeof(name), "default (context %llu)", context->id);
		attr.name = name;
		attr.device = context->device;
		attr.source = mam_attr_source(context->device);
		status = make_default_locked(&attr, &slot);
	}
	if (!*pool && status == MAM_OK) {
		slot->context = *context;
		slot->next_default = defaults;
		defaults = slot;
		*pool = mam_handle_of(&slot->pool);
	}
	mam_context_release(context, retained);
	return status;
}

static enum mam_status default_in_context(int device, struct mam_pool **pool)
{
	struct mam_context context;
	enum mam_status status = mam_context_find(device, &context);

	if (status != MAM_OK)
		return status;
	*pool = find_default(&context);
	if (*pool)
		return MAM_OK;
	mam_init();
	mam_registry_abandon_ended();
	mam_lock_take(&lock);
	status = make_in_locked(&context, pool);
	mam_lock_release(&lock);
	if (status == MAM_OK)
		*place_of(&context) = (struct known){ context, *pool };
	return status;
}

static enum mam_status default_on_host(struct mam_pool **pool)
{
	struct mam_pool *made = atomic_load_explicit(&host_default, memory_order_acquire);
	enum mam_status status = MAM_OK;
	struct mam_pool_attr attr;
	struct mam_slot *slot;

	if (!made) {
		mam_init();
		mam_lock_take(&lock);
		made = atomic_load_explicit(&host_default, memory_order_relaxed);
		if (!made) {
			mam_attr_environment(&attr);
			attr.name = "default (host)";
			attr.source = "host";
			status = make_default_locked(&attr, &slot);
		}
		if (!made && status == MAM_OK) {
			made = mam_handle_of(&slot->pool);
			atomic_store_explicit(&host_default, made, memory_order_release);
		}
		mam_lock_release(&lock);
	}
	*pool = made;
	return status;
}

enum mam_status mam_pool_default(int device, struct mam_pool **pool)
{
	struct mam_pool *found;
	enum mam_status status;

	if (!pool || device < MAM_DEVICE_CURRENT)
		return MAM_ERROR_INVALID_VALUE;
	status = mam_attr_source_is_host() ? default_on_host(&found)
					   : default_in_context(device, &found);
	if (status == MAM_OK)
		*pool = found;
	return status;
}

static void forget_host(const struct mam_pool *handle)
{
	struct mam_pool *expected = (struct mam_pool *)handle;

	atomic_compare_exchange_strong(&host_default, &expected, NULL);
}

void mam_registry_forget(const struct mam_pool *handle)
{
	const struct mam_pool *pool = mam_handle_storage(handle);

	forget_host(handle);
	mam_lock_take(&lock);
	if (mam_handle_is(handle, pool))
		forget_locked((const struct mam_slot *)pool);
	mam_lock_release(&lock);
}

/*
 * The default pool that NULL means now, if it exists already. A program without one does not need a
 * GPU here.
 */
static struct mam_pool *current_default(void)
{
	struct mam_context context;

	if (!atomic_load_explicit(&any_default, memory_order_relaxed))
		return NULL;
	if (mam_attr_source_is_host())
		return atomic_load_explicit(&host_default, memory_order_acquire);
	if (mam_context_find(MAM_DEVICE_CURRENT, &context) != MAM_OK)
		return NULL;
	return find_default(&context);
}

/* Its memory is gone, and another pool may have got the address. lock: registry */
static bool has_ended(const struct mam_slot *slot)
{
	return slot->context.handle && mam_context_has_ended(&slot->context);
}

enum mam_status mam_registry_find(const void *address, struct mam_pool **pool,
				  struct mam_segment_info *segment)
{
	struct mam_pool *handle = current_default();
	struct mam_pool *owner = handle ? mam_handle_storage(handle) : NULL;
	struct mam_slot *slot;

	if (!owner || !mam_handle_is(handle, owner) ||
	    mam_pool_find(owner, address, segment) != MAM_OK) {
		mam_lock_take(&lock);
		slot = oldest;
		while (slot &&
		       (mam_pool_find(&slot->pool, address, segment) != MAM_OK || has_ended(slot)))
			slot = slot->next;
		owner = slot ? &slot->pool : NULL;
		mam_lock_release(&lock);
	}
	if (!owner)
		return MAM_ERROR_NOT_OWNED;
	*pool = owner;
	return MAM_OK;
}

struct mam_pool *mam_registry_owner(const void *block, size_t *bytes)
{
	struct mam_pool *pool;
	uint64_t number;

	if (!mam_cache_number_of(block, &number, bytes))
		return NULL;
	/* Remains of an ended pool do not identify the current owner of the address. */
	pool = mam_slots_at(number);
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY ? pool
											  : NULL;
}

/*
 * In the order of locks: grow, the cache's and its threads, pool. A grow lock may be held by a
 * thread that waits for a kernel, and the kernel may wait for a thread that needs the other locks
 * (pool/prompt.c). So the grow locks of all pools come first.
 */
void mam_registry_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
	for (struct mam_slot *slot = oldest; slot; slot = slot->next)
		mam_lock_take_for_fork(&slot->pool.grow_lock);
	for (struct mam_slot *slot = oldest; slot; slot = slot->next) {
		mam_cache_fork_prepare(&slot->pool);
		mam_lock_take_for_fork(&slot->pool.lock);
	}
	mam_caches_fork_prepare();
	mam_epoch_fork_prepare();
}

void mam_registry_fork_parent(void)
{
	mam_epoch_fork_parent();
	mam_caches_fork_parent();
	for (struct mam_slot *slot = newest; slot; slot = slot->previous) {
		mam_pool_fork_parent(&slot->pool);
		mam_cache_fork_parent(&slot->pool);
	}
	mam_lock_release_for_fork(&lock);
}

void mam_registry_fork_child(void)
{
	struct mam_slot *next;

	mam_epoch_fork_child();
	mam_caches_fork_child();
	for (struct mam_slot *slot = oldest; slot; slot = next) {
		next = slot->next;
		mam_pool_fork_child(&slot->pool);
		mam_cache_fork_child(&slot->pool);
		if (slot->pool.redzone)
			mam_redzone_drop(&slot->pool);
		if (!slot->survives_fork) {
			lost(&slot->pool);
			forget_host(mam_handle_of(&slot->pool));
			forget_locked(slot);
			unlink_locked(slot); /* and never reused: its tags are still there */
		}
	}
	mam_lock_reinit(&lock);
}

static bool is_listed(const struct mam_slot *slot)
{
	return slot->previous || slot->next || slot == oldest;
}

bool mam_registry_next(size_t *number, struct mam_registry_view *view)
{
	bool found = false;

	mam_lock_take(&lock);
	for (struct mam_slot *slot; !found && (slot = mam_slots_numbered(*number)) != NULL;
	     ++*number) {
		found = is_listed(slot);
		if (!found)
			continue;
		view->pool = mam_handle_of(&slot->pool);
		memcpy(view->name, slot->pool.config.name, sizeof(view->name));
		memcpy(view->source, slot->source, sizeof(view->source));
		view->device = slot->device;
		view->quota = slot->quota;
	}
	mam_lock_release(&lock);
	return found;
}
