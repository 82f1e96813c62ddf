/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle.h - what a pool must be like, told by brute force.
 *
 * A model of one pool as a map of granules: for each granule of each chunk the block that holds it, or none. Every
 * question is answered by looking at all granules, so there is no tree, no link and no running total in common with
 * the pool. Tests do each operation on both, and compare:
 *
 *   1. where a block may come to lie: the smallest free run that takes it, of equals the one the pool promises, fresh
 *      ground last (oracle_best);
 *   2. what a free must answer, at any address (oracle_free);
 *   3. every number of mam_pool_stats but the host bytes (oracle_compare);
 *   4. the walk, segment by segment (oracle_compare).
 *
 * The oracle asserts with Check's ck_assert, naming the step.
 */
#ifndef TESTS_POOL_ORACLE_H
#define TESTS_POOL_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>
#include <mam/stats.h>

#include "scripted_source.h"

#define ORACLE_ALIGNED_TRIES \
	8 /* runs an aligned request looks at before it takes one that is sure to do */

struct oracle_chunk {
	uintptr_t base;
	size_t granules;
	uint32_t *holder; /* a granule each: 1 + index of the block, 0 when free */
	size_t serial;    /* of the ground's piece */
	size_t top;       /* in granules: the highest end of a block ever in this chunk */
};

struct oracle_block {
	uintptr_t base; /* 0: this entry is unused */
	size_t requested;
	size_t granules;
};

/* A run of free granules that a block or an end of the chunk bounds on either side. */
struct oracle_run {
	uintptr_t base;
	size_t bytes;
	size_t chunk;  /* index */
	size_t serial; /* of the chunk */
	bool tail;     /* reaches the end of its chunk */
};

struct oracle {
	size_t granule;
	struct oracle_chunk *chunk; /* in the order the pool took them */
	size_t chunks;
	struct oracle_run *
		freelists; /* free runs but the fresh end of the newest chunk; of equals the one to take stands first */
	size_t listed;
	struct oracle_block *block;
	size_t blocks; /* entries, used and unused */
	uint64_t step; /* operations so far, for messages */
	struct mam_stats
		now; /* the counters that only history can tell: peaks, high water, what happened */
};

void oracle_init(struct oracle *oracle, size_t granule);
void oracle_fini(struct oracle *oracle);

/* oracle_sync - take over from the source which chunks there are now; new ones are free, lost ones had to be. */
void oracle_sync(struct oracle *oracle, struct space *space);

/* oracle_trimmed - after a trim that met no refusal: no wholly free chunk is left that could go and leave `keep` bytes. */
void oracle_trimmed(const struct oracle *oracle, size_t keep);
/* oracle_put_back - the source refused to take this chunk: the pool keeps it as its oldest. */
void oracle_put_back(struct oracle *oracle, uintptr_t base);

/* oracle_best - the free run that a request must be cut from; false when none takes it. Assumes nothing of the pool. */
bool oracle_best(const struct oracle *oracle, size_t bytes, size_t alignment,
		 struct oracle_run *best);

/* oracle_alloc - the pool answered MAM_OK and `block`: is that right? Then the oracle holds it too. */
void oracle_alloc(struct oracle *oracle, size_t bytes, size_t alignment, const void *block);
/* oracle_refused - the pool gave none and may not have had one. */
void oracle_refused(struct oracle *oracle, size_t bytes, size_t alignment);

/* oracle_free - what a free of this address answers; MAM_OK: and the oracle has done it. */
enum mam_status oracle_free(struct oracle *oracle, uintptr_t address);

/* oracle_pick - a live block, evenly chosen by `random`; NULL when there is none. */
const struct oracle_block *oracle_pick(const struct oracle *oracle, uint64_t random);

/* oracle_runs - all free runs in address order; the caller frees the array. */
struct oracle_run *oracle_runs(const struct oracle *oracle, size_t *count);

/* oracle_compare - mam_pool_check, mam_pool_stats and mam_pool_walk of the pool against the model. */
void oracle_compare(struct oracle *oracle, struct mam_pool *pool);

#endif
