/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_opencl.h - port.h's words in OpenCL C 3.0, for the bitmap and the pages.
 *
 * OpenCL C has no warps that every device knows: here each lane is a warp of its own, so a mask has
 * one bit, and what asks other lanes of it asks nobody. What is served together elsewhere goes its
 * way alone.
 *
 * The device must have 64-bit atomics (cl_khr_int64_base_atomics, cl_khr_int64_extended_atomics),
 * and the orders acquire and release at the device's scope. Compile with -cl-std=CL3.0 and -I to
 * where heap/ is. A pointer into device memory is written MAM_GLOBAL; others are private.
 */
#ifndef MAM_HEAP_PORT_OPENCL_H
#define MAM_HEAP_PORT_OPENCL_H

#if !defined(__OPENCL_C_VERSION__) || __OPENCL_C_VERSION__ < 300
#error "mam's device code needs OpenCL C 3.0: build the program with -cl-std=CL3.0"
#endif
#if !defined(cl_khr_int64_base_atomics) || !defined(cl_khr_int64_extended_atomics)
#error "mam's device code needs 64-bit atomics: this device has none"
#endif
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

typedef uint uint32_t;
typedef ulong uint64_t;

#define MAM_RELAXED memory_order_relaxed
#define MAM_ACQUIRE memory_order_acquire
#define MAM_RELEASE memory_order_release
#define MAM_ACQ_REL memory_order_acq_rel
#define MAM_SEQ_CST memory_order_seq_cst
#define MAM_AT_BLOCK memory_scope_work_group
#define MAM_AT_DEVICE memory_scope_device
#define MAM_AT_SYSTEM memory_scope_all_svm_devices

#define MAM_KFN static inline __attribute__((unused))
#define MAM_KSLOW static __attribute__((noinline, unused))
#define MAM_KBOTH static inline __attribute__((unused))
#define MAM_KERNEL(name) __kernel void name(__global void *argument)
#define MAM_GLOBAL __global
#define MAM_SHARED(type, name)                                                                  \
	__local type name##_storage;                                                            \
	__local type *const name = &name##_storage
#define MAM_KASSERT(truth) ((void)0)

#define mam_thread() ((uint32_t)get_local_id(0))
#define mam_block() ((uint32_t)get_group_id(0))
#define mam_block_threads() ((uint32_t)get_local_size(0))
#define mam_grid_blocks() ((uint32_t)get_num_groups(0))
#define mam_block_leader() (get_local_linear_id() == 0)
#define mam_lane() 0u
#define mam_smid() 0u
#define mam_warpid() 0u
#define mam_clock() ((uint64_t)0)
#define mam_nanosleep(ns) ((void)(ns))
#define mam_syncthreads() barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)

#define MAM_CL32(where) ((volatile __global atomic_uint *)(where))
#define MAM_CL64(where) ((volatile __global atomic_ulong *)(where))

#define mam_atomic_load32(where, order, scope)                                                  \
	atomic_load_explicit(MAM_CL32(where), order, scope)
#define mam_atomic_load64(where, order, scope)                                                  \
	atomic_load_explicit(MAM_CL64(where), order, scope)
#define mam_atomic_store32(where, value, order, scope)                                          \
	atomic_store_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_store64(where, value, order, scope)                                          \
	atomic_store_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_or32(where, value, order, scope)                                             \
	atomic_fetch_or_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_or64(where, value, order, scope)                                             \
	atomic_fetch_or_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_and32(where, value, order, scope)                                            \
	atomic_fetch_and_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_and64(where, value, order, scope)                                            \
	atomic_fetch_and_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_add32(where, value, order, scope)                                            \
	atomic_fetch_add_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_add64(where, value, order, scope)                                            \
	atomic_fetch_add_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_xchg32(where, value, order, scope)                                           \
	atomic_exchange_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_xchg64(where, value, order, scope)                                           \
	atomic_exchange_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)

/* What a failed compare-and-swap of order `order` is: its acquire half. */
#define MAM_ON_FAILURE(order)                                                                   \
	((order) == memory_order_acq_rel   ? memory_order_acquire                               \
	 : (order) == memory_order_release ? memory_order_relaxed                               \
					   : (order))

MAM_KFN uint32_t mam_atomic_cas32(MAM_GLOBAL uint32_t *where, uint32_t expected, uint32_t desired,
				  memory_order order, memory_scope scope)
{
	(void)atomic_compare_exchange_strong_explicit(MAM_CL32(where), &expected, desired, order,
						      MAM_ON_FAILURE(order), scope);
	return expected;
}

MAM_KFN uint64_t mam_atomic_cas64(MAM_GLOBAL uint64_t *where, uint64_t expected, uint64_t desired,
				  memory_order order, memory_scope scope)
{
	(void)atomic_compare_exchange_strong_explicit(MAM_CL64(where), &expected, desired, order,
						      MAM_ON_FAILURE(order), scope);
	return expected;
}

#define mam_fence(order, scope) atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, order, scope)

#define mam_warp_active() 1u
#define mam_warp_ballot(mask, truth) ((truth) ? (uint32_t)(mask) : 0u)
#define mam_warp_shuffle32(mask, value, lane) ((void)(lane), (uint32_t)(value))
#define mam_warp_shuffle64(mask, value, lane) ((void)(lane), (uint64_t)(value))
#define mam_warp_match32(mask, value) ((void)(value), (uint32_t)(mask))
#define mam_warp_match64(mask, value) ((void)(value), (uint32_t)(mask))
#define mam_warp_sync(mask) ((void)(mask))

#define mam_popc32(x) ((uint32_t)popcount((uint32_t)(x)))
#define mam_popc64(x) ((uint32_t)popcount((uint64_t)(x)))
#define mam_clz64(x) ((uint32_t)clz((uint64_t)(x)))

MAM_KFN uint32_t mam_ffs32(uint32_t x)
{
	return x ? 32 - (uint32_t)clz(x & (~x + 1)) : 0;
}

MAM_KFN uint32_t mam_ffs64(uint64_t x)
{
	return x ? 64 - (uint32_t)clz(x & (~x + 1)) : 0;
}

#endif
