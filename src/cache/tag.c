/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.c - leaves and the level above them are made (tag.h).
 *
 * Leaves are cut from slabs, since a process may have only some 65,000 mappings. A slab is less than
 * a huge page on purpose: tags lie scattered, and a huge page for each would cost more memory than
 * the page walks that it saves.
 *
 * What is made once is never unmade, so that a reader needs no lock.
 */
#include "cache/tag.h"

#include "base/lock.h"
#include "base/pages.h"

#define LEAF_BYTES (MAM_TAG_LEAF_TAGS * sizeof(mam_tag_word))
#define MIDDLE_BYTES (MAM_TAG_MIDDLE_LEAVES * sizeof(mam_tag_leaf))
#define SLAB_BYTES ((size_t)1 << 20)

_Atomic(mam_tag_leaf *) mam_tag_root[MAM_TAG_ROOT_MIDDLES];

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_LOG, "tags");
static char *slab;       /* lock: lock; where the next leaf is cut */
static size_t slab_left; /* lock: lock */

static void *cut_locked(void)
{
	void *leaf;

	if (slab_left < LEAF_BYTES) {
		char *fresh = mam_pages_map(SLAB_BYTES);

		if (!fresh)
			return NULL;
		slab = fresh;
		slab_left = SLAB_BYTES;
	}
	leaf = slab;
	slab += LEAF_BYTES;
	slab_left -= LEAF_BYTES;
	return leaf;
}

static mam_tag_leaf *middle_locked(uintptr_t address)
{
	_Atomic(mam_tag_leaf *) *place = &mam_tag_root[address >> MAM_TAG_MIDDLE_SHIFT];
	mam_tag_leaf *middle = atomic_load_explicit(place, memory_order_relaxed);

	if (!middle) {
		middle = mam_pages_map(MIDDLE_BYTES);
		atomic_store_explicit(place, middle, memory_order_release);
	}
	return middle;
}

static void make_locked(uintptr_t address)
{
	mam_tag_leaf *middle = middle_locked(address), *place;

	if (!middle)
		return;
	place = &middle[address >> MAM_TAG_LEAF_SHIFT & (MAM_TAG_MIDDLE_LEAVES - 1)];
	if (!atomic_load_explicit(place, memory_order_relaxed))
		atomic_store_explicit(place, (mam_tag_word *)cut_locked(), memory_order_release);
}

mam_tag_word *mam_tag_make(uintptr_t address)
{
	mam_tag_word *tag = mam_tag_find(address);

	if (tag || address >> MAM_TAG_ADDRESS_SHIFT != 0)
		return tag;
	mam_lock_take(&lock);
	make_locked(address);
	mam_lock_release(&lock);
	return mam_tag_find(address);
}

void mam_tag_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_tag_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

void mam_tag_fork_child(void)
{
	mam_lock_reinit(&lock);
}
