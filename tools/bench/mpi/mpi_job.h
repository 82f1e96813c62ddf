/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_job.h - what a kernel of `mam bench mpi` is told beside struct device_job, and in which of its
 * arrays it tells what; as the host and the kernels both see it.
 *
 * Of a job of unit_*:
 *   rounds   floats each thread asks for
 *   flags    a work of enum mpi_unit_work, and MPI_TOGETHER
 *   own[0]   the work's result, which is the same for all, as the bits of a float
 *   got      a thread's address, 0: none
 *   more     MPI_TIMES for each thread: cycles of malloc, of the work, of free
 * Of a job of alltoall_* and tree_*:
 *   rounds   doubles of a message
 *   flags    of tree_*: an enum mpi_operation
 *   own[0]   ns that a rank waits before it gives up
 *   got      two for each rank: its inbox, all zeros before and, but for what was lost, behind
 *   more     MPI_TIMES for each rank, of which the first is the operation's ns
 * What is counted in `found`: none, objects (whose results are right), corrupt, crooked, refused,
 * beyond (messages that did not come), cycles[0] and [1]: clock and timer of the first thread.
 */
#ifndef MAM_TOOLS_BENCH_MPI_JOB_H
#define MAM_TOOLS_BENCH_MPI_JOB_H

#include "bench/device_job.h"

/* What a job's heap is. */
struct mpi_heap {
	void *heap;    /* a struct mam_kheap *; NULL: CUDA's own */
	void *map;     /* a struct mam_kmap *; NULL: the way needs none */
	void *buffers; /* a struct mam_buffers * */
};

/* Ways beyond those of coalesce/way.h, behind MAM_WAYS: the heap's calls for a warp, for a block. */
#define MPI_WARP 7u
#define MPI_BLOCK 8u

enum mpi_unit_work { MPI_LINEAR, MPI_QUADRATIC, MPI_CHECK };
#define MPI_WORK 3u
#define MPI_TOGETHER 4u /* threads of a block wait for one another before the work */

enum mpi_operation { MPI_REDUCE, MPI_BROADCAST, MPI_ALLTOALL };

#define MPI_TIMES 3u

/* Places in found->spare. */
#define MPI_GAVE_UP 0 /* somebody did: nobody waits any longer */
#define MPI_ARRIVED 1 /* blocks at barriers */

/* A message; its doubles are behind it. */
struct mpi_message {
	uint64_t next; /* in an inbox, or kept aside; 0: none */
	uint32_t from, tag;
};

#endif
