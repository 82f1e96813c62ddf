/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - see sample.h.
 */
#include "interpose/profile/sample.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TERMS 8 /* of the series: the error is below 1e-14 */
#define HALVINGS 6

static __thread uint64_t seed __attribute__((tls_model("initial-exec")));   /* thread; 0: unset */
static __thread double distance __attribute__((tls_model("initial-exec"))); /* thread; bytes */
static __thread uint64_t mean __attribute__((tls_model("initial-exec"))); /* thread; of distance */

/* splitmix64: G. L. Steele et al., Fast splittable pseudorandom number generators, 2014. */
static uint64_t next(void)
{
	uint64_t mixed = seed += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

/* -ln of a number above 0 and at most 1. The C library's needs libm, which a program may lack. */
static double minus_log(double number)
{
	uint64_t bits;
	int exponent;
	double ratio, square, sum = 0;

	memcpy(&bits, &number, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
	memcpy(&number, &bits, sizeof(number)); /* from 1 up to 2 */
	if (number > 1.4142135623730951) {
		number /= 2;
		exponent++;
	}
	ratio = (number - 1) / (number + 1);
	square = ratio * ratio;
	for (int i = TERMS; i >= 0; i--)
		sum = sum * square + 1.0 / (2 * i + 1);
	return -(2 * ratio * sum + exponent * 0.6931471805599453);
}

static double new_distance(uint64_t rate)
{
	return minus_log((double)((next() >> 11) + 1) * 0x1p-53) * (double)rate;
}

static void make_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	seed = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^
	       (uint64_t)syscall(SYS_gettid) << 40;
	seed += seed == 0;
}

/* The rest of a distance of another mean, from an earlier profile, would be too long or too short. */
static void begin(uint64_t rate)
{
	if (seed == 0)
		make_seed();
	distance = new_distance(rate);
	mean = rate;
}

bool mam_sample_takes(uint64_t bytes, uint64_t rate)
{
	if (rate == 0)
		return true;
	if (__builtin_expect(mean != rate, 0))
		begin(rate);
	distance -= (double)bytes;
	if (distance > 0)
		return false;
	distance = new_distance(rate);
	return true;
}

/* 1 - exp(-x): a series for x / 2^HALVINGS, and then 1 - exp(-2 y) = d (2 - d), where d is 1 - exp(-y). */
double mam_sample_probability(uint64_t bytes, uint64_t rate)
{
	double x = (double)bytes / (double)rate, term = 1, sum = 0;

	if (x > 40) /* the rest is below the precision */
		return 1;
	x /= (double)(1 << HALVINGS);
	for (int i = 1; i <= TERMS; i++) {
		term *= (i == 1 ? x : -x) / i;
		sum += term;
	}
	for (int i = 0; i < HALVINGS; i++)
		sum *= 2 - sum;
	return sum;
}
