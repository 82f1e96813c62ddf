/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - declarations that the parts of the PyTorch snapshot writer share.
 *
 *   write_snapshot.c     the file, and the events
 *   snapshot_segments.c  the state after the last event
 *   snapshot_frames.c    the call site, as a stack
 *
 * Viewers start at the segments and undo the events from last to first, so both have to be
 * consistent: every block is in a segment at any time, and the events lead to exactly the blocks of
 * the segments.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include "write/export.h"
#include "write/pickle_put.h"

#define SNAPSHOT_NOBODY UINT32_MAX /* as a block: none */

struct snapshot {
	const struct export_job *job;
	struct pickle_put put;
	uint32_t *spelt; /* of each name: number of its stored stack, from 1; 0: none yet */
	uint32_t spelt_count;
	bool *is_open; /* of each chunk: its segment_alloc was written */
};

/* snapshot_number - the number, limited to the range of integers in a pickle. */
static inline int64_t snapshot_number(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* Write a key of a dictionary and its value. */
void snapshot_put_number(struct snapshot *snapshot, const char *key, int64_t number);
void snapshot_put_word(struct snapshot *snapshot, const char *key, const char *word);
void snapshot_put_bool(struct snapshot *snapshot, const char *key, bool is);

/*
 * snapshot_put_frames - write the key `frames` and the stack of a block; an empty one for
 * SNAPSHOT_NOBODY.
 */
void snapshot_put_frames(struct snapshot *snapshot, uint32_t block);

/* snapshot_put_segments - write the key `segments` and all segments. False: out of memory. */
bool snapshot_put_segments(struct snapshot *snapshot);

#endif
