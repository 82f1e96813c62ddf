/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong_transfer.h - the transfer cache with one rule broken: the real code, in which macros replace
 * its lock and the reads of its counts.
 */
#ifndef TESTS_CACHE_WRONG_TRANSFER_H
#define TESTS_CACHE_WRONG_TRANSFER_H

#include "cache/transfer.h"

enum wrong_transfer {
	WRONG_NOTHING,
	WRONG_NO_LOCK,
	WRONG_UNLOCK_RELAXED, /* the lock's release does not release */
	WRONG_NO_RECHECK,     /* the count is not read again after the lock was taken */
	WRONG_NO_UNPACK,      /* a batch that found no place is not put back */
};

extern enum wrong_transfer wrong_transfer;

size_t wrong_transfer_give(struct mam_transfer *transfer, struct mam_bins *from, uint64_t max);
bool wrong_transfer_take(struct mam_transfer *transfer, struct mam_bins *to, uint64_t min,
			 uint64_t max);
size_t wrong_transfer_evict(struct mam_transfer *transfer, void *blocks[MAM_BATCH_BLOCKS]);

#endif
