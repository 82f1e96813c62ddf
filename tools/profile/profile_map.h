/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_map.h - the call stacks of the blocks of a heap map.
 */
#ifndef TOOLS_PROFILE_MAP_H
#define TOOLS_PROFILE_MAP_H

#include "kit/page.h"
#include "profile/profile_tree.h"
#include "replay/replay.h"

struct profile_map {
	struct profile_tree tree;
	uint32_t *nodes; /* of each block of the trace, in `tree` */
};

/*
 * profile_map_create - read the file of a trace again, for its stacks. NULL: it has none, or it cannot
 * be read twice.
 */
struct profile_map *profile_map_create(const struct replay_trace *trace);
void profile_map_destroy(struct profile_map *map);

/* profile_map_put_names - write all names as a list of JSON strings, for the scripts of a page. */
void profile_map_put_names(FILE *file, const struct profile_map *map);

/*
 * profile_map_put - write numbers: frames, each with kind, function, file, line and module; nodes
 * after the root, each with parent and frame; and the node of each of `count` blocks. The lists of
 * frames and of nodes begin with their lengths.
 */
void profile_map_put(struct page_numbers *to, const struct profile_map *map, uint32_t count);

#endif
