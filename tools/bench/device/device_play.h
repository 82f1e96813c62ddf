/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_play.h - runs a plan of `mam bench device`: a worker process, which uses the device, and
 * the watching process, which has the results.
 *
 * If a kernel does not return, or corrupts memory, the device is lost for the worker's process; the
 * next worker continues after that cell. The worker writes its messages into a pipe, one per line,
 * with tabs between fields:
 *   B pair                                   it begins this pair: a cell and an allocator
 *   R workload allocator parameter metric value
 *   N sentence                               a note
 *   G gpu driver                             once, before the first pair
 *   T sentence                               the device is lost, in the pair begun last
 *   X sentence                               there is no device that it could use
 *   L                                        the deadline has passed; the rest is skipped
 *   Z                                        all pairs are done
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_PLAY_H
#define MAM_TOOLS_BENCH_DEVICE_PLAY_H

#include "device_bench.h"
#include "device_job.h"
#include "kit/args.h"

struct device_effort {
	const char *name;
	unsigned int repeats, warm;
	unsigned int slow_repeats; /* maximum for slow allocators */
	uint64_t deadline_ns;
	uint32_t MAX_ASKERS; /* limit for a cell to be run */
	uint64_t heap_max;   /* limit of a heap's bytes, whatever the cell specifies */
	bool fine;
};

struct device_request;
struct device_heard;

/*
 * A separate bench with the same way of running and output: `mam bench device` is one, `mam bench
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
	/* plan - add all cells of all works */
	void (*plan)(struct device_plan *plan);
	/* takes_part - return true if this cell suits this allocator */
	bool (*takes_part)(const struct device_allocator *allocator,
			   const struct device_cell *cell);
	/* places - number of elements that a cell needs in the run's arrays; NULL: one per asker */
	uint64_t (*places)(const struct device_cell *cell);
	/* shrink - reduce a cell that is too large for a smoke run; NULL: none is */
	void (*shrink)(struct device_cell *cell, uint32_t MAX_ASKERS);
	/*
	 * beside - run measurements outside the worker; returns true if there were any. NULL: there
	 * are none
	 */
	bool (*beside)(const struct device_request *request, struct device_heard *heard);
	/* complete - add rows that accompany the measured ones; NULL: there are none */
	void (*complete)(struct bench_results *results);
	void (*show_people)(const struct bench_results *results,
			    const struct bench_machine *machine,
			    const struct device_request *request);
	void (*show_keys)(const struct bench_results *results,
			  const struct device_request *request);
};

#define DEVICE_WORKS_MAX 24
_Static_assert(DEVICE_WORKS <= DEVICE_WORKS_MAX, "all works of mam bench device");

struct device_request {
	const struct device_suite *suite;
	struct device_effort effort;
	struct device_allocator allocators[DEVICE_ALLOCATORS_MAX];
	size_t allocator_count;
	bool usable[DEVICE_ALLOCATORS_MAX]; /* requested, and not given up */
	bool wanted[DEVICE_WORKS_MAX];
	bool verbose;
	const char *platform, *device; /* OpenCL's; NULL: not specified */
};

/* device_plan_make - add all cells of all works */
void device_plan_make(struct device_plan *plan);
/* device_plan_takes_part - return true if this cell suits this allocator */
bool device_plan_takes_part(const struct device_allocator *allocator,
			    const struct device_cell *cell);
/* device_plan_shrink - see struct device_suite */
void device_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS);
/* device_plan_places - see struct device_suite; those of objects that fill a heap, too */
uint64_t device_plan_places(const struct device_cell *cell);
bool device_plan_is_wanted(const struct device_request *request, const struct device_cell *cell);

/* device_worker - run all pairs starting at `first`, write to `out`, and never return */
void device_worker(const struct device_request *request, const struct device_plan *plan,
		   size_t first, uint64_t deadline, int out) __attribute__((noreturn));

/* Data that the watching process has received. */
struct device_heard {
	struct bench_results *results;
	struct bench_machine *machine;
	char **names; /* strings that rows point to */
	size_t name_count;
	bool late;
	bool stopped;      /* by a signal */
	char refusal[240]; /* why nothing can be measured here; "" */
};

/*
 * device_watch - run the plan by workers. Returns false if nothing could be measured, see refusal.
 */
bool device_watch(struct device_request *request, const struct device_plan *plan,
		  struct device_heard *heard);
void device_heard_fini(struct device_heard *heard);
/* device_heard_name - make a copy that lives as long as `heard`; "" if memory ran out */
const char *device_heard_name(struct device_heard *heard, const char *text);

/* ---- works: device_malloc.c ---- */

bool device_play_malloc(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell);
bool device_play_shapes(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell);
bool device_play_w5(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);

/* ---- the command line: device_suite.c ---- */

/* Options of suites that also use OpenCL; those only for OpenCL are first. */
extern const struct args_option device_suite_options_opencl[];
#define device_suite_options (device_suite_options_opencl + 2)
/* device_suite_main - run a suite as the command line specifies; returns an exit status */
int device_suite_main(const struct device_suite *suite, int argc, char **argv);

/* ---- output: device_show.c, device_target.c ---- */

void device_show_people(const struct bench_results *results, const struct bench_machine *machine,
			const struct device_request *request);
void device_show_keys(const struct bench_results *results, const struct device_request *request);

/* The group that a number is compared with; device_target.c explains the three groups of others. */
enum device_group {
	DEVICE_GROUP_OURS,
	DEVICE_GROUP_GENERAL,
	DEVICE_GROUP_PAGES,
	DEVICE_GROUP_CEILING,
};

/* device_target_group - an allocator that is not in the list serves any size */
enum device_group device_target_group(const struct device_request *request, const char *name);
/* device_target_best - return the best of a group, in a cell; NULL if none was measured */
const char *device_target_best(const struct bench_results *results,
			       const struct device_request *request, enum device_group group,
			       const char *workload, const char *parameter, const char *metric,
			       bool at_most, double *value);

/* A promised number for a GPU of the H100's class. */
struct device_target {
	char key[32], label[48];
	const char *unit;
	double bound;
	bool at_most;       /* otherwise at least */
	double value, best; /* ours; the best that serves any size, 0: none was measured */
	char best_name[24];
	bool known;
};

/*
 * device_target_faults - count the errors that the checks found in ours, and its lost cells: the
 * target is 0
 */
void device_target_faults(const struct bench_results *results, const struct device_request *request,
			  struct device_target *target);

#define DEVICE_TARGETS_MAX 64
/* device_target_compute - compute the targets; returns their number */
size_t device_target_compute(const struct bench_results *results,
			     const struct device_request *request,
			     struct device_target targets[DEVICE_TARGETS_MAX]);
bool device_target_is_met(const struct device_target *target);

/* device_show_head - print the machine, notes, and the time of an empty kernel */
void device_show_head(const struct bench_results *results, const struct bench_machine *machine,
		      const struct device_request *request);
/*
 * device_show_columns - list the allocators with rows of a workload, in their order; then names
 * outside the list
 */
#define DEVICE_COLUMNS_MAX 24
size_t device_show_columns(const struct bench_results *results,
			   const struct device_request *request, const char *workload,
			   const char *names[DEVICE_COLUMNS_MAX]);
/*
 * device_show_cell - print a number, or a dash without one; `may_fail`: failed requests are not an
 * error
 */
void device_show_cell(const struct bench_results *results, const char *workload, const char *name,
		      const char *parameter, const char *metric, bool may_fail);
bool device_show_has(const struct bench_results *results, const char *workload, const char *metric);

/* One number of a workload: one line per cell, one column per allocator with rows. */
struct device_table {
	const char *workload, *metric, *title;
};
/* device_show_table - print it if it has rows; `width` is that of the cells' names */
void device_show_table(const struct bench_results *results, const struct device_request *request,
		       const struct device_table *table, int width);
/* device_show_targets - for users; and for scripts */
void device_show_targets(const struct device_target *targets, size_t count);
void device_show_target_keys(const struct device_target *targets, size_t count);

#endif
