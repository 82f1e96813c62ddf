/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler.c - profiler.h: checks names of loaded libraries, environment variables, and the tracer.
 *
 * Signs are what the tool itself needs in the process: the library that intercepts the driver's
 * calls, and the variables by which that finds its parts and its parent. Variables that users set
 * to configure the tool do not count.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, secure_getenv */
#include "heap/host/profiler.h"

#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/option.h"

/* The positions of the values of MAM_HEAP_GROWTH. */
enum choice { CHOICE_AUTO, CHOICE_ON, CHOICE_OFF };

struct tool {
	const char *name;
	const char *library;        /* a prefix of its file's name; NULL: none */
	const char *tracer;         /* a prefix of the tracing process's name; NULL: none */
	const char *environment[3]; /* variables; NULL: no more */
	const char *why;            /* after "because " */
};

/* clang-format off */
static const struct tool tools[] = {
	{ "Nsight Compute (ncu)", "libcuda-injection", NULL,
	  { "NV_COMPUTE_PROFILER_PERFWORKS_DIR", "NV_NSIGHT_INJECTION_PORT_BASE", NULL },
	  "it may run kernels several times and restore memory in between (not with "
	  "--replay-mode application)" },
	{ "compute-sanitizer", "libsanitizer-collection", NULL,
	  { "NV_SANITIZER_INJECTION_PORT_BASE", NULL, NULL },
	  "memory granted while a kernel runs is out of bounds for it" },
	{ "cuda-gdb", NULL, "cuda-gdb", { NULL, NULL, NULL },
	  "the host gets no memory in time while a kernel runs under it" },
};
/* clang-format on */

static bool has_environment(const struct tool *tool)
{
	for (const char *const *name = tool->environment; *name; name++)
		if (secure_getenv(*name))
			return true;
	return false;
}

/* One library: a nonzero result ends the search. */
static int is_library(struct dl_phdr_info *info, size_t size, void *prefix)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	const char *slash = strrchr(name, '/');

	(void)size;
	name = slash ? slash + 1 : name;
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool has_library(const struct tool *tool)
{
	return tool->library && dl_iterate_phdr(is_library, (void *)(uintptr_t)tool->library) != 0;
}

/* The process that traces this one; 0: none, or unknown. */
static int tracer_of_us(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	int tracer = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (status)
		(void)fclose(status);
	return tracer;
}

static bool has_tracer(const struct tool *tool)
{
	const int tracer = tool->tracer ? tracer_of_us() : 0;
	char path[64], name[64] = "";
	FILE *comm;

	if (tracer == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/comm", tracer);
	comm = fopen(path, "re");
	if (!comm)
		return false;
	if (!fgets(name, sizeof(name), comm))
		name[0] = '\0';
	(void)fclose(comm);
	return strncmp(name, tool->tracer, strlen(tool->tracer)) == 0;
}

static const struct tool *find(void)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (has_environment(&tools[i]) || has_library(&tools[i]) || has_tracer(&tools[i]))
			return &tools[i];
	return NULL;
}

const char *mam_profiler_tool(void)
{
	const struct tool *tool = find();

	return tool ? tool->name : NULL;
}

bool mam_profiler_lets_grow(void)
{
	static atomic_bool said;
	const struct tool *tool;

	switch (mam_option_choice(MAM_OPTION_HEAP_GROWTH)) {
	case CHOICE_ON: return true;
	case CHOICE_OFF: return false;
	default: break;
	}
	tool = find();
	if (tool && !atomic_exchange(&said, true))
		mam_log(MAM_LOG_WARN,
			"heaps do not grow under %s, because %s: allocations beyond their initial "
			"size return NULL; create larger heaps, or set MAM_HEAP_GROWTH=on to let "
			"them grow",
			tool->name, tool->why);
	return tool == NULL;
}
