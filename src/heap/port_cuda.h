/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_cuda.h - port.h's words in CUDA, sm_70 and later.
 *
 * Atomics are the compiler's builtins with an order and a scope (CUDA 13).
 */
#ifndef MAM_HEAP_PORT_CUDA_H
#define MAM_HEAP_PORT_CUDA_H

#include <stdint.h>

#define MAM_RELAXED __NV_ATOMIC_RELAXED
#define MAM_ACQUIRE __NV_ATOMIC_ACQUIRE
#define MAM_RELEASE __NV_ATOMIC_RELEASE
#define MAM_ACQ_REL __NV_ATOMIC_ACQ_REL
#define MAM_SEQ_CST __NV_ATOMIC_SEQ_CST
#define MAM_AT_BLOCK __NV_THREAD_SCOPE_BLOCK
#define MAM_AT_DEVICE __NV_THREAD_SCOPE_DEVICE
#define MAM_AT_SYSTEM __NV_THREAD_SCOPE_SYSTEM

#define MAM_KFN static __device__ __forceinline__
#define MAM_KSLOW static __device__ __noinline__
#define MAM_KBOTH static __host__ __device__ __forceinline__
#define MAM_KERNEL(name) extern "C" __global__ void name(void *argument)
#define MAM_GLOBAL
#define MAM_SHARED(type, name)                                                                  \
	__shared__ type name##_storage;                                                         \
	type *const name = &name##_storage
#ifdef MAM_KERNEL_DEBUG
#define MAM_KASSERT(truth)                                                                      \
	do {                                                                                    \
		if (!(truth))                                                                   \
			__trap();                                                               \
	} while (0)
#else
#define MAM_KASSERT(truth) ((void)0)
#endif

#define mam_thread() (threadIdx.x)
#define mam_block() (blockIdx.x)
#define mam_block_threads() (blockDim.x)
#define mam_grid_blocks() (gridDim.x)
#define mam_syncthreads() __syncthreads()
#define mam_nanosleep(ns) __nanosleep(ns)
#define mam_clock() ((uint64_t)clock64())

MAM_KFN uint32_t mam_lane(void)
{
	uint32_t lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

MAM_KFN uint32_t mam_smid(void)
{
	uint32_t id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}

MAM_KFN uint32_t mam_warpid(void)
{
	uint32_t id;

	asm volatile("mov.u32 %0, %%warpid;" : "=r"(id));
	return id;
}

#define MAM_P32(where) ((unsigned int *)(where))
#define MAM_P64(where) ((unsigned long long *)(where))
#define MAM_V64(value) ((unsigned long long)(value))

#define mam_atomic_load32(where, order, scope) __nv_atomic_load_n(MAM_P32(where), order, scope)
#define mam_atomic_load64(where, order, scope)                                                  \
	((uint64_t)__nv_atomic_load_n(MAM_P64(where), order, scope))
#define mam_atomic_store32(where, value, order, scope)                                          \
	__nv_atomic_store_n(MAM_P32(where), value, order, scope)
#define mam_atomic_store64(where, value, order, scope)                                          \
	__nv_atomic_store_n(MAM_P64(where), MAM_V64(value), order, scope)
#define mam_atomic_or32(where, value, order, scope)                                             \
	__nv_atomic_fetch_or(MAM_P32(where), value, order, scope)
#define mam_atomic_or64(where, value, order, scope)                                             \
	((uint64_t)__nv_atomic_fetch_or(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_atomic_and32(where, value, order, scope)                                            \
	__nv_atomic_fetch_and(MAM_P32(where), value, order, scope)
#define mam_atomic_and64(where, value, order, scope)                                            \
	((uint64_t)__nv_atomic_fetch_and(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_atomic_add32(where, value, order, scope)                                            \
	__nv_atomic_fetch_add(MAM_P32(where), value, order, scope)
#define mam_atomic_add64(where, value, order, scope)                                            \
	((uint64_t)__nv_atomic_fetch_add(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_atomic_xchg32(where, value, order, scope)                                           \
	__nv_atomic_exchange_n(MAM_P32(where), value, order, scope)
#define mam_atomic_xchg64(where, value, order, scope)                                           \
	((uint64_t)__nv_atomic_exchange_n(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_fence(order, scope) __nv_atomic_thread_fence(order, scope)

/* What a failed compare-and-swap of order `order` is: its acquire half. */
#define MAM_ON_FAILURE(order)                                                                   \
	((order) == MAM_ACQ_REL ? MAM_ACQUIRE : (order) == MAM_RELEASE ? MAM_RELAXED : (order))
#define mam_atomic_cas32(where, expected, desired, order, scope)                                \
	__extension__({                                                                         \
		unsigned int mam_seen = (expected);                                             \
		(void)__nv_atomic_compare_exchange_n(MAM_P32(where), &mam_seen, desired, false, \
						     order, MAM_ON_FAILURE(order), scope);      \
		mam_seen;                                                                       \
	})
#define mam_atomic_cas64(where, expected, desired, order, scope)                                \
	__extension__({                                                                         \
		unsigned long long mam_seen = (expected);                                       \
		(void)__nv_atomic_compare_exchange_n(MAM_P64(where), &mam_seen,                 \
						     MAM_V64(desired), false, order,            \
						     MAM_ON_FAILURE(order), scope);             \
		(uint64_t)mam_seen;                                                             \
	})

#define mam_warp_active() __activemask()
#define mam_warp_ballot(mask, truth) __ballot_sync(mask, truth)
#define mam_warp_shuffle32(mask, value, lane) __shfl_sync(mask, (unsigned int)(value), (int)(lane))
#define mam_warp_shuffle64(mask, value, lane)                                                   \
	((uint64_t)__shfl_sync(mask, MAM_V64(value), (int)(lane)))
#define mam_warp_match32(mask, value) __match_any_sync(mask, (unsigned int)(value))
#define mam_warp_match64(mask, value) __match_any_sync(mask, MAM_V64(value))
#define mam_warp_sync(mask) __syncwarp(mask)

#define mam_popc32(x) ((uint32_t)__popc(x))
#define mam_popc64(x) ((uint32_t)__popcll(x))
#define mam_ffs32(x) ((uint32_t)__ffs((int)(x)))
#define mam_ffs64(x) ((uint32_t)__ffsll((long long)(x)))
#define mam_clz64(x) ((uint32_t)__clzll((long long)(x)))

#endif
