/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way.h - all coalescers with one interface: the coalescer is a constant at the call site, so only
 * its code is compiled in.
 */
#ifndef MAM_COALESCE_WAY_H
#define MAM_COALESCE_WAY_H

#include "coalesce/fixed.h"
#include "coalesce/segments.h"
#include "coalesce/xmalloc.h"

enum mam_kway {
	MAM_WAY_BASE,          /* the base itself, one request per lane */
	MAM_WAY_XMALLOC,       /* converged lanes, with headers, and buffers (xmalloc.h) */
	MAM_WAY_SEGMENTS,      /* converged lanes, with small headers (segments.h) */
	MAM_WAY_WARP_HEADERS,  /* a whole warp, one size, with headers (fixed.h) */
	MAM_WAY_WARP,          /* the same with a map instead of headers */
	MAM_WAY_BLOCK_HEADERS, /* a whole block, one size, with headers */
	MAM_WAY_BLOCK,         /* the same with a map instead of headers */
	MAM_WAYS
};

/* The device memory that a way uses; each may be NULL if the way does not need it. */
struct mam_kcoalescer {
	struct mam_kbase base;
	struct mam_buffers *buffers; /* MAM_WAY_XMALLOC; NULL: no buffers */
	struct mam_kmap *map;        /* MAM_WAY_WARP and MAM_WAY_BLOCK, which require it */
};

/* NULL: no space. `way` determines which lanes must call together. */
MAM_KFN void *mam_way_alloc(enum mam_kway way, struct mam_kcoalescer c, size_t bytes)
{
	switch (way) {
	case MAM_WAY_XMALLOC: return mam_xmalloc_alloc(c.base, c.buffers, bytes);
	case MAM_WAY_SEGMENTS: return mam_segments_alloc(c.base, bytes);
	case MAM_WAY_WARP_HEADERS: return mam_fixed_alloc_warp(c.base, NULL, bytes);
	case MAM_WAY_WARP: return mam_fixed_alloc_warp(c.base, c.map, bytes);
	case MAM_WAY_BLOCK_HEADERS: return mam_fixed_alloc_block(c.base, NULL, bytes);
	case MAM_WAY_BLOCK: return mam_fixed_alloc_block(c.base, c.map, bytes);
	default: return mam_base_alloc(c.base, bytes);
	}
}

/* By any lane of any kernel. NULL: true, no effect. False: a detected invalid free; no effect. */
MAM_KFN bool mam_way_free(enum mam_kway way, struct mam_kcoalescer c, void *object)
{
	if (!object)
		return true;
	switch (way) {
	case MAM_WAY_XMALLOC: return mam_xmalloc_free(c.base, c.buffers, object);
	case MAM_WAY_SEGMENTS: return mam_segments_free(c.base, object);
	case MAM_WAY_WARP_HEADERS:
	case MAM_WAY_BLOCK_HEADERS: return mam_fixed_free(c.base, NULL, object);
	case MAM_WAY_WARP:
	case MAM_WAY_BLOCK: return mam_fixed_free(c.base, c.map, object);
	default: return mam_base_free(c.base, object);
	}
}

#endif
