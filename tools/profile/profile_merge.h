/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_merge.h - the leaves and moments of a profile from counts.
 */
#ifndef TOOLS_PROFILE_MERGE_H
#define TOOLS_PROFILE_MERGE_H

#include "profile/profile_count.h"

/*
 * profile_merge - fill everything except the tree and the texts; nodes[i] is the node of leaf i of
 * `count`. False: out of memory; the caller calls profile_fini() in any case.
 */
bool profile_merge(struct profile *profile, const struct profile_count *count,
		   const uint32_t *nodes, uint32_t node_count);

#endif
