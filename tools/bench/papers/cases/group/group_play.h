/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_play.h - interface between the host parts of the group-by: play_group.c has the cells, the
 * input and the reference, group_pages.c runs it with lists of pages, group_counts.c in two passes
 * per run.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_PLAY_H
#define MAM_TOOLS_BENCH_CASES_GROUP_PLAY_H

#include "bench/papers/cases/cases.h"
#include "group_work.h"

/* Memory of the case itself. */
struct group_memory {
	void *at;
	uint64_t bytes;
};

/* A pass of the group-by and its input. Device memory, except `domain`. */
struct group_case {
	struct case_play play;
	struct device_job job;
	uint32_t *keys;
	struct group_work *work;
	struct group_totals *totals;
	uint32_t count, domain; /* rows; bits of a key */
	uint32_t resident;      /* blocks that are resident at once */
	bool exactly, failed;
};

/* group_take - returns false and sets play.none if memory is exhausted */
bool group_take(struct group_case *group, struct group_memory *memory, uint64_t bytes);
void group_give(struct group_case *group, struct group_memory *memory);
/*
 * group_run - launch a timed kernel of `blocks` blocks of GROUP_BLOCK threads with `work`;
 * group_beside - an untimed one. Both return false if the device failed
 */
bool group_run(struct group_case *group, const char *kernel, uint64_t blocks,
	       const struct group_work *work);
bool group_beside(struct group_case *group, const char *kernel, uint64_t blocks,
		  const struct group_work *work);
/* group_zero - timed, as it is part of the algorithm */
bool group_zero(struct group_case *group, const struct group_memory *memory);
/* group_begin - set up run `i`: its bits, and zero totals */
bool group_begin(struct group_case *group, struct group_work *work, unsigned int i);
bool group_come_to(struct group_case *group, struct group_totals *totals);
/* group_blocks - blocks for `threads` threads in total */
uint64_t group_blocks(uint64_t threads);

/*
 * Run a case; return false if the device failed. If group->play.none is set or requests failed, the
 * case could not be completed, and nothing is left allocated. Kernels compute the digests before
 * everything is freed.
 */
bool group_play_pages(struct group_case *group);
bool group_play_counts(struct group_case *group, bool compact);

#endif
