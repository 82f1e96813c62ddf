/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.h - XMalloc: requests of a warp's lanes become one block, and free blocks stay in buffers.
 */
#ifndef MAM_COALESCE_XMALLOC_H
#define MAM_COALESCE_XMALLOC_H

#include "coalesce/buffers.h"

/* `buffers` may be NULL: none. NULL: no room, or `bytes` is 0. */
MAM_KFN void *mam_xmalloc_alloc(struct mam_kbase base, struct mam_buffers *buffers, size_t bytes)
{
	return mam_buffers_alloc(buffers, base, bytes);
}

MAM_KFN bool mam_xmalloc_free(struct mam_kbase base, struct mam_buffers *buffers, void *object)
{
	return mam_buffers_free(buffers, base, object, 1);
}

#endif
