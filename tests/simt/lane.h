/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - data shared by the parts of the simulator: lanes in warps in blocks in launches in a
 * world.
 *
 * Choices depend on numbers, never on addresses: a run does not depend on the memory layout. A
 * lane's `state` is SIMT_READY if and only if its bit is in its warp's `ready` and the scheduler
 * knows it.
 */
#ifndef MAM_TESTS_SIMT_LANE_H
#define MAM_TESTS_SIMT_LANE_H

#include "device/port_simt.h"
#include "simt/fiber.h"
#include "simt/race/race.h"
#include "simt/simt.h"

enum simt_state {
	SIMT_READY,
	SIMT_AT_COLLECTIVE,
	SIMT_AT_ACTIVE,
	SIMT_AT_BARRIER,
	SIMT_ASLEEP,
	SIMT_AT_STREAM, /* a host thread that waits for launches */
	SIMT_ENDED,
};

enum simt_collective { SIMT_BALLOT, SIMT_SHUFFLE, SIMT_MATCH, SIMT_SYNCWARP };

struct simt_lane {
	struct simt_fiber fiber;
	struct simt_warp *warp;
	struct simt_block *block;
	const char *site; /* of the last call into the simulator */
	uint64_t value;   /* its input to a collective, then the result */
	uint64_t key;     /* asleep: the wake-up time; by PCT: the smallest one runs first */
	uint32_t number;  /* in the world, and in race.h */
	uint32_t thread;  /* among those of its block that run the kernel */
	uint32_t at[3];   /* its coordinates in its block */
	uint32_t bit;     /* of the lane in its warp: 1 << lane */
	uint32_t lane;
	uint32_t mask, source; /* of its collective; of its shuffle */
	uint32_t place;        /* in the scheduler's list */
	enum simt_state state;
	enum simt_collective kind;
};

/* Lanes of a warp that wait for one another. */
struct simt_group {
	enum simt_collective kind;
	uint32_t mask, arrived, votes;
};

struct simt_warp {
	struct simt_block *block;
	struct simt_lane *lanes; /* its lane 0 */
	uint32_t index;          /* in its block */
	uint32_t ready, ended;   /* lanes that do not exist have ended */
	uint32_t exist;
	uint32_t at_active;
	uint32_t patience; /* points of this warp since a lane started to wait in `at_active` */
	uint32_t place;    /* in the scheduler's list */
	uint32_t turn;     /* its lane that ran last */
	uint32_t groups;
	struct simt_group group[SIMT_WARP];
};

struct simt_piece {
	const void *key;
	void *memory;
	size_t bytes, room;
};

/* A resident block, or the memory of one: all of it is kept for the next block. */
struct simt_block {
	struct simt_launch *launch;
	struct simt_lane *lanes;
	struct simt_warp *warps;
	uint32_t lanes_room; /* lanes with a stack */
	uint32_t count;      /* lanes */
	uint32_t index;      /* in its launch */
	uint32_t at[3];      /* its coordinates in the grid */
	uint32_t slot;       /* in the world */
	uint32_t live;       /* lanes that have not ended */
	uint32_t at_barrier;
	bool used;
	struct simt_piece *piece; /* shared memory; those from index `pieces` up are spare */
	uint32_t pieces, pieces_room;
};

/* A kernel, or a host thread, which is one lane with `host` set. */
struct simt_launch {
	simt_kernel *kernel;
	void *argument;
	uint32_t grid, block; /* blocks; lanes of each that run the kernel */
	uint32_t grid_dims[3], block_dims[3];
	uint32_t threads; /* of a block, including those that do not run the kernel */
	uint32_t skipped; /* number of threads before the lanes: whole warps */
	uint32_t stream;
	uint32_t next;    /* the block that starts next */
	uint32_t running; /* resident blocks */
	uint32_t first;   /* number of its first lane */
	uint32_t order;   /* number that represents the whole launch in race.h */
	uint32_t place;   /* of its first block, in race.h */
	bool host, begun, ended;
	struct simt_launch *before; /* in its stream; NULL if none */
	uint32_t by; /* number of the host thread that launched it; 0: the world's builder */
};

/* The scheduling points at which the policies differ are in sched.c. */
struct simt_sched {
	enum simt_policy policy;
	uint64_t random;
	struct simt_lane **ready;  /* a list; by PCT a heap, smallest key first */
	struct simt_warp **warps;  /* warps with a lane that is ready: by warp only */
	struct simt_lane **asleep; /* a heap, earliest first */
	uint32_t lanes_ready, warps_ready, sleepers, room;
	struct simt_warp *warp; /* by warp: the current one */
	uint64_t change[16];    /* by PCT: the steps of changes, sorted */
	uint32_t changes, changed;
	uint32_t in_a_row; /* by PCT: points of the same lane */
	uint64_t last_key; /* by PCT: the key that is after all others */
	uint32_t early;    /* of 64 calls of mam_warp_active(), this number returns at once */
	bool run_on;       /* by warp: a lane continues until it waits */
	bool yields;       /* by bound: the running lane lets another one run */
	uint64_t plan;     /* by bound: the deviations that are left */
	struct simt_lane *last;
};

struct simt_world {
	struct simt_config config;
	struct simt_sched sched;
	struct simt_fiber main;
	uint64_t steps, steps_max, clock, hash;
	uint64_t dice; /* of simt_random() */
	bool trace;
	bool attention; /* a block or launch ended or started: the main loop has to check */
	bool race_on;
	struct race *race;
	uint32_t race_room;
	unsigned int *meeting; /* numbers for race_meet(); capacity: sched.room */
	struct simt_launch **launch;
	uint32_t launches, launches_room, numbers, places, hosts, shift;
	struct simt_block **slot;
	uint32_t slots, slots_room;
	struct simt_result result;
	struct simt_world *spare;
};

/* The running lane, NULL outside kernels and host threads; and its world. */
extern struct simt_lane *simt_here;
extern struct simt_world *simt_now;

#endif
