/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - the random-walk paper's formulas, for comparison with measured steps.
 *
 * All of them are sums. Those of n terms use Kahan's compensation. A probability 1 - q^w is
 * computed from the logarithm of q, since q is nearly 1 where it matters. Infinite sums
 *
 *       sum over k >= 0 of 1 - (1 - x^k)^lanes,     x = q^w
 *
 * are added up while terms decrease fast. For x near 1 they equal an integral, H(lanes) / -ln x,
 * plus a half: in the Euler-Maclaurin formula all further terms vanish, since the first lanes - 1
 * derivatives are 0 at k = 0 and all of them are 0 at the other end.
 *
 * The mean of (11) has a closed form, which the paper does not give: the first passage of a
 * Brownian motion with drift is an inverse Gaussian, whose mean is goal / drift.
 */
#include <math.h>

#include "steps.h"

struct sum {
	double total, lost;
};

static void add(struct sum *sum, double term)
{
	double with = term - sum->lost, total = sum->total + with;

	sum->lost = (total - sum->total) - with;
	sum->total = total;
}

/* The probability that at least one of `w` pages is free, if each is with probability `share`. */
static double chance(double share, double w)
{
	return share >= 1 ? 1 : -expm1(w * log1p(-share));
}

double bench_steps_queue_tas(double n)
{
	return (n + 1) / 2;
}

/*
 * The mean of the largest of 32 places: n minus the sum of (k / n)^32 over k < n. The sum as
 * printed includes k = n, so its result is one step lower.
 */
double bench_steps_queue_was(double n)
{
	const double l = BENCH_STEPS_WARP;
	struct sum sum = { n, 0 };
	double k;

	if (n >= 1000) /* Faulhaber's formula; further terms are below 1e-10 */
		return n - n / (l + 1) + 0.5 - l / (12 * n) +
		       l * (l - 1) * (l - 2) / (720 * n * n * n);
	for (k = 0; k < n; k++)
		add(&sum, -pow(k / n, l));
	return sum.total;
}

double bench_steps_walk_tas(double t, double a, double n, double w)
{
	struct sum sum = { 0, 0 };
	double j;

	if (n > a)
		return INFINITY;
	for (j = 0; j < n; j++)
		add(&sum, w > 1 ? 1 / chance((a - j) / t, w) : t / (a - j));
	return sum.total / n;
}

double bench_steps_walk_tas_log(double t, double a, double n)
{
	return n < a ? t / n * -log1p(-n / a) : INFINITY;
}

double bench_steps_walk_was(double t, double a, double n, double w, unsigned int lanes)
{
	double rate, k, term, harmonic = 0;
	struct sum sum = { 0, 0 };
	unsigned int i;

	if (n >= a)
		return INFINITY;
	rate = a - n >= t ? INFINITY : -w * log1p(-(a - n) / t);
	if (rate < 0.01 && lanes >= 8) {
		for (i = lanes; i > 0; i--)
			harmonic += 1.0 / i;
		return harmonic / rate + 0.5;
	}
	if (rate < 0.01 && lanes == 1)
		return -1 / expm1(-rate);
	add(&sum, 1); /* k = 0: no lane is done before the first step */
	for (k = 1, term = 1; term > 1e-17 * sum.total; k++) {
		term = -expm1(lanes * log1p(-exp(-rate * k)));
		add(&sum, term);
	}
	return sum.total;
}

void bench_steps_found(double t, double a, double n, double w, unsigned int lanes, double *mean,
		       double *deviation)
{
	double share = (a - n) / t;

	*mean = lanes * w * share;
	*deviation = sqrt(lanes * w * share * (1 - share));
}

double bench_steps_density(double goal, double mean, double deviation, double steps)
{
	double variance = deviation * deviation, miss = goal - mean * steps;

	return goal / (deviation * sqrt(2 * M_PI * steps * steps * steps)) *
	       exp(-miss * miss / (2 * variance * steps));
}

double bench_steps_corw(double t, double a, double n, double w)
{
	double mean, deviation;

	if (n >= a)
		return INFINITY;
	bench_steps_found(t, a, n, w, BENCH_STEPS_WARP, &mean, &deviation);
	return BENCH_STEPS_WARP / mean;
}

/*
 * The probability that fewer than `goal` of `looks` pages are free, each with probability `share`.
 */
static double too_few(double looks, double share, unsigned int goal)
{
	double term = exp(looks * log1p(-share)), below = 0;
	unsigned int i;

	for (i = 0; i < goal && i <= looks; i++) {
		below += term;
		term *= (looks - i) / (i + 1) * (share / (1 - share));
	}
	return below;
}

double bench_steps_corw_whole(double t, double a, double n, double w, unsigned int lanes)
{
	double share = (a - n) / t, k, left = 1;
	struct sum sum = { 0, 0 };

	if (n >= a)
		return INFINITY;
	if (share >= 1)
		return 1;
	for (k = 0; left > 1e-12; k++) {
		left = too_few(k * lanes * w, share, lanes);
		add(&sum, left);
	}
	return sum.total;
}

double bench_steps_crw_tas(double t, double a, double n, double w, double m)
{
	return 1 + (m - 1) / (a + m - 1) * bench_steps_walk_tas(t, a, n, w);
}

double bench_steps_bound(double low)
{
	return 5.411 * (1 - low) / low;
}
