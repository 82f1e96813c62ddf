/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.h - a block of the current context's pool, for those who allocate under other names.
 */
#ifndef MAM_INTERPOSE_ALLOC_H
#define MAM_INTERPOSE_ALLOC_H

#include <stddef.h>

#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

#define MAM_ALLOC_FORWARD (-1)

/*
 * mam_alloc_pooled - a block for one call of `function`, counted and watched as served. Returns
 * MAM_CUDA_SUCCESS, or MAM_ALLOC_FORWARD: the real function is to be asked (pass.h), as for *why.
 * The guard is up.
 */
int mam_alloc_pooled(enum mam_table_id function, enum mam_road road, size_t bytes, void **block,
		     enum mam_why *why);

#endif
