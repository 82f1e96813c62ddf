/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_stacks.h - the call stacks of the blocks of a heap map.
 */
#ifndef TOOLS_REPLAY_STACKS_H
#define TOOLS_REPLAY_STACKS_H

#include "kit/page.h"
#include "profile/profile_tree.h"
#include "replay/replay.h"

struct replay_stacks {
	struct profile_tree tree;
	uint32_t *nodes; /* of each block of the trace, in `tree` */
};

/*
 * replay_stacks_create - read the file of a trace again, for its stacks. NULL: it has none, or it cannot
 * be read twice.
 */
struct replay_stacks *replay_stacks_create(const struct replay_trace *trace);
void replay_stacks_destroy(struct replay_stacks *map);

/* replay_stacks_put_names - write all names as a list of JSON strings, for the scripts of a page. */
void replay_stacks_put_names(FILE *file, const struct replay_stacks *map);

/*
 * replay_stacks_put - write numbers: frames, each with kind, function, file, line and module; nodes
 * after the root, each with parent and frame; and the node of each of `count` blocks. The lists of
 * frames and of nodes begin with their lengths.
 */
void replay_stacks_put(struct page_numbers *to, const struct replay_stacks *map, uint32_t count);

#endif
