/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_tree.h - build the frames and nodes of a profile: equal frames, and equal stacks, become
 * one.
 */
#ifndef TOOLS_PROFILE_TREE_H
#define TOOLS_PROFILE_TREE_H

#include "kit/idtable.h"
#include "profile/profile_data.h"

struct profile_tree {
	struct names names;
	struct profile_frame *frames;
	struct profile_node *nodes;
	uint32_t frame_count, frame_room;
	uint32_t node_count, node_room;
	/* Maps of pairs of numbers: (kind, function), with file, with line, with module. */
	struct idtable pairs[4];
	struct idtable children; /* (parent, frame) -> node */
};

/* profile_tree_init - false: out of memory. The caller calls profile_tree_fini() in any case. */
bool profile_tree_init(struct profile_tree *tree);
void profile_tree_fini(struct profile_tree *tree);

/* profile_tree_name - the number of a text; PROFILE_NONE: out of memory. */
uint32_t profile_tree_name(struct profile_tree *tree, const char *text, size_t bytes);

/* profile_tree_frame - the number of a frame; PROFILE_NONE: out of memory. */
uint32_t profile_tree_frame(struct profile_tree *tree, const struct profile_frame *frame);

/* profile_tree_unknown - the frame for an unknown place, which has a text for a name. */
uint32_t profile_tree_unknown(struct profile_tree *tree, const char *text);

/*
 * profile_tree_deeper - the frame in place of those that a stack has beyond the maximum. Python if
 * they are: the place of a stack is its innermost Python frame.
 */
uint32_t profile_tree_deeper(struct profile_tree *tree, bool is_python);

/* profile_tree_child - the node of a frame below another node; PROFILE_NONE: out of memory. */
uint32_t profile_tree_child(struct profile_tree *tree, uint32_t node, uint32_t frame);

#endif
