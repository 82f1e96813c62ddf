/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.c - the order of locks, checked.
 *
 * Each thread keeps the ranks it holds as bits of one word. Taking rank r is allowed when no bit at or above r is set,
 * so of one rank a thread holds one lock at a time. Only fork takes a rank of every pool (mam_lock_take_for_fork).
 */
#include "base/lock.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local unsigned held;

void mam_lock_init(struct mam_lock *lock, enum mam_rank rank, const char *name)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->name = name;
	lock->rank = rank;
}

void mam_lock_fini(struct mam_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

void mam_lock_reinit(struct mam_lock *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	held &= ~(1u << lock->rank);
}

void mam_lock_taking(const struct mam_lock *lock)
{
	unsigned bit = 1u << lock->rank;

	if (held >= bit) {
		fprintf(stderr, "mam: lock '%s' (rank %d) taken while ranks %#x are held: wrong order\n", lock->name,
		        (int)lock->rank, held);
		abort();
	}
	held |= bit;
}

void mam_lock_releasing(const struct mam_lock *lock)
{
	unsigned bit = 1u << lock->rank;

	if ((held & bit) == 0) {
		fprintf(stderr, "mam: lock '%s' released by a thread that does not hold it\n", lock->name);
		abort();
	}
	held &= ~bit;
}
