/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments.h - one block for whichever lanes of a warp come together, each with a size of its own.
 */
#ifndef MAM_COALESCE_SEGMENTS_H
#define MAM_COALESCE_SEGMENTS_H

#include "coalesce/base.h"

MAM_KFN void *mam_segments_alloc(struct mam_kbase base, size_t bytes)
{
	return mam_base_alloc(base, bytes);
}

MAM_KFN bool mam_segments_free(struct mam_kbase base, void *segment)
{
	return mam_base_free(base, segment);
}

#endif
