/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h - requests of a thread that a running kernel waits for (pool/prompt.c has the story).
 *
 * Neither call waits for the device, for a thread that does, or calls what could. Both tell
 * listeners, as mam_malloc() and mam_free() do.
 */
#ifndef MAM_API_PROMPT_H
#define MAM_API_PROMPT_H

#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

/*
 * mam_prompt_alloc - a block from ground the pool holds, else from new memory of its source; there
 * is no need to try mam_pool_alloc_nowait() before. pre: a pool, bytes > 0. alignment 0: the
 * granule. `patience_ns`: how long it waits at most for another thread that grows or trims the
 * pool; some milliseconds, as a growth takes one or two.
 *
 * WOULD_WAIT: that thread may be waiting for the device; ask again later, or answer that there is
 * none. OUT_OF_MEMORY: the limit, or only giving back, moving or waiting would help. Else
 * DESTROYED, OUT_OF_HOST_MEMORY, DRIVER, INVALID_VALUE (the alignment).
 */
enum mam_status mam_prompt_alloc(struct mam_pool *pool, size_t bytes, size_t alignment,
				 uint64_t patience_ns, void **block);

/*
 * mam_prompt_alloc_here - from ground the pool holds, or WOULD_WAIT, which is no failure and told to
 * nobody: for who serves others before new memory is asked for.
 */
enum mam_status mam_prompt_alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				      void **block);

/*
 * mam_prompt_free - the block is free ground at once, whatever the pool's policy is: the device has
 * said that it is done with it. The driver is not called. Errors as mam_free(), without DRIVER.
 */
enum mam_status mam_prompt_free(struct mam_pool *pool, void *block);

#endif
