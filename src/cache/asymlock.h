/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asymlock.h - asymmetric lock: a thread enters its own data without a locked instruction, and
 * other threads can still stop it.
 *
 *   owner                                another
 *   enter  busy = 1                      stop   request = 1
 *          (nothing)                            membarrier(): every thread passes a full fence
 *          request == 0? otherwise leave        wait until busy == 0
 *   leave  busy = 0                      go     request = 0
 *
 * Without a fence between them, the owner's store to `busy` might not be visible yet when it has
 * read `request`. The owner omits this fence at each entry; membarrier() executes it in its place
 * at the rare stop. When membarrier() returns, either the owner's `busy` is visible, or its read
 * comes later and sees the request. Where the system has no membarrier (older kernels, seccomp) the
 * owner executes a locked exchange, which costs some 10 ns.
 *
 * Each side sees the other's writes: stop reads the 0 that leave released, and enter the 0 that go
 * released. An owner that saw the request accessed nothing, so its short `busy` does no harm; stop
 * waits for an owner whose store was in flight at the fence.
 *
 * Only one thread at a time may stop an owner: it holds a lock of the caller from stop to go. An
 * owner that was refused takes that lock before it tries again.
 *
 * Source: the membarrier(2) manual page; D. Dice, H. Huang, M. Yang, "Asymmetric Dekker
 * Synchronization", 2001.
 */
#ifndef MAM_CACHE_ASYMLOCK_H
#define MAM_CACHE_ASYMLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mam_asymlock {
	_Atomic uint32_t busy;    /* written by the owner alone */
	_Atomic uint32_t request; /* written by others, under their lock */
	bool fences;              /* lock: none, set at init */
};

/* mam_asymlock_prepare - register for membarrier, once; mam_asymlock_init does so too. */
void mam_asymlock_prepare(void);
void mam_asymlock_init(struct mam_asymlock *hand);

/* To stop several owners: mam_asymlock_stop_begin for each, _fence once, _stop_end for each. */
static inline void mam_asymlock_stop_begin(struct mam_asymlock *hand)
{
	atomic_store(&hand->request, 1);
}

void mam_asymlock_fence(void);
void mam_asymlock_stop_end(struct mam_asymlock *hand); /* waits for the owner to leave */

static inline void mam_asymlock_go(struct mam_asymlock *hand)
{
	atomic_store_explicit(&hand->request, 0, memory_order_release);
}

/*
 * False: another thread stopped it, or this thread is inside already (a signal handler, a
 * listener).
 */
static inline bool mam_asymlock_enter(struct mam_asymlock *hand)
{
	if (atomic_load_explicit(&hand->busy, memory_order_relaxed) != 0)
		return false;
	if (__builtin_expect(hand->fences, 0))
		atomic_exchange(&hand->busy, 1);
	else
		atomic_store_explicit(&hand->busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load(&hand->request) == 0, 1))
		return true;
	atomic_store_explicit(&hand->busy, 0, memory_order_release);
	return false;
}

static inline void mam_asymlock_leave(struct mam_asymlock *hand)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&hand->busy, 0, memory_order_release);
}

static inline bool mam_asymlock_is_inside(const struct mam_asymlock *hand)
{
	return atomic_load_explicit(&hand->busy, memory_order_relaxed) != 0;
}

/*
 * mam_asymlock_use_fences - for tests: whether owners that are made from now on use the exchange.
 */
void mam_asymlock_use_fences(bool use);

#endif
