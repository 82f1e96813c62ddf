/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt.h - runs kernels on the CPU, one interleaving of their lanes at a time, selected by a seed.
 *
 * A lane is a fiber. At every atomic, fence, collective and sleep (and, in builds with access
 * hooks, at every plain access) the scheduler selects the next lane. The same seed, policy and
 * program give the same interleaving, whatever the addresses: a failure can be reproduced as often
 * as needed.
 *
 * One launch: simt_launch(). Several launches, streams, and concurrent host threads: a world. To
 * search many seeds: explore.h. Device code calls the functions that device/port_simt.h declares.
 *
 * The model includes:
 * - Warps of 32 without implicit convergence: lanes of a warp diverge at any point and converge
 *   where they call for it. A collective is complete when all lanes of its mask that have not ended
 *   wait with its kind and mask. mam_warp_active() returns the lanes at one call once no other lane
 *   of the warp can run, in some runs often earlier, in some never, and eventually also if others
 *   spin.
 * - Block barriers count lanes individually; ended lanes count as arrived. Shared memory initially
 *   contains a pattern.
 * - Blocks and grids have three extents, and threads are in warps in the order of their linear
 *   numbers, as in CUDA (struct simt_dims).
 * - Blocks start in order, `resident` at a time, on SMs in turn. Time is one tick per point;
 *   sleeping lanes are skipped.
 * - Every lane continues eventually (except with `lockstep`): a loop that waits for another
 *   resident lane is valid.
 * - Execution is sequentially consistent. The race checker (`race`) finds what weaker orders would
 *   allow. It follows orders, fences and scopes: of the collectives, only mam_warp_sync() and
 *   mam_syncthreads() order accesses there; the start of a launch follows the earlier work in its
 *   stream.
 * - With `stale`, an atomic load may return an older value, as far as orders, fences, scopes and
 *   what the lane knows allow it (race/race_past.h).
 * - In host threads, host code with C11's atomics, membarrier, futex and thread-local variables, if
 *   it is built with access hooks (host.h).
 * It does not include: loads that return a value that is stored later, the width of stores, texture and constant memory, real time.
 *
 * Code outside a launch may also call device functions: it is the only lane of the only block.
 */
#ifndef MAM_TESTS_SIMT_SIMT_H
#define MAM_TESTS_SIMT_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMT_WARP 32
#define SIMT_TEXT_BYTES 2048

enum simt_policy {
	SIMT_BY_LANE, /* any lane that can continue, each time */
	SIMT_BY_WARP, /* a warp's lanes one after the other, as hardware mostly does */
	SIMT_BY_PCT,  /* priorities and a few changes of them (Burckhardt et al., ASPLOS 2010) */
	SIMT_POLICIES,
	SIMT_BY_BOUND =
		SIMT_POLICIES, /* the seed lists the deviations from a fixed schedule: bound.h */
};

/* Extents in x, y and z. An extent of 0 takes all that is left, and those after it are 1. */
struct simt_dims {
	unsigned int x, y, z;
};

struct simt_config {
	uint64_t seed;
	enum simt_policy policy;
	/*
	 * The shape of all blocks and grids. Blocks may have more threads than a launch has lanes:
	 * the kernel then runs in only as many threads as there are lanes. The first one is thread
	 * 32 if they fit there, so that their first warp need not be in the first row. All other
	 * threads leave the kernel at once. Blocks that are too small for the lanes get as many
	 * layers (z) as necessary. `whole`: blocks consist of the lanes only, in rows of at most
	 * block.x.
	 */
	struct simt_dims block, grid;
	bool whole;
	unsigned int changes;  /* SIMT_BY_PCT: number of priority changes; 0: 3 */
	unsigned int resident; /* resident blocks per launch; 0: all */
	unsigned int sms;      /* SMs that run the blocks; 0: 4 */
	uint64_t steps_max;    /* more scheduling points than this are a livelock; 0: 1,000,000 */
	bool strict;           /* a lane that a mask names must not have ended */
	bool race;             /* check happens-before; plain accesses too if the build has hooks */
	bool stale;            /* atomic loads may return older values; needs `race` */
	/*
	 * Plain accesses are not scheduling points: if two of them race, the checker finds it in any
	 * order. Not for code that calls membarrier(), which orders accesses of other threads too.
	 */
	bool atomics_only;
	bool lockstep; /* SIMT_BY_WARP: a spinning lane blocks its warp, as before Volta */
};

enum simt_verdict {
	SIMT_FINE,
	SIMT_FAILED,    /* simt_fail(), MAM_KASSERT() */
	SIMT_BAD_MASK,  /* without its caller; in dispute; in strict mode, with lanes that ended */
	SIMT_BAD_LANE,  /* a shuffle from a lane outside the mask */
	SIMT_DEADLOCK,  /* no lane can continue; the text lists which lanes wait where */
	SIMT_LIVELOCK,  /* steps_max; the text mentions blocks that are not resident */
	SIMT_RACE,      /* two unordered accesses, one a write: the text names both sites */
	SIMT_NO_MEMORY, /* the simulator itself ran out of memory */
};

struct simt_result {
	enum simt_verdict verdict;
	uint64_t steps; /* scheduling points */
	uint64_t hash;  /* of the interleaving: equal hashes, equal runs */
	char text[SIMT_TEXT_BYTES];
};

typedef void simt_kernel(void *argument);

/*
 * Runs `grid` blocks, each with `block` lanes that run the kernel, until they end or a failure
 * occurs; then returns.
 */
enum simt_verdict simt_launch(const struct simt_config *config, simt_kernel *kernel,
			      unsigned int grid, unsigned int block, void *argument,
			      struct simt_result *result);

/*
 * A world consists of launches in streams, and host threads, which all run in one interleaving.
 * Launches of one stream run one after the other, those of different streams concurrently. A host
 * thread is a fiber that may call no lane functions except atomics, fences, simt_host_yield() and
 * simt_host_wait().
 */
struct simt_world;
struct simt_world *simt_world_create(const struct simt_config *config);
void simt_world_destroy(struct simt_world *world);
bool simt_world_launch(struct simt_world *world, unsigned int stream, simt_kernel *kernel,
		       unsigned int grid, unsigned int block, void *argument);
bool simt_world_host(struct simt_world *world, void (*work)(void *argument), void *argument);
enum simt_verdict simt_world_run(struct simt_world *world, struct simt_result *result);
/* Lets another lane run; by bound, a lane that waits for another one must call it. */
void simt_host_yield(const char *site);
/* membarrier(2): a fence in all host threads. */
void simt_host_barrier(const char *site);
/*
 * A host thread's stream wait: until all launches in `stream`, made before the run or by this
 * thread, have ended.
 */
void simt_host_wait(unsigned int stream, const char *site);
/* From a host thread while the world runs: another launch. */
bool simt_host_launch(unsigned int stream, simt_kernel *kernel, unsigned int grid,
		      unsigned int block, void *argument);

const char *simt_verdict_name(enum simt_verdict verdict);
const char *simt_policy_name(enum simt_policy policy);

/*
 * For device code of tests: the number of the calling lane among those of its block that run the
 * kernel, from 0; how many these are; the linear number of its block; the blocks of its launch.
 */
uint32_t simt_thread(void);
uint32_t simt_block_threads(void);
uint32_t simt_block(void);
uint32_t simt_grid_blocks(void);

/*
 * A random number derived from the launch's seed, for device code of tests: the same in a replay.
 */
uint64_t simt_random(void);

#endif
