/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race.h - was each access ordered after those it conflicts with? Vector clocks, with orders,
 * fences, release sequences and scopes as CUDA's memory model has them.
 *
 * Knows nothing of fibers: the simulator tells it what each lane does, in the order in which it
 * happens. A lane is a number below `lanes`; `block` of a lane decides whether a scope covers two
 * lanes (host threads are blocks of their own: only MAM_AT_SYSTEM covers them and lanes). Two
 * accesses of which one writes conflict where their bytes overlap; they race if neither happens
 * before the other, unless both are atomic with scopes that cover each other's lanes. Each call
 * gives NULL, or a text (of the race object, good until the next call) that names both sites.
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
/* Forgets all accesses and clocks; keeps the memory. */
void race_reset(struct race *race);
/* Says which block a lane belongs to, before its first access. */
void race_place(struct race *race, unsigned int lane, unsigned int block, bool host);
/* Who a lane is, in texts; without it "lane 3 of block 1". */
void race_names(struct race *race, void (*name)(unsigned int lane, char *text, size_t bytes));
const char *race_plain(struct race *race, unsigned int lane, const volatile void *where,
		       size_t bytes, bool write, const char *site);
/* `wrote`: false for a load and for a compare-and-swap that failed. */
const char *race_atomic(struct race *race, unsigned int lane, const volatile void *where,
			size_t bytes, enum simt_op op, bool wrote, enum simt_order order,
			enum simt_scope scope, const char *site);
void race_fence(struct race *race, unsigned int lane, enum simt_order order, enum simt_scope scope);
/*
 * What `from` did so far happens before what `to` does from now on: launches, ends, barriers one
 * way.
 */
void race_order(struct race *race, unsigned int from, unsigned int to);
/* A barrier: what any of the `count` lanes did happens before what any of them does next. */
void race_meet(struct race *race, const unsigned int *lanes, unsigned int count);
/* Memory that begins a new life (a block's shared memory): what was done to it is forgotten. */
void race_forget(struct race *race, const volatile void *where, size_t bytes);

#endif
