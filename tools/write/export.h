/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - a replay in files of other tools.
 *
 *   export.c          which file is which, and the way into it
 *   write_perfetto.c  FILE.json: counters and slices, for Perfetto and other viewers of traces
 *   write_snapshot.c  FILE.pickle: a snapshot of memory, for PyTorch's viewer
 *   write_trace.c     FILE.trace: a trace as in mam-trace(5), whatever the trace was before
 */
#ifndef TOOLS_EXPORT_H
#define TOOLS_EXPORT_H

#include "map/map.h"

struct export_job {
	FILE *file;
	const char *path; /* for messages */
	const struct map *map;
	const struct replay_trace *trace; /* the map's */
	const struct replay_settings *settings;
};

/* export_known - may a list of files, apart by commas, be written? False: no, and that was said. */
bool export_known(const char *list);

/*
 * export_write - write each file of the list, whole or not at all. False: one could not be, which
 * was said; those before it in the list are there.
 */
bool export_write(const struct map *map, const struct replay_settings *settings, const char *list);

/* The kinds of files. False: writing failed, errno says why. */
bool write_perfetto(const struct export_job *job);
bool write_snapshot(const struct export_job *job);
bool write_trace(const struct export_job *job);

/* export_ns - when an event was; a microsecond each where the trace does not tell. */
static inline uint64_t export_ns(const struct replay_trace *trace, uint32_t event)
{
	return trace->times ? trace->times[event] : (uint64_t)event * 1000;
}

/* export_address - of a block that has a place. */
uint64_t export_address(const struct map *map, uint32_t block);

/* export_who - who asked for a block; "" where nobody said. */
static inline const char *export_who(const struct replay_trace *trace, uint32_t block)
{
	return trace->origins && trace->name_count ? trace->names[trace->origins[block].who] : "";
}

/* export_progress - say how far a writer is; call it at each event. */
void export_progress(const struct export_job *job, uint32_t event);

#endif
