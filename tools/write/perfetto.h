/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - what the two halves of the writer of Perfetto's JSON share.
 *
 *   write_perfetto.c   the file, its counters, and the failures
 *   perfetto_slices.c  a slice a block, on tracks where they do not overlap
 */
#ifndef TOOLS_PERFETTO_H
#define TOOLS_PERFETTO_H

#include "write/export.h"
#include "write/lanes.h"

#define PERFETTO_SLICES 100000 /* most; the smallest blocks of more have none */
#define PERFETTO_LANES 4096    /* most tracks */
#define PERFETTO_GROUPS 64     /* most groups of tracks; what comes later shares the last */

#define PERFETTO_PROCESS 1 /* the number of the counters' process; groups have those behind it */

/* Blocks of one stream, or of one thread. */
struct perfetto_group {
	uint64_t key;
	struct lanes lanes;
	uint32_t tracks[PERFETTO_LANES]; /* of each lane, the number of its track */
};

struct perfetto_slices {
	const struct export_job *job;
	struct perfetto_group *groups;
	uint32_t group_count;
	uint32_t track_count; /* of all groups */
	uint32_t *lanes;      /* of each block: its lane while it has one, or one of those below */
	uint32_t count;       /* slices so far */
	uint32_t left_out;    /* blocks that have none */
	bool by_thread;       /* not by stream */
	bool no_memory;
};

/* perfetto_slices_init - choose the blocks that get a slice. False: no memory, nothing to undo. */
bool perfetto_slices_init(struct perfetto_slices *slices, const struct export_job *job);
void perfetto_slices_fini(struct perfetto_slices *slices);

/* A block that has a place was born, and its slice is written if it gets one; and it died. */
void perfetto_slices_birth(struct perfetto_slices *slices, uint32_t block);
void perfetto_slices_death(struct perfetto_slices *slices, uint32_t block);

/* Parts of an event: a time, what a process or thread is called, and all that is known of a block,
 * which ends the event. */
void perfetto_put_time(FILE *file, const char *key, uint64_t ns);
void perfetto_put_name(FILE *file, const char *what, uint32_t process, uint32_t track,
		       const char *name, uint32_t order);
void perfetto_put_block(const struct export_job *job, uint32_t block);

#endif
