/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growing.h - heaps that grow on the fake driver, and a list of the objects that a test has
 * allocated, for comparison with the statistics and the heap walk.
 */
#ifndef MAM_TESTS_HEAP_GROWING_H
#define MAM_TESTS_HEAP_GROWING_H

#include "heap/host/heap_fixture.h"

#include "heap/growth/growth.h"

/* A heap whose requests wait as long as possible: a machine under load must not cause NULL. */
#define GROWING(first, max)                                                                       \
	{                                                                                         \
		.size = sizeof(struct mam_heap_attr), .bytes = (first), .kind = MAM_HEAP_OBJECTS, \
		.max_bytes = (max), .wait_us = 10000000                                           \
	}

#define HELD_LIMIT 20000

/* The test's objects, in no order. */
static struct {
	unsigned char *address[HELD_LIMIT];
	size_t bytes[HELD_LIMIT]; /* requested */
	unsigned int count;
} held;

static inline struct mam_heap *made(struct mam_pool *pool, const struct mam_heap_attr *attr)
{
	struct mam_heap *heap = NULL;

	ck_assert_int_eq(mam_heap_create(pool, attr, &heap), MAM_OK);
	ck_assert_ptr_nonnull(heap);
	return heap;
}

/* Returns false if there is no room. */
static inline bool take(struct mam_heap *heap, size_t bytes)
{
	unsigned char *object = mam_kmalloc(mam_heap_device(heap), bytes);

	if (!object)
		return false;
	ck_assert_uint_lt(held.count, HELD_LIMIT);
	memset(object, 0x5a, bytes);
	held.address[held.count] = object;
	held.bytes[held.count++] = bytes;
	return true;
}

/* Allocates until so many objects are live. */
static inline void fill(struct mam_heap *heap, unsigned int count, size_t bytes)
{
	while (held.count < count)
		ck_assert(take(heap, bytes));
}

static inline void give(struct mam_heap *heap, unsigned int number)
{
	ck_assert(mam_kfree(mam_heap_device(heap), held.address[number]));
	held.count--;
	held.address[number] = held.address[held.count];
	held.bytes[number] = held.bytes[held.count];
}

static inline void free_all(struct mam_heap *heap)
{
	while (held.count != 0)
		give(heap, held.count - 1);
}

static inline uint32_t any(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 32) * below >> 32);
}

static inline struct mam_stats pool_stats(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

/* Grants are counted from 0 here, parts from 1. */
static inline const struct mam_grant *grant_at(const struct mam_growth *growth, uint64_t i)
{
	return (struct mam_grant *)mam_parts_words((struct mam_growth *)growth, (uint32_t)i);
}

static inline const struct mam_kheap *head_at(const struct mam_growth *growth, uint64_t i)
{
	return mam_parts_heap((struct mam_growth *)growth, (uint32_t)i + 1);
}

/*
 * Returns statistics after checking that they are consistent, and match the device's metadata,
 * whatever the heap contains.
 */
static inline struct mam_heap_info counted(struct mam_heap *heap)
{
	const struct mam_growth *growth = mam_heap_device(heap)->growth;
	struct mam_heap_info info = stats_of(heap);
	uint64_t objects = info.large_objects, bytes = info.large_bytes, slabs = 0, idle = 0;
	uint64_t units = (info.large_bytes - info.host_bytes) / 1024, space = 0;
	uint64_t groups[MAM_HEAP_CLASSES] = { 0 };
	uint64_t reachable[MAM_HEAP_REACHABLE] = { 0 };

	units += slab_units(mam_heap_device(heap), groups);
	reach(mam_heap_device(heap), reachable);
	for (uint64_t i = 0; i < growth->parts.value; i++) {
		units += slab_units(head_at(growth, i), groups);
		reach(head_at(growth, i), reachable);
	}
	ck_assert_mem_eq(info.reachable, reachable, sizeof(reachable));

	for (unsigned int i = 0; i < MAM_HEAP_CLASSES; i++) {
		ck_assert_uint_eq(info.classes[i].bytes, mam_class_bytes(i + 1));
		objects += info.classes[i].objects;
		bytes += info.classes[i].objects * info.classes[i].bytes;
		slabs += info.classes[i].slabs;
		idle += info.classes[i].idle;
		ck_assert_uint_eq(info.classes[i].slabs, groups[i]);
	}
	for (uint64_t i = 0; i < growth->parts.value; i++)
		space += ((uint64_t)grant_at(growth, i)->blocks << MAM_BLOCK_SHIFT) +
			 mam_metadata_plan_of(grant_at(growth, i)->blocks,
					      grant_at(growth, i)->columns)
				 .end;
	ck_assert_uint_eq(info.objects, objects);
	ck_assert_uint_eq(info.object_bytes, bytes);
	ck_assert_uint_eq(info.slabs, slabs);
	ck_assert_uint_eq(info.idle_slabs, idle);
	ck_assert_uint_eq(info.taken, units);
	ck_assert_uint_eq(info.moving, 0);
	ck_assert_uint_eq(info.opened - info.closed, slabs);
	ck_assert_uint_eq(info.grants, growth->parts.value);
	ck_assert_uint_eq(info.grant_bytes, space);
	return info;
}

/* No hint says that a part had no room. */
static inline bool nothing_is_dry(struct mam_heap *heap)
{
	const struct mam_growth *growth = mam_heap_device(heap)->growth;

	for (unsigned int i = 0; i <= MAM_CLASSES; i++)
		for (unsigned int k = 0; k <= MAM_PARTS_FIRST; k++)
			if (growth->dry[i][k] != 0)
				return false;
	return true;
}

/* The heap's own memory. */
static inline uint64_t own_bytes(struct mam_heap *heap)
{
	const struct mam_kheap *head = mam_heap_device(heap);

	return ((uint64_t)head->blocks << MAM_BLOCK_SHIFT) +
	       mam_metadata_plan_of(head->blocks, head->columns + 1).end +
	       sizeof(struct mam_growth);
}

/* Units of the largest part. */
static inline uint64_t longest(struct mam_heap *heap)
{
	const struct mam_growth *growth = mam_heap_device(heap)->growth;
	uint64_t max = mam_heap_device(heap)->blocks;

	for (uint64_t i = 0; i < growth->parts.value; i++)
		if (grant_at(growth, i)->blocks > max)
			max = grant_at(growth, i)->blocks;
	return max * MAM_BLOCK_UNITS;
}

/* The order of the heap walk: the heap's own memory, then grants by number, then large objects. */
static inline uint64_t place_of(struct mam_heap *heap, const void *address)
{
	const struct mam_kheap *head = mam_heap_device(heap);
	const struct mam_growth *growth = head->growth;
	const struct mam_grant *grant;
	uint64_t i;

	if ((uintptr_t)address - (uintptr_t)head->space < (uint64_t)head->blocks << MAM_BLOCK_SHIFT)
		return 0;
	for (i = 0; i < growth->parts.value; i++) {
		grant = grant_at(growth, i);
		if ((uintptr_t)address - grant->space < (uint64_t)grant->blocks << MAM_BLOCK_SHIFT)
			break;
	}
	return 1 + i;
}

struct seen {
	struct mam_heap *heap;
	uint64_t place;
	unsigned char *last; /* the end of the previous object */
	unsigned int count;
	uint64_t bytes, sum;
};

static inline bool see(void *argument, void *address, size_t bytes)
{
	struct seen *seen = argument;
	uint64_t place = place_of(seen->heap, address);

	ck_assert_uint_ge(place, seen->place);
	if (place == seen->place)
		ck_assert((unsigned char *)address >= seen->last);
	ck_assert_uint_eq(mam_kusable(mam_heap_device(seen->heap), address), bytes);
	seen->place = place;
	seen->last = (unsigned char *)address + bytes;
	seen->count++;
	seen->bytes += bytes;
	seen->sum += (uintptr_t)address;
	return true;
}

/* Returns whether the object is a run of at most 8 units, whatever its class. */
static inline bool is_short_run(struct mam_heap *heap, const unsigned char *object)
{
	const struct mam_kheap *at = mam_parts_of(mam_heap_device(heap), object);

	return at != NULL && ((const unsigned char *)at->owners)[(object - at->space) / 1024] -
					     MAM_OWNER_FEW - 1 <
				     MAM_FEW_UNITS;
}

/* Compares statistics and heap walk with the list: objects that are runs are not in a class. */
static inline void compare(struct mam_heap *heap)
{
	struct mam_heap_info info = counted(heap);
	struct seen seen = { .heap = heap };
	uint64_t of[MAM_HEAP_CLASSES + 1] = { 0 }, sum = 0;

	for (unsigned int i = 0; i < held.count; i++) {
		unsigned int class_ = mam_class_of(held.bytes[i]);

		if (class_ != 0 && is_short_run(heap, held.address[i])) {
			class_ = 0;
			ck_assert_uint_eq(mam_kusable(mam_heap_device(heap), held.address[i]),
					  (held.bytes[i] + 1023) / 1024 * 1024);
		}
		of[class_]++;
		sum += (uintptr_t)held.address[i];
	}
	ck_assert_uint_eq(info.objects, held.count);
	ck_assert_uint_eq(info.large_objects, of[0]);
	for (unsigned int i = 0; i < MAM_HEAP_CLASSES; i++)
		ck_assert_uint_eq(info.classes[i].objects, of[i + 1]);
	ck_assert_int_eq(mam_heap_walk(heap, NULL, see, &seen), MAM_OK);
	ck_assert_uint_eq(seen.count, held.count);
	ck_assert_uint_eq(seen.sum, sum);
	ck_assert_uint_eq(seen.bytes, info.object_bytes);
}

/* Memory that a kernel freed returns to the pool when the service thread has looked. */
static inline void wait_for_space(struct mam_heap *heap, uint64_t bytes)
{
	for (unsigned int i = 0; i < 5000 && stats_of(heap).space_bytes > bytes; i++)
		usleep(1000);
	ck_assert_uint_eq(stats_of(heap).space_bytes, bytes);
}

#endif
