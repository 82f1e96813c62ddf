/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - blocks in flight: their lanes' start and end, the block barrier, shared memory, and
 * where they run.
 *
 * A block's slot in the world keeps stacks and shared memory for the block that comes after it.
 */
#ifndef MAM_TESTS_SIMT_BLOCK_H
#define MAM_TESTS_SIMT_BLOCK_H

#include "simt/lane.h"

/* Puts the launch's next block into a free slot, its lanes ready; false if there is no memory. */
bool simt_block_start(struct simt_world *world, struct simt_launch *launch);
void simt_block_free(struct simt_block *block);

#endif
