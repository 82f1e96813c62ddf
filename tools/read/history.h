/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - events of another program's log, repaired before a trace is built from them.
 *
 * A log need not obey the rules of a trace: it may start while the program runs, several threads
 * may have written it slightly out of order, and events may be lost. Each irregularity is handled
 * in one defined way (see history.c) and counted, so that a reader can report it.
 */
#ifndef TOOLS_HISTORY_H
#define TOOLS_HISTORY_H

#include "replay/replay_build.h"

/* One event of a log. */
struct history_event {
	uint64_t id; /* an address */
	uint64_t bytes;
	uint64_t stream;
	uint64_t thread;
	uint64_t time; /* ns */
	uint64_t device;
	uint32_t place; /* position in the file, from 1 */
	uint32_t who;   /* call site, an index of names; 0: unknown */
	uint32_t stack; /* number of its call stack; 0: unknown */
	bool frees;
	bool has_bytes; /* of a free: `bytes` is known */
	bool has_time;
	bool has_thread;
	bool has_device;
};

struct history {
	struct history_event *events;
	size_t count;
	size_t room;
	struct history_event *before; /* allocations before the first event */
	size_t before_count;
	size_t before_room;
	struct names names;

	/* Results of history_report(). */
	uint64_t late;    /* allocations of a live address, freed first: that free comes later */
	uint64_t older;   /* blocks allocated before the log started, including those in `before` */
	uint64_t unknown; /* frees of an address that is not live, dropped */
	bool by_time;     /* the order by time was used */
};

/* history_init - false: out of memory. The caller calls history_fini() in either case. */
bool history_init(struct history *history);
void history_fini(struct history *history);

/* These return false if out of memory. */
bool history_add(struct history *history, const struct history_event *event);
bool history_add_before(struct history *history, const struct history_event *event);

/*
 * history_report - pass all events to `build`. may_sort: use the order by time in place of the order
 * in which events were added if it is more consistent. False: failed (reported).
 */
bool history_report(struct history *history, struct replay_build *build, bool may_sort);

#endif
