/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - from an address to another, for all lanes of all kernels at the same time.
 *
 * An open-addressing table of lines, each 16 keys side by side and then their 16 values. It is
 * looked through by fours: four keys, which are one access to memory. The first four for a key are
 * those of the 64 bytes of memory it lies in, beside the fours of the 192 bytes around: so what a
 * warp inserts at a time, addresses 16 or a few more bytes apart, goes into few lines. Where there
 * is no place, as there is none for most of what lies closer together, come fours by chance.
 *
 * 1. An entry's key is 0: nobody's; MAM_MAP_BUSY: somebody's who is at it; else it is in the map.
 * 2. Insert: claims the first entry that is empty: its key from 0 to busy, by compare-and-swap.
 *    Then it stores the value, then the key, which releases.
 * 3. Remove: claims the entry that has the key: from the key to busy, by compare-and-swap, which
 *    acquires; reads the value; and stores 0, which releases.
 *
 * Source: Blach, Erhart, Memedi, Schäfer, "Coalescing Memory Allocations for GPU MPI", 3.1, want
 * such a map and say nothing of how it is made.
 *
 * A key is inserted by who owns that address, once, and removed by who has it: no two are in the
 * map, nor on their way there, that are the same. With that:
 * - A key does not move while it is in the map, and a remove that began after the insert ended
 *   looks at all places where it may be, over whatever is empty: it finds it, and there are no
 *   marks of what was removed.
 * - Of several removes of one key one has its compare-and-swap succeed; the others do not find it.
 * - The value is that of the key: only who claimed an entry reads or writes it. From the value's
 *   store to the next reader's claim there is the key, released and acquired; from the reader's
 *   load to the next insert's claim there is the 0.
 * - A claim says nothing of how often a key came and went since it was looked at, nor needs to: who
 *   wins has what is there now, its value as well.
 * - A key may come back when its entry is still busy for who removed it: it goes elsewhere, and
 *   what is busy is nobody's key.
 * - A remove of a key that comes back at the same time, which is a mistake, takes it or does not
 *   find it; nothing else is touched.
 *
 * Bound: a compare-and-swap where the first place is right, which it is for most keys; at most
 * MAM_MAP_FOURS fours, and a compare-and-swap for each of their keys. Nobody waits for anybody: a
 * lane that stops keeps one entry. An insert fails if each place of the key's was taken when it was
 * looked at. In a map for 64 or less these are all there are; in a larger one that has what it is
 * for, half of the places are free, and 31 fours by chance are not full: maps for 30,000 parts, any
 * number of bytes apart, first had no place when they held 1.7 times as many.
 */
#ifndef MAM_COALESCE_MAP_H
#define MAM_COALESCE_MAP_H

#include "heap/port.h"
#include "heap/port_global.h"

#define MAM_MAP_LINE 16u  /* entries */
#define MAM_MAP_FOURS 32u /* in which a key may be */
#define MAM_MAP_BUSY (~(uint64_t)0)

/* Each half is a line of the cache. */
struct mam_map_line {
	uint64_t keys[MAM_MAP_LINE];
	uint64_t values[MAM_MAP_LINE];
};

/* A line of the cache by itself, which nobody writes; the table is behind it. */
struct mam_kmap {
	uint32_t lines;
	uint32_t unused[31];
};

/* Twice the entries, so that a key finds a place. */
MAM_KBOTH uint32_t mam_map_lines(uint32_t entries)
{
	uint32_t half = MAM_MAP_LINE / 2;

	return entries ? entries / half + (entries % half != 0) : 1;
}

/* Bytes for a map that holds `entries`. Its memory is best at a multiple of 128. */
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

/* Places for entries, taken or not: numbers below this. */
MAM_KBOTH uint64_t mam_map_places(const struct mam_kmap *map)
{
	return (uint64_t)map->lines * MAM_MAP_LINE;
}

/*
 * The key at a place, and its value; 0: none. By the host or a lane, while nobody inserts or
 * removes.
 */
MAM_KBOTH uint64_t mam_map_at(struct mam_kmap *map, uint64_t place, uint64_t *value)
{
	struct mam_map_line *line = &mam_map_table(map)[place / MAM_MAP_LINE];

	*value = line->values[place % MAM_MAP_LINE];
	return line->keys[place % MAM_MAP_LINE];
}

/* Entries that are taken, 0 in the end if nothing leaked; at such a time. */
MAM_KBOTH uint64_t mam_map_count(struct mam_kmap *map)
{
	uint64_t count = 0, place, value;

	for (place = 0; place < mam_map_places(map); place++)
		count += mam_map_at(map, place, &value) != 0;
	return count;
}

#if defined(MAM_SIMT) || defined(__CUDACC__)

/* Each bit of the answer is of all bits of `x`: the end of MurmurHash3 (Appleby). */
MAM_KFN uint64_t mam_map_mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* The `i`-th four keys among which a key may be, below mam_map_reach(). */
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
 * Which of four keys is looked at first: not the same for those of addresses in a row that come to
 * the same four, as far as these are no more than four.
 */
MAM_KFN uint32_t mam_map_first(uint64_t key)
{
	return (uint32_t)((key >> 4) + key * 2) % 4;
}

/* Of four keys: bit i is for key (first + i) % 4, set if that is `wanted`. */
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

/* The entry is the caller's if it holds `wanted`. */
MAM_KFN bool mam_map_try(uint64_t *entry, uint64_t wanted)
{
	return mam_global_cas64(entry, wanted, MAM_MAP_BUSY, MAM_ACQUIRE, MAM_AT_DEVICE) == wanted;
}

/* Looks through all fours of a key. */
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
 * Makes an entry of `key` the caller's that holds `wanted`, 0 or the key: where its key is; NULL:
 * none holds that. The first place is right so often that it is not looked at before.
 */
MAM_KFN uint64_t *mam_map_claim(struct mam_kmap *map, uint64_t key, uint64_t wanted)
{
	uint64_t *entry = mam_map_window(map, key, 0) + mam_map_first(key);

	return mam_map_try(entry, wanted) ? entry : mam_map_search(map, key, wanted);
}

/* 0 and MAM_MAP_BUSY are no keys. */
MAM_KFN bool mam_map_is_key(uint64_t key)
{
	return key + 1 > 1;
}

/*
 * `key` is not in the map, and nobody else inserts it. False: there is no room, or that is no key.
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

/* False: the key is not there, and `value` is left alone. */
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
