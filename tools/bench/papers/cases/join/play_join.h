/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_join.h - a hash join's shape, and its expected result.
 *
 * In a cell, `filled` is the number of tuples of each table, `lanes` the number of R's tuples per
 * partition, `rounds` the share of the partitions that are joined first, per mille (0, 1000: all at
 * once), `buffers` an enum join_kind.
 */
#ifndef MAM_TOOLS_BENCH_CASES_PLAY_JOIN_H
#define MAM_TOOLS_BENCH_CASES_PLAY_JOIN_H

#include "bench/papers/cases/cases.h"
#include "join_tables.h"

struct join_shape {
	uint32_t n, kind;
	uint32_t total; /* partitions */
	uint32_t cut;   /* the first range of them; `total`: there is one range */
	uint32_t shift; /* 2^shift of them are first written as one; 0: none are */
};

struct join_shape join_shape_of(const struct device_cell *cell);

/* The result: rows, and two checksums over them. */
struct join_result {
	uint64_t rows, sum, more;
};

/* join_reference - computed by the host, row by row of S */
struct join_result join_reference(uint32_t kind, uint32_t n);

/* A cell's join: data shared by its passes. */
struct join_play {
	struct join_shape shape;
	struct join_result right;
	void *r, *s;
};

/*
 * join_wrong - compare the kernels' counters so far with the reference; skipped if requests failed.
 * Returns false if the device failed
 */
bool join_wrong(struct device_run *run, const struct join_play *join, struct case_pass *pass);
/* join_blocks - the grid size of a kernel for `parts` parts of work */
uint32_t join_blocks(const struct device_heap *heap, const char *kernel, uint64_t parts);
/* join_probe - probe `parts` partitions with a kernel; with larger blocks if there are few */
bool join_probe(struct case_play *play, const char *kernel, uint32_t parts,
		const struct device_job *job);

/* play_join_counted.c */
case_once join_once_counted;

#endif
