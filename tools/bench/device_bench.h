/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bench.h - what the parts of `mam bench device` share.
 *
 * Words, beside those of bench.h:
 *   object   what a kernel's malloc answers
 *   heap     an allocator's, made anew for each cell
 *   ground   the memory that a heap's objects lie in
 *   cell     what is asked of a heap: how many askers, how many of each warp, how much
 *   work     a kind of cell: "w1", ...
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_BENCH_H
#define MAM_TOOLS_BENCH_DEVICE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "gpu.h"

#define DEVICE_CELLS_MAX 256
#define DEVICE_PARAMETER_BYTES 40
#define DEVICE_REPEATS_MAX 101
#define DEVICE_LONG_US 250000 /* a kernel that takes longer is timed once */
#define DEVICE_ALLOCATORS_MAX 24 /* with those of --adapter */

/* ---- allocators: device_allocators.c ---- */

enum device_role { DEVICE_OURS, DEVICE_PUBLISHED, DEVICE_SYSTEM, DEVICE_CEILING, DEVICE_ADDED };

struct device_heap;

struct device_allocator {
	const char *name; /* in rows and tables */
	enum device_role role;
	const unsigned char *module; /* the fat binary with its kernels; NULL: none in this build */
	bool one_size;               /* a heap serves objects of one size, which make is told */
	bool frees;                  /* else what it hands out is gone until it is reset */
	bool slow;                   /* a thousand times: fewer repeats, no cells of a million */
	/*
	 * make - a heap that takes `bytes` of device memory in all, for objects of `object_bytes`
	 * (0: of mixed sizes). Fills in the heap but for `allocator` and `module`. NULL, or
	 * one sentence: why not. No function: another program asks it, not the worker.
	 */
	const char *(*make)(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes);
	/* end - gives all of it back to the device */
	void (*end)(struct device_heap *heap);
	/* reset - all objects are gone; false: the device failed. NULL: there is no such thing */
	bool (*reset)(struct device_heap *heap);
};

struct device_heap {
	const struct device_allocator *allocator;
	void *module;          /* loaded */
	void *heap;            /* what kernels are told */
	uint64_t ground_bytes; /* of device memory that it really took, books and all */
	uint64_t low, high;    /* addresses that objects may have; 0 and 0: not known */
	struct bench_gpu_dims grid, block; /* of device_launch(); block.x 0: as it says there */
	void *own[4];          /* of make and end */
	uint64_t own_numbers[4];
};

extern const struct device_allocator device_allocators[];
extern const size_t device_allocator_count;

/* ---- what is asked: device_plan.c, and device_more.c for its works ---- */

enum device_work_kind {
	DEVICE_W1,       /* malloc by one kernel, free by a later one */
	DEVICE_W2,       /* the same, sizes mixed */
	DEVICE_W3,       /* the same, one asking lane a warp */
	DEVICE_W4,       /* malloc, write, free in one kernel */
	DEVICE_W5,       /* malloc in a heap that is nearly full */
	DEVICE_W6,       /* how much of a heap is in use when it fails */
	DEVICE_W7,       /* one warp: cycles */
	DEVICE_SCALE,    /* as W1, from one thread up */
	DEVICE_FRAGMENT, /* address range after rounds of churn */
	DEVICE_REGISTERS,
	DEVICE_START,    /* to make a heap, and the first kernel on it */
	DEVICE_GRAPH,    /* growing adjacency lists */
	DEVICE_GENERATE, /* work is generated: malloc and write of mixed sizes */
	DEVICE_SHAPES,   /* as W1, in blocks and grids of two and three dimensions */
	DEVICE_WORKS,
};

struct device_cell {
	char parameter[DEVICE_PARAMETER_BYTES];
	unsigned int work; /* of the suite's: an enum device_work_kind of `mam bench device` */
	uint64_t heap_bytes;
	uint32_t askers, lanes; /* lanes of each warp that ask */
	uint32_t least, most;   /* bytes */
	uint32_t rounds;        /* within a kernel, or of kernels */
	uint32_t share;         /* per mille */
	uint32_t buffers;       /* a class, of what has them */
	uint32_t filled;        /* blocks that are taken before */
	struct bench_gpu_dims grid, block; /* of DEVICE_SHAPES: an asker is a thread */
	bool fine;              /* not in a quick run */
};

struct device_plan {
	struct device_cell cells[DEVICE_CELLS_MAX];
	size_t count;
};

/* A run: what every work's functions are told. */
struct device_run;

struct device_work {
	const char *name;  /* for --only: "w1" */
	const char *title; /* of its table */
	/* plan - adds its cells, by device_plan_add() */
	void (*plan)(struct device_plan *plan);
	/* play - one cell on a heap just made. False: the device failed, bench_gpu_trouble() says
	 * how. The heap is ended by the caller. */
	bool (*play)(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell);
};

extern const struct device_work device_works[DEVICE_WORKS];

/* device_plan_add - the parameter is printed as format says; "64B 1M" */
void device_plan_add(struct device_plan *plan, struct device_cell cell, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* device_plan_number - 1024 is 1K, 1048576 is 1M */
const char *device_plan_number(uint64_t number, char *text, size_t bytes);

/* Those of device_more.c; a cell of these is played by the function beside it. */
void device_plan_w4(struct device_plan *plan);
void device_plan_w6(struct device_plan *plan);
void device_plan_w7(struct device_plan *plan);
void device_plan_fragment(struct device_plan *plan);
void device_plan_registers(struct device_plan *plan);
void device_plan_start(struct device_plan *plan);
void device_plan_graph(struct device_plan *plan);
void device_plan_generate(struct device_plan *plan);
bool device_play_w4(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);
bool device_play_w6(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);
bool device_play_w7(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell);
bool device_play_fragment(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell);
bool device_play_registers(struct device_run *run, struct device_heap *heap,
			   const struct device_cell *cell);
bool device_play_start(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell);
bool device_play_graph(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell);
bool device_play_generate(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell);

/* ---- doing it: device_run.c ---- */

struct device_job;
struct device_found;

struct device_run {
	unsigned int repeats; /* of what is timed; the median is told */
	unsigned int warm;    /* rounds before, that are not told */
	/* Device memory of the run's own, for as many askers as the largest cell of the plan. */
	uint64_t *got, *more;
	uint32_t *numbers;
	struct device_found *found;
	uint32_t askers_max;
	/* What the rest is, device_run.c knows. */
	struct device_play *play;
};

/* device_row - a number: "device-w1", the heap's allocator, the cell's parameter, metric */
void device_row(struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, const char *metric, double value);
/* device_note - one sentence about this cell */
void device_note(struct device_run *run, const struct device_heap *heap,
		 const struct device_cell *cell, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* device_ask - a job of this cell: its askers, lanes, sizes, rounds, and the run's arrays */
void device_ask(const struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, struct device_job *job);
/* device_launch - a kernel of the heap's module, in the heap's grid and blocks, or with as many warps
 * as the job's askers need, in blocks of DEVICE_BLOCK; us NULL: not timed */
bool device_launch(const struct device_heap *heap, const char *kernel, const struct device_job *job,
		   double *us);
/* device_launch_as - the same with so many blocks of so many threads */
bool device_launch_as(const struct device_heap *heap, const char *kernel, unsigned int blocks,
		      unsigned int threads, const struct device_job *job, double *us);

/* What an untimed pass found out. */
struct device_verdict {
	uint64_t none;  /* askers that got nothing */
	uint64_t wrong; /* what must not be, counted */
	char why[96];   /* the first of it */
};

/* device_count - found is zeroed before a kernel that counts, and fetched behind it */
bool device_count_begin(const struct device_run *run);
bool device_count_end(const struct device_run *run, struct device_found *found);
/*
 * device_look - checks what is in job->got now: bounds, overlap, alignment, and that what each
 * owner writes stays. Adds to the verdict. False: the device failed.
 */
bool device_look(struct device_run *run, struct device_heap *heap, const struct device_job *job,
		 struct device_verdict *verdict);

/* mam bench device */
int device_main(int argc, char **argv);

#endif
