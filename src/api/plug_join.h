/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug_join.h - blocks that several streams use: freed when all of these streams have finished.
 */
#ifndef MAM_API_PLUG_JOIN_H
#define MAM_API_PLUG_JOIN_H

#include <stdbool.h>

struct CUstream_st;

/* mam_plug_join_record - records that `stream` also uses the block, until it is freed. */
void mam_plug_join_record(void *block, struct CUstream_st *stream);

/*
 * mam_plug_join_free - frees a recorded block that was allocated on `stream` of `device`. False: it
 * was not recorded, and nothing was done. Costs one load if no block is recorded.
 */
bool mam_plug_join_free(void *block, int device, struct CUstream_st *stream);

#endif
