/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - allocation from the current context's pool, for other allocation functions. */
#ifndef MAM_INTERPOSE_ALLOC_H
#define MAM_INTERPOSE_ALLOC_H

#include <stddef.h>

#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

#define MAM_ALLOC_FORWARD (-1)

/*
 * mam_alloc_pooled - allocate a block for one call of `function`, and count and report it as
 * served. Returns MAM_CUDA_SUCCESS, or MAM_ALLOC_FORWARD if the caller must call the real function
 * (pass.h); *why is then the reason. The guard is up.
 */
int mam_alloc_pooled(enum mam_table_id function, enum mam_road road, size_t bytes, void **block,
		     enum mam_why *why);

#endif
