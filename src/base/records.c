/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c - implements records.h.
 *
 * The first range is small, and is halved until the system provides it, so that a process under a
 * small address-space limit still gets a pool. Debug builds start at one page, so that tests move
 * the array often.
 */
#include "base/records.h"

#include "base/lock.h" /* MAM_DEBUG */
#include "base/pages.h"

#include <stdatomic.h>
#include <string.h>

#define FIRST_BYTES ((size_t)(MAM_DEBUG ? 4096 : 1 << 20))
#define MIN_BYTES ((size_t)4096)

static atomic_uint refuse_in;

void mam_records_refuse_at(unsigned n)
{
	atomic_store(&refuse_in, n);
}

static bool refused(void)
{
	unsigned left = MAM_DEBUG ? atomic_load(&refuse_in) : 0;

	if (left == 0)
		return false;
	atomic_store(&refuse_in, left - 1);
	return left == 1;
}

/* The number of records that 32-bit handles can name. */
static size_t nameable(const struct mam_records *records)
{
	return (size_t)UINT32_MAX * MAM_RB_UNIT / records->record_bytes;
}

static void set_range(struct mam_records *records, char *base, size_t bytes)
{
	size_t fit = bytes / records->record_bytes;

	records->base = base;
	records->mapped_bytes = bytes;
	records->capacity = (uint32_t)(fit < nameable(records) ? fit : nameable(records));
}

enum mam_status mam_records_init(struct mam_records *records, size_t record_bytes)
{
	size_t bytes;

	memset(records, 0, sizeof(*records));
	records->record_bytes = record_bytes;
	if (refused())
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	for (bytes = FIRST_BYTES; bytes >= MIN_BYTES; bytes /= 2) {
		char *base = mam_pages_map(bytes);

		if (base != NULL) {
			set_range(records, base, bytes);
			records->touched = 1;
			return MAM_OK;
		}
	}
	return MAM_ERROR_OUT_OF_HOST_MEMORY;
}

void mam_records_fini(struct mam_records *records)
{
	if (records->base != NULL)
		mam_pages_unmap(records->base, records->mapped_bytes);
	memset(records, 0, sizeof(*records));
}

enum mam_status mam_records_grow(struct mam_records *records, uint32_t count)
{
	size_t needed = (size_t)records->touched + count - records->idle_count;
	size_t bytes = records->mapped_bytes;
	char *base;

	if (refused() || needed > nameable(records))
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	while (bytes / records->record_bytes < needed)
		bytes *= 2;
	base = mam_pages_move(records->base, records->mapped_bytes, bytes);
	if (base == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	set_range(records, base, bytes);
	return MAM_OK;
}
