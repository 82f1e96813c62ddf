/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - a mutex that knows its place in the order of locks.
 *
 * The enum below is the order: a thread may take a lock only while every lock it holds has a lower rank. Two threads
 * that keep to it cannot wait for each other in a circle. Debug builds (MAM_DEBUG) check each take and abort with both
 * names; other builds compile to a plain mutex.
 */
#ifndef MAM_BASE_LOCK_H
#define MAM_BASE_LOCK_H

#include <pthread.h>

#ifndef MAM_DEBUG
#define MAM_DEBUG 0
#endif

enum mam_rank {
	MAM_RANK_REGISTRY = 1, /* the list of all pools; defaults being made */
	MAM_RANK_GROW = 2,     /* one per pool: its talks with the source */
	MAM_RANK_POOL = 3,     /* one per pool: its segments; never held across a call to the source */
	MAM_RANK_SOURCE = 4,   /* a source's own books */
	MAM_RANK_LOG = 5
};

struct mam_lock {
	pthread_mutex_t mutex;
	const char *name;   /* lock: none, set at init */
	enum mam_rank rank; /* lock: none, set at init */
};

#define MAM_LOCK_INIT(lock_rank, lock_name) { PTHREAD_MUTEX_INITIALIZER, (lock_name), (lock_rank) }

void mam_lock_init(struct mam_lock *lock, enum mam_rank rank, const char *name);
void mam_lock_fini(struct mam_lock *lock);

/* mam_lock_reinit - in the only thread of a fork's child: make a lock that the parent held at the fork free again. */
void mam_lock_reinit(struct mam_lock *lock);

/* The checks behind MAM_DEBUG; no-ops to the compiler otherwise. */
void mam_lock_taking(const struct mam_lock *lock);
void mam_lock_releasing(const struct mam_lock *lock);

static inline void mam_lock_take(struct mam_lock *lock)
{
	if (MAM_DEBUG)
		mam_lock_taking(lock);
	pthread_mutex_lock(&lock->mutex);
}

static inline void mam_lock_release(struct mam_lock *lock)
{
	if (MAM_DEBUG)
		mam_lock_releasing(lock);
	pthread_mutex_unlock(&lock->mutex);
}

/*
 * mam_lock_take_for_fork, mam_lock_release_for_fork - without the check: around fork() one thread takes the locks of every
 * pool, pool after pool. No circle can come of it, since no thread ever holds locks of two pools otherwise.
 */
static inline void mam_lock_take_for_fork(struct mam_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

static inline void mam_lock_release_for_fork(struct mam_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

#endif
