/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a concurrent map from addresses to addresses, for all lanes of all kernels.
 *
 * An open-addressing table of lines, each with 16 adjacent keys followed by their 16 values. A
 * search reads groups of four keys, which are one memory access. The first group for a key is that
 * of the 64 bytes of memory that contain it, next to the groups of the surrounding 192 bytes. So
 * the keys that a warp inserts together, addresses 16 or a few more bytes apart, go into few lines.
 * If there is no place, as for most keys that are closer together, pseudo-random groups follow.
 *
 * 1. An entry's key is 0: free; MAM_MAP_BUSY: a lane is working on it; otherwise it is in the map.
 * 2. Insert: claims the first free entry by changing its key from 0 to busy with a
 *    compare-and-swap. Then it stores the value, then the key, which releases.
 * 3. Remove: claims the entry with the key by changing the key to busy with a compare-and-swap,
 *    which acquires; reads the value; and stores 0, which releases.
 *
 * Source: Blach, Erhart, Memedi, Schäfer, "Coalescing Memory Allocations for GPU MPI", 3.1,
 * requires such a map without describing one.
 *
 * The owner of an address inserts it once, and the owner removes it: no two equal keys are in the
 * map or being inserted. With that:
 * - A key does not move while it is in the map. A remove that began after the insert ended searches
 *   all possible places, past free entries: it finds the key, and no tombstones are needed.
 * - Of several removes of one key, one compare-and-swap succeeds; the others do not find the key.
 * - The value matches the key: only the lane that claimed an entry reads or writes it. The key is
 *   released and acquired between the value's store and the next reader's claim; the 0 between the
 *   reader's load and the next insert's claim.
 * - A claim does not depend on how often a key was removed and inserted since it was read: the
 *   winner has the current entry, including its value.
 * - A key may be inserted again while the lane that removed it still has the entry busy. It then
 *   goes elsewhere, since a busy entry has no key.
 * - An invalid remove, concurrent with an insert of the same key, removes the key or does not find
 *   it; it affects no other entry.
 *
 * Bound: one compare-and-swap if the first place is right, which holds for most keys; at most
 * MAM_MAP_FOURS groups, and a compare-and-swap for each of their keys. No lane waits for another: a
 * lane that stops keeps one entry busy. An insert fails if each possible place of the key was taken
 * when it was read. In a map for 64 or fewer entries these are all places. A larger map with the
 * number of entries it was made for is half empty, and 31 pseudo-random groups are not all full:
 * maps for 30,000 parts, at any distance in bytes, first had no place at 1.7 times as many entries.
 */
#ifndef MAM_COALESCE_MAP_H
#define MAM_COALESCE_MAP_H

#include "device/port.h"
#include "device/port_global.h"

#define MAM_MAP_LINE 16u  /* entries */
#define MAM_MAP_FOURS 32u /* groups of four in which a key may be */
#define MAM_MAP_BUSY (~(uint64_t)0)

/* Each half is a cache line. */
struct mam_map_line {
	uint64_t keys[MAM_MAP_LINE];
	uint64_t values[MAM_MAP_LINE];
};

/* A cache line of its own, which is never written; the table follows it. */
struct mam_kmap {
	uint32_t lines;
	uint32_t unused[31];
};

/* Lines for twice the entries, so that a key finds a place. */
MAM_KBOTH uint32_t mam_map_lines(uint32_t entries)
{
	uint32_t half = MAM_MAP_LINE / 2;

	return entries ? entries / half + (entries % half != 0) : 1;
}

/* Bytes for a map of `entries`. Best allocated at a multiple of 128. */
MAM_KBOTH size_t mam_map_bytes(uint32_t entries)
{
	return sizeof(struct mam_kmap) +
	       (size_t)mam_map_lines(entries) * sizeof(struct mam_map_line);
}

/* By the host or one lane, in zeroed memory of that size. */
MAM_KBOTH void mam_map_format(struct mam_kmap *map, uint32_t entries)
{
	map->lines = mam_map_lines(entries);
}

MAM_KBOTH struct mam_map_line *mam_map_table(struct mam_kmap *map)
{
	return (struct mam_map_line *)(map + 1);
}

/* The number of places for entries, taken or free. */
MAM_KBOTH uint64_t mam_map_places(const struct mam_kmap *map)
{
	return (uint64_t)map->lines * MAM_MAP_LINE;
}

/*
 * The key at a place, and its value; 0: none. Called by the host or a lane, while no lane inserts
 * or removes.
 */
MAM_KBOTH uint64_t mam_map_at(struct mam_kmap *map, uint64_t place, uint64_t *value)
{
	struct mam_map_line *line = &mam_map_table(map)[place / MAM_MAP_LINE];

	*value = line->values[place % MAM_MAP_LINE];
	return line->keys[place % MAM_MAP_LINE];
}

/* The number of entries, 0 at the end if there are no leaks. Same condition as mam_map_at(). */
MAM_KBOTH uint64_t mam_map_count(struct mam_kmap *map)
{
	uint64_t count = 0, place, value;

	for (place = 0; place < mam_map_places(map); place++)
		count += mam_map_at(map, place, &value) != 0;
	return count;
}

#if defined(MAM_SIMT) || defined(__CUDACC__)

/* Each bit of the result depends on all bits of `x`: the finalizer of MurmurHash3 (Appleby). */
MAM_KFN uint64_t mam_map_mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* The `i`-th group of four keys in which a key may be; i is below mam_map_reach(). */
MAM_KFN uint64_t *mam_map_window(struct mam_kmap *map, uint64_t key, uint32_t i)
{
	uint32_t fours = map->lines * (MAM_MAP_LINE / 4);
	uint32_t at = (uint32_t)((mam_map_mix(key >> 8) >> 32) * map->lines >> 32) * 4 +
		      (uint32_t)(key >> 6) % 4;

	if (i && fours <= MAM_MAP_FOURS)
		at = (at + i) % fours;
	else if (i)
		at = (uint32_t)((mam_map_mix(key + i * 0x9e3779b97f4a7c15u) >> 32) * fours >> 32);
	return mam_map_table(map)[at / 4].keys + at % 4 * 4;
}

MAM_KFN uint32_t mam_map_reach(const struct mam_kmap *map)
{
	uint32_t fours = map->lines * (MAM_MAP_LINE / 4);

	return fours < MAM_MAP_FOURS ? fours : MAM_MAP_FOURS;
}

/*
 * The first of four keys to search. It differs for consecutive addresses with the same group of
 * four, as long as there are at most four of them.
 */
MAM_KFN uint32_t mam_map_first(uint64_t key)
{
	return (uint32_t)((key >> 4) + key * 2) % 4;
}

/* Compare four keys: bit i is for key (first + i) % 4, set if that is `wanted`. */
MAM_KFN uint32_t mam_map_four(uint64_t *keys, uint32_t first, uint64_t wanted)
{
	uint64_t a = mam_global_load64(&keys[0], MAM_RELAXED, MAM_AT_DEVICE);
	uint64_t b = mam_global_load64(&keys[1], MAM_RELAXED, MAM_AT_DEVICE);
	uint64_t c = mam_global_load64(&keys[2], MAM_RELAXED, MAM_AT_DEVICE);
	uint64_t d = mam_global_load64(&keys[3], MAM_RELAXED, MAM_AT_DEVICE);
	uint32_t bits = (uint32_t)(a == wanted) | (uint32_t)(b == wanted) << 1 |
			(uint32_t)(c == wanted) << 2 | (uint32_t)(d == wanted) << 3;

	return (bits | bits << 4) >> first & 15;
}

/* Claim the entry if it has `wanted`. */
MAM_KFN bool mam_map_try(uint64_t *entry, uint64_t wanted)
{
	return mam_global_cas64(entry, wanted, MAM_MAP_BUSY, MAM_ACQUIRE, MAM_AT_DEVICE) == wanted;
}

/* Search all groups of four of a key. */
MAM_KSLOW uint64_t *mam_map_search(struct mam_kmap *map, uint64_t key, uint64_t wanted)
{
	uint32_t first = mam_map_first(key), reach = mam_map_reach(map), bits, i;
	uint64_t *keys, *entry;

	MAM_ROLLED
	for (i = 0; i < reach; i++) {
		keys = mam_map_window(map, key, i);
		MAM_ROLLED
		for (bits = mam_map_four(keys, first, wanted); bits; bits &= bits - 1) {
			entry = &keys[(first + mam_ffs32(bits) - 1) % 4];
			if (mam_map_try(entry, wanted))
				return entry;
		}
	}
	return NULL;
}

/*
 * Claim an entry for `key` that has `wanted`, 0 or the key. Returns the address of its key; NULL:
 * no entry has that. The first place is right so often that it is tried without a load.
 */
MAM_KFN uint64_t *mam_map_claim(struct mam_kmap *map, uint64_t key, uint64_t wanted)
{
	uint64_t *entry = mam_map_window(map, key, 0) + mam_map_first(key);

	return mam_map_try(entry, wanted) ? entry : mam_map_search(map, key, wanted);
}

/* 0 and MAM_MAP_BUSY are not valid keys. */
MAM_KFN bool mam_map_is_key(uint64_t key)
{
	return key + 1 > 1;
}

/*
 * `key` is not in the map, and no other lane inserts it. False: there is no space, or it is
 * invalid.
 */
MAM_KFN bool mam_map_insert(struct mam_kmap *map, uint64_t key, uint64_t value)
{
	uint64_t *entry = mam_map_is_key(key) ? mam_map_claim(map, key, 0) : NULL;

	if (!entry)
		return false;
	mam_atomic_store64(entry + MAM_MAP_LINE, value, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(entry, key, MAM_RELEASE, MAM_AT_DEVICE);
	return true;
}

/* False: the key is not in the map, and `value` is unchanged. */
MAM_KFN bool mam_map_remove(struct mam_kmap *map, uint64_t key, uint64_t *value)
{
	uint64_t *entry = mam_map_is_key(key) ? mam_map_claim(map, key, key) : NULL;

	if (!entry)
		return false;
	*value = mam_atomic_load64(entry + MAM_MAP_LINE, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(entry, 0, MAM_RELEASE, MAM_AT_DEVICE);
	return true;
}

#endif
#endif
