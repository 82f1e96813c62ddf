/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_stacks.c - the call stacks of a PyTorch snapshot, for mam profile.
 *
 * The number of a stack is that of its list of frames in the pickle. Many events share a list: it
 * is passed on once, so all calls together take O(frames of the pickle).
 */
#include <stdlib.h>
#include <string.h>

#include "read/torch_snapshot.h"

#define PAIRS_MAX 64 /* a larger dictionary is not a frame */

static void read_text(const struct pickle *pickle, struct pickle_value frame, const char *key,
		      const char **text, size_t *bytes)
{
	*text = "";
	*bytes = 0;
	pickle_text(pickle, pickle_get(pickle, frame, key), text, bytes);
	if (*bytes == 2 && memcmp(*text, "??", 2) == 0)
		*bytes = 0; /* PyTorch did not find it */
}

static struct replay_frame frame_of(const struct pickle *pickle, struct pickle_value from)
{
	struct replay_frame frame = { "", "", 0, 0, 0 };
	int64_t line = 0;

	if (pickle_kind(from) != PICKLE_DICT || pickle_count(pickle, from) > PAIRS_MAX)
		return frame;
	read_text(pickle, from, "name", &frame.function, &frame.function_bytes);
	read_text(pickle, from, "filename", &frame.file, &frame.file_bytes);
	if (pickle_int(pickle, pickle_get(pickle, from, "line"), &line) && line > 0)
		frame.line = (uint64_t)line;
	return frame;
}

static bool pass_on(const struct torch_snapshot *snapshot, struct pickle_value list, size_t count)
{
	struct replay_frame *frames = malloc(count * sizeof(*frames));
	size_t inner = 0;
	bool good;

	if (!frames)
		return torch_fail_memory(snapshot);
	for (size_t i = 0; i < count; i++)
		frames[i] = frame_of(&snapshot->pickle, pickle_item(&snapshot->pickle, list, i));
	while (inner < count && torch_frames_is_inner(&frames[inner]))
		inner++;
	good = snapshot->sink->stack(snapshot->sink->user, pickle_box(list) + 1, frames + inner,
				     count - inner);
	free(frames);
	return good;
}

bool torch_stack(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t *stack)
{
	const struct pickle *pickle = &snapshot->pickle;
	struct pickle_value list;
	size_t box;

	*stack = 0;
	if (!snapshot->sink)
		return true;
	if (!snapshot->stacks)
		snapshot->stacks = calloc(pickle->boxes.count + 1, sizeof(*snapshot->stacks));
	if (!snapshot->stacks)
		return torch_fail_memory(snapshot);
	list = pickle_get(pickle, entry, "frames");
	if ((pickle_kind(list) != PICKLE_LIST && pickle_kind(list) != PICKLE_TUPLE) ||
	    pickle_count(pickle, list) == 0)
		return true;
	box = pickle_box(list);
	if (box >= UINT32_MAX - 1)
		return true;
	*stack = (uint32_t)box + 1;
	if (snapshot->stacks[box])
		return true;
	snapshot->stacks[box] = true;
	return pass_on(snapshot, list, pickle_count(pickle, list));
}
