/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_load.c - read the events of a file, and compute a profile from them.
 *
 * 1. The readers of mam replay pass the events to a sink, which counts them per stack, tag and call
 *    site (profile_count.c). Comments define the frames (profile_stacks.c).
 * 2. At the end of the file each of these leaves gets a node (profile_resolve.c). Several may get
 *    the same: two addresses in one source line.
 * 3. The counts of leaves with the same node are added, moment by moment.
 */
#include "profile/profile_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mam/trace.h>

#include "kit/format.h"
#include "kit/message.h"
#include "kit/percent.h"
#include "kit/progress.h"
#include "kit/widen.h"
#include "profile/profile_count.h"
#include "profile/profile_merge.h"
#include "profile/profile_stacks.h"
#include "read/read.h"

#define STACK_BITS 39 /* larger numbers of stacks are unknown ones */
#define WHO_BIT ((uint64_t)1 << STACK_BITS)

/* The origin of allocations: a stack; without one, a call site. */
struct origin {
	uint64_t stack; /* 0: unknown */
	uint32_t who;   /* name; 0: none */
	uint32_t tag;   /* name, as in the file; 0: none */
};

struct loader {
	const char *path, *place;
	uint64_t device; /* REPLAY_DEFAULT: all */
	struct profile_count count;
	struct profile_stacks stacks;
	struct idtable leaf_ids; /* key of an origin -> leaf */
	struct origin *origins;  /* of each leaf */
	uint32_t origin_room;
	uint32_t *blocks; /* of each allocation its leaf; NULL unless keeps_blocks */
	uint32_t block_count, block_room;
	bool keeps_blocks;
	uint64_t devices; /* set of those seen, modulo 64 */
	bool skipped;     /* events of other devices */
};

static bool no_memory(const struct loader *loader)
{
	progress_end();
	message_error("%s: out of memory", loader->path);
	return false;
}

static uint64_t key_of(const struct origin *origin)
{
	uint64_t key = origin->stack < WHO_BIT ? origin->stack : WHO_BIT - 1;

	if (origin->stack == 0 && origin->who)
		key = WHO_BIT | origin->who;
	return key | (uint64_t)origin->tag << (STACK_BITS + 1);
}

/* The leaf of an allocation; PROFILE_NONE: out of memory. */
static uint32_t leaf_of(struct loader *loader, const struct replay_told *told)
{
	struct profile_tree *tree = loader->stacks.tree;
	struct origin origin = { .stack = told->stack };
	uint32_t *leaf;

	if (told->stack == 0 && told->who_bytes)
		origin.who = profile_tree_name(tree, told->who, told->who_bytes);
	if (told->tag_bytes)
		origin.tag = profile_tree_name(tree, told->tag, told->tag_bytes);
	if (origin.who == PROFILE_NONE || origin.tag == PROFILE_NONE)
		return PROFILE_NONE;
	leaf = idtable_at(&loader->leaf_ids, key_of(&origin));
	if (!leaf)
		return PROFILE_NONE;
	if (*leaf != IDTABLE_NONE)
		return *leaf;
	if (!widen_32(&loader->origins, loader->count.leaf_count, &loader->origin_room,
		      sizeof(*loader->origins)))
		return PROFILE_NONE;
	*leaf = profile_count_new(&loader->count);
	if (*leaf != PROFILE_NONE)
		loader->origins[*leaf] = origin;
	return *leaf;
}

static bool keep_block(struct loader *loader, uint32_t leaf)
{
	if (!widen_32(&loader->blocks, loader->block_count, &loader->block_room,
		      sizeof(*loader->blocks)))
		return false;
	loader->blocks[loader->block_count++] = leaf;
	return true;
}

static bool take_alloc(void *user, const struct replay_told *told)
{
	struct loader *loader = user;
	uint32_t leaf = PROFILE_NONE;

	if (told->has_device)
		loader->devices |= (uint64_t)1 << (told->device & 63);
	if (loader->count.events == 0)
		loader->count.sample_rate = loader->stacks.sample_rate;
	if (!profile_count_time(&loader->count, told->has_time, told->time))
		return no_memory(loader);
	if (loader->device == REPLAY_DEFAULT ||
	    (told->has_device ? told->device : 0) == loader->device) {
		leaf = leaf_of(loader, told);
		if (leaf == PROFILE_NONE)
			return no_memory(loader);
	} else {
		loader->skipped = true;
	}
	if (leaf != PROFILE_NONE && loader->keeps_blocks && !keep_block(loader, leaf))
		return no_memory(loader);
	switch (profile_count_alloc(&loader->count, told->id, told->bytes, leaf)) {
	case PROFILE_COUNTED: return true;
	case PROFILE_NO_MEMORY: return no_memory(loader);
	case PROFILE_REFUSED:
	default: break;
	}
	progress_end();
	message_error("%s: %s %" PRIu64 ": block %" PRIu64 " is allocated again before it is freed",
		      loader->path, loader->place, told->place, told->id);
	return false;
}

static bool take_free(void *user, const struct replay_told *told)
{
	struct loader *loader = user;

	if (!profile_count_time(&loader->count, told->has_time, told->time))
		return no_memory(loader);
	switch (profile_count_free(&loader->count, told->id)) {
	case PROFILE_COUNTED: return true;
	case PROFILE_NO_MEMORY: return no_memory(loader);
	case PROFILE_REFUSED:
	default: break;
	}
	progress_end();
	message_error("%s: %s %" PRIu64 ": invalid free: block %" PRIu64 " is not live",
		      loader->path, loader->place, told->place, told->id);
	return false;
}

static bool is_live(void *user, uint64_t id)
{
	const struct loader *loader = user;

	return profile_blocks_has(&loader->count.blocks, id);
}

static bool take_comment(void *user, const char *text, size_t bytes)
{
	struct loader *loader = user;

	return profile_stacks_comment(&loader->stacks, text, bytes) || no_memory(loader);
}

static bool take_stack(void *user, uint64_t stack, const struct replay_frame *frames, size_t count)
{
	struct loader *loader = user;

	return profile_stacks_add(&loader->stacks, stack, frames, count) || no_memory(loader);
}

static bool read_events(struct loader *loader)
{
	const struct replay_sink sink = { take_alloc,   take_free,  is_live,
					  take_comment, take_stack, loader };
	unsigned char head[INPUT_HEAD_BYTES];
	const struct read_format *format;
	struct replay_build build;
	struct replay_trace trace;
	struct input *input = input_open(loader->path);
	bool good;

	if (!input)
		return false;
	format = read_format_of(head, input_head(input, head));
	loader->place = format->place;
	replay_build_init(&build, &trace, loader->path, format->place);
	trace.next_device = REPLAY_DEFAULT;
	build.sink = &sink;
	build.device = loader->device == REPLAY_DEFAULT ? 0 : loader->device + 1;
	if (strcmp(format->name, "torch") == 0)
		loader->device = REPLAY_DEFAULT; /* its reader selects the device */
	good = format->read(input, &build, true);
	progress_end();
	replay_build_fini(&build);
	replay_trace_fini(&trace);
	input_close(input);
	return good;
}

/* The node of a tag's path: "optimizer/step" is two frames. */
static uint32_t node_of_tag(struct profile_tree *tree, uint32_t tag)
{
	const char *text = tree->names.texts[tag];
	char name[MAM_TRACE_LINE_BYTES];
	uint32_t node = 0;

	while (*text && node != PROFILE_NONE) {
		struct profile_frame frame = { .kind = PROFILE_TAG };
		size_t bytes = strcspn(text, "/");

		/* The name was read from a line, so its parts fit. */
		frame.function = profile_tree_name(tree, name, percent_decode(text, bytes, name));
		if (frame.function == PROFILE_NONE)
			return PROFILE_NONE;
		node = profile_tree_child(tree, node, profile_tree_frame(tree, &frame));
		text += bytes + (text[bytes] == '/');
	}
	return node;
}

static uint32_t node_of(struct loader *loader, const struct origin *origin)
{
	struct profile_tree *tree = loader->stacks.tree;
	struct profile_frame frame = { .kind = PROFILE_NATIVE, .function = origin->who };
	uint32_t node = node_of_tag(tree, origin->tag);

	if (node == PROFILE_NONE)
		return PROFILE_NONE;
	if (origin->stack || !origin->who)
		return profile_stacks_node(&loader->stacks, node, origin->stack);
	return profile_tree_child(tree, node, profile_tree_frame(tree, &frame));
}

static bool end(struct loader *loader, struct profile *profile)
{
	const struct profile_count *count = &loader->count;
	uint32_t *nodes = malloc((count->leaf_count + 1) * sizeof(*nodes));
	bool good = nodes && profile_count_end(&loader->count);

	for (uint32_t i = 0; good && i < count->leaf_count; i++) {
		nodes[i] = node_of(loader, &loader->origins[i]);
		good = nodes[i] != PROFILE_NONE;
	}
	good = good && profile_merge(profile, count, nodes, loader->stacks.tree->node_count);
	free(nodes);
	if (!good)
		return no_memory(loader);
	profile_share(profile, loader->stacks.tree);
	profile->sample_rate = count->sample_rate;
	if (loader->stacks.invalid)
		message_warning("%s: comments that look like frames and are invalid: %s, ignored",
				loader->path, format_count(loader->stacks.invalid).text);
	if (loader->device == REPLAY_DEFAULT && (loader->devices & (loader->devices - 1)))
		message_note("%s: all devices together; --device N selects one", loader->path);
	return true;
}

static void loader_fini(struct loader *loader)
{
	profile_stacks_fini(&loader->stacks);
	profile_count_fini(&loader->count);
	idtable_fini(&loader->leaf_ids);
	free(loader->origins);
	free(loader->blocks);
}

bool profile_load(struct profile *profile, struct profile_tree *tree, const char *path,
		  const struct profile_load_settings *settings)
{
	struct loader loader = { .path = path, .device = settings->device };
	bool good = profile_count_init(&loader.count) || no_memory(&loader);

	*profile = (struct profile){ .path = path };
	profile_stacks_init(&loader.stacks, tree);
	for (int i = 0; i < 2; i++)
		loader.count.wanted[i] = settings->wanted[i];
	good = good && read_events(&loader) && end(&loader, profile);
	loader_fini(&loader);
	if (!good)
		profile_fini(profile);
	return good;
}

/* The readers pass the same allocations in the same order to a trace and to a sink. */
static bool fill_blocks(struct loader *loader, uint32_t block_count, uint32_t *nodes)
{
	uint32_t *of_leaf = malloc((loader->count.leaf_count + 1) * sizeof(*of_leaf));
	bool good = loader->block_count == block_count;

	if (of_leaf == NULL)
		return false;
	for (uint32_t i = 0; good && i < loader->count.leaf_count; i++) {
		of_leaf[i] = node_of(loader, &loader->origins[i]);
		good = of_leaf[i] != PROFILE_NONE;
	}
	for (uint32_t i = 0; good && i < block_count; i++)
		nodes[i] = of_leaf[loader->blocks[i]];
	free(of_leaf);
	return good;
}

bool profile_load_blocks(struct profile_tree *tree, const struct replay_trace *trace,
			 uint32_t *nodes)
{
	struct loader loader = {
		.path = trace->path,
		.device = trace->device_count > 1 ? trace->device : REPLAY_DEFAULT,
		.keeps_blocks = true,
	};
	bool good = profile_count_init(&loader.count);

	profile_stacks_init(&loader.stacks, tree);
	good = good && read_events(&loader) && fill_blocks(&loader, trace->block_count, nodes);
	loader_fini(&loader);
	return good;
}

void profile_share(struct profile *profile, const struct profile_tree *tree)
{
	profile->names = tree->names;
	profile->frames = tree->frames;
	profile->nodes = tree->nodes;
	profile->frame_count = tree->frame_count;
	profile->node_count = tree->node_count;
}

void profile_fini(struct profile *profile)
{
	free(profile->leaves);
	free(profile->moments);
	free(profile->changes);
	*profile = (struct profile){ .path = profile->path };
}
