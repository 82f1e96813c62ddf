/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - see transfer.h: stacks of batches, and a lock for each. */
#include "cache/transfer.h"

#define MAX_TAKEN 2 /* batches, for one request */

void mam_transfer_init(struct mam_transfer *transfer)
{
	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++)
		mam_lock_init(&transfer->lists[octave].lock, MAM_RANK_POOL, "transfer");
}

static uint32_t count_of(const struct mam_transfer_list *list)
{
	return atomic_load_explicit(&list->count, memory_order_relaxed);
}

static bool put_down(struct mam_transfer_list *list, const struct mam_batch *batch)
{
	uint32_t count;
	bool fits;

	mam_lock_take(&list->lock);
	count = count_of(list);
	fits = count < MAM_TRANSFER_BATCHES;
	if (fits) {
		list->batches[count] = *batch;
		atomic_store_explicit(&list->count, count + 1, memory_order_relaxed);
	}
	mam_lock_release(&list->lock);
	return fits;
}

static bool pick_up(struct mam_transfer *transfer, struct mam_transfer_list *list,
		    struct mam_batch *batch)
{
	uint32_t count;

	if (count_of(list) == 0)
		return false;
	mam_lock_take(&list->lock);
	count = count_of(list);
	if (count != 0) {
		*batch = list->batches[count - 1];
		atomic_store_explicit(&list->count, count - 1, memory_order_relaxed);
	}
	mam_lock_release(&list->lock);
	if (count != 0)
		atomic_fetch_sub_explicit(&transfer->granules, batch->granules,
					  memory_order_relaxed);
	return count != 0;
}

size_t mam_transfer_give(struct mam_transfer *transfer, struct mam_bins *from, uint64_t max)
{
	struct mam_batch batch;
	unsigned octave = mam_bins_fullest(from);

	if (atomic_load_explicit(&transfer->granules, memory_order_relaxed) >= max ||
	    count_of(&transfer->lists[octave]) == MAM_TRANSFER_BATCHES ||
	    !mam_bins_pack(from, octave, &batch))
		return 0;
	atomic_fetch_add_explicit(&transfer->granules, batch.granules, memory_order_relaxed);
	if (put_down(&transfer->lists[octave], &batch))
		return batch.blocks;
	atomic_fetch_sub_explicit(&transfer->granules, batch.granules, memory_order_relaxed);
	mam_bins_unpack(from, octave, &batch);
	return 0;
}

bool mam_transfer_take(struct mam_transfer *transfer, struct mam_bins *to, uint64_t min,
		       uint64_t max)
{
	unsigned octave = mam_bins_octave(min);
	bool upper = max >= UINT64_C(2) << octave && octave + 1 < MAM_BINS_OCTAVES;
	unsigned order[2] = { octave, octave + 1 };
	struct mam_batch batch;
	unsigned taken = 0;

	if (upper && 4 * min >= UINT64_C(7) << octave) {
		order[0] = octave + 1;
		order[1] = octave;
	}
	for (unsigned i = 0; i < (upper ? 2u : 1u); i++) {
		while (taken < MAX_TAKEN && pick_up(transfer, &transfer->lists[order[i]], &batch)) {
			mam_bins_unpack(to, order[i], &batch);
			if (mam_bins_best(to, min, max) != 0)
				return true;
			taken++;
		}
	}
	return false;
}

size_t mam_transfer_evict(struct mam_transfer *transfer, void *blocks[MAM_BATCH_BLOCKS])
{
	struct mam_batch batch;
	size_t got;

	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++) {
		while (pick_up(transfer, &transfer->lists[octave], &batch)) {
			got = mam_batch_end(&batch, octave, blocks);
			transfer->lost += batch.blocks - got;
			if (got != 0)
				return got;
		}
	}
	return 0;
}

const char *mam_transfer_check(const struct mam_transfer *transfer)
{
	uint64_t granules = 0;

	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++) {
		const struct mam_transfer_list *list = &transfer->lists[octave];

		for (uint32_t i = 0; i < count_of(list); i++) {
			const char *why = mam_batch_check(&list->batches[i], octave);

			if (why)
				return why;
			granules += list->batches[i].granules;
		}
	}
	return granules == atomic_load_explicit(&transfer->granules, memory_order_relaxed)
		       ? NULL
		       : "the transfer cache's count does not match its batches";
}
