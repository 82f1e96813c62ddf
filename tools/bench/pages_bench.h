/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_bench.h - what the parts of `mam bench pages` share.
 *
 * Words, beside those of bench.h:
 *   ground  a heap of so many pages of which a share is free, at random places
 *   cell    what is asked on a ground: how many askers, how many of each warp, how much
 *   books   how an allocator keeps which pages are taken, as far as the checks look at it
 */
#ifndef MAM_TOOLS_BENCH_PAGES_BENCH_H
#define MAM_TOOLS_BENCH_PAGES_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"

#define PAGES_BYTES 256 /* of a page */
#define PAGES_CELLS_MAX 192
#define PAGES_PARAMETER_BYTES 40
#define PAGES_REPEATS_MAX 101
#define PAGES_SEEDS_MAX 64

/* ---- allocators: pages_allocators.c ---- */

/* What has no steps comes last. */
enum pages_role { PAGES_OURS, PAGES_PUBLISHED, PAGES_PROXY, PAGES_CEILING, PAGES_SYSTEM };
enum pages_books {
	PAGES_BITS,    /* a bit a page, 1 = taken */
	PAGES_PAIRS,   /* the same for 32 pages, then 32 bits that are 0 at rest */
	PAGES_FLAGS,   /* a word of 32 bits a page, not 0 = taken */
	PAGES_QUEUE,   /* free pages stand in a row: a page is taken by taking it */
	PAGES_COUNTER, /* none: nothing can be given back */
	PAGES_ADDRESS, /* CUDA's own: addresses, of a heap that cannot be looked into */
};

struct pages_allocator {
	const char *name;   /* in rows and tables */
	const char *kernel; /* its kernels are get_KERNEL, ... */
	enum pages_role role;
	enum pages_books books;
	bool one;                          /* it serves requests for one page */
	bool runs;                         /* it serves requests for several */
	uint64_t books_at;                 /* where in its memory the books begin */
	uint64_t (*bytes)(uint32_t pages); /* all of it, in device memory */
	void (*format)(void *heap,
		       uint32_t pages); /* on the host, in zeroed memory: all are free */
};

extern const struct pages_allocator pages_allocators[];
extern const size_t pages_allocator_count;

/* pages_allocator_find - NULL: there is none */
const struct pages_allocator *pages_allocator_find(const char *name);

/* ---- what is asked: pages_plan.c ---- */

enum pages_work { PAGES_GET, PAGES_LANES, PAGES_MALLOC, PAGES_USE, PAGES_WORKS };

extern const char *const pages_work_names[PAGES_WORKS]; /* "get", ... */

struct pages_ground {
	uint32_t pages;
	uint32_t free_tenths; /* of a per cent: 1000 is all */
	uint32_t group;       /* so many free pages lie together */
};

struct pages_cell {
	char parameter[PAGES_PARAMETER_BYTES];
	enum pages_work work;
	struct pages_ground ground;
	uint32_t askers, lanes;
	uint32_t least, most; /* bytes */
	bool at_once;         /* what was got is given back by the same kernel */
	bool fine;            /* not in a quick run */
};

struct pages_plan {
	struct pages_cell cells[PAGES_CELLS_MAX]; /* those of one ground together */
	size_t count;
};

void pages_plan_make(struct pages_plan *plan, uint32_t pages);
/* pages_plan_add - names it; a cell that asks for more than its ground has is left out */
void pages_plan_add(struct pages_plan *plan, struct pages_cell cell);
/* pages_plan_free - how many pages of a ground are free */
uint32_t pages_plan_free(const struct pages_ground *ground);
/* pages_plan_number - 1024 is 1K, 1048576 is 1M */
const char *pages_plan_number(uint32_t number, char *text, size_t bytes);
/* pages_plan_takes_part - does it make sense to ask this allocator for that? */
bool pages_plan_takes_part(const struct pages_allocator *allocator, const struct pages_cell *cell);

/* ---- doing it: pages_run.c, pages_heap.c, pages_system.c ---- */

struct pages_effort {
	const char *name;
	unsigned int repeats;
	uint64_t deadline_ns;
	uint32_t askers_most; /* of cells that are played */
	bool fine;
	/* Steps are the means of passes with walks of their own, until so many askers walked or there
	 * were PAGES_SEEDS_MAX; 0: of one pass. */
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
 * pages_run_all - numbers go to `results` as rows of workload "pages-get" and so on; `now` says at
 * any time what is being done. Both change under the watch's lock (watch.h). False: the device
 * failed or hung; what was measured before is there, and a note says what happened.
 */
bool pages_run_all(const struct pages_plan *plan, const struct pages_request *request,
		   struct bench_results *results, char *now, size_t now_bytes);

/* Memory of a run, and one allocator's heap on a ground. */
struct pages_heap {
	const struct pages_allocator *allocator;
	struct pages_ground ground;
	void *heap, *image;
	uint64_t bytes;
	uint64_t taken; /* pages that the books of the image hold for taken */
};

struct pages_room {
	uint32_t *got, *steps, *shadow;
	uint64_t *blocks;
	unsigned char *pages; /* themselves */
	struct pages_found *found;
	uint32_t stride, page_count, asker_count;
	uint32_t *steps_here; /* the host's copy */
	uint64_t *blocks_here;
};

struct pages_job;
struct pages_found;

/* What an untimed pass found out. */
struct pages_verdict {
	uint64_t none;  /* askers that got nothing */
	uint64_t wrong; /* what must not be, counted */
	char why[96];   /* the first of it */
	double tas, was;
	double tas_error, was_error; /* standard errors; 0: not known */
};

/* NULL, or one sentence: why not. */
const char *pages_room_init(struct pages_room *room, const struct pages_plan *plan,
			    const struct pages_request *request);
void pages_room_fini(struct pages_room *room);
const char *pages_heap_init(struct pages_heap *heap, const struct pages_allocator *allocator,
			    const struct pages_ground *ground, struct pages_room *room);
void pages_heap_fini(struct pages_heap *heap);
bool pages_heap_restore(const struct pages_heap *heap);
/* pages_heap_ask - a job of this cell */
void pages_heap_ask(const struct pages_heap *heap, const struct pages_room *room,
		    const struct pages_cell *cell, struct pages_job *job);
/* pages_heap_launch - kernel PREFIX_NAME; us NULL: not timed */
bool pages_heap_launch(const struct pages_heap *heap, const char *prefix,
		       const struct pages_job *job, double *us);
/* pages_heap_check - the untimed passes, of which `walks` say when there were enough; false: the
 * device failed */
bool pages_heap_check(const struct pages_heap *heap, struct pages_room *room,
		      const struct pages_cell *cell, uint32_t walks,
		      struct pages_verdict *verdict);
/* pages_heap_use - which share of the heap's bytes is in use when 1% of requests fail */
bool pages_heap_use(const struct pages_heap *heap, struct pages_room *room,
		    const struct pages_cell *cell, struct pages_verdict *verdict, double *ratio);

/* The same for CUDA's own malloc. */
bool pages_system_check(const struct pages_heap *heap, struct pages_room *room,
			const struct pages_cell *cell, struct pages_verdict *verdict);
/* pages_system_overlaps - how many of the askers' blocks reach into another; false: no memory */
bool pages_system_overlaps(const uint64_t *blocks, const struct pages_job *job, uint64_t *overlaps);

/* ---- showing it: pages_formula.c, pages_show.c, pages_target.c ---- */

/* pages_formula_add - rows of what the paper expects, for the cells that have rows */
void pages_formula_add(struct bench_results *results, const struct pages_plan *plan);

void pages_show_people(const struct bench_results *results, const struct bench_machine *machine,
		       const struct pages_plan *plan, const char *effort);
void pages_show_keys(const struct bench_results *results, const struct pages_plan *plan);

/* What was promised of a GPU of the H100's class. */
struct pages_target {
	const char *key, *label, *unit;
	double bound;
	bool at_most; /* else at least */
	double value;
	bool known;
};

#define PAGES_TARGETS_MAX 12
/* pages_target_reckon - answers how many there are */
size_t pages_target_reckon(const struct bench_results *results, const struct pages_plan *plan,
			   struct pages_target targets[PAGES_TARGETS_MAX]);
/* pages_target_best - the fastest published one of a cell; NULL: none was measured */
const char *pages_target_best(const struct bench_results *results, const char *workload,
			      const char *parameter, double *us);
const char *pages_target_ceiling(const struct bench_results *results, const char *workload,
				 const char *parameter, double *us);

/* ---- the end: pages_told.c ---- */

/* pages_tell_rest - behind the tables: what went wrong, and the files, NULL: not asked for. An exit
 * status */
int pages_tell_rest(const struct bench_results *results, const struct bench_machine *machine,
		    bool faults, const char *typed, const char *csv, const char *plot);

/* mam bench pages */
int pages_main(int argc, char **argv);

#endif
