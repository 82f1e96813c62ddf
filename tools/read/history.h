/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - events as some program's log has them, put right before a trace is built of them.
 *
 * A log need not obey the rules of a trace: it may begin in the midst of a program, several threads
 * may have written it a little out of order, events may be lost. Every oddity is settled in one way
 * (history.c says how) and counted, so that a reader can say it.
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
	uint64_t time;  /* ns */
	uint64_t device;
	uint32_t place; /* in the file, from 1 */
	uint32_t who;   /* of names; 0: nobody said */
	bool frees;
	bool has_bytes; /* of a free: it says how much */
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

	/* What history_tell() found. */
	uint64_t late;    /* allocated while alive: freed first, as the free was not there yet */
	uint64_t older;   /* freed, and allocated before the log began; those in `before`, too */
	uint64_t unknown; /* frees of what was not alive, left out */
	bool by_time;     /* the order of times was taken */
};

/* history_init - false: no memory. history_fini() is to be called all the same. */
bool history_init(struct history *history);
void history_fini(struct history *history);

/* Each answers false when there is no memory. */
bool history_add(struct history *history, const struct history_event *event);
bool history_add_before(struct history *history, const struct history_event *event);

/*
 * history_tell - tell `build` all of it. may_sort: the order of times is taken instead of the
 * order in which events were added, where it makes more sense. False: it was said why.
 */
bool history_tell(struct history *history, struct replay_build *build, bool may_sort);

#endif
