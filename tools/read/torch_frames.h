/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_frames.h - of the stack frames that PyTorch records for an allocation, select the one that
 * best describes its origin.
 */
#ifndef TOOLS_TORCH_FRAMES_H
#define TOOLS_TORCH_FRAMES_H

#include "kit/names.h"
#include "read/pickle.h"
#include "replay/replay_build.h"

struct torch_frames {
	const struct pickle *pickle;
	struct names *names;
	uint32_t *known; /* the cached result for each box of the pickle; 0: none yet */
};

/* torch_frames_init - false: out of memory, and nothing needs to be freed. */
bool torch_frames_init(struct torch_frames *frames, const struct pickle *pickle,
		       struct names *names);
void torch_frames_fini(struct torch_frames *frames);

/*
 * torch_frames_who - the index in names of "file.py:12 function" for a list of frames, innermost
 * first: the first one outside of PyTorch; otherwise the first Python frame; otherwise the backward
 * pass's node, or the first C++ frame outside of the allocator. 0: none. False: out of memory.
 *
 * All calls together take O(frames of the pickle).
 */
bool torch_frames_who(struct torch_frames *frames, struct pickle_value list, uint32_t *who);

/*
 * torch_frames_is_inner - whether a C++ function is on the path from a program to its memory: part
 * of the allocator or of its unwinder, according to its name. So is one without a name.
 */
bool torch_frames_is_inner(const struct replay_frame *frame);

#endif
