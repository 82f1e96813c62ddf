/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_bench.h - interface between the parts of `mam bench pages`.
 *
 * Terms, in addition to those of bench.h:
 *   initial state  (struct pages_space) a heap's number of pages, and the share of them that is free,
 *                  at random places
 *   cell           a load on an initial state: the number of askers, how many per warp, the sizes
 *   metadata       an allocator's record of used pages, as far as the checks read it
 */
#ifndef MAM_TOOLS_BENCH_PAGES_BENCH_H
#define MAM_TOOLS_BENCH_PAGES_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/bench.h"

#define PAGES_BYTES 256 /* of a page */
#define PAGES_CELLS_MAX 192
#define PAGES_PARAMETER_BYTES 40
#define PAGES_REPEATS_MAX 101
#define PAGES_SEEDS_MAX 64

/* ---- allocators: pages_allocators.c ---- */

/* Allocators without steps come last. */
enum pages_role { PAGES_OURS, PAGES_PUBLISHED, PAGES_PROXY, PAGES_CEILING, PAGES_SYSTEM };
enum pages_metadata {
	PAGES_BITS,    /* one bit per page, 1 = used */
	PAGES_PAIRS,   /* the same for 32 pages, then 32 bits that are 0 between calls */
	PAGES_FLAGS,   /* one 32-bit word per page, not 0 = used */
	PAGES_QUEUE,   /* a queue of free pages: a page is allocated by removing it */
	PAGES_COUNTER, /* none: pages cannot be freed */
	PAGES_ADDRESS, /* CUDA's own: addresses, in a heap that cannot be inspected */
};

struct pages_allocator {
	const char *name;   /* in rows and tables */
	const char *kernel; /* its kernels are get_KERNEL, ... */
	enum pages_role role;
	enum pages_metadata metadata;
	bool one;                          /* it serves requests for one page */
	bool runs;                         /* it serves requests for several */
	uint64_t metadata_at;              /* offset of the metadata in its memory */
	uint64_t (*bytes)(uint32_t pages); /* its total size, in device memory */
	void (*format)(void *heap,
		       uint32_t pages); /* on the host, in zeroed memory: all pages are free */
};

extern const struct pages_allocator pages_allocators[];
extern const size_t pages_allocator_count;

/* pages_allocator_find - return NULL if it does not exist */
const struct pages_allocator *pages_allocator_find(const char *name);

/* ---- the cells: pages_plan.c ---- */

enum pages_work { PAGES_GET, PAGES_LANES, PAGES_MALLOC, PAGES_USE, PAGES_WORKS };

extern const char *const pages_work_names[PAGES_WORKS]; /* "get", ... */

struct pages_space {
	uint32_t pages;
	uint32_t free_tenths; /* of a percent: 1000 is all */
	uint32_t group;       /* free pages are in contiguous groups of this size */
};

struct pages_cell {
	char parameter[PAGES_PARAMETER_BYTES];
	enum pages_work work;
	struct pages_space space;
	uint32_t askers, lanes;
	uint32_t min, max; /* bytes */
	bool at_once;      /* the same kernel frees what it allocated */
	bool fine;         /* not in a quick run */
};

struct pages_plan {
	struct pages_cell cells[PAGES_CELLS_MAX]; /* cells of one initial state are adjacent */
	size_t count;
};

void pages_plan_make(struct pages_plan *plan, uint32_t pages);
/* pages_plan_add - name and add a cell, unless it requests more than its initial state has */
void pages_plan_add(struct pages_plan *plan, struct pages_cell cell);
/* pages_plan_free - return the number of free pages of an initial state */
uint32_t pages_plan_free(const struct pages_space *space);
/* pages_plan_number - 1024 is 1K, 1048576 is 1M */
const char *pages_plan_number(uint32_t number, char *text, size_t bytes);
/* pages_plan_takes_part - return true if this cell suits this allocator */
bool pages_plan_takes_part(const struct pages_allocator *allocator, const struct pages_cell *cell);

/* ---- running them: pages_run.c, pages_heap.c, pages_system.c ---- */

struct pages_effort {
	const char *name;
	unsigned int repeats;
	uint64_t deadline_ns;
	uint32_t MAX_ASKERS; /* limit for a cell to be run */
	bool fine;
	/*
	 * Steps are the means of passes with different random searches, repeated until this many
	 * askers have searched or there were PAGES_SEEDS_MAX passes; 0: of one pass.
	 */
	uint32_t walks;
};

/* Workloads of rows. */
struct pages_names {
	const char *works[PAGES_WORKS], *frees, *launches;
};

struct pages_request {
	struct pages_effort effort;
	bool wanted[PAGES_WORKS];
	bool (*usable)(const struct pages_allocator *allocator, void *user);
	void *user;
	bool verbose;
	const struct pages_names *names; /* NULL: those of mam bench pages */
};

/*
 * pages_run_all - numbers go to `results` as rows of workload "pages-get" and so on; `now` always
 * describes the current activity. Both change under the watch's lock (watch.h). Returns false if
 * the device failed or hung: earlier measurements are kept, and a note has the error.
 */
bool pages_run_all(const struct pages_plan *plan, const struct pages_request *request,
		   struct bench_results *results, char *now, size_t now_bytes);

/* Memory of a run, and one allocator's heap in an initial state. */
struct pages_heap {
	const struct pages_allocator *allocator;
	struct pages_space space;
	void *heap, *image;
	uint64_t bytes;
	uint64_t taken; /* pages that are used according to the image's metadata */
};

struct pages_room {
	uint32_t *got, *steps, *shadow;
	uint64_t *blocks;
	unsigned char *pages; /* the pages themselves */
	struct pages_found *found;
	uint32_t stride, page_count, asker_count;
	uint32_t *steps_here; /* the host's copy */
	uint64_t *blocks_here;
};

struct pages_job;
struct pages_found;

/* Results of an untimed pass. */
struct pages_verdict {
	uint64_t none;  /* askers whose request failed */
	uint64_t wrong; /* number of errors */
	char why[96];   /* the first error */
	double tas, was;
	double tas_error, was_error; /* standard errors; 0: unknown */
};

/* Returns NULL, or one sentence with the reason of the failure. */
const char *pages_room_init(struct pages_room *room, const struct pages_plan *plan,
			    const struct pages_request *request);
void pages_room_fini(struct pages_room *room);
const char *pages_heap_init(struct pages_heap *heap, const struct pages_allocator *allocator,
			    const struct pages_space *space, struct pages_room *room);
void pages_heap_fini(struct pages_heap *heap);
bool pages_heap_restore(const struct pages_heap *heap);
/* pages_heap_ask - make a job of this cell */
void pages_heap_ask(const struct pages_heap *heap, const struct pages_room *room,
		    const struct pages_cell *cell, struct pages_job *job);
/* pages_heap_launch - launch kernel PREFIX_NAME; us NULL: untimed */
bool pages_heap_launch(const struct pages_heap *heap, const char *prefix,
		       const struct pages_job *job, double *us);
/*
 * pages_heap_check - run the untimed passes until `walks` askers have searched; returns false if
 * the device failed
 */
bool pages_heap_check(const struct pages_heap *heap, struct pages_room *room,
		      const struct pages_cell *cell, uint32_t walks, struct pages_verdict *verdict);
/* pages_heap_use - the share of the heap's bytes that is in use when 1% of requests fail */
bool pages_heap_use(const struct pages_heap *heap, struct pages_room *room,
		    const struct pages_cell *cell, struct pages_verdict *verdict, double *ratio);

/* The same for CUDA's own malloc. */
bool pages_system_check(const struct pages_heap *heap, struct pages_room *room,
			const struct pages_cell *cell, struct pages_verdict *verdict);
/*
 * pages_system_overlaps - count the askers' blocks that overlap another; returns false if memory
 * ran out
 */
bool pages_system_overlaps(const uint64_t *blocks, const struct pages_job *job, uint64_t *overlaps);

/* ---- output: pages_formula.c, pages_show.c, pages_target.c ---- */

/* pages_formula_add - add rows of the paper's expected values, for the cells that have rows */
void pages_formula_add(struct bench_results *results, const struct pages_plan *plan);

void pages_show_people(const struct bench_results *results, const struct bench_machine *machine,
		       const struct pages_plan *plan, const char *effort);
void pages_show_keys(const struct bench_results *results, const struct pages_plan *plan);

/* A promised number for a GPU of the H100's class. */
struct pages_target {
	const char *key, *label, *unit;
	double bound;
	bool at_most; /* otherwise at least */
	double value;
	bool known;
};

#define PAGES_TARGETS_MAX 12
/* pages_target_compute - compute the targets; returns their number */
size_t pages_target_compute(const struct bench_results *results, const struct pages_plan *plan,
			    struct pages_target targets[PAGES_TARGETS_MAX]);
/* pages_target_best - return the fastest published one of a cell; NULL if none was measured */
const char *pages_target_best(const struct bench_results *results, const char *workload,
			      const char *parameter, double *us);
const char *pages_target_ceiling(const struct bench_results *results, const char *workload,
				 const char *parameter, double *us);

/* ---- the end: pages_told.c ---- */

/*
 * pages_report_rest - after the tables: report errors and write the requested files (NULL: none).
 * Returns an exit status
 */
int pages_report_rest(const struct bench_results *results, const struct bench_machine *machine,
		      bool faults, const char *typed, const char *csv, const char *plot);

/* mam bench pages */
int pages_main(int argc, char **argv);

#endif
