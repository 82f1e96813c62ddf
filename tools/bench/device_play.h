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
#include "kit/args.h"

struct device_effort {
	const char *name;
	unsigned int repeats, warm;
	unsigned int slow_repeats; /* of those that are slow, at most */
	uint64_t deadline_ns;
	uint32_t askers_most; /* of cells that are played */
	uint64_t heap_most;   /* bytes of a heap, whatever the cell says */
	bool fine;
};

struct device_request;
struct device_heard;

/*
 * A bench of its own that is played and told as this one is: `mam bench device` is one, `mam bench
 * xmalloc` another.
 */
struct device_suite {
	const struct args_command *command;
	const char *prefix;                  /* of the rows' workloads: "device" */
	const struct device_effort *efforts; /* full, quick, smoke */
	const struct device_allocator *allocators;
	const size_t *allocator_count;
	const struct device_work *works;
	size_t work_count;    /* at most DEVICE_WORKS_MAX */
	uint64_t system_heap; /* bytes of CUDA's own */
	/* plan - all cells of all works */
	void (*plan)(struct device_plan *plan);
	/* takes_part - does it make sense to ask this allocator for that? */
	bool (*takes_part)(const struct device_allocator *allocator,
			   const struct device_cell *cell);
	/* places - that a cell needs in the run's arrays; NULL: one for each asker */
	uint64_t (*places)(const struct device_cell *cell);
	/* shrink - where a cell would else be too large for a smoke run; NULL: none is */
	void (*shrink)(struct device_cell *cell, uint32_t askers_most);
	/* beside - what is measured by others than the worker; true: something was. NULL: nobody */
	bool (*beside)(const struct device_request *request, struct device_heard *heard);
	/* complete - rows of what was not measured but goes with what was; NULL: there are none */
	void (*complete)(struct bench_results *results);
	void (*show_people)(const struct bench_results *results,
			    const struct bench_machine *machine,
			    const struct device_request *request);
	void (*show_keys)(const struct bench_results *results,
			  const struct device_request *request);
};

#define DEVICE_WORKS_MAX 16
_Static_assert(DEVICE_WORKS <= DEVICE_WORKS_MAX, "all works of mam bench device");

struct device_request {
	const struct device_suite *suite;
	struct device_effort effort;
	struct device_allocator allocators[DEVICE_ALLOCATORS_MAX];
	size_t allocator_count;
	bool usable[DEVICE_ALLOCATORS_MAX]; /* asked for, and not given up */
	bool wanted[DEVICE_WORKS_MAX];
	bool verbose;
	const char *platform, *device; /* OpenCL's; NULL: not said */
};

/* device_plan_make - all cells of all works */
void device_plan_make(struct device_plan *plan);
/* device_plan_takes_part - does it make sense to ask this allocator for that? */
bool device_plan_takes_part(const struct device_allocator *allocator,
			    const struct device_cell *cell);
/* device_plan_shrink - see struct device_suite */
void device_plan_shrink(struct device_cell *cell, uint32_t askers_most);
/* device_plan_places - see struct device_suite; W5's objects beside those of its askers */
uint64_t device_plan_places(const struct device_cell *cell);
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
bool device_play_shapes(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell);
bool device_play_w5(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);

/* ---- the command line: device_suite.c ---- */

/* Of those that ask OpenCL, too; what is OpenCL's alone is first. */
extern const struct args_option device_suite_options_opencl[];
#define device_suite_options (device_suite_options_opencl + 2)
/* device_suite_main - plays a suite as the command line says; an exit status */
int device_suite_main(const struct device_suite *suite, int argc, char **argv);

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

/* device_target_faults - what the checks found of ours, and its cells that were lost: none is the target */
void device_target_faults(const struct bench_results *results, const struct device_request *request,
			  struct device_target *target);

#define DEVICE_TARGETS_MAX 64
/* device_target_reckon - answers how many there are */
size_t device_target_reckon(const struct bench_results *results,
			    const struct device_request *request,
			    struct device_target targets[DEVICE_TARGETS_MAX]);
bool device_target_is_met(const struct device_target *target);

/* device_show_head - what it was measured on, notes, what an empty kernel takes */
void device_show_head(const struct bench_results *results, const struct bench_machine *machine,
		      const struct device_request *request);
/* device_show_columns - who has rows of a workload, in the order of allocators; then who is not of
 * them */
#define DEVICE_COLUMNS_MAX 24
size_t device_show_columns(const struct bench_results *results,
			   const struct device_request *request, const char *workload,
			   const char *names[DEVICE_COLUMNS_MAX]);
/* device_show_cell - a number, or what stands in its place; `may_fail`: it is no fault that somebody
 * got nothing */
void device_show_cell(const struct bench_results *results, const char *workload, const char *name,
		      const char *parameter, const char *metric, bool may_fail);
bool device_show_has(const struct bench_results *results, const char *workload, const char *metric);

/* One number of a workload: a line for each cell, a column for each who has rows. */
struct device_table {
	const char *workload, *metric, *title;
};
/* device_show_table - nothing where nobody has any; `width` is of the cells' names */
void device_show_table(const struct bench_results *results, const struct device_request *request,
		       const struct device_table *table, int width);
/* device_show_targets - for people; and for scripts */
void device_show_targets(const struct device_target *targets, size_t count);
void device_show_target_keys(const struct device_target *targets, size_t count);

#endif
