/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_build.h - build a struct replay_trace from the events that a reader passes.
 *
 * A reader knows one file format and not the rules of traces. This builder knows the rules and no
 * file format. Ids may be any numbers, such as addresses.
 */
#ifndef TOOLS_REPLAY_BUILD_H
#define TOOLS_REPLAY_BUILD_H

#include "kit/idtable.h"
#include "kit/names.h"
#include "replay/replay.h"
#include "replay/replay_devices.h"

/* One event of a file. Fields that a file does not have are 0. */
struct replay_told {
	uint64_t id;
	uint64_t bytes;  /* of an allocation */
	uint64_t stream; /* of an allocation; of a free with has_stream */
	uint64_t place;  /* its position in the file, from 1: a line, or the file's `place` */
	uint64_t time;   /* with has_time: nanoseconds since any point in time */
	uint64_t thread; /* of an allocation, with has_thread */
	const char *who; /* of an allocation: `who_bytes` bytes of any text */
	size_t who_bytes;
	uint64_t device; /* of an allocation, with has_device */
	uint64_t stack;  /* of an allocation: number of its call stack; 0: unknown */
	const char *tag; /* of an allocation: path of its tags, as in the file; `tag_bytes` bytes */
	size_t tag_bytes;
	bool has_stream, has_time, has_thread, has_device;
};

/* A frame of a call stack; texts as in the file, not terminated. */
struct replay_frame {
	const char *function, *file;
	size_t function_bytes, file_bytes;
	uint64_t line;
};

/*
 * Where a reader's events go in place of the arrays of a trace. Functions that return false report
 * why.
 */
struct replay_sink {
	bool (*alloc)(void *user, const struct replay_told *told);
	bool (*free)(void *user, const struct replay_told *told);
	bool (*is_live)(void *user, uint64_t id);
	/* A comment of a trace, without its end of line. */
	bool (*comment)(void *user, const char *text, size_t bytes);
	/* The frames of a stack, innermost first, before the first event that has its number. */
	bool (*stack)(void *user, uint64_t stack, const struct replay_frame *frames, size_t count);
	void *user;
};

/* The devices of a trace that is being built; see replay_devices.c. */
struct replay_devices {
	struct replay_device *list;
	uint32_t count, room;
	uint32_t last;          /* index of the device noted last */
	uint32_t unknown;       /* index of the unknown device; IDTABLE_NONE: no block needs it */
	uint32_t *of_block;     /* of each block the index of its device; NULL: no numbers yet */
	struct idtable indices; /* maps a device number to its index */
};

struct replay_build {
	struct replay_trace *trace;
	uint64_t device;        /* number of the device to play, + 1; 0: the one with most events */
	struct idtable ids;     /* maps an id to its block */
	struct idtable streams; /* the set of streams seen; the values are unused */
	struct names names;     /* of origins; count 0: none yet */
	struct replay_devices devices;
	uint32_t event_room; /* capacity for events, lines and times */
	uint32_t block_room;
	double live; /* bytes; a double because a trace may allocate 2^64 - 1 bytes repeatedly */
	double peak;
	uint64_t last_stream;
	uint64_t first_time;
	uint64_t last_time;             /* since first_time */
	bool has_time;                  /* an event had a time */
	const struct replay_sink *sink; /* NULL: build the arrays; set after replay_build_init() */
};

/*
 * replay_build_init - start with an empty `trace`. Messages use its `path` and `place` (the file's
 * unit of positions: "line", "entry"), which must outlive `build`.
 */
void replay_build_init(struct replay_build *build, struct replay_trace *trace, const char *path,
		       const char *place);

/* False: the event is invalid, which is reported with the path and the place. */
bool replay_build_alloc(struct replay_build *build, const struct replay_told *told);
bool replay_build_free(struct replay_build *build, const struct replay_told *told);

/*
 * replay_build_alive - the live block of an id, or any number if there is a sink; REPLAY_NOBODY: it is
 * unknown, or was freed.
 */
uint32_t replay_build_alive(const struct replay_build *build, uint64_t id);

/* replay_build_fini - move the arrays that the trace needs to it, and free the others. */
void replay_build_fini(struct replay_build *build);

#endif
