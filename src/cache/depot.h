/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depot.h - blocks on their way from one thread to another: bins of the whole pool, under one lock.
 *
 * Where one thread allocates and another frees, the bins of the one run dry and those of the other
 * run over. What runs over comes here, several blocks under one hold of the lock, and who runs dry
 * looks here before the pool, whose lock is held longer. A thread that is alone at its pool uses
 * none of it.
 *
 * lock: its own, which has the rank of a pool's: nobody holds both.
 */
#ifndef MAM_CACHE_DEPOT_H
#define MAM_CACHE_DEPOT_H

#include "base/lock.h"
#include "cache/bins.h"

struct mam_depot {
	struct mam_lock lock;
	_Atomic uint64_t blocks; /* atomic; bins.blocks, to be read before the lock is taken */
	struct mam_bins bins;    /* lock: depot */
};

void mam_depot_init(struct mam_depot *depot);

/* mam_depot_give - up to `count` blocks out of `from`, as long as the depot holds fewer than `most`
 * granules. How many. */
size_t mam_depot_give(struct mam_depot *depot, struct mam_bins *from, size_t count, uint64_t most);

/* mam_depot_take - up to `count` blocks of `least` to `most` granules into `to`. How many. */
size_t mam_depot_take(struct mam_depot *depot, struct mam_bins *to, uint64_t least, uint64_t most,
		      size_t count);

/* mam_depot_evict - as mam_bins_evict(). */
size_t mam_depot_evict(struct mam_depot *depot, void **blocks, size_t count);

#endif
