/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_kit.h - the heap of objects_kit.h as a debug heap with reports, which a test reads as the
 * host does.
 */
#ifndef MAM_TESTS_HEAP_DEBUG_KIT_H
#define MAM_TESTS_HEAP_DEBUG_KIT_H

#define MAM_KDEBUG
#ifndef MAM_REPORTS
#define MAM_REPORTS 64u
#endif

#include <mam/heap.cuh>

#include "heap/objects/objects_kit.h"
#include "simt/suite.h"

struct dkit {
	struct okit *kit;
	struct mam_growth *growth;
	struct mam_reports *reports;
	uint64_t failed; /* requests that returned NULL */
	const void *plan;
};

static inline struct dkit *dkit_create(uint32_t blocks, uint32_t columns)
{
	struct dkit *dkit = calloc(1, sizeof(*dkit));

	ck_assert_ptr_nonnull(dkit);
	dkit->kit = okit_create(blocks, columns, NULL);
	dkit->growth = calloc(1, sizeof(*dkit->growth));
	dkit->reports = calloc(1, sizeof(*dkit->reports));
	ck_assert(dkit->growth && dkit->reports);
	return dkit;
}

static inline void dkit_destroy(struct dkit *dkit)
{
	okit_destroy(dkit->kit);
	free(dkit->growth);
	free(dkit->reports);
	free(dkit);
}

/* Creates a new heap with a salt of its own, in the memory that the previous one left. */
static inline void dkit_begin(void *argument)
{
	static uint64_t heaps;
	struct dkit *dkit = argument;

	okit_begin(dkit->kit);
	memset(dkit->growth, 0, sizeof(*dkit->growth));
	memset(dkit->reports, 0, sizeof(*dkit->reports));
	dkit->growth->reports = dkit->reports;
	dkit->growth->salt = ++heaps * 0x9e3779b97f4a7c15u;
	dkit->kit->heap->growth = dkit->growth;
}

/* Explores `kernel`; `check` gets a struct dkit. */
static inline void dkit_explore(struct dkit *dkit, const char *name, simt_kernel *kernel,
				uint32_t grid, uint32_t block, uint32_t seeds, bool race,
				const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = dkit,
		.begin = dkit_begin,
		.check = check,
		.seeds = seeds,
		.config = { .race = KIT_RACE && race,
			    .strict = true,
			    .steps_max = 40000000,
			    .whole = dkit->kit->whole },
	};

	simt_must_pass(&test);
}

/* The only report. */
OKIT_UNSEEN const struct mam_report *dkit_only(const struct dkit *dkit)
{
	MAM_KASSERT(dkit->growth->told.value == 1 && !dkit->growth->untold.value);
	MAM_KASSERT(dkit->reports->report[0].stamp == 1);
	return &dkit->reports->report[0];
}

/* The guard of the program's object at `object`: found by a scan, unlike in the heap's own code. */
OKIT_UNSEEN struct mam_guard *dkit_guard(const struct dkit *dkit, const unsigned char *object)
{
	uint64_t at;
	const unsigned char *guard;

	for (guard = object - 96; guard >= dkit->kit->space; guard -= 16) {
		at = (uint64_t)(uintptr_t)guard;
		if (((const struct mam_guard *)guard)->state ==
		    mam_guard_state(MAM_GUARD_LIVE, at, dkit->growth->salt))
			return (struct mam_guard *)(uintptr_t)guard;
	}
	return NULL;
}

/* No report, and all objects were freed. */
static inline const char *dkit_check_quiet(void *argument)
{
	const struct dkit *dkit = argument;

	if (dkit->growth->told.value || dkit->growth->untold.value)
		return okit_wrong("%u reports without an error: the first of kind %u at "
				  "offset %d of %u bytes",
				  (uint32_t)dkit->growth->told.value,
				  (uint32_t)dkit->reports->report[0].kind,
				  (int)dkit->reports->report[0].offset,
				  (uint32_t)dkit->reports->report[0].bytes);
	return okit_check_empty(dkit->kit);
}

#endif
