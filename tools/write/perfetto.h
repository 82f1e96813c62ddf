/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - declarations that the two parts of the Perfetto JSON writer share.
 *
 *   write_perfetto.c   the file, its counters, and the failures
 *   perfetto_slices.c  one slice per block, on tracks without overlap
 */
#ifndef TOOLS_PERFETTO_H
#define TOOLS_PERFETTO_H

#include "write/export.h"
#include "write/lanes.h"

#define PERFETTO_SLICES 100000 /* maximum; beyond it the smallest blocks get none */
#define PERFETTO_LANES 4096    /* maximum number of tracks */
#define PERFETTO_GROUPS 64     /* maximum number of track groups; further ones share the last */

#define PERFETTO_PROCESS 1 /* process id of the counters; groups have the following ids */

/* The blocks of one stream, or of one thread. */
struct perfetto_group {
	uint64_t key;
	struct lanes lanes;
	uint32_t tracks[PERFETTO_LANES]; /* the track number of each lane */
};

struct perfetto_slices {
	const struct export_job *job;
	struct perfetto_group *groups;
	uint32_t group_count;
	uint32_t track_count; /* of all groups */
	uint32_t *lanes;      /* of each block: its current lane, or NO_LANE or NO_SLICE */
	uint32_t count;       /* slices so far */
	uint32_t left_out;    /* blocks without a slice */
	bool by_thread;       /* groups are threads, not streams */
	bool no_memory;
};

/*
 * perfetto_slices_init - select the blocks that get a slice. False: out of memory; no cleanup
 * needed.
 */
bool perfetto_slices_init(struct perfetto_slices *slices, const struct export_job *job);
void perfetto_slices_fini(struct perfetto_slices *slices);

/*
 * Report the birth of a block that has a place, which writes its slice if it gets one; and its
 * death.
 */
void perfetto_slices_birth(struct perfetto_slices *slices, uint32_t block);
void perfetto_slices_death(struct perfetto_slices *slices, uint32_t block);

/*
 * Write parts of an event: a time, the name of a process or thread, and all arguments of a block,
 * which end the event.
 */
void perfetto_put_time(FILE *file, const char *key, uint64_t ns);
void perfetto_put_name(FILE *file, const char *what, uint32_t process, uint32_t track,
		       const char *name, uint32_t order);
void perfetto_put_block(const struct export_job *job, uint32_t block);

#endif
