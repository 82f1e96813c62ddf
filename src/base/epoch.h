/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch.h - reuse memory that threads read without a lock, once the last of them has left it.
 *
 * Epoch-based reclamation. A thread reads such memory inside a section, from mam_epoch_enter() to
 * mam_epoch_leave(). Sections nest, also in signal handlers, and may last long. To reuse an object:
 *   1. make it unreachable: a section that begins now cannot find it;
 *   2. ask mam_epoch_retire() for a number, and keep it with the object;
 *   3. it may be reused as soon as that number is less than what mam_epoch_oldest() returns: every
 *      section that may have found it has ended.
 *
 *   reader                               another thread
 *   enter  since = now                   make it unreachable, now = now + 1
 *          (nothing)                     membarrier(): every thread executes a full fence
 *          is it reachable?              read the `since` of every thread
 *
 * Without a fence the reader's store to `since` could still be invisible when it has found the
 * object. The fence that readers save is executed in their place by the rare thread that reuses
 * (barrier.h); where the system cannot do that, readers execute one.
 *
 * The only thread of a process needs no section. (As with locks: none starts inside of one.)
 *
 * Bound: a section costs two stores. Records of threads are reused: there are never more than threads
 * at one time. If a thread gets no record, nothing is ever reused again.
 *
 * Source: K. Fraser, "Practical lock-freedom", University of Cambridge, 2004, section 5.2.3.
 */
#ifndef MAM_BASE_EPOCH_H
#define MAM_BASE_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h" /* mam_lock_alone() */

struct mam_epoch_record {
	_Atomic uint64_t since;        /* atomic; the epoch in which the section began; 0: in none */
	bool fences;                   /* lock: none, set when the thread got the record */
	bool used;                     /* lock: epoch; a thread has it */
	struct mam_epoch_record *next; /* lock: none, set when it was made */
};

extern _Atomic uint64_t mam_epoch_now; /* atomic; from 1 */
/* The thread's record; NULL: it has none yet. */
extern _Thread_local struct mam_epoch_record *mam_epoch_mine
	__attribute__((tls_model("initial-exec")));

/* mam_epoch_join - a record for the thread. Never NULL. */
struct mam_epoch_record *mam_epoch_join(void);

/* A section in progress. NULL: none is needed, or it is inside of another one, which lasts longer. */
struct mam_section {
	struct mam_epoch_record *record;
};

static inline struct mam_section mam_epoch_enter(void)
{
	struct mam_epoch_record *mine;
	uint64_t now;

	if (mam_lock_alone())
		return (struct mam_section){ NULL };
	mine = mam_epoch_mine;
	if (__builtin_expect(mine == NULL, 0))
		mine = mam_epoch_join();
	if (atomic_load_explicit(&mine->since, memory_order_relaxed) != 0)
		return (struct mam_section){ NULL };
	now = atomic_load_explicit(&mam_epoch_now, memory_order_acquire);
	if (__builtin_expect(mine->fences, 0))
		atomic_exchange(&mine->since, now);
	else
		atomic_store_explicit(&mine->since, now, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return (struct mam_section){ mine };
}

static inline void mam_epoch_leave(struct mam_section section)
{
	if (section.record != NULL)
		atomic_store_explicit(&section.record->since, 0, memory_order_release);
}

/* mam_epoch_retire - the number of an object that was just made unreachable. */
uint64_t mam_epoch_retire(void);

/* mam_epoch_oldest - objects with a lower number are read by no thread. Costs a system call. */
uint64_t mam_epoch_oldest(void);

/* Around a fork. In the child only the calling thread's section is left. */
void mam_epoch_fork_prepare(void);
void mam_epoch_fork_parent(void);
void mam_epoch_fork_child(void);

#endif
