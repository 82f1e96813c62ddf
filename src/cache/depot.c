/* SPDX-License-Identifier: Apache-2.0 */
/* depot.c - see depot.h: stacks of batches, and a lock for each. */
#include "cache/depot.h"

#define MOST_TAKEN 2 /* batches, for one request */

void mam_depot_init(struct mam_depot *depot)
{
	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++)
		mam_lock_init(&depot->shelves[octave].lock, MAM_RANK_POOL, "depot");
}

static uint32_t count_of(const struct mam_depot_shelf *shelf)
{
	return atomic_load_explicit(&shelf->count, memory_order_relaxed);
}

static bool put_down(struct mam_depot_shelf *shelf, const struct mam_parcel *parcel)
{
	uint32_t count;
	bool fits;

	mam_lock_take(&shelf->lock);
	count = count_of(shelf);
	fits = count < MAM_DEPOT_PARCELS;
	if (fits) {
		shelf->parcels[count] = *parcel;
		atomic_store_explicit(&shelf->count, count + 1, memory_order_relaxed);
	}
	mam_lock_release(&shelf->lock);
	return fits;
}

static bool pick_up(struct mam_depot *depot, struct mam_depot_shelf *shelf,
		    struct mam_parcel *parcel)
{
	uint32_t count;

	if (count_of(shelf) == 0)
		return false;
	mam_lock_take(&shelf->lock);
	count = count_of(shelf);
	if (count != 0) {
		*parcel = shelf->parcels[count - 1];
		atomic_store_explicit(&shelf->count, count - 1, memory_order_relaxed);
	}
	mam_lock_release(&shelf->lock);
	if (count != 0)
		atomic_fetch_sub_explicit(&depot->granules, parcel->granules,
					  memory_order_relaxed);
	return count != 0;
}

size_t mam_depot_give(struct mam_depot *depot, struct mam_bins *from, uint64_t most)
{
	struct mam_parcel parcel;
	unsigned octave = mam_bins_fullest(from);

	if (atomic_load_explicit(&depot->granules, memory_order_relaxed) >= most ||
	    count_of(&depot->shelves[octave]) == MAM_DEPOT_PARCELS ||
	    !mam_bins_pack(from, octave, &parcel))
		return 0;
	atomic_fetch_add_explicit(&depot->granules, parcel.granules, memory_order_relaxed);
	if (put_down(&depot->shelves[octave], &parcel))
		return parcel.blocks;
	atomic_fetch_sub_explicit(&depot->granules, parcel.granules, memory_order_relaxed);
	mam_bins_unpack(from, octave, &parcel);
	return 0;
}

bool mam_depot_take(struct mam_depot *depot, struct mam_bins *to, uint64_t least, uint64_t most)
{
	unsigned octave = mam_bins_octave(least);
	bool upper = most >= UINT64_C(2) << octave && octave + 1 < MAM_BINS_OCTAVES;
	unsigned order[2] = { octave, octave + 1 };
	struct mam_parcel parcel;
	unsigned taken = 0;

	if (upper && 4 * least >= UINT64_C(7) << octave) {
		order[0] = octave + 1;
		order[1] = octave;
	}
	for (unsigned i = 0; i < (upper ? 2u : 1u); i++) {
		while (taken < MOST_TAKEN && pick_up(depot, &depot->shelves[order[i]], &parcel)) {
			mam_bins_unpack(to, order[i], &parcel);
			if (mam_bins_best(to, least, most) != 0)
				return true;
			taken++;
		}
	}
	return false;
}

size_t mam_depot_evict(struct mam_depot *depot, void *blocks[MAM_PARCEL_BLOCKS])
{
	struct mam_parcel parcel;
	size_t got;

	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++) {
		while (pick_up(depot, &depot->shelves[octave], &parcel)) {
			got = mam_parcel_end(&parcel, octave, blocks);
			depot->lost += parcel.blocks - got;
			if (got != 0)
				return got;
		}
	}
	return 0;
}

const char *mam_depot_check(const struct mam_depot *depot)
{
	uint64_t granules = 0;

	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++) {
		const struct mam_depot_shelf *shelf = &depot->shelves[octave];

		for (uint32_t i = 0; i < count_of(shelf); i++) {
			const char *why = mam_parcel_check(&shelf->parcels[i], octave);

			if (why)
				return why;
			granules += shelf->parcels[i].granules;
		}
	}
	return granules == atomic_load_explicit(&depot->granules, memory_order_relaxed)
		       ? NULL
		       : "the transfer cache's count does not match its batches";
}
