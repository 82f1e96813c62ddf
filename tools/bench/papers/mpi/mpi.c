/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.c - `mam bench mpi`: the figures of "Coalescing Memory Allocations for GPU MPI", over CUDA's
 * own malloc and over mam's, as a suite that device_suite.c runs. mpi_plan.c has the cells,
 * mpi_show.c the output.
 */
#include "command.h"
#include "mpi_bench.h"

#define SECOND UINT64_C(1000000000)

static const struct device_effort efforts[] = {
	{ "full", 20, 2, 20, 92 * SECOND, UINT32_MAX, UINT64_MAX, true },
	{ "quick", 20, 2, 20, 21 * SECOND, UINT32_MAX, UINT64_MAX, false },
	{ "smoke", 1, 1, 1, 30 * SECOND, 16384, 192 * BENCH_MIB, true },
};

static const struct args_command command = {
	"mam bench mpi",
	"[OPTION]...",
	"Measure the effect of coalescing mallocs of neighboring threads on message-passing\n"
	"programs, over CUDA's own malloc and over mam's, on this machine's first GPU.\n",
	"A LIST is comma-separated names. All allocators take turns in each cell, and every\n"
	"result is verified; a wrong one gets no time. A kernel that does not return loses only\n"
	"its own cell. Missed targets do not change the exit status, errors of mam's do.\n"
	"\n"
	"  mam bench mpi --quick                              the targets, in less than half a "
	"minute\n"
	"  mam bench mpi --only operations --plot a.svg       one workload, and a picture\n"
	"  mam bench mpi --csv a.csv; mam bench mpi --read a.csv -p\n"
	"More in mam-bench-mpi(1).\n",
	device_suite_options,
	false,
};

static const struct device_suite suite = {
	.command = &command,
	.prefix = "mpi",
	.efforts = efforts,
	.allocators = mpi_allocators,
	.allocator_count = &mpi_allocator_count,
	.works = mpi_works,
	.work_count = MPI_WORKS,
	.system_heap = MPI_HEAP,
	.plan = mpi_plan_make,
	.takes_part = mpi_plan_takes_part,
	.places = mpi_plan_places,
	.shrink = mpi_plan_shrink,
	.complete = mpi_complete,
	.show_people = mpi_show_people,
	.show_keys = mpi_show_keys,
};

int mpi_main(int argc, char **argv)
{
	return device_suite_main(&suite, argc, argv);
}
