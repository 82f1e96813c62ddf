/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle.h - the expected state of a pool, computed by brute force.
 *
 * A model of one pool as a map of granules: for each granule of each chunk, the block that contains
 * it, or none. Every query scans all granules, so the model shares no tree, link or running total
 * with the pool. Tests do each operation on both, and compare:
 *
 *   1. where a block may be placed: the smallest free run that fits it, among equal ones the run
 *      that the pool promises, and fresh memory last (oracle_best);
 *   2. what a free must return, for any address (oracle_free);
 *   3. every counter of mam_pool_stats except the host bytes (oracle_compare);
 *   4. the output of mam_pool_walk, segment by segment (oracle_compare).
 *
 * The oracle asserts with Check's ck_assert and names the step.
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
	8 /* runs that an aligned request examines before it takes one that always fits */

struct oracle_chunk {
	uintptr_t base;
	size_t granules;
	uint32_t *holder; /* one per granule: 1 + index of the block, 0 when free */
	size_t serial;    /* of the source's piece */
	size_t top;       /* in granules: the highest end that a block in this chunk ever had */
};

struct oracle_block {
	uintptr_t base; /* 0: this entry is unused */
	size_t requested;
	size_t granules;
};

/* A run of free granules, bounded on each side by a block or an end of the chunk. */
struct oracle_run {
	uintptr_t base;
	size_t bytes;
	size_t chunk;  /* index */
	size_t serial; /* of the chunk */
	bool tail;     /* extends to the end of its chunk */
};

struct oracle {
	size_t granule;
	struct oracle_chunk *chunk; /* in the order in which the pool obtained them */
	size_t chunks;
	/* Free runs except the newest chunk's fresh end; the first of equal runs is used first. */
	struct oracle_run *freelists;
	size_t listed;
	struct oracle_block *block;
	size_t blocks;        /* entries, used and unused */
	uint64_t step;        /* operations so far, for messages */
	struct mam_stats now; /* counters that depend on history: peaks, high water, event counts */
};

void oracle_init(struct oracle *oracle, size_t granule);
void oracle_fini(struct oracle *oracle);

/*
 * oracle_sync - read from the source which chunks exist now; new ones are free, and removed ones
 * must have been free.
 */
void oracle_sync(struct oracle *oracle, struct space *space);

/*
 * oracle_trimmed - after a trim without a refusal: no free chunk remains that could be released and
 * leave `keep` bytes.
 */
void oracle_trimmed(const struct oracle *oracle, size_t keep);
/* oracle_put_back - the source refused to take this chunk back: the pool keeps it as its oldest. */
void oracle_put_back(struct oracle *oracle, uintptr_t base);

/*
 * oracle_best - the free run that a request must be cut from; false when none fits. Assumes nothing
 * about the pool.
 */
bool oracle_best(const struct oracle *oracle, size_t bytes, size_t alignment,
		 struct oracle_run *best);

/* oracle_alloc - check `block`, which the pool returned with MAM_OK, and add it to the model. */
void oracle_alloc(struct oracle *oracle, size_t bytes, size_t alignment, const void *block);
/*
 * oracle_refused - check that the pool had no memory for a request that it refused. A caller whose
 * request failed counts that.
 */
void oracle_refused(struct oracle *oracle, size_t bytes, size_t alignment);

/* oracle_free - what a free of this address must return; if MAM_OK, the block leaves the model. */
enum mam_status oracle_free(struct oracle *oracle, uintptr_t address);

/* oracle_pick - a live block, chosen uniformly by `random`; NULL when there is none. */
const struct oracle_block *oracle_pick(const struct oracle *oracle, uint64_t random);

/* oracle_runs - all free runs in address order; the caller frees the array. */
struct oracle_run *oracle_runs(const struct oracle *oracle, size_t *count);

/*
 * oracle_compare - compare mam_pool_check, mam_pool_stats and mam_pool_walk of the pool with the
 * model.
 */
void oracle_compare(struct oracle *oracle, struct mam_pool *pool);

#endif
