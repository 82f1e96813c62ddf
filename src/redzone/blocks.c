/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - see blocks.h. */
#include "redzone/blocks.h"

static char *nodes(const struct mam_blocks *blocks)
{
	return blocks->records.base + offsetof(struct mam_block, node);
}

bool mam_blocks_init(struct mam_blocks *blocks)
{
	return mam_records_init(&blocks->records, sizeof(struct mam_block)) == MAM_OK;
}

void mam_blocks_fini(struct mam_blocks *blocks)
{
	mam_records_fini(&blocks->records);
}

uint32_t mam_blocks_find(const struct mam_blocks *blocks, uintptr_t address)
{
	uint32_t node = blocks->root, below = 0;

	while (node != 0) {
		const bool right = mam_block_at(blocks, node)->base <= address;

		if (right)
			below = node;
		node = mam_rb_child(nodes(blocks), node, right ? MAM_RB_RIGHT : MAM_RB_LEFT);
	}
	if (below == 0 ||
	    address - mam_block_at(blocks, below)->base >= mam_block_at(blocks, below)->total)
		return 0;
	return below;
}

uint32_t mam_blocks_insert(struct mam_blocks *blocks, const struct mam_block *fresh)
{
	uint32_t parent = 0, node = blocks->root, handle;
	enum mam_rbside side = MAM_RB_LEFT;

	if (mam_records_reserve(&blocks->records, 1) != MAM_OK)
		return 0;
	while (node != 0) {
		parent = node;
		side = mam_block_at(blocks, node)->base <= fresh->base ? MAM_RB_RIGHT : MAM_RB_LEFT;
		node = mam_rb_child(nodes(blocks), node, side);
	}
	handle = mam_records_take(&blocks->records);
	*mam_block_at(blocks, handle) = *fresh;
	mam_rb_link(nodes(blocks), &blocks->root, parent, side, handle);
	return handle;
}

void mam_blocks_erase(struct mam_blocks *blocks, uint32_t handle)
{
	mam_rb_unlink(nodes(blocks), &blocks->root, handle);
	mam_records_put(&blocks->records, handle);
}

uint32_t mam_blocks_next(const struct mam_blocks *blocks, uint32_t handle)
{
	return handle == 0 ? mam_rb_extreme(nodes(blocks), blocks->root, MAM_RB_LEFT)
			   : mam_rb_step(nodes(blocks), handle, MAM_RB_RIGHT);
}

void mam_blocks_push(struct mam_blocks *blocks, enum mam_block_state state, uint32_t handle)
{
	struct mam_block_queue *queue = &blocks->queues[state];

	mam_block_at(blocks, handle)->state = (unsigned char)state;
	mam_block_at(blocks, handle)->next = 0;
	if (queue->last != 0)
		mam_block_at(blocks, queue->last)->next = handle;
	else
		queue->first = handle;
	queue->last = handle;
	queue->count++;
	queue->bytes += mam_block_at(blocks, handle)->total;
}

uint32_t mam_blocks_pop(struct mam_blocks *blocks, enum mam_block_state state)
{
	struct mam_block_queue *queue = &blocks->queues[state];
	uint32_t handle = queue->first;

	queue->first = mam_block_at(blocks, handle)->next;
	if (queue->first == 0)
		queue->last = 0;
	queue->count--;
	queue->bytes -= mam_block_at(blocks, handle)->total;
	return handle;
}
