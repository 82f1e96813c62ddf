/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.h - for forget.c.
 */
#ifndef MAM_INTERPOSE_ATTRIBUTE_H
#define MAM_INTERPOSE_ATTRIBUTE_H

/*
 * The last block of a chunk with synchronous copies is gone: copies of the chunk need not be any
 * more. While a capture is alive they stay, which only costs time.
 */
void mam_attribute_not_synchronous(void *chunk);

#endif
