/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise.h - interface between the parts of `mam bench advise`.
 *
 * Terms: a burst is a number of threads that allocate concurrently before any of them frees. `now`
 * is the heap as given, `then` as recommended.
 */
#ifndef MAM_TOOLS_BENCH_MODEL_ADVISE_H
#define MAM_TOOLS_BENCH_MODEL_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADVISE_SIZES_MAX 64
#define ADVISE_RUN 64 /* pages of a request at most: a word of mam's bitmap */
#define ADVISE_PAGES_MAX UINT64_C(4294967232)

struct advise_ask {
	uint64_t threads;
	unsigned int lanes; /* requesting lanes of each warp */
	uint64_t pages;     /* now; 0: not given */
	double free;        /* share of them before the burst */
	uint64_t page_bytes;
	struct advise_size {
		uint64_t bytes;
		double weight;
	} sizes[ADVISE_SIZES_MAX];
	size_t size_count; /* 0: one page each */
	double was_max;
	/* a kernel takes first + step * WAS microseconds; step 0: unknown */
	double first_us, step_us;
};

struct advise_expect {
	double free_before, free_after; /* shares */
	double steps;                   /* TAS and WAS: lanes of a warp search together */
	double steps_limit;             /* of the last warp, an upper bound */
	double us;                      /* 0: unknown */
};

struct advice {
	uint64_t page_bytes, burst_pages, heap_pages, heap_bytes;
	double waste;     /* the unused share of the bytes of all pages that the burst takes */
	unsigned int low; /* thousandths */
	double patience;  /* pages probed and found used, until a search gives up */
	bool knows_now;
	struct advise_expect now, then;
};

/*
 * advise_steps - mean over a burst of (11) with 64 pages per probe, in whole steps: the model of
 * mam's pages
 */
double advise_steps(double t, double a, double n, unsigned int lanes);
/* advise_waste - the unused share of the bytes of pages of `page_bytes` */
double advise_waste(const struct advise_ask *ask, uint64_t page_bytes);
/* advise_burst - number of pages of that size that the burst takes */
double advise_burst(const struct advise_ask *ask, uint64_t page_bytes);
/*
 * advise_compute - compute the advice; returns NULL, or one sentence with the reason of the failure
 */
const char *advise_compute(const struct advise_ask *ask, struct advice *advice);

/* advise_sizes - parse "64:1000,256:50"; returns false after reporting a syntax error */
bool advise_sizes(const char *text, struct advise_ask *ask);

/* A heap's counters, as in struct mam_heap_info. */
struct advise_counters {
	uint64_t page_bytes, pages, free, objects, object_bytes, searches, looks, full, no_run;
};

/* advise_counters_read - read lines of KEY<TAB>VALUE; returns false after reporting an error */
bool advise_counters_read(const char *path, struct advise_counters *counters);

/*
 * advise_fit - fit a kernel's microseconds to the output of --csv; returns false after reporting an
 * error
 */
bool advise_fit(const char *path, struct advise_ask *ask);

#endif
