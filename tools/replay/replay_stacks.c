/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_stacks.c - the call stacks of the blocks of a heap map.
 *
 * A trace has no stacks: mam replay has no other use for them. So the map's file is read a second
 * time, as a profile.
 */
#include "replay/replay_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "kit/message.h"
#include "profile/profile_load.h"

/* Whether a block has a frame that is known. */
static bool has_stacks(const struct replay_stacks *map, const struct replay_trace *trace)
{
	const struct profile_tree *tree = &map->tree;

	for (uint32_t i = 0; i < trace->block_count; i++) {
		const struct profile_node *node = &tree->nodes[map->nodes[i]];

		if (tree->frames[node->frame].kind != PROFILE_UNKNOWN || node->parent)
			return true;
	}
	return false;
}

struct replay_stacks *replay_stacks_create(const struct replay_trace *trace)
{
	struct replay_stacks *map;
	bool good;

	if (!trace->has_stacks || strcmp(trace->path, "-") == 0)
		return NULL;
	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	map->nodes = calloc((size_t)trace->block_count + 1, sizeof(*map->nodes));
	message_hush(true); /* the first reader has reported everything */
	good = profile_tree_init(&map->tree) && map->nodes &&
	       profile_load_blocks(&map->tree, trace, map->nodes) && has_stacks(map, trace);
	message_hush(false);
	if (good)
		return map;
	replay_stacks_destroy(map);
	return NULL;
}

void replay_stacks_destroy(struct replay_stacks *map)
{
	if (!map)
		return;
	profile_tree_fini(&map->tree);
	free(map->nodes);
	free(map);
}

void replay_stacks_put_names(FILE *file, const struct replay_stacks *map)
{
	putc('[', file);
	for (uint32_t i = 0; i < map->tree.names.count; i++) {
		fputs(i ? ",\n" : "", file);
		page_text(file, map->tree.names.texts[i]);
	}
	putc(']', file);
}

void replay_stacks_put(struct page_numbers *to, const struct replay_stacks *map, uint32_t count)
{
	const struct profile_tree *tree = &map->tree;

	page_numbers_put(to, tree->frame_count);
	for (uint32_t i = 0; i < tree->frame_count; i++) {
		page_numbers_put(to, tree->frames[i].kind);
		page_numbers_put(to, tree->frames[i].function);
		page_numbers_put(to, tree->frames[i].file);
		page_numbers_put(to, tree->frames[i].line);
		page_numbers_put(to, tree->frames[i].module);
	}
	page_numbers_put(to, tree->node_count);
	for (uint32_t i = 1; i < tree->node_count; i++) {
		page_numbers_put(to, tree->nodes[i].parent);
		page_numbers_put(to, tree->nodes[i].frame);
	}
	for (uint32_t i = 0; i < count; i++)
		page_numbers_put(to, map->nodes[i]);
}
