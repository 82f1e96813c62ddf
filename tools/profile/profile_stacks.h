/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_stacks.h - the frames that a profile's comments define (mam-trace(5), PROFILES), and the
 * nodes of stacks that end at them.
 *
 * The file is untrusted. Of two frames, or modules, with one number the first counts. A stack with
 * a frame that the file does not define, or whose callers form a cycle, ends there, below
 * "(unknown stack)". Of a stack of more than PROFILE_DEPTH_MAX frames the inner ones become
 * "(deeper frames)". A comment that is not a valid frame is ignored and counted.
 */
#ifndef TOOLS_PROFILE_STACKS_H
#define TOOLS_PROFILE_STACKS_H

#include "profile/profile_tree.h"
#include "replay/replay_build.h"

#define PROFILE_DEPTH_MAX 1024

struct symbols;

/* A frame as in the file. */
struct profile_stack {
	uint64_t parent; /* its number in the file; 0: none */
	uint64_t offset; /* of native frames, in the module; otherwise an address */
	uint64_t module; /* number of native frames' modules in the file */
	enum { STACK_NATIVE, STACK_ADDRESS, STACK_PYTHON, STACK_NODE } kind;
	uint32_t function, file; /* names of Python frames */
	uint32_t line;           /* likewise; of STACK_NODE: the node */

	/* Computed when the file is complete. */
	uint32_t up;          /* the caller's index; PROFILE_NONE: none */
	uint32_t depth;       /* frames from the outermost one; 0: not computed yet */
	uint32_t cut;         /* of deeper ones: the last frame that is not */
	bool lost;            /* there is a caller, but it is unknown */
	bool resolved;        /* the fields below are set */
	uint32_t first_frame; /* in `frames`: outermost first, inlined ones follow */
	uint32_t frame_count;
};

struct profile_module {
	uint32_t path, build_id; /* names */
};

struct profile_stacks {
	struct profile_tree *tree;
	struct symbols *symbols; /* NULL until the first native frame */
	struct profile_stack *stacks;
	struct profile_module *modules;
	uint32_t *frames; /* of the tree */
	uint32_t stack_count, stack_room;
	uint32_t module_count, module_room;
	uint32_t frame_count, frame_room;
	struct idtable stack_ids, module_ids; /* numbers in the file -> indices */
	struct idtable nodes;                 /* (tag's node, stack) -> node */
	uint32_t *walk;                       /* room for all stacks; NULL: not needed yet */
	uint32_t perf_map;                    /* name: path of the symbols of JIT code; 0: none */
	uint64_t invalid;                     /* count of comments that are not valid frames */
	double sample_rate;                   /* bytes; 0: none */
};

void profile_stacks_init(struct profile_stacks *stacks, struct profile_tree *tree);
void profile_stacks_fini(struct profile_stacks *stacks);

/* profile_stacks_comment - take a comment of a trace. False: out of memory. */
bool profile_stacks_comment(struct profile_stacks *stacks, const char *text, size_t bytes);

/* profile_stacks_add - define a stack by its frames, innermost first. False: out of memory. */
bool profile_stacks_add(struct profile_stacks *stacks, uint64_t number,
			const struct replay_frame *frames, size_t count);

/*
 * profile_stacks_node - the node of a stack below the node of a tag. PROFILE_NONE: out of memory.
 * pre: no comment follows.
 */
uint32_t profile_stacks_node(struct profile_stacks *stacks, uint32_t below, uint64_t number);

#endif
