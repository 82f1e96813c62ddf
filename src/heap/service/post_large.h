/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_large.h - the host's records of large objects: each is at the place of the device's record
 * of the object, in a row that the address selects (growth.h).
 *
 * To place an object: take a free record of its row, in the last table first. If there is none,
 * the heap needs another table, twice as large as the last: memory of the pool, which must be zero
 * before a kernel may know of it. The object waits meanwhile, but its memory does not.
 *
 * Bound: a row of each table. A row overflows when its tables are about half full, so the tables
 * have a few records for each object, which is larger than a thousand of them.
 */
#ifndef MAM_HEAP_SERVICE_POST_LARGE_H
#define MAM_HEAP_SERVICE_POST_LARGE_H

#include "heap/service/post_box.h"

/* The object that starts at `address`, or with 0 a free record of the row of `row`; or NULL. */
static inline struct mam_post_large *mam_post_find(struct mam_post_box *box, uint64_t row,
						   uint64_t address, uint32_t *table)
{
	for (uint32_t n = box->tables; n-- != 0;) {
		struct mam_post_large *large = &box->table[n].large[mam_large_row(row, n)];

		*table = n;
		for (uint32_t i = 0; i < MAM_LARGE_ROW; i++)
			if (large[i].address == address)
				return &large[i];
	}
	return NULL;
}

/*
 * Enters a block as a large object. Returns the address of the device's record; 0: another table is
 * needed.
 */
static inline uint64_t mam_post_place(struct mam_post_box *box, uint64_t address, uint64_t bytes)
{
	uint32_t n;
	struct mam_post_large *large = mam_post_find(box, address, 0, &n);

	if (!large)
		return 0;
	*large = (struct mam_post_large){ address, bytes };
	box->held += bytes;
	box->counts.large++;
	box->counts.large_bytes += bytes;
	return box->table[n].at +
	       (uint64_t)(large - box->table[n].large) * sizeof(struct mam_large);
}

/* Frees the object that starts at `address`. Returns false if there is none. */
static inline bool mam_post_remove(struct mam_post_box *box, uint64_t address)
{
	uint32_t n;
	struct mam_post_large *large = address ? mam_post_find(box, address, address, &n) : NULL;

	if (large)
		(void)mam_post_drop_large(box, large);
	return large != NULL;
}

/*
 * Adds a table. Returns OK when kernels may know of it; WOULD_WAIT: call again, later or with new
 * memory; otherwise there is none.
 */
static inline enum mam_status mam_post_extend(struct mam_post_box *box, bool may_grow)
{
	const uint32_t n = box->tables;
	const uint64_t bytes = mam_large_table_bytes(n);
	struct mam_post_table *table = &box->table[n];
	enum mam_status status = MAM_OK;

	if (n > MAM_LARGE_TABLES)
		return MAM_ERROR_OUT_OF_MEMORY;
	if (!table->large)
		table->large =
			calloc((size_t)mam_large_rows(n) * MAM_LARGE_ROW, sizeof(*table->large));
	if (!table->large)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	if (!table->at)
		status =
			box->pool.take(box->pool.user, bytes, MAM_PAGES_LINE, may_grow, &table->at);
	if (status != MAM_OK)
		return may_grow && status == MAM_ERROR_WOULD_WAIT ? MAM_ERROR_OUT_OF_MEMORY
								  : status;
	status = box->pool.zero(box->pool.user, table->at, bytes);
	if (status == MAM_OK) {
		mam_post_write(&box->mail->table[n - 1], table->at);
		box->tables++;
		box->counts.table_bytes += bytes;
	} else if (status != MAM_ERROR_WOULD_WAIT) {
		mam_post_drop(box, table->at);
		table->at = 0;
	}
	return status;
}

#endif
