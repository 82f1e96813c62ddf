/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.c - retire, fence, reclaim (quarantine.h).
 *
 *   put     1. Retire the block in its pool. The thread keeps it, and blocks of up to 1 MiB get
 *              tickets in groups (mam_pool_retire_shared).
 *           2. If enough blocks or bytes with tickets are without a fence: turn.
 *   turn    1. Query the oldest fences; reclaim up to the newest that has passed.
 *           2. Record a fence over all tickets so far. Its ticket is read before the record, so
 *              that no block is covered by a fence that was recorded before its free. A group
 *              gets its ticket after the last of its frees.
 *   reclaim The same at once (mam_quarantine_reclaim), for a thread that found no free memory: all
 *           blocks get tickets, and those that were freed while the GPU was idle are reclaimed.
 *   join    Reclaim and empty the caches, before a large block is placed on a nearly full device.
 *   catch   Reclaim repeatedly until a fence has passed, for at most 0.1 s. This happens in the
 *   up      first free after the pool had to grow although much was in quarantine. The program runs
 *           ahead of the GPU, and the pool would grow as long as it does. The growth itself does
 *           not wait: a kernel may be waiting for the thread that allocates.
 *   wait    Reclaim, and if that freed nothing, synchronize: for a thread that would fail
 *           otherwise.
 *
 * During a capture no fence is recorded or queried: either would invalidate the capture
 * (capture.h). Blocks then stay until it ends, or until a thread waits for all work of the context.
 *
 * If the context has a sticky error, caused by a kernel of the program, nothing is reclaimed any
 * more; the driver reports the error to the program at its next call. Any other failure of a call
 * is considered transient, and the call is repeated at the next turn (peer_fence.c).
 *
 * Costs on an H100: record 200 ns, query 180 ns. With a fence for each COUNT blocks or for an eighth
 * of the pool's bytes, that is a few nanoseconds per free.
 *
 * Invariants: fences are in the order of their tickets; a fence's ticket was assigned before it was
 * recorded. `lock` is never held across a wait.
 */
#include "interpose/memory/quarantine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <mam/stats.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/peer_fence.h"

#define COUNT 64             /* maximum blocks that share a fence, unless a request needs them */
#define BYTES_MIN (1u << 20) /* minimum bytes that share a fence */
#define BYTES_COUNTED (1u << 14) /* smaller blocks, of few bytes, count by number only */
#define FENCES 64                /* recorded and not passed; further blocks wait without a fence */
#define LOOKS_MAX 1500           /* queries of a fence that a free waits for: about 0.1 s */
#define LARGE_MIN ((uint64_t)64 << 20)
#define LARGE_SHARE 2 /* large: more retired bytes than 1/2 of those in use */

struct fence {
	uint64_t ticket; /* of the last block that it covers */
	struct mam_peer_fence work;
};

struct mam_quarantine {
	/* lock: none, set at creation */
	struct mam_pool *pool;
	struct mam_source *source;
	void *context;

	_Atomic uint64_t ticket;         /* atomic; the newest one assigned */
	_Atomic uint64_t reclaimed;      /* atomic; the newest one reclaimed */
	_Atomic uint64_t fenced;         /* atomic; the newest one covered by a fence */
	_Atomic uint64_t unfenced_bytes; /* atomic; about: of blocks >= BYTES_COUNTED */
	_Atomic uint64_t passed;         /* atomic; the newest one whose fence has passed */
	_Atomic uint64_t joined;         /* atomic; the newest one assigned at the last join */
	atomic_bool faulty;              /* atomic; the context has a sticky error, or ends */
	atomic_uint waiting;             /* atomic; threads in wait_for_context() */
	atomic_bool behind;              /* atomic; the next free must catch up */
	atomic_bool used;                /* atomic; a block was put into it */

	pthread_mutex_t lock;
	struct fence fences[FENCES]; /* lock: lock; a ring */
	unsigned int first, count;   /* lock: lock */
};

struct mam_quarantine *mam_quarantine_create(struct mam_pool *pool, struct mam_source *source,
					     void *context)
{
	struct mam_quarantine *quarantine = calloc(1, sizeof(*quarantine));

	if (quarantine == NULL)
		return NULL;
	quarantine->pool = pool;
	quarantine->source = source;
	quarantine->context = context;
	pthread_mutex_init(&quarantine->lock, NULL);
	return quarantine;
}

void mam_quarantine_end(struct mam_quarantine *quarantine)
{
	const struct timespec a_moment = { 0, 20000 };

	atomic_store(&quarantine->faulty, true);
	pthread_mutex_lock(&quarantine->lock); /* of turn() */
	pthread_mutex_unlock(&quarantine->lock);
	while (atomic_load(&quarantine->waiting) != 0)
		nanosleep(&a_moment, NULL);
}

void mam_quarantine_destroy(struct mam_quarantine *quarantine)
{
	free(quarantine);
}

bool mam_quarantine_is_used(const struct mam_quarantine *quarantine)
{
	return atomic_load_explicit(&quarantine->used, memory_order_relaxed);
}

/* Whether blocks with tickets have not been reclaimed. */
static bool holds(const struct mam_quarantine *quarantine)
{
	return atomic_load_explicit(&quarantine->ticket, memory_order_relaxed) !=
	       atomic_load_explicit(&quarantine->reclaimed, memory_order_relaxed);
}

bool mam_quarantine_is_large(const struct mam_quarantine *quarantine)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	return mam_pool_stats(quarantine->pool, &stats) == MAM_OK &&
	       stats.retired_bytes > LARGE_MIN &&
	       stats.retired_bytes > stats.live_rounded_bytes / LARGE_SHARE;
}

/* Raises `value` to `to`; threads may arrive in any order. */
static void raise_to(_Atomic uint64_t *value, uint64_t to)
{
	uint64_t now = atomic_load_explicit(value, memory_order_relaxed);

	while (now < to && !atomic_compare_exchange_weak_explicit(
				   value, &now, to, memory_order_release, memory_order_relaxed))
		;
}

/* Gives a ticket to every block in quarantine. Returns false if there is none. */
static bool gather(struct mam_quarantine *quarantine)
{
	uint64_t ticket;

	if (!mam_quarantine_is_used(quarantine) ||
	    mam_pool_retired(quarantine->pool, &ticket) != MAM_OK)
		return false;
	raise_to(&quarantine->ticket, ticket);
	return holds(quarantine);
}

static bool reclaim(struct mam_quarantine *quarantine, uint64_t ticket)
{
	if (mam_pool_reclaim(quarantine->pool, ticket, NULL) != MAM_OK)
		return false;
	raise_to(&quarantine->reclaimed, ticket);
	return true;
}

/* Whether the fence is recorded, or has passed. */
static bool is_done(struct mam_quarantine *quarantine, enum mam_peer_fence_state state)
{
	if (state == MAM_PEER_FENCE_BROKEN)
		atomic_store_explicit(&quarantine->faulty, true, memory_order_relaxed);
	return state == MAM_PEER_FENCE_DONE;
}

/* The caller holds off captures. */
static void record_locked(struct mam_quarantine *quarantine)
{
	struct fence *fence = &quarantine->fences[(quarantine->first + quarantine->count) % FENCES];
	uint64_t ticket = atomic_load_explicit(&quarantine->ticket, memory_order_acquire);

	if (ticket == atomic_load_explicit(&quarantine->fenced, memory_order_relaxed) ||
	    quarantine->count == FENCES ||
	    !is_done(quarantine, mam_peer_fence_record(&fence->work, quarantine->context)))
		return;
	fence->ticket = ticket;
	quarantine->count++;
	atomic_store_explicit(&quarantine->fenced, ticket, memory_order_relaxed);
	atomic_store_explicit(&quarantine->unfenced_bytes, 0, memory_order_relaxed);
}

/* Queries the fences, oldest first. The caller holds off captures. */
static void collect_locked(struct mam_quarantine *quarantine)
{
	while (quarantine->count > 0) {
		struct fence *fence = &quarantine->fences[quarantine->first];

		if (!is_done(quarantine, mam_peer_fence_ask(&fence->work)))
			break;
		raise_to(&quarantine->passed, fence->ticket);
		quarantine->first = (quarantine->first + 1) % FENCES;
		quarantine->count--;
	}
}

/*
 * Collects, records, and collects again if `at_once`. Otherwise a thread that finds the lock taken
 * returns: another thread is already doing this. Reclaims up to the newest passed fence, although
 * another thread may have queried that: it may not have reclaimed the blocks yet.
 */
static bool turn(struct mam_quarantine *quarantine, bool at_once)
{
	uint64_t ticket;

	if (!mam_peer_fence_is_possible() ||
	    atomic_load_explicit(&quarantine->faulty, memory_order_relaxed))
		return false;
	if (at_once)
		pthread_mutex_lock(&quarantine->lock);
	else if (pthread_mutex_trylock(&quarantine->lock) != 0)
		return false;
	if (!atomic_load(&quarantine->faulty) && mam_capture_hold()) {
		collect_locked(quarantine);
		record_locked(quarantine);
		if (at_once)
			collect_locked(quarantine);
		mam_capture_release();
	}
	pthread_mutex_unlock(&quarantine->lock);
	if (atomic_load(&quarantine->faulty))
		return false;
	ticket = atomic_load_explicit(&quarantine->passed, memory_order_acquire);
	return ticket > atomic_load_explicit(&quarantine->reclaimed, memory_order_relaxed) &&
	       reclaim(quarantine, ticket);
}

static bool is_due(struct mam_quarantine *quarantine, uint64_t ticket, uint64_t bytes)
{
	if (ticket - atomic_load_explicit(&quarantine->fenced, memory_order_relaxed) >= COUNT)
		return true;
	return bytes >= BYTES_MIN && bytes >= mam_chunks_held(quarantine->source) / 8;
}

enum mam_status mam_quarantine_put(struct mam_quarantine *quarantine, void *block)
{
	uint64_t ticket, unfenced;
	size_t bytes;
	enum mam_status status = mam_pool_retire_shared(quarantine->pool, block, &ticket, &bytes);

	if (status != MAM_OK)
		return status;
	if (!mam_quarantine_is_used(quarantine))
		atomic_store_explicit(&quarantine->used, true, memory_order_relaxed);
	if (ticket == 0)
		return MAM_OK;
	/*
	 * Many frees execute this, so it uses no locked instruction. A late thread may overwrite a
	 * higher ticket with a lower one, and that block then waits for the fence after the next
	 * free. Bytes are added up where they matter.
	 */
	if (ticket > atomic_load_explicit(&quarantine->ticket, memory_order_relaxed))
		atomic_store_explicit(&quarantine->ticket, ticket, memory_order_release);
	unfenced = 0;
	if (bytes >= BYTES_COUNTED)
		unfenced = bytes + atomic_fetch_add_explicit(&quarantine->unfenced_bytes, bytes,
							     memory_order_relaxed);
	if (is_due(quarantine, ticket, unfenced))
		turn(quarantine, false);
	return MAM_OK;
}

bool mam_quarantine_reclaim(struct mam_quarantine *quarantine)
{
	return gather(quarantine) && turn(quarantine, true);
}

/* Emptied caches delay the next requests of all threads: not again until COUNT more tickets. */
void mam_quarantine_join(struct mam_quarantine *quarantine)
{
	uint64_t ticket = atomic_load_explicit(&quarantine->ticket, memory_order_relaxed);

	if (ticket - atomic_load_explicit(&quarantine->joined, memory_order_relaxed) < COUNT)
		return;
	(void)mam_quarantine_reclaim(quarantine);
	ticket = atomic_load_explicit(&quarantine->ticket, memory_order_relaxed);
	atomic_store_explicit(&quarantine->joined, ticket, memory_order_relaxed);
}

/*
 * Queries the oldest fence repeatedly for a limited time: a kernel of the program may be running
 * that ends only after the host continues.
 */
static void await_oldest(struct mam_quarantine *quarantine)
{
	const struct timespec a_moment = { 0, 20000 };
	uint64_t before = atomic_load_explicit(&quarantine->reclaimed, memory_order_relaxed);

	if (!gather(quarantine))
		return;
	for (int look = 0; look < LOOKS_MAX; look++) {
		if (turn(quarantine, true) ||
		    atomic_load_explicit(&quarantine->reclaimed, memory_order_relaxed) != before)
			return;
		if (!holds(quarantine) || !mam_peer_fence_is_possible() || mam_capture_alive() ||
		    atomic_load_explicit(&quarantine->faulty, memory_order_relaxed))
			return;
		nanosleep(&a_moment, NULL);
	}
}

void mam_quarantine_fall_behind(struct mam_quarantine *quarantine)
{
	atomic_store_explicit(&quarantine->behind, true, memory_order_relaxed);
}

void mam_quarantine_catch_up(struct mam_quarantine *quarantine)
{
	if (atomic_load_explicit(&quarantine->behind, memory_order_relaxed) &&
	    atomic_exchange_explicit(&quarantine->behind, false, memory_order_relaxed))
		await_oldest(quarantine);
}

bool mam_quarantine_is_idle(struct mam_quarantine *quarantine)
{
	bool idle = false;

	if (mam_peer_fence_is_possible() && mam_capture_hold()) {
		idle = mam_peer_fence_is_idle(quarantine->context);
		mam_capture_release();
	}
	return idle;
}

/* Works without fences: everything retired before the wait is done after it. */
static bool wait_for_context(struct mam_quarantine *quarantine)
{
	uint64_t ticket = atomic_load_explicit(&quarantine->ticket, memory_order_acquire);
	bool done;

	if (mam_capture_restricts())
		return false;
	atomic_fetch_add(&quarantine->waiting, 1);
	done = !atomic_load(&quarantine->faulty) &&
	       is_done(quarantine, mam_peer_fence_wait(quarantine->context));
	atomic_fetch_sub(&quarantine->waiting, 1);
	return done && reclaim(quarantine, ticket);
}

bool mam_quarantine_wait(struct mam_quarantine *quarantine)
{
	if (!gather(quarantine) || atomic_load_explicit(&quarantine->faulty, memory_order_relaxed))
		return false;
	if (turn(quarantine, true) && !holds(quarantine))
		return true;
	return wait_for_context(quarantine);
}
