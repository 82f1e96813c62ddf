/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_load.h - read a profile, a trace, a log of RMM or a snapshot of PyTorch.
 */
#ifndef TOOLS_PROFILE_LOAD_H
#define TOOLS_PROFILE_LOAD_H

#include "profile/profile_tree.h"
#include "replay/replay.h"

struct profile_load_settings {
	uint64_t device;               /* number of the GPU; REPLAY_DEFAULT: all of them */
	struct profile_time wanted[2]; /* keep moments of these times */
};

/*
 * profile_load - read a file; a truncated one up to its end, with a warning. `tree` keeps the frames
 * and nodes that the profile points to; several profiles may share one, and profile_share() then
 * updates the pointers of those loaded before. False: failed (reported).
 */
bool profile_load(struct profile *profile, struct profile_tree *tree, const char *path,
		  const struct profile_load_settings *settings);

/*
 * profile_load_blocks - read the file of a trace again and fill nodes[block_count], the node in `tree`
 * of each block. False: that failed.
 */
bool profile_load_blocks(struct profile_tree *tree, const struct replay_trace *trace,
			 uint32_t *nodes);

void profile_share(struct profile *profile, const struct profile_tree *tree);
void profile_fini(struct profile *profile);

#endif
