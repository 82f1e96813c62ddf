/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_global.h - the atomics of port.h for words that are known to be in device memory, and
 * MAM_ROLLED, for loops that must not be unrolled.
 *
 * They mean the same and take the same arguments; orders and scopes must be literal names. In CUDA
 * the builtins take generic addresses, and each 64-bit one includes a path of twenty instructions
 * for shared and local memory. In PTX with an explicit state space it is one instruction.
 */
#ifndef MAM_DEVICE_PORT_GLOBAL_H
#define MAM_DEVICE_PORT_GLOBAL_H

#include "device/port.h"

/*
 * Before a loop that must not be unrolled: the instructions that the first warp of each SM fetches
 * cost more than a jump.
 */
#if defined(__CUDACC__)
#define MAM_ROLLED _Pragma("unroll 1")
#else
#define MAM_ROLLED
#endif

#if defined(MAM_DEVICE_PORT_CUDA_H) && defined(__CUDA_ARCH__)

#define MAM_PTX_MAM_RELAXED "relaxed"
#define MAM_PTX_MAM_ACQUIRE "acquire"
#define MAM_PTX_MAM_RELEASE "release"
#define MAM_PTX_MAM_ACQ_REL "acq_rel"
#define MAM_PTX_MAM_AT_BLOCK ".cta"
#define MAM_PTX_MAM_AT_SYSTEM ".sys"
#ifdef MAM_KPEERS
#define MAM_PTX_MAM_AT_DEVICE MAM_PTX_MAM_AT_SYSTEM
#else
#define MAM_PTX_MAM_AT_DEVICE ".gpu"
#endif

/* clang-format off */
#define mam_global_load64(where, order, scope)                                                  \
	__extension__({                                                                         \
		uint64_t mam_seen;                                                              \
		asm volatile("ld." MAM_PTX_##order MAM_PTX_##scope ".global.b64 %0, [%1];"      \
			     : "=l"(mam_seen)                                                   \
			     : "l"(__cvta_generic_to_global(where))                             \
			     : "memory");                                                       \
		mam_seen;                                                                       \
	})
/* clang-format on */
/* clang-format off */
#define MAM_PTX_ATOM64(operation, where, value)                                                 \
	__extension__({                                                                         \
		uint64_t mam_seen;                                                              \
		asm volatile("atom." operation ".b64 %0, [%1], %2;"                             \
			     : "=l"(mam_seen)                                                   \
			     : "l"(__cvta_generic_to_global(where)), "l"((uint64_t)(value))     \
			     : "memory");                                                       \
		mam_seen;                                                                       \
	})
/* clang-format on */
#define mam_global_or64(where, value, order, scope) \
	MAM_PTX_ATOM64(MAM_PTX_##order MAM_PTX_##scope ".global.or", where, value)
#define mam_global_and64(where, value, order, scope) \
	MAM_PTX_ATOM64(MAM_PTX_##order MAM_PTX_##scope ".global.and", where, value)
#define mam_global_cas64(where, expected, desired, order, scope)                                \
	__extension__({                                                                         \
		uint64_t mam_seen;                                                              \
		asm volatile("atom." MAM_PTX_##order MAM_PTX_##scope                            \
			     ".global.cas.b64 %0, [%1], %2, %3;"                                \
			     : "=l"(mam_seen)                                                   \
			     : "l"(__cvta_generic_to_global(where)), "l"((uint64_t)(expected)), \
			       "l"((uint64_t)(desired))                                         \
			     : "memory");                                                       \
		mam_seen;                                                                       \
	})

#else

#define mam_global_load64(where, order, scope) mam_atomic_load64(where, order, scope)
#define mam_global_or64(where, value, order, scope) mam_atomic_or64(where, value, order, scope)
#define mam_global_and64(where, value, order, scope) mam_atomic_and64(where, value, order, scope)
#define mam_global_cas64(where, expected, desired, order, scope) \
	mam_atomic_cas64(where, expected, desired, order, scope)

#endif
#endif
