/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch.h - reuse memory that threads read without a lock, once no thread reads it any more.
 *
 * Epoch-based reclamation. A thread reads such memory inside a section, from mam_epoch_enter() to
 * mam_epoch_leave(). Sections nest, also in signal handlers, and may last long. To reuse an object:
 *   1. make it unreachable: a section that begins now cannot find it;
 *   2. call mam_epoch_retire() and keep the number that it returns with the object;
 *   3. reuse the object as soon as that number is less than the result of mam_epoch_oldest(): every
 *      section that may have found the object has ended.
 *
 *   reader                               another thread
 *   enter  since = now                   make it unreachable, now = now + 1
 *          (nothing)                     membarrier(): every thread executes a full fence
 *          is it reachable?              read the `since` of every thread
 *
 * Without a fence, the reader's store to `since` could still be invisible when the reader has found
 * the object. The rare thread that reuses memory executes that fence on behalf of the readers
 * (barrier.h). If the system cannot do that, each reader executes one.
 *
 * The only thread of a process needs no section. (As with locks, no thread starts inside a
 * section.)
 *
 * Bound: a section costs two stores. Threads' records are reused: their number never exceeds the
 * peak number of concurrent threads. If a thread gets no record, no memory is ever reused again.
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
	_Atomic uint64_t since;        /* atomic; epoch in which the section began; 0: no section */
	bool fences;                   /* lock: none, set when the thread got the record */
	bool used;                     /* lock: epoch; a thread has it */
	struct mam_epoch_record *next; /* lock: none, set at creation */
};

extern _Atomic uint64_t mam_epoch_now; /* atomic; from 1 */
/* The thread's record; NULL: it has none yet. */
extern _Thread_local struct mam_epoch_record *mam_epoch_mine
	__attribute__((tls_model("initial-exec")));

/* mam_epoch_join - get a record for the thread. Never NULL. */
struct mam_epoch_record *mam_epoch_join(void);

/* A section in progress. NULL: none is needed, or it is nested in another, which lasts longer. */
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
		atomic_store_explicit(&mine->since, now, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	return (struct mam_section){ mine };
}

static inline void mam_epoch_leave(struct mam_section section)
{
	if (section.record != NULL)
		atomic_store_explicit(&section.record->since, 0, memory_order_release);
}

/* mam_epoch_retire - returns the number for an object that was just made unreachable. */
uint64_t mam_epoch_retire(void);

/* mam_epoch_oldest - no thread reads objects with a lower number. Costs a system call. */
uint64_t mam_epoch_oldest(void);

/* Around a fork. In the child only the calling thread's section remains. */
void mam_epoch_fork_prepare(void);
void mam_epoch_fork_parent(void);
void mam_epoch_fork_child(void);

#endif
