/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_play.h - who runs a plan of `mam bench device`: a worker, which has the device, and the
 * one that watches it, which has the results.
 *
 * The worker is a process of its own. Where a kernel does not come back, or writes where it must
 * not, its device is lost for that process; the next worker goes on behind that cell. What the
 * worker has to say it writes into a pipe, a line each, fields with tabs between:
 *   B pair                                   it begins this pair: a cell and an allocator
 *   R workload allocator parameter metric value
 *   N sentence                               a note
 *   G gpu driver                             once, before the first pair
 *   T sentence                               the device is lost, in the pair begun last
 *   X sentence                               there is no device that it could use
 *   L                                        the time is up; what is left is left out
 *   Z                                        all is played
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_PLAY_H
#define MAM_TOOLS_BENCH_DEVICE_PLAY_H

#include "device_bench.h"
#include "device_job.h"

struct device_effort {
	const char *name;
	unsigned int repeats, warm;
	uint64_t deadline_ns;
	uint32_t askers_most; /* of cells that are played */
	uint64_t heap_most;   /* bytes of a heap, whatever the cell says */
	bool fine;
};

struct device_request {
	struct device_effort effort;
	struct device_allocator allocators[DEVICE_ALLOCATORS_MAX];
	size_t allocator_count;
	bool usable[DEVICE_ALLOCATORS_MAX]; /* asked for, and not given up */
	bool wanted[DEVICE_WORKS];
	bool verbose;
};

/* device_plan_make - all cells of all works */
void device_plan_make(struct device_plan *plan);
/* device_plan_takes_part - does it make sense to ask this allocator for that? */
bool device_plan_takes_part(const struct device_allocator *allocator,
			    const struct device_cell *cell);
bool device_plan_is_wanted(const struct device_request *request, const struct device_cell *cell);

/* device_worker - plays all pairs from `first` on, tells `out`, and does not come back */
void device_worker(const struct device_request *request, const struct device_plan *plan,
		   size_t first, uint64_t deadline, int out) __attribute__((noreturn));

/* What the one that watches has heard. */
struct device_heard {
	struct bench_results *results;
	struct bench_machine *machine;
	char **names; /* strings that rows point to */
	size_t name_count;
	bool late;
	bool stopped;      /* by a signal */
	char refusal[240]; /* why nothing can be measured here; "" */
};

/* device_watch - plays the plan by workers. False: nothing could be measured, see refusal. */
bool device_watch(struct device_request *request, const struct device_plan *plan,
		  struct device_heard *heard);
void device_heard_fini(struct device_heard *heard);
/* device_heard_name - a copy that lives as long as `heard`; "" where memory ran out */
const char *device_heard_name(struct device_heard *heard, const char *text);

/* ---- works: device_malloc.c ---- */

bool device_play_malloc(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell);
bool device_play_w5(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);

/* ---- showing it: device_show.c, device_target.c ---- */

void device_show_people(const struct bench_results *results, const struct bench_machine *machine,
			const struct device_request *request);
void device_show_keys(const struct bench_results *results, const struct device_request *request);

/* Whom a number is held against; device_target.c says why there are three of others. */
enum device_group {
	DEVICE_GROUP_OURS,
	DEVICE_GROUP_GENERAL,
	DEVICE_GROUP_PAGES,
	DEVICE_GROUP_CEILING,
};

/* device_target_group - who is not in the list serves any size */
enum device_group device_target_group(const struct device_request *request, const char *name);
/* device_target_best - of a group, in a cell; NULL: none was measured */
const char *device_target_best(const struct bench_results *results,
			       const struct device_request *request, enum device_group group,
			       const char *workload, const char *parameter, const char *metric,
			       bool at_most, double *value);

/* What was promised of a GPU of the H100's class. */
struct device_target {
	char key[32], label[48];
	const char *unit;
	double bound;
	bool at_most;       /* else at least */
	double value, best; /* ours; of the best that serves any size, 0: none was measured */
	char best_name[24];
	bool known;
};

#define DEVICE_TARGETS_MAX 64
/* device_target_reckon - answers how many there are */
size_t device_target_reckon(const struct bench_results *results,
			    const struct device_request *request,
			    struct device_target targets[DEVICE_TARGETS_MAX]);
bool device_target_is_met(const struct device_target *target);

#endif
