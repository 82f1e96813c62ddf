/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handshake.h - a thread's own data, entered without a locked instruction, which others may still
 * stop.
 *
 *   owner                                another
 *   enter  busy = 1                      stop   request = 1
 *          (nothing)                            membarrier(): every thread passes a full fence
 *          request == 0? else leave             wait until busy == 0
 *   leave  busy = 0                      go     request = 0
 *
 * Without a fence between them the owner's store to busy could still be unseen when it has read
 * request. The fence that the owner saves at each turn is made in its place by membarrier() at the
 * rare stop: when it returns, either the owner's busy can be seen, or its read comes later and sees
 * the request. Where the system has no membarrier (older kernels, seccomp) the owner pays: a locked
 * exchange, some 10 ns.
 *
 * What each did is seen by the other: stop reads the 0 that leave released, and enter the 0 that go
 * released. An owner that saw the request touched nothing, so its busy of a moment does no harm;
 * one whose store was on its way at the fence is waited for.
 *
 * Of several who want to stop one owner one at a time may: they hold a lock of theirs from stop to
 * go. An owner that was refused waits for that lock before it tries again.
 *
 * Source: the membarrier(2) manual page; D. Dice, H. Huang, M. Yang, "Asymmetric Dekker
 * Synchronization", 2001.
 */
#ifndef MAM_CACHE_HANDSHAKE_H
#define MAM_CACHE_HANDSHAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mam_handshake {
	_Atomic uint32_t busy;    /* written by the owner alone */
	_Atomic uint32_t request; /* written by others, under their lock */
	bool fences;              /* lock: none, set at init */
};

/* mam_handshake_prepare - asks the system for membarrier, once; mam_handshake_init does so too. */
void mam_handshake_prepare(void);
void mam_handshake_init(struct mam_handshake *hand);

/* mam_handshake_stop_begin for each of several, then _fence once, then _stop_end for each. */
static inline void mam_handshake_stop_begin(struct mam_handshake *hand)
{
	atomic_store(&hand->request, 1);
}

void mam_handshake_fence(void);
void mam_handshake_stop_end(struct mam_handshake *hand); /* waits for the owner to leave */

static inline void mam_handshake_go(struct mam_handshake *hand)
{
	atomic_store_explicit(&hand->request, 0, memory_order_release);
}

/* False: somebody stopped it, or the thread is inside already (a signal handler, a listener). */
static inline bool mam_handshake_enter(struct mam_handshake *hand)
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

static inline void mam_handshake_leave(struct mam_handshake *hand)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&hand->busy, 0, memory_order_release);
}

static inline bool mam_handshake_is_inside(const struct mam_handshake *hand)
{
	return atomic_load_explicit(&hand->busy, memory_order_relaxed) != 0;
}

/* mam_handshake_use_fences - for tests: owners made from now on pay the exchange, or do not. */
void mam_handshake_use_fences(bool use);

#endif
