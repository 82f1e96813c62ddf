/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - resident blocks: start and end of their lanes, the block barrier, shared memory, and
 * the SM of each block.
 *
 * A block's slot in the world keeps stacks and shared memory for the next block.
 */
#ifndef MAM_TESTS_SIMT_BLOCK_H
#define MAM_TESTS_SIMT_BLOCK_H

#include "simt/lane.h"

/* Puts the launch's next block into a free slot and makes its lanes ready; false: out of memory. */
bool simt_block_start(struct simt_world *world, struct simt_launch *launch);
void simt_block_free(struct simt_block *block);

#endif
