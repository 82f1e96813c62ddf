/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_ptx.h - atomics with an order and a scope for compilers without such builtins: one PTX
 * instruction for each, as the builtins of later compilers emit it.
 *
 * 1. Each call is a function with a branch for each order and scope. Those are constants at the
 *    call, so that one branch is left once the function is inlined.
 * 2. A sequentially consistent access is a fence.sc before an acquire, or, for a store, before a
 *    relaxed one (the mapping of C++ to PTX: Lustig, Sahasrabuddhe, Giroux, "A Formal Analysis of
 *    the NVIDIA PTX Memory Consistency Model", ASPLOS 2019).
 * 3. Macros have a fixed number of arguments: OpenCL C 1.2 has no variadic ones.
 * 4. "memory" in each forbids the compiler to move other accesses across.
 *
 * PTX 6.3 (CUDA 10) and sm_70. NVIDIA's OpenCL C accepts the same: its __global addresses are
 * generic.
 */
#ifndef MAM_DEVICE_PORT_PTX_H
#define MAM_DEVICE_PORT_PTX_H

#define MAM_RELAXED 0
#define MAM_ACQUIRE 1
#define MAM_RELEASE 2
#define MAM_ACQ_REL 3
#define MAM_SEQ_CST 4
#define MAM_AT_BLOCK 0
#ifdef MAM_KPEERS
#define MAM_AT_DEVICE 2
#else
#define MAM_AT_DEVICE 1
#endif
#define MAM_AT_SYSTEM 2

/* `row` for each scope of an order: `before` and `order` are PTX; `order` is that of the access. */
#define MAM_PTX_SCOPES(row, number, before, order, op, type, letter)          \
	row(number, 0, before("cta"), order ".cta", op, type, letter)         \
		row(number, 1, before("gpu"), order ".gpu", op, type, letter) \
			row(number, 2, before("sys"), order ".sys", op, type, letter)
#define MAM_PTX_NOTHING(scope) ""
#define MAM_PTX_FENCE(scope) "fence.sc." scope ";\n\t"
/* The orders that a read-modify-write, a load and a store may have. */
#define MAM_PTX_EACH_CHANGE(row, op, type, letter)                                     \
	MAM_PTX_SCOPES(row, MAM_RELAXED, MAM_PTX_NOTHING, "relaxed", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_ACQUIRE, MAM_PTX_NOTHING, "acquire", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_RELEASE, MAM_PTX_NOTHING, "release", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_ACQ_REL, MAM_PTX_NOTHING, "acq_rel", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_SEQ_CST, MAM_PTX_FENCE, "acquire", op, type, letter)
#define MAM_PTX_EACH_LOAD(row, op, type, letter)                                       \
	MAM_PTX_SCOPES(row, MAM_RELAXED, MAM_PTX_NOTHING, "relaxed", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_ACQUIRE, MAM_PTX_NOTHING, "acquire", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_SEQ_CST, MAM_PTX_FENCE, "acquire", op, type, letter)
#define MAM_PTX_EACH_STORE(row, op, type, letter)                                      \
	MAM_PTX_SCOPES(row, MAM_RELAXED, MAM_PTX_NOTHING, "relaxed", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_RELEASE, MAM_PTX_NOTHING, "release", op, type, letter) \
	MAM_PTX_SCOPES(row, MAM_SEQ_CST, MAM_PTX_FENCE, "relaxed", op, type, letter)
#define MAM_PTX_WHICH(order, scope) ((order)*4 + (scope))

/* clang-format off */
#define MAM_PTX_RMW_ROW(number, scope, before, how, op, type, letter)                           \
	case MAM_PTX_WHICH(number, scope):                                                      \
		asm volatile(before "atom." op "." how "." type " %0, [%1], %2;"                \
			     : "=" letter(old)                                                  \
			     : "l"(where), letter(value)                                        \
			     : "memory");                                                       \
		break;
/* clang-format on */
/* clang-format off */
#define MAM_PTX_RMW(name, word, op, type, letter)                                               \
	MAM_KFN word mam_ptx_##name(MAM_GLOBAL word *where, word value, int order, int scope)              \
	{                                                                                       \
		word old = 0;                                                                   \
                                                                                                \
		switch (MAM_PTX_WHICH(order, scope)) {                                          \
		MAM_PTX_EACH_CHANGE(MAM_PTX_RMW_ROW, op, type, letter)				\
		}                                                                               \
		return old;                                                                     \
	}
/* clang-format on */

/* clang-format off */
#define MAM_PTX_CAS_ROW(number, scope, before, how, op, type, letter)                               \
	case MAM_PTX_WHICH(number, scope):                                                      \
		asm volatile(before "atom." op "." how "." type " %0, [%1], %2, %3;"               \
			     : "=" letter(old)                                                  \
			     : "l"(where), letter(expected), letter(desired)                    \
			     : "memory");                                                       \
		break;
/* clang-format on */
/* clang-format off */
#define MAM_PTX_CAS(name, word, type, letter)                                                   \
	MAM_KFN word mam_ptx_##name(MAM_GLOBAL word *where, word expected, word desired, int order,        \
				    int scope)                                                  \
	{                                                                                       \
		word old = 0;                                                                   \
                                                                                                \
		switch (MAM_PTX_WHICH(order, scope)) {                                          \
		MAM_PTX_EACH_CHANGE(MAM_PTX_CAS_ROW, "cas", type, letter)				\
		}                                                                               \
		return old;                                                                     \
	}
/* clang-format on */

/* clang-format off */
#define MAM_PTX_LOAD_ROW(number, scope, before, how, op, type, letter)                              \
	case MAM_PTX_WHICH(number, scope):                                                      \
		asm volatile(before op "." how "." type " %0, [%1];"                             \
			     : "=" letter(value)                                                \
			     : "l"(where)                                                       \
			     : "memory");                                                       \
		break;
/* clang-format on */
/* clang-format off */
#define MAM_PTX_LOAD(name, word, type, letter)                                                  \
	MAM_KFN word mam_ptx_##name(const MAM_GLOBAL word *where, int order, int scope)                    \
	{                                                                                       \
		word value = 0;                                                                 \
                                                                                                \
		switch (MAM_PTX_WHICH(order, scope)) {                                          \
		MAM_PTX_EACH_LOAD(MAM_PTX_LOAD_ROW, "ld", type, letter)				\
		}                                                                               \
		return value;                                                                   \
	}
/* clang-format on */

/* clang-format off */
#define MAM_PTX_STORE_ROW(number, scope, before, how, op, type, letter)                             \
	case MAM_PTX_WHICH(number, scope):                                                      \
		asm volatile(before op "." how "." type " [%0], %1;"                             \
			     :                                                                  \
			     : "l"(where), letter(value)                                        \
			     : "memory");                                                       \
		break;
/* clang-format on */
/* clang-format off */
#define MAM_PTX_STORE(name, word, type, letter)                                                 \
	MAM_KFN void mam_ptx_##name(MAM_GLOBAL word *where, word value, int order, int scope)              \
	{                                                                                       \
		switch (MAM_PTX_WHICH(order, scope)) {                                          \
		MAM_PTX_EACH_STORE(MAM_PTX_STORE_ROW, "st", type, letter)				\
		}                                                                               \
	}
/* clang-format on */

MAM_PTX_RMW(or32, uint32_t, "or", "b32", "r")
MAM_PTX_RMW(or64, uint64_t, "or", "b64", "l")
MAM_PTX_RMW(and32, uint32_t, "and", "b32", "r")
MAM_PTX_RMW(and64, uint64_t, "and", "b64", "l")
MAM_PTX_RMW(add32, uint32_t, "add", "u32", "r")
MAM_PTX_RMW(add64, uint64_t, "add", "u64", "l")
MAM_PTX_RMW(xchg32, uint32_t, "exch", "b32", "r")
MAM_PTX_RMW(xchg64, uint64_t, "exch", "b64", "l")
MAM_PTX_CAS(cas16, uint16_t, "b16", "h")
MAM_PTX_CAS(cas32, uint32_t, "b32", "r")
MAM_PTX_CAS(cas64, uint64_t, "b64", "l")
MAM_PTX_LOAD(load16, uint16_t, "b16", "h")
MAM_PTX_LOAD(load32, uint32_t, "b32", "r")
MAM_PTX_LOAD(load64, uint64_t, "b64", "l")
MAM_PTX_STORE(store16, uint16_t, "b16", "h")
MAM_PTX_STORE(store32, uint32_t, "b32", "r")
MAM_PTX_STORE(store64, uint64_t, "b64", "l")

/* Orders weaker than acq_rel are acq_rel: PTX has no weaker fence. */
#define MAM_PTX_FENCE_ROW(number, scope, before, how, op, type, letter) \
	case MAM_PTX_WHICH(number, scope): asm volatile("fence." how ";" : : : "memory"); break;
MAM_KFN void mam_ptx_fence(int order, int scope)
{
	switch (MAM_PTX_WHICH(order, scope)) {
		MAM_PTX_SCOPES(MAM_PTX_FENCE_ROW, MAM_ACQUIRE, MAM_PTX_NOTHING, "acq_rel", "", "",
			       "")
		MAM_PTX_SCOPES(MAM_PTX_FENCE_ROW, MAM_RELEASE, MAM_PTX_NOTHING, "acq_rel", "", "",
			       "")
		MAM_PTX_SCOPES(MAM_PTX_FENCE_ROW, MAM_ACQ_REL, MAM_PTX_NOTHING, "acq_rel", "", "",
			       "")
		MAM_PTX_SCOPES(MAM_PTX_FENCE_ROW, MAM_SEQ_CST, MAM_PTX_NOTHING, "sc", "", "", "")
	}
}

#define mam_atomic_load16(where, order, scope) mam_ptx_load16(where, order, scope)
#define mam_atomic_load32(where, order, scope) mam_ptx_load32(where, order, scope)
#define mam_atomic_load64(where, order, scope) mam_ptx_load64(where, order, scope)
#define mam_atomic_store16(where, value, order, scope) mam_ptx_store16(where, value, order, scope)
#define mam_atomic_store32(where, value, order, scope) mam_ptx_store32(where, value, order, scope)
#define mam_atomic_store64(where, value, order, scope) mam_ptx_store64(where, value, order, scope)
#define mam_atomic_or32(where, value, order, scope) mam_ptx_or32(where, value, order, scope)
#define mam_atomic_or64(where, value, order, scope) mam_ptx_or64(where, value, order, scope)
#define mam_atomic_and32(where, value, order, scope) mam_ptx_and32(where, value, order, scope)
#define mam_atomic_and64(where, value, order, scope) mam_ptx_and64(where, value, order, scope)
#define mam_atomic_add32(where, value, order, scope) mam_ptx_add32(where, value, order, scope)
#define mam_atomic_add64(where, value, order, scope) mam_ptx_add64(where, value, order, scope)
#define mam_atomic_xchg32(where, value, order, scope) mam_ptx_xchg32(where, value, order, scope)
#define mam_atomic_xchg64(where, value, order, scope) mam_ptx_xchg64(where, value, order, scope)
#define mam_atomic_cas16(where, expected, desired, order, scope) \
	mam_ptx_cas16(where, expected, desired, order, scope)
#define mam_atomic_cas32(where, expected, desired, order, scope) \
	mam_ptx_cas32(where, expected, desired, order, scope)
#define mam_atomic_cas64(where, expected, desired, order, scope) \
	mam_ptx_cas64(where, expected, desired, order, scope)
#define mam_fence(order, scope) mam_ptx_fence(order, scope)

#endif
