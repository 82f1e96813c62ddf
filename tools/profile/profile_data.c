/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_data.c - sums over a profile.
 */
#include "profile/profile_data.h"

#include <string.h>

void profile_live(const struct profile *profile, uint32_t moment, struct profile_amount *live)
{
	const struct profile_moment *last = &profile->moments[moment];

	memset(live, 0, profile->leaf_count * sizeof(*live));
	for (size_t i = 0; i < last->first_change + last->change_count; i++)
		live[profile->changes[i].leaf] = profile->changes[i].live;
}

void profile_sum(const struct profile *profile, const struct profile_amount *of_leaf,
		 struct profile_amount *total)
{
	memset(total, 0, profile->node_count * sizeof(*total));
	for (uint32_t i = 0; i < profile->leaf_count; i++) {
		struct profile_amount *node = &total[profile->leaves[i].node];

		node->bytes += of_leaf[i].bytes;
		node->count += of_leaf[i].count;
	}
	/* Children have higher numbers. */
	for (uint32_t i = profile->node_count; i-- > 1;) {
		struct profile_amount *parent = &total[profile->nodes[i].parent];

		parent->bytes += total[i].bytes;
		parent->count += total[i].count;
	}
}
