/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - see transfer.h: stacks of batches, and a lock for each. */
#include "cache/transfer.h"

#define MAX_TAKEN 2 /* batches, for one request */

void mam_transfer_init(struct mam_transfer *transfer)
{
	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++)
		for (unsigned stack = 0; stack < MAM_TRANSFER_STACKS; stack++)
			mam_lock_init(&transfer->lists[octave][stack].lock, MAM_RANK_POOL,
				      "transfer");
}

/* The n-th stack of an octave to search, for the owner of the bins. */
static struct mam_transfer_list *list_of(struct mam_transfer *transfer, unsigned octave,
					 const struct mam_bins *bins, unsigned n)
{
	return &transfer->lists[octave][(mam_blocktag_tcache(bins->key) + n) % MAM_TRANSFER_STACKS];
}

static uint32_t count_of(const struct mam_transfer_list *list)
{
	return atomic_load_explicit(&list->count, memory_order_relaxed);
}

static bool put_down(struct mam_transfer_list *list, const struct mam_batch *batch)
{
	uint32_t count;
	bool fits;

	if (count_of(list) == MAM_TRANSFER_BATCHES)
		return false;
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

static bool pick_up_any(struct mam_transfer *transfer, unsigned octave, const struct mam_bins *to,
			struct mam_batch *batch)
{
	for (unsigned n = 0; n < MAM_TRANSFER_STACKS; n++)
		if (pick_up(transfer, list_of(transfer, octave, to, n), batch))
			return true;
	return false;
}

/* Whether a batch has a place; this may change at any time. */
static bool has_place(const struct mam_transfer *transfer, unsigned octave)
{
	for (unsigned stack = 0; stack < MAM_TRANSFER_STACKS; stack++)
		if (count_of(&transfer->lists[octave][stack]) < MAM_TRANSFER_BATCHES)
			return true;
	return false;
}

size_t mam_transfer_give(struct mam_transfer *transfer, struct mam_bins *from, uint64_t max)
{
	struct mam_batch batch;
	unsigned octave = mam_bins_fullest(from);

	if (atomic_load_explicit(&transfer->granules, memory_order_relaxed) >= max ||
	    !has_place(transfer, octave) || !mam_bins_pack(from, octave, &batch))
		return 0;
	atomic_fetch_add_explicit(&transfer->granules, batch.granules, memory_order_relaxed);
	for (unsigned n = 0; n < MAM_TRANSFER_STACKS; n++)
		if (put_down(list_of(transfer, octave, from, n), &batch))
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
		while (taken < MAX_TAKEN && pick_up_any(transfer, order[i], to, &batch)) {
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

	for (unsigned i = 0; i < MAM_BINS_OCTAVES * MAM_TRANSFER_STACKS; i++) {
		unsigned octave = i / MAM_TRANSFER_STACKS, stack = i % MAM_TRANSFER_STACKS;

		while (pick_up(transfer, &transfer->lists[octave][stack], &batch)) {
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

	for (unsigned at = 0; at < MAM_BINS_OCTAVES * MAM_TRANSFER_STACKS; at++) {
		unsigned octave = at / MAM_TRANSFER_STACKS;
		const struct mam_transfer_list *list =
			&transfer->lists[octave][at % MAM_TRANSFER_STACKS];

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
