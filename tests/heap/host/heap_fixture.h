/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_fixture.h - heaps on the fake driver, whose device memory the test may read and write:
 * code that every test of a heap's host side would repeat. Each helper asserts that it succeeds.
 */
#ifndef MAM_TESTS_HEAP_FIXTURE_H
#define MAM_TESTS_HEAP_FIXTURE_H

#include <string.h>
#include <unistd.h>

#include "fake/load.h"

#include <mam/heap.h>
#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "heap/slab/metadata.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Before each test: the environment of the fake driver. */
static inline void set_up(void)
{
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("FAKE_CUDA_HOST_ACCESS", "1", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	unsetenv("FAKE_CUDA_FAIL_AT");
	unsetenv("FAKE_CUDA_LOG");
}

/* On the first device, in chunks of 8 MiB. */
static inline struct mam_pool *pool_on(const char *source, enum mam_free_policy policy)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = source;
	attr.growth_bytes = 8 * MIB;
	attr.free_policy = policy;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

static inline struct mam_pool *pool_new(void)
{
	return pool_on("cudamalloc", MAM_FREE_DEFAULT);
}

/* Checks the metadata of a pool without blocks, and destroys it. */
static inline void pool_end(struct mam_pool *pool)
{
	char why[256] = "";

	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}

static inline struct mam_heap *heap_of(struct mam_pool *pool, size_t bytes, size_t page_bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap = NULL;

	attr.kind = MAM_HEAP_PAGES;
	attr.bytes = bytes;
	attr.page_bytes = page_bytes;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_OK);
	ck_assert_ptr_nonnull(heap);
	return heap;
}

/* A heap of objects. */
static inline struct mam_heap *objects_of(struct mam_pool *pool, size_t bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap = NULL;

	attr.bytes = bytes;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_OK);
	ck_assert_ptr_nonnull(heap);
	return heap;
}

static inline void heap_end(struct mam_heap *heap)
{
	ck_assert_int_eq(mam_heap_destroy(heap), MAM_OK);
}

static inline struct mam_heap_info stats_in(struct mam_heap *heap, struct CUstream_st *stream)
{
	struct mam_heap_info stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_heap_stats(heap, stream, &stats), MAM_OK);
	ck_assert_uint_eq(stats.taken + stats.free, stats.pages);
	ck_assert_uint_le(stats.longest_free, stats.free);
	return stats;
}

static inline struct mam_heap_info stats_of(struct mam_heap *heap)
{
	return stats_in(heap, NULL);
}

/*
 * Units of an object heap's own memory that belong to slabs; adds the groups of each class to
 * `groups`.
 */
static inline uint64_t slab_units(const struct mam_kheap *head, uint64_t *groups)
{
	const unsigned char *owners = (const unsigned char *)head->owners;
	uint64_t units = 0;

	for (uint32_t unit = 0; unit < head->blocks * MAM_BLOCK_UNITS; unit++) {
		const uint32_t owner = owners[unit];

		if (owner == 0 || owner > MAM_CLASSES)
			continue;
		units++;
		groups[owner - 1] +=
			unit % (1u << mam_class_span_shift(owner)) % mam_class_group_units(owner) ==
			0;
	}
	return units;
}

/* Returns whether a unit of the heap's own memory is free, or all slots of its group are. */
static inline bool unit_available(const struct mam_kheap *head, uint32_t unit)
{
	const uint32_t owner = ((const unsigned char *)head->owners)[unit];
	const uint64_t *bits = (const uint64_t *)(const void *)(head->units + 1);
	uint32_t at, shift, slots;
	uint64_t word;

	if (!(bits[unit / 64] >> unit % 64 & 1))
		return true;
	if (owner == 0 || owner > MAM_CLASSES)
		return false;
	at = unit % (1u << mam_class_span_shift(owner)) / mam_class_group_units(owner);
	shift = mam_class_group_shift(owner);
	word = mam_metadata_words(head, owner)[unit >> mam_class_span_shift(owner)];
	slots = mam_class_slots(owner);
	for (uint32_t slot = at << shift; slot < slots && slot < (at + 1) << shift; slot++)
		if (!(word >> slot & 1))
			return false;
	return true;
}

/* Adds what mam_heap_info calls `reachable`, unit by unit. */
static inline void reach(const struct mam_kheap *head, uint64_t *reachable)
{
	const uint32_t units = head->blocks * MAM_BLOCK_UNITS;

	for (uint32_t i = 0; i < MAM_HEAP_REACHABLE; i++) {
		const uint32_t n = 1u << i;
		uint32_t unit = 0, have;

		while (unit + n <= units) {
			for (have = 0; have < n && unit_available(head, unit + have); have++)
				;
			reachable[i] += have == n ? (uint64_t)n << MAM_UNIT_SHIFT : 0;
			/* Small ones are aligned; others start anywhere, after what is in the way. */
			unit += n <= 8 || have == n ? n : have + 1;
		}
	}
}

/* The class of an object, or 0 if it has units of its own. pre: in the heap's own memory. */
static inline uint32_t class_at(const struct mam_kheap *head, const void *object)
{
	const size_t at = (size_t)((const unsigned char *)object - head->space);
	const uint32_t owner = ((const unsigned char *)head->owners)[at >> MAM_UNIT_SHIFT];

	return owner <= MAM_CLASSES ? owner : 0;
}

static inline struct mam_pages *metadata_of(const struct mam_heap *heap)
{
	return (struct mam_pages *)(mam_heap_device(heap) + 1);
}

#endif
