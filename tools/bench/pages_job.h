/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_job.h - what a kernel of `mam bench pages` is told and what it tells, as the host and the
 * kernels both see it.
 *
 * An asker is a lane that asks for pages once. Askers are the first `lanes` lanes of each warp;
 * they are numbered through, and the arrays have a place for each.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_JOB_H
#define MAM_TOOLS_BENCH_PAGES_JOB_H

#include <stdint.h>

#define PAGES_WARP 32
#define PAGES_BLOCK 256 /* threads of a block, in every launch */
#define PAGES_NONE UINT32_MAX

/* What check kernels count. */
struct pages_found {
	uint64_t none;    /* askers that got nothing */
	uint64_t pages;   /* that askers got */
	uint64_t bytes;   /* that they had asked for, of those that got something */
	uint64_t twice;   /* pages that somebody else has, too */
	uint64_t beyond;  /* askers that got what is no page of the heap */
	uint64_t corrupt; /* pages that were written by their owner and say something else now */
	uint64_t taken;   /* pages that the heap holds for taken */
	uint64_t differ;  /* words of the heap that are not those of the image */
};

struct pages_job {
	void *heap;     /* the allocator's, in device memory */
	uint32_t pages; /* of the heap */
	uint32_t page_bytes;
	uint32_t askers, lanes; /* lanes from 1 to PAGES_WARP */
	uint32_t least, most;   /* bytes an asker asks for; sizes between them by its number */
	uint32_t seed;          /* steps: tells passes apart */
	uint32_t rounds;        /* again: so many pages an asker, one after the other */
	uint32_t group;         /* open: so many pages that lie together are given together */
	uint32_t *got;          /* an asker's first page, or PAGES_NONE */
	uint32_t *steps;        /* an asker's steps */
	uint64_t *blocks;      /* in place of `got` where an allocator has no pages but addresses */
	uint32_t *shadow;      /* how often a page was handed out */
	unsigned char *ground; /* the pages themselves, `stride` bytes apart */
	uint32_t stride;       /* from 16 up, a multiple of 8 */
	uint32_t flags;        /* count: a page is a word of 32 bits, not a bit of one of 64 */
	const uint64_t *words; /* count, compare: of the heap */
	const uint64_t *image; /* compare: of the image it was restored from */
	uint64_t word_count;
	struct pages_found *found;
};

#endif
