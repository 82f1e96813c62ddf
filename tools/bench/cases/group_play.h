/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_play.h - what the parts of the group-by share that run on the host: play_group.c has cells, the
 * input and the reference, group_pages.c plays it with lists of pages, group_counts.c in two passes a run.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_PLAY_H
#define MAM_TOOLS_BENCH_CASES_GROUP_PLAY_H

#include "cases.h"
#include "group_work.h"

/* Memory of the case's own. */
struct group_memory {
	void *at;
	uint64_t bytes;
};

/* A pass of the group-by, and what it reads. Device memory, but for `domain`. */
struct group_case {
	struct case_play play;
	struct device_job job;
	uint32_t *keys;
	struct group_work *work;
	struct group_totals *totals;
	uint32_t count, domain; /* rows; bits of a key */
	uint32_t resident;      /* blocks that run at once */
	bool exactly, failed;
};

/* group_take - false: there is none, play.none is set */
bool group_take(struct group_case *group, struct group_memory *memory, uint64_t bytes);
void group_give(struct group_case *group, struct group_memory *memory);
/* group_run - a timed kernel of so many blocks of GROUP_BLOCK, told `work`; group_beside - one that is not.
 * False: the device failed */
bool group_run(struct group_case *group, const char *kernel, uint64_t blocks,
	       const struct group_work *work);
bool group_beside(struct group_case *group, const char *kernel, uint64_t blocks,
		  const struct group_work *work);
/* group_zero - timed, as it is part of what is to be done */
bool group_zero(struct group_case *group, const struct group_memory *memory);
/* group_begin - what run `i` is about: its bits; its totals are zero */
bool group_begin(struct group_case *group, struct group_work *work, unsigned int i);
bool group_come_to(struct group_case *group, struct group_totals *totals);
/* group_blocks - of so many threads in all */
uint64_t group_blocks(uint64_t threads);

/* A case: false if the device failed. group->play.none, or told of requests: it could not be done, and
 * nothing is left. Digests are told by kernels before all is given back. */
bool group_play_pages(struct group_case *group);
bool group_play_counts(struct group_case *group, bool compact);

#endif
