/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - what structures that grow in kernels stand on: an allocator, and words for pointers.
 *
 * 1. The allocator is a value of type MAM_DS_BASE, told to whatever may grow or give back, with two
 *    calls: mam_ds_alloc(base, bytes), NULL where there is no room, at a multiple of 16; and
 *    mam_ds_free(base, block), by any lane of any kernel. In CUDA and in the simulator it is the
 *    base of coalescers (coalesce/base.h), with the same promises: a heap of objects, CUDA's own
 *    malloc(), or any two functions. OpenCL C has no pointers to functions: there the program says
 *    what the three are before it includes this.
 * 2. A pointer that others may change is a uint64_t, 0 for none, so that port.h's atomics reach it.
 *    Devices with addresses of 32 bits have room in it too.
 *
 * Lanes of a warp that come together to a call that adds leave it together, as the base serves those
 * that ask at the same time by one request: lanes that part in a tree and stay apart ask one by one. On
 * an H100 a list of a million edges took 6.3 times as long to become a graph as over a pointer that
 * only rises, and takes 1.8 times as long since none parts. What is given back counts as much: it was
 * nodes of those that came second, given back one by one, after which lanes stayed apart.
 */
#ifndef MAM_DS_BASE_H
#define MAM_DS_BASE_H

#include "heap/port.h"
#include "heap/lanes.h"

#if defined(__OPENCL_C_VERSION__)
#if !defined(MAM_DS_BASE) || !defined(mam_ds_alloc) || !defined(mam_ds_free)
#error "define MAM_DS_BASE, mam_ds_alloc(base, bytes) and mam_ds_free(base, block) before mam's structures"
#endif
/* Before the pointee of a pointer into memory that MAM_SHARED() made. */
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
