/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_cuda.h - the primitives of port.h in CUDA, sm_70 and later.
 *
 * Atomics with an order and a scope are the compiler's builtins where it has them (port_builtin.h),
 * otherwise PTX (port_ptx.h): the same instructions either way. CUDA 11.8 and later, and clang with
 * the toolkit headers that it supports.
 */
#ifndef MAM_DEVICE_PORT_CUDA_H
#define MAM_DEVICE_PORT_CUDA_H

#include <stdint.h>

#include "device/port_cuda_hip.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "mam's device code needs sm_70 or later: compile with -arch=sm_70 or a later one"
#endif

/* Loads of memory that is constant while kernels run may be cached. */
#define mam_constant32(where) __ldg((const unsigned int *)(where))
#define mam_constant64(where) ((uint64_t)__ldg((const unsigned long long *)(where)))
#define mam_constant_pointer(where) ((void *)mam_constant64(where))
/* Values that change rarely: a load may return a stale value for as long as the kernel runs. */
#define mam_stale64(where) mam_constant64(where)
#ifdef MAM_KERNEL_DEBUG
#define MAM_KASSERT(truth)        \
	do {                      \
		if (!(truth))     \
			__trap(); \
	} while (0)
#else
#define MAM_KASSERT(truth) ((void)0)
#endif

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

/* Nanoseconds; one clock for the whole device. */
MAM_KFN uint64_t mam_timer(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/*
 * The builtins came with CUDA 12.8; clang has none. MAM_PORT_PTX is for tests: it selects PTX with
 * a compiler that has both.
 */
#if defined(MAM_PORT_PTX) || defined(__clang__) || !defined(__CUDACC_VER_MAJOR__) || \
	__CUDACC_VER_MAJOR__ < 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 8)
#include "device/port_ptx.h"
#else
#include "device/port_builtin.h"
#endif

/*
 * ORs in the caller's own bit: it is set already, but without it nvcc 13.0 assumes that the result,
 * and masks derived from it, are the same in all lanes. If two groups of a warp that arrived one
 * after the other are in the same function at the same time, a collective then gets the mask of one
 * of them, and lanes of the other abort the kernel with an illegal instruction. Seen on an H100,
 * each time, where lanes that left a loop one by one free objects of mixed sizes and allocate
 * others; with the bit, never.
 */
#define mam_warp_active() (__activemask() | 1u << mam_lane())
/*
 * ANDs with the mask, because of nvcc 13.0's code for sm_90: if two groups of a warp are in the
 * same function at the same time, each with a mask of its own, the vote may cover both. Seen on an
 * H100: pages were lost in a third of the runs whose lanes slept at random; with the mask, in none.
 */
#define mam_warp_ballot(mask, truth) (__ballot_sync(mask, truth) & (mask))
#define mam_warp_shuffle32(mask, value, lane) __shfl_sync(mask, (unsigned int)(value), (int)(lane))
#define mam_warp_shuffle64(mask, value, lane) \
	((uint64_t)__shfl_sync(mask, (unsigned long long)(value), (int)(lane)))
#define mam_warp_match32(mask, value) (__match_any_sync(mask, (unsigned int)(value)) & (mask))
#if defined(__clang__) && __clang_major__ < 15
/* These emit a result of 64 bits for the builtin, which ptxas rejects. */
MAM_KFN uint32_t mam_warp_match64(uint32_t mask, uint64_t value)
{
	uint32_t group;

	asm volatile("match.any.sync.b64 %0, %1, %2;"
		     : "=r"(group)
		     : "l"(value), "r"(mask)
		     : "memory");
	return group & mask;
}
#else
#define mam_warp_match64(mask, value) (__match_any_sync(mask, (unsigned long long)(value)) & (mask))
#endif
#define mam_warp_sync(mask) __syncwarp(mask)

#define mam_popc32(x) ((uint32_t)__popc(x))
#define mam_popc64(x) ((uint32_t)__popcll(x))
#define mam_ffs32(x) ((uint32_t)__ffs((int)(x)))
#define mam_ffs64(x) ((uint32_t)__ffsll((long long)(x)))
#define mam_clz64(x) ((uint32_t)__clzll((long long)(x)))

#endif
