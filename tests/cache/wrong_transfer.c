/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_transfer.c - see wrong_transfer.h. */
#include "wrong_transfer.h"

enum wrong_transfer wrong_transfer;

static _Thread_local bool locked;
static _Thread_local uint32_t last_count;

static uint64_t load_granules(const _Atomic uint64_t *granules)
{
	return atomic_load_explicit(granules, memory_order_relaxed);
}

static uint32_t load_count(const _Atomic uint32_t *count)
{
	if (wrong_transfer != WRONG_NO_RECHECK || !locked)
		last_count = atomic_load_explicit(count, memory_order_relaxed);
	return last_count;
}

static void lock_take(struct mam_lock *lock)
{
	locked = true;
	if (wrong_transfer != WRONG_NO_LOCK)
		mam_lock_take(lock);
}

static void lock_release(struct mam_lock *lock)
{
	locked = false;
	if (wrong_transfer == WRONG_UNLOCK_RELAXED)
		atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
	else if (wrong_transfer != WRONG_NO_LOCK)
		mam_lock_release(lock);
}

/* The two calls differ in the name of their argument. */
static void unpack_to(struct mam_bins *bins, unsigned octave, const struct mam_batch *batch)
{
	mam_bins_unpack(bins, octave, batch);
}

static void unpack_from(struct mam_bins *bins, unsigned octave, const struct mam_batch *batch)
{
	if (wrong_transfer != WRONG_NO_UNPACK)
		mam_bins_unpack(bins, octave, batch);
}

#define mam_lock_take(lock) lock_take(lock)
#define mam_lock_release(lock) lock_release(lock)
#define mam_bins_unpack(bins, octave, batch) unpack_##bins(bins, octave, batch)
#undef atomic_load_explicit
#define atomic_load_explicit(where, order) \
	_Generic((where), const _Atomic uint32_t * : load_count, default : load_granules)(where)

void wrong_transfer_init(struct mam_transfer *transfer);
const char *wrong_transfer_check(const struct mam_transfer *transfer);
#define mam_transfer_init wrong_transfer_init
#define mam_transfer_give wrong_transfer_give
#define mam_transfer_take wrong_transfer_take
#define mam_transfer_evict wrong_transfer_evict
#define mam_transfer_check wrong_transfer_check
#include "cache/transfer.c"
