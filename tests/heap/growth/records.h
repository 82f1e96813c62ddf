/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h - the records of large objects for the hosts of tests, which are not the library's: each
 * object gets a record of the right row, in any of the tables. And the tables of parts.
 */
#ifndef MAM_TESTS_HEAP_RECORDS_H
#define MAM_TESTS_HEAP_RECORDS_H

#include <stdlib.h>
#include <string.h>

#include "heap/growth/growth.h"

#define RECORDS_TABLES 3u /* including the first */
#define RECORDS_PARTS 5u  /* tables of parts, likewise */

struct records {
	struct mam_large *table[RECORDS_TABLES];
	void *parts[RECORDS_PARTS];
	/* Which of them have an object. */
	bool used[RECORDS_TABLES][(MAM_LARGE_ROWS << (RECORDS_TABLES - 1)) * MAM_LARGE_ROW];
};

static inline void records_begin(struct records *records, struct mam_large *first,
				 struct mam_mail *mail)
{
	uint32_t i;

	memset(records->used, 0, sizeof(records->used));
	records->table[0] = first;
	for (i = 1; i < RECORDS_TABLES; i++) {
		if (!records->table[i])
			records->table[i] = aligned_alloc(MAM_PAGES_LINE, mam_large_table_bytes(i));
		memset(records->table[i], 0, mam_large_table_bytes(i));
		mail->large_table[i - 1] = (uintptr_t)records->table[i];
	}
	for (i = 1; i < RECORDS_PARTS; i++) {
		size_t bytes = mam_metadata_line(mam_parts_table_bytes(mam_parts_size(i)));

		if (!records->parts[i])
			records->parts[i] = aligned_alloc(MAM_PAGES_LINE, bytes);
		memset(records->parts[i], 0, bytes);
		mail->part_table[i - 1] = (uintptr_t)records->parts[i];
	}
}

/* The entry of a part, from 0 up, by plain accesses. */
static inline struct mam_grant *records_part(struct mam_growth *growth, uint32_t index)
{
	struct mam_parts_table table = { 0, MAM_PARTS_FIRST };
	uint32_t i;

	for (i = 0; index >= table.size; i++) {
		index -= table.size;
		table.size *= 2;
		table.at = growth->part_table[i];
	}
	return table.at ? &mam_parts_grants(table)[index] : &growth->part[index];
}

static inline void records_end(struct records *records)
{
	uint32_t i;

	for (i = 1; i < RECORDS_TABLES; i++)
		free(records->table[i]);
	for (i = 1; i < RECORDS_PARTS; i++)
		free(records->parts[i]);
}

/* A free record for the address, in the first table or in one that `random` selects. */
static inline struct mam_large *records_take(struct records *records, uint64_t address,
					     uint64_t random, uint64_t *tables)
{
	uint32_t i, n, table, at;

	for (n = 0; n < RECORDS_TABLES; n++) {
		table = (uint32_t)(random + n) % RECORDS_TABLES;
		at = mam_large_row(address, table);
		for (i = 0; i < MAM_LARGE_ROW; i++)
			if (!records->used[table][at + i]) {
				records->used[table][at + i] = true;
				*tables = random / RECORDS_TABLES % 2 ? table : RECORDS_TABLES - 1;
				return &records->table[table][at + i];
			}
	}
	return NULL;
}

static inline void records_give(struct records *records, const struct mam_large *record)
{
	uint32_t i;

	for (i = 0; i < RECORDS_TABLES; i++)
		if (record >= records->table[i] &&
		    record < records->table[i] + mam_large_rows(i) * MAM_LARGE_ROW)
			records->used[i][record - records->table[i]] = false;
}

#endif
