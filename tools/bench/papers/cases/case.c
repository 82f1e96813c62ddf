/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.c - `mam bench case`: programs whose kernels allocate memory as they run, over mam's
 * objects, the published random walks, CUDA's own malloc, and without an allocator, as a suite that
 * device_suite.c runs. plan.c has the participants, one file per case its cells and kernels, show.c
 * the output.
 */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "command.h"
#include "kit/message.h"

static const struct args_command command = {
	"mam bench case",
	"[NAME] [OPTION]...",
	"Measure programs that allocate inside kernels, over mam_kmalloc, two random walks and\n"
	"CUDA's own malloc, beside the same without any, on this machine's first GPU. NAME is\n"
	"one of join, group, octree and graph; all of them unless given.\n",
	"A LIST is comma-separated names. Each result is compared with one that the host has\n"
	"computed; a wrong one gets no time. A kernel that does not return loses only its own\n"
	"cell. Missed targets do not change the exit status, errors of mam's do.\n"
	"\n"
	"  mam bench case join --quick\n"
	"  mam bench case octree --allocators mam_kmalloc,two-pass\n"
	"  mam bench case --csv a.csv; mam bench case --read a.csv -p\n"
	"More in mam-bench-case(1).\n",
	device_suite_options,
	false,
};

static const struct device_suite suite = {
	.command = &command,
	.prefix = "case",
	.efforts = case_efforts,
	.allocators = case_allocators,
	.allocator_count = &case_allocator_count,
	.works = case_works,
	.work_count = CASE_WORKS,
	.system_heap = CASE_SYSTEM_HEAP,
	.plan = case_plan_make,
	.takes_part = case_takes_part,
	.places = case_places,
	.shrink = case_shrink,
	.complete = case_complete,
	.show_people = case_show_people,
	.show_keys = case_show_keys,
};

/* A leading case name means `--only NAME`. */
int case_main(int argc, char **argv)
{
	char only[64], **changed;
	size_t i;
	int status;

	if (argc < 2 || argv[1][0] == '-')
		return device_suite_main(&suite, argc, argv);
	for (i = 0; i < CASE_WORKS && strcmp(argv[1], case_works[i].name) != 0; i++)
		continue;
	if (i == CASE_WORKS) {
		message_error("there is no case '%s'; there are join, group, octree and graph",
			      argv[1]);
		return STATUS_BAD;
	}
	changed = malloc(((size_t)argc + 1) * sizeof(*changed));
	if (changed == NULL) {
		message_error("memory ran out; close other programs and try again");
		return STATUS_FAILED;
	}
	memcpy(only, "--only=", sizeof("--only="));
	strcat(only, case_works[i].name);
	memcpy(changed, argv, ((size_t)argc + 1) * sizeof(*changed));
	changed[1] = only;
	status = device_suite_main(&suite, argc, changed);
	free(changed);
	return status;
}
