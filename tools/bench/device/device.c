/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - `mam bench device`: malloc and free in kernels, mam's and others', as a suite that
 * device_suite.c runs. device_plan.c has the cells, device_show.c the output.
 */
#include "command.h"
#include "device_play.h"
#include "kit/args.h"

#define SECOND UINT64_C(1000000000)

static const struct device_effort efforts[] = {
	{ "full", 21, 3, 3, 200 * SECOND, UINT32_MAX, UINT64_MAX, true },
	{ "quick", 7, 2, 3, 40 * SECOND, UINT32_MAX, UINT64_MAX, false },
	{ "smoke", 1, 1, 3, 30 * SECOND, 16384, 192 * BENCH_MIB, true },
};

static const struct args_command command = {
	"mam bench device",
	"[OPTION]...",
	"Measure malloc and free in kernels on this machine's first GPU: mam's, and others'.\n",
	"A LIST is comma-separated names. All allocators take turns in each cell, and every\n"
	"object is checked before anything is timed: an allocator whose objects overlap or are\n"
	"outside of its heap gets no time there. A kernel that does not return loses only its own\n"
	"cell. Missed targets do not change the exit status, errors of mam's do.\n"
	"\n"
	"  mam bench device --quick                       the targets, in a minute\n"
	"  mam bench device --only w1,scale --plot a.svg  two workloads, and a picture\n"
	"  mam bench device --csv a.csv; mam bench device --read a.csv -p\n"
	"More in mam-bench(1).\n",
	device_suite_options,
	false,
};

static const struct device_suite suite = {
	.command = &command,
	.prefix = "device",
	.efforts = efforts,
	.allocators = device_allocators,
	.allocator_count = &device_allocator_count,
	.works = device_works,
	.work_count = DEVICE_WORKS,
	.system_heap = 8 * (uint64_t)BENCH_GIB,
	.plan = device_plan_make,
	.takes_part = device_plan_takes_part,
	.places = device_plan_places,
	.shrink = device_plan_shrink,
	.show_people = device_show_people,
	.show_keys = device_show_keys,
};

int device_main(int argc, char **argv)
{
	return device_suite_main(&suite, argc, argv);
}
