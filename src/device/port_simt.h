/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_simt.h - the primitives of port.h as calls of a simulator that runs lanes as fibers on the
 * CPU, and the interface that such a simulator must provide. The one in tests/simt does; each call
 * may switch to another lane.
 */
#ifndef MAM_DEVICE_PORT_SIMT_H
#define MAM_DEVICE_PORT_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum simt_op {
	SIMT_LOAD,
	SIMT_STORE,
	SIMT_OR,
	SIMT_AND,
	SIMT_ADD,
	SIMT_XCHG,
	SIMT_CAS,
};

enum simt_order { MAM_RELAXED, MAM_ACQUIRE, MAM_RELEASE, MAM_ACQ_REL, MAM_SEQ_CST };
enum simt_scope { MAM_AT_BLOCK, MAM_AT_DEVICE, MAM_AT_SYSTEM };

/*
 * `site` is a text "file:line" that lives as long as the program; 2, 4 or 8 bytes; returns the old
 * value.
 */
uint64_t simt_atomic(volatile void *where, unsigned int bytes, enum simt_op op, uint64_t operand,
		     uint64_t expected, enum simt_order order, enum simt_scope scope,
		     const char *site);
/* Functions, so that a call that ignores the result causes no warning. */
static inline uint16_t simt_atomic16(volatile uint16_t *where, enum simt_op op, uint16_t operand,
				     uint16_t expected, enum simt_order order,
				     enum simt_scope scope, const char *site)
{
	return (uint16_t)simt_atomic(where, 2, op, operand, expected, order, scope, site);
}

static inline uint32_t simt_atomic32(volatile uint32_t *where, enum simt_op op, uint32_t operand,
				     uint32_t expected, enum simt_order order,
				     enum simt_scope scope, const char *site)
{
	return (uint32_t)simt_atomic(where, 4, op, operand, expected, order, scope, site);
}

void simt_fence(enum simt_order order, enum simt_scope scope, const char *site);
uint32_t simt_active(const char *site);
uint32_t simt_ballot(uint32_t mask, bool predicate, const char *site);
uint64_t simt_shuffle(uint32_t mask, uint64_t value, uint32_t lane, const char *site);
uint32_t simt_match(uint32_t mask, uint64_t value, const char *site);
void simt_syncwarp(uint32_t mask, const char *site);
void simt_syncthreads(const char *site);
/* Coordinates of the calling lane, and extents of its launch; axis 0, 1, 2: x, y, z. */
uint32_t simt_thread_at(unsigned int axis);
uint32_t simt_block_at(unsigned int axis);
uint32_t simt_block_dim(unsigned int axis);
uint32_t simt_grid_dim(unsigned int axis);
uint32_t simt_lane(void);
uint32_t simt_smid(void);
uint32_t simt_warpid(void);
uint64_t simt_clock(void);
void simt_nanosleep(uint32_t ns, const char *site);
/*
 * The calling lane's block has one such piece of memory for each `key`, filled with a pattern at
 * the block's start.
 */
void *simt_shared(const void *key, size_t bytes);
/* Ends the launch with the error `what`. Does not return. */
void simt_fail(const char *what, const char *site) __attribute__((noreturn));

#define SIMT_TEXT_OF(x) #x
#define SIMT_LINE_OF(x) SIMT_TEXT_OF(x)
#define SIMT_SITE __FILE__ ":" SIMT_LINE_OF(__LINE__)

#define MAM_KFN static inline __attribute__((unused))
#define MAM_KSLOW static __attribute__((noinline, unused))
#define MAM_KBOTH static inline __attribute__((unused))
#define MAM_KERNEL(name)           \
	void name(void *argument); \
	void name(void *argument)
#define MAM_GLOBAL
#define MAM_KTABLE static const __attribute__((unused))
#define mam_constant32(where) (*(where))
#define mam_constant64(where) (*(where))
#define mam_constant_pointer(where) ((void *)*(where))
/* Only the dependency of an address on it orders; the simulator orders more. */
#define mam_stale64(where) mam_atomic_load64(where, MAM_ACQUIRE, MAM_AT_DEVICE)
#define MAM_SHARED(type, name)        \
	static const char name##_key; \
	type *const name = simt_shared(&name##_key, sizeof(type))
#define MAM_KASSERT(truth)                                                 \
	do {                                                               \
		if (!(truth))                                              \
			simt_fail("assertion failed: " #truth, SIMT_SITE); \
	} while (0)

#define mam_thread_x() simt_thread_at(0)
#define mam_thread_y() simt_thread_at(1)
#define mam_thread_z() simt_thread_at(2)
#define mam_block_x() simt_block_at(0)
#define mam_block_y() simt_block_at(1)
#define mam_block_z() simt_block_at(2)
#define mam_block_dim_x() simt_block_dim(0)
#define mam_block_dim_y() simt_block_dim(1)
#define mam_block_dim_z() simt_block_dim(2)
#define mam_grid_dim_x() simt_grid_dim(0)
#define mam_grid_dim_y() simt_grid_dim(1)
#define mam_grid_dim_z() simt_grid_dim(2)
#define mam_lane() simt_lane()
#define mam_smid() simt_smid()
#define mam_warpid() simt_warpid()
#define mam_clock() simt_clock()
#define mam_timer() simt_clock()
#define mam_nanosleep(ns) simt_nanosleep(ns, SIMT_SITE)
#define mam_syncthreads() simt_syncthreads(SIMT_SITE)

/* The types of `where` are checked by a conditional that the compiler removes. */
#define SIMT_P16(where) (1 ? (where) : (volatile uint16_t *)0)
#define SIMT_P32(where) (1 ? (where) : (volatile uint32_t *)0)
#define SIMT_P64(where) (1 ? (where) : (volatile uint64_t *)0)
#define SIMT_AT16(where, op, operand, expected, order, scope) \
	simt_atomic16(SIMT_P16(where), op, operand, expected, order, scope, SIMT_SITE)
#define SIMT_AT32(where, op, operand, expected, order, scope) \
	simt_atomic32(SIMT_P32(where), op, operand, expected, order, scope, SIMT_SITE)
#define SIMT_AT64(where, op, operand, expected, order, scope) \
	simt_atomic(SIMT_P64(where), 8, op, operand, expected, order, scope, SIMT_SITE)

#define mam_atomic_load16(where, order, scope) SIMT_AT16(where, SIMT_LOAD, 0, 0, order, scope)
#define mam_atomic_load32(where, order, scope) SIMT_AT32(where, SIMT_LOAD, 0, 0, order, scope)
#define mam_atomic_load64(where, order, scope) SIMT_AT64(where, SIMT_LOAD, 0, 0, order, scope)
#define mam_atomic_store16(where, value, order, scope) \
	((void)SIMT_AT16(where, SIMT_STORE, value, 0, order, scope))
#define mam_atomic_store32(where, value, order, scope) \
	((void)SIMT_AT32(where, SIMT_STORE, value, 0, order, scope))
#define mam_atomic_store64(where, value, order, scope) \
	((void)SIMT_AT64(where, SIMT_STORE, value, 0, order, scope))
#define mam_atomic_or32(where, value, order, scope) \
	SIMT_AT32(where, SIMT_OR, value, 0, order, scope)
#define mam_atomic_or64(where, value, order, scope) \
	SIMT_AT64(where, SIMT_OR, value, 0, order, scope)
#define mam_atomic_and32(where, value, order, scope) \
	SIMT_AT32(where, SIMT_AND, value, 0, order, scope)
#define mam_atomic_and64(where, value, order, scope) \
	SIMT_AT64(where, SIMT_AND, value, 0, order, scope)
#define mam_atomic_add32(where, value, order, scope) \
	SIMT_AT32(where, SIMT_ADD, value, 0, order, scope)
#define mam_atomic_add64(where, value, order, scope) \
	SIMT_AT64(where, SIMT_ADD, value, 0, order, scope)
#define mam_atomic_xchg32(where, value, order, scope) \
	SIMT_AT32(where, SIMT_XCHG, value, 0, order, scope)
#define mam_atomic_xchg64(where, value, order, scope) \
	SIMT_AT64(where, SIMT_XCHG, value, 0, order, scope)
#define mam_atomic_cas16(where, expected, desired, order, scope) \
	SIMT_AT16(where, SIMT_CAS, desired, expected, order, scope)
#define mam_atomic_cas32(where, expected, desired, order, scope) \
	SIMT_AT32(where, SIMT_CAS, desired, expected, order, scope)
#define mam_atomic_cas64(where, expected, desired, order, scope) \
	SIMT_AT64(where, SIMT_CAS, desired, expected, order, scope)
#define mam_fence(order, scope) simt_fence(order, scope, SIMT_SITE)

#define mam_warp_active() simt_active(SIMT_SITE)
#define mam_warp_ballot(mask, truth) simt_ballot(mask, truth, SIMT_SITE)
#define mam_warp_shuffle32(mask, value, lane) \
	((uint32_t)simt_shuffle(mask, (uint32_t)(value), lane, SIMT_SITE))
#define mam_warp_shuffle64(mask, value, lane) simt_shuffle(mask, value, lane, SIMT_SITE)
#define mam_warp_match32(mask, value) simt_match(mask, (uint32_t)(value), SIMT_SITE)
#define mam_warp_match64(mask, value) simt_match(mask, value, SIMT_SITE)
#define mam_warp_sync(mask) simt_syncwarp(mask, SIMT_SITE)

#define mam_popc32(x) ((uint32_t)__builtin_popcount(x))
#define mam_popc64(x) ((uint32_t)__builtin_popcountll(x))
#define mam_ffs32(x) ((uint32_t)__builtin_ffs((int)(x)))
#define mam_ffs64(x) ((uint32_t)__builtin_ffsll((long long)(x)))

MAM_KFN uint32_t mam_clz64(uint64_t x)
{
	return x ? (uint32_t)__builtin_clzll(x) : 64;
}

#endif
