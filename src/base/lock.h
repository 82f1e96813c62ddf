/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - a mutex that knows its place in the order of locks.
 *
 * The enum below is the order: a thread may take a lock only while every lock it holds has a lower
 * rank. Two threads that keep to it cannot wait for each other in a circle. Debug builds
 * (MAM_DEBUG) check each take and abort with both names.
 *
 * The mutex itself is one word: 0 free, 1 held, 2 held and someone may sleep. Taking a free one is
 * one compare-and-swap and releasing one that nobody waits for is one exchange, inlined: half the
 * cost of pthread's, and a pool's fast path is little more than its lock.
 * Source: U. Drepper, "Futexes Are Tricky", 2011, mutex 3. We differ in spinning a little before
 * sleeping: what is held under these locks is short.
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
	MAM_RANK_PAPER = 0,    /* the paper's one environment being made or ended */
	MAM_RANK_REGISTRY = 1, /* the list of all pools; defaults being made */
	MAM_RANK_POST = 2,     /* one per heap that grows: what was given to its kernels */
	MAM_RANK_GROW = 3,     /* one per pool: its talks with the source */
	MAM_RANK_STREAM = 4,   /* one per pool: its talks with the driver about fences */
	MAM_RANK_CACHE = 5,    /* one per pool: the list of threads' caches */
	MAM_RANK_POOL = 6,     /* one per pool: its segments; not across source calls */
	MAM_RANK_SOURCE = 7,   /* a source's own books */
	MAM_RANK_LOG = 8
};

struct mam_lock {
	_Atomic uint32_t word; /* as above */
	const char *name;      /* lock: none, set at init */
	enum mam_rank rank;    /* lock: none, set at init */
};

#define MAM_LOCK_INIT(lock_rank, lock_name) \
	{                                   \
		0, (lock_name), (lock_rank) \
	}

void mam_lock_init(struct mam_lock *lock, enum mam_rank rank, const char *name);
void mam_lock_fini(struct mam_lock *lock);

/*
 * mam_lock_reinit - in the only thread of a fork's child: make a lock that the parent held at the
 * fork free again.
 */
void mam_lock_reinit(struct mam_lock *lock);

/* Where the word was not free: spin, then sleep. And where someone may sleep: wake one. */
void mam_lock_wait(struct mam_lock *lock);
bool mam_lock_wait_within(struct mam_lock *lock, uint64_t most_ns);
void mam_lock_wake(struct mam_lock *lock);

/*
 * Is this the process's only thread? Then nobody can contend, and the locked instructions, 10 ns
 * each, are saved, as the C library itself saves them. No thread starts while a lock is held, since
 * nothing under one calls out of mam.
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

/* The checks behind MAM_DEBUG; no-ops to the compiler otherwise. */
void mam_lock_taking(const struct mam_lock *lock);
void mam_lock_releasing(const struct mam_lock *lock);

static inline void mam_lock_take(struct mam_lock *lock)
{
	if (MAM_DEBUG)
		mam_lock_taking(lock);
	mam_lock_enter(lock);
}

/*
 * mam_lock_take_within - for those who may not wait for what others do under the lock: false, and
 * not taken, where it was not free for `most_ns` nanoseconds and a wake-up. 0: one look.
 */
static inline bool mam_lock_take_within(struct mam_lock *lock, uint64_t most_ns)
{
	uint32_t free = 0;
	bool taken;

	if (MAM_DEBUG)
		mam_lock_taking(lock);
	taken = atomic_compare_exchange_strong_explicit(
			&lock->word, &free, 1, memory_order_acquire, memory_order_relaxed) ||
		(most_ns != 0 && mam_lock_wait_within(lock, most_ns));
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
 * takes the locks of every pool, pool after pool. No circle can come of it, since no thread ever
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
