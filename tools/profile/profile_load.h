/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_load.h - read a profile, a trace, a log of RMM or a snapshot of PyTorch.
 */
#ifndef TOOLS_PROFILE_LOAD_H
#define TOOLS_PROFILE_LOAD_H

#include "profile/profile_tree.h"

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
void profile_share(struct profile *profile, const struct profile_tree *tree);
void profile_fini(struct profile *profile);

#endif
