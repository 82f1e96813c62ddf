/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - the primitives in which device code is written, so that one source is CUDA, HIP, a
 * test on the CPU, and (bitmap and pages) OpenCL C.
 *
 * Device code is a C subset that is both C11 and CUDA C++: headers of static functions, without
 * templates, overloads or designated initializers. Every access to data that other lanes may access
 * concurrently goes through one of the calls below, which names its order and its scope. Data that
 * only one lane can see at a time is accessed by plain loads and stores.
 *
 *   MAM_KFN             before a small function, which is inlined
 *   MAM_KSLOW           before a rare one, which is not
 *   MAM_KBOTH           before a small one that host code calls too: without atomics and lanes
 *   MAM_KERNEL(name)    heads a kernel: MAM_KERNEL(fill) { struct job *job = argument; ... }; every kernel takes
 *                       one pointer, `void *argument`
 *   MAM_GLOBAL          before the pointee of a pointer into device memory (OpenCL has address spaces)
 *   MAM_KTABLE          before a constant table in a header
 *   mam_constant32 _constant64 _constant_pointer (where)   loads of memory that is constant while kernels run
 *   MAM_SHARED(type, p) a statement: `p` points to one `type` per block, uninitialized
 *   MAM_KASSERT(true)   checked under the simulator and in debug kernels, nothing elsewhere
 *
 *   mam_thread() mam_block()                  linear numbers of the thread in its block and of the block in its
 *                         grid, x fastest: lane i of warp w is thread 32 * w + i
 *   mam_block_threads() mam_grid_blocks()     threads of a block, blocks of the grid, in all dimensions
 *   mam_block_leader()    true in thread 0 of the block
 *   mam_thread_x() mam_block_x() mam_block_dim_x() mam_grid_dim_x()   and _y() and _z(): coordinates and extents of
 *                         the program's launch. Only reports for users need these
 *   mam_lane() mam_smid() mam_warpid()        the lane in its warp; the SM, and the warp's slot on it: hints
 *   mam_clock() mam_nanosleep(ns)
 *   mam_timer()           ns of a clock that the whole device shares; in the simulator, steps
 *   mam_stale64(where)    a uint64_t * into device memory: returns its value, or a stale one. Writes released
 *                         with it are visible to atomics on addresses that are computed from it
 *   mam_syncthreads()
 *
 *   Orders: MAM_RELAXED MAM_ACQUIRE MAM_RELEASE MAM_ACQ_REL MAM_SEQ_CST. Scopes: MAM_AT_BLOCK, MAM_AT_DEVICE, MAM_AT_SYSTEM.
 *   They must be constants at the call. With MAM_KPEERS, MAM_AT_DEVICE is MAM_AT_SYSTEM in CUDA: other devices see it,
 *   too. `where` is a uint16_t *, uint32_t * or uint64_t *, as the name ends.
 *   mam_atomic_load64(where, order, scope)             also ...32, here and below
 *   mam_atomic_store64(where, value, order, scope)
 *   mam_atomic_or64 _and64 _add64 _xchg64 (where, value, order, scope)      return the old value
 *   mam_atomic_cas64(where, expected, desired, order, scope)                returns the old value: success if it is `expected`;
 *                                                      on failure it has the order's acquire half only
 *   mam_atomic_load16 _store16 _cas16                  the same for two bytes, only these; not in OpenCL
 *   mam_fence(order, scope)
 *
 *   Of a warp; `mask` has the participating lanes, including the caller, and all of them must execute
 *   the same call. It may be evaluated twice: pass a variable, not a call. Only mam_warp_sync() orders memory.
 *   mam_warp_active()                       lanes that happen to be active together; guarantees nothing more
 *   mam_warp_ballot(mask, true)             the lanes of `mask` that pass true
 *   mam_warp_shuffle32 _shuffle64 (mask, value, lane)   `value` of `lane`, which must be in `mask`
 *   mam_warp_match32 _match64 (mask, value)             the lanes of `mask` that pass the caller's value
 *   mam_warp_sync(mask)                     writes of each lane before it are visible to all of them after
 *
 *   mam_popc32 _popc64, mam_ffs32 _ffs64 (1 for the lowest bit, 0 if none is set), mam_clz64 (64 for 0)
 */
#ifndef MAM_DEVICE_PORT_H
#define MAM_DEVICE_PORT_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
#include "device/port_opencl.h"
#elif defined(__HIP__) /* not __HIPCC__: HIP's headers define it with nvcc, too */
#include "device/port_hip.h"
#elif defined(__CUDACC__)
#include "device/port_cuda.h"
#elif defined(MAM_SIMT)
#include "device/port_simt.h"
#else
#include "device/port_host.h"
#endif

/*
 * A warp may span several rows of its block, and a row several warps: threadIdx.x alone determines
 * neither the lane nor the warp. So all code uses linear numbers.
 */
#define mam_thread() \
	(mam_thread_x() + mam_block_dim_x() * (mam_thread_y() + mam_block_dim_y() * mam_thread_z()))
#define mam_block() \
	(mam_block_x() + mam_grid_dim_x() * (mam_block_y() + mam_grid_dim_y() * mam_block_z()))
#define mam_block_threads() (mam_block_dim_x() * mam_block_dim_y() * mam_block_dim_z())
#define mam_grid_blocks() (mam_grid_dim_x() * mam_grid_dim_y() * mam_grid_dim_z())
#define mam_block_leader() ((mam_thread_x() | mam_thread_y() | mam_thread_z()) == 0)

#endif
