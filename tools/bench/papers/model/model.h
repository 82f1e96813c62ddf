/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - interface between the parts of `mam bench model` and `mam bench advise`.
 *
 * Terms, in addition to those of pages_bench.h:
 *   walker   RW, RW-BM, CRW or CoRW: an algorithm that probes random places until it finds a page
 *   TAS      mean steps of a thread until it has a page; WAS: mean over warps of the maximum steps of
 *            their threads
 *   formula  a value by an equation of the paper; simulated: by the same search simulated on the host,
 *            all lanes one step at a time
 *
 * Source: M. Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of
 * Randomness", ACM TOPC 12(1), 2025; numbers in brackets are its equations, and figures are its
 * figures.
 */
#ifndef MAM_TOOLS_BENCH_MODEL_MODEL_H
#define MAM_TOOLS_BENCH_MODEL_MODEL_H

#include "bench/pages/pages_bench.h"

#define MODEL_WORD 32.0 /* pages that all walkers except RW probe in a step */
#define MODEL_WARP 32u
#define MODEL_PAGES 1000000u
#define MODEL_TIMED 16384u /* from this many askers up, a queue is to be 10 times slower */

/* ---- the cells: plan.c ---- */

enum model_work {
	MODEL_GET,    /* figures 4, 5, 11, 16: one page each */
	MODEL_LANES,  /* 12, 13: some lanes of each warp */
	MODEL_MALLOC, /* 2, 14: several pages */
	MODEL_USE,    /* 15: until one request in a hundred fails */
	MODEL_ATOMIC, /* 1: one word */
	MODEL_FOUND,  /* 6: free pages that a warp sees in one step */
	MODEL_AGAIN,  /* 8, 9: several pages, one after another */
	MODEL_GIVE,   /* 16: cost for a thread to free a page */
	MODEL_WORKS,
};

extern const char *const model_work_names[MODEL_WORKS]; /* "get", ...; rows have "model-get", ... */

/* The same heap state several times, with pages taken one after another. */
struct model_again {
	char parameter[PAGES_PARAMETER_BYTES];
	struct pages_space space;
	uint32_t askers, rounds;
	bool fine;
};

#define MODEL_AGAINS_MAX 48
#define MODEL_GIVES_MAX 16
#define MODEL_FOUNDS 3
#define MODEL_BINS 7 /* of figure 6: standard deviations from the mean, -3 to 3 */

struct model_plan {
	struct pages_plan pages; /* all that pages_run_all() runs */
	struct model_again again[MODEL_AGAINS_MAX];
	size_t again_count;
	struct model_found {
		char parameter[16];        /* "5%" */
		char bins[MODEL_BINS][24]; /* "5% -3" */
		struct pages_space space;
	} found[MODEL_FOUNDS];
	struct model_give {
		char parameter[PAGES_PARAMETER_BYTES];
		struct pages_space space;
		uint32_t askers;
	} gives[MODEL_GIVES_MAX];
	size_t give_count;
};

extern const struct pages_names model_names;

/* model_plan_make - `pages` of the smaller heap: a multiple of 64 */
void model_plan_make(struct model_plan *plan, uint32_t pages);

/* ---- measurements that pages_run_all() does not make: play.c ---- */

struct model_request {
	struct pages_request pages;
	bool wanted[MODEL_WORKS];
	uint64_t deadline; /* of bench_now() */
	uint32_t runs;     /* of figure 6 */
};

/* model_play - returns false with a note if the device failed */
bool model_play(const struct model_plan *plan, const struct model_request *request,
		struct bench_results *results, char *now, size_t now_bytes);

/* ---- the host's simulation: walk.c ---- */

enum model_walker { MODEL_RW, MODEL_RW_BM, MODEL_CRW, MODEL_CORW, MODEL_WALKERS };

extern const char *const model_walker_names[MODEL_WALKERS]; /* "rw", ... */

struct model_steps {
	double tas, was;
};

/*
 * model_walk - `askers` lanes, `lanes` of each warp, take `rounds` pages each; steps are those of
 * all rounds, except the first if there are several. Repeats passes until `walks` lanes have
 * searched. Returns false if memory ran out.
 */
bool model_walk(enum model_walker walker, const struct pages_space *space, uint32_t askers,
		uint32_t lanes, uint32_t rounds, uint32_t walks, struct model_steps *steps);

/* ---- computations: compute.c, pearson.c ---- */

/* model_compute - add rows of formulas, ratios and correlations for the measurements */
void model_compute(struct bench_results *results, const struct model_plan *plan);
/* model_simulate - add rows of searches simulated on the host, until the deadline */
void model_simulate(struct bench_results *results, const struct model_plan *plan,
		    const struct model_request *request);

/* model_locked_was - (6), where another lane may have locked a word */
double model_locked_was(double t, double a, double n, double w, unsigned int lanes);

/* Pearson's correlation; 0 for fewer than three values, or for values that do not vary. */
double model_pearson(const double *x, const double *y, size_t count);
/*
 * model_zou - the interval, of `z` standard errors, of r(y, c) - r(x, c), where `between` is r(x,
 * y): the difference of the correlations of two variables with a third.
 */
void model_zou(double x, double y, double between, size_t count, double z, double *low,
	       double *high);

/* ---- output: show.c, target.c ---- */

#define MODEL_TARGETS_MAX 16
/* model_target_compute - compute the targets; returns their number */
size_t model_target_compute(const struct bench_results *results, const struct model_plan *plan,
			    struct pages_target targets[MODEL_TARGETS_MAX]);

void model_show_people(const struct bench_results *results, const struct bench_machine *machine,
		       const struct model_plan *plan, const char *effort);
void model_show_keys(const struct bench_results *results, const struct model_plan *plan);

/* mam bench model, mam bench advise */
int model_main(int argc, char **argv);
int advise_main(int argc, char **argv);

#endif
