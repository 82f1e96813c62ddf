/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing1_mpi.h - what listing1.cu needs of an MPI whose ranks are threads. Its functions are in a
 * library; who made that has given those that allocate the coalesce parameter, by hand.
 */
#ifndef MAM_TESTS_COALESCE_TOOL_LISTING1_MPI_H
#define MAM_TESTS_COALESCE_TOOL_LISTING1_MPI_H

#include <mam/collective.cuh>

typedef int MPI_Datatype;
typedef int MPI_Comm;

#define MPI_INT ((MPI_Datatype)4)
#define MPI_COMM_WORLD ((MPI_Comm)0)

extern __device__ int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type,
				   void *receive, int receive_count, MPI_Datatype receive_type,
				   MPI_Comm comm,
				   enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE);

#endif
