/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_merge.c - add the counts of leaves that have the same node.
 *
 * The moments pass in order, with what is live of each leaf of the counts, and of each of the
 * profile. The moment of the peak comes between those before and after it. Leaves that differ at
 * the peak from the moment before it are among those that changed until the moment after it.
 */
#include "profile/profile_merge.h"

#include <math.h>
#include <stdlib.h>

struct merge {
	struct profile *profile;
	const struct profile_count *count;
	uint32_t *leaf_of;           /* of each leaf of the counts, that of the profile */
	struct profile_amount *then; /* of each leaf of the counts: live at the moment */
	struct profile_amount *live; /* of each leaf of the profile */
	uint32_t *stamps;            /* of each leaf of the profile: the moment it changed in */
};

static void add(struct profile_amount *to, struct profile_amount amount)
{
	to->bytes += amount.bytes;
	to->count += amount.count;
}

static void add_leaf(struct profile_leaf *to, const struct profile_count_leaf *from)
{
	add(&to->allocated, from->allocated);
	add(&to->peak, from->peak);
	add(&to->exit, from->live);
	to->freed += from->freed;
	to->lifetime += from->lifetime;
	to->held += from->held;
	if (from->shortest < to->shortest)
		to->shortest = from->shortest;
	to->allocated_variance += from->allocated_variance;
	to->peak_variance += fmax(from->peak_variance, 0);
	to->exit_variance += fmax(from->live_variance, 0);
}

static bool merge_leaves(struct merge *merge, const uint32_t *nodes, uint32_t node_count)
{
	struct profile *profile = merge->profile;
	uint32_t *of_node = malloc(node_count * sizeof(*of_node));

	if (!of_node)
		return false;
	for (uint32_t i = 0; i < node_count; i++)
		of_node[i] = PROFILE_NONE;
	for (uint32_t i = 0; i < merge->count->leaf_count; i++) {
		uint32_t *leaf = &of_node[nodes[i]];

		if (*leaf == PROFILE_NONE) {
			*leaf = profile->leaf_count++;
			profile->leaves[*leaf] =
				(struct profile_leaf){ .node = nodes[i], .shortest = UINT64_MAX };
		}
		add_leaf(&profile->leaves[*leaf], &merge->count->leaves[i]);
		merge->leaf_of[i] = *leaf;
	}
	free(of_node);
	return true;
}

/* Set what is live of a leaf of the counts. */
static void set(struct merge *merge, uint32_t leaf, struct profile_amount live)
{
	struct profile_amount *sum = &merge->live[merge->leaf_of[leaf]];

	sum->bytes += live.bytes - merge->then[leaf].bytes;
	sum->count += live.count - merge->then[leaf].count;
	merge->then[leaf] = live;
}

/* Add a moment; `changes` are of leaves of the counts, whose values are set already. */
static void add_moment(struct merge *merge, const struct profile_moment *moment,
		       const struct profile_change *changes)
{
	struct profile *profile = merge->profile;
	uint32_t number = profile->moment_count++;
	struct profile_moment *made = &profile->moments[number];

	*made = *moment;
	made->first_change = profile->change_count;
	for (uint32_t i = 0; i < moment->change_count; i++) {
		uint32_t leaf = merge->leaf_of[changes[i].leaf];

		if (merge->stamps[leaf] == number + 1)
			continue;
		merge->stamps[leaf] = number + 1;
		profile->changes[profile->change_count++] =
			(struct profile_change){ leaf, merge->live[leaf] };
	}
	made->change_count = (uint32_t)(profile->change_count - made->first_change);
}

/* The moment of the peak; `next` follows it. */
static void add_peak(struct merge *merge, const struct profile_moment *next,
		     const struct profile_change *changes)
{
	const struct profile_count *count = merge->count;
	struct profile_moment peak = *next;

	peak.time = count->peak_time;
	peak.event = count->peak_event;
	peak.high = count->peak_bytes;
	peak.live = (struct profile_amount){ 0, 0 };
	for (uint32_t i = 0; i < count->leaf_count; i++)
		add(&peak.live, count->leaves[i].peak);
	for (uint32_t i = 0; i < next->change_count; i++)
		set(merge, changes[i].leaf, count->leaves[changes[i].leaf].peak);
	merge->profile->peak = merge->profile->moment_count;
	add_moment(merge, &peak, changes);
}

static void merge_moments(struct merge *merge)
{
	const struct profile_count *count = merge->count;
	struct profile *profile = merge->profile;
	static const struct profile_change none = { 0 };
	uint64_t last = 0; /* event */

	for (uint32_t i = 0; i < count->moment_count; i++) {
		const struct profile_moment *moment = &count->moments[i];
		const struct profile_change *changes =
			moment->change_count ? &count->changes[moment->first_change] : &none;

		if (count->peak_event > last && count->peak_event < moment->event)
			add_peak(merge, moment, changes);
		for (uint32_t j = 0; j < moment->change_count; j++)
			set(merge, changes[j].leaf, changes[j].live);
		for (int j = 0; j < 2; j++)
			if (count->asked_at[j] == i)
				profile->asked[j] = profile->moment_count;
		if (count->peak_event == moment->event)
			profile->peak = profile->moment_count;
		add_moment(merge, moment, changes);
		last = moment->event;
	}
}

static void fill(struct profile *profile, const struct profile_count *count)
{
	profile->has_times = count->has_times;
	profile->events = count->events;
	profile->allocated = count->allocated;
	profile->asked[0] = profile->asked[1] = PROFILE_NONE;
}

bool profile_merge(struct profile *profile, const struct profile_count *count,
		   const uint32_t *nodes, uint32_t node_count)
{
	const size_t leaves = count->leaf_count + 1;
	struct merge merge = { .profile = profile, .count = count };
	bool good;

	fill(profile, count);
	profile->leaves = malloc(leaves * sizeof(*profile->leaves));
	profile->moments = malloc((count->moment_count + 1) * sizeof(*profile->moments));
	/* The peak has the changes of one moment again. */
	profile->changes = malloc(2 * (count->change_count + 1) * sizeof(*profile->changes));
	merge.leaf_of = malloc(leaves * sizeof(*merge.leaf_of));
	merge.then = calloc(leaves, sizeof(*merge.then));
	merge.live = calloc(leaves, sizeof(*merge.live));
	merge.stamps = calloc(leaves, sizeof(*merge.stamps));
	good = profile->leaves && profile->moments && profile->changes && merge.leaf_of &&
	       merge.then && merge.live && merge.stamps && merge_leaves(&merge, nodes, node_count);
	if (good)
		merge_moments(&merge);
	free(merge.leaf_of);
	free(merge.then);
	free(merge.live);
	free(merge.stamps);
	return good;
}
