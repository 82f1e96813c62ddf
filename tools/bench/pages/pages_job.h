/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_job.h - inputs and outputs of a kernel of `mam bench pages`, shared by the host and the
 * kernels.
 *
 * An asker is a lane that requests pages once. Askers are the first `lanes` lanes of each warp;
 * they are numbered consecutively, and the arrays have an element for each.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_JOB_H
#define MAM_TOOLS_BENCH_PAGES_JOB_H

#include <stdint.h>

#define PAGES_WARP 32
#define PAGES_BLOCK 256 /* threads of a block, in every launch */
#define PAGES_NONE UINT32_MAX

/* Counters of check kernels. */
struct pages_found {
	uint64_t none;    /* askers whose request failed */
	uint64_t pages;   /* that askers got */
	uint64_t bytes;   /* requested bytes of successful requests */
	uint64_t twice;   /* pages that another asker has, too */
	uint64_t beyond;  /* askers that got an invalid page number */
	uint64_t corrupt; /* pages whose contents differ from what their owner wrote */
	uint64_t taken;   /* used pages according to the heap */
	uint64_t differ;  /* words of the heap that differ from the image */
};

struct pages_job {
	void *heap;     /* the allocator's, in device memory */
	uint32_t pages; /* of the heap */
	uint32_t page_bytes;
	uint32_t askers, lanes; /* lanes from 1 to PAGES_WARP */
	uint32_t min, max;      /* requested bytes; sizes in between depend on the asker's number */
	uint32_t seed;          /* steps: differs between passes */
	uint32_t rounds;        /* again: pages per asker, one after another */
	uint32_t group;         /* open: pages are freed in contiguous groups of this size */
	uint32_t *got;          /* an asker's first page, or PAGES_NONE */
	uint32_t *steps;        /* an asker's steps */
	uint64_t *blocks;       /* in place of `got` if an allocator returns addresses */
	uint32_t *shadow;       /* how often a page was handed out */
	unsigned char *space;   /* the pages themselves, `stride` bytes apart */
	uint32_t stride;        /* from 16 up, a multiple of 8 */
	uint32_t flags;         /* count: a page is a 32-bit word, not a bit of a 64-bit one */
	const uint64_t *words;  /* count, compare: of the heap */
	const uint64_t *image;  /* compare: of the image it was restored from */
	uint64_t word_count;
	struct pages_found *found;
};

#endif
