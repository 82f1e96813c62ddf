/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong_lock.c - see wrong_lock.h. A thread that takes the lock with 1 after it slept hides the
 * threads that still sleep from the next release. No thread wakes another one.
 */
#include "wrong_lock.h"

static uint32_t exchange(struct mam_lock *lock)
{
	uint32_t old = 1;

	/* Before it sleeps, the word must be 2. */
	if (!atomic_compare_exchange_strong_explicit(&lock->word, &old, 2, memory_order_acquire,
						     memory_order_relaxed) &&
	    old == 0)
		return atomic_exchange_explicit(&lock->word, 1, memory_order_acquire);
	return old;
}

#undef atomic_exchange_explicit
#define atomic_exchange_explicit(word, value, order) exchange(lock)

#undef syscall
#define syscall(number, word, command, ...)                                                      \
	((command) == FUTEX_WAIT_PRIVATE ? simt_host_syscall(number, word, command, __VA_ARGS__) \
					 : 0)

#define mam_lock_init wrong_lock_init
#define mam_lock_fini wrong_lock_fini
#define mam_lock_reinit wrong_lock_reinit
#define mam_lock_wait wrong_lock_wait
#define mam_lock_wait_within wrong_lock_wait_within
#define mam_lock_wait_once wrong_lock_wait_once
#define mam_lock_wake wrong_lock_wake
#define mam_lock_taking wrong_lock_taking
#define mam_lock_releasing wrong_lock_releasing
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "base/lock.c"
