/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_paths.h - the stacks of a view, one after the other.
 */
#ifndef TOOLS_PROFILE_PATHS_H
#define TOOLS_PROFILE_PATHS_H

#include "profile/profile_view.h"

struct profile_paths {
	const struct profile_view *view;
	uint32_t node;
	uint32_t *path; /* frames of the stack of `node`, outermost first, without the root */
	uint32_t count;
};

/* profile_paths_begin - false: out of memory. */
bool profile_paths_begin(struct profile_paths *paths, const struct profile_view *view);

/* profile_paths_next - the next stack whose value is above 0. False: there is none. */
bool profile_paths_next(struct profile_paths *paths);

void profile_paths_end(struct profile_paths *paths);

/*
 * profile_value - the value of a node as the integer that exports have: bytes, blocks, or bytes times
 * seconds.
 */
double profile_value(const struct profile_view *view, uint32_t node);

#endif
