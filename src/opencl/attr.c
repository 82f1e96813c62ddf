/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c - compute the parameters of a heap from the caller's attributes.
 *
 * 1. Each field is checked separately, then bytes are converted to superblocks.
 * 2. If the caller does not specify the superblock size and the entries per class, kma/layout.h
 *    computes defaults from the bytes. For a number of superblocks, the size is 4 KiB, as
 *    published.
 * 3. The metadata comes on top; its size is what kma/layout.h computes in the kernel that formats
 *    the heap.
 */
#include <stdbool.h>
#include <string.h>

#include "base/sized.h"
#include "opencl/error.h"
#include "opencl/attr.h"

/* Names that the device functions of kma/layout.h need; the host calls none of them. */
#define MAM_RELAXED __ATOMIC_RELAXED
#define MAM_ACQUIRE __ATOMIC_ACQUIRE
#define MAM_RELEASE __ATOMIC_RELEASE
#define MAM_ACQ_REL __ATOMIC_ACQ_REL
#define mam_atomic_load32(where, order, scope) __atomic_load_n(where, order)
#define mam_atomic_load64(where, order, scope) __atomic_load_n(where, order)
#define mam_atomic_store32(where, value, order, scope) __atomic_store_n(where, value, order)
#define mam_atomic_store64(where, value, order, scope) __atomic_store_n(where, value, order)
static inline uint64_t mam_atomic_cas64(uint64_t *where, uint64_t expected, uint64_t desired,
					int order, int scope)
{
	(void)scope;
	(void)order;
	(void)__atomic_compare_exchange_n(where, &expected, desired, false, __ATOMIC_ACQ_REL,
					  __ATOMIC_ACQUIRE);
	return expected;
}
#define MAM_AT_DEVICE 0
#include "kma/layout.h"

static bool is_power_of_two(unsigned int n)
{
	return n && !(n & (n - 1));
}

static unsigned int log2_of(unsigned int n)
{
	return (unsigned int)(31 - __builtin_clz(n));
}

#define wrong(...) mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS, __VA_ARGS__)

/* Converts a caller's struct, which may be older or newer than this version, to this version's. */
static enum mam_status read_attr(const char *who, const struct mam_cl_heap_attr *given,
				 struct mam_cl_heap_attr *attr)
{
	static const struct mam_sized_field fields[] = {
		MAM_SIZED_FIELD(struct mam_cl_heap_attr, superblock_bytes),
		MAM_SIZED_FIELD(struct mam_cl_heap_attr, entries_per_class),
		MAM_SIZED_FIELD(struct mam_cl_heap_attr, search),
		MAM_SIZED_FIELD(struct mam_cl_heap_attr, counted),
		MAM_SIZED_FIELD(struct mam_cl_heap_attr, reserved),
	};
	const struct mam_cl_heap_attr defaults = MAM_CL_HEAP_ATTR_INIT;

	if (!given)
		return wrong("%s: the attributes are NULL: pass MAM_CL_HEAP_ATTR_INIT.", who);
	if (!mam_sized_fits(given, sizeof(*attr), fields, sizeof(fields) / sizeof(fields[0])))
		return wrong("%s: attr.size is %zu, not %zu: use MAM_CL_HEAP_ATTR_INIT.", who,
			     given->size, sizeof(*attr));
	*attr = defaults;
	mam_sized_read(attr, given, sizeof(*attr));
	return MAM_OK;
}

static enum mam_status check(const char *who, const struct mam_cl_heap_attr *attr)
{
	if (attr->superblock_bytes && (!is_power_of_two(attr->superblock_bytes) ||
				       attr->superblock_bytes < MAM_CL_SUPERBLOCK_MIN ||
				       attr->superblock_bytes > MAM_CL_SUPERBLOCK_MAX))
		return wrong(
			"%s: attr.superblock_bytes is %u: set a power of two from %u to %u, or 0.",
			who, attr->superblock_bytes, MAM_CL_SUPERBLOCK_MIN, MAM_CL_SUPERBLOCK_MAX);
	if (attr->entries_per_class && (!is_power_of_two(attr->entries_per_class) ||
					attr->entries_per_class > MAM_CL_ENTRIES_MAX))
		return wrong("%s: attr.entries_per_class is %u: set a power of two up to %u, or 0.",
			     who, attr->entries_per_class, MAM_CL_ENTRIES_MAX);
	if (attr->counted > 1)
		return wrong("%s: attr.counted is %u: set 0 or 1.", who, attr->counted);
	if (attr->reserved)
		return wrong("%s: attr.reserved is %u: set it to 0.", who, attr->reserved);
	if (!attr->bytes == !attr->superblocks)
		return wrong("%s: attr.bytes is %zu and attr.superblocks is %u: set one of them.",
			     who, attr->bytes, attr->superblocks);
	return MAM_OK;
}

enum mam_status mam_cl_terms(const char *who, const struct mam_cl_heap_attr *given,
			     struct mam_cl_terms *terms)
{
	struct mam_cl_heap_attr whole;
	const struct mam_cl_heap_attr *attr = &whole;
	enum mam_status status = read_attr(who, given, &whole);
	struct mam_kma_terms suited;
	uint64_t superblocks;

	if (status == MAM_OK)
		status = check(who, attr);
	if (status != MAM_OK)
		return status;
	memset(terms, 0, sizeof(*terms));
	suited = mam_kma_suited(attr->bytes);
	terms->shift = attr->superblock_bytes ? log2_of(attr->superblock_bytes) : suited.shift;
	superblocks = attr->superblocks;
	if (!superblocks)
		superblocks = (attr->bytes >> terms->shift) +
			      ((attr->bytes & (((size_t)1 << terms->shift) - 1)) != 0);
	if (superblocks > MAM_KMA_SUPERBLOCKS_MAX)
		return wrong("%s: the heap would have %llu superblocks: request at most %u, or "
			     "larger ones.",
			     who, (unsigned long long)superblocks, MAM_KMA_SUPERBLOCKS_MAX);
	terms->superblocks = (cl_uint)superblocks;
	terms->entries_shift = attr->entries_per_class
				       ? log2_of(attr->entries_per_class)
				       : mam_kma_entries_suited(terms->superblocks, terms->shift);
	terms->search = attr->search;
	terms->counted = attr->counted;
	terms->bytes = mam_kma_bytes(terms->superblocks, terms->shift, terms->entries_shift);
	return MAM_OK;
}
