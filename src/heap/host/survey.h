/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - the contents of a plot of an object heap according to its metadata: groups of slabs
 * (classes.h) and runs of units, in the order of their addresses, for code that counts or visits
 * them.
 *
 * The metadata is read in pieces of blocks, so that a plot of any size needs little host memory. Of
 * a piece:
 * 1. the owners, and the lengths of long runs;
 * 2. the owners again, and which units are claimed, after the words of the slabs that 1 showed: of
 *    each class the words from its first slab to its last. Words are 4 percent of a plot, and
 *    mostly none of them matters;
 * 3. an item is reported if both readings of its owner agree.
 *
 * Why twice: kernels may be running in other streams. The slots of a group that has just closed are
 * 0, as are those of a full one. But a thread that closes a group sets MOVING before (slab.h), so
 * that the second reading shows it, unless a group of the same class has opened there again.
 *
 * Bound: 64 KiB of owners, 4 KiB of lengths and 8 KiB of bits at a time, and at most 2.4 MiB of
 * words.
 */
#ifndef MAM_HEAP_HOST_SURVEY_H
#define MAM_HEAP_HOST_SURVEY_H

#include "heap/host/plot.h"
#include "heap/service/copy.h"

struct mam_survey {
	struct mam_plot plot;
	uint32_t block;        /* the piece's first */
	uint32_t blocks;       /* count, of the piece */
	uint32_t unit;         /* of the piece: where to look next */
	unsigned char *owners; /* of the piece, a byte per unit */
	unsigned char *before; /* the first reading */
	uint32_t *longs;       /* of the piece, one per block */
	uint64_t *taken;       /* likewise: a bit per unit */
	uint64_t *words;       /* of the piece, grouped by class, in the metadata's order */
};

/* A group of a slab, or an object that is a run of units. */
struct mam_survey_item {
	uint32_t class_; /* 0: a run */
	uint32_t unit;   /* its first, of the plot */
	uint32_t units;  /* count */
	uint32_t slab; /* of a group: the unit at which slot 0 of its slab starts; a run: `unit` */
	uint64_t live; /* of a group: the slab's slots that it has and that are live; a run: 1 */
};

/* mam_survey_init - returns OUT_OF_HOST_MEMORY on failure. */
enum mam_status mam_survey_init(struct mam_survey *survey, const struct mam_plot *plot);
void mam_survey_fini(struct mam_survey *survey);

/*
 * mam_survey_read - reads the next piece. Waits, several times. Returns false if there is none, or
 * if the visit has failed, which its end reports.
 */
bool mam_survey_read(struct mam_survey *survey, struct mam_copy_visit *visit);

/* mam_survey_next - returns the next item of the piece that was read. False: no more. */
bool mam_survey_next(struct mam_survey *survey, struct mam_survey_item *item);

#endif
