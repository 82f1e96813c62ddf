/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h - requests of a thread that a running kernel waits for (see pool/prompt.c).
 *
 * Neither call waits for the device or for a thread that does, and neither calls code that could.
 * Both call the listeners, as mam_malloc() and mam_free() do.
 */
#ifndef MAM_API_PROMPT_H
#define MAM_API_PROMPT_H

#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

/*
 * mam_prompt_alloc - allocates a block from the pool's free memory, otherwise from new memory of
 * its source; do not try mam_pool_alloc_nowait() before. pre: a pool, bytes > 0. alignment 0: the
 * granule. `patience_ns`: the maximum wait for another thread that grows or trims the pool; some
 * milliseconds, since a growth takes one or two.
 *
 * WOULD_WAIT: that thread may be waiting for the device; retry later, or report that there is no
 * memory. OUT_OF_MEMORY: the limit is reached, or only freeing, moving or waiting would help. Also
 * DESTROYED, OUT_OF_HOST_MEMORY, DRIVER, INVALID_VALUE (the alignment).
 */
enum mam_status mam_prompt_alloc(struct mam_pool *pool, size_t bytes, size_t alignment,
				 uint64_t patience_ns, void **block);

/*
 * mam_prompt_alloc_here - allocates from the pool's free memory, or returns WOULD_WAIT, which is
 * not a failure and is not reported to listeners. For threads that serve other requests before they
 * allocate new memory.
 */
enum mam_status mam_prompt_alloc_here(struct mam_pool *pool, size_t bytes, size_t alignment,
				      void **block);

/*
 * mam_prompt_free - frees the block immediately, whatever the pool's policy: the device has
 * reported that it no longer uses the block. The driver is not called. Errors as mam_free(),
 * without DRIVER.
 */
enum mam_status mam_prompt_free(struct mam_pool *pool, void *block);

#endif
