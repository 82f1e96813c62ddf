/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_count.c - count the events of a profile in one pass.
 *
 * The peak: whenever the live bytes reach a new maximum, the epoch is raised. A leaf that changes
 * for the first time in an epoch still has the value that it had at the peak, and keeps a copy. So
 * an event costs the same whether or not it raises the peak.
 *
 * Moments: one ends whenever the time passes a multiple of the interval. When there are too many,
 * the interval doubles, and those that are now in the same interval merge: the last of them stays,
 * with the changes of all. So there are between 256 and 512 of them, however long the file is.
 */
#include "profile/profile_count.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit/widen.h"

#define FRACTION 1024.0 /* amounts are multiples of 1/FRACTION: see profile_data.h */

bool profile_count_init(struct profile_count *count)
{
	*count = (struct profile_count){
		.wanted = { { PROFILE_NO_TIME, PROFILE_NO_TIME },
			    { PROFILE_NO_TIME, PROFILE_NO_TIME } },
		.asked = { PROFILE_NO_TIME, PROFILE_NO_TIME },
		.asked_at = { PROFILE_NONE, PROFILE_NONE },
		.interval = 1,
		.seen = 1,
		.epoch = 1,
	};
	/* One more for each time that was asked for, and for the end. */
	count->moments = malloc((PROFILE_MOMENTS_MAX + 4) * sizeof(*count->moments));
	return count->moments != NULL;
}

void profile_count_fini(struct profile_count *count)
{
	profile_blocks_fini(&count->blocks);
	free(count->leaves);
	free(count->moments);
	free(count->changes);
	free(count->touched);
}

uint32_t profile_count_new(struct profile_count *count)
{
	if (!widen_32(&count->leaves, count->leaf_count, &count->leaf_room, sizeof(*count->leaves)))
		return PROFILE_NONE;
	count->leaves[count->leaf_count] = (struct profile_count_leaf){ .shortest = UINT64_MAX };
	return count->leaf_count++;
}

/* End the moment that is being filled. */
static bool add_moment(struct profile_count *count, uint64_t time)
{
	struct profile_moment *moment = &count->moments[count->moment_count++];

	*moment = (struct profile_moment){
		.time = time,
		.event = count->events,
		.live = count->live,
		.high = count->high,
		.first_change = count->change_count,
		.change_count = count->touched_count,
	};
	for (uint32_t i = 0; i < count->touched_count; i++) {
		uint32_t leaf = count->touched[i];

		if (!widen(&count->changes, count->change_count, &count->change_room,
			   sizeof(*count->changes)))
			return false;
		count->changes[count->change_count++] =
			(struct profile_change){ leaf, count->leaves[leaf].live };
	}
	count->touched_count = 0;
	count->high = count->live.bytes;
	count->seen++;
	return true;
}

/* Whether a moment has to stay as it is. */
static bool is_kept(const struct profile_count *count, uint32_t moment)
{
	return count->asked_at[0] == moment || count->asked_at[1] == moment;
}

/*
 * Append the changes of the moments from `first` to `last` to `to`: of each leaf the last one.
 * Returns their number.
 */
static uint32_t merge_changes(struct profile_count *count, uint32_t first, uint32_t last,
			      struct profile_change *to)
{
	uint32_t used = 0;

	count->stamps++;
	for (uint32_t i = last + 1; i-- > first;) {
		const struct profile_moment *moment = &count->moments[i];

		for (uint32_t j = 0; j < moment->change_count; j++) {
			const struct profile_change *change =
				&count->changes[moment->first_change + j];

			if (count->leaves[change->leaf].stamp == count->stamps)
				continue;
			count->leaves[change->leaf].stamp = count->stamps;
			to[used++] = *change;
		}
	}
	return used;
}

/* Merge the moments of the same interval. */
static bool merge_moments(struct profile_count *count)
{
	struct profile_change *changes =
		malloc((count->change_count + 1) * sizeof(*count->changes));
	size_t used = 0;
	uint32_t kept = 0, last;

	if (!changes)
		return false;
	for (uint32_t first = 0; first < count->moment_count; first = last + 1) {
		struct profile_moment merged;

		last = first;
		while (last + 1 < count->moment_count && !is_kept(count, last) &&
		       count->moments[last + 1].time / count->interval ==
			       count->moments[first].time / count->interval)
			last++;
		merged = count->moments[last];
		for (uint32_t i = first; i < last; i++)
			merged.high = fmax(merged.high, count->moments[i].high);
		merged.first_change = used;
		merged.change_count = merge_changes(count, first, last, changes + used);
		used += merged.change_count;
		for (int i = 0; i < 2; i++)
			if (count->asked_at[i] == last)
				count->asked_at[i] = kept;
		count->moments[kept++] = merged;
	}
	free(count->changes);
	count->changes = changes;
	count->change_room = count->change_count + 1;
	count->change_count = used;
	count->moment_count = kept;
	return true;
}

/* End a moment that was asked for before the next event, which is at `time`. */
static bool reach_asked(struct profile_count *count, uint64_t time)
{
	for (int i = 0; i < 2; i++) {
		int first = count->asked[0] > count->asked[1] ? 1 - i : i; /* the earlier one */

		if (count->asked_at[first] != PROFILE_NONE || count->asked[first] >= time ||
		    count->events == 0)
			continue;
		count->asked_at[first] = count->moment_count;
		if (!add_moment(count, count->asked[first]))
			return false;
	}
	return true;
}

bool profile_count_time(struct profile_count *count, bool has_time, uint64_t time)
{
	uint64_t now = count->events + 1; /* as time: the number of the event, from 1 */

	if (count->events == 0) {
		count->has_times = has_time;
		count->first_time = time;
		for (int i = 0; i < 2; i++)
			count->asked[i] = has_time ? count->wanted[i].ns : count->wanted[i].event;
	}
	if (count->has_times)
		now = has_time && time > count->first_time ? time - count->first_time : 0;
	if (now < count->now)
		now = count->now;
	if (!reach_asked(count, now))
		return false;
	if (count->touched_count && now / count->interval != count->now / count->interval) {
		if (!add_moment(count, count->now))
			return false;
		while (count->moment_count >= PROFILE_MOMENTS_MAX) {
			count->interval *= 2;
			if (!merge_moments(count))
				return false;
		}
	}
	count->now = now;
	count->events++;
	return true;
}

/* The amount that a recorded block stands for: itself or, in a sampled profile, also others. */
struct weight {
	struct profile_amount amount;
	double variance; /* of the bytes */
};

static double rounded(double amount)
{
	return amount < 1e15 ? round(amount * FRACTION) / FRACTION : amount;
}

static struct weight weigh(const struct profile_count *count, uint64_t bytes)
{
	struct weight weight = { { (double)bytes, 1 }, 0 };
	double probability;

	if (count->sample_rate <= 0 || bytes == 0)
		return weight;
	probability = -expm1(-(double)bytes / count->sample_rate);
	weight.amount.bytes = rounded((double)bytes / probability);
	weight.amount.count = rounded(1 / probability);
	weight.variance = (1 - probability) * weight.amount.bytes * weight.amount.bytes;
	return weight;
}

/* Call it before a leaf changes. */
static bool touch(struct profile_count *count, uint32_t number)
{
	struct profile_count_leaf *leaf = &count->leaves[number];

	if (leaf->epoch != count->epoch) {
		leaf->epoch = count->epoch;
		leaf->peak = leaf->live;
		leaf->peak_variance = leaf->live_variance;
	}
	if (leaf->seen == count->seen)
		return true;
	leaf->seen = count->seen;
	if (!widen_32(&count->touched, count->touched_count, &count->touched_room,
		      sizeof(*count->touched)))
		return false;
	count->touched[count->touched_count++] = number;
	return true;
}

static void raise_peak(struct profile_count *count)
{
	if (count->live.bytes > count->high)
		count->high = count->live.bytes;
	if (count->live.bytes <= count->peak_bytes)
		return;
	count->peak_bytes = count->live.bytes;
	count->peak_event = count->events;
	count->peak_time = count->now;
	count->epoch++;
}

enum profile_counted profile_count_alloc(struct profile_count *count, uint64_t id, uint64_t bytes,
					 uint32_t number)
{
	const struct weight weight = weigh(count, bytes);
	struct profile_count_leaf *leaf;
	struct profile_block *block;
	bool is_live;

	block = profile_blocks_add(&count->blocks, id, &is_live);
	if (!block || (number != PROFILE_NONE && !touch(count, number)))
		return PROFILE_NO_MEMORY;
	if (is_live)
		return PROFILE_REFUSED;
	block->bytes = bytes;
	block->time = count->now;
	block->leaf = number;
	if (number == PROFILE_NONE)
		return PROFILE_COUNTED;
	leaf = &count->leaves[number];
	leaf->allocated.bytes += weight.amount.bytes;
	leaf->allocated.count += weight.amount.count;
	leaf->allocated_variance += weight.variance;
	leaf->live.bytes += weight.amount.bytes;
	leaf->live.count += weight.amount.count;
	leaf->live_variance += weight.variance;
	count->allocated.bytes += weight.amount.bytes;
	count->allocated.count += weight.amount.count;
	count->live.bytes += weight.amount.bytes;
	count->live.count += weight.amount.count;
	raise_peak(count);
	return PROFILE_COUNTED;
}

enum profile_counted profile_count_free(struct profile_count *count, uint64_t id)
{
	struct profile_count_leaf *leaf;
	struct profile_block block;
	struct weight weight;
	uint64_t lifetime;

	if (!profile_blocks_take(&count->blocks, id, &block))
		return PROFILE_REFUSED;
	if (block.leaf == PROFILE_NONE)
		return PROFILE_COUNTED;
	if (!touch(count, block.leaf))
		return PROFILE_NO_MEMORY;
	weight = weigh(count, block.bytes);
	leaf = &count->leaves[block.leaf];
	lifetime = count->now - block.time;
	leaf->freed += weight.amount.count;
	leaf->lifetime += weight.amount.count * (double)lifetime;
	leaf->held += weight.amount.bytes * (double)lifetime;
	if (lifetime < leaf->shortest)
		leaf->shortest = lifetime;
	leaf->live.bytes -= weight.amount.bytes;
	leaf->live.count -= weight.amount.count;
	leaf->live_variance -= weight.variance;
	count->live.bytes -= weight.amount.bytes;
	count->live.count -= weight.amount.count;
	return PROFILE_COUNTED;
}

bool profile_count_end(struct profile_count *count)
{
	for (size_t i = 0; i < count->blocks.room; i++) {
		const struct profile_block *block = &count->blocks.slots[i];

		if (block->used && block->leaf != PROFILE_NONE)
			count->leaves[block->leaf].held += weigh(count, block->bytes).amount.bytes *
							   (double)(count->now - block->time);
	}
	for (uint32_t i = 0; i < count->leaf_count; i++) {
		struct profile_count_leaf *leaf = &count->leaves[i];

		if (leaf->epoch == count->epoch)
			continue;
		leaf->peak = leaf->live;
		leaf->peak_variance = leaf->live_variance;
	}
	for (int i = 0; i < 2; i++)
		if (count->asked_at[i] == PROFILE_NONE && count->asked[i] == count->now)
			count->asked_at[i] = count->moment_count;
	return add_moment(count, count->now);
}
