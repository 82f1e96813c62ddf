/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_slices.c - one slice per block, on tracks where slices do not overlap.
 *
 * 1. Slices of one track have to nest, but lifetimes of blocks do not. So each group of blocks (a
 *    stream or, if there is only one, a thread) has lanes (lanes.h), one per track: a block gets
 *    the lowest free lane at its birth and frees it at its death.
 * 2. Viewers handle some hundred thousand slices and some thousand tracks. If there are more than
 *    PERFETTO_SLICES blocks, the largest get a slice; among blocks of equal size, those that live
 *    longest. A block that would need more than PERFETTO_LANES tracks gets none.
 */
#include "write/perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "kit/json_put.h"

#define NO_LANE UINT32_MAX        /* lane of a block: none yet, or none any longer */
#define NO_SLICE (UINT32_MAX - 1) /* lane of a block that gets no slice */

struct rank {
	uint64_t bytes;
	uint32_t life; /* in events */
	uint32_t block;
};

/* Larger blocks first, then longer-lived, then earlier ones. */
static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->life != y->life)
		return x->life < y->life ? 1 : -1;
	return x->block < y->block ? -1 : 1;
}

static bool choose(struct perfetto_slices *slices)
{
	const struct replay_trace *trace = slices->job->trace;
	struct rank *ranks = malloc(((size_t)trace->block_count + 1) * sizeof(*ranks));
	uint32_t count = 0;

	if (!ranks)
		return false;
	for (uint32_t i = 0; i < trace->block_count; i++) {
		slices->lanes[i] = NO_LANE;
		if (slices->job->map->places[i] != MAP_NOWHERE)
			ranks[count++] = (struct rank){
				.bytes = trace->blocks[i].bytes,
				.life = trace->blocks[i].death - trace->blocks[i].birth,
				.block = i,
			};
	}
	if (count > PERFETTO_SLICES)
		qsort(ranks, count, sizeof(*ranks), compare_ranks);
	for (uint32_t i = PERFETTO_SLICES; i < count; i++)
		slices->lanes[ranks[i].block] = NO_SLICE;
	free(ranks);
	return true;
}

/* Whether the trace has blocks of more than one thread. */
static bool has_several_threads(const struct replay_trace *trace)
{
	for (uint32_t i = 1; trace->has_threads && i < trace->block_count; i++)
		if (trace->origins[i].thread != trace->origins[0].thread)
			return true;
	return false;
}

bool perfetto_slices_init(struct perfetto_slices *slices, const struct export_job *job)
{
	const struct replay_trace *trace = job->trace;

	*slices = (struct perfetto_slices){ .job = job };
	slices->by_thread = trace->stream_count <= 1 && has_several_threads(trace);
	slices->groups = calloc(PERFETTO_GROUPS, sizeof(*slices->groups));
	slices->lanes = malloc(((size_t)trace->block_count + 1) * sizeof(*slices->lanes));
	if (slices->groups && slices->lanes && choose(slices))
		return true;
	perfetto_slices_fini(slices);
	return false;
}

void perfetto_slices_fini(struct perfetto_slices *slices)
{
	for (uint32_t i = 0; i < slices->group_count; i++)
		lanes_fini(&slices->groups[i].lanes);
	free(slices->groups);
	free(slices->lanes);
}

static void name_group(struct perfetto_slices *slices, uint32_t number)
{
	const char *what = slices->by_thread ? "thread" : "stream";
	char name[60];

	if (number == PERFETTO_GROUPS - 1)
		snprintf(name, sizeof(name), "blocks of other %ss", what);
	else
		snprintf(name, sizeof(name), "blocks of %s %" PRIu64, what,
			 slices->groups[number].key);
	perfetto_put_name(slices->job->file, "process", PERFETTO_PROCESS + 1 + number, 0, name,
			  1 + number);
}

/* The index of a block's group, created if it is new. */
static uint32_t group_of(struct perfetto_slices *slices, uint32_t block)
{
	const struct replay_trace *trace = slices->job->trace;
	uint64_t key =
		slices->by_thread ? trace->origins[block].thread : trace->blocks[block].stream;
	uint32_t i = 0;

	while (i < slices->group_count && slices->groups[i].key != key)
		i++;
	if (i == PERFETTO_GROUPS)
		return PERFETTO_GROUPS - 1;
	if (i == slices->group_count) {
		slices->groups[i].key = key;
		slices->group_count++;
		name_group(slices, i);
	}
	return i;
}

/* Assign a lane to a block, and a track to a new lane. False: all lanes are in use. */
static bool take_lane(struct perfetto_slices *slices, uint32_t block, uint32_t number)
{
	struct perfetto_group *group = &slices->groups[number];
	bool is_new = group->lanes.free_count == 0;
	char name[40];
	uint32_t lane;

	if (is_new && slices->track_count == PERFETTO_LANES)
		return false;
	if (!lanes_take(&group->lanes, &lane)) {
		slices->no_memory = true;
		return false;
	}
	slices->lanes[block] = lane;
	if (!is_new)
		return true;
	/* Track numbers must differ from process ids. */
	group->tracks[lane] = PERFETTO_PROCESS + 1 + PERFETTO_GROUPS + slices->track_count++;
	snprintf(name, sizeof(name), "lane %" PRIu32, lane + 1);
	perfetto_put_name(slices->job->file, "thread", PERFETTO_PROCESS + 1 + number,
			  group->tracks[lane], name, lane);
	return true;
}

void perfetto_slices_birth(struct perfetto_slices *slices, uint32_t block)
{
	const struct replay_trace *trace = slices->job->trace;
	uint32_t death = trace->blocks[block].death;
	uint64_t begin = export_ns(trace, trace->blocks[block].birth), end;
	const char *who = export_who(trace, block);
	FILE *file = slices->job->file;
	uint32_t group;

	end = export_ns(trace, death == REPLAY_ALIVE ? trace->event_count - 1 : death);
	group = slices->lanes[block] == NO_SLICE ? 0 : group_of(slices, block);
	if (slices->lanes[block] == NO_SLICE || !take_lane(slices, block, group)) {
		slices->left_out++;
		return;
	}
	slices->count++;
	fputs("{\"ph\":\"X\",\"cat\":\"block\",\"name\":", file);
	json_put_text(file, *who ? who : format_bytes(trace->blocks[block].bytes).text);
	fprintf(file, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, PERFETTO_PROCESS + 1 + group,
		slices->groups[group].tracks[slices->lanes[block]]);
	perfetto_put_time(file, "ts", begin);
	perfetto_put_time(file, "dur", end - begin);
	perfetto_put_block(slices->job, block);
}

void perfetto_slices_death(struct perfetto_slices *slices, uint32_t block)
{
	uint32_t lane = slices->lanes[block];

	if (lane == NO_LANE || lane == NO_SLICE)
		return;
	slices->lanes[block] = NO_LANE;
	lanes_give(&slices->groups[group_of(slices, block)].lanes, lane);
}
