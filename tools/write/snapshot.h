/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - what the halves of the writer of PyTorch's snapshots share.
 *
 *   write_snapshot.c     the whole, and what happened
 *   snapshot_segments.c  what there is in the end
 *   snapshot_frames.c    who asked, as a stack
 *
 * Viewers go backwards from the segments through the events, so that both must fit together: every
 * block lies in a segment at any time, and what the events lead to is what the segments hold.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include "write/export.h"
#include "write/pickle_put.h"

#define SNAPSHOT_NOBODY UINT32_MAX /* as a block: none */

struct snapshot {
	const struct export_job *job;
	struct pickle_put put;
	uint32_t *spelt; /* of each name: the number its stack was kept under, from 1; 0: not put */
	uint32_t spelt_count;
	bool *is_open; /* of each chunk: its segment_alloc was put */
};

/* snapshot_number - as much of it as a pickle's number holds. */
static inline int64_t snapshot_number(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* A key of a dictionary and its value. */
void snapshot_put_number(struct snapshot *snapshot, const char *key, int64_t number);
void snapshot_put_word(struct snapshot *snapshot, const char *key, const char *word);
void snapshot_put_bool(struct snapshot *snapshot, const char *key, bool is);

/* snapshot_put_frames - the key `frames` and the stack of a block; SNAPSHOT_NOBODY: an empty one. */
void snapshot_put_frames(struct snapshot *snapshot, uint32_t block);

/* snapshot_put_segments - the key `segments` and all of them. False: no memory. */
bool snapshot_put_segments(struct snapshot *snapshot);

#endif
