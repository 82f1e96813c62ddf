/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.c - waiting for a lock, and the order of locks, checked.
 *
 * Each thread keeps the ranks it holds as bits of one word. Taking rank r is allowed when no bit at
 * or above r is set, so of one rank a thread holds one lock at a time. Only fork takes a rank of
 * every pool (mam_lock_take_for_fork).
 */
#include "base/lock.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 100 /* about a microsecond: longer than most holds, shorter than a sleep */

static _Thread_local unsigned held;

void mam_lock_init(struct mam_lock *lock, enum mam_rank rank, const char *name)
{
	atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
	lock->name = name;
	lock->rank = rank;
}

void mam_lock_fini(struct mam_lock *lock)
{
	(void)lock; /* a word holds nothing */
}

void mam_lock_reinit(struct mam_lock *lock)
{
	atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void mam_lock_wait(struct mam_lock *lock)
{
	int spin;

	for (spin = 0; spin < SPINS; spin++) {
		uint32_t free = 0;

		if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_weak_explicit(
			    &lock->word, &free, 1, memory_order_acquire, memory_order_relaxed))
			return;
		pause_briefly();
	}
	/*
	 * From here on the word says 2: whoever releases it must wake one, and the one woken may
	 * not be the last.
	 */
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
		(void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void mam_lock_wake(struct mam_lock *lock)
{
	(void)syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void mam_lock_taking(const struct mam_lock *lock)
{
	unsigned bit = 1u << lock->rank;

	if (held >= bit) {
		fprintf(stderr,
			"mam: lock '%s' (rank %d) taken while ranks %#x are held: wrong order\n",
			lock->name, (int)lock->rank, held);
		abort();
	}
	held |= bit;
}

void mam_lock_releasing(const struct mam_lock *lock)
{
	unsigned bit = 1u << lock->rank;

	if ((held & bit) == 0) {
		fprintf(stderr, "mam: lock '%s' released by a thread that does not hold it\n",
			lock->name);
		abort();
	}
	held &= ~bit;
}
