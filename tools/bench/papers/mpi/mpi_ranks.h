/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_ranks.h - a small MPI in a kernel: each thread of the grid is a rank, and ranks send one
 * another messages.
 *
 * 1. A rank has an inbox: a list to which any rank prepends a message by one compare-and-swap, and
 *    which only its owner takes, all of it at once.
 * 2. The owner queues messages that it does not need yet, in the order in which they were sent. A
 *    receive, by sender and tag, searches this queue first.
 * 3. The sender allocates a message, and the receiver frees it.
 * 4. A waiting rank sleeps between two polls. It gives up when its time is up, and notifies all
 *    others: from then on no rank waits.
 *
 * Source: messages, as "Coalescing Memory Allocations for GPU MPI" describes GPU MPI: malloc, copy,
 * free. The transport between ranks is ours.
 *
 * All ranks must be resident at the same time. Lanes of a warp may wait for one another, so a wait
 * contains no collective call. In code built on these calls, a rank first sends its messages of a
 * step, and then waits for the others' messages of the same step. Then it does not matter whether
 * the lanes of a warp wait for the slowest of them after each step: the messages of a step depend
 * only on earlier steps.
 *
 * Bound: a wait ends. The receiver reads data that was written before its sender released the
 * message, even if other ranks prepended theirs later: those belong to the same chain of
 * compare-and-swaps, the end of which the owner acquires.
 */
#ifndef MAM_TOOLS_BENCH_MPI_RANKS_H
#define MAM_TOOLS_BENCH_MPI_RANKS_H

#include "bench/papers/mpi/mpi_calls.h"

#define MPI_SLEEP_MIN 32u /* ns */
#define MPI_SLEEP_MAX 512u

struct mpi_rank {
	const struct device_job *job;
	uint32_t me, ranks, count; /* count: doubles of a message */
};

MAM_KFN struct mpi_rank mpi_rank_of(const struct device_job *job)
{
	struct mpi_rank rank;

	rank.job = job;
	rank.me = device_thread();
	rank.ranks = device_threads();
	rank.count = job->rounds;
	return rank;
}

MAM_KFN double *mpi_payload(struct mpi_message *message)
{
	return (double *)(message + 1);
}

MAM_KFN size_t mpi_message_bytes(struct mpi_rank rank)
{
	return sizeof(struct mpi_message) + rank.count * sizeof(double);
}

/* From now on no rank waits. */
MAM_KFN void mpi_give_up(struct mpi_rank rank)
{
	mam_atomic_store64(&rank.job->found->spare[MPI_GAVE_UP], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN bool mpi_gave_up(struct mpi_rank rank)
{
	return mam_atomic_load64(&rank.job->found->spare[MPI_GAVE_UP], MAM_RELAXED, MAM_AT_DEVICE);
}

/* A pause of a wait that began at `begin`; returns false if the wait must end. */
MAM_KFN bool mpi_pause(struct mpi_rank rank, uint64_t begin, uint32_t *ns)
{
	if (mpi_gave_up(rank))
		return false;
	if (mam_timer() - begin > rank.job->own[0]) {
		mpi_give_up(rank);
		return false;
	}
	mam_nanosleep(*ns);
	*ns = *ns < MPI_SLEEP_MAX ? *ns * 2 : *ns;
	return true;
}

/* ---- sending ---------------------------------------------------------------------------------- */

/* A NULL `message` means that its allocation failed. The receiver owns it from now on. */
MAM_KFN void mpi_send(struct mpi_rank rank, struct mpi_message *message, uint32_t to, uint32_t tag,
		      const double *values)
{
	uint64_t *inbox = &rank.job->got[to], was, now;
	uint32_t i;

	if (message == NULL) {
		device_report(&rank.job->found->none, 1);
		mpi_give_up(rank);
		return;
	}
	message->from = rank.me;
	message->tag = tag;
	for (i = 0; i < rank.count; i++)
		mpi_payload(message)[i] = values[i];
	now = mam_atomic_load64(inbox, MAM_RELAXED, MAM_AT_DEVICE);
	do {
		was = now;
		message->next = was;
		now = mam_atomic_cas64(inbox, was, (uintptr_t)message, MAM_RELEASE, MAM_AT_DEVICE);
	} while (now != was);
}

/* ---- receiving -------------------------------------------------------------------------------- */

/* Appends the new messages to the queue, the oldest first. Returns false if there are none. */
MAM_KFN bool mpi_fetch(struct mpi_rank rank)
{
	uint64_t *last = &rank.job->got[rank.ranks + rank.me], *inbox = &rank.job->got[rank.me];
	uint64_t at, next, row = 0;

	if (mam_atomic_load64(inbox, MAM_RELAXED, MAM_AT_DEVICE) == 0)
		return false;
	at = mam_atomic_xchg64(inbox, 0, MAM_ACQUIRE, MAM_AT_DEVICE);
	for (; at != 0; at = next) {
		struct mpi_message *message = (struct mpi_message *)(uintptr_t)at;

		next = message->next;
		message->next = row;
		row = at;
	}
	while (*last != 0)
		last = &((struct mpi_message *)(uintptr_t)*last)->next;
	*last = row;
	return true;
}

/* Takes a queued message; NULL if there is none. */
MAM_KFN struct mpi_message *mpi_find(struct mpi_rank rank, uint32_t from, uint32_t tag)
{
	uint64_t *at = &rank.job->got[rank.ranks + rank.me];

	MAM_ROLLED
	while (*at != 0) {
		struct mpi_message *message = (struct mpi_message *)(uintptr_t)*at;

		if (message->from == from && message->tag == tag) {
			*at = message->next;
			return message;
		}
		at = &message->next;
	}
	return NULL;
}

/*
 * The caller frees the message. Returns NULL if it did not arrive in time, which is counted, or if
 * ranks no longer wait.
 */
MAM_KFN struct mpi_message *mpi_receive(struct mpi_rank rank, uint32_t from, uint32_t tag)
{
	const uint64_t begin = mam_timer();
	struct mpi_message *message = mpi_find(rank, from, tag);
	uint32_t ns = MPI_SLEEP_MIN;

	MAM_ROLLED
	while (message == NULL) {
		if (mpi_fetch(rank))
			message = mpi_find(rank, from, tag);
		else if (!mpi_pause(rank, begin, &ns))
			break;
	}
	device_report(&rank.job->found->beyond, message == NULL);
	return message;
}

/* ---- all together ----------------------------------------------------------------------------- */

/*
 * All threads of the grid call it, for the `nth` time: 1, 2, ... Returns false, in all threads of
 * the block, if a rank gave up.
 */
MAM_KFN bool mpi_barrier(struct mpi_rank rank, uint32_t nth)
{
	uint64_t *arrived = &rank.job->found->spare[MPI_ARRIVED], begin;
	uint32_t ns = MPI_SLEEP_MIN;
	bool waits = true;

	MAM_SHARED(uint32_t, good);
	mam_syncthreads();
	if (mam_thread() == 0) {
		begin = mam_timer();
		(void)mam_atomic_add64(arrived, 1, MAM_ACQ_REL, MAM_AT_DEVICE);
		MAM_ROLLED
		while (waits && mam_atomic_load64(arrived, MAM_ACQUIRE, MAM_AT_DEVICE) <
					(uint64_t)nth * mam_grid_blocks())
			waits = mpi_pause(rank, begin, &ns);
		*good = waits && !mpi_gave_up(rank);
	}
	mam_syncthreads();
	return *good != 0;
}

#endif
