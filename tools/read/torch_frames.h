/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_frames.h - of the frames that PyTorch notes for an allocation, the one that tells people
 * where it came from.
 */
#ifndef TOOLS_TORCH_FRAMES_H
#define TOOLS_TORCH_FRAMES_H

#include "kit/names.h"
#include "read/pickle.h"

struct torch_frames {
	const struct pickle *pickle;
	struct names *names;
	uint32_t
		*known; /* of each box of the pickle: what was found out about it, 0: nothing yet */
};

/* torch_frames_init - false: no memory; nothing to give back. */
bool torch_frames_init(struct torch_frames *frames, const struct pickle *pickle,
		       struct names *names);
void torch_frames_fini(struct torch_frames *frames);

/*
 * torch_frames_who - the number among names of "file.py:12 function" for a list of frames, the
 * innermost one first: the first one that is not PyTorch's own; else the first one of Python; else
 * the backward pass's node, or the first one of C++ that is not the allocator's. 0: there is none.
 * False: no memory.
 * All calls together take O(the pickle's frames).
 */
bool torch_frames_who(struct torch_frames *frames, struct pickle_value list, uint32_t *who);

#endif
