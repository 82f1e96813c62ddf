/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_paths.c - the stacks of a view, one after the other.
 */
#include "profile/profile_paths.h"

#include <math.h>
#include <stdlib.h>

/* The depth of the deepest node. Parents have lower numbers. False: out of memory. */
static bool find_depth(const struct profile *profile, uint32_t *deepest)
{
	uint32_t *depths = calloc(profile->node_count, sizeof(*depths));

	*deepest = 0;
	for (uint32_t i = 1; depths && i < profile->node_count; i++) {
		depths[i] = depths[profile->nodes[i].parent] + 1;
		if (depths[i] > *deepest)
			*deepest = depths[i];
	}
	free(depths);
	return depths != NULL;
}

bool profile_paths_begin(struct profile_paths *paths, const struct profile_view *view)
{
	uint32_t deepest;

	*paths = (struct profile_paths){ .view = view, .node = PROFILE_NONE };
	if (!find_depth(view->profile, &deepest))
		return false;
	paths->path = malloc((deepest + 1) * sizeof(*paths->path));
	return paths->path != NULL;
}

double profile_value(const struct profile_view *view, uint32_t node)
{
	double value = view->value[node];

	if (view->by == PROFILE_BY_LIFETIME && view->profile->has_times)
		value /= 1e9;
	return round(value);
}

bool profile_paths_next(struct profile_paths *paths)
{
	const struct profile *profile = paths->view->profile;
	uint32_t count = 0;

	do {
		paths->node++; /* from PROFILE_NONE to 0 */
		if (paths->node == profile->node_count)
			return false;
	} while (profile_value(paths->view, paths->node) <= 0);
	for (uint32_t at = paths->node; at; at = profile->nodes[at].parent)
		paths->path[count++] = profile->nodes[at].frame;
	for (uint32_t i = 0; i < count / 2; i++) {
		uint32_t frame = paths->path[i];

		paths->path[i] = paths->path[count - 1 - i];
		paths->path[count - 1 - i] = frame;
	}
	paths->count = count;
	return true;
}

void profile_paths_end(struct profile_paths *paths)
{
	free(paths->path);
}
