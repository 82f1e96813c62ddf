/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_opencl_12.h - atomics with an order and a scope out of OpenCL C 1.2's, which have neither.
 *
 * 1. What changes a word is atomic_NAME(), of 64 bits atom_NAME(); what reads or writes it alone is a
 *    volatile access, which is one access of 64 bits where addresses have as many. A program that
 *    defines MAM_CL_ATOMIC_READS has read-modify-writes there, too: for Oclgrind, which takes other
 *    reads of a word that is changed atomically for races.
 * 2. What releases has a mem_fence() before it, what acquires one behind it. All have the device's
 *    scope, whatever is asked for.
 *
 * What 1.2 leaves to the implementation: atomics are ordered by nothing in it, and mem_fence() orders
 * what one work item did for others of its work group. That work items of other groups see it in
 * that order is a promise of the device's, not of the language. KMA (Spliet and others, GPGPU-7, 2014,
 * section 6.1) counts on it as well: it holds on CPUs whose stores are seen in order, as x86's, and
 * where a fence is made for the whole device. On NVIDIA's it no longer is, hence port_opencl.h's 2; on
 * others ask for OpenCL C 3.0's orders.
 */
#ifndef MAM_HEAP_PORT_OPENCL_12_H
#define MAM_HEAP_PORT_OPENCL_12_H

#define MAM_RELAXED 0
#define MAM_ACQUIRE 1
#define MAM_RELEASE 2
#define MAM_ACQ_REL 3
#define MAM_SEQ_CST 4
#define MAM_AT_BLOCK 0
#define MAM_AT_DEVICE 1
#define MAM_AT_SYSTEM 2

#define MAM_CL32(where) ((volatile __global uint *)(where))
#define MAM_CL64(where) ((volatile __global ulong *)(where))

/*
 * On a CPU mem_fence() may be nothing, for the compiler too; clang's own fence is one instruction, or
 * none where stores are seen in order.
 */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define MAM_CL_FENCE() __atomic_thread_fence(__ATOMIC_ACQ_REL)
#else
#define MAM_CL_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
/* MAM_SEQ_CST is for this port no more than MAM_ACQ_REL of each access. */

/* In front of an access, and behind it. `order` is a constant where the call stands. */
MAM_KFN void mam_cl_before(int order)
{
	if (order >= MAM_RELEASE)
		MAM_CL_FENCE();
}

MAM_KFN void mam_cl_behind(int order)
{
	if (order == MAM_ACQUIRE || order >= MAM_ACQ_REL)
		MAM_CL_FENCE();
}

#if defined(MAM_CL_ATOMIC_READS)
#define MAM_CL_READ32(where) atomic_or(MAM_CL32(where), 0u)
#define MAM_CL_READ64(where) atom_or(MAM_CL64(where), (ulong)0)
#define MAM_CL_WRITE32(where, value) ((void)atomic_xchg(MAM_CL32(where), value))
#define MAM_CL_WRITE64(where, value) ((void)atom_xchg(MAM_CL64(where), value))
#else
#define MAM_CL_READ32(where) (*MAM_CL32(where))
#define MAM_CL_READ64(where) (*MAM_CL64(where))
#define MAM_CL_WRITE32(where, value) ((void)(*MAM_CL32(where) = (value)))
#define MAM_CL_WRITE64(where, value) ((void)(*MAM_CL64(where) = (value)))
#endif

#define MAM_CL_LOAD(name, word, read)                                                           \
	MAM_KFN word mam_cl_##name(__global word *where, int order)                             \
	{                                                                                       \
		word seen;                                                                      \
                                                                                                \
		if (order == MAM_SEQ_CST)                                                       \
			MAM_CL_FENCE();                                                         \
		seen = read(where);                                                             \
		mam_cl_behind(order);                                                           \
		return seen;                                                                    \
	}
#define MAM_CL_STORE(name, word, write)                                                         \
	MAM_KFN void mam_cl_##name(__global word *where, word value, int order)                 \
	{                                                                                       \
		mam_cl_before(order);                                                           \
		write(where, value);                                                            \
		if (order == MAM_SEQ_CST)                                                       \
			MAM_CL_FENCE();                                                         \
	}
#define MAM_CL_CHANGE(name, word, space, change)                                                \
	MAM_KFN word mam_cl_##name(__global word *where, word value, int order)                 \
	{                                                                                       \
		word was;                                                                       \
                                                                                                \
		mam_cl_before(order);                                                           \
		was = change(space(where), value);                                              \
		mam_cl_behind(order);                                                           \
		return was;                                                                     \
	}
#define MAM_CL_CAS(name, word, space, cas)                                                      \
	MAM_KFN word mam_cl_##name(__global word *where, word expected, word desired, int order) \
	{                                                                                       \
		word was;                                                                       \
                                                                                                \
		mam_cl_before(order);                                                           \
		was = cas(space(where), expected, desired);                                     \
		mam_cl_behind(order);                                                           \
		return was;                                                                     \
	}

MAM_CL_LOAD(load32, uint32_t, MAM_CL_READ32)
MAM_CL_LOAD(load64, uint64_t, MAM_CL_READ64)
MAM_CL_STORE(store32, uint32_t, MAM_CL_WRITE32)
MAM_CL_STORE(store64, uint64_t, MAM_CL_WRITE64)
MAM_CL_CHANGE(or32, uint32_t, MAM_CL32, atomic_or)
MAM_CL_CHANGE(or64, uint64_t, MAM_CL64, atom_or)
MAM_CL_CHANGE(and32, uint32_t, MAM_CL32, atomic_and)
MAM_CL_CHANGE(and64, uint64_t, MAM_CL64, atom_and)
MAM_CL_CHANGE(add32, uint32_t, MAM_CL32, atomic_add)
MAM_CL_CHANGE(add64, uint64_t, MAM_CL64, atom_add)
MAM_CL_CHANGE(xchg32, uint32_t, MAM_CL32, atomic_xchg)
MAM_CL_CHANGE(xchg64, uint64_t, MAM_CL64, atom_xchg)
MAM_CL_CAS(cas32, uint32_t, MAM_CL32, atomic_cmpxchg)
MAM_CL_CAS(cas64, uint64_t, MAM_CL64, atom_cmpxchg)

#define mam_atomic_load32(where, order, scope) mam_cl_load32(where, order)
#define mam_atomic_load64(where, order, scope) mam_cl_load64(where, order)
#define mam_atomic_store32(where, value, order, scope) mam_cl_store32(where, value, order)
#define mam_atomic_store64(where, value, order, scope) mam_cl_store64(where, value, order)
#define mam_atomic_or32(where, value, order, scope) mam_cl_or32(where, value, order)
#define mam_atomic_or64(where, value, order, scope) mam_cl_or64(where, value, order)
#define mam_atomic_and32(where, value, order, scope) mam_cl_and32(where, value, order)
#define mam_atomic_and64(where, value, order, scope) mam_cl_and64(where, value, order)
#define mam_atomic_add32(where, value, order, scope) mam_cl_add32(where, value, order)
#define mam_atomic_add64(where, value, order, scope) mam_cl_add64(where, value, order)
#define mam_atomic_xchg32(where, value, order, scope) mam_cl_xchg32(where, value, order)
#define mam_atomic_xchg64(where, value, order, scope) mam_cl_xchg64(where, value, order)
#define mam_atomic_cas32(where, expected, desired, order, scope)                                \
	mam_cl_cas32(where, expected, desired, order)
#define mam_atomic_cas64(where, expected, desired, order, scope)                                \
	mam_cl_cas64(where, expected, desired, order)
#define mam_fence(order, scope)                                                                 \
	do {                                                                                    \
		if ((order) != MAM_RELAXED)                                                     \
			MAM_CL_FENCE();                                                         \
	} while (0)

#endif
