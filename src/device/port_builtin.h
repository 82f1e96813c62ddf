/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_builtin.h - atomics with an order and a scope by nvcc's builtins, CUDA 12.8 and later.
 */
#ifndef MAM_DEVICE_PORT_BUILTIN_H
#define MAM_DEVICE_PORT_BUILTIN_H

#define MAM_RELAXED __NV_ATOMIC_RELAXED
#define MAM_ACQUIRE __NV_ATOMIC_ACQUIRE
#define MAM_RELEASE __NV_ATOMIC_RELEASE
#define MAM_ACQ_REL __NV_ATOMIC_ACQ_REL
#define MAM_SEQ_CST __NV_ATOMIC_SEQ_CST
#define MAM_AT_BLOCK __NV_THREAD_SCOPE_BLOCK
#define MAM_AT_SYSTEM __NV_THREAD_SCOPE_SYSTEM
#ifdef MAM_KPEERS
#define MAM_AT_DEVICE MAM_AT_SYSTEM
#else
#define MAM_AT_DEVICE __NV_THREAD_SCOPE_DEVICE
#endif

#define MAM_P16(where) ((unsigned short *)(where))
#define MAM_P32(where) ((unsigned int *)(where))
#define MAM_P64(where) ((unsigned long long *)(where))
#define MAM_V16(value) ((unsigned short)(value))
#define MAM_V64(value) ((unsigned long long)(value))

#define mam_atomic_load16(where, order, scope) \
	((uint16_t)__nv_atomic_load_n(MAM_P16(where), order, scope))
#define mam_atomic_load32(where, order, scope) __nv_atomic_load_n(MAM_P32(where), order, scope)
#define mam_atomic_load64(where, order, scope) \
	((uint64_t)__nv_atomic_load_n(MAM_P64(where), order, scope))
#define mam_atomic_store16(where, value, order, scope) \
	__nv_atomic_store_n(MAM_P16(where), MAM_V16(value), order, scope)
#define mam_atomic_store32(where, value, order, scope) \
	__nv_atomic_store_n(MAM_P32(where), value, order, scope)
#define mam_atomic_store64(where, value, order, scope) \
	__nv_atomic_store_n(MAM_P64(where), MAM_V64(value), order, scope)
#define mam_atomic_or32(where, value, order, scope) \
	__nv_atomic_fetch_or(MAM_P32(where), value, order, scope)
#define mam_atomic_or64(where, value, order, scope) \
	((uint64_t)__nv_atomic_fetch_or(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_atomic_and32(where, value, order, scope) \
	__nv_atomic_fetch_and(MAM_P32(where), value, order, scope)
#define mam_atomic_and64(where, value, order, scope) \
	((uint64_t)__nv_atomic_fetch_and(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_atomic_add32(where, value, order, scope) \
	__nv_atomic_fetch_add(MAM_P32(where), value, order, scope)
#define mam_atomic_add64(where, value, order, scope) \
	((uint64_t)__nv_atomic_fetch_add(MAM_P64(where), MAM_V64(value), order, scope))
#define mam_atomic_xchg32(where, value, order, scope) \
	__nv_atomic_exchange_n(MAM_P32(where), value, order, scope)
#define mam_atomic_xchg64(where, value, order, scope) \
	((uint64_t)__nv_atomic_exchange_n(MAM_P64(where), MAM_V64(value), order, scope))

/*
 * A fence that only acquires, or only releases, would be a sequentially consistent one: the
 * compiler emits fence.sc for every order except acq_rel (nvcc 13.0), which costs far more.
 */
#define mam_fence(order, scope)                                                          \
	((order) == MAM_RELAXED   ? (void)0                                              \
	 : (order) == MAM_SEQ_CST ? __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, scope) \
				  : __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, scope))

/* The order of a failed compare-and-swap of order `order`: its acquire half. */
#define MAM_ON_FAILURE(order) \
	((order) == MAM_ACQ_REL ? MAM_ACQUIRE : (order) == MAM_RELEASE ? MAM_RELAXED : (order))
/* clang-format off */
#define mam_atomic_cas16(where, expected, desired, order, scope)                                \
	__extension__({                                                                         \
		unsigned short mam_seen = MAM_V16(expected);                                    \
		(void)__nv_atomic_compare_exchange_n(MAM_P16(where), &mam_seen,                 \
						     MAM_V16(desired), false, order,            \
						     MAM_ON_FAILURE(order), scope);             \
		(uint16_t)mam_seen;                                                             \
	})
/* clang-format on */
#define mam_atomic_cas32(where, expected, desired, order, scope)                                \
	__extension__({                                                                         \
		unsigned int mam_seen = (expected);                                             \
		(void)__nv_atomic_compare_exchange_n(MAM_P32(where), &mam_seen, desired, false, \
						     order, MAM_ON_FAILURE(order), scope);      \
		mam_seen;                                                                       \
	})
/* clang-format off */
#define mam_atomic_cas64(where, expected, desired, order, scope)                                \
	__extension__({                                                                         \
		unsigned long long mam_seen = (expected);                                       \
		(void)__nv_atomic_compare_exchange_n(MAM_P64(where), &mam_seen,                 \
						     MAM_V64(desired), false, order,            \
						     MAM_ON_FAILURE(order), scope);             \
		(uint64_t)mam_seen;                                                             \
	})
/* clang-format on */

#endif
