/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_sync.h - synchronization: release and acquire, by access and by fence, with scopes.
 *
 * Source: release sequences and fences as in ISO C++20 (N4861, 6.9.2 and 31.11), on which CUDA C++
 * builds; scopes and moral strength as in NVIDIA's PTX ISA, chapter Memory Consistency Model, and
 * as formalized by Daniel Lustig, Sameer Sahasrabuddhe and Olivier Giroux, A Formal Analysis of the
 * NVIDIA PTX Memory Consistency Model, ASPLOS 2019.
 *
 * Lanes of one block are a group; a host thread is a group of its own. The scope needed to cover
 * two lanes depends on their groups alone: race_need(). The rules:
 *
 * 1. A location (an address with a size) has heads: the clocks that a reader of its newest value
 *    may acquire. A release adds a head, by the access itself or by a fence earlier in its lane;
 *    the head has the release's scope.
 * 2. A store drops the heads and adds its own. A read-modify-write keeps them and adds its own (a
 *    release sequence), if its scope and that of the write before it cover each other's lanes;
 *    otherwise it drops them.
 * 3. A read acquires a head if its scope and that of the newest write cover each other's lanes, and
 *    if the release's scope and the acquire's cover each other's lanes. An acquire joins it at
 *    once; any other read sets it aside until an acquire fence of a wide enough scope.
 * 4. A seq_cst fence also acquires from all earlier such fences whose scopes agree, as in PTX.
 *    Seq_cst accesses are acquire and release.
 * 5. Plain writes and writes of another size leave heads unchanged: a later reader is ordered after
 *    such a write, and that write after all heads, or there is a race.
 *
 * A store ends a release sequence even if it is by the same lane, as in C++20; C11 and PTX let it
 * continue. Acquiring a clock is transitive through all scopes. Bound: one pass over a clock per
 * head, and at most one head per scope and group.
 */
#ifndef MAM_TESTS_SIMT_RACE_SYNC_H
#define MAM_TESTS_SIMT_RACE_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "device/port_simt.h"
#include "simt/race/race_clock.h"
#include "simt/race/race_memory.h"

#define RACE_SCOPES (MAM_AT_SYSTEM + 1)
#define RACE_MISSES 4
#define RACE_NO_LANE UINT32_MAX
#define RACE_HOST 0x80000000u /* in a group: a host thread, not a block */

/* Why a read acquired nothing from a write whose value it returned: used for hints. */
enum race_miss_why {
	RACE_NO_MISS,
	RACE_WRITE_RELAXED, /* neither the write nor a fence before it releases */
	RACE_READ_RELAXED,  /* the read does not acquire, and no fence did so after it */
	RACE_SCOPE,         /* a scope, of write, read or fence, does not cover the other lane */
};

struct race_side {
	const char *site;
	enum simt_order order;
	enum simt_scope scope;
};

struct race_miss {
	enum race_miss_why why;
	uint32_t lane, epoch; /* of the write whose value was returned */
	struct race_side write, read;
};

struct race_lane {
	struct race_clock now;
	struct race_clock released[RACE_SCOPES]; /* `now` at the last release fence of each scope */
	struct race_clock seen[RACE_SCOPES]; /* to be acquired by an acquire fence of this scope */
	uint32_t group;
	struct race_miss misses[RACE_MISSES]; /* a ring */
	unsigned int next_miss;
};

struct race_head {
	struct race_head *next;
	struct race_clock clock; /* not set: not a head now, kept for its memory */
	enum simt_scope scope;
	uint32_t group;
	uint32_t lane, epoch; /* owner of this clock, or RACE_NOBODY if several were joined */
};

struct race_past;

struct race_sync {
	struct race_sync *next; /* of the granule */
	struct race_head *heads;
	struct race_past *past; /* race_past.h; NULL: no writes are kept */
	uint8_t mask;           /* bytes of the granule: the location */
	bool written;           /* by an atomic access; what follows is of the newest one */
	uint32_t lane, epoch;
	struct race_side write;
};

/* The narrowest scope that covers lanes of both groups. */
static inline enum simt_scope race_need(uint32_t one, uint32_t other)
{
	if (one == other)
		return MAM_AT_BLOCK;
	return (one | other) & RACE_HOST ? MAM_AT_SYSTEM : MAM_AT_DEVICE;
}

/* Do both scopes cover the other's lane? */
static inline bool race_covers(enum simt_scope one_scope, uint32_t one, enum simt_scope other_scope,
			       uint32_t other)
{
	enum simt_scope need = race_need(one, other);

	return one_scope >= need && other_scope >= need;
}

static inline bool race_acquires(enum simt_order order)
{
	return order == MAM_ACQUIRE || order >= MAM_ACQ_REL;
}

static inline bool race_releases(enum simt_order order)
{
	return order >= MAM_RELEASE;
}

/* All return false if out of memory. `id` is the lane's number. */
/* The lane's knowledge was passed on: its next accesses belong to a new epoch. */
void race_sync_tick(struct race_lane *lane, uint32_t id);
bool race_sync_read(struct race_memory *memory, struct race_lane *lanes, uint32_t id,
		    const struct race_sync *sync, const struct race_side *read);
/* `rmw`: the write is part of a read-modify-write. Does not start a new epoch. */
bool race_sync_write(struct race_memory *memory, struct race_lane *lanes, uint32_t id,
		     struct race_sync *sync, const struct race_side *write, bool rmw);
/* Makes `to` what a reader of the newest write of `from` may acquire. */
bool race_sync_copy(struct race_memory *memory, struct race_sync *to, const struct race_sync *from);
/* The location is reused: drops its heads. */
void race_sync_break(struct race_sync *sync);
/* `fences`: heads of seq_cst fences. */
bool race_sync_fence(struct race_memory *memory, struct race_lane *lanes, uint32_t id,
		     struct race_head **fences, enum simt_order order, enum simt_scope scope);

#endif
