/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_opencl_30.h - atomics with an order and a scope by OpenCL C 3.0, on devices that support
 * acquire, release and the device scope.
 */
#ifndef MAM_DEVICE_PORT_OPENCL_30_H
#define MAM_DEVICE_PORT_OPENCL_30_H

#define MAM_RELAXED memory_order_relaxed
#define MAM_ACQUIRE memory_order_acquire
#define MAM_RELEASE memory_order_release
#define MAM_ACQ_REL memory_order_acq_rel
#define MAM_SEQ_CST memory_order_seq_cst
#define MAM_AT_BLOCK memory_scope_work_group
#define MAM_AT_DEVICE memory_scope_device
#define MAM_AT_SYSTEM memory_scope_all_svm_devices

#define MAM_CL32(where) ((volatile __global atomic_uint *)(where))
#define MAM_CL64(where) ((volatile __global atomic_ulong *)(where))

#define mam_atomic_load32(where, order, scope) atomic_load_explicit(MAM_CL32(where), order, scope)
#define mam_atomic_load64(where, order, scope) atomic_load_explicit(MAM_CL64(where), order, scope)
#define mam_atomic_store32(where, value, order, scope) \
	atomic_store_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_store64(where, value, order, scope) \
	atomic_store_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_or32(where, value, order, scope) \
	atomic_fetch_or_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_or64(where, value, order, scope) \
	atomic_fetch_or_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_and32(where, value, order, scope) \
	atomic_fetch_and_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_and64(where, value, order, scope) \
	atomic_fetch_and_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_add32(where, value, order, scope) \
	atomic_fetch_add_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_add64(where, value, order, scope) \
	atomic_fetch_add_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)
#define mam_atomic_xchg32(where, value, order, scope) \
	atomic_exchange_explicit(MAM_CL32(where), (uint32_t)(value), order, scope)
#define mam_atomic_xchg64(where, value, order, scope) \
	atomic_exchange_explicit(MAM_CL64(where), (uint64_t)(value), order, scope)

/* The order of a failed compare-and-swap of order `order`: its acquire half. */
#define MAM_ON_FAILURE(order)                                     \
	((order) == memory_order_acq_rel   ? memory_order_acquire \
	 : (order) == memory_order_release ? memory_order_relaxed \
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

#endif
