/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_tree.c - build the frames and nodes of a profile.
 *
 * A frame is four pairs deep: the pair of kind and function has a number, which with the file is a
 * pair, and so on. Two frames are equal exactly if the last pair is.
 */
#include "profile/profile_tree.h"

#include <stdlib.h>
#include <string.h>

#include "kit/widen.h"

static bool add_root(struct profile_tree *tree)
{
	struct profile_frame root = { .kind = PROFILE_ROOT };

	root.function = profile_tree_name(tree, "all", 3);
	if (root.function == PROFILE_NONE || profile_tree_frame(tree, &root) == PROFILE_NONE ||
	    !widen_32(&tree->nodes, 0, &tree->node_room, sizeof(*tree->nodes)))
		return false;
	tree->nodes[tree->node_count++] = (struct profile_node){ PROFILE_NONE, 0 };
	return true;
}

bool profile_tree_init(struct profile_tree *tree)
{
	*tree = (struct profile_tree){ .frame_count = 0 };
	return names_init(&tree->names) && add_root(tree);
}

void profile_tree_fini(struct profile_tree *tree)
{
	names_fini(&tree->names);
	free(tree->frames);
	free(tree->nodes);
	for (int i = 0; i < 4; i++)
		idtable_fini(&tree->pairs[i]);
	idtable_fini(&tree->children);
	*tree = (struct profile_tree){ .frame_count = 0 };
}

uint32_t profile_tree_name(struct profile_tree *tree, const char *text, size_t bytes)
{
	uint32_t number;

	return names_number(&tree->names, text, bytes, &number) ? number : PROFILE_NONE;
}

/* The number of a pair, counted up from 0 in its table. NULL: out of memory. */
static uint32_t *pair(struct idtable *table, uint32_t one, uint32_t other)
{
	uint32_t *number = idtable_at(table, (uint64_t)one << 32 | other);

	if (number && *number == IDTABLE_NONE)
		*number = (uint32_t)table->used - 1;
	return number;
}

uint32_t profile_tree_frame(struct profile_tree *tree, const struct profile_frame *frame)
{
	const uint32_t parts[] = { frame->function, frame->file, frame->line, frame->module };
	uint32_t number = frame->kind;

	for (int i = 0; i < 4; i++) {
		const uint32_t *next = pair(&tree->pairs[i], number, parts[i]);

		if (!next)
			return PROFILE_NONE;
		number = *next;
	}
	if (number < tree->frame_count)
		return number;
	if (!widen_32(&tree->frames, tree->frame_count, &tree->frame_room, sizeof(*tree->frames)))
		return PROFILE_NONE;
	tree->frames[tree->frame_count++] = *frame;
	return number;
}

static uint32_t named(struct profile_tree *tree, enum profile_kind kind, const char *text)
{
	struct profile_frame frame = { .kind = kind };

	frame.function = profile_tree_name(tree, text, strlen(text));
	return frame.function == PROFILE_NONE ? PROFILE_NONE : profile_tree_frame(tree, &frame);
}

uint32_t profile_tree_unknown(struct profile_tree *tree, const char *text)
{
	return named(tree, PROFILE_UNKNOWN, text);
}

uint32_t profile_tree_deeper(struct profile_tree *tree, bool is_python)
{
	return named(tree, is_python ? PROFILE_PYTHON : PROFILE_UNKNOWN, "(deeper frames)");
}

uint32_t profile_tree_child(struct profile_tree *tree, uint32_t node, uint32_t frame)
{
	uint32_t *child;

	if (node == PROFILE_NONE || frame == PROFILE_NONE)
		return PROFILE_NONE;
	child = idtable_at(&tree->children, (uint64_t)node << 32 | frame);
	if (!child)
		return PROFILE_NONE;
	if (*child != IDTABLE_NONE)
		return *child;
	if (!widen_32(&tree->nodes, tree->node_count, &tree->node_room, sizeof(*tree->nodes)))
		return PROFILE_NONE;
	tree->nodes[tree->node_count] = (struct profile_node){ node, frame };
	*child = tree->node_count++;
	return *child;
}
