/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt.h - runs kernels on the CPU, one interleaving of their lanes at a time, chosen by a seed.
 *
 * A lane is a fiber. At every atomic, fence, collective and sleep (and, in builds with access
 * hooks, at every plain access) the scheduler picks who goes on. The same seed, policy and program
 * give the same interleaving, whatever the addresses: a failure can be had again as often as
 * wanted.
 *
 * One launch: simt_launch(). Several launches, streams, and host threads beside them: a world. To
 * search many seeds: explore.h. Device code calls what device/port_simt.h declares.
 *
 * What is modelled:
 * - Warps of 32 without convergence: lanes of a warp move apart at any point and come together
 *   where they call for it. A collective is complete when all lanes of its mask that have not ended
 *   wait with its kind and mask. mam_warp_active() answers the lanes at one call once no other lane
 *   of the warp can run, in some runs often earlier, in some never, and in the end also where
 *   others spin.
 * - Block barriers count lanes, each for itself; those that ended have come. Shared memory holds a
 *   pattern.
 * - Blocks and grids have three extents, and threads lie in warps in the order of their linear
 *   numbers, as in CUDA (struct simt_dims).
 * - Blocks start in order, `resident` at a time, on SMs in turn. Time is one tick a point; who
 *   sleeps is passed over.
 * - Every lane goes on some day (but with `lockstep`): a loop that waits for another resident lane
 *   is right.
 * - Memory is sequentially consistent as it runs. What weaker orders would allow is found by the
 *   race checker (`race`), which follows orders, fences and scopes: collectives order nothing there
 *   but mam_warp_sync() and mam_syncthreads(); a launch's begin follows what came before it in its
 *   stream.
 * What is not: values that relaxed atomics alone might return out of order, the width of stores,
 * texture and constant memory, time as it is.
 *
 * Code outside of a launch may call device functions, too: it is the only lane of the only block.
 */
#ifndef MAM_TESTS_SIMT_SIMT_H
#define MAM_TESTS_SIMT_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMT_WARP 32
#define SIMT_TEXT_BYTES 2048

enum simt_policy {
	SIMT_BY_LANE, /* any lane that can go on, each time */
	SIMT_BY_WARP, /* a warp's lanes one after the other, as hardware mostly does */
	SIMT_BY_PCT,  /* priorities and a few changes of them (Burckhardt et al., ASPLOS 2010) */
	SIMT_POLICIES,
};

/* Extents in x, y and z. One that is 0 takes all that is left, and those after it are 1. */
struct simt_dims {
	unsigned int x, y, z;
};

struct simt_config {
	uint64_t seed;
	enum simt_policy policy;
	/*
	 * The shape of all blocks and grids. Blocks may have more threads than a launch has lanes:
	 * the kernel then runs in so many threads, of which the first is thread 32 if they fit there,
	 * so that their first warp need not lie in the first row. All other threads have left the
	 * kernel at once. Blocks that are too small for the lanes get as many layers (z) as are necessary.
	 * `whole`: blocks have no other threads than the lanes, in rows of at most block.x.
	 */
	struct simt_dims block, grid;
	bool whole;
	unsigned int changes;  /* SIMT_BY_PCT: how often priorities change; 0: 3 */
	unsigned int resident; /* blocks that run at the same time, in a launch; 0: all */
	unsigned int sms;      /* SMs that blocks are spread over; 0: 4 */
	uint64_t steps_max;    /* more scheduling points than this are a livelock; 0: 1,000,000 */
	bool strict;           /* a lane that a mask names must not have ended */
	bool race;     /* check happens-before; plain accesses too where the build has hooks */
	bool lockstep; /* SIMT_BY_WARP: who spins keeps its warp's others out, as before Volta */
};

enum simt_verdict {
	SIMT_FINE,
	SIMT_FAILED,    /* simt_fail(), MAM_KASSERT() */
	SIMT_BAD_MASK,  /* without its caller; in dispute; when strict, of lanes that ended */
	SIMT_BAD_LANE,  /* a shuffle from a lane outside the mask */
	SIMT_DEADLOCK,  /* nobody can go on; the text says who waits where */
	SIMT_LIVELOCK,  /* steps_max; the text says if there are blocks that are not resident */
	SIMT_RACE,      /* two accesses, one a write, in no order: the text names both sites */
	SIMT_NO_MEMORY, /* the simulator itself got none */
};

struct simt_result {
	enum simt_verdict verdict;
	uint64_t steps; /* scheduling points */
	uint64_t hash;  /* of the interleaving: equal hashes, equal runs */
	char text[SIMT_TEXT_BYTES];
};

typedef void simt_kernel(void *argument);

/*
 * Runs `grid` blocks, each with `block` lanes that run the kernel, to their end, or to what is
 * wrong; then returns.
 */
enum simt_verdict simt_launch(const struct simt_config *config, simt_kernel *kernel,
			      unsigned int grid, unsigned int block, void *argument,
			      struct simt_result *result);

/*
 * A world holds launches in streams, and host threads, that all run in one interleaving. Launches
 * of one stream run one after the other, those of different streams at the same time. A host thread
 * is a fiber with lane functions forbidden but atomics, fences, simt_host_yield() and
 * simt_host_wait().
 */
struct simt_world;
struct simt_world *simt_world_create(const struct simt_config *config);
void simt_world_destroy(struct simt_world *world);
bool simt_world_launch(struct simt_world *world, unsigned int stream, simt_kernel *kernel,
		       unsigned int grid, unsigned int block, void *argument);
bool simt_world_host(struct simt_world *world, void (*work)(void *argument), void *argument);
enum simt_verdict simt_world_run(struct simt_world *world, struct simt_result *result);
void simt_host_yield(const char *site);
/*
 * A host thread's stream wait: until all that was launched in `stream` before the run, or by this
 * thread, has ended.
 */
void simt_host_wait(unsigned int stream, const char *site);
/* From a host thread while the world runs: another launch. */
bool simt_host_launch(unsigned int stream, simt_kernel *kernel, unsigned int grid,
		      unsigned int block, void *argument);

const char *simt_verdict_name(enum simt_verdict verdict);
const char *simt_policy_name(enum simt_policy policy);

/*
 * For tests' device code: the calling lane among those of its block that run the kernel, from 0; how
 * many these are; the linear number of its block; the blocks of its launch.
 */
uint32_t simt_thread(void);
uint32_t simt_block_threads(void);
uint32_t simt_block(void);
uint32_t simt_grid_blocks(void);

/* A random number of the launch's seed, for tests' device code: the same when replayed. */
uint64_t simt_random(void);

#endif
