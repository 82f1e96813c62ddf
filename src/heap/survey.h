/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - what stands in a plot of a heap of objects, as its books say: slabs and large objects,
 * in the order of their addresses, for who counts them and for who visits them.
 *
 * The books are read in pieces of blocks, so that a plot of any size is seen with little host
 * memory. Of a piece:
 * 1. the owners, and the lengths of long runs;
 * 2. the owners again, after the words of those slabs that 1 showed: of each class the words from
 *    its first slab to its last. Words are 4 hundredths of a plot, and mostly none of them matters;
 * 3. what both readings of the owners agree on stands there.
 *
 * Why twice: kernels may be at work in other streams. The word of a slab that has just ended is 0,
 * as that of a full one is; but whoever ends a slab says MOVING before (slab.h), so that the second
 * reading shows it, if no slab of the same class has begun there again.
 *
 * Bound: 64 KiB of owners and 4 KiB of lengths at a time, and 2.4 MiB of words at most.
 */
#ifndef MAM_HEAP_SURVEY_H
#define MAM_HEAP_SURVEY_H

#include "heap/plot.h"
#include "heap/reach.h"

struct mam_survey {
	struct mam_plot plot;
	uint32_t block;  /* the piece's first */
	uint32_t blocks; /* count, of the piece */
	uint32_t unit;   /* of the piece: where to look next */
	unsigned char *owners; /* of the piece, a byte a unit */
	unsigned char *before; /* the first reading */
	uint32_t *longs;       /* of the piece, one a block */
	uint64_t *words;       /* of the piece, those of a class together, in the books' order */
};

/* A slab or a large object. */
struct mam_survey_item {
	uint32_t class_; /* 0: a large object */
	uint32_t unit;   /* its first, of the plot */
	uint32_t units;  /* count */
	uint64_t live;   /* a bit a slot; a large object: 1 */
};

/* mam_survey_init - OUT_OF_HOST_MEMORY. */
enum mam_status mam_survey_init(struct mam_survey *survey, const struct mam_plot *plot);
void mam_survey_fini(struct mam_survey *survey);

/*
 * mam_survey_read - the next piece. Waits, several times. False: there is none, or the visit has
 * failed, and says so at its end.
 */
bool mam_survey_read(struct mam_survey *survey, struct mam_reach_visit *visit);

/* mam_survey_next - what stands next in the piece that was read. False: nothing more. */
bool mam_survey_next(struct mam_survey *survey, struct mam_survey_item *item);

#endif
