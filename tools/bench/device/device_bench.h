/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bench.h - interface between the parts of `mam bench device`.
 *
 * Terms, in addition to those of bench.h:
 *   object   a pointer that a kernel's malloc returned
 *   heap     an allocator's, made anew for each cell
 *   cell     a load on a heap: the number of askers, how many per warp, the sizes
 *   work     a kind of cell: "w1", ...
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_BENCH_H
#define MAM_TOOLS_BENCH_DEVICE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/bench.h"
#include "bench/harness/gpu.h"

#define DEVICE_CELLS_MAX 256
#define DEVICE_PARAMETER_BYTES 40
#define DEVICE_REPEATS_MAX 101
#define DEVICE_LONG_US 250000    /* a kernel that takes longer is timed once */
#define DEVICE_ALLOCATORS_MAX 24 /* including those of --adapter */

/* ---- allocators: device_allocators.c ---- */

enum device_role { DEVICE_OURS, DEVICE_PUBLISHED, DEVICE_SYSTEM, DEVICE_CEILING, DEVICE_ADDED };

struct device_heap;

struct device_allocator {
	const char *name; /* in rows and tables */
	enum device_role role;
	const unsigned char *module; /* the fat binary with its kernels; NULL: none in this build */
	bool one_size;               /* objects of one size per heap, passed to make */
	bool frees;                  /* otherwise its objects stay allocated until it is reset */
	bool slow;                   /* by a thousand: fewer repeats, no cells of a million */
	/*
	 * make - make a heap that uses `bytes` of device memory in total, for objects of
	 * `object_bytes` (0: of mixed sizes). Sets all fields of the heap except `allocator` and
	 * `module`. Returns NULL, or one sentence with the reason of the failure. Without this
	 * function, another program runs it, not the worker.
	 */
	const char *(*make)(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes);
	/* end - release all of it to the device */
	void (*end)(struct device_heap *heap);
	/* reset - free all objects; returns false if the device failed. NULL: not supported */
	bool (*reset)(struct device_heap *heap);
};

struct device_heap {
	const struct device_allocator *allocator;
	void *module;         /* loaded */
	void *heap;           /* passed to kernels */
	uint64_t space_bytes; /* device memory that it really uses, including metadata */
	uint64_t low, high;   /* address range of objects; 0 and 0: unknown */
	struct bench_gpu_dims grid, block; /* of device_launch(); block.x 0: as described there */
	void *own[4];                      /* of make and end */
	uint64_t own_numbers[4];
};

extern const struct device_allocator device_allocators[];
extern const size_t device_allocator_count;

/* ---- the cells: device_plan.c, and device_more.c for its works ---- */

enum device_work_kind {
	DEVICE_W1,       /* malloc by one kernel, free by a later one */
	DEVICE_W2,       /* the same with mixed sizes */
	DEVICE_W3,       /* the same with one asking lane per warp */
	DEVICE_W4,       /* malloc, write, free in one kernel */
	DEVICE_W5,       /* malloc in a heap that is nearly full */
	DEVICE_W6,       /* share of a heap that is in use when it fails */
	DEVICE_W7,       /* one warp: cycles */
	DEVICE_SCALE,    /* as W1, from one thread up */
	DEVICE_FRAGMENT, /* address range after rounds of churn */
	DEVICE_REGISTERS,
	DEVICE_START,    /* making a heap, and the first kernel on it */
	DEVICE_GRAPH,    /* growing adjacency lists */
	DEVICE_GENERATE, /* work is generated: malloc and write of mixed sizes */
	DEVICE_SHAPES,   /* as W1, in blocks and grids of two and three dimensions */
	DEVICE_REUSE,    /* larger objects in the memory of small ones */
	DEVICE_CHURN,    /* kernels that exchange half of the objects for others */
	DEVICE_EXCHANGE, /* other askers free the objects */
	DEVICE_SMALL,    /* as W1, with few askers */
	DEVICE_FAIL,     /* requests to a full heap */
	DEVICE_WORKS,
};

struct device_cell {
	char parameter[DEVICE_PARAMETER_BYTES];
	unsigned int work; /* of the suite's: an enum device_work_kind of `mam bench device` */
	uint64_t heap_bytes;
	uint32_t askers, lanes;            /* requesting lanes per warp */
	uint32_t min, max;                 /* bytes */
	uint32_t rounds;                   /* within a kernel, or of kernels */
	uint32_t share;                    /* per mille */
	uint32_t buffers;                  /* per class, if it has buffers */
	uint32_t filled;                   /* blocks allocated before */
	uint32_t group;                    /* neighbors freed together, of DEVICE_REUSE; 0: none */
	uint32_t then;                     /* bytes of its larger objects */
	struct bench_gpu_dims grid, block; /* of DEVICE_SHAPES: an asker is a thread */
	bool fine;                         /* not in a quick run */
};

struct device_plan {
	struct device_cell cells[DEVICE_CELLS_MAX];
	size_t count;
};

/* A run: the argument of every work's functions. */
struct device_run;

struct device_work {
	const char *name;  /* for --only: "w1" */
	const char *title; /* of its table */
	/* plan - add its cells, by device_plan_add() */
	void (*plan)(struct device_plan *plan);
	/*
	 * play - run one cell on a new heap. Returns false if the device failed;
	 * bench_gpu_trouble() has the error. The caller ends the heap.
	 */
	bool (*play)(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell);
};

extern const struct device_work device_works[DEVICE_WORKS];

/* device_plan_add - add a cell; `format` makes its parameter: "64B 1M" */
void device_plan_add(struct device_plan *plan, struct device_cell cell, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* device_plan_number - 1024 is 1K, 1048576 is 1M */
const char *device_plan_number(uint64_t number, char *text, size_t bytes);

/*
 * Those of device_more.c, device_lists.c, device_reuse.c and device_churn.c; the matching play
 * function runs their cells.
 */
void device_plan_w4(struct device_plan *plan);
void device_plan_w6(struct device_plan *plan);
void device_plan_w7(struct device_plan *plan);
void device_plan_fragment(struct device_plan *plan);
void device_plan_registers(struct device_plan *plan);
void device_plan_start(struct device_plan *plan);
void device_plan_graph(struct device_plan *plan);
void device_plan_generate(struct device_plan *plan);
void device_plan_reuse(struct device_plan *plan);
void device_plan_churn(struct device_plan *plan);
void device_plan_exchange(struct device_plan *plan);
void device_plan_fail(struct device_plan *plan);
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
bool device_play_reuse(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell);
bool device_play_churn(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell);
bool device_play_exchange(struct device_run *run, struct device_heap *heap,
			  const struct device_cell *cell);
bool device_play_fail(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell);
/* Number of elements that such a cell needs in the run's arrays. */
uint64_t device_reuse_places(const struct device_cell *cell); /* fail, too */
uint64_t device_exchange_places(const struct device_cell *cell);

/* ---- running them: device_run.c ---- */

struct device_job;
struct device_found;

struct device_run {
	unsigned int repeats; /* of timed kernels; the median is reported */
	unsigned int warm;    /* earlier rounds, which are not reported */
	/* Device memory of the run itself, for as many askers as the largest cell of the plan. */
	uint64_t *got, *more;
	uint32_t *numbers;
	struct device_found *found;
	uint32_t askers_max;
	/* The rest is private to device_run.c. */
	struct device_play *play;
};

/* device_row - add a number: "device-w1", the heap's allocator, the cell's parameter, metric */
void device_row(struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, const char *metric, double value);
/* device_note - add one sentence about this cell */
void device_note(struct device_run *run, const struct device_heap *heap,
		 const struct device_cell *cell, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* device_ask - make a job of this cell: its askers, lanes, sizes, rounds, and the run's arrays */
void device_ask(const struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, struct device_job *job);
/*
 * device_launch - launch a kernel of the heap's module, in the heap's grid and blocks, or with as
 * many warps as the job's askers need, in blocks of DEVICE_BLOCK; us NULL: untimed
 */
bool device_launch(const struct device_heap *heap, const char *kernel, const struct device_job *job,
		   double *us);
/* device_launch_as - the same with the given numbers of blocks and threads */
bool device_launch_as(const struct device_heap *heap, const char *kernel, unsigned int blocks,
		      unsigned int threads, const struct device_job *job, double *us);

/* Results of an untimed pass. */
struct device_verdict {
	uint64_t none;  /* askers whose request failed */
	uint64_t wrong; /* number of errors */
	char why[96];   /* the first error */
};

/* device_count - zero `found` before a kernel that counts, and fetch it afterwards */
bool device_count_begin(const struct device_run *run);
bool device_count_end(const struct device_run *run, struct device_found *found);
/*
 * device_look - check the objects in job->got: bounds, overlap, alignment, and that each owner's
 * data stays intact. Adds to the verdict. Returns false if the device failed.
 */
bool device_look(struct device_run *run, struct device_heap *heap, const struct device_job *job,
		 struct device_verdict *verdict);
/*
 * device_look_again - check that objects still contain the words that device_look() wrote. An
 * element without an object is skipped, so objects that were freed since do not matter.
 */
bool device_look_again(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict);

/* mam bench device */
int device_main(int argc, char **argv);

#endif
