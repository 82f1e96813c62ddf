/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_job.h - inputs of a kernel of `mam bench mpi` besides struct device_job, and the arrays that
 * it writes; shared by the host and the kernels.
 *
 * A job of unit_*:
 *   rounds   floats that each thread allocates
 *   flags    a work of enum mpi_unit_work, and MPI_TOGETHER
 *   own[0]   the work's result, which is the same for all, as the bits of a float
 *   got      a thread's address, 0: none
 *   more     MPI_TIMES for each thread: cycles of malloc, of the work, of free
 * A job of alltoall_* and tree_*:
 *   rounds   doubles of a message
 *   flags    of tree_*: an enum mpi_operation
 *   own[0]   ns that a rank waits before it gives up
 *   got      two for each rank: its inbox, all zeros before and, except for lost messages, after
 *   more     MPI_TIMES for each rank, of which the first is the operation's ns
 * Counters in `found`: none, objects (with correct results), corrupt, crooked, refused, beyond
 * (messages that did not arrive), cycles[0] and [1]: clock and timer of the first thread.
 */
#ifndef MAM_TOOLS_BENCH_MPI_JOB_H
#define MAM_TOOLS_BENCH_MPI_JOB_H

#include "bench/device/device_job.h"

/* A job's heap. */
struct mpi_heap {
	void *heap;    /* a struct mam_kheap *; NULL: CUDA's own */
	void *map;     /* a struct mam_kmap *; NULL: the way needs none */
	void *buffers; /* a struct mam_buffers * */
};

/*
 * Ways in addition to those of coalesce/way.h, following MAM_WAYS: the heap's calls for a warp, for
 * a block.
 */
#define MPI_WARP 7u
#define MPI_BLOCK 8u

enum mpi_unit_work { MPI_LINEAR, MPI_QUADRATIC, MPI_CHECK };
#define MPI_WORK 3u
#define MPI_TOGETHER 4u /* threads of a block synchronize before the work */

enum mpi_operation { MPI_REDUCE, MPI_BROADCAST, MPI_ALLTOALL };

#define MPI_TIMES 3u

/* Indices in found->spare. */
#define MPI_GAVE_UP 0 /* a rank gave up: no rank waits any longer */
#define MPI_ARRIVED 1 /* blocks at barriers */

/* A message; its doubles follow it. */
struct mpi_message {
	uint64_t next; /* in an inbox, or in the queue of unmatched messages; 0: none */
	uint32_t from, tag;
};

#endif
