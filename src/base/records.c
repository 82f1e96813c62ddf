/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c - the array behind records.h, by mmap and mremap.
 *
 * The first range is modest and halved until the system grants it, so that a process under a small address-space limit
 * still gets a pool. Debug builds start at one page, so that tests see the array move often.
 */
#include "base/records.h"

#include "base/lock.h" /* MAM_DEBUG */
#include "base/rbtree.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BYTES ((size_t)(MAM_DEBUG ? 4096 : 16 << 20))
#define LEAST_BYTES ((size_t)4096)
#define HUGE_PAGE   ((size_t)2 << 20)

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

/* Large arrays are walked at random: huge pages save a miss in the page tables each time. The first stays small. */
static void prefer_huge_pages(char *base, size_t bytes)
{
	size_t skip = HUGE_PAGE - (size_t)base % HUGE_PAGE;

	if (bytes > skip + HUGE_PAGE)
		(void)madvise(base + skip, bytes - skip, MADV_HUGEPAGE);
}

static void set_range(struct mam_records *records, char *base, size_t bytes)
{
	size_t nameable = (size_t)UINT32_MAX * MAM_RB_UNIT / records->record_bytes;
	size_t fit = bytes / records->record_bytes;

	records->base = base;
	records->mapped_bytes = bytes;
	records->capacity = (uint32_t)(fit < nameable ? fit : nameable);
	prefer_huge_pages(base, bytes);
}

enum mam_status mam_records_init(struct mam_records *records, size_t record_bytes)
{
	size_t bytes;

	memset(records, 0, sizeof(*records));
	records->record_bytes = record_bytes;
	if (refused())
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	for (bytes = FIRST_BYTES; bytes >= LEAST_BYTES; bytes /= 2) {
		void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base != MAP_FAILED) {
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
		munmap(records->base, records->mapped_bytes);
	memset(records, 0, sizeof(*records));
}

enum mam_status mam_records_grow(struct mam_records *records, uint32_t count)
{
	uint32_t had = records->capacity;
	size_t bytes = records->mapped_bytes;
	void *base;

	if (refused())
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	while (bytes / records->record_bytes < (size_t)records->touched + count)
		bytes *= 2;
	base = mremap(records->base, records->mapped_bytes, bytes, MREMAP_MAYMOVE);
	if (base == MAP_FAILED)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	set_range(records, base, bytes);
	if (records->capacity == had)
		return MAM_ERROR_OUT_OF_HOST_MEMORY; /* every handle there is names a record */
	return MAM_OK;
}

uint32_t mam_records_take(struct mam_records *records)
{
	uint32_t handle = records->idle;

	if (handle != 0) {
		records->idle = *(uint32_t *)mam_records_at(records, handle);
		records->idle_count--;
		return handle;
	}
	return (uint32_t)(records->touched++ * (records->record_bytes / MAM_RB_UNIT));
}

void mam_records_put(struct mam_records *records, uint32_t handle)
{
	*(uint32_t *)mam_records_at(records, handle) = records->idle;
	records->idle = handle;
	records->idle_count++;
}
