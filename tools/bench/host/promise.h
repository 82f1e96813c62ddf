/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise.h - the promised numbers: keys for scripts, lines of the short table, targets.
 */
#ifndef MAM_TOOLS_BENCH_PROMISE_H
#define MAM_TOOLS_BENCH_PROMISE_H

#include <stdbool.h>
#include <stddef.h>

/* The pools that a target applies to. */
enum promise_kind {
	PROMISE_ALONE,
	PROMISE_CACHED,
	PROMISE_DEVICE,
	PROMISE_PIECES,
	PROMISE_OTHER,
	PROMISE_KINDS = PROMISE_OTHER
};

/* One promise. If `over` is set, the number is that case's divided by the case `over`. */
struct promise {
	const char *key;
	const char *label;
	const char *workload, *parameter, *metric; /* parameter NULL: the largest that was run */
	const char *over;
	const char *unit;
	double bound[PROMISE_KINDS]; /* minimum for rates, otherwise maximum; 0: no target */
};

struct bench_results;

extern const struct promise promises[];
extern const size_t promise_count;

enum promise_kind promise_kind_of(const char *peer);
/* promise_bound - return the target of a promise for a pool; 0: none */
double promise_bound(const struct promise *promise, const char *peer);
bool promise_is_rate(const struct promise *promise);
bool promise_is_met(const struct promise *promise, double bound, double value);
/* promise_value - return false if it was not measured */
bool promise_value(const struct bench_results *results, const struct promise *promise,
		   const char *peer, double *value);

#endif
