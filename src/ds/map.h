/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a hash map that grows: a fixed number of buckets, each a list of pages of entries. All
 * lanes of all kernels may use it at the same time. Entries cannot be removed.
 *
 * insert:
 * 1. The hash of the key selects the bucket. Search its pages from the first, and the entries of
 *    each page: claim an empty entry by compare-and-swap of its key, and store the value. An insert
 *    of a unique key stops if it finds the key.
 * 2. After the last page: a new page, with key and value as its first entry, is appended to the
 *    last page's link by compare-and-swap. If that fails, search the page that was appended
 *    instead, as in 1. The new page is kept until then, and is freed if it was not needed.
 * An insert that allows duplicate keys begins at the bucket's last page.
 * find: search pages and entries up to the first empty one.
 *
 * Source: the pages are those of KMA's block lists and of the stadium and page lists in Ashkiani,
 * Farach-Colton, Owens, "A dynamic hash table for the GPU", IPDPS 2018 (slab lists), without
 * removal.
 *
 * Invariants:
 * - Entries of a bucket are claimed in order, without gaps, and never become empty again. So all
 *   inserts of the same key must pass the first empty entry: two of them try the same entry, or one
 *   sees the entry of the other.
 * - A next page exists only when all entries of a page are claimed.
 * - An entry whose value is still MAM_DSMAP_NONE belongs to an unfinished insert: find ignores it.
 *
 * Memory order: a lane that finds a value sees what was done before the insert; values and links
 * are released and acquired.
 *
 * Bound: one load per entry of the bucket, and one compare-and-swap for each entry that another
 * lane claims meanwhile. A page has 256 bytes, 15 entries. Lock-free: an attempt fails only because
 * another insert succeeded.
 *
 * Concurrent calls:
 *
 *                insert  insert_multi  find  count  walk  fini
 *     init       no      no            no    no     no    no    before all, by the host or one lane
 *     insert     yes     (1)           yes   yes    yes   no
 *     insert_multi       yes           yes   yes    yes   no
 *     find                             yes   yes    yes   no
 *     count, walk                            yes    yes   no    they see at least finished inserts
 *     fini                                                no    one lane; barrier or kernel between
 *
 * (1) Yes, but with the same key insert reports only what it saw, and a duplicate may follow.
 */
#ifndef MAM_DS_MAP_H
#define MAM_DS_MAP_H

#include "ds/base.h"

/* Neither a valid key nor a valid value. */
#define MAM_DSMAP_NONE (~(uint64_t)0)
#define MAM_DSMAP_ENTRIES 15u

struct mam_dsmap {
	uint64_t buckets;
	uint64_t unused;
};

/* The buckets follow it. */
struct mam_dsmap_bucket {
	uint64_t first; /* address of a page, 0: none; atomic */
	uint64_t last;  /* of the last page, or of an earlier one; atomic */
};

struct mam_dsmap_page {
	uint64_t next; /* address of a page, 0: none; atomic */
	uint64_t unused;
	uint64_t keys[MAM_DSMAP_ENTRIES];   /* atomic */
	uint64_t values[MAM_DSMAP_ENTRIES]; /* atomic */
};

enum mam_dsmap_answer {
	MAM_DSMAP_DONE,
	/*
	 * The key existed already, and nothing was done. If its insert has not finished, a find
	 * that follows may not see it yet.
	 */
	MAM_DSMAP_THERE,
	MAM_DSMAP_NO_ROOM, /* out of memory, or an invalid key or value */
};

/* The current entry, and the position of the next one. */
struct mam_dsmap_walk {
	MAM_GLOBAL struct mam_dsmap_page *page; /* NULL: all were visited */
	uint32_t entry;
	uint64_t bucket; /* for an iteration over all buckets */
	uint64_t key, value;
};

/* Bytes for a map of `buckets` buckets, 1 or more; a multiple of 16. */
MAM_KBOTH size_t mam_dsmap_bytes(uint64_t buckets)
{
	return (size_t)(sizeof(struct mam_dsmap) + buckets * sizeof(struct mam_dsmap_bucket));
}

MAM_KFN MAM_GLOBAL struct mam_dsmap_bucket *mam_dsmap_at(MAM_GLOBAL struct mam_dsmap *map,
							 uint64_t number)
{
	return (MAM_GLOBAL struct mam_dsmap_bucket *)(map + 1) + number;
}

/* By the host or one lane, in zeroed memory of that size. */
MAM_KBOTH void mam_dsmap_init(MAM_GLOBAL struct mam_dsmap *map, uint64_t buckets)
{
	map->buckets = buckets;
}

/* Each bit of the result depends on all bits of `x`: the end of MurmurHash3 (Appleby). */
MAM_KFN uint64_t mam_dsmap_mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

MAM_KFN MAM_GLOBAL struct mam_dsmap_bucket *mam_dsmap_of(MAM_GLOBAL struct mam_dsmap *map,
							 uint64_t key)
{
	return mam_dsmap_at(map, mam_dsmap_mix(key) % map->buckets);
}

MAM_KFN MAM_GLOBAL struct mam_dsmap_page *mam_dsmap_look(MAM_GLOBAL uint64_t *link)
{
	return MAM_DS_POINTER(struct mam_dsmap_page,
			      mam_atomic_load64(link, MAM_ACQUIRE, MAM_AT_DEVICE));
}

/* A page that no other lane sees yet, with one entry; NULL: out of memory. */
MAM_KFN MAM_GLOBAL struct mam_dsmap_page *mam_dsmap_make(MAM_DS_BASE base, uint64_t key,
							 uint64_t value)
{
	MAM_GLOBAL struct mam_dsmap_page *page =
		(MAM_GLOBAL struct mam_dsmap_page *)mam_ds_alloc(base, sizeof(*page));
	uint32_t i;

	if (!page)
		return NULL;
	page->next = 0;
	MAM_ROLLED
	for (i = 0; i < MAM_DSMAP_ENTRIES; i++) {
		page->keys[i] = i ? MAM_DSMAP_NONE : key;
		page->values[i] = i ? MAM_DSMAP_NONE : value;
	}
	return page;
}

/* Step 1 in a page. MAM_DSMAP_NO_ROOM: all its entries are claimed. */
MAM_KFN enum mam_dsmap_answer mam_dsmap_put(MAM_GLOBAL struct mam_dsmap_page *page, uint64_t key,
					    uint64_t value, bool once)
{
	uint64_t seen;
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < MAM_DSMAP_ENTRIES; i++) {
		seen = mam_atomic_load64(&page->keys[i], MAM_RELAXED, MAM_AT_DEVICE);
		if (seen == MAM_DSMAP_NONE)
			seen = mam_atomic_cas64(&page->keys[i], MAM_DSMAP_NONE, key, MAM_RELAXED,
						MAM_AT_DEVICE);
		if (seen == MAM_DSMAP_NONE) {
			mam_atomic_store64(&page->values[i], value, MAM_RELEASE, MAM_AT_DEVICE);
			return MAM_DSMAP_DONE;
		}
		if (once && seen == key)
			return MAM_DSMAP_THERE;
	}
	return MAM_DSMAP_NO_ROOM;
}

/* `*made`: a page that was allocated and not needed, or NULL. */
MAM_KFN enum mam_dsmap_answer mam_dsmap_seek(MAM_GLOBAL struct mam_dsmap *map, MAM_DS_BASE base,
					     uint64_t key, uint64_t value, bool once,
					     MAM_GLOBAL struct mam_dsmap_page **made)
{
	MAM_GLOBAL struct mam_dsmap_bucket *bucket = mam_dsmap_of(map, key);
	MAM_GLOBAL struct mam_dsmap_page *page;
	MAM_GLOBAL uint64_t *link = &bucket->first;
	enum mam_dsmap_answer answer;

	*made = NULL;
	if (key == MAM_DSMAP_NONE || value == MAM_DSMAP_NONE)
		return MAM_DSMAP_NO_ROOM;
	page = once ? NULL : mam_dsmap_look(&bucket->last);
	if (!page)
		page = mam_dsmap_look(link);
	MAM_ROLLED
	for (;;) {
		if (!page) {
			if (!*made)
				*made = mam_dsmap_make(base, key, value);
			if (!*made)
				return MAM_DSMAP_NO_ROOM;
			page = MAM_DS_POINTER(struct mam_dsmap_page,
					      mam_atomic_cas64(link, 0, MAM_DS_WORD(*made),
							       MAM_ACQ_REL, MAM_AT_DEVICE));
			if (!page) {
				mam_atomic_store64(&bucket->last, MAM_DS_WORD(*made), MAM_RELEASE,
						   MAM_AT_DEVICE);
				*made = NULL;
				return MAM_DSMAP_DONE;
			}
		}
		answer = mam_dsmap_put(page, key, value, once);
		if (answer != MAM_DSMAP_NO_ROOM)
			return answer;
		link = &page->next;
		page = mam_dsmap_look(link);
	}
}

MAM_KFN enum mam_dsmap_answer mam_dsmap_enter(MAM_GLOBAL struct mam_dsmap *map, MAM_DS_BASE base,
					      uint64_t key, uint64_t value, bool once)
{
	MAM_GLOBAL struct mam_dsmap_page *made;
	uint32_t came = mam_warp_active();
	enum mam_dsmap_answer answer = mam_dsmap_seek(map, base, key, value, once, &made);

	/* As in a tree. */
	mam_warp_sync(came);
	if (made)
		(void)mam_ds_free(base, made);
	mam_warp_sync(came);
	return answer;
}

/* The map contains the key once, with the value of the first insert. */
MAM_KFN enum mam_dsmap_answer mam_dsmap_insert(MAM_GLOBAL struct mam_dsmap *map, MAM_DS_BASE base,
					       uint64_t key, uint64_t value)
{
	return mam_dsmap_enter(map, base, key, value, true);
}

/* Adds another entry, whether or not the key exists. */
MAM_KFN enum mam_dsmap_answer mam_dsmap_insert_multi(MAM_GLOBAL struct mam_dsmap *map,
						     MAM_DS_BASE base, uint64_t key, uint64_t value)
{
	return mam_dsmap_enter(map, base, key, value, false);
}

/*
 * The next entry in the current bucket, of key `wanted`, or of any key if that is MAM_DSMAP_NONE.
 * False: there is none.
 */
MAM_KFN bool mam_dsmap_step(struct mam_dsmap_walk *walk, uint64_t wanted)
{
	MAM_ROLLED
	while (walk->page) {
		if (walk->entry == MAM_DSMAP_ENTRIES) {
			walk->page = mam_dsmap_look(&walk->page->next);
			walk->entry = 0;
			continue;
		}
		walk->key = mam_atomic_load64(&walk->page->keys[walk->entry], MAM_RELAXED,
					      MAM_AT_DEVICE);
		/* The rest of the bucket is empty. */
		if (walk->key == MAM_DSMAP_NONE)
			break;
		walk->entry++;
		if (wanted != MAM_DSMAP_NONE && walk->key != wanted)
			continue;
		walk->value = mam_atomic_load64(&walk->page->values[walk->entry - 1], MAM_ACQUIRE,
						MAM_AT_DEVICE);
		if (walk->value != MAM_DSMAP_NONE)
			return true;
	}
	walk->page = NULL;
	return false;
}

/* Positions the iterator at an entry of that key and loads its value; false: there is none. */
MAM_KFN bool mam_dsmap_first(MAM_GLOBAL struct mam_dsmap *map, uint64_t key,
			     struct mam_dsmap_walk *walk)
{
	walk->page = key == MAM_DSMAP_NONE ? NULL : mam_dsmap_look(&mam_dsmap_of(map, key)->first);
	walk->entry = 0;
	return mam_dsmap_step(walk, key);
}

/* Moves to the next entry of the same key. */
MAM_KFN bool mam_dsmap_next(struct mam_dsmap_walk *walk)
{
	return mam_dsmap_step(walk, walk->key);
}

/* The value of a unique key, or one value of a duplicate key; false: `value` is not written. */
MAM_KFN bool mam_dsmap_find(MAM_GLOBAL struct mam_dsmap *map, uint64_t key, uint64_t *value)
{
	struct mam_dsmap_walk walk;

	if (!mam_dsmap_first(map, key, &walk))
		return false;
	*value = walk.value;
	return true;
}

/*
 * Iterates over all entries of every `stride`-th bucket, starting at `bucket`, so that lanes may
 * share the map. It begins before the first entry; each step moves to one entry, in `key` and
 * `value`. False: the end.
 */
MAM_KFN void mam_dsmap_walk_begin(MAM_GLOBAL struct mam_dsmap *map, uint64_t bucket,
				  struct mam_dsmap_walk *walk)
{
	walk->bucket = bucket;
	walk->entry = 0;
	walk->page =
		bucket < map->buckets ? mam_dsmap_look(&mam_dsmap_at(map, bucket)->first) : NULL;
}

MAM_KFN bool mam_dsmap_walk_next(MAM_GLOBAL struct mam_dsmap *map, uint64_t stride,
				 struct mam_dsmap_walk *walk)
{
	MAM_ROLLED
	while (!mam_dsmap_step(walk, MAM_DSMAP_NONE)) {
		if (walk->bucket >= map->buckets)
			return false;
		mam_dsmap_walk_begin(map, walk->bucket + stride, walk);
	}
	return true;
}

/* The number of entries. */
MAM_KFN uint64_t mam_dsmap_count(MAM_GLOBAL struct mam_dsmap *map)
{
	struct mam_dsmap_walk walk;
	uint64_t count = 0;

	mam_dsmap_walk_begin(map, 0, &walk);
	MAM_ROLLED
	while (mam_dsmap_walk_next(map, 1, &walk))
		count++;
	return count;
}

/* Frees all memory to the base; the map is empty. */
MAM_KFN void mam_dsmap_fini(MAM_GLOBAL struct mam_dsmap *map, MAM_DS_BASE base)
{
	MAM_GLOBAL struct mam_dsmap_page *page, *next;
	uint64_t i;

	MAM_ROLLED
	for (i = 0; i < map->buckets; i++) {
		page = mam_dsmap_look(&mam_dsmap_at(map, i)->first);
		mam_dsmap_at(map, i)->first = 0;
		mam_dsmap_at(map, i)->last = 0;
		MAM_ROLLED
		for (; page; page = next) {
			next = mam_dsmap_look(&page->next);
			(void)mam_ds_free(base, page);
		}
	}
}

#endif
