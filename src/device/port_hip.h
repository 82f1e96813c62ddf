/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_hip.h - the primitives of port.h in HIP, for AMD GPUs with 32 lanes per wavefront (gfx10 and
 * later, in their default mode).
 *
 * It compiles (tests/device/port_hip.sh). No AMD GPU has run it.
 *
 * 1. Atomics and fences are builtins of clang, with an order and a scope.
 * 2. A wavefront has one program counter. Lanes of a mask that execute the same call are those that
 *    are active there, so collectives need no mask; results are ANDed with it, as in port_cuda.h.
 *    A lane that waits in a loop for another lane of its wavefront may wait forever. CUDA schedules
 *    lanes separately. Whether device code relies on that has not been examined.
 * 3. There are no instructions that match values: one step for each distinct value.
 * 4. mam_smid() and mam_warpid() are hints: here the numbers of the block and of the warp in it.
 */
#ifndef MAM_DEVICE_PORT_HIP_H
#define MAM_DEVICE_PORT_HIP_H

#include <hip/hip_runtime.h>
#include <stdint.h>

#include "device/port_cuda_hip.h"

#if defined(__HIP_DEVICE_COMPILE__) && __AMDGCN_WAVEFRONT_SIZE != 32
#error "mam's device code needs wavefronts of 32 lanes: compile for gfx10 or later"
#endif

#define mam_constant32(where) (*(const uint32_t *)(where))
#define mam_constant64(where) (*(const uint64_t *)(where))
#define mam_constant_pointer(where) ((void *)mam_constant64(where))
#define mam_stale64(where) (*(const volatile uint64_t *)(where))
#ifdef MAM_KERNEL_DEBUG
#define MAM_KASSERT(truth)                \
	do {                              \
		if (!(truth))             \
			__builtin_trap(); \
	} while (0)
#else
#define MAM_KASSERT(truth) ((void)0)
#endif

#define mam_smid() mam_block()
#define mam_warpid() (mam_thread() / 32)
#define mam_clock() ((uint64_t)__builtin_readcyclecounter())
/* That clock has 100 MHz. */
#define mam_timer() ((uint64_t)wall_clock64() * 10)
/* The instruction takes a constant: 512 cycles, whatever the caller requests. */
#define mam_nanosleep(ns) ((void)(ns), __builtin_amdgcn_s_sleep(8))

#define MAM_RELAXED __ATOMIC_RELAXED
#define MAM_ACQUIRE __ATOMIC_ACQUIRE
#define MAM_RELEASE __ATOMIC_RELEASE
#define MAM_ACQ_REL __ATOMIC_ACQ_REL
#define MAM_SEQ_CST __ATOMIC_SEQ_CST
#define MAM_AT_BLOCK __HIP_MEMORY_SCOPE_WORKGROUP
#define MAM_AT_SYSTEM __HIP_MEMORY_SCOPE_SYSTEM
#ifdef MAM_KPEERS
#define MAM_AT_DEVICE MAM_AT_SYSTEM
#else
#define MAM_AT_DEVICE __HIP_MEMORY_SCOPE_AGENT
#endif

#define mam_atomic_load16(where, order, scope) __hip_atomic_load(where, order, scope)
#define mam_atomic_load32(where, order, scope) __hip_atomic_load(where, order, scope)
#define mam_atomic_load64(where, order, scope) __hip_atomic_load(where, order, scope)
#define mam_atomic_store16(where, value, order, scope) \
	__hip_atomic_store(where, (uint16_t)(value), order, scope)
#define mam_atomic_store32(where, value, order, scope) \
	__hip_atomic_store(where, (uint32_t)(value), order, scope)
#define mam_atomic_store64(where, value, order, scope) \
	__hip_atomic_store(where, (uint64_t)(value), order, scope)
#define mam_atomic_or32(where, value, order, scope) \
	__hip_atomic_fetch_or(where, (uint32_t)(value), order, scope)
#define mam_atomic_or64(where, value, order, scope) \
	__hip_atomic_fetch_or(where, (uint64_t)(value), order, scope)
#define mam_atomic_and32(where, value, order, scope) \
	__hip_atomic_fetch_and(where, (uint32_t)(value), order, scope)
#define mam_atomic_and64(where, value, order, scope) \
	__hip_atomic_fetch_and(where, (uint64_t)(value), order, scope)
#define mam_atomic_add32(where, value, order, scope) \
	__hip_atomic_fetch_add(where, (uint32_t)(value), order, scope)
#define mam_atomic_add64(where, value, order, scope) \
	__hip_atomic_fetch_add(where, (uint64_t)(value), order, scope)
#define mam_atomic_xchg32(where, value, order, scope) \
	__hip_atomic_exchange(where, (uint32_t)(value), order, scope)
#define mam_atomic_xchg64(where, value, order, scope) \
	__hip_atomic_exchange(where, (uint64_t)(value), order, scope)

/* The order of a failed compare-and-swap of order `order`: its acquire half. */
#define MAM_ON_FAILURE(order) \
	((order) == MAM_ACQ_REL ? MAM_ACQUIRE : (order) == MAM_RELEASE ? MAM_RELAXED : (order))
/* clang-format off */
#define MAM_HIP_CAS(type, where, expected, desired, order, scope)                               \
	__extension__({                                                                         \
		type mam_seen = (type)(expected);                                               \
		(void)__hip_atomic_compare_exchange_strong(where, &mam_seen, (type)(desired),   \
							   order, MAM_ON_FAILURE(order), scope); \
		mam_seen;                                                                       \
	})
/* clang-format on */
#define mam_atomic_cas16(where, expected, desired, order, scope) \
	MAM_HIP_CAS(uint16_t, where, expected, desired, order, scope)
#define mam_atomic_cas32(where, expected, desired, order, scope) \
	MAM_HIP_CAS(uint32_t, where, expected, desired, order, scope)
#define mam_atomic_cas64(where, expected, desired, order, scope) \
	MAM_HIP_CAS(uint64_t, where, expected, desired, order, scope)

/* Both arguments are constants at each call: one fence instruction remains. */
MAM_KFN void mam_hip_fence(int order, int scope)
{
	if (order == MAM_RELAXED)
		return;
	if (order == MAM_SEQ_CST && scope == __HIP_MEMORY_SCOPE_SYSTEM)
		__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
	else if (order == MAM_SEQ_CST && scope == __HIP_MEMORY_SCOPE_AGENT)
		__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
	else if (order == MAM_SEQ_CST)
		__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
	else if (scope == __HIP_MEMORY_SCOPE_SYSTEM)
		__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");
	else if (scope == __HIP_MEMORY_SCOPE_AGENT)
		__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
	else
		__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
}
#define mam_fence(order, scope) mam_hip_fence(order, scope)

#define mam_popc32(x) ((uint32_t)__builtin_popcount((uint32_t)(x)))
#define mam_popc64(x) ((uint32_t)__builtin_popcountll((unsigned long long)(x)))
#define mam_ffs32(x) ((uint32_t)__builtin_ffs((int)(x)))
#define mam_ffs64(x) ((uint32_t)__builtin_ffsll((long long)(x)))

MAM_KFN uint32_t mam_clz64(uint64_t x)
{
	return x ? (uint32_t)__builtin_clzll(x) : 64;
}

MAM_KFN uint32_t mam_lane(void)
{
	return __builtin_amdgcn_mbcnt_lo(~0u, 0);
}

MAM_KFN uint32_t mam_warp_active(void)
{
	return (uint32_t)__ballot(true);
}

MAM_KFN uint32_t mam_warp_ballot(uint32_t mask, bool truth)
{
	return (uint32_t)__ballot(truth) & mask;
}

MAM_KFN uint32_t mam_warp_shuffle32(uint32_t mask, uint32_t value, uint32_t lane)
{
	(void)mask;
	return (uint32_t)__builtin_amdgcn_ds_bpermute((int)(lane << 2), (int)value);
}

MAM_KFN uint64_t mam_warp_shuffle64(uint32_t mask, uint64_t value, uint32_t lane)
{
	uint32_t low = mam_warp_shuffle32(mask, (uint32_t)value, lane);

	return (uint64_t)mam_warp_shuffle32(mask, (uint32_t)(value >> 32), lane) << 32 | low;
}

MAM_KFN uint32_t mam_warp_match64(uint32_t mask, uint64_t value)
{
	uint32_t rest = mask, group = 0, equal;

	while (rest) {
		bool same = mam_warp_shuffle64(mask, value, mam_ffs32(rest) - 1) == value;

		equal = mam_warp_ballot(mask, same);
		if (same)
			group = equal;
		rest &= ~equal;
	}
	return group;
}
#define mam_warp_match32(mask, value) mam_warp_match64(mask, (uint32_t)(value))

MAM_KFN void mam_warp_sync(uint32_t mask)
{
	(void)mask;
	__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
	__builtin_amdgcn_wave_barrier();
}

#endif
