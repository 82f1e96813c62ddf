/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - the number of steps that the random-walk paper expects of its page allocators.
 *
 * TAS is the mean number of steps of a thread that takes one page, WAS the mean over warps of the
 * maximum steps of its threads; a warp is done when its last thread is. The paper's letters: of `t`
 * pages `a` are free, `n` threads take one each, and a step probes `w` pages (1: RW, 32: one with a
 * bitmap). If n > a there are too few pages: the result is infinity, as for a bound that diverges
 * at a == n.
 *
 * Source: M. Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of
 * Randomness", ACM TOPC 12(1), 2025; the numbers in brackets are its formulas.
 */
#ifndef MAM_TOOLS_BENCH_STEPS_H
#define MAM_TOOLS_BENCH_STEPS_H

#define BENCH_STEPS_WARP 32

/* A queue: a thread's steps are its place in the line, (1) and (2). */
double bench_steps_queue_tas(double n);
double bench_steps_queue_was(double n);

/* Random walks: TAS, (3) by its sum of harmonic numbers, and (5). */
double bench_steps_walk_tas(double t, double a, double n, double w);
/* (3) as printed, with logarithms for harmonic numbers. */
double bench_steps_walk_tas_log(double t, double a, double n);
/* An upper bound of WAS, (4) and (6), for warps of which `lanes` take a page. */
double bench_steps_walk_was(double t, double a, double n, double w, unsigned int lanes);

/*
 * CoRW: the pages that `lanes` lanes find in a step are nearly normally distributed, (9). When they
 * have found one each, by (10): the density at `steps` of the time at which a drift of `mean` first
 * reaches `goal`; and the mean of that time, (11). It bounds TAS and WAS, which are equal, from
 * above.
 */
void bench_steps_found(double t, double a, double n, double w, unsigned int lanes, double *mean,
		       double *deviation);
double bench_steps_density(double goal, double mean, double deviation, double steps);
double bench_steps_corw(double t, double a, double n, double w);
/* The same without a normal distribution: whole steps, binomial finds. Never less than 1. */
double bench_steps_corw_whole(double t, double a, double n, double w, unsigned int lanes);

/* CRW: TAS if the free pages are in `m` clusters, (13) and (14). */
double bench_steps_crw_tas(double t, double a, double n, double w, double m);

/*
 * S_L: the number of failed steps that shows, with 99% confidence, that less than the share `low`
 * is free.
 */
double bench_steps_bound(double low);

#endif
