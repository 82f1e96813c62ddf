/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_snapshot.h - declarations that the readers of PyTorch's memory snapshot share.
 *
 *   read_torch.c    the snapshot, and its events
 *   torch_blocks.c  reserved memory and live blocks at its end, and conclusions for its start
 *   torch_stacks.c  the stacks of a profile
 *   torch_frames.c  the stack frame that describes an allocation's origin (torch_frames.h)
 */
#ifndef TOOLS_TORCH_SNAPSHOT_H
#define TOOLS_TORCH_SNAPSHOT_H

#include "read/history.h"
#include "read/pickle.h"
#include "read/torch_frames.h"

#define TORCH_NOTE_MAX 200 /* limit for the bytes of a program's note */

/* The values of `states` for an address that an event mentions. */
enum { TORCH_FREED, TORCH_ALIVE };

struct torch_snapshot {
	const char *path;
	struct pickle pickle;
	size_t device;
	struct pickle_value trace; /* events of the device */
	struct history history;
	struct torch_frames frames;
	const struct replay_sink *sink; /* of a profile, which gets the stacks, too; NULL: none */
	bool *stacks;                   /* of each box of the pickle, whether it has that stack */
	struct idtable states; /* of the addresses that events mention, after the last event read */
	bool has_requests;     /* the history has free_requested events */
	bool is_ours;          /* written by mam, see snapshot.h */

	double reserved;     /* bytes since the first event; a double, as the file is untrusted */
	double reserved_max; /* its maximum, at least 0 */
	uint64_t younger;    /* blocks alive at the end that were allocated after the last event */
	uint64_t ooms;
	uint64_t oom_bytes; /* of the first: requested bytes, bytes of the device */
	uint64_t oom_free;
	uint32_t oom_place;
	bool oom_has_free;
};

/* torch_reserve - the allocator reserved `bytes` from the driver, or released them. */
void torch_reserve(struct torch_snapshot *snapshot, uint64_t bytes, bool gets);

/*
 * torch_blocks_read - add allocations before the first event for the blocks that are alive at the
 * end and that no event mentions. False: failed (reported).
 */
bool torch_blocks_read(struct torch_snapshot *snapshot);

/* In read_torch.c; torch_fail() and torch_fail_memory() always return false. */
bool torch_fail(const struct torch_snapshot *snapshot, const char *what);
bool torch_fail_memory(const struct torch_snapshot *snapshot);
bool torch_number(const struct torch_snapshot *snapshot, struct pickle_value from, const char *key,
		  uint64_t *number);
bool torch_who(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t *who);

/* torch_stack - the number of an entry's stack, passed to the sink; 0: none. False: failed (reported). */
bool torch_stack(struct torch_snapshot *snapshot, struct pickle_value entry, uint32_t *stack);

#endif
