/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug.h - what the plugs share (<mam/plug.h>): a block of a default pool, and back.
 */
#ifndef MAM_API_PLUG_H
#define MAM_API_PLUG_H

#include <mam/plug.h>

/*
 * mam_plug_alloc - `bytes` of the default pool of `device` (mam_pool_default()) in the order of
 * `stream`. What fails is one line in the log, in which the caller's function is `name`.
 */
enum mam_status mam_plug_alloc(const char *name, size_t bytes, int device,
			       struct CUstream_st *stream, void **block);

/*
 * mam_plug_free - free a block of the default pool of any context. NULL: nothing. What fails is one
 * line in the log.
 */
enum mam_status mam_plug_free(const char *name, void *block, int device,
			      struct CUstream_st *stream);

/*
 * mam_plug_free_order - the order in which to free a block that any thread may free, of the stream on
 * which it was allocated: plug.c.
 */
struct CUstream_st *mam_plug_free_order(struct CUstream_st *stream);

/* mam_plug_pool_of - the pool of a block, or the device's default pool where none owns the block. */
enum mam_status mam_plug_pool_of(const void *block, int device, struct mam_pool **pool);

/* mam_plug_free_waiting - the same when all work of the block's context is done; waits for it. */
void mam_plug_free_waiting(const char *name, void *block, int device);

#endif
