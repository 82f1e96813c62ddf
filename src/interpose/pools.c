/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.c - the table of contexts and their pools.
 *
 * A few entries in an array, read without a lock: programs have one context a device, rarely
 * more. An entry is claimed by its context, filled, and published by its pool. Nothing is locked
 * while a pool is made, since that calls the driver and the dynamic linker; of two threads that
 * make the pool of one context at once the second gives its own up.
 *
 * Bound: MAM_POOLS_MOST live contexts. Those beyond are the driver's alone.
 *
 * What must hold: an entry with a context has a pool; no context stands in two entries.
 */
#include "interpose/pools.h"

#include <pthread.h>
#include <stdatomic.h>

#include <mam/options.h>
#include <mam/stats.h>

#include "interpose/hooks.h"
#include "interpose/real.h"

#define MAM_POOLS_MOST 64

struct entry {
	void *_Atomic context;         /* atomic; NULL: the entry is free */
	struct mam_pool *_Atomic pool; /* atomic, set before context */
	int device;                    /* lock: entries, set before context */
	bool primary;                  /* it is its device's primary one. lock: entries, before context */
};

static struct entry entries[MAM_POOLS_MOST];
static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint entries_used;   /* atomic: entries from here on were never used */
static struct mam_pools_sums past; /* lock: entries; of pools that are gone */

static struct entry *find(void *context)
{
	unsigned int used = atomic_load_explicit(&entries_used, memory_order_acquire);

	for (unsigned int i = 0; i < used; i++)
		if (atomic_load_explicit(&entries[i].context, memory_order_acquire) == context)
			return &entries[i];
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

static struct mam_pool *make(int device)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	enum mam_status status;

	attr.source = "cudamalloc";
	attr.device = device;
	attr.chunk_bytes = mam_option_number("MAM_CHUNK");
	attr.growth_bytes = mam_option_number("MAM_GROWTH");
	attr.limit_bytes = mam_option_number("MAM_LIMIT");
	attr.granule = mam_option_number("MAM_GRANULE");
	/* free.c waits by itself, to hand the driver's own code on. */
	attr.free_policy = MAM_FREE_STREAM;
	attr.name = "mam run";
	status = mam_pool_create(&attr, &pool);
	if (status == MAM_ERROR_OUT_OF_MEMORY) {
		/* A first chunk that does not fit must not cost every call another try. */
		attr.chunk_bytes = 0;
		status = mam_pool_create(&attr, &pool);
	}
	return status == MAM_OK ? pool : NULL;
}

/* Publish an entry; the pool of another thread that was first is returned instead. */
static struct mam_pool *publish(void *context, struct mam_pool *pool, int device, bool primary)
{
	struct entry *entry;

	pthread_mutex_lock(&entries_lock);
	entry = find(context);
	if (entry == NULL)
		entry = find(NULL);
	if (entry == NULL && entries_used < MAM_POOLS_MOST)
		entry = &entries[entries_used];
	if (entry == NULL) {
		pool = NULL;
	} else if (entry->context != NULL) {
		pool = entry->pool;
	} else {
		entry->device = device;
		entry->primary = primary;
		entry->pool = pool;
		atomic_store_explicit(&entry->context, context, memory_order_release);
		if (entry == &entries[entries_used])
			atomic_fetch_add_explicit(&entries_used, 1, memory_order_release);
	}
	pthread_mutex_unlock(&entries_lock);
	return pool;
}

struct mam_pool *mam_pools_of(void *context)
{
	const struct mam_real_driver *driver = mam_real_driver();
	struct entry *entry = find(context);
	struct mam_pool *made, *pool;
	int device;

	if (entry != NULL)
		return atomic_load_explicit(&entry->pool, memory_order_acquire);
	if (context == NULL || driver == NULL || driver->ctx_device(&device) != 0)
		return NULL;
	made = make(device);
	if (made == NULL)
		return NULL;
	pool = publish(context, made, device, is_primary(driver, context, device));
	if (pool != made)
		mam_pool_destroy(made);
	return pool;
}

int mam_pools_device(void *context)
{
	struct entry *entry = find(context);

	return entry == NULL ? -1 : entry->device;
}

enum mam_status mam_pools_find(const void *block, struct mam_pool **pool, void **context)
{
	unsigned int used = atomic_load_explicit(&entries_used, memory_order_acquire);
	enum mam_status status;
	size_t bytes;

	for (unsigned int i = 0; i < used; i++) {
		void *candidate = atomic_load_explicit(&entries[i].context, memory_order_acquire);

		if (candidate == NULL)
			continue;
		*pool = atomic_load_explicit(&entries[i].pool, memory_order_acquire);
		status = mam_usable_size(*pool, block, &bytes);
		if (status == MAM_OK || status == MAM_ERROR_INTERIOR ||
		    status == MAM_ERROR_DOUBLE_FREE) {
			*context = candidate;
			return status;
		}
	}
	return MAM_ERROR_NOT_OWNED;
}

bool mam_pools_exist(void)
{
	return atomic_load_explicit(&entries_used, memory_order_relaxed) != 0;
}

size_t mam_pools_trim(void)
{
	unsigned int used = atomic_load_explicit(&entries_used, memory_order_acquire);
	size_t sum = 0, released;

	for (unsigned int i = 0; i < used; i++) {
		struct mam_pool *pool = entries[i].pool;

		if (entries[i].context != NULL && mam_pool_trim(pool, 0, &released) == MAM_OK)
			sum += released;
	}
	return sum;
}

/* lock: entries */
static void add_locked(struct mam_pools_sums *sums, struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (mam_pool_stats(pool, &stats) != MAM_OK)
		return;
	sums->pools++;
	sums->allocs += stats.allocs;
	sums->frees += stats.frees;
	sums->failures += stats.failures;
	sums->live_blocks += stats.live_blocks;
	sums->live_bytes += stats.live_bytes;
	sums->peak_live_bytes += stats.peak_live_bytes;
	sums->peak_reserved_bytes += stats.peak_reserved_bytes;
}

static void drop_locked(struct entry *entry)
{
	struct mam_pool *pool = entry->pool;

	add_locked(&past, pool);
	/* First the pool: a thread that still finds it gets DESTROYED and goes to the driver. */
	mam_pool_abandon(pool);
	atomic_store_explicit(&entry->context, NULL, memory_order_release);
	atomic_store_explicit(&entry->pool, NULL, memory_order_release);
}

void mam_pools_drop(void *context)
{
	struct entry *entry;

	if (context == NULL)
		return;
	pthread_mutex_lock(&entries_lock);
	entry = find(context);
	if (entry != NULL)
		drop_locked(entry);
	pthread_mutex_unlock(&entries_lock);
}

void mam_pools_drop_primary(int device)
{
	pthread_mutex_lock(&entries_lock);
	for (unsigned int i = 0; i < entries_used; i++)
		if (entries[i].context != NULL && entries[i].primary && entries[i].device == device)
			drop_locked(&entries[i]);
	pthread_mutex_unlock(&entries_lock);
}

void mam_pools_sum(struct mam_pools_sums *sums)
{
	pthread_mutex_lock(&entries_lock);
	*sums = past;
	for (unsigned int i = 0; i < entries_used; i++)
		if (entries[i].context != NULL)
			add_locked(sums, entries[i].pool);
	pthread_mutex_unlock(&entries_lock);
}
