/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - export a replay to the file formats of other tools.
 *
 *   export.c          selects the format, opens and closes the file
 *   write_perfetto.c  FILE.json: counters and slices, for Perfetto and other trace viewers
 *   write_snapshot.c  FILE.pickle: a memory snapshot, for PyTorch's viewer
 *   write_trace.c     FILE.trace: a trace as in mam-trace(5), converted from any input format
 */
#ifndef TOOLS_EXPORT_H
#define TOOLS_EXPORT_H

#include "map/map.h"

struct export_job {
	FILE *file;
	const char *path; /* for messages */
	const struct map *map;
	const struct replay_trace *trace; /* that of the map */
	const struct replay_settings *settings;
};

/*
 * export_known - whether all files of a comma-separated list have a known suffix. False: no
 * (reported).
 */
bool export_known(const char *list);

/*
 * export_write - write each file of the list, completely or not at all. False: one failed
 * (reported); those before it in the list exist.
 */
bool export_write(const struct map *map, const struct replay_settings *settings, const char *list);

/* One writer per format. False: writing failed, and errno has the reason. */
bool write_perfetto(const struct export_job *job);
bool write_snapshot(const struct export_job *job);
bool write_trace(const struct export_job *job);

/* export_ns - the time of an event. Without times in the trace, events are a microsecond apart. */
static inline uint64_t export_ns(const struct replay_trace *trace, uint32_t event)
{
	return trace->times ? trace->times[event] : (uint64_t)event * 1000;
}

/* export_address - the address of a block that has a place in the map. */
uint64_t export_address(const struct map *map, uint32_t block);

/* export_who - the call site of a block; "" if unknown. */
static inline const char *export_who(const struct replay_trace *trace, uint32_t block)
{
	return trace->origins && trace->name_count ? trace->names[trace->origins[block].who] : "";
}

/* export_progress - show the progress of a writer; call it for each event. */
void export_progress(const struct export_job *job, uint32_t event);

#endif
