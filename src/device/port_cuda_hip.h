/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_cuda_hip.h - what port_cuda.h and port_hip.h have in common: qualifiers and indices, which the
 * two languages spell alike.
 */
#ifndef MAM_DEVICE_PORT_CUDA_HIP_H
#define MAM_DEVICE_PORT_CUDA_HIP_H

#define MAM_KFN static __device__ __forceinline__
#define MAM_KSLOW static __device__ __attribute__((noinline))
#define MAM_KBOTH static __host__ __device__ __forceinline__
#define MAM_KERNEL(name) extern "C" __global__ void name(void *argument)
#define MAM_GLOBAL
/* In constant memory, whose cache keeps it across acquires. */
#define MAM_KTABLE static __constant__ const
#define MAM_SHARED(type, name)          \
	__shared__ type name##_storage; \
	type *const name = &name##_storage

#define mam_thread_x() (threadIdx.x)
#define mam_thread_y() (threadIdx.y)
#define mam_thread_z() (threadIdx.z)
#define mam_block_x() (blockIdx.x)
#define mam_block_y() (blockIdx.y)
#define mam_block_z() (blockIdx.z)
#define mam_block_dim_x() (blockDim.x)
#define mam_block_dim_y() (blockDim.y)
#define mam_block_dim_z() (blockDim.z)
#define mam_grid_dim_x() (gridDim.x)
#define mam_grid_dim_y() (gridDim.y)
#define mam_grid_dim_z() (gridDim.z)
#define mam_syncthreads() __syncthreads()

#endif
