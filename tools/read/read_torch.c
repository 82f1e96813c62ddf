/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_torch.c - read PyTorch's memory snapshot, as torch.cuda.memory._dump_snapshot() writes it.
 *
 * 1. Read the pickle. It is a dictionary with device_traces, a list of events per device, and
 *    segments, the memory that the allocator had reserved at the end, with the blocks in it.
 * 2. Select the device with the most events.
 * 3. An alloc event allocates, a free_requested frees: from then on the program does not use the
 *    block, although other streams may until free_completed. A free_completed without a
 *    free_requested frees, too. Blocks alive at the end that no event mentions are older than the
 *    history (torch_blocks.c).
 * 4. history.c repairs a history that was truncated, or stopped and restarted.
 * 5. The peak of PyTorch's own reserved bytes follows from segment_alloc, _map, _free and _unmap,
 *    and from the bytes that were reserved at the end.
 *
 * Source: _memory_snapshot_pickled() in PyTorch's memory_snapshot.cpp, for the fields, 2.0 to 2.11;
 * before 2.0 a free was one event, "free". The size of an event is the requested size.
 */
#include "read/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "read/torch_snapshot.h"

#define HISTORY_ADVICE                                                                            \
	"call torch.cuda.memory._record_memory_history() before the program allocates, and dump " \
	"it again"
#define PROGRESS_STEP 65536
#define UNPACKED_MAX 256 /* maximum ratio of unpacked bytes to the size of a file */
#define UNPACKED_FREE ((uint64_t)1 << 24) /* any file may unpack to this many bytes */
#define PAIRS_MAX 64 /* pairs of an event; a larger dictionary is not an event */

enum action { ALLOC, FREE, COMPLETED, RESERVE, RELEASE, OOM, OTHER };

static const struct {
	const char *name;
	enum action action;
} actions[] = {
	{ "alloc", ALLOC },
	{ "free_requested", FREE },
	{ "free_completed", COMPLETED },
	{ "free", FREE },
	{ "segment_alloc", RESERVE },
	{ "segment_map", RESERVE },
	{ "segment_free", RELEASE },
	{ "segment_unmap", RELEASE },
	{ "oom", OOM },
};

/* The input of a pickle, with a check of its unpacked size. */
struct watched {
	struct input *input;
	uint64_t bytes;
	bool swollen;
};

/*
 * The callback for pickle_load(). A file that unpacks to a huge multiple of its size is not a
 * snapshot.
 */
static enum mam_status read_watched(void *user, void *buffer, size_t bytes, size_t *got)
{
	struct watched *watched = user;
	uint64_t taken, in_all;
	enum mam_status status = input_read(watched->input, buffer, bytes, got);

	if (status != MAM_OK)
		return status;
	watched->bytes += *got;
	input_position(watched->input, &taken, &in_all);
	progress_show("reading", taken, in_all);
	watched->swollen =
		watched->bytes > UNPACKED_FREE && in_all && watched->bytes / UNPACKED_MAX > in_all;
	return watched->swollen ? MAM_ERROR_IO : MAM_OK;
}

static bool load(struct torch_snapshot *snapshot, struct input *input)
{
	struct watched watched = { .input = input };
	const struct pickle_problem *problem = &snapshot->pickle.problem;
	const char *trouble;

	if (pickle_load(&snapshot->pickle, read_watched, &watched))
		return true;
	progress_end();
	trouble = input_trouble(input);
	if (watched.swollen)
		message_error("%s: not a snapshot: it unpacks to more than %d times its size",
			      snapshot->path, UNPACKED_MAX);
	else if (problem->unread && trouble)
		message_error("%s: after byte %" PRIu64 ": %s", snapshot->path, problem->byte,
			      trouble);
	else if (problem->cut)
		message_error("%s: byte %" PRIu64 ": the pickle is truncated, and its contents "
			      "are lost; dump it again",
			      snapshot->path, problem->byte);
	else
		message_error("%s: byte %" PRIu64 ": %s", snapshot->path, problem->byte,
			      problem->text);
	return false;
}

bool torch_fail(const struct torch_snapshot *snapshot, const char *what)
{
	progress_end();
	message_error("%s: %s", snapshot->path, what);
	return false;
}

bool torch_fail_memory(const struct torch_snapshot *snapshot)
{
	return torch_fail(snapshot, "out of memory");
}

/* The number that a dictionary has for a key; false: it has none. */
bool torch_number(const struct torch_snapshot *snapshot, struct pickle_value from, const char *key,
		  uint64_t *number)
{
	int64_t signed_number;

	if (!pickle_int(&snapshot->pickle, pickle_get(&snapshot->pickle, from, key),
			&signed_number))
		return false;
	*number = (uint64_t)signed_number;
	return true;
}

static bool fail_entry(const struct torch_snapshot *snapshot, uint32_t place, const char *what)
{
	progress_end();
	message_error("%s: device %zu: entry %" PRIu32 ": %s", snapshot->path, snapshot->device,
		      place, what);
	return false;
}

/* The devices that have a history, in order. NULL: out of memory. */
static struct replay_device *devices_of(const struct pickle *pickle, struct pickle_value traces,
					size_t *count)
{
	size_t in_all = pickle_count(pickle, traces), used = 0;
	struct replay_device *devices = malloc((in_all + 1) * sizeof(*devices));

	for (size_t i = 0; devices && i < in_all; i++) {
		size_t events = pickle_count(pickle, pickle_item(pickle, traces, i));

		if (events)
			devices[used++] = (struct replay_device){ i, events, true };
	}
	*count = used;
	return devices;
}

/* Select a device, and report it if there are several. */
static bool choose_device(struct torch_snapshot *snapshot, struct replay_build *build)
{
	const struct pickle *pickle = &snapshot->pickle;
	struct pickle_value traces = pickle_get(pickle, pickle->root, "device_traces");
	struct replay_device *devices;
	size_t count, picked;
	bool good;

	if (pickle_kind(pickle->root) == PICKLE_LIST)
		return torch_fail(snapshot, "contains a list; write a snapshot with a history with "
					    "torch.cuda.memory._dump_snapshot()");
	if (pickle_kind(traces) != PICKLE_LIST)
		return torch_fail(snapshot,
				  "has no device_traces, so it is not a memory snapshot of "
				  "PyTorch");
	devices = devices_of(pickle, traces, &count);
	if (!devices)
		return torch_fail_memory(snapshot);
	good = count > 0 &&
	       replay_devices_pick(snapshot->path, devices, count, build->device, &picked);
	if (good) {
		snapshot->device = (size_t)devices[picked].number;
		build->trace->next_device = replay_devices_after(devices, count, picked);
		snapshot->trace = pickle_item(pickle, traces, snapshot->device);
		good = devices[picked].events < UINT32_MAX ||
		       torch_fail(snapshot, "has more entries than a replay supports");
	}
	free(devices);
	build->trace->device = snapshot->device;
	build->trace->device_count = count;
	return count ? good
		     : torch_fail(snapshot, "has no history of allocations; " HISTORY_ADVICE);
}

static enum action action_of(const struct torch_snapshot *snapshot, struct pickle_value entry)
{
	const char *text;
	size_t bytes;

	if (!pickle_text(&snapshot->pickle, pickle_get(&snapshot->pickle, entry, "action"), &text,
			 &bytes))
		return OTHER;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strlen(actions[i].name) == bytes && memcmp(actions[i].name, text, bytes) == 0)
			return actions[i].action;
	return OTHER;
}

/* The call site: a frame; otherwise a note of the program itself. */
bool torch_who(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t *who)
{
	static const char *const notes[] = { "user_metadata", "category" };
	const struct pickle *pickle = &snapshot->pickle;
	const char *text;
	size_t bytes;

	if (!torch_frames_who(&snapshot->frames, pickle_get(pickle, entry, "frames"), who))
		return torch_fail_memory(snapshot);
	/* A note in our own export is a block's id and position, not a call site. */
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]) && *who == 0 && !snapshot->is_ours;
	     i++)
		if (pickle_text(pickle, pickle_get(pickle, entry, notes[i]), &text, &bytes) &&
		    bytes &&
		    !names_number(&snapshot->history.names, text,
				  bytes < TORCH_NOTE_MAX ? bytes : TORCH_NOTE_MAX, who))
			return torch_fail_memory(snapshot);
	return true;
}

/* The first out-of-memory event is the most informative. */
static void note_oom(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t place)
{
	if (snapshot->ooms++)
		return;
	snapshot->oom_place = place;
	if (!torch_number(snapshot, entry, "size", &snapshot->oom_bytes))
		snapshot->oom_bytes = 0;
	snapshot->oom_has_free = torch_number(snapshot, entry, "device_free", &snapshot->oom_free);
}

/* Add an allocation or a free. */
static bool add_event(struct torch_snapshot *snapshot, struct pickle_value entry,
		      enum action action, uint32_t place)
{
	struct history_event event = { .place = place, .frees = action != ALLOC };
	uint64_t us;

	if (!torch_number(snapshot, entry, "addr", &event.id))
		return fail_entry(snapshot, place, "has no address");
	event.has_bytes = torch_number(snapshot, entry, "size", &event.bytes);
	if (event.bytes > INT64_MAX || (!event.has_bytes && !event.frees))
		return fail_entry(snapshot, place, "has an invalid size");
	torch_number(snapshot, entry, "stream", &event.stream);
	event.has_time = torch_number(snapshot, entry, "time_us", &us) && us < UINT64_MAX / 1000;
	if (event.has_time)
		event.time = us * 1000;
	if (!torch_who(snapshot, entry, &event.who) || !torch_stack(snapshot, entry, &event.stack))
		return false;
	return history_add(&snapshot->history, &event) || torch_fail_memory(snapshot);
}

/*
 * Whether a free_completed is the free of its block: not after a free_requested of the same block.
 * If no block has a free_requested, the program did not record them.
 */
static bool completes_only(const struct torch_snapshot *snapshot, uint32_t state)
{
	return snapshot->has_requests && state != TORCH_ALIVE;
}

static bool read_entry(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t place)
{
	enum action action;
	uint64_t bytes = 0, address = 0;
	uint32_t *state;

	if (pickle_kind(entry) != PICKLE_DICT || pickle_count(&snapshot->pickle, entry) > PAIRS_MAX)
		return fail_entry(snapshot, place, "is not an event");
	action = action_of(snapshot, entry);
	if (action == RESERVE || action == RELEASE) {
		if (torch_number(snapshot, entry, "size", &bytes) && bytes <= INT64_MAX)
			torch_reserve(snapshot, bytes, action == RESERVE);
		return true;
	}
	if (action == OOM)
		note_oom(snapshot, entry, place);
	if (action == OOM || action == OTHER)
		return true;
	torch_number(snapshot, entry, "addr", &address);
	state = idtable_at(&snapshot->states, address);
	if (!state)
		return torch_fail_memory(snapshot);
	if (action == COMPLETED && completes_only(snapshot, *state))
		return true;
	*state = action == ALLOC ? TORCH_ALIVE : TORCH_FREED;
	return add_event(snapshot, entry, action, place);
}

static bool read_entries(struct torch_snapshot *snapshot)
{
	const struct pickle *pickle = &snapshot->pickle;
	size_t count = pickle_count(pickle, snapshot->trace);

	for (size_t i = 0; i < count && !snapshot->has_requests; i++) {
		struct pickle_value entry = pickle_item(pickle, snapshot->trace, i);

		snapshot->has_requests = pickle_count(pickle, entry) <= PAIRS_MAX &&
					 action_of(snapshot, entry) == FREE;
	}
	for (size_t i = 0; i < count; i++) {
		if (!read_entry(snapshot, pickle_item(pickle, snapshot->trace, i), (uint32_t)i + 1))
			return false;
		if (i % PROGRESS_STEP == 0)
			progress_show("reading", i, count);
	}
	return true;
}

/* Report noteworthy facts about the recorded program and its history. */
static void say(const struct torch_snapshot *snapshot)
{
	const struct history *history = &snapshot->history;
	const char *path = snapshot->path;

	if (snapshot->ooms)
		message_note("%s: out-of-memory errors in the program: %s, the first at entry "
			     "%" PRIu32 ", for %s%s%s%s",
			     path, format_count(snapshot->ooms).text, snapshot->oom_place,
			     format_bytes(snapshot->oom_bytes).text,
			     snapshot->oom_has_free ? ", when the device had " : "",
			     snapshot->oom_has_free ? format_bytes(snapshot->oom_free).text : "",
			     snapshot->oom_has_free ? " left" : "");
	if (history->older)
		message_note("%s: blocks older than the history: %s, treated as allocated before "
			     "its first entry",
			     path, format_count(history->older).text);
	if (snapshot->younger)
		message_note("%s: blocks younger than the history: %s, ignored; it was stopped "
			     "before the snapshot was made",
			     path, format_count(snapshot->younger).text);
	if (history->late + history->unknown)
		message_warning("%s: the history has gaps: blocks that are never freed in it: %s; "
				"frees of unknown blocks: %s",
				path, format_count(history->late).text,
				format_count(history->unknown).text);
}

/* Whether mam replay --export wrote it. */
static bool is_ours(const struct pickle *pickle)
{
	struct pickle_value settings = pickle_get(pickle, pickle->root, "allocator_settings");

	return pickle_kind(pickle_get(pickle, settings, "mam")) == PICKLE_TEXT;
}

static bool read_snapshot(struct torch_snapshot *snapshot, struct input *input,
			  struct replay_build *build)
{
	if (!load(snapshot, input) || !choose_device(snapshot, build))
		return false;
	snapshot->is_ours = is_ours(&snapshot->pickle);
	if (!history_init(&snapshot->history) ||
	    !torch_frames_init(&snapshot->frames, &snapshot->pickle, &snapshot->history.names))
		return torch_fail_memory(snapshot);
	if (!read_entries(snapshot) || !torch_blocks_read(snapshot) ||
	    !history_report(&snapshot->history, build, false))
		return false;
	if (snapshot->reserved_max < (double)INT64_MAX)
		build->trace->recorded_reserved_peak = (uint64_t)snapshot->reserved_max;
	progress_end();
	say(snapshot);
	return true;
}

/* A truncated snapshot is useless even with --salvage: its outer containers are missing. */
bool read_torch(struct input *input, struct replay_build *build, bool salvage)
{
	struct torch_snapshot snapshot = { .path = build->trace->path, .sink = build->sink };
	bool good = read_snapshot(&snapshot, input, build);

	(void)salvage;
	progress_end();
	free(snapshot.stacks);
	torch_frames_fini(&snapshot.frames);
	idtable_fini(&snapshot.states);
	history_fini(&snapshot.history);
	pickle_fini(&snapshot.pickle);
	return good;
}
