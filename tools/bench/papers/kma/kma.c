/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma.c - `mam bench kma`: the figures of the KMA paper, over KMA in CUDA and in OpenCL, mam's
 * objects and CUDA's own malloc, as a suite that device_suite.c runs. plan.c has the cells, show.c
 * the output.
 */
#include "kma.h"

#include "command.h"

static const struct args_command command = {
	"mam bench kma",
	"[OPTION]...",
	"Measure KMA, in CUDA and in OpenCL, beside mam's objects, CUDA's own malloc and a poor\n"
	"man's heap, as its paper did, on this machine's first GPU.\n",
	"A LIST is comma-separated names. All allocators take turns in each cell, and the results\n"
	"of each run are checked; a wrong one gets no time. A kernel that does not return loses\n"
	"only its own cell. Missed targets do not change the exit status, errors of mam's do.\n"
	"A separate program runs OpenCL, if mam was built with it; without a GPU only OpenCL is\n"
	"measured.\n"
	"\n"
	"  mam bench kma --quick                          the targets\n"
	"  mam bench kma --allocators kma-opencl --platform pocl\n"
	"  mam bench kma --csv a.csv; mam bench kma --read a.csv -p\n"
	"More in mam-bench-kma(1).\n",
	device_suite_options_opencl,
	false,
};

static const struct device_suite suite = {
	.command = &command,
	.prefix = "kma",
	.efforts = kma_efforts,
	.allocators = kma_allocators,
	.allocator_count = &kma_allocator_count,
	.works = kma_works,
	.work_count = KMA_WORKS,
	.system_heap = KMA_HEAP,
	.plan = kma_plan_make,
	.takes_part = kma_plan_takes_part,
	.places = kma_plan_places,
	.shrink = kma_plan_shrink,
	.beside = kma_opencl_hear,
	.complete = kma_complete,
	.show_people = kma_show_people,
	.show_keys = kma_show_keys,
};

int kma_main(int argc, char **argv)
{
	return device_suite_main(&suite, argc, argv);
}
