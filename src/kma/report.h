/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - statistics of a heap of superblocks.
 *
 * Any number of lanes each read a share of the states and add up in device memory. While requests
 * are in progress the values are not a consistent snapshot. Otherwise each superblock is active,
 * inactive, free, or in a run, and blocks + runs is the number of live allocations.
 *
 * Bound: one read per superblock, and 8 additions per lane.
 */
#ifndef MAM_KMA_REPORT_H
#define MAM_KMA_REPORT_H

#include "kma/layout.h"
#include "kma/superblock.h"

/* Zeroed by the caller; the kernel adds to each field. */
struct mam_kma_stats {
	uint64_t allocs, frees; /* of a heap that counts them, otherwise 0 */
	uint64_t failures[MAM_KMA_FAILURES];
	uint64_t active, inactive, free; /* superblocks */
	uint64_t runs, in_runs;          /* and their superblocks */
	uint64_t blocks, bytes; /* live blocks; total size of blocks and runs, rounded up */
};

/* Called by `workers` lanes, each with its own number below that. */
MAM_KFN void mam_kma_report(MAM_GLOBAL struct mam_kma *heap, MAM_GLOBAL struct mam_kma_stats *stats,
			    uint32_t worker, uint32_t workers)
{
	uint64_t active = 0, inactive = 0, runs = 0, in_runs = 0, unused = 0, blocks = 0, bytes = 0;
	uint64_t state, live;
	uint32_t i;

	for (i = worker; i < heap->superblocks; i += workers) {
		state = mam_atomic_load64(mam_kma_state(heap, i), MAM_RELAXED, MAM_AT_DEVICE);
		if (mam_kma_state_cut(state)) {
			live = mam_kma_state_total(state) - mam_kma_state_free(state);
			blocks += live;
			bytes += live *
				 heap->class_of[mam_kma_state_kind(state) - MAM_KMA_OF_CLASS].size;
			if (mam_kma_state_attached(state))
				active++;
			else
				inactive++;
		} else if (mam_kma_state_kind(state) == MAM_KMA_FREE) {
			unused++;
		} else {
			runs += mam_kma_state_kind(state) == MAM_KMA_RUN;
			in_runs++;
			bytes += (uint64_t)1 << heap->shift;
		}
	}
	(void)mam_atomic_add64(&stats->active, active, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&stats->inactive, inactive, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&stats->free, unused, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&stats->runs, runs, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&stats->in_runs, in_runs, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&stats->blocks, blocks, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add64(&stats->bytes, bytes, MAM_RELAXED, MAM_AT_DEVICE);
	if (worker)
		return;
	for (i = 0; i < MAM_KMA_FAILURES; i++)
		(void)mam_atomic_add64(
			&stats->failures[i],
			mam_atomic_load64(&heap->failures[i], MAM_RELAXED, MAM_AT_DEVICE),
			MAM_RELAXED, MAM_AT_DEVICE);
	for (i = 0; i < MAM_KMA_SLOTS; i++) {
		(void)mam_atomic_add64(
			&stats->allocs,
			mam_atomic_load64(&heap->slots[i].allocs, MAM_RELAXED, MAM_AT_DEVICE),
			MAM_RELAXED, MAM_AT_DEVICE);
		(void)mam_atomic_add64(
			&stats->frees,
			mam_atomic_load64(&heap->slots[i].frees, MAM_RELAXED, MAM_AT_DEVICE),
			MAM_RELAXED, MAM_AT_DEVICE);
	}
}

#endif
