/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - implements the calls that compilers insert at each memory access of code compiled with
 * -fsanitize=thread. It replaces that sanitizer's own library, which is not linked.
 *
 * 1. A read or write by a lane or a host thread of a world goes to the simulator, which makes it a
 *    scheduling point and checks it; elsewhere (in a test's begin and check) it is ignored.
 * 2. The location of the call becomes a site: a small cache maps a program counter to a text.
 * 3. Macros in the compiler flags of such programs redirect memcpy and similar functions here
 *    (newer versions of clang use the names below by themselves). The whole range is one access.
 *    clang 14 does not instrument the assignment of structs that are too large for registers: it
 *    calls memcpy itself.
 * 4. The compiler's own atomics have the orders that C11 gives them in a host thread. In device
 *    code they are not those that specify order and scope, and are treated as seq_cst ones at
 *    device scope.
 *
 * Supports gcc 12 and clang 14. If the whole build uses the sanitizer's library, this file is
 * empty.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "device/port_simt.h"
#include "simt/hooks_core.h"
#include "simt/race/race_site.h"

#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

#ifdef WITH_TSAN
extern int simt_hooks_are_elsewhere;
int simt_hooks_are_elsewhere = 1;
#else

/*
 * With another sanitizer enabled, gcc knows some of the names, with prototypes that its own calls
 * do not match.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
#endif

#define CACHE 512

static struct {
	const void *pc;
	const char *site;
} cache[CACHE];

static const char *site_of(const void *pc)
{
	size_t i = ((uintptr_t)pc ^ (uintptr_t)pc >> 9) % CACHE;

	if (cache[i].pc != pc) {
		cache[i].site = race_site_of(pc);
		cache[i].pc = pc;
	}
	return cache[i].site;
}

static inline void see(const volatile void *where, size_t bytes, bool write, const void *pc)
{
	if (bytes && simt_inside() && !simt_host_own(where))
		simt_plain(where, bytes, write, site_of(pc));
}

#define CALLER __builtin_return_address(0)

/* Compilers do not declare these functions: the prototypes here are the ones they use. */
#define HOOK(type, name, ...)   \
	type name(__VA_ARGS__); \
	type name(__VA_ARGS__)

HOOK(void, __tsan_init, void)
{
}

HOOK(void, __tsan_func_entry, void *pc)
{
	(void)pc;
}

HOOK(void, __tsan_func_exit, void)
{
}

HOOK(void, __tsan_ignore_thread_begin, void)
{
}

HOOK(void, __tsan_ignore_thread_end, void)
{
}

#define READ_AND_WRITE(kind, bytes)                          \
	HOOK(void, __tsan_##kind##read##bytes, void *where)  \
	{                                                    \
		see(where, bytes, false, CALLER);            \
	}                                                    \
	HOOK(void, __tsan_##kind##write##bytes, void *where) \
	{                                                    \
		see(where, bytes, true, CALLER);             \
	}

#define ALL_SIZES(kind)         \
	READ_AND_WRITE(kind, 1) \
	READ_AND_WRITE(kind, 2) \
	READ_AND_WRITE(kind, 4) \
	READ_AND_WRITE(kind, 8) \
	READ_AND_WRITE(kind, 16)

ALL_SIZES()
ALL_SIZES(unaligned_)
ALL_SIZES(volatile_)
ALL_SIZES(unaligned_volatile_)

/* A read and a write of the same bytes, which clang reports as one call. */
#define READ_WRITE(kind, bytes)                                   \
	HOOK(void, __tsan_##kind##read_write##bytes, void *where) \
	{                                                         \
		see(where, bytes, false, CALLER);                 \
		see(where, bytes, true, CALLER);                  \
	}

READ_WRITE(, 1)
READ_WRITE(, 2)
READ_WRITE(, 4)
READ_WRITE(, 8)
READ_WRITE(, 16)
READ_WRITE(unaligned_, 2)
READ_WRITE(unaligned_, 4)
READ_WRITE(unaligned_, 8)
READ_WRITE(unaligned_, 16)

HOOK(void, __tsan_read_range, void *where, size_t bytes)
{
	see(where, bytes, false, CALLER);
}

HOOK(void, __tsan_write_range, void *where, size_t bytes)
{
	see(where, bytes, true, CALLER);
}

HOOK(void *, __tsan_memcpy, void *to, const void *from, size_t bytes)
{
	see(from, bytes, false, CALLER);
	see(to, bytes, true, CALLER);
	return memcpy(to, from, bytes);
}

HOOK(void *, __tsan_memmove, void *to, const void *from, size_t bytes)
{
	see(from, bytes, false, CALLER);
	see(to, bytes, true, CALLER);
	return memmove(to, from, bytes);
}

HOOK(void *, __tsan_memset, void *to, int value, size_t bytes)
{
	see(to, bytes, true, CALLER);
	return memset(to, value, bytes);
}

static enum simt_order order_of(int order)
{
	switch (order) {
	case __ATOMIC_RELAXED: return MAM_RELAXED;
	case __ATOMIC_CONSUME:
	case __ATOMIC_ACQUIRE: return MAM_ACQUIRE;
	case __ATOMIC_RELEASE: return MAM_RELEASE;
	case __ATOMIC_ACQ_REL: return MAM_ACQ_REL;
	default: return MAM_SEQ_CST;
	}
}

/* Device code only has atomics of two, four and eight bytes. */
static uint64_t atomic(volatile void *where, unsigned int bytes, enum simt_op op, uint64_t operand,
		       uint64_t expected, int order, int otherwise, const void *pc)
{
	if (simt_on_host())
		return simt_host_atomic(where, bytes, op, operand, expected, order_of(order),
					order_of(otherwise), site_of(pc));
	if (bytes < 2)
		simt_fail("an atomic of the compiler's own, of one byte", site_of(pc));
	return simt_atomic(where, bytes, op, operand, expected, MAM_SEQ_CST, MAM_AT_DEVICE,
			   site_of(pc));
}

#define FETCH(bits, name, op, operand)                                                           \
	HOOK(uint##bits##_t, __tsan_atomic##bits##_fetch_##name, volatile uint##bits##_t *where, \
	     uint##bits##_t value, int order)                                                    \
	{                                                                                        \
		if (!simt_inside())                                                              \
			return __atomic_fetch_##name(where, value, __ATOMIC_SEQ_CST);            \
		return (uint##bits##_t)atomic(where, bits / 8, op, (uint##bits##_t)(operand), 0, \
					      order, order, CALLER);                             \
	}

#define FETCH_BY_SWAP(bits, name, update)                                                        \
	HOOK(uint##bits##_t, __tsan_atomic##bits##_fetch_##name, volatile uint##bits##_t *where, \
	     uint##bits##_t value, int order)                                                    \
	{                                                                                        \
		uint##bits##_t old, seen;                                                        \
                                                                                                 \
		if (!simt_inside())                                                              \
			return __atomic_fetch_##name(where, value, __ATOMIC_SEQ_CST);            \
		old = (uint##bits##_t)atomic(where, bits / 8, SIMT_LOAD, 0, 0, __ATOMIC_RELAXED, \
					     0, CALLER);                                         \
		while ((seen = (uint##bits##_t)atomic(where, bits / 8, SIMT_CAS,                 \
						      (uint##bits##_t)(update), old, order,      \
						      __ATOMIC_RELAXED, CALLER)) != old)         \
			old = seen;                                                              \
		return old;                                                                      \
	}

#define SWAP(bits, strength)                                                                    \
	HOOK(int, __tsan_atomic##bits##_compare_exchange_##strength,                            \
	     volatile uint##bits##_t *where, uint##bits##_t *expected, uint##bits##_t desired,  \
	     int order, int otherwise)                                                          \
	{                                                                                       \
		uint##bits##_t want = *expected;                                                \
                                                                                                \
		(void)order, (void)otherwise;                                                   \
		if (!simt_inside())                                                             \
			return __atomic_compare_exchange_n(where, expected, desired, false,     \
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		*expected = (uint##bits##_t)atomic(where, bits / 8, SIMT_CAS, desired, want,    \
						   order, otherwise, CALLER);                   \
		return *expected == want;                                                       \
	}

#define ATOMICS(bits)                                                                             \
	HOOK(uint##bits##_t, __tsan_atomic##bits##_load, const volatile uint##bits##_t *where,    \
	     int order)                                                                           \
	{                                                                                         \
		if (!simt_inside())                                                               \
			return __atomic_load_n(where, __ATOMIC_SEQ_CST);                          \
		return (uint##bits##_t)atomic((volatile void *)(uintptr_t)where, bits / 8,        \
					      SIMT_LOAD, 0, 0, order, order, CALLER);             \
	}                                                                                         \
	HOOK(void, __tsan_atomic##bits##_store, volatile uint##bits##_t *where,                   \
	     uint##bits##_t value, int order)                                                     \
	{                                                                                         \
		if (simt_inside())                                                                \
			atomic(where, bits / 8, SIMT_STORE, value, 0, order, order, CALLER);      \
		else                                                                              \
			__atomic_store_n(where, value, __ATOMIC_SEQ_CST);                         \
	}                                                                                         \
	HOOK(uint##bits##_t, __tsan_atomic##bits##_exchange, volatile uint##bits##_t *where,      \
	     uint##bits##_t value, int order)                                                     \
	{                                                                                         \
		if (!simt_inside())                                                               \
			return __atomic_exchange_n(where, value, __ATOMIC_SEQ_CST);               \
		return (uint##bits##_t)atomic(where, bits / 8, SIMT_XCHG, value, 0, order, order, \
					      CALLER);                                            \
	}                                                                                         \
	HOOK(uint##bits##_t, __tsan_atomic##bits##_compare_exchange_val,                          \
	     volatile uint##bits##_t *where, uint##bits##_t expected, uint##bits##_t desired,     \
	     int order, int otherwise)                                                            \
	{                                                                                         \
		uint##bits##_t seen = expected;                                                   \
                                                                                                  \
		(void)order, (void)otherwise;                                                     \
		if (simt_inside())                                                                \
			return (uint##bits##_t)atomic(where, bits / 8, SIMT_CAS, desired,         \
						      expected, order, otherwise, CALLER);        \
		__atomic_compare_exchange_n(where, &seen, desired, false, __ATOMIC_SEQ_CST,       \
					    __ATOMIC_SEQ_CST);                                    \
		return seen;                                                                      \
	}                                                                                         \
	FETCH(bits, add, SIMT_ADD, value)                                                         \
	FETCH(bits, sub, SIMT_ADD, 0 - (uint64_t)value)                                           \
	FETCH(bits, and, SIMT_AND, value)                                                         \
	FETCH(bits, or, SIMT_OR, value)                                                           \
	FETCH_BY_SWAP(bits, xor, old ^ value)                                                     \
	FETCH_BY_SWAP(bits, nand, ~(old & value))                                                 \
	SWAP(bits, strong)                                                                        \
	SWAP(bits, weak)

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

HOOK(void, __tsan_atomic_thread_fence, int order)
{
	if (simt_on_host())
		simt_fence(order_of(order), MAM_AT_SYSTEM, site_of(CALLER));
	else if (simt_inside())
		simt_fence(MAM_SEQ_CST, MAM_AT_DEVICE, site_of(CALLER));
}

HOOK(void, __tsan_atomic_signal_fence, int order)
{
	(void)order;
}
#endif
