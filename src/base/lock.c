/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.c - waiting for a lock, and a check of the lock order.
 *
 * Each thread keeps the ranks it holds as bits of one word. A thread may take rank r only if no bit
 * at or above r is set, so it holds at most one lock of each rank. Only fork takes the same rank of
 * every pool (mam_lock_take_for_fork).
 */
#include "base/lock.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * Spin for longer than most critical sections, but less than a sleep. Threads that poll the word
 * continuously steal its cache line, and threads that sleep take a microsecond to wake. Million
 * operations per second of 2, 4, 8 and 16 threads of an H100's host on one pool: 100 polls and then
 * sleep 2.7, 1.7, 1.3, 1.2; pauses of up to 64, 20 us in all, 4.8, 2.7, 1.6, 1.1; up to 256 7.1,
 * 3.9, 2.1, 1.3; up to 1,024, 50 us in all, 9.6, 5.8, 3.4, 2.0.
 */
#define FIRST_PAUSES 2
#define MAX_PAUSES 512
#define CLOCK_PAUSES 64
#define MAX_NS 50000
#define ONCE_NS 5000 /* its holder calls the driver */
#define NS_PER_S UINT64_C(1000000000)

static _Thread_local unsigned held;

void mam_lock_init(struct mam_lock *lock, enum mam_rank rank, const char *name)
{
	atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->wakes, 0, memory_order_relaxed);
	lock->name = name;
	lock->rank = rank;
}

void mam_lock_fini(struct mam_lock *lock)
{
	(void)lock; /* the word owns no resources */
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

/* Pause for a random time. Its bound doubles each time, so that waiters do not poll in step. */
static void back_off(unsigned *max)
{
	static _Thread_local uint32_t dice;
	unsigned pauses;

	if (dice == 0)
		dice = (uint32_t)(uintptr_t)&dice | 1;
	dice = dice * 1664525u + 1013904223u;
	for (pauses = 1 + (dice >> 16) % *max; pauses != 0; pauses--)
		pause_briefly();
	if (*max < MAX_PAUSES)
		*max *= 2;
}

/* True: the lock was taken. */
static bool spin(struct mam_lock *lock, uint64_t max_ns)
{
	unsigned max = FIRST_PAUSES;
	uint64_t end = 0;

	for (;;) {
		uint32_t free = 0;

		if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_weak_explicit(
			    &lock->word, &free, 1, memory_order_acquire, memory_order_relaxed))
			return true;
		if (max < CLOCK_PAUSES) {
			/* too early to read the clock, which takes as long as the pauses */
		} else if (end == 0) {
			end = mam_clock_ns() + max_ns;
		} else if (mam_clock_ns() > end) {
			return false;
		}
		back_off(&max);
	}
}

void mam_lock_wait(struct mam_lock *lock)
{
	if (spin(lock, MAX_NS))
		return;
	/*
	 * From here on the word is 2: the thread that releases the lock must wake one waiter, and
	 * the woken thread may not be the last waiter.
	 */
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
		(void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void wake_one(struct mam_lock *lock)
{
	(void)syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/*
 * A thread that sleeps here need not take the lock after it was woken, so it wakes the next one:
 * otherwise the others could sleep although the lock is free. But not if the lock was never
 * released since this call set the word to 2: then the next release wakes one, and threads that all
 * look in vain would wake each other as long as the lock is held.
 */
bool mam_lock_wait_once(struct mam_lock *lock)
{
	uint32_t wakes = atomic_load_explicit(&lock->wakes, memory_order_acquire);

	if (spin(lock, ONCE_NS) ||
	    atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) == 0)
		return true;
	(void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	/* The newest value, whichever thread woke this one; an older first value is harmless. */
	if (atomic_fetch_add_explicit(&lock->wakes, 0, memory_order_acq_rel) != wakes)
		wake_one(lock);
	return false;
}

/*
 * A woken waiter rechecks the word before it gives up, and leaves it at 2. The next release then
 * wakes another waiter, if there is one, so that no wake-up is lost.
 */
bool mam_lock_wait_within(struct mam_lock *lock, uint64_t max_ns)
{
	uint64_t began = mam_clock_ns();

	if (spin(lock, max_ns < MAX_NS ? max_ns : MAX_NS))
		return true;
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0) {
		uint64_t gone = mam_clock_ns() - began;
		struct timespec left;

		if (gone >= max_ns)
			return false;
		left.tv_sec = (time_t)((max_ns - gone) / NS_PER_S);
		left.tv_nsec = (long)((max_ns - gone) % NS_PER_S);
		(void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, &left, NULL, 0);
	}
	return true;
}

void mam_lock_wake(struct mam_lock *lock)
{
	atomic_fetch_add_explicit(&lock->wakes, 1, memory_order_release);
	wake_one(lock);
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
