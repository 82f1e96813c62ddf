/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forget.h - what goes with a block, here and where others know of it.
 */
#ifndef MAM_INTERPOSE_FORGET_H
#define MAM_INTERPOSE_FORGET_H

#include <stddef.h>

/* A block is about to be freed, or closed if it is another process's. */
void mam_forget_block(const void *block);

/* A chunk of a pool goes, with all its blocks. */
void mam_forget_chunk(void *base, size_t bytes);

#endif
