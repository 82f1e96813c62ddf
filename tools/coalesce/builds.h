/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builds.h - the flags that a build compiles each file with: compile_commands.json.
 */
#ifndef MAM_TOOLS_COALESCE_BUILDS_H
#define MAM_TOOLS_COALESCE_BUILDS_H

#include <stdbool.h>
#include <stddef.h>

/* One file of a build. */
struct co_build {
	char *file;         /* absolute path */
	char *folder;       /* that it is compiled in */
	const char **flags; /* of the compiler, without its name and without the file */
	size_t flag_count;
};

struct co_builds {
	struct co_build *builds;
	size_t count;
};

/* co_builds_read - reads compile_commands.json in `folder`. False: reported. */
bool co_builds_read(const char *folder, struct co_builds *builds);
/* The first command that compiles the file; NULL: none does. */
const struct co_build *co_builds_find(const struct co_builds *builds, const char *path);
/* True for a CUDA source: its name ends in .cu, or it is compiled as one. */
bool co_build_is_cuda(const struct co_build *build);
void co_builds_free(struct co_builds *builds);

#endif
