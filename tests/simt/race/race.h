/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race.h - is each access ordered after the accesses that it conflicts with? Vector clocks, with
 * the orders, fences, release sequences and scopes of CUDA's memory model.
 *
 * The checker does not depend on fibers: the simulator reports what each lane does, in the order of
 * execution. A lane is a number below `lanes`; the `block` of a lane determines whether a scope
 * covers two lanes (host threads are blocks of their own: only MAM_AT_SYSTEM covers them and
 * lanes). Two accesses, at least one of them a write, conflict if their bytes overlap. They race if
 * neither happens before the other, unless both are atomic with scopes that cover each other's
 * lanes. Each call returns NULL, or a text (owned by the race object, valid until the next call)
 * that names both sites.
 */
#ifndef MAM_TESTS_SIMT_RACE_H
#define MAM_TESTS_SIMT_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "device/port_simt.h"

struct race;

struct race *race_create(unsigned int lanes);
void race_destroy(struct race *race);
/* Discards all accesses and clocks; keeps the memory. */
void race_reset(struct race *race);
/* Sets the block of a lane, before its first access. */
void race_place(struct race *race, unsigned int lane, unsigned int block, bool host);
/* A function that names a lane in texts; without it: "lane 3 of block 1". */
void race_names(struct race *race, void (*name)(unsigned int lane, char *text, size_t bytes));
const char *race_plain(struct race *race, unsigned int lane, const volatile void *where,
		       size_t bytes, bool write, const char *site);
/* `wrote`: false for a load and for a compare-and-swap that failed. */
const char *race_atomic(struct race *race, unsigned int lane, const volatile void *where,
			size_t bytes, enum simt_op op, bool wrote, enum simt_order order,
			enum simt_scope scope, const char *site);
/*
 * Loads that return older values (race_past.h). Before race_atomic() for a load: `value` is the
 * newest one. race_older() returns how many older ones the load may return. race_stale() with one
 * of these numbers, from 1, the newest of them, sets `value` and completes the load; with 0 it
 * notes that the load returns the newest value.
 */
uint32_t race_older(struct race *race, unsigned int lane, const volatile void *where, size_t bytes,
		    uint64_t value);
void race_stale(struct race *race, unsigned int lane, const volatile void *where, size_t bytes,
		uint64_t *value, enum simt_order order, enum simt_scope scope, const char *site,
		uint32_t which);
/* After race_atomic() for any other access, which saw `before` and left `after`. */
void race_keep(struct race *race, unsigned int lane, const volatile void *where, size_t bytes,
	       uint64_t before, uint64_t after, bool wrote);
void race_fence(struct race *race, unsigned int lane, enum simt_order order, enum simt_scope scope);
/*
 * Past accesses of `from` happen before future accesses of `to`: launches, ends, one-way barriers.
 */
void race_order(struct race *race, unsigned int from, unsigned int to);
/*
 * A barrier: past accesses of each of the `count` lanes happen before future accesses of all of
 * them.
 */
void race_meet(struct race *race, const unsigned int *lanes, unsigned int count);
/* Memory that is reused (a block's shared memory): its past accesses are discarded. */
void race_forget(struct race *race, const volatile void *where, size_t bytes);

#endif
