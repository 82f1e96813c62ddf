/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_large.h - the host's records of large objects: each is at the place of the device's record
 * of the object, in a row that the address selects (growth.h).
 *
 * To place an object: take a free record of its row, in the last table first. If there is none,
 * the heap needs another table, twice as large as the last: memory of the pool, which must be zero
 * before a kernel may know of it. The object waits meanwhile, but its memory does not.
 *
 * Tables of parts are made in the same way.
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
 * Enters a block as a large object, and sets the address of the device's record. Returns false if
 * another table is needed.
 */
static inline bool mam_post_place(struct mam_post_box *box, uint64_t address, uint64_t bytes,
				  uint64_t *record)
{
	uint32_t n;
	struct mam_post_large *large = mam_post_find(box, address, 0, &n);

	if (!large)
		return false;
	*large = (struct mam_post_large){ address, bytes };
	box->held += bytes;
	box->counts.large++;
	box->counts.large_bytes += bytes;
	*record = box->table[n].at +
		  (uint64_t)(large - box->table[n].large) * sizeof(struct mam_large);
	return true;
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
 * Provides zeroed memory for a table at `at`, and announces it to kernels at `where`. Returns OK
 * when it is; WOULD_WAIT: call again, later or with new memory; otherwise there is none.
 */
static inline enum mam_status mam_post_add_table(struct mam_post_box *box, uint64_t bytes,
						 bool may_grow, uint64_t *at, uint64_t *where)
{
	enum mam_status status = MAM_OK;

	if (*at == 0)
		status = box->pool.take(box->pool.user, bytes, MAM_PAGES_LINE, may_grow, at);
	if (status != MAM_OK)
		return may_grow && status == MAM_ERROR_WOULD_WAIT ? MAM_ERROR_OUT_OF_MEMORY
								  : status;
	status = box->pool.zero(box->pool.user, *at, bytes);
	if (status == MAM_OK) {
		mam_post_write(where, *at);
		box->counts.table_bytes += bytes;
	} else if (status != MAM_ERROR_WOULD_WAIT) {
		mam_post_drop(box, *at);
		*at = 0;
	}
	return status;
}

/* Adds a table of large objects; the result is that of mam_post_add_table(). */
static inline enum mam_status mam_post_extend(struct mam_post_box *box, bool may_grow)
{
	const uint32_t n = box->tables;
	struct mam_post_table *table = &box->table[n];
	enum mam_status status;

	if (n > MAM_LARGE_TABLES)
		return MAM_ERROR_OUT_OF_MEMORY;
	if (!table->large)
		table->large =
			calloc((size_t)mam_large_rows(n) * MAM_LARGE_ROW, sizeof(*table->large));
	if (!table->large)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_post_add_table(box, mam_large_table_bytes(n), may_grow, &table->at,
				    &box->mail->large_table[n - 1]);
	box->tables += status == MAM_OK;
	return status;
}

/* Makes room for one more grant, here and in the device's tables; the result is as before. */
static inline enum mam_status mam_post_make_room(struct mam_post_box *box, bool may_grow)
{
	const uint32_t n = box->part_tables;
	struct mam_post_grant *grant;
	enum mam_status status = MAM_OK;

	if (box->grants == box->room) {
		grant = realloc(box->grant, (box->room * 2 + 64) * sizeof(*grant));
		if (!grant)
			return MAM_ERROR_OUT_OF_HOST_MEMORY;
		box->grant = grant;
		box->room = box->room * 2 + 64;
	}
	/* The grants that are posted are at least as many as the device has parts. */
	if (box->grants < mam_parts_before(n))
		return MAM_OK;
	if (n > MAM_PARTS_TABLES)
		return MAM_ERROR_OUT_OF_MEMORY;
	status = mam_post_add_table(box, mam_parts_table_bytes(mam_parts_size(n)), may_grow,
				    &box->part_table[n], &box->mail->part_table[n - 1]);
	box->part_tables += status == MAM_OK;
	return status;
}

#endif
