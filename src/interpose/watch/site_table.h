/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_table.h - the call sites on the statistics page, as their writer sees them.
 *
 *   1. A site has one of the places of the page. If all are in use, it replaces the one with the
 *      fewest live bytes, which are added to the others of its device.
 *   2. A sampled block remembers the place and its sequence. When it is freed, its bytes are
 *      subtracted there, or from the others if another site has the place by then.
 *   3. A block of s bytes is sampled with probability p, and counts as s / p bytes, 1 / p blocks and a
 *      variance of s^2 (1 - p) / p^2 (Horvitz and Thompson). Rounding is the same at its free, so
 *      that sums return to 0.
 * Bound: MAM_STATPAGE_SITES places, and a search among all of them per sampled block.
 * Nothing that is read from the page is used as an index: others may write it.
 * Threads: the caller's lock.
 */
#ifndef MAM_INTERPOSE_SITE_TABLE_H
#define MAM_INTERPOSE_SITE_TABLE_H

#include <stdint.h>

#include <mam/statpage.h>

struct mam_site_table {
	uint64_t key[MAM_STATPAGE_SITES];      /* of the site, with its device; 0: free place */
	uint64_t sequence[MAM_STATPAGE_SITES]; /* as on the page */
};

/* Where a block was counted. */
struct mam_site_place {
	uint16_t number;
	uint16_t device;
	uint64_t sequence;
};

/* Empties the page's table, and states when sampling began; 0: it has ended. */
void mam_site_table_begin(struct mam_site_table *table, struct mam_statpage_sites *page,
			  uint64_t since);

/* Returns the place of a site. Its key is from 1 to 2^32; `name` is used if it has no place yet. */
struct mam_site_place mam_site_table_find(struct mam_site_table *table,
					  struct mam_statpage_sites *page, uint64_t key, int device,
					  const char *name);

/* Counts a block that was sampled with that probability, or no longer does. */
void mam_site_table_add(const struct mam_site_table *table, struct mam_statpage_sites *page,
			const struct mam_site_place *place, uint64_t bytes, double probability);
void mam_site_table_subtract(const struct mam_site_table *table, struct mam_statpage_sites *page,
			     const struct mam_site_place *place, uint64_t bytes,
			     double probability);

#endif
