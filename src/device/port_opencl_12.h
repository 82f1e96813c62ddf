/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_opencl_12.h - atomics with an order and a scope from those of OpenCL C 1.2, which have
 * neither.
 *
 * 1. A read-modify-write is atomic_NAME(), for 64 bits atom_NAME(). A load or a store is a volatile
 *    access, which is one access of 64 bits if addresses have as many. With MAM_CL_ATOMIC_READS
 *    defined they are read-modify-writes, too: for Oclgrind, which reports other reads of a word
 *    that is changed atomically as races.
 * 2. A release has a mem_fence() before it, an acquire one after it. All have device scope,
 *    whatever scope is passed.
 *
 * Implementation-defined in 1.2: atomics are unordered, and mem_fence() orders the accesses of one
 * work item for others of its work group. That work items of other groups see them in that order is
 * a guarantee of the device, not of the language. KMA (Spliet and others, GPGPU-7, 2014, section
 * 6.1) relies on it as well: it holds on CPUs whose stores are seen in order, such as x86, and
 * where a fence applies to the whole device. On NVIDIA's devices it no longer holds, hence point 2
 * of port_opencl.h; on others use OpenCL C 3.0's orders.
 */
#ifndef MAM_DEVICE_PORT_OPENCL_12_H
#define MAM_DEVICE_PORT_OPENCL_12_H

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
 * On a CPU mem_fence() may be a no-op, for the compiler too; clang's own fence is one instruction,
 * or none where stores are seen in order.
 */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define MAM_CL_FENCE() __atomic_thread_fence(__ATOMIC_ACQ_REL)
#else
#define MAM_CL_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
/* In this port MAM_SEQ_CST is no more than MAM_ACQ_REL of each access. */

/* Before an access, and after it. `order` must be a constant at the call. */
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

/* clang-format off */
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
/* clang-format on */
/* clang-format off */
#define MAM_CL_STORE(name, word, write)                                                         \
	MAM_KFN void mam_cl_##name(__global word *where, word value, int order)                 \
	{                                                                                       \
		mam_cl_before(order);                                                           \
		write(where, value);                                                            \
		if (order == MAM_SEQ_CST)                                                       \
			MAM_CL_FENCE();                                                         \
	}
/* clang-format on */
/* clang-format off */
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
/* clang-format on */
/* clang-format off */
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
/* clang-format on */

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
#define mam_atomic_cas32(where, expected, desired, order, scope) \
	mam_cl_cas32(where, expected, desired, order)
#define mam_atomic_cas64(where, expected, desired, order, scope) \
	mam_cl_cas64(where, expected, desired, order)
#define mam_fence(order, scope)             \
	do {                                \
		if ((order) != MAM_RELAXED) \
			MAM_CL_FENCE();     \
	} while (0)

#endif
