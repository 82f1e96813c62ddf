/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_opencl.h - the primitives of port.h in OpenCL C.
 *
 * 1. Features of all versions are here: types, numbers of work items, bits.
 * 2. Atomics with an order and a scope are one of three: - NVIDIA's compiler: PTX, an instruction
 *    each (port_ptx.h). It announces 3.0's orders by no feature
 *      macro, and its mem_fence() reaches only the work group.
 *    - OpenCL C 3.0 with the orders acquire and release and the device scope: its own
 *      (port_opencl_30.h).
 *    - otherwise OpenCL C 1.2's atomics, which have no order, between fences (port_opencl_12.h).
 * 3. NVIDIA's compiler: lanes are those of a warp (port_warp_ptx.h), unless the program defines
 *    MAM_CL_LONE. OpenCL C has no warps on every device. Elsewhere each lane is a warp of its own,
 *    so a mask has one bit, and collectives involve no other lane. Lanes that a warp would serve
 *    together proceed alone.
 *
 * The device must have 64-bit atomics (cl_khr_int64_base_atomics, cl_khr_int64_extended_atomics)
 * and addresses of 64 bits. Compile with -cl-std=CL1.2 or later; for 3.0's orders with 3.0, not
 * 2.0. A pointer into device memory is declared with MAM_GLOBAL; others are private.
 */
#ifndef MAM_DEVICE_PORT_OPENCL_H
#define MAM_DEVICE_PORT_OPENCL_H

#if !defined(__OPENCL_C_VERSION__) || __OPENCL_C_VERSION__ < 120
#error "mam's device code needs OpenCL C 1.2: build the program with -cl-std=CL1.2 or -cl-std=CL3.0"
#endif
#if !defined(cl_khr_int64_base_atomics) || !defined(cl_khr_int64_extended_atomics)
#error "mam's device code needs 64-bit atomics: this device has none"
#endif
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

#define MAM_KFN static inline __attribute__((unused))
#define MAM_KSLOW static __attribute__((noinline, unused))
#define MAM_KBOTH static inline __attribute__((unused))
#define MAM_KERNEL(name) __kernel void name(__global void *argument)
#define MAM_GLOBAL __global
#define MAM_SHARED(type, name)       \
	__local type name##_storage; \
	__local type *const name = &name##_storage
#define MAM_KASSERT(truth) ((void)0)

#define mam_thread_x() ((uint32_t)get_local_id(0))
#define mam_thread_y() ((uint32_t)get_local_id(1))
#define mam_thread_z() ((uint32_t)get_local_id(2))
#define mam_block_x() ((uint32_t)get_group_id(0))
#define mam_block_y() ((uint32_t)get_group_id(1))
#define mam_block_z() ((uint32_t)get_group_id(2))
#define mam_block_dim_x() ((uint32_t)get_local_size(0))
#define mam_block_dim_y() ((uint32_t)get_local_size(1))
#define mam_block_dim_z() ((uint32_t)get_local_size(2))
#define mam_grid_dim_x() ((uint32_t)get_num_groups(0))
#define mam_grid_dim_y() ((uint32_t)get_num_groups(1))
#define mam_grid_dim_z() ((uint32_t)get_num_groups(2))
#define mam_smid() 0u
#define mam_warpid() 0u
#define mam_clock() ((uint64_t)0)
#define mam_syncthreads() barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)

#if defined(__NV_CL_C_VERSION)
#include "device/port_ptx.h"
#define mam_nanosleep(ns) mam_cl_nap(ns)
MAM_KFN void mam_cl_nap(uint32_t ns)
{
	asm volatile("nanosleep.u32 %0;" : : "r"(ns));
}
#else
#define mam_nanosleep(ns) ((void)(ns))
#if __OPENCL_C_VERSION__ >= 300 && defined(__opencl_c_atomic_order_acq_rel) && \
	defined(__opencl_c_atomic_scope_device)
#include "device/port_opencl_30.h"
#else
#include "device/port_opencl_12.h"
#endif
#endif

#if defined(__NV_CL_C_VERSION) && !defined(MAM_CL_LONE)
#include "device/port_warp_ptx.h"
#else
#define mam_lane() 0u
#define mam_warp_active() 1u
#define mam_warp_ballot(mask, truth) ((truth) ? (uint32_t)(mask) : 0u)
#define mam_warp_shuffle32(mask, value, lane) ((void)(lane), (uint32_t)(value))
#define mam_warp_shuffle64(mask, value, lane) ((void)(lane), (uint64_t)(value))
#define mam_warp_match32(mask, value) ((void)(value), (uint32_t)(mask))
#define mam_warp_match64(mask, value) ((void)(value), (uint32_t)(mask))
#define mam_warp_sync(mask) ((void)(mask))
#endif

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
