/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h - the function that forget.c needs. */
#ifndef MAM_INTERPOSE_ATTRIBUTE_H
#define MAM_INTERPOSE_ATTRIBUTE_H

/*
 * Called when the last block of a chunk with synchronous copies is freed: copies in the chunk no
 * longer need to be synchronous. While a capture is alive they stay synchronous, which only costs
 * time.
 */
void mam_attribute_not_synchronous(void *chunk);

#endif
