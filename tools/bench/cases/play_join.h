/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_join.h - a hash join's shape, and what must come out of it.
 *
 * Of a cell `filled` are the tuples of each table, `lanes` those of R that a partition is to have,
 * `rounds` is the share of the partitions that are joined first, per mille (0, 1000: all at once),
 * `buffers` an enum join_kind.
 */
#ifndef MAM_TOOLS_BENCH_CASES_PLAY_JOIN_H
#define MAM_TOOLS_BENCH_CASES_PLAY_JOIN_H

#include "cases.h"
#include "join_tables.h"

struct join_shape {
	uint32_t n, kind;
	uint32_t total; /* partitions */
	uint32_t cut;   /* of them the first range; `total`: there is one range */
	uint32_t shift; /* 2^shift of them are first written as one; 0: none are */
};

struct join_shape join_shape_of(const struct device_cell *cell);

/* What comes out: rows, and two sums over them. */
struct join_result {
	uint64_t rows, sum, more;
};

/* join_reference - reckoned by the host, row by row of S */
struct join_result join_reference(uint32_t kind, uint32_t n);

/* A cell's join: what its passes share. */
struct join_play {
	struct join_shape shape;
	struct join_result right;
	void *r, *s;
};

/* join_wrong - compares what kernels have told so far; nothing where requests got nothing. False: the
 * device failed */
bool join_wrong(struct device_run *run, const struct join_play *join, struct case_pass *pass);
/* join_blocks - of a kernel, for so many parts of work */
uint32_t join_blocks(const struct device_heap *heap, const char *kernel, uint64_t parts);
/* join_probe - of so many partitions, by a kernel; where these are few, by larger blocks */
bool join_probe(struct case_play *play, const char *kernel, uint32_t parts,
		const struct device_job *job);

/* play_join_counted.c */
case_once join_once_counted;

#endif
