/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_resolve.c - from the frames of the file to nodes.
 *
 * 1. The depth of a frame follows from its caller's. A loop computes it from the outermost frame
 *    inward, so each frame is visited a few times at most, and chains may have any length.
 * 2. A frame becomes frames of the tree once: native code may have several by inlining.
 * 3. The node of a stack is that of its caller, and its own frames below. Each is kept in a table.
 * 4. The frames of a CUDA runtime that is linked into the program are left out, and those of the
 *    inline functions in its header.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_stacks.h"
#include "kit/widen.h"
#include "symbols/symbols.h"

#define INLINED_MAX 64
#define RUNTIME_MAX 32 /* frames of a static runtime */
#define IN_PROGRESS UINT32_MAX

/* Compute the depths of a frame and its callers. */
static void find_depth(struct profile_stacks *stacks, uint32_t index)
{
	uint32_t count = 0;

	while (index != PROFILE_NONE && stacks->stacks[index].depth == 0) {
		struct profile_stack *stack = &stacks->stacks[index];

		stack->depth = IN_PROGRESS;
		stacks->walk[count++] = index;
		index = stack->parent ? idtable_find(&stacks->stack_ids, stack->parent)
				      : PROFILE_NONE;
		stack->lost = stack->parent && index == PROFILE_NONE;
	}
	if (count && index != PROFILE_NONE && stacks->stacks[index].depth == IN_PROGRESS) {
		stacks->stacks[stacks->walk[count - 1]].lost = true; /* a cycle */
		index = PROFILE_NONE;
	}
	while (count > 0) {
		struct profile_stack *stack = &stacks->stacks[stacks->walk[--count]];
		const struct profile_stack *up =
			index == PROFILE_NONE ? NULL : &stacks->stacks[index];

		stack->up = index;
		stack->depth = up ? up->depth + 1 : 1;
		if (stack->depth > PROFILE_DEPTH_MAX) {
			stack->cut = up->depth == PROFILE_DEPTH_MAX ? index : up->cut;
			stack->depth = PROFILE_DEPTH_MAX + 1;
		}
		index = stacks->walk[count];
	}
}

/* Add a frame of the tree to those of the stack resolved last. */
static bool add_frame(struct profile_stacks *stacks, struct profile_stack *stack, uint32_t frame)
{
	if (frame == PROFILE_NONE || !widen_32(&stacks->frames, stacks->frame_count,
					       &stacks->frame_room, sizeof(*stacks->frames)))
		return false;
	stacks->frames[stacks->frame_count++] = frame;
	stack->frame_count++;
	return true;
}

/* cudaMalloc() of a typed pointer, and others: CUDA's header has them as inline functions. */
static bool is_wrapper(const struct symbol *symbol)
{
	const char *slash = strrchr(symbol->file, '/');

	return strcmp(slash ? slash + 1 : symbol->file, "cuda_runtime.h") == 0;
}

/* Add the frames that symbols_find() found, except those of CUDA's runtime. *count 0: none. */
static bool add_symbols(struct profile_stacks *stacks, struct profile_stack *stack, uint32_t path,
			uint32_t build_id, size_t *count)
{
	struct profile_tree *tree = stacks->tree;
	struct symbol found[INLINED_MAX];

	if (!stacks->symbols)
		stacks->symbols = symbols_create();
	if (!stacks->symbols)
		return false;
	*count = symbols_find(stacks->symbols, tree->names.texts[path],
			      build_id ? tree->names.texts[build_id] : NULL, stack->offset, found,
			      INLINED_MAX);
	for (size_t i = *count; i-- > 0;) {
		struct profile_frame frame = { .kind = PROFILE_NATIVE, .line = found[i].line };

		if (stack->parent && is_wrapper(&found[i]))
			continue;
		frame.module = stack->kind == STACK_NATIVE ? path : 0;
		frame.function =
			profile_tree_name(tree, found[i].function, strlen(found[i].function));
		frame.file = profile_tree_name(tree, found[i].file, strlen(found[i].file));
		if (frame.function == PROFILE_NONE || frame.file == PROFILE_NONE ||
		    !add_frame(stacks, stack, profile_tree_frame(tree, &frame)))
			return false;
	}
	return true;
}

/* Code without a symbol: "libx.so+0x12a0", or its address. */
static bool add_nameless(struct profile_stacks *stacks, struct profile_stack *stack,
			 uint32_t module)
{
	struct profile_tree *tree = stacks->tree;
	const char *path = tree->names.texts[module], *slash = strrchr(path, '/');
	struct profile_frame frame = { .kind = PROFILE_UNKNOWN, .module = module };
	char name[256];

	if (stack->kind == STACK_NATIVE)
		snprintf(name, sizeof(name), "%.*s+0x%" PRIx64, 200,
			 !module ? "(unknown file)"
			 : slash ? slash + 1
				 : path,
			 stack->offset);
	else
		snprintf(name, sizeof(name), "0x%" PRIx64, stack->offset);
	frame.function = profile_tree_name(tree, name, strlen(name));
	return frame.function != PROFILE_NONE &&
	       add_frame(stacks, stack, profile_tree_frame(tree, &frame));
}

static bool resolve_native(struct profile_stacks *stacks, struct profile_stack *stack)
{
	uint32_t path = stacks->perf_map, build_id = 0;
	size_t count = 0;

	if (stack->kind == STACK_NATIVE) {
		uint32_t module = idtable_find(&stacks->module_ids, stack->module);

		path = module == IDTABLE_NONE ? 0 : stacks->modules[module].path;
		build_id = module == IDTABLE_NONE ? 0 : stacks->modules[module].build_id;
	}
	if (path && !add_symbols(stacks, stack, path, build_id, &count))
		return false;
	return count > 0 || add_nameless(stacks, stack, stack->kind == STACK_NATIVE ? path : 0);
}

/* Find the frames of the tree that a frame of the file stands for. False: out of memory. */
static bool resolve(struct profile_stacks *stacks, struct profile_stack *stack)
{
	struct profile_frame frame = { .kind = PROFILE_PYTHON };

	if (stack->resolved)
		return true;
	stack->resolved = true;
	stack->first_frame = stacks->frame_count;
	if (stack->kind != STACK_PYTHON)
		return resolve_native(stacks, stack);
	frame.function = stack->function;
	frame.file = stack->file;
	frame.line = stack->line;
	return add_frame(stacks, stack, profile_tree_frame(stacks->tree, &frame));
}

static uint32_t unknown_below(struct profile_stacks *stacks, uint32_t node, const char *text)
{
	return profile_tree_child(stacks->tree, node, profile_tree_unknown(stacks->tree, text));
}

/* Add the frames of a stack below the node of its caller. */
static uint32_t descend(struct profile_stacks *stacks, uint32_t node, uint32_t index)
{
	struct profile_stack *stack = &stacks->stacks[index];

	if (!resolve(stacks, stack))
		return PROFILE_NONE;
	for (uint32_t i = 0; i < stack->frame_count; i++)
		node = profile_tree_child(stacks->tree, node,
					  stacks->frames[stack->first_frame + i]);
	return node;
}

/* The node of a stack that is not too deep. */
static uint32_t node_of(struct profile_stacks *stacks, uint32_t below, uint32_t index)
{
	uint32_t chain[PROFILE_DEPTH_MAX], count = 0, node = below, *known;

	while (index != PROFILE_NONE) {
		uint32_t found = idtable_find(&stacks->nodes, (uint64_t)below << 32 | index);

		if (found != IDTABLE_NONE) {
			node = found;
			break;
		}
		chain[count++] = index;
		if (stacks->stacks[index].lost)
			node = unknown_below(stacks, below, "(unknown stack)");
		index = stacks->stacks[index].up;
	}
	while (count > 0 && node != PROFILE_NONE) {
		index = chain[--count];
		node = descend(stacks, node, index);
		known = idtable_at(&stacks->nodes, (uint64_t)below << 32 | index);
		if (!known)
			return PROFILE_NONE;
		*known = node;
	}
	return node;
}

/* The name of the innermost of the frames that a native frame stands for. */
static const char *name_of(const struct profile_stacks *stacks, const struct profile_stack *stack)
{
	const struct profile_tree *tree = stacks->tree;
	uint32_t frame;

	if (stack->kind != STACK_NATIVE || stack->frame_count == 0)
		return "";
	frame = stacks->frames[stack->first_frame + stack->frame_count - 1];
	return tree->names.texts[tree->frames[frame].function];
}

/*
 * The frame that called CUDA's runtime, for a stack that ends in the one that is linked into the
 * program: its functions have meaningless names, and cudaMalloc() itself is the last of them. Of the
 * shared runtime there are no frames (interpose/profile/stacks.h). False: out of memory.
 */
static bool leave_runtime(struct profile_stacks *stacks, uint32_t *index)
{
	struct profile_stack *stack = &stacks->stacks[*index];
	uint32_t inside = 0;

	for (; inside < RUNTIME_MAX; inside++) {
		if (!resolve(stacks, stack))
			return false;
		if (strncmp(name_of(stacks, stack), "libcudart_static_", 17) != 0)
			break;
		if (stack->up == PROFILE_NONE)
			return true;
		*index = stack->up;
		stack = &stacks->stacks[*index];
	}
	if (inside > 0 && stack->up != PROFILE_NONE &&
	    strncmp(name_of(stacks, stack), "cuda", 4) == 0)
		*index = stack->up;
	return true;
}

uint32_t profile_stacks_node(struct profile_stacks *stacks, uint32_t below, uint64_t number)
{
	uint32_t index = number ? idtable_find(&stacks->stack_ids, number) : IDTABLE_NONE;
	const struct profile_stack *stack;

	if (index == IDTABLE_NONE)
		return unknown_below(stacks, below, "(unknown stack)");
	stack = &stacks->stacks[index];
	if (stack->kind == STACK_NODE)
		return stack->line;
	if (!stacks->walk)
		stacks->walk = malloc(stacks->stack_count * sizeof(*stacks->walk));
	if (!stacks->walk)
		return PROFILE_NONE;
	find_depth(stacks, index);
	if (!leave_runtime(stacks, &index))
		return PROFILE_NONE;
	stack = &stacks->stacks[index];
	if (stack->depth > PROFILE_DEPTH_MAX)
		return profile_tree_child(
			stacks->tree, node_of(stacks, below, stack->cut),
			profile_tree_deeper(stacks->tree,
					    stacks->stacks[stack->cut].kind == STACK_PYTHON));
	return node_of(stacks, below, index);
}
