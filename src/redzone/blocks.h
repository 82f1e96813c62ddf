/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.h - the records of a pool's blocks with red zones: a tree by address, and the queues of freed
 * blocks.
 *
 * Every record is in the tree from mam_blocks_insert() to mam_blocks_erase(). Freed ones are also in
 * the queue of their state. Pointers to records are valid until the next insert.
 *
 * Threads: no synchronization; the owner locks.
 */
#ifndef MAM_REDZONE_BLOCKS_H
#define MAM_REDZONE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rbtree.h"
#include "base/records.h"

enum mam_block_state {
	MAM_BLOCK_LIVE,
	MAM_BLOCK_FREED,   /* not checked yet */
	MAM_BLOCK_HELD,    /* in quarantine: its red zones were checked, or are in flight */
	MAM_BLOCK_LEAVING, /* in flight: all of it */
	MAM_BLOCK_STATES
};

struct mam_block {
	struct mam_rbnode node; /* by base */
	uint32_t next;          /* in the queue of its state; 0: none */
	uintptr_t base;         /* in the pool */
	size_t front;           /* bytes of the red zone before the caller's */
	size_t bytes;           /* of the caller */
	size_t total;           /* of the pool's block */
	const char *tag;        /* at the allocation; "": none */
	int thread;
	unsigned char state; /* enum mam_block_state */
	bool is_filled;      /* false: not checked */
	bool is_apart;       /* filled, if at all, in a stream of the checks */
	bool is_reported;
};

_Static_assert(sizeof(struct mam_block) % 16 == 0, "as records.h requires");

struct mam_block_queue {
	uint32_t first, last; /* 0: none */
	uint64_t count, bytes;
};

struct mam_blocks {
	struct mam_records records;
	uint32_t root;
	struct mam_block_queue queues[MAM_BLOCK_STATES]; /* LIVE: not used */
};

static inline struct mam_block *mam_block_at(const struct mam_blocks *blocks, uint32_t handle)
{
	return (struct mam_block *)mam_records_at(&blocks->records, handle);
}

/* pre: zeroed. False: no host memory. */
bool mam_blocks_init(struct mam_blocks *blocks);
void mam_blocks_fini(struct mam_blocks *blocks);

/* mam_blocks_find - the block that contains an address, red zones included; 0: none. */
uint32_t mam_blocks_find(const struct mam_blocks *blocks, uintptr_t address);

/* mam_blocks_insert - 0: no host memory. */
uint32_t mam_blocks_insert(struct mam_blocks *blocks, const struct mam_block *fresh);
void mam_blocks_erase(struct mam_blocks *blocks, uint32_t handle);

/* mam_blocks_next - in order of addresses, from 0 to 0. */
uint32_t mam_blocks_next(const struct mam_blocks *blocks, uint32_t handle);

/* mam_blocks_push - append to the queue of a state. mam_blocks_pop: the oldest. pre: not empty. */
void mam_blocks_push(struct mam_blocks *blocks, enum mam_block_state state, uint32_t handle);
uint32_t mam_blocks_pop(struct mam_blocks *blocks, enum mam_block_state state);

#endif
