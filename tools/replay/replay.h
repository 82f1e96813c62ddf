/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - what the files of `mam replay` share.
 *
 *   replay.c         the command line, and file after file
 *   replay_settings.c  what was not given, and what does not go together
 *   replay_trace.c   a file of any kind as a trace (read.h: the kinds)
 *   replay_build.c   a trace in the making: ids resolved, a compact array (replay_build.h)
 *   replay_devices.c which device of a trace is played (replay_devices.h)
 *   replay_source.c  the sources a replay may play on
 *   replay_streams.c which block takes over which one's memory within a stream
 *   replay_walk.c    one walk through a trace, event after event (replay_walk.h)
 *   replay_play.c    the walks: once to count, then against the clock
 *   replay_report.c  the numbers, for people and for scripts
 *   map.c            where each block lay, and the picture of it
 *   export.c         the same for other tools
 *   compare.c        several settings side by side (compare.h)
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

#define REPLAY_DEFAULT (UINT64_MAX - 1) /* of a size: not given */
#define REPLAY_LARGEST UINT64_MAX       /* of --chunk; also "none" of --growth */
#define REPLAY_ALIVE UINT32_MAX         /* as the death of a block: never freed */
#define REPLAY_NOBODY UINT32_MAX        /* as a block that another one follows: none */
#define REPLAY_THREADS ((uint64_t)256)  /* most threads */
#define REPLAY_LAG ((uint64_t)64)       /* events until a freed block is everybody's */
#define REPLAY_LAG_MOST ((uint64_t)65536)

/* When may a freed block be handed out again? */
enum replay_free {
	REPLAY_FREE_STREAM = 1,  /* to its stream at once, to all others --lag events later */
	REPLAY_FREE_STRICT = 2,  /* to all at once */
	REPLAY_FREE_DEFERRED = 3 /* to all --lag events later */
};

enum replay_streams { REPLAY_STREAMS_HONOUR = 1, REPLAY_STREAMS_IGNORE = 2 };
enum replay_cache { REPLAY_CACHE_OFF = 1, REPLAY_CACHE_ON = 2 };

struct replay_settings {
	const char *source; /* NULL: not given */
	bool simulate; /* no driver under the source, though there may be one */
	uint64_t chunk_bytes;
	uint64_t growth_bytes;
	uint64_t limit_bytes; /* 0: none */
	uint64_t granule; /* REPLAY_DEFAULT: not given */
	uint64_t repeats; /* count; REPLAY_DEFAULT: not given */
	uint64_t threads; /* count */
	uint64_t cache;   /* enum replay_cache; 0: not given */
	uint64_t free;    /* enum replay_free; 0: not given */
	uint64_t streams; /* enum replay_streams */
	uint64_t lag;     /* events; REPLAY_DEFAULT: not given */
	const char *map;  /* file to draw into; NULL: none */
	const char *view; /* of a still: names of views; NULL: not given */
	const char *at;   /* of its strip: an event; NULL: the peak */
	const char *export; /* files to write for other tools, apart by commas; NULL: none */
	const char *compare; /* settings to compare, "": the usual ones; NULL: play one */
	uint64_t format; /* of files: enum read_kind of read.h; 0: not given */
	uint64_t device; /* number of the GPU; REPLAY_DEFAULT: the one with most events */
	bool time; /* along a still, and not events */
	bool check;
	bool salvage;
	bool plain;
	bool quiet;
};

extern const struct args_option replay_options[]; /* of struct replay_settings */

/* replay_settings_begin - nothing is given yet. */
void replay_settings_begin(struct replay_settings *settings);

/*
 * replay_settings_end - put in what was not given, for so many files. False: they contradict each
 * other, which was said.
 */
bool replay_settings_end(struct replay_settings *settings, int files);

/* One block of a trace: from an allocation to its free. */
struct replay_block {
	uint64_t id;
	uint64_t bytes; /* asked for */
	uint64_t stream;
	uint32_t birth; /* number of the event, from 0 */
	uint32_t death; /* or REPLAY_ALIVE */
};

/* Where an allocation came from. */
struct replay_origin {
	uint64_t thread;
	uint32_t who; /* number of a name of the trace: a call site, an owner; 0: nobody said */
};

/* A whole trace. Event e is about block events[e] >> 1, and frees it when the lowest bit is set. */
struct replay_trace {
	const char *path;
	const char *place; /* what the file calls a place in it: "line" */
	uint32_t *events;
	uint32_t *lines; /* of each event, its place in the file */
	uint64_t *times; /* of each event, ns since the first; never fall. NULL: not told */
	struct replay_block *blocks;
	uint64_t *free_streams; /* of each block; NULL: each is freed on the stream it was for */
	struct replay_origin *origins; /* of each block; NULL: not told */
	char **names;                  /* what origins' `who` numbers; the first one is "" */
	uint32_t name_count;
	bool has_threads; /* in origins */
	uint32_t event_count;
	uint32_t block_count;  /* as many as allocations */
	uint32_t stream_count; /* how many different ones */
	uint32_t peak_event;   /* the first one after which most bytes are live */
	uint64_t device;       /* number of the GPU whose blocks these are */
	uint64_t device_count; /* of the file; 0: it has no device numbers */
	uint64_t recorded_reserved_peak; /* bytes; the recorded program's own. 0: not told */
};

/*
 * replay_trace_load - read a file, of the format, and what else of it, that the settings say; false
 * when it is no whole trace, which was said.
 */
bool replay_trace_load(const char *path, const struct replay_settings *settings,
		       struct replay_trace *trace);
void replay_trace_fini(struct replay_trace *trace);

/* replay_trace_title - the file's name, and of several devices which one; at most 39 columns. */
struct format_text replay_trace_title(const struct replay_trace *trace, int columns);

/* replay_source_settle - a source that can be simulated is where there is no GPU. */
void replay_source_settle(struct replay_settings *settings);

/* replay_source_known - false: it is none, which was said. */
bool replay_source_known(const struct replay_settings *settings);

enum mam_status replay_source_make(const struct replay_settings *settings,
				   struct mam_source **source);

/* What a replay found out. */
struct replay_result {
	const struct replay_trace *trace;
	struct mam_stats end;       /* after the last event, what was never freed still live */
	struct mam_stats peak;      /* after trace->peak_event; size 0: not looked at (threads) */
	double ns_per_event;        /* median over the repeats */
	double ns_per_event_best;   /* of the fastest repeat */
	double high_water_ratio;    /* to the peak of what the program asked for */
	double peak_reserved_ratio; /* the same */
	double recorded_reserved_ratio; /* the same */
	uint64_t recorded_reserved_bytes; /* most, by the recorded program; 0: not told */
	double physical_peak_ratio; /* the same */
	double driver_ms;           /* milliseconds in the source's calls */
	uint64_t streams;           /* count: that the trace has */
	uint64_t device;            /* number */
	uint64_t devices;           /* count: of the file; 0: no device numbers */
	uint64_t waits;             /* count: times that all streams had to be waited for */
	uint64_t cached_peak_bytes; /* most in threads' caches */
	uint64_t waste_bytes;       /* lost to rounding, at the peak */
	uint64_t events;            /* count, of all threads */
	uint64_t allocs;            /* count */
	uint64_t frees;             /* count */
	uint64_t failures;          /* count: allocations that got no block */
	uint64_t first_failure;     /* line of the first one; 0: none */
};

/*
 * replay_play - play `trace` and measure. `map` may be NULL. Returns an exit status; what failed
 * was said.
 */
int replay_play(const struct replay_settings *settings, const struct replay_trace *trace,
		struct map *map, struct replay_result *result);

/* replay_report - print what was found of all files. */
void replay_report(const struct replay_settings *settings, const struct replay_result *results,
		   int count);

/* Parts of it: one file's lines for scripts, the line before them, and how wide a table may be. */
void replay_report_plain(const struct replay_settings *settings,
			 const struct replay_result *result);
void replay_report_path(const char *path);
int replay_report_columns(void);

#endif
