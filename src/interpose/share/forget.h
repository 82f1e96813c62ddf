/* SPDX-License-Identifier: Apache-2.0 */
/* forget.h - removes the data associated with a block, in this process and where others see it. */
#ifndef MAM_INTERPOSE_FORGET_H
#define MAM_INTERPOSE_FORGET_H

#include <stddef.h>

/* Called before a block is freed, or closed if it belongs to another process. */
void mam_forget_block(const void *block);

/* Called before a chunk of a pool is freed, with all its blocks. */
void mam_forget_chunk(void *base, size_t bytes);

#endif
