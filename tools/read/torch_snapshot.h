/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_snapshot.h - what the files that read PyTorch's memory snapshot share.
 *
 *   read_torch.c    the snapshot, and its events
 *   torch_blocks.c  what was reserved and alive at its end, and what follows for its beginning
 *   torch_frames.c  which frame tells where an allocation came from (torch_frames.h)
 */
#ifndef TOOLS_TORCH_SNAPSHOT_H
#define TOOLS_TORCH_SNAPSHOT_H

#include "read/history.h"
#include "read/pickle.h"
#include "read/torch_frames.h"

#define TORCH_NOTE_MOST 200 /* bytes of what a program noted */

/* What `states` has for an address that an event tells of. */
enum { TORCH_FREED, TORCH_ALIVE };

struct torch_snapshot {
	const char *path;
	struct pickle pickle;
	size_t device;
	struct pickle_value trace; /* the device's events */
	struct history history;
	struct torch_frames frames;
	struct idtable states; /* of addresses that events told of, after the last one read */
	bool has_requests;     /* there are events free_requested */
	bool is_ours;          /* mam wrote it, see snapshot.h */

	double reserved; /* bytes, since the first event; a double as files may tell anything */
	double reserved_most; /* largest it was, 0 at least */
	uint64_t younger;     /* blocks at the end that were allocated after the last event */
	uint64_t ooms;
	uint64_t oom_bytes; /* of the first: what was asked for, what the device had */
	uint64_t oom_free;
	uint32_t oom_place;
	bool oom_has_free;
};

/* torch_reserve - the allocator got `bytes` from the driver, or gave them back. */
void torch_reserve(struct torch_snapshot *snapshot, uint64_t bytes, bool gets);

/*
 * torch_blocks_read - blocks that are alive at the end and that no event tells of are allocations
 * before the first event. False: it was said why.
 */
bool torch_blocks_read(struct torch_snapshot *snapshot);

/* Of read_torch.c; torch_fail() and torch_fail_memory() are always false. */
bool torch_fail(const struct torch_snapshot *snapshot, const char *what);
bool torch_fail_memory(const struct torch_snapshot *snapshot);
bool torch_number(const struct torch_snapshot *snapshot, struct pickle_value from, const char *key,
		  uint64_t *number);
bool torch_who(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t *who);

#endif
