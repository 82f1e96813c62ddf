/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - a mutex that checks the lock order.
 *
 * The enum below is the order: a thread may take a lock only while every lock it holds has a lower
 * rank. This rule excludes deadlocks. Debug builds (MAM_DEBUG) check each lock operation and abort
 * with the name of the lock and the ranks held.
 *
 * The mutex itself is one word: 0 free, 1 held, 2 held and a thread may sleep. Taking a free lock
 * is one compare-and-swap and releasing one without waiters is one exchange, inlined. That is half
 * the cost of pthread's mutex, and a pool's fast path is little more than its lock.
 * Source: U. Drepper, "Futexes Are Tricky", 2011, mutex 3. We differ in spinning a little before
 * sleeping, since the critical sections are short.
 */
#ifndef MAM_BASE_LOCK_H
#define MAM_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h> /* C library 2.32 and later */
#define MAM_HAVE_SINGLE_THREADED 1
#endif
#endif

#ifndef MAM_DEBUG
#define MAM_DEBUG 0
#endif

enum mam_rank {
	MAM_RANK_PAPER = 0,    /* creation and destruction of the paper API's one environment */
	MAM_RANK_REGISTRY = 1, /* the list of all pools; creation of default pools */
	MAM_RANK_POST = 2,     /* one per growable heap: the memory published to its kernels */
	MAM_RANK_GROW = 3,     /* one per pool: calls to the source */
	MAM_RANK_STREAM = 4,   /* one per pool: calls to the driver about fences */
	MAM_RANK_CACHE = 5,    /* one per pool: the list of thread caches */
	MAM_RANK_POOL = 6,     /* one per pool: its segments; not held across source calls */
	MAM_RANK_SOURCE = 7,   /* a source's own metadata */
	MAM_RANK_LOG = 8
};

struct mam_lock {
	_Atomic uint32_t word;  /* see above */
	_Atomic uint32_t wakes; /* atomic; count of releases that woke a thread; may wrap */
	const char *name;       /* lock: none, set at init */
	enum mam_rank rank;     /* lock: none, set at init */
};

#define MAM_LOCK_INIT(lock_rank, lock_name)    \
	{                                      \
		0, 0, (lock_name), (lock_rank) \
	}

void mam_lock_init(struct mam_lock *lock, enum mam_rank rank, const char *name);
void mam_lock_fini(struct mam_lock *lock);

/*
 * mam_lock_reinit - in the only thread of a forked child: free a lock that the parent held at the
 * fork.
 */
void mam_lock_reinit(struct mam_lock *lock);

/* If the word was not 0: spin, then sleep. If the word was 2 at release: wake one waiter. */
void mam_lock_wait(struct mam_lock *lock);
bool mam_lock_wait_within(struct mam_lock *lock, uint64_t max_ns);
bool mam_lock_wait_once(struct mam_lock *lock);
void mam_lock_wake(struct mam_lock *lock);

/*
 * Returns whether this is the process's only thread. Then there is no contention, and mam saves the
 * locked instructions, 10 ns each, as the C library does. No thread starts while a lock is held,
 * since code under a lock does not call out of mam.
 */
static inline bool mam_lock_alone(void)
{
#ifdef MAM_HAVE_SINGLE_THREADED
	return __libc_single_threaded != 0;
#else
	return false;
#endif
}

static inline void mam_lock_enter(struct mam_lock *lock)
{
	uint32_t free = 0;

	if (mam_lock_alone() && atomic_load_explicit(&lock->word, memory_order_relaxed) == 0)
		atomic_store_explicit(&lock->word, 1, memory_order_relaxed);
	else if (!atomic_compare_exchange_strong_explicit(
			 &lock->word, &free, 1, memory_order_acquire, memory_order_relaxed))
		mam_lock_wait(lock);
}

static inline void mam_lock_leave(struct mam_lock *lock)
{
	if (mam_lock_alone())
		atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
	else if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		mam_lock_wake(lock);
}

/* The checks of MAM_DEBUG builds; other builds compile the calls away. */
void mam_lock_taking(const struct mam_lock *lock);
void mam_lock_releasing(const struct mam_lock *lock);

static inline void mam_lock_take(struct mam_lock *lock)
{
	if (MAM_DEBUG)
		mam_lock_taking(lock);
	mam_lock_enter(lock);
}

/*
 * mam_lock_take_within - for threads that may not wait for long critical sections. Returns false,
 * without the lock, if it was not free for `max_ns` nanoseconds and a wake-up. 0: one attempt.
 */
static inline bool mam_lock_take_within(struct mam_lock *lock, uint64_t max_ns)
{
	uint32_t free = 0;
	bool taken;

	if (MAM_DEBUG)
		mam_lock_taking(lock);
	taken = atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
							memory_order_relaxed) ||
		(max_ns != 0 && mam_lock_wait_within(lock, max_ns));
	if (MAM_DEBUG && !taken)
		mam_lock_releasing(lock);
	return taken;
}

/*
 * mam_lock_take_or_look - take the lock, or return false as soon as its holder has released it: for
 * threads that may have what they need by then, and otherwise call again.
 */
static inline bool mam_lock_take_or_look(struct mam_lock *lock)
{
	uint32_t free = 0;
	bool taken;

	if (MAM_DEBUG)
		mam_lock_taking(lock);
	taken = atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
							memory_order_relaxed) ||
		mam_lock_wait_once(lock);
	if (MAM_DEBUG && !taken)
		mam_lock_releasing(lock);
	return taken;
}

static inline void mam_lock_release(struct mam_lock *lock)
{
	if (MAM_DEBUG)
		mam_lock_releasing(lock);
	mam_lock_leave(lock);
}

/*
 * mam_lock_take_for_fork, mam_lock_release_for_fork - without the check: around fork() one thread
 * takes the locks of every pool, pool after pool. This cannot cause a deadlock, since no thread
 * holds locks of two pools otherwise.
 */
static inline void mam_lock_take_for_fork(struct mam_lock *lock)
{
	mam_lock_enter(lock);
}

static inline void mam_lock_release_for_fork(struct mam_lock *lock)
{
	mam_lock_leave(lock);
}

#endif
