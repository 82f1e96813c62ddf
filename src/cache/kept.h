/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - retired blocks that a thread keeps, so that it can retire and reuse them without a lock.
 *
 *  1. A retired block joins the thread's open group. It is linked through its tag, as in a bin
 *     (bins.h); the tag shows that it is kept.
 *  2. When the group has BLOCKS blocks, or a large part of what the thread may cache, it is sealed:
 *     it gets a ticket, which all its blocks share (pool/batch.h:mam_pool_ticket).
 *  3. When the ticket was reclaimed (pool.h:passed_ticket), the thread moves the group into its
 *     bins, at its next request that finds no block there.
 *  4. Blocks that must wait longer than the thread, or that another thread needs, join the pool's
 *     queue of retired blocks with new tickets: when the thread ends, when there are too many
 *     groups, when the caches are drained, or when a caller needs the tickets of all blocks.
 *
 * A group has one list for blocks whose tag is in a leaf and one for those whose tag is in the table
 * (blocktag.h). As in a bin, a list that a double free damaged is lost until the caches are drained.
 *
 * Bound: O(1) each to retire and to move; a locked operation for BLOCKS blocks.
 *
 * Threads: the owner of the thread cache, inside it, or a thread that stopped it.
 */
#ifndef MAM_CACHE_KEPT_H
#define MAM_CACHE_KEPT_H

#include "cache/blocktag.h"

#define MAM_KEPT_BLOCKS 64u /* of a group */
#define MAM_KEPT_MIN 2048u  /* granules: a group with fewer is sealed only for its blocks */
#define MAM_KEPT_SHARE 2    /* of the granules that the thread may cache */
#define MAM_KEPT_GROUPS 8u  /* sealed groups of a thread cache */

struct mam_kept_list {
	uint64_t first;  /* number of its newest block's granule */
	uint64_t blocks; /* count */
};

struct mam_kept_group {
	uint64_t ticket; /* 0: it is open */
	uint64_t granules;
	struct mam_kept_list list[2]; /* of tags in leaves, of tags in the table */
};

struct mam_kept {
	struct mam_kept_group open;
	struct mam_kept_group sealed[MAM_KEPT_GROUPS]; /* a ring */
	uint32_t oldest, count;                        /* of sealed[] */
	uint64_t lost; /* count: blocks made unreachable by a double free */
};

static inline uint64_t mam_kept_blocks(const struct mam_kept_group *group)
{
	return group->list[0].blocks + group->list[1].blocks;
}

/* mam_kept_push - add a block to the open group. `key`: of the thread cache's bins. */
static inline void mam_kept_push(struct mam_kept *kept, uint64_t key, uintptr_t block,
				 mam_blocktag_word *tag, uint64_t granules)
{
	struct mam_kept_list *list = &kept->open.list[granules >= MAM_BLOCKTAG_LARGE];

	mam_blocktag_write(tag,
			   mam_blocktag_cached(key, granules, list->first) | MAM_BLOCKTAG_KEPT);
	list->first = (uint64_t)(block >> MAM_BLOCKTAG_SHIFT);
	list->blocks++;
	kept->open.granules += granules;
}

/* mam_kept_is_due - whether the open group should be sealed. `max`: granules of the cache. */
static inline bool mam_kept_is_due(const struct mam_kept *kept, uint64_t max)
{
	return mam_kept_blocks(&kept->open) >= MAM_KEPT_BLOCKS ||
	       (kept->open.granules >= MAM_KEPT_MIN && kept->open.granules >= max / MAM_KEPT_SHARE);
}

/*
 * mam_kept_pop - remove a block of a group. Its tag still shows it as kept. NULL: the group is
 * empty.
 */
void *mam_kept_pop(struct mam_kept *kept, struct mam_kept_group *group, uint64_t key,
		   mam_blocktag_word **tag, uint64_t *granules);

/* mam_kept_check - the lists match their counts. NULL or one sentence. */
const char *mam_kept_check(const struct mam_kept *kept, uint64_t key);

struct mam_pool;
struct mam_tcache;

/*
 * mam_kept_seal - give the open group a ticket. If there are too many groups, all of them join the
 * pool's queue. Returns the newest ticket of them, or 0: the open group was empty.
 */
uint64_t mam_kept_seal(struct mam_tcache *tcache, struct mam_pool *pool);

/* mam_kept_absorb - move groups whose ticket was reclaimed into the bins. False: there was none. */
bool mam_kept_absorb(struct mam_tcache *tcache, struct mam_pool *pool);

/* mam_kept_flush - all groups join the pool's queue with new tickets. */
void mam_kept_flush(struct mam_tcache *tcache, struct mam_pool *pool);

/* mam_kept_forget - drop all blocks: remove their tags. */
void mam_kept_forget(struct mam_tcache *tcache);

#endif
