/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug_join.h - blocks that several streams use: freed when all of these are done with them.
 */
#ifndef MAM_API_PLUG_JOIN_H
#define MAM_API_PLUG_JOIN_H

#include <stdbool.h>

struct CUstream_st;

/* mam_plug_join_record - `stream` uses the block too, from now until it is freed. */
void mam_plug_join_record(void *block, struct CUstream_st *stream);

/*
 * mam_plug_join_free - frees a block that was recorded, allocated on `stream` of `device`. False:
 * it was not recorded, and nothing was done. Costs a load where no block is.
 */
bool mam_plug_join_free(void *block, int device, struct CUstream_st *stream);

#endif
