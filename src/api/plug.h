/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug.h - code shared by the plugs (<mam/plug.h>): allocate from and free to a default pool.
 */
#ifndef MAM_API_PLUG_H
#define MAM_API_PLUG_H

#include <mam/plug.h>

/*
 * mam_plug_alloc - allocates `bytes` from the default pool of `device` (mam_pool_default()) in the order
 * of `stream`. A failure logs one line, in which the caller's function is `name`.
 */
enum mam_status mam_plug_alloc(const char *name, size_t bytes, int device,
			       struct CUstream_st *stream, void **block);

/* mam_plug_alloc_from - the same from this pool. */
enum mam_status mam_plug_alloc_from(const char *name, struct mam_pool *pool, size_t bytes,
				    struct CUstream_st *stream, void **block);

/* mam_plug_free - frees to the default pool of any context. NULL: no effect. A failure logs one line. */
enum mam_status mam_plug_free(const char *name, void *block, int device,
			      struct CUstream_st *stream);

/* mam_plug_free_to_owner - the same to the pool of the block, without creating a default pool. */
enum mam_status mam_plug_free_to_owner(const char *name, void *block, struct CUstream_st *stream);

/*
 * mam_plug_free_order - returns the stream in whose order to free a block that any thread may free.
 * `stream` is the stream on which it was allocated (plug.c).
 */
struct CUstream_st *mam_plug_free_order(struct CUstream_st *stream);

/*
 * mam_plug_pool_of - finds the pool of a block, or the device's default pool if no pool owns the block.
 */
enum mam_status mam_plug_pool_of(const void *block, int device, struct mam_pool **pool);

/* mam_plug_free_waiting - frees after all work of the block's context; waits for that work. */
void mam_plug_free_waiting(const char *name, void *block, int device);

#endif
