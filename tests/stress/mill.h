/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mill.h - random programs on a pool on the fake driver, checked by the shadow map.
 *
 * A program has some threads, streams of all kinds (legacy by both its handles, blocking,
 * non-blocking, each thread's own default stream, and ones that are destroyed with unfinished work
 * and created again with recycled handles), and uses every call of a pool. It keeps the rules of
 * stream.h and mam.h: a failure is an error in mam, unless the program breaks a rule on purpose, to
 * show that the shadow map detects it.
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
	size_t largest;     /* maximum block size in bytes */
	unsigned threads;
	unsigned long operations; /* of all threads together */
	uint64_t seed;
	/* Sometimes frees on a stream other than the one with the block's work. */
	bool wrong_stream;
	size_t footprint; /* of the pool */
};

struct mill_result {
	uint64_t allocs, frees, failures;
	uint64_t reused; /* granules that were reused */
	uint64_t ahead;  /* ... before the work on them was done, in the order of its stream */
	struct mam_stats stats;
	char why[500]; /* "": no error */
};

/* mill_load - the fake driver with the settings of these programs; call before any use of CUDA. */
struct cuda mill_load(void);

/* mill_run - one program, from the creation of the pool to its end. */
void mill_run(const struct cuda *cuda, const struct mill_setup *setup, struct mill_result *result);

#endif
