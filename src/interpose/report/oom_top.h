/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_top.h - sums blocks by a key (a size, a call site, or tags), and finds the largest sums.
 *
 * The table has a fixed size. Blocks of keys for which it has no room are summed in `others`.
 * Bound: 96 KiB; O(1) per block.
 */
#ifndef MAM_INTERPOSE_OOM_TOP_H
#define MAM_INTERPOSE_OOM_TOP_H

#include <stddef.h>
#include <stdint.h>

#define MAM_OOM_TOP_SLOTS 4096u /* a power of two */

struct mam_oom_sum {
	uint64_t key;
	uint64_t blocks; /* 0: the slot is empty */
	uint64_t bytes;
};

struct mam_oom_top {
	struct mam_oom_sum slots[MAM_OOM_TOP_SLOTS];
	size_t used;
	struct mam_oom_sum others; /* its key is unused */
};

/* The table must be zero before the first call. */
void mam_oom_top_add(struct mam_oom_top *top, uint64_t key, uint64_t bytes);

/* Copies the `room` largest sums, largest first. Returns how many there are. */
size_t mam_oom_top_largest(const struct mam_oom_top *top, struct mam_oom_sum *largest, size_t room);

#endif
