/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed.h - one block for a whole thread block or a whole warp, all of whose threads ask for the same
 * number of bytes.
 */
#ifndef MAM_COALESCE_FIXED_H
#define MAM_COALESCE_FIXED_H

#include "coalesce/base.h"
#include "coalesce/map.h"

/* All threads of the block call; `map` NULL: with headers, else without. */
MAM_KFN void *mam_fixed_alloc_block(struct mam_kbase base, struct mam_kmap *map, size_t bytes)
{
	(void)map;
	return mam_base_alloc(base, bytes);
}

/* All lanes of the warp that have not ended call together. */
MAM_KFN void *mam_fixed_alloc_warp(struct mam_kbase base, struct mam_kmap *map, size_t bytes)
{
	(void)map;
	return mam_base_alloc(base, bytes);
}

/* What either gave, by any lane at any time; `map` as then. */
MAM_KFN bool mam_fixed_free(struct mam_kbase base, struct mam_kmap *map, void *part)
{
	(void)map;
	return mam_base_free(base, part);
}

#endif
