/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depot.h - blocks on their way from one thread to another, in parcels.
 *
 * Where one thread allocates and another frees, the bins of the one run dry and those of the other
 * run over. What runs over comes here, and who runs dry looks here before the pool.
 *
 *  1. A parcel is up to 32 blocks, or 4 MiB, of one octave of sizes: a stack through their tags, as
 *     in a bin, with seat 0 in the tags. Its owner packs and unpacks it alone.
 *  2. Each octave has a shelf of parcels and a lock of its own. Under the lock a parcel is put down
 *     or picked up as a whole: 16 bytes. (While blocks moved one by one under one lock, 16 threads
 *     that free each other's did 43 million operations a second on an H100's host; so it is 90. On
 *     mapped pieces, where seats are smaller and the depot is busier, 16 million and 32.)
 *  3. Who needs a size looks at the octave where the next larger sizes are most likely: its own, or
 *     from three quarters of the way up the next one. What does not fit stays in the bins for
 *     later.
 *  4. What a double free took out of a parcel is noticed when it is unpacked, as in bins.h.
 *
 * A thread that is alone at its pool uses none of it.
 *
 * Bound: O(1) under a lock, O(blocks) outside. lock: a shelf's, which has the rank of a pool's:
 * nobody holds both.
 */
#ifndef MAM_CACHE_DEPOT_H
#define MAM_CACHE_DEPOT_H

#include "base/lock.h"
#include "cache/bins.h"

#define MAM_DEPOT_PARCELS 61 /* on one shelf: with its head it fills 1 KiB */

struct mam_depot_shelf {
	struct mam_lock lock;
	_Atomic uint32_t count; /* atomic; written under lock; of parcels */
	struct mam_parcel parcels[MAM_DEPOT_PARCELS]; /* lock: lock */
} __attribute__((aligned(128)));

struct mam_depot {
	struct mam_depot_shelf shelves[MAM_BINS_OCTAVES];
	_Atomic uint64_t granules; /* atomic; sum of all parcels */
	uint64_t lost;             /* lock: cache; count, as in bins, of parcels that were ended */
};

void mam_depot_init(struct mam_depot *depot);

/*
 * mam_depot_give - a parcel out of `from`, as long as the depot holds fewer than `most` granules.
 * How many blocks.
 */
size_t mam_depot_give(struct mam_depot *depot, struct mam_bins *from, uint64_t most);

/*
 * mam_depot_take - a parcel or two into `to`, until there is a block of `least` to `most` granules.
 */
bool mam_depot_take(struct mam_depot *depot, struct mam_bins *to, uint64_t least, uint64_t most);

/*
 * mam_depot_evict - the blocks of one parcel, without tags, for whoever holds the cache's lock; 0:
 * there is none.
 */
size_t mam_depot_evict(struct mam_depot *depot, void *blocks[MAM_PARCEL_BLOCKS]);

/* mam_depot_check - NULL or one sentence. pre: nobody is at work with it. */
const char *mam_depot_check(const struct mam_depot *depot);

#endif
