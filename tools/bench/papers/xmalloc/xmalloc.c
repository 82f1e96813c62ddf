/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.c - `mam bench xmalloc`: the figures of the XMalloc paper, over CUDA's own malloc, over
 * mam's and over a heap of pages, as a suite that device_suite.c runs. plan.c has the cells, show.c
 * the output.
 */
#include "xmalloc.h"

#include "command.h"

#define SECOND UINT64_C(1000000000)

static const struct device_effort efforts[] = {
	{ "full", 21, 3, 21, 90 * SECOND, UINT32_MAX, UINT64_MAX, true },
	{ "quick", 7, 1, 4, 18 * SECOND, UINT32_MAX, UINT64_MAX, false },
	{ "smoke", 1, 1, 1, 30 * SECOND, 4096, 96 * BENCH_MIB, true },
};

static const struct args_command command = {
	"mam bench xmalloc",
	"[OPTION]...",
	"Measure XMalloc over CUDA's own malloc, mam's, and a heap of pages, as its paper did,\n"
	"on this machine's first GPU.\n",
	"A LIST is comma-separated names. All allocators take turns in each cell, and every\n"
	"object is checked before anything is timed: an allocator whose objects overlap or are\n"
	"outside of its heap gets no time there. A kernel that does not return loses only its own\n"
	"cell. Missed targets do not change the exit status, errors of mam's do.\n"
	"\n"
	"  mam bench xmalloc --quick                      the targets, but one\n"
	"  mam bench xmalloc --only time --plot a.svg     one workload, and a picture\n"
	"  mam bench xmalloc --csv a.csv; mam bench xmalloc --read a.csv -p\n"
	"More in mam-bench-xmalloc(1).\n",
	device_suite_options,
	false,
};

static const struct device_suite suite = {
	.command = &command,
	.prefix = "xmalloc",
	.efforts = efforts,
	.allocators = xmalloc_allocators,
	.allocator_count = &xmalloc_allocator_count,
	.works = xmalloc_works,
	.work_count = XMALLOC_WORKS,
	.system_heap = XMALLOC_HEAP,
	.plan = xmalloc_plan_make,
	.takes_part = xmalloc_plan_takes_part,
	.places = xmalloc_plan_places,
	.shrink = xmalloc_plan_shrink,
	.complete = xmalloc_complete,
	.show_people = xmalloc_show_people,
	.show_keys = xmalloc_show_keys,
};

int xmalloc_main(int argc, char **argv)
{
	xmalloc_allocators_make();
	return device_suite_main(&suite, argc, argv);
}
