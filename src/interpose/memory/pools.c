/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.c - the table of contexts and their pools.
 *
 * The table is a small array that is read without a lock: programs have one context per device,
 * rarely more. A thread fills an entry, then publishes it by writing its context. No lock is held
 * while a pool is created, because that calls the driver and the dynamic linker. If two threads
 * create the pool of one context at once, the second destroys its own.
 *
 * The owner of the memory allocated under a context is found by a small allocation under it. This
 * detects green contexts, whose entries refer to the pool of their primary context.
 *
 * Bound: MAM_POOLS_MAX live contexts. The driver serves any further contexts.
 *
 * Invariants: an entry with a context has a pool; no context is in two entries; of the entries with
 * one pool exactly one is not an alias.
 */
#include "interpose/memory/pools.h"

#include <pthread.h>
#include <string.h>

#include <mam/options.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/mapped.h"
#include "interpose/memory/peer.h"
#include "interpose/memory/quarantine.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/nvtx.h"
#include "interpose/watch/watch.h"

#define CACHE_IS_OFF 1                /* index of the word among those of MAM_CACHE */
#define POINTER_CONTEXT 1             /* CU_POINTER_ATTRIBUTE_CONTEXT */
#define STREAM_PER_THREAD ((void *)2) /* CU_STREAM_PER_THREAD */

struct mam_pools_entry mam_pools_entries[MAM_POOLS_MAX];
atomic_uint mam_pools_used;
static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mam_pools_sums past[MAM_WATCH_DEVICES_MAX]; /* lock: entries; of destroyed pools */

/* Raises the guard, which shows a program that ends in a signal handler that a lock is held. */
static void lock_entries(void)
{
	mam_init_depth++;
	pthread_mutex_lock(&entries_lock);
}

static void unlock_entries(void)
{
	pthread_mutex_unlock(&entries_lock);
	mam_init_depth--;
}

static struct mam_pools_entry *find(const void *context)
{
	unsigned int used = atomic_load_explicit(&mam_pools_used, memory_order_acquire);

	for (unsigned int i = 0; i < used; i++)
		if (atomic_load_explicit(&mam_pools_entries[i].context, memory_order_acquire) ==
		    context)
			return &mam_pools_entries[i];
	return NULL;
}

static bool is_primary(const struct mam_real_driver *driver, void *context, int device)
{
	void *primary = NULL;
	unsigned int flags;
	int active = 0;

	if (driver->primary_state(device, &flags, &active) != 0 || !active)
		return false;
	if (driver->primary_retain(&primary, device) != 0)
		return false;
	driver->primary_release(device);
	return primary == context;
}

/*
 * Frees without a wait: cuMemFree would wait for all work of the context, but the program's
 * allocation does not. The per-thread stream is not ordered with the program's other streams.
 */
static void free_probe(unsigned long long block)
{
	__typeof__(&cuMemFreeAsync) real_free_async = MAM_TABLE_ORIGINAL(cuMemFreeAsync);

	if (real_free_async == NULL || mam_capture_has(STREAM_PER_THREAD) ||
	    real_free_async(block, STREAM_PER_THREAD) != MAM_CUDA_SUCCESS)
		MAM_TABLE_ORIGINAL(cuMemFree_v2)(block);
}

/*
 * Returns the context that owns memory allocated under `context`: `context` itself if the driver
 * does not report it. Uses relaxed mode with --capture=allow, which guarantees that allocation
 * invalidates no capture.
 */
static void *owner_of(const struct mam_real_driver *driver, void *context)
{
	__typeof__(&cuMemAlloc_v2) real_alloc = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);
	bool relaxed = mam_capture_alive() && mam_init_serves_captures();
	unsigned long long block;
	void *owner = NULL;
	int mode = MAM_CAPTURE_GLOBAL;

	if (driver->pointer_attribute == NULL || real_alloc == NULL ||
	    MAM_TABLE_ORIGINAL(cuMemFree_v2) == NULL)
		return context;
	if (relaxed)
		mode = mam_capture_mode(MAM_CAPTURE_RELAXED);
	if (real_alloc(&block, 1) == MAM_CUDA_SUCCESS) {
		if (driver->pointer_attribute(&owner, POINTER_CONTEXT, block) != MAM_CUDA_SUCCESS)
			owner = NULL;
		free_probe(block);
	}
	if (relaxed)
		mam_capture_mode(mode);
	return owner == NULL ? context : owner;
}

static struct mam_pool *make_pool(struct mam_source *source)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	enum mam_status status;

	attr.chunk_bytes = mam_option_number("MAM_CHUNK");
	attr.growth_bytes = mam_option_number("MAM_GROWTH");
	attr.granule = mam_option_number("MAM_GRANULE");
	/* free.c waits itself, so that it can return the driver's own code. */
	attr.free_policy = MAM_FREE_STREAM;
	attr.name = "mam run";
	if (mam_option_number("MAM_CACHE") == CACHE_IS_OFF)
		attr.cache = MAM_CACHE_OFF;
	status = mam_pool_create_on(source, &attr, &pool);
	if (status == MAM_ERROR_OUT_OF_MEMORY) {
		/* A first chunk that does not fit must not make every call try again. */
		attr.chunk_bytes = 0;
		status = mam_pool_create_on(source, &attr, &pool);
	}
	return status == MAM_OK ? pool : NULL;
}

/* Creates a pool and its source, in the current context. If it returns NULL, there is neither. */
static struct mam_pool *make_both(void *context, int device, struct mam_source **source)
{
	struct mam_pool *pool;

	if (mam_chunks_create(context, device, source) != MAM_OK)
		return NULL;
	pool = make_pool(*source);
	if (pool == NULL)
		mam_chunks_destroy(*source);
	return pool;
}

/*
 * Creates all parts of an entry except its key, for the current context. If it returns false,
 * nothing is held.
 */
static bool make(struct mam_pools_entry *entry, void *context, int device)
{
	size_t threshold = mam_option_number("MAM_PASS_ABOVE");
	struct mam_pool *pool;

	mam_nvtx_start();
	entry->owner = context;
	entry->device = device;
	pool = make_both(context, device, &entry->source);
	if (pool == NULL && mam_mapped_is_possible(device)) {
		mam_mapped_refuse(device);
		pool = make_both(context, device, &entry->source);
	}
	if (pool == NULL)
		return false;
	entry->quarantine = mam_quarantine_create(pool, entry->source, context);
	if (entry->quarantine == NULL) {
		mam_pool_destroy(pool);
		mam_chunks_destroy(entry->source);
		return false;
	}
	atomic_store_explicit(&entry->pool, pool, memory_order_relaxed);
	entry->pass_above = threshold != 0 ? threshold : entry->source->properties.total_bytes / 2;
	return true;
}

static void unmake(struct mam_pools_entry *entry)
{
	if (mam_pools_is_alias(entry))
		return;
	mam_quarantine_destroy(entry->quarantine);
	mam_pool_destroy(entry->pool);
	mam_chunks_destroy(entry->source);
}

/*
 * Publishes an entry. Returns the entry of another thread if that was first, or NULL if the table
 * is full.
 */
static struct mam_pools_entry *publish(void *context, const struct mam_pools_entry *made)
{
	struct mam_pools_entry *entry;

	mam_init_note_pool();
	lock_entries();
	entry = find(context);
	if (entry == NULL) {
		entry = find(NULL);
		if (entry == NULL && mam_pools_used < MAM_POOLS_MAX)
			entry = &mam_pools_entries[mam_pools_used];
		if (entry != NULL) {
			entry->pool = made->pool;
			entry->quarantine = made->quarantine;
			entry->source = made->source;
			entry->owner = made->owner;
			entry->pass_above = made->pass_above;
			entry->device = made->device;
			entry->primary = made->primary;
			atomic_store_explicit(&entry->context, context, memory_order_release);
			if (entry == &mam_pools_entries[mam_pools_used])
				atomic_fetch_add_explicit(&mam_pools_used, 1, memory_order_release);
		}
	}
	unlock_entries();
	return entry;
}

static struct mam_pools_entry *make_and_publish(void *context, int device, bool primary)
{
	struct mam_pools_entry made = { .primary = primary }, *entry;

	if (!make(&made, context, device))
		return NULL;
	entry = publish(context, &made);
	if (entry == NULL || entry->source != made.source)
		unmake(&made);
	return entry;
}

/* Adds another key for the pool of `owner`, which is made current while the pool is created. */
static struct mam_pools_entry *make_alias(const struct mam_real_driver *driver, void *context,
					  void *owner, int device)
{
	struct mam_pools_entry *entry = find(owner), made;
	void *popped;

	if (entry == NULL && driver->ctx_push(owner) == MAM_CUDA_SUCCESS) {
		entry = make_and_publish(owner, device, is_primary(driver, owner, device));
		driver->ctx_pop(&popped);
	}
	if (entry == NULL)
		return NULL;
	made = *entry;
	made.source = NULL;
	return publish(context, &made);
}

struct mam_pools_entry *mam_pools_of_slow(void *context)
{
	const struct mam_real_driver *driver;
	struct mam_pools_entry *entry;
	void *owner;
	int device;

	if (context == NULL)
		return NULL;
	entry = find(context);
	if (entry != NULL)
		return entry;
	driver = mam_real_driver();
	if (driver == NULL || driver->ctx_device(&device) != 0)
		return NULL;
	if (is_primary(driver, context, device))
		return make_and_publish(context, device, true);
	if (mam_capture_restricts()) /* the driver would reject the allocation in owner_of() */
		return NULL;
	owner = owner_of(driver, context);
	return owner == context ? make_and_publish(context, device, false)
				: make_alias(driver, context, owner, device);
}

int mam_pools_device(void *context)
{
	struct mam_pools_entry *entry = context == NULL ? NULL : find(context);

	return entry == NULL ? -1 : entry->device;
}

void *mam_pools_owner(void *context)
{
	struct mam_pools_entry *entry = context == NULL ? NULL : find(context);

	return entry == NULL ? context : entry->owner;
}

struct mam_pools_entry *mam_pools_next(unsigned int *at)
{
	unsigned int used = atomic_load_explicit(&mam_pools_used, memory_order_acquire);

	while (*at < used) {
		struct mam_pools_entry *entry = &mam_pools_entries[(*at)++];

		if (atomic_load_explicit(&entry->context, memory_order_acquire) != NULL &&
		    !mam_pools_is_alias(entry))
			return entry;
	}
	return NULL;
}

struct mam_pools_entry *mam_pools_only_slow(void)
{
	struct mam_pools_entry *entry;
	unsigned int at = 0;

	entry = mam_pools_next(&at);
	return entry != NULL && mam_pools_next(&at) == NULL ? entry : NULL;
}

void *mam_pools_context(const struct mam_pool *pool)
{
	struct mam_pools_entry *entry;

	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL;)
		if (entry->pool == pool)
			return entry->owner;
	return NULL;
}

/* An error that does not concern the address, such as an ended pool, becomes NOT_OWNED. */
static enum mam_status find_in(const struct mam_pools_entry *entry, const void *block,
			       size_t *bytes)
{
	enum mam_status status = mam_usable_size(entry->pool, block, bytes);

	return status == MAM_OK || status == MAM_ERROR_INTERIOR || status == MAM_ERROR_DOUBLE_FREE
		       ? status
		       : MAM_ERROR_NOT_OWNED;
}

enum mam_status mam_pools_find(const void *block, struct mam_pools_entry **entry, size_t *bytes)
{
	enum mam_status status;

	*entry = mam_pools_only();
	if (*entry != NULL)
		return find_in(*entry, block, bytes);
	for (unsigned int at = 0; (*entry = mam_pools_next(&at)) != NULL;) {
		status = find_in(*entry, block, bytes);
		if (status != MAM_ERROR_NOT_OWNED)
			return status;
	}
	return MAM_ERROR_NOT_OWNED;
}

bool mam_pools_exist(void)
{
	return atomic_load_explicit(&mam_pools_used, memory_order_relaxed) != 0;
}

struct mam_pools_entry *mam_pools_next_on(int device, unsigned int *at)
{
	struct mam_pools_entry *entry;

	while ((entry = mam_pools_next(at)) != NULL)
		if (device < 0 || entry->device == device)
			break;
	return entry;
}

size_t mam_pools_make_room(int device, bool quarantined)
{
	struct mam_pools_entry *entry;
	size_t sum = 0, released;

	for (unsigned int at = 0; quarantined && (entry = mam_pools_next_on(device, &at)) != NULL;)
		mam_quarantine_wait(entry->quarantine);
	for (unsigned int at = 0; (entry = mam_pools_next_on(device, &at)) != NULL;)
		if (mam_pool_trim(entry->pool, 0, &released) == MAM_OK)
			sum += released;
	return sum;
}

/* lock: entries */
/* The numbers of one pool; zeros if it has ended. */
static struct mam_pools_sums sums_of(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (mam_pool_stats(pool, &stats) != MAM_OK)
		return (struct mam_pools_sums){ .pools = 0 };
	return (struct mam_pools_sums){
		.pools = 1,
		.allocs = stats.allocs,
		.frees = stats.frees,
		.failures = stats.failures,
		.live_blocks = stats.live_blocks,
		.live_bytes = stats.live_bytes,
		.peak_live_bytes = stats.peak_live_bytes,
		.peak_reserved_bytes = stats.peak_reserved_bytes,
		.peak_retired_bytes = stats.peak_retired_bytes,
	};
}

static void add_locked(struct mam_pools_sums *sums, struct mam_pools_sums more)
{
	sums->pools += more.pools;
	sums->allocs += more.allocs;
	sums->frees += more.frees;
	sums->failures += more.failures;
	sums->live_blocks += more.live_blocks;
	sums->live_bytes += more.live_bytes;
	sums->peak_live_bytes += more.peak_live_bytes;
	sums->peak_reserved_bytes += more.peak_reserved_bytes;
	sums->peak_retired_bytes += more.peak_retired_bytes;
}

/* Where the numbers of a pool remain; device 0 has those of devices above the maximum. */
static unsigned int past_of(int device)
{
	return device < 0 || device >= MAM_WATCH_DEVICES_MAX ? 0 : (unsigned int)device;
}

static void clear_locked(struct mam_pools_entry *entry)
{
	atomic_store_explicit(&entry->context, NULL, memory_order_release);
	atomic_store_explicit(&entry->pool, NULL, memory_order_release);
}

static void drop_aliases_locked(const struct mam_pool *pool)
{
	for (unsigned int i = 0; i < mam_pools_used; i++)
		if (mam_pools_entries[i].context != NULL &&
		    mam_pools_is_alias(&mam_pools_entries[i]) &&
		    (pool == NULL || mam_pools_entries[i].pool == pool))
			clear_locked(&mam_pools_entries[i]);
}

struct chunk_visit {
	void *owner;
	const void *last; /* NULL: none yet */
};

/*
 * Notifies the watchers once per chunk: segments are visited in address order. A chunk need not begin
 * with one: there may be a red zone.
 */
static bool visit_chunk(const struct mam_segment_info *segment, void *user)
{
	struct chunk_visit *visit = user;

	if (segment->chunk_base != visit->last)
		mam_watch_chunk(segment->chunk_base, segment->chunk_bytes, visit->owner, false);
	visit->last = segment->chunk_base;
	return true;
}

/* Notes a pool that is about to end; no effect on one that has ended. */
static void note_end_locked(const struct mam_pools_entry *entry)
{
	struct chunk_visit visit = { .owner = entry->owner };

	add_locked(&past[past_of(entry->device)], sums_of(entry->pool));
	if (mam_watch_wants(MAM_WATCH_NVTX | MAM_WATCH_MARKS))
		mam_pool_walk(entry->pool, visit_chunk, &visit);
}

static void drop_locked(struct mam_pools_entry *entry)
{
	void *context = entry->owner;

	if (mam_pools_is_alias(entry)) {
		clear_locked(entry);
		return;
	}
	/* The pool first: a thread that still finds it receives DESTROYED and calls the driver. */
	note_end_locked(entry);
	mam_pool_abandon(entry->pool);
	drop_aliases_locked(entry->pool);
	mam_chunks_lose(entry->source);
	mam_account_context_gone(context);
	mam_peer_context_gone(context);
	mam_watch_context_gone(context);
	clear_locked(entry);
}

static struct mam_pools_entry *find_primary(int device)
{
	struct mam_pools_entry *entry;

	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL;)
		if (entry->primary && entry->device == device)
			return entry;
	return NULL;
}

/* Without the lock: a thread that trims the pool may be waiting for the GPU. */
static void end(const struct mam_pools_entry *entry)
{
	if (entry == NULL || mam_pools_is_alias(entry))
		return;
	lock_entries();
	note_end_locked(entry);
	unlock_entries();
	mam_pool_abandon(entry->pool);
	mam_quarantine_end(entry->quarantine);
}

void mam_pools_end(void *context)
{
	const struct mam_pools_entry *entry = context == NULL ? NULL : find(context);

	/* The driver refuses to destroy a primary context by its handle. */
	if (entry != NULL && !entry->primary)
		end(entry);
}

void mam_pools_end_primary(int device)
{
	end(find_primary(device));
}

void mam_pools_drop(void *context)
{
	struct mam_pools_entry *entry;

	if (context == NULL)
		return;
	lock_entries();
	entry = find(context);
	if (entry != NULL)
		drop_locked(entry);
	unlock_entries();
}

void mam_pools_drop_primary(int device)
{
	struct mam_pools_entry *entry;

	lock_entries();
	entry = find_primary(device);
	if (entry != NULL)
		drop_locked(entry);
	unlock_entries();
}

void mam_pools_drop_aliases(void)
{
	lock_entries();
	drop_aliases_locked(NULL);
	unlock_entries();
}

void mam_pools_sum(int device, struct mam_pools_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	lock_entries();
	for (unsigned int i = 0; i < MAM_WATCH_DEVICES_MAX; i++)
		if (device < 0 || past_of(device) == i)
			add_locked(sums, past[i]);
	for (unsigned int i = 0; i < mam_pools_used; i++)
		if (mam_pools_entries[i].context != NULL &&
		    !mam_pools_is_alias(&mam_pools_entries[i]) &&
		    (device < 0 || past_of(mam_pools_entries[i].device) == past_of(device)))
			add_locked(sums, sums_of(mam_pools_entries[i].pool));
	unlock_entries();
}

void mam_pools_restart(void)
{
	pthread_mutex_init(&entries_lock, NULL);
}
