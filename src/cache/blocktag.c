/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocktag.c - make tables and leaves (blocktag.h).
 *
 * Leaves are cut from slabs, since a process may have only some 65,000 mappings. Slabs and tables
 * use small pages on purpose: tags are scattered, and one huge page for a few tags would cost more
 * memory than the saved page walks are worth.
 *
 * Tables and leaves are never freed, so that a reader needs no lock.
 */
#include "cache/blocktag.h"

#include <sys/mman.h>

#include "base/lock.h"
#include "base/pages.h"

#define LEAF_BYTES (MAM_BLOCKTAG_LEAF_TAGS * sizeof(mam_blocktag_word))
#define TABLE_BYTES sizeof(struct mam_blocktag_table)
#define SLAB_BYTES ((size_t)1 << 20)

_Atomic(struct mam_blocktag_table *) mam_blocktag_root[MAM_BLOCKTAG_REGIONS];

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_LOG, "tags");
static char *slab;       /* lock: lock; address of the next leaf */
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

static struct mam_blocktag_table *table_locked(uintptr_t address)
{
	_Atomic(struct mam_blocktag_table *) *place =
		&mam_blocktag_root[address >> MAM_BLOCKTAG_REGION_SHIFT];
	struct mam_blocktag_table *table = atomic_load_explicit(place, memory_order_relaxed);

	if (!table) {
		table = mam_pages_map(TABLE_BYTES);
		if (table)
			(void)madvise(table, TABLE_BYTES, MADV_NOHUGEPAGE);
		atomic_store_explicit(place, table, memory_order_release);
	}
	return table;
}

static void make_locked(uintptr_t address, bool leaf)
{
	struct mam_blocktag_table *table = table_locked(address);
	_Atomic(mam_blocktag_word *) *place;

	if (!table || !leaf)
		return;
	place = &table->leaves[address >> MAM_BLOCKTAG_LEAF_SHIFT & (MAM_BLOCKTAG_LEAVES - 1)];
	if (!atomic_load_explicit(place, memory_order_relaxed))
		atomic_store_explicit(place, (mam_blocktag_word *)cut_locked(),
				      memory_order_release);
}

mam_blocktag_word *mam_blocktag_make(uintptr_t address, uint64_t granules)
{
	mam_blocktag_word *tag = mam_blocktag_find(address, granules);

	if (tag || address >> MAM_BLOCKTAG_ADDRESS_SHIFT != 0)
		return tag;
	mam_lock_take(&lock);
	make_locked(address, granules < MAM_BLOCKTAG_LARGE);
	mam_lock_release(&lock);
	return mam_blocktag_find(address, granules);
}

void mam_blocktag_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_blocktag_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

void mam_blocktag_fork_child(void)
{
	mam_lock_reinit(&lock);
}
