/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.c - the rare operations of kept.h: seal a group, move it, check it.
 */
#include "cache/kept.h"

#include "cache/tcache.h"

#define BATCH 64 /* blocks per acquisition of the pool's lock */

/* Tag bits that identify a kept block of a thread cache. */
#define MASK (UINT64_C(0x3ff) << 54 | 7)

/* Whether a tag is that of a block in a list of large or other blocks. `key`: with KEPT. */
static inline bool is_of_list(uint64_t tag, uint64_t key, bool large)
{
	uint64_t granules = mam_blocktag_granules(tag);

	return (tag & MASK) == key && granules != 0 && (granules >= MAM_BLOCKTAG_LARGE) == large;
}

/* The tag of a list's block, and its value; NULL: the block was freed a second time. */
static mam_blocktag_word *tag_in(uint64_t number, bool large, uint64_t key, uint64_t *value)
{
	mam_blocktag_word *tag = mam_blocktag_find((uintptr_t)number << MAM_BLOCKTAG_SHIFT,
						   large ? MAM_BLOCKTAG_LARGE : 1);

	*value = tag ? mam_blocktag_read(tag) : MAM_BLOCKTAG_NONE;
	return is_of_list(*value, key | MAM_BLOCKTAG_KEPT, large) ? tag : NULL;
}

void *mam_kept_pop(struct mam_kept *kept, struct mam_kept_group *group, uint64_t key,
		   mam_blocktag_word **tag, uint64_t *granules)
{
	for (int large = 0; large < 2; large++) {
		struct mam_kept_list *list = &group->list[large];
		uint64_t number = list->first, value;

		if (list->blocks == 0)
			continue;
		*tag = tag_in(number, large, key, &value);
		if (!*tag) {
			kept->lost += list->blocks;
			*list = (struct mam_kept_list){ .blocks = 0 };
			continue;
		}
		*granules = mam_blocktag_granules(value);
		list->first = mam_blocktag_next(value);
		list->blocks--;
		group->granules -= *granules;
		return (void *)((uintptr_t)number << MAM_BLOCKTAG_SHIFT);
	}
	group->granules = 0;
	return NULL;
}

/* The sizes of lost blocks are unknown. */
static const char *check(const struct mam_kept_group *group, uint64_t key, bool lost)
{
	uint64_t granules = 0, value;

	for (int large = 0; large < 2; large++) {
		uint64_t number = group->list[large].first;

		for (uint64_t left = group->list[large].blocks; left != 0; left--) {
			if (!tag_in(number, large, key, &value))
				return "a block that a thread keeps has no tag of its list";
			granules += mam_blocktag_granules(value);
			number = mam_blocktag_next(value);
		}
	}
	return granules == group->granules || lost
		       ? NULL
		       : "a group's count does not match its kept blocks";
}

const char *mam_kept_check(const struct mam_kept *kept, uint64_t key)
{
	const bool lost = kept->lost != 0;
	const char *why = check(&kept->open, key, lost);

	for (uint32_t i = 0; i < kept->count && !why; i++)
		why = check(&kept->sealed[(kept->oldest + i) % MAM_KEPT_GROUPS], key, lost);
	return why;
}

/* All blocks of the group join the pool's queue. */
static void flush(struct mam_tcache *tcache, struct mam_pool *pool, struct mam_kept_group *group)
{
	void *blocks[BATCH];
	uint64_t granules;
	mam_blocktag_word *tag;
	size_t count;

	do {
		for (count = 0; count < BATCH; count++) {
			blocks[count] = mam_kept_pop(&tcache->kept, group, tcache->bins.key, &tag,
						     &granules);
			if (!blocks[count])
				break;
			mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
		}
		if (count != 0)
			mam_pool_set_aside_batch(pool, blocks, count, tcache->tally);
	} while (count == BATCH);
	group->ticket = 0;
}

void mam_kept_flush(struct mam_tcache *tcache, struct mam_pool *pool)
{
	struct mam_kept *kept = &tcache->kept;

	for (; kept->count != 0; kept->count--) {
		flush(tcache, pool, &kept->sealed[kept->oldest]);
		kept->oldest = (kept->oldest + 1) % MAM_KEPT_GROUPS;
	}
	flush(tcache, pool, &kept->open);
}

uint64_t mam_kept_seal(struct mam_tcache *tcache, struct mam_pool *pool)
{
	struct mam_kept *kept = &tcache->kept;
	uint64_t blocks = mam_kept_blocks(&kept->open);
	struct mam_kept_group *group;

	if (blocks == 0)
		return 0;
	if (kept->count == MAM_KEPT_GROUPS && !mam_kept_absorb(tcache, pool)) {
		mam_kept_flush(tcache, pool);
		return mam_pool_ticket(pool, 0, tcache->tally);
	}
	group = &kept->sealed[(kept->oldest + kept->count++) % MAM_KEPT_GROUPS];
	*group = kept->open;
	group->ticket = mam_pool_ticket(pool, blocks, tcache->tally);
	kept->open = (struct mam_kept_group){ .ticket = 0 };
	return group->ticket;
}

/* Every retired block passes here. Blocks after one that was freed a second time are lost. */
static void move_list(struct mam_tcache *tcache, struct mam_kept_list *list, bool large)
{
	uint64_t number = list->first, left = list->blocks, sum = 0, granules, value;
	uint64_t key = tcache->bins.key | MAM_BLOCKTAG_KEPT;
	mam_blocktag_word *tag;

	for (; left != 0; left--, number = mam_blocktag_next(value), sum += granules) {
		tag = mam_blocktag_known((uintptr_t)number << MAM_BLOCKTAG_SHIFT,
					 large ? MAM_BLOCKTAG_LARGE : 1);
		value = mam_blocktag_read(tag);
		granules = mam_blocktag_granules(value);
		if (!is_of_list(value, key, large))
			break;
		mam_bins_push(&tcache->bins, (uintptr_t)number << MAM_BLOCKTAG_SHIFT, tag,
			      granules);
	}
	tcache->kept.lost += left;
	mam_tally_unkeep(tcache->tally, list->blocks - left, sum << MAM_BLOCKTAG_SHIFT);
	*list = (struct mam_kept_list){ .blocks = 0 };
}

static void move(struct mam_tcache *tcache, struct mam_kept_group *group)
{
	for (int large = 0; large < 2; large++)
		if (group->list[large].blocks != 0)
			move_list(tcache, &group->list[large], large != 0);
	group->granules = 0;
}

bool mam_kept_absorb(struct mam_tcache *tcache, struct mam_pool *pool)
{
	struct mam_kept *kept = &tcache->kept;
	uint64_t passed = atomic_load_explicit(&pool->passed_ticket, memory_order_acquire);
	bool any = false;

	while (kept->count != 0 && kept->sealed[kept->oldest].ticket <= passed) {
		move(tcache, &kept->sealed[kept->oldest]);
		kept->oldest = (kept->oldest + 1) % MAM_KEPT_GROUPS;
		kept->count--;
		any = true;
	}
	return any;
}

void mam_kept_forget(struct mam_tcache *tcache)
{
	struct mam_kept *kept = &tcache->kept;
	uint64_t granules;
	mam_blocktag_word *tag;

	for (; kept->count != 0; kept->count--) {
		while (mam_kept_pop(kept, &kept->sealed[kept->oldest], tcache->bins.key, &tag,
				    &granules))
			mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
		kept->oldest = (kept->oldest + 1) % MAM_KEPT_GROUPS;
	}
	while (mam_kept_pop(kept, &kept->open, tcache->bins.key, &tag, &granules))
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
}
