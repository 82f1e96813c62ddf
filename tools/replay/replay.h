/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - declarations that the files of `mam replay` share.
 *
 *   replay.c         the command line, and file after file
 *   replay_settings.c  default values, and checks for contradictions
 *   replay_trace.c   read a file of any format as a trace (read.h: the formats)
 *   replay_build.c   build a trace: resolve ids, make a compact array (replay_build.h)
 *   replay_devices.c select the device of a trace to play (replay_devices.h)
 *   replay_source.c  the sources on which a replay may run
 *   replay_stacks.c  the call stacks of blocks, for the map (replay_stacks.h)
 *   replay_streams.c plan which block reuses the memory of which other within a stream
 *   replay_walk.c    play a trace once, event after event (replay_walk.h)
 *   replay_play.c    the passes: first a counting one, then timed ones
 *   replay_report.c  print the numbers, for people and for scripts
 *   map.c            record the place of each block, and draw it
 *   export.c         the same for other tools
 *   compare.c        compare several settings (compare.h)
 */
#ifndef TOOLS_REPLAY_H
#define TOOLS_REPLAY_H

#include <stdbool.h>

#include <mam/mam.h>
#include <mam/stats.h>

#include "kit/args.h"
#include "kit/format.h"

struct map;
struct mam_source;

#define REPLAY_DEFAULT (UINT64_MAX - 1) /* for a size: not given */
#define REPLAY_LARGEST UINT64_MAX       /* of --chunk; also "none" of --growth */
#define REPLAY_ALL UINT64_MAX           /* of --device: one replay per device */
#define REPLAY_ALIVE UINT32_MAX         /* death of a block: never freed */
#define REPLAY_NOBODY UINT32_MAX        /* as a block: none */
#define REPLAY_THREADS ((uint64_t)256)  /* maximum number of threads */
#define REPLAY_LAG ((uint64_t)64)       /* events until a freed block is available to all streams */
#define REPLAY_LAG_MAX ((uint64_t)65536)

/* When a freed block may be reused. */
enum replay_free {
	REPLAY_FREE_STREAM = 1,  /* by its stream at once, by all others --lag events later */
	REPLAY_FREE_STRICT = 2,  /* by all at once */
	REPLAY_FREE_DEFERRED = 3 /* by all --lag events later */
};

enum replay_streams { REPLAY_STREAMS_HONOR = 1, REPLAY_STREAMS_IGNORE = 2 };
enum replay_cache { REPLAY_CACHE_OFF = 1, REPLAY_CACHE_ON = 2 };

struct replay_settings {
	const char *source; /* NULL: not given */
	bool simulate;      /* use no driver under the source, even if there is one */
	bool lags;          /* the pool's own streams, of a simulated GPU that lags (vmm) */
	uint64_t chunk_bytes;
	uint64_t growth_bytes;
	uint64_t limit_bytes; /* 0: none */
	uint64_t footprint;   /* percent; 0: off */
	uint64_t granule;     /* REPLAY_DEFAULT: not given */
	uint64_t repeats;     /* count; REPLAY_DEFAULT: not given */
	uint64_t threads;     /* count */
	uint64_t cache;       /* enum replay_cache; 0: not given */
	uint64_t free;        /* enum replay_free; 0: not given */
	uint64_t streams;     /* enum replay_streams */
	uint64_t lag;         /* events; REPLAY_DEFAULT: not given */
	const char *map;      /* file for the map; NULL: none */
	const char *view;     /* of a static map: names of views; NULL: not given */
	const char *at;       /* of its heap strip: an event; NULL: the peak */
	const char *export;   /* comma-separated files to write for other tools; NULL: none */
	const char *compare;  /* settings to compare, "": the default ones; NULL: play one */
	uint64_t format;      /* format of the files: enum read_kind of read.h; 0: not given */
	uint64_t device;      /* number of the GPU; REPLAY_DEFAULT: the one with most events;
			       * REPLAY_ALL */
	bool time;            /* x axis of a static map is time, not events */
	bool check;
	bool salvage;
	bool plain;
	bool quiet;
};

extern const struct args_option replay_options[]; /* for struct replay_settings */

/* replay_settings_begin - mark all settings as not given. */
void replay_settings_begin(struct replay_settings *settings);

/*
 * replay_settings_end - set defaults for settings that were not given, for this number of files.
 * False: the settings contradict each other (reported).
 */
bool replay_settings_end(struct replay_settings *settings, int files);

/* One block of a trace: from its allocation to its free. */
struct replay_block {
	uint64_t id;
	uint64_t bytes; /* requested size */
	uint64_t stream;
	uint32_t birth; /* number of the event, from 0 */
	uint32_t death; /* or REPLAY_ALIVE */
};

/* The origin of an allocation. */
struct replay_origin {
	uint64_t thread;
	uint32_t who; /* index in the names of the trace: a call site, an owner; 0: unknown */
};

/*
 * A complete trace. Event e concerns block events[e] >> 1, and is a free if the lowest bit is set.
 */
struct replay_trace {
	const char *path;
	const char *place; /* the unit of positions in the file: "line" */
	uint32_t *events;
	uint32_t *lines; /* of each event, its position in the file */
	uint64_t *times; /* of each event, ns since the first, never decreasing. NULL: unknown */
	struct replay_block *blocks;
	uint64_t *free_streams;        /* of each block; NULL: each is freed on its own stream */
	struct replay_origin *origins; /* of each block; NULL: unknown */
	char **names;                  /* indexed by `who` of origins; the first one is "" */
	uint32_t name_count;
	bool has_threads; /* in origins */
	bool has_stacks;  /* the file has call stacks (replay_stacks.h) */
	uint32_t event_count;
	uint32_t block_count;  /* the number of allocations */
	uint32_t stream_count; /* number of distinct streams */
	uint32_t peak_event;   /* the first event after which live bytes reach their peak */
	uint64_t device;       /* number of the GPU that has these blocks */
	uint64_t device_count; /* of the file; 0: it has no device numbers */
	uint64_t next_device;  /* the number that follows in the file; REPLAY_DEFAULT: none */
	uint64_t recorded_reserved_peak; /* bytes, of the recorded program; 0: unknown */
};

/*
 * replay_trace_load - read a file; the settings give its format, and which part of it to use. Of
 * REPLAY_ALL devices it is the one with the lowest number.
 * False: it is not a complete trace (reported).
 */
bool replay_trace_load(const char *path, const struct replay_settings *settings,
		       struct replay_trace *trace);
void replay_trace_fini(struct replay_trace *trace);

/*
 * replay_trace_title - the file's name and, if it has several devices, the device; at most 39
 * columns.
 */
struct format_text replay_trace_title(const struct replay_trace *trace, int columns);

/* replay_source_choose - simulate the source, if that is possible, where there is no GPU. */
void replay_source_choose(struct replay_settings *settings);

/* replay_source_known - false: the source is unknown (reported). */
bool replay_source_known(const struct replay_settings *settings);

enum mam_status replay_source_make(const struct replay_settings *settings,
				   struct mam_source **source);

/* The results of a replay. */
struct replay_result {
	const struct replay_trace *trace;
	struct mam_stats end;       /* after the last event; blocks never freed are still live */
	struct mam_stats peak;      /* after trace->peak_event; size 0: unknown (threads) */
	double ns_per_event;        /* median over the repeats */
	double ns_per_event_best;   /* of the fastest repeat */
	double high_water_ratio;    /* relative to the program's peak live bytes */
	double peak_reserved_ratio; /* likewise */
	double recorded_reserved_ratio;   /* likewise */
	uint64_t recorded_reserved_bytes; /* peak of the recorded program; 0: unknown */
	double physical_peak_ratio;       /* likewise */
	double driver_ms;                 /* milliseconds spent in the source's calls */
	uint64_t streams;                 /* count: streams of the trace */
	uint64_t device;                  /* its number */
	uint64_t devices;                 /* count: devices of the file; 0: no device numbers */
	uint64_t waits;             /* count: times that the replay had to wait for all streams */
	uint64_t cached_peak_bytes; /* peak bytes in thread caches */
	uint64_t waste_bytes;       /* lost to rounding, at the peak */
	uint64_t events;            /* count, of all threads */
	uint64_t allocs;            /* count */
	uint64_t frees;             /* count */
	uint64_t failures;          /* count: failed allocations */
	uint64_t first_failure;     /* its line; 0: none */
};

/*
 * replay_play - play `trace` and measure. `map` may be NULL. Returns an exit status; a failure is
 * reported.
 */
int replay_play(const struct replay_settings *settings, const struct replay_trace *trace,
		struct map *map, struct replay_result *result);

/* replay_report - print the results of all files. */
void replay_report(const struct replay_settings *settings, const struct replay_result *results,
		   int count);

/*
 * Parts of the report: the lines of one file for scripts, the line before them, and the maximum
 * width of a table.
 */
void replay_report_plain(const struct replay_settings *settings,
			 const struct replay_result *result);
void replay_report_path(const char *path);
int replay_report_columns(void);

#endif
