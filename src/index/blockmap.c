/* SPDX-License-Identifier: Apache-2.0 */
/* blockmap.c - the hash table of blockmap.h. */
#include "index/blockmap.h"

#include "base/lock.h" /* MAM_DEBUG */
#include "base/pages.h"

#include <string.h>

#define WAYS 8 /* entries of a bucket: one cache line */
#define FIRST_LOG2 (MAM_DEBUG ? 0 : 6)
#define MOVE_BUCKETS 2 /* of the old table, per operation */
#define MIN_BYTES ((size_t)4096)

/*
 * Multiplicative hashing (D. Knuth, "The Art of Computer Programming" 3, 6.4) folded once, as
 * addresses end in zeros.
 */
static uint64_t hash(uint64_t address)
{
	uint64_t mixed = address * 0x9e3779b97f4a7c15u;

	return (mixed ^ (mixed >> 32)) * 0x9e3779b97f4a7c15u;
}

static size_t buckets_of(const struct mam_blocktable *table)
{
	return (size_t)1 << table->log2_buckets;
}

static size_t bytes_of(const struct mam_blocktable *table)
{
	return table->entries == NULL ? 0 : buckets_of(table) * WAYS * sizeof(uint64_t);
}

static uint64_t *bucket_of(const struct mam_blocktable *table, uint64_t hashed)
{
	size_t index =
		table->log2_buckets == 0 ? 0 : (size_t)(hashed >> (64 - table->log2_buckets));

	return table->entries + index * WAYS;
}

static uint64_t entry_of(uint64_t hashed, uint32_t handle)
{
	return hashed << 32 | handle;
}

static bool same_tag(uint64_t entry, uint64_t hashed)
{
	return (uint32_t)(entry >> 32) == (uint32_t)hashed && (uint32_t)entry != 0;
}

static bool table_init(struct mam_blocktable *table, unsigned log2_buckets)
{
	size_t bytes = ((size_t)1 << log2_buckets) * WAYS * sizeof(uint64_t);
	void *entries = mam_pages_map(bytes < MIN_BYTES ? MIN_BYTES : bytes);

	if (entries == NULL)
		return false;
	table->entries = entries;
	table->log2_buckets = log2_buckets;
	return true;
}

static void table_fini(struct mam_blocktable *table)
{
	if (table->entries != NULL)
		mam_pages_unmap(table->entries,
				bytes_of(table) < MIN_BYTES ? MIN_BYTES : bytes_of(table));
	table->entries = NULL;
}

/*
 * The index in its bucket at which the search for an entry begins, and where it is stored if that
 * is free. In a half-full table this index is right most of the time, so the branch is well
 * predicted.
 */
static unsigned first_way(uint64_t hashed)
{
	return (unsigned)(hashed >> 32) % WAYS;
}

static void table_put(struct mam_blocktable *table, uint64_t hashed, uint32_t handle)
{
	uint64_t *bucket = bucket_of(table, hashed);
	unsigned first = first_way(hashed);
	unsigned step = 0;

	while (step < WAYS && bucket[(first + step) % WAYS] != 0)
		step++;
	/* A full bucket drops its entry at `first`: the loop has wrapped around. */
	bucket[(first + step) % WAYS] = entry_of(hashed, handle);
}

/* The entry of the live block at `address`, or NULL. */
static uint64_t *table_find(const struct mam_blocktable *table, const struct mam_records *segments,
			    uint64_t hashed, uint64_t address)
{
	uint64_t *bucket = bucket_of(table, hashed);
	unsigned first = first_way(hashed);
	unsigned step;

	for (step = 0; step < WAYS; step++) {
		uint64_t *entry = &bucket[(first + step) % WAYS];
		const struct mam_segment *segment;

		if (!same_tag(*entry, hashed))
			continue;
		segment = mam_segment_at(segments, (uint32_t)*entry);
		if (segment->base == address && segment->state == MAM_SEGMENT_LIVE)
			return entry;
	}
	return NULL;
}

/* Move a few buckets of the old table into the new one; free the old one when it is empty. */
static void move_some(struct mam_blockmap *map, const struct mam_records *segments)
{
	size_t end = buckets_of(&map->old);
	unsigned moved;

	for (moved = 0; moved < MOVE_BUCKETS && map->old_at < end; moved++, map->old_at++) {
		uint64_t *bucket = map->old.entries + map->old_at * WAYS;
		unsigned way;

		for (way = 0; way < WAYS; way++) {
			uint32_t handle = (uint32_t)bucket[way];

			if (handle == 0)
				continue;
			table_put(&map->now, hash(mam_segment_at(segments, handle)->base), handle);
			bucket[way] = 0;
		}
	}
	if (map->old_at == end)
		table_fini(&map->old);
}

static void double_up(struct mam_blockmap *map)
{
	struct mam_blocktable larger;

	if (map->old.entries != NULL || !table_init(&larger, map->now.log2_buckets + 1))
		return;
	map->old = map->now;
	map->old_at = 0;
	map->now = larger;
}

enum mam_status mam_blockmap_init(struct mam_blockmap *map)
{
	memset(map, 0, sizeof(*map));
	return table_init(&map->now, FIRST_LOG2) ? MAM_OK : MAM_ERROR_OUT_OF_HOST_MEMORY;
}

void mam_blockmap_fini(struct mam_blockmap *map)
{
	table_fini(&map->now);
	table_fini(&map->old);
}

void mam_blockmap_insert(struct mam_blockmap *map, const struct mam_records *segments,
			 uint32_t handle)
{
	map->count++;
	if (map->old.entries != NULL)
		move_some(map, segments);
	else if (map->count > buckets_of(&map->now) * (WAYS / 2))
		double_up(map);
	table_put(&map->now, hash(mam_segment_at(segments, handle)->base), handle);
}

/* The entry at which the search for a block's address ends. */
static uint64_t *entry_at(const struct mam_blockmap *map, const struct mam_records *segments,
			  uint64_t address)
{
	uint64_t hashed = hash(address);
	uint64_t *entry = table_find(&map->now, segments, hashed, address);

	if (entry == NULL && map->old.entries != NULL)
		entry = table_find(&map->old, segments, hashed, address);
	return entry;
}

uint32_t mam_blockmap_find(const struct mam_blockmap *map, const struct mam_records *segments,
			   uint64_t address)
{
	const uint64_t *entry = entry_at(map, segments, address);

	return entry != NULL ? (uint32_t)*entry : 0;
}

uint32_t mam_blockmap_take(struct mam_blockmap *map, const struct mam_records *segments,
			   uint64_t address)
{
	uint64_t *entry = entry_at(map, segments, address);
	uint32_t handle;

	if (entry == NULL)
		return 0;
	handle = (uint32_t)*entry;
	*entry = 0;
	map->count--;
	return handle;
}

void mam_blockmap_missed(struct mam_blockmap *map)
{
	map->count--;
}

size_t mam_blockmap_bytes(const struct mam_blockmap *map)
{
	return bytes_of(&map->now) + bytes_of(&map->old);
}

static const char *check_table(const struct mam_blockmap *map, const struct mam_blocktable *table,
			       const struct mam_records *segments)
{
	size_t entries = table->entries == NULL ? 0 : buckets_of(table) * WAYS;
	size_t at;

	for (at = 0; at < entries; at++) {
		uint32_t handle = (uint32_t)table->entries[at];
		const struct mam_segment *segment = mam_segment_at(segments, handle);

		if (table->entries[at] == 0)
			continue;
		if (segment->state != MAM_SEGMENT_LIVE)
			return "the block map names a segment that is not live";
		if (bucket_of(table, hash(segment->base)) != table->entries + at / WAYS * WAYS)
			return "the block map has a block in the bucket of another address";
		if (entry_at(map, segments, segment->base) != &table->entries[at])
			return "the block map has a block twice";
	}
	return NULL;
}

const char *mam_blockmap_check(const struct mam_blockmap *map, const struct mam_records *segments)
{
	const char *fault = check_table(map, &map->now, segments);

	return fault != NULL ? fault : check_table(map, &map->old, segments);
}
