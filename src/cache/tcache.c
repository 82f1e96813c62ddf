/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcache.c - the caches of a thread: found, made, and freed when it ends (tcache.h).
 *
 * The C library runs the key's destructor once each time that a thread cache was made since the
 * last run. A thread whose other destructors allocate gets a new thread cache, which is freed as
 * well. If a thread still allocates after the library's last run, its thread cache is leaked; other
 * threads can empty it.
 */
#include "cache/tcache.h"

#include <pthread.h>
#include <string.h>

#include "base/bits.h"
#include "base/pages.h"

#define TCACHE_BYTES mam_round_up(sizeof(struct mam_tcache), 4096)
#define BINS_BYTES mam_round_up(sizeof(struct mam_stream_bins), 4096)

/* Initial value of mam_tcache_last: it belongs to no pool. */
static struct mam_tcache nobody;

_Thread_local struct mam_tcache *mam_tcache_last __attribute__((tls_model("initial-exec"))) =
	&nobody;
static _Thread_local struct mam_tcache *tcaches __attribute__((tls_model("initial-exec")));

static void (*_Atomic leave)(struct mam_tcache *tcache); /* atomic; from mam_tcache_prepare() */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Atomic bool has_key; /* atomic; the key exists */

static void thread_ends(void *first)
{
	void (*on_exit)(struct mam_tcache *) = atomic_load(&leave);
	struct mam_tcache *tcache = first, *next;

	tcaches = NULL;
	mam_tcache_last = &nobody;
	for (; tcache; tcache = next) {
		next = tcache->of_thread;
		on_exit(tcache);
		mam_pages_unmap(tcache, TCACHE_BYTES);
	}
}

static void make_key(void)
{
	mam_asymlock_prepare();
	has_key = pthread_key_create(&key, thread_ends) == 0;
}

/*
 * The library is unloaded, or the process ends: threads that continue must not call code that is
 * unmapped. Their thread caches are leaked.
 */
__attribute__((destructor)) static void drop_key(void)
{
	if (atomic_exchange(&has_key, false))
		pthread_key_delete(key);
}

void mam_tcache_prepare(void (*on_exit)(struct mam_tcache *tcache))
{
	atomic_store(&leave, on_exit);
	pthread_once(&once, make_key);
}

struct mam_tcache *mam_tcache_find(const struct mam_pool *pool)
{
	for (struct mam_tcache *tcache = tcaches; tcache; tcache = tcache->of_thread) {
		if (atomic_load_explicit(&tcache->pool, memory_order_acquire) == pool) {
			mam_tcache_last = tcache;
			return tcache;
		}
	}
	return NULL;
}

struct mam_tcache *mam_tcache_take(void)
{
	struct mam_tcache *tcache = mam_tcache_find(NULL);

	if (tcache) { /* of a pool that ended: its bins are empty, it is not linked */
		struct mam_tcache *of_thread = tcache->of_thread;

		memset(tcache, 0, sizeof(*tcache));
		tcache->of_thread = of_thread;
	} else {
		if (!has_key)
			return NULL;
		tcache = mam_pages_map(TCACHE_BYTES);
		if (!tcache)
			return NULL;
		tcache->of_thread = tcaches;
		if (pthread_setspecific(key, tcache) != 0) {
			mam_pages_unmap(tcache, TCACHE_BYTES);
			return NULL;
		}
		tcaches = tcache;
	}
	mam_asymlock_init(&tcache->hand);
	tcache->owner = mam_tcache_self();
	tcache->tally = &tcache->unlisted;
	return tcache;
}

void mam_tcache_drop(struct mam_tcache *tcache)
{
	mam_pages_unmap(tcache, TCACHE_BYTES);
}

struct mam_stream_bins *mam_tcache_bins_new(void)
{
	return mam_pages_map(BINS_BYTES);
}

void mam_tcache_bins_free(struct mam_stream_bins *bins)
{
	mam_pages_unmap(bins, BINS_BYTES);
}
