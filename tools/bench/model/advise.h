/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise.h - what the parts of `mam bench advise` share.
 *
 * Words: a burst is so many threads that ask at once, before anybody gives back. Now is the heap as it
 * was told, then as it is recommended.
 */
#ifndef MAM_TOOLS_BENCH_MODEL_ADVISE_H
#define MAM_TOOLS_BENCH_MODEL_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADVISE_SIZES_MAX 64
#define ADVISE_RUN 64 /* pages of a request at most: a word of mam's bitmap */
#define ADVISE_PAGES_MOST UINT64_C(4294967232)

struct advise_ask {
	uint64_t threads;
	unsigned int lanes; /* of each warp, that ask */
	uint64_t pages;     /* now; 0: not told */
	double free;        /* share of them before the burst */
	uint64_t page_bytes;
	struct advise_size {
		uint64_t bytes;
		double weight;
	} sizes[ADVISE_SIZES_MAX];
	size_t size_count; /* 0: a page each */
	double was_most;
	/* microseconds of a kernel are first + step * WAS; step 0: not known */
	double first_us, step_us;
};

struct advise_expect {
	double free_before, free_after; /* shares */
	double steps;                   /* TAS and WAS: lanes of a warp search together */
	double steps_most;              /* of the last warp, a bound */
	double us;                      /* 0: not known */
};

struct advice {
	uint64_t page_bytes, burst_pages, heap_pages, heap_bytes;
	double waste; /* of the bytes of all pages that the burst takes, those nobody asked for */
	unsigned int low; /* thousandths */
	double patience;  /* pages seen taken, until a walk gives up */
	bool knows_now;
	struct advise_expect now, then;
};

/* advise_steps - mean over a burst of (11) with 64 pages a look, in whole steps: what mam's pages do */
double advise_steps(double t, double a, double n, unsigned int lanes);
/* advise_waste - of the bytes of pages of `page_bytes`, those that nobody asked for: a share */
double advise_waste(const struct advise_ask *ask, uint64_t page_bytes);
/* advise_burst - pages of that size that the burst takes */
double advise_burst(const struct advise_ask *ask, uint64_t page_bytes);
/* advise_reckon - NULL; or one sentence: why not */
const char *advise_reckon(const struct advise_ask *ask, struct advice *advice);

/* advise_sizes - "64:1000,256:50"; false: it is no such list, which was said */
bool advise_sizes(const char *text, struct advise_ask *ask);

/* A heap's counters, as struct mam_heap_info has them. */
struct advise_counters {
	uint64_t page_bytes, pages, free, objects, object_bytes, searches, looks, full, no_run;
};

/* advise_counters_read - lines of KEY<TAB>VALUE; false: what is wrong was said */
bool advise_counters_read(const char *path, struct advise_counters *counters);

/* advise_fit - microseconds of a kernel from what --csv wrote; false: what is wrong was said */
bool advise_fit(const char *path, struct advise_ask *ask);

#endif
