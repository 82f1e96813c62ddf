/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - the memory of objects and the metadata that follows it, as the host knows it: a heap's
 * own, or a grant that it got later (growth.h). Host code that inspects a heap visits one plot
 * after the other.
 */
#ifndef MAM_HEAP_HOST_PLOT_H
#define MAM_HEAP_HOST_PLOT_H

#include "heap/slab/metadata.h"

struct mam_plot {
	unsigned char *space; /* on the device */
	uint32_t blocks;      /* count */
	uint32_t columns;     /* rows of handles */
};

/* The head's address on the device. */
static inline uintptr_t mam_plot_head(const struct mam_plot *plot)
{
	return (uintptr_t)plot->space + ((uint64_t)plot->blocks << MAM_BLOCK_SHIFT);
}

/* Bytes from the head to each part of the metadata. */
static inline struct mam_metadata_plan mam_plot_metadata(const struct mam_plot *plot)
{
	return mam_metadata_plan_of(plot->blocks, plot->columns);
}

/* Bytes of memory and metadata. */
static inline uint64_t mam_plot_bytes(const struct mam_plot *plot)
{
	return ((uint64_t)plot->blocks << MAM_BLOCK_SHIFT) + mam_plot_metadata(plot).end;
}

#endif
