/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_build.h - a struct replay_trace in the making: what a reader tells, event after event.
 *
 * A reader knows one kind of file and no rules of traces; this knows the rules and no file. Ids may
 * be any numbers, addresses among them.
 */
#ifndef TOOLS_REPLAY_BUILD_H
#define TOOLS_REPLAY_BUILD_H

#include "kit/idtable.h"
#include "kit/names.h"
#include "replay/replay.h"
#include "replay/replay_devices.h"

/* One event of a file. What a file does not tell stays 0. */
struct replay_told {
	uint64_t id;
	uint64_t bytes;  /* of an allocation */
	uint64_t stream; /* of an allocation; of a free with has_stream */
	uint64_t place;  /* where it stands in the file, from 1: a line, or the file's `place` */
	uint64_t time;   /* with has_time: nanoseconds since whenever */
	uint64_t thread; /* of an allocation, with has_thread */
	const char *who; /* of an allocation: `who_bytes` of text, of any bytes */
	size_t who_bytes;
	uint64_t device; /* of an allocation, with has_device */
	bool has_stream, has_time, has_thread, has_device;
};

/* The devices of a trace in the making; see replay_devices.c. */
struct replay_devices {
	struct replay_device *list;
	uint32_t count, room;
	uint32_t last;          /* index of the device noted last */
	uint32_t unknown;       /* index of what no device is known of; IDTABLE_NONE: not there */
	uint32_t *of_block;     /* of each block the index of its device; NULL: no numbers yet */
	struct idtable indices; /* from a number to an index */
};

struct replay_build {
	struct replay_trace *trace;
	uint64_t device;        /* that a reader shall take, + 1; 0: the one with most events */
	struct idtable ids;     /* from an id to its block */
	struct idtable streams; /* those seen; what stands there means nothing */
	struct names names;     /* of origins; count 0: none yet */
	struct replay_devices devices;
	uint32_t event_room;    /* events, lines and times that fit */
	uint32_t block_room;
	double live; /* bytes; a double because a trace may ask for 2^64 - 1 again and again */
	double peak;
	uint64_t last_stream;
	uint64_t first_time;
	uint64_t last_time; /* since first_time */
	bool has_time;      /* there was one */
};

/*
 * replay_build_init - nothing yet. `trace` begins empty: of it, `path` and `place` (what the file
 * calls a place: "line", "entry") go into messages, and must outlive it.
 */
void replay_build_init(struct replay_build *build, struct replay_trace *trace, const char *path,
		       const char *place);

/* What can be wrong is said, with the path and the place; false then. */
bool replay_build_alloc(struct replay_build *build, const struct replay_told *told);
bool replay_build_free(struct replay_build *build, const struct replay_told *told);

/* replay_build_alive - the block that an id names now; REPLAY_NOBODY: none, or it was freed. */
uint32_t replay_build_alive(const struct replay_build *build, uint64_t id);

/* replay_build_fini - what the trace needs goes over to it, all else is given back. */
void replay_build_fini(struct replay_build *build);

#endif
