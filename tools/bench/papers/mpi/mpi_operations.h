/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_operations.h - Reduce, Broadcast and All-to-All of the ranks of mpi_ranks.h, as kernels that
 * time and verify them.
 *
 * All-to-All: in round k = 1 to P - 1 a rank sends a message to rank + k and receives one from rank
 * - k. All threads call malloc in each round, so the static ways coalesce these calls.
 *
 * Reduce: in step s = 0, 1, ... a rank that is an odd multiple of 2^s sends its values to the rank
 * 2^s below, which adds them to its own. Broadcast: the same steps and partners in reverse, and the
 * lower one sends. Not all ranks send in a step: only a dynamic way can coalesce these mallocs.
 *
 * All threads together allocate the two buffers of a rank, as in the report's listing 4. All ranks
 * begin at the same time, after a barrier; each rank's time runs from there until it is done.
 * Reduce and Broadcast are run once before that.
 *
 * A rank that gets no memory, or no message, makes all others stop waiting, and that is counted;
 * but all threads still execute every collective call.
 */
#ifndef MAM_TOOLS_BENCH_MPI_OPERATIONS_H
#define MAM_TOOLS_BENCH_MPI_OPERATIONS_H

#include "bench/papers/mpi/mpi_ranks.h"

/* Element i of the message from rank `from` to rank `to`. */
MAM_KFN double mpi_value(uint32_t from, uint32_t to, uint32_t i)
{
	return (double)from * 65536.0 + (double)to + (double)i * 0.25;
}

/*
 * Allocates the rank's two buffers of `doubles` doubles each, by all threads of the block. On
 * failure no rank continues.
 */
MAM_KFN void mpi_take(unsigned int kind, struct mam_kcoalescer c, struct mpi_rank rank,
		      size_t doubles, double *buffers[2])
{
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < 2; i++) {
		mam_warp_sync(mpi_lanes());
		buffers[i] = (double *)mpi_alloc(kind, c, doubles * sizeof(double));
		if (buffers[i] == NULL) {
			device_report(&rank.job->found->none, 1);
			mpi_give_up(rank);
		}
	}
}

MAM_KFN void mpi_give(unsigned int kind, struct mam_kcoalescer c, struct mpi_rank rank,
		      double *buffers[2])
{
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < 2; i++) {
		if (!mpi_free(kind, c, buffers[i]))
			device_report(&rank.job->found->refused, 1);
	}
}

/* ---- All-to-All ------------------------------------------------------------------------------- */

/*
 * Sends from `a`, which has one part of count doubles per rank, and receives into `b`, one part
 * from each.
 */
MAM_KFN void mpi_exchange(unsigned int kind, struct mam_kcoalescer c, struct mpi_rank rank,
			  const double *a, double *b)
{
	const uint32_t lanes = mpi_lanes();
	struct mpi_message *message;
	uint32_t k, i, to, from;

	for (i = 0; i < rank.count; i++)
		b[(size_t)rank.me * rank.count + i] = a[(size_t)rank.me * rank.count + i];
	MAM_ROLLED
	for (k = 1; k < rank.ranks; k++) {
		to = (rank.me + k) % rank.ranks;
		from = (rank.me + rank.ranks - k) % rank.ranks;
		mam_warp_sync(lanes);
		message = (struct mpi_message *)mpi_alloc(kind, c, mpi_message_bytes(rank));
		mpi_send(rank, message, to, 0, a + (size_t)to * rank.count);
		mam_warp_sync(lanes);
		message = mpi_receive(rank, from, 0);
		if (message != NULL) {
			for (i = 0; i < rank.count; i++)
				b[(size_t)from * rank.count + i] = mpi_payload(message)[i];
			if (!mpi_free(kind, c, message))
				device_report(&rank.job->found->refused, 1);
		}
	}
}

MAM_KFN void mpi_alltoall(unsigned int kind, struct mam_kbase base, const struct device_job *job)
{
	const struct mam_kcoalescer c = mpi_coalescer(base, job);
	const struct mpi_rank rank = mpi_rank_of(job);
	const uint64_t clock = mam_clock(), timer = mam_timer();
	uint32_t other, i, wrong = 0;
	double *buffers[2];
	uint64_t begin;

	mpi_take(kind, c, rank, (size_t)rank.ranks * rank.count, buffers);
	for (other = 0; other < rank.ranks && buffers[0] != NULL; other++)
		for (i = 0; i < rank.count; i++)
			buffers[0][(size_t)other * rank.count + i] = mpi_value(rank.me, other, i);
	if (mpi_barrier(rank, 1)) {
		begin = mam_timer();
		mpi_exchange(kind, c, rank, buffers[0], buffers[1]);
		job->more[rank.me * MPI_TIMES] = mam_timer() - begin;
		for (other = 0; other < rank.ranks; other++)
			for (i = 0; i < rank.count; i++)
				wrong += buffers[1][(size_t)other * rank.count + i] !=
					 mpi_value(other, rank.me, i);
		device_report(&job->found->corrupt, wrong);
		device_report(&job->found->objects, wrong == 0);
	}
	mpi_give(kind, c, rank, buffers);
	mpi_pace(job, clock, timer);
}

/* ---- Reduce and Broadcast --------------------------------------------------------------------- */

/* One step of either: each rank at `bit` exchanges with the rank below it. */
MAM_KFN void mpi_step(unsigned int kind, struct mam_kcoalescer c, struct mpi_rank rank, bool up,
		      uint32_t bit, uint32_t tag, double *b)
{
	const uint32_t place = rank.me & (2 * bit - 1);
	const bool above = place == bit, below = place == 0 && rank.me + bit < rank.ranks;
	const uint32_t other = above ? rank.me - bit : rank.me + bit;
	struct mpi_message *message;
	uint32_t i;

	if (up ? above : below) {
		message = (struct mpi_message *)mpi_alone_alloc(kind, c, mpi_message_bytes(rank));
		mpi_send(rank, message, other, tag, b);
	}
	mam_warp_sync(mpi_lanes()); /* a lane that others wait for here has sent its message */
	if (!(up ? below : above))
		return;
	message = mpi_receive(rank, other, tag);
	if (message == NULL)
		return;
	for (i = 0; i < rank.count; i++)
		b[i] = up ? b[i] + mpi_payload(message)[i] : mpi_payload(message)[i];
	if (!mpi_alone_free(kind, c, message))
		device_report(&rank.job->found->refused, 1);
}

/* All steps: up, rank 0 gets the sum of all; down, all get rank 0's values. */
MAM_KFN void mpi_climb(unsigned int kind, struct mam_kcoalescer c, struct mpi_rank rank, bool up,
		       uint32_t tag, double *b)
{
	uint32_t steps = 0, step;

	while (steps < 31 && 1u << steps < rank.ranks)
		steps++;
	MAM_ROLLED
	for (step = 0; step < steps; step++)
		mpi_step(kind, c, rank, up, 1u << (up ? step : steps - 1 - step), tag, b);
}

/* The final value of rank `me` at place i, where it is defined. */
MAM_KFN double mpi_wanted(struct mpi_rank rank, bool up, uint32_t i)
{
	const double ranks = (double)rank.ranks;

	return up ? 65536.0 * (ranks * (ranks - 1) / 2) + ranks * (double)i * 0.25
		  : mpi_value(0, 0, i);
}

MAM_KFN void mpi_tree(unsigned int kind, struct mam_kbase base, const struct device_job *job)
{
	const struct mam_kcoalescer c = mpi_coalescer(base, job);
	const struct mpi_rank rank = mpi_rank_of(job);
	const uint64_t clock = mam_clock(), timer = mam_timer();
	const bool up = job->flags == MPI_REDUCE;
	uint32_t round, i, wrong = 0;
	double *buffers[2];
	uint64_t begin;
	bool good;

	mpi_take(kind, c, rank, rank.count, buffers);
	MAM_ROLLED
	for (round = 0; round < 2; round++) {
		for (i = 0; i < rank.count && buffers[0] != NULL && buffers[1] != NULL; i++) {
			buffers[0][i] = mpi_value(rank.me, 0, i);
			buffers[1][i] = up || rank.me == 0 ? buffers[0][i] : -1;
		}
		good = mpi_barrier(rank, round + 1);
		if (!good)
			break;
		begin = mam_timer();
		mpi_climb(kind, c, rank, up, round, buffers[1]);
		job->more[rank.me * MPI_TIMES] = mam_timer() - begin;
	}
	for (i = 0; i < rank.count && good && (!up || rank.me == 0); i++)
		wrong += buffers[1][i] != mpi_wanted(rank, up, i);
	device_report(&job->found->corrupt, wrong);
	device_report(&job->found->objects, good && wrong == 0);
	mpi_give(kind, c, rank, buffers);
	mpi_pace(job, clock, timer);
}

#endif
