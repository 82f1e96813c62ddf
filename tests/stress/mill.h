/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mill.h - random programs on a pool on the fake driver, with the shadow's book beside them.
 *
 * A program is some threads, streams of all kinds (legacy by both its names, blocking, non-blocking, each thread's own
 * default one, and ones that are destroyed with work in flight and made again, their handles recycled), and every call
 * a pool has. It keeps the rules of stream.h and mam.h itself: what fails is mam's fault, or the program breaks a rule
 * on purpose, to show that the book sees it.
 */
#ifndef TESTS_STRESS_MILL_H
#define TESTS_STRESS_MILL_H

#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include <stdbool.h>
#include <stdint.h>

#include "fake/load.h"

struct mill_setup {
	const char *source; /* "cudamalloc" or "vmm" */
	enum mam_free_policy policy;
	enum mam_cache_mode cache;
	size_t limit_bytes; /* of the pool */
	size_t largest;     /* block, in bytes */
	unsigned threads;
	unsigned long operations; /* of all threads together */
	uint64_t seed;
	bool wrong_stream; /* frees now and then on a stream that the block's work is not in */
};

struct mill_result {
	uint64_t allocs, frees, failures;
	uint64_t reused; /* granules given out again */
	uint64_t ahead;  /* ... before the work on them was done, in the order of its stream */
	struct mam_stats stats;
	char why[500]; /* "": nothing wrong */
};

/* mill_load - the fake driver with the settings that mills need; call before anything asks for CUDA. */
struct cuda mill_load(void);

/* mill_run - one program from the pool's making to its end. */
void mill_run(const struct cuda *cuda, const struct mill_setup *setup, struct mill_result *result);

#endif
