/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a hash map that grows: a fixed number of buckets, each a list of pages of entries, for all
 * lanes of all kernels at the same time; nothing is taken out of it.
 *
 * insert:
 * 1. The bucket is the key's hash's. Through its pages, from the first on, and through each page's
 *    entries: an empty one is claimed by compare-and-swap of its key, and the value stored. Who wants
 *    a key to be in the map once stops where it is already.
 * 2. Behind the last page: a new page, with key and value as its first entry, is put into the last
 *    one's link by compare-and-swap. Lost: what came there is looked through first, as in 1; the page
 *    is kept until then, and goes back if it was not needed.
 * Who does not mind a key being there more than once begins at the bucket's last page.
 * find: through pages and entries up to the first empty one.
 *
 * Source: the pages are those of KMA's lists of blocks and of the stadium and page lists in Ashkiani,
 * Farach-Colton, Owens, "A dynamic hash table for the GPU", IPDPS 2018 (slab lists), without removal.
 *
 * Invariants:
 * - Entries of a bucket are taken in order, none is left out, and none is ever empty again. So the
 *   first empty one is one that all who insert the same key must pass: two of them try the same
 *   entry, or one sees the other's.
 * - There is a next page only when all entries of a page are taken.
 * - An entry whose value is MAM_DSMAP_NONE yet is one whose insert has not ended: a find that meets it
 *   goes on as if it was not there.
 *
 * What is ordered: who finds a value sees what was done before the insert; a value is released and
 * acquired, and so is a link.
 *
 * Bound: as many loads as entries of the bucket, a compare-and-swap for each that others take at that
 * time; a page is 256 bytes, 15 entries. Lock-free: a try is lost only to another insert.
 *
 * Who may call what together with whom:
 *
 *                insert  insert_multi  find  count  walk  fini
 *     init       no      no            no    no     no    no    before all, by the host or one lane
 *     insert     yes     (1)           yes   yes    yes   no
 *     insert_multi       yes           yes   yes    yes   no
 *     find                             yes   yes    yes   no
 *     count, walk                            yes    yes   no    they see at least what had ended
 *     fini                                                no    one lane, a barrier or a kernel apart
 *
 * (1) Yes, but of one key: insert then says what it saw, and another may come behind it.
 */
#ifndef MAM_DS_MAP_H
#define MAM_DS_MAP_H

#include "ds/base.h"

/* No key, and no value. */
#define MAM_DSMAP_NONE (~(uint64_t)0)
#define MAM_DSMAP_ENTRIES 15u

struct mam_dsmap {
	uint64_t buckets;
	uint64_t unused;
};

/* Behind it: the buckets. */
struct mam_dsmap_bucket {
	uint64_t first; /* address of a page, 0: none; atomic */
	uint64_t last;  /* of the last, or of one before it; atomic */
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
	 * The key was there already, and nothing is done. If its insert has not ended, a find that
	 * follows may not see it yet.
	 */
	MAM_DSMAP_THERE,
	MAM_DSMAP_NO_ROOM, /* there was no memory, or that is no key or no value */
};

/* An entry, and which is the next one. */
struct mam_dsmap_walk {
	MAM_GLOBAL struct mam_dsmap_page *page; /* NULL: all were seen */
	uint32_t entry;
	uint64_t bucket; /* of a walk through all */
	uint64_t key, value;
};

/* Bytes for a map of so many buckets, 1 or more; a multiple of 16. */
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

/* Each bit of the answer is of all bits of `x`: the end of MurmurHash3 (Appleby). */
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

/* A page for nobody to see yet, with one entry; NULL: no memory. */
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

/* Step 1 in a page. MAM_DSMAP_NO_ROOM: all its entries are taken. */
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

/* `*made`: a page that was got and not needed, or NULL. */
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

/* The key is in the map once, with the value of who came first. */
MAM_KFN enum mam_dsmap_answer mam_dsmap_insert(MAM_GLOBAL struct mam_dsmap *map, MAM_DS_BASE base,
					       uint64_t key, uint64_t value)
{
	return mam_dsmap_enter(map, base, key, value, true);
}

/* Another entry, whether or not the key is there. */
MAM_KFN enum mam_dsmap_answer mam_dsmap_insert_multi(MAM_GLOBAL struct mam_dsmap *map,
						     MAM_DS_BASE base, uint64_t key, uint64_t value)
{
	return mam_dsmap_enter(map, base, key, value, false);
}

/*
 * The next entry of the walk's bucket, of key `wanted`, or of any if that is MAM_DSMAP_NONE. False:
 * there is none.
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

/* The walk is at an entry of that key, whose value it has; false: there is none. */
MAM_KFN bool mam_dsmap_first(MAM_GLOBAL struct mam_dsmap *map, uint64_t key,
			     struct mam_dsmap_walk *walk)
{
	walk->page = key == MAM_DSMAP_NONE ? NULL : mam_dsmap_look(&mam_dsmap_of(map, key)->first);
	walk->entry = 0;
	return mam_dsmap_step(walk, key);
}

/* It goes on to the next one of the same key. */
MAM_KFN bool mam_dsmap_next(struct mam_dsmap_walk *walk)
{
	return mam_dsmap_step(walk, walk->key);
}

/* The value of a key that is in the map once, or one of them; false: `value` is left alone. */
MAM_KFN bool mam_dsmap_find(MAM_GLOBAL struct mam_dsmap *map, uint64_t key, uint64_t *value)
{
	struct mam_dsmap_walk walk;

	if (!mam_dsmap_first(map, key, &walk))
		return false;
	*value = walk.value;
	return true;
}

/*
 * A walk through all entries of buckets from `bucket` on, each `stride`-th, so that lanes may share the
 * map: begins before the first, then each step is at one, in `key` and `value`. False: that was all.
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

/* Entries there are. */
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

/* All memory back to the base; the map is empty. */
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
