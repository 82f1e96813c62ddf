/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - the basis of structures that grow in kernels: an allocator, and a type for pointers.
 *
 * 1. The allocator is a value of type MAM_DS_BASE, passed to every call that may grow or free, with
 *    two functions: mam_ds_alloc(base, bytes) returns a multiple of 16, or NULL if there is no
 *    memory; any lane of any kernel may call mam_ds_free(base, block). In CUDA and in the simulator
 *    it is the base of coalescers (coalesce/base.h), with the same guarantees: a heap of objects,
 *    CUDA's own malloc(), or any two functions. OpenCL C has no pointers to functions: there the
 *    program defines the three names before it includes this.
 * 2. A pointer that other lanes may change is a uint64_t, 0 for NULL, so that port.h's atomics work
 *    on it. 32-bit addresses fit too.
 *
 * Lanes that are converged when they call an operation that adds are also converged when it
 * returns, as the base serves converged requests by one request. Lanes that diverge in a tree and
 * stay diverged make separate requests. On an H100, building a graph from a list of a million edges
 * took 6.3 times as long as on a bump allocator while lanes diverged, and takes 1.8 times as long
 * now. Frees matter as much: lanes diverged when they freed, one by one, the nodes that lost the
 * race to the tree.
 */
#ifndef MAM_DS_BASE_H
#define MAM_DS_BASE_H

#include "device/port.h"
#include "device/lanes.h"

#if defined(__OPENCL_C_VERSION__)
#if !defined(MAM_DS_BASE) || !defined(mam_ds_alloc) || !defined(mam_ds_free)
#error "define MAM_DS_BASE, mam_ds_alloc(base, bytes) and mam_ds_free(base, block) before mam's structures"
#endif
/* Address space of a pointer into memory of MAM_SHARED(). */
#define MAM_DS_SHARED __local
#else
#define MAM_DS_SHARED
#ifndef MAM_DS_BASE
#include "coalesce/base.h"
#define MAM_DS_BASE struct mam_kbase
#define mam_ds_alloc(base, bytes) mam_base_alloc(base, bytes)
#define mam_ds_free(base, block) mam_base_free(base, block)
#endif
#endif

#define MAM_DS_WORD(pointer) ((uint64_t)(uintptr_t)(pointer))
#define MAM_DS_POINTER(type, word) ((MAM_GLOBAL type *)(uintptr_t)(word))

#endif
