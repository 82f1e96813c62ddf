/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_count.h - count the events of a profile per stack, and the live memory at moments.
 *
 * Leaves are numbers that the caller chooses, from 0. Memory does not depend on the number of
 * events, only on leaves and live blocks.
 */
#ifndef TOOLS_PROFILE_COUNT_H
#define TOOLS_PROFILE_COUNT_H

#include "profile/profile_blocks.h"
#include "profile/profile_data.h"

struct profile_count_leaf {
	struct profile_amount allocated, live, peak;
	double freed, lifetime, held;
	double allocated_variance, live_variance, peak_variance;
	uint64_t shortest;
	uint64_t epoch; /* the peak after which it changed first; until then `peak` is `live` */
	uint32_t seen;  /* the moment in which it changed last, from 1 */
	uint32_t stamp; /* for merges of moments */
};

struct profile_count {
	struct profile_blocks blocks;
	struct profile_count_leaf *leaves;
	uint32_t leaf_count, leaf_room;
	struct profile_amount live, allocated;
	uint64_t events;
	uint64_t now;        /* time of the last event; never decreases */
	uint64_t first_time; /* of the file */
	bool has_times;
	double sample_rate; /* bytes; 0: not sampled */

	uint64_t epoch;      /* how often the peak was raised */
	uint64_t peak_event; /* its event, from 1 */
	uint64_t peak_time;
	double peak_bytes;

	struct profile_time wanted[2]; /* moments to keep */
	uint64_t asked[2];             /* the same in the unit of `now` */
	uint32_t asked_at[2];          /* their numbers; PROFILE_NONE: not reached yet */
	struct profile_moment *moments;
	uint32_t moment_count;
	struct profile_change *changes;
	size_t change_count, change_room;
	uint32_t *touched; /* leaves that changed since the last moment */
	uint32_t touched_count, touched_room;
	uint32_t stamps;
	uint32_t seen;     /* number of the moment that is being filled */
	uint64_t interval; /* of moments; doubles when there are too many */
	double high;       /* maximum live bytes since the last moment */
};

/* profile_count_init - false: out of memory. The caller calls profile_count_fini() in any case. */
bool profile_count_init(struct profile_count *count);
void profile_count_fini(struct profile_count *count);

/* profile_count_time - the time of the next event; has_time: `time` is that of the file. */
bool profile_count_time(struct profile_count *count, bool has_time, uint64_t time);

/* profile_count_new - add a leaf; PROFILE_NONE: out of memory. */
uint32_t profile_count_new(struct profile_count *count);

/*
 * profile_count_alloc - count an allocation of a leaf, at the time given last. PROFILE_NONE as leaf:
 * it is of no interest, and neither is its free.
 */
enum profile_counted { PROFILE_COUNTED, PROFILE_REFUSED, PROFILE_NO_MEMORY };
enum profile_counted profile_count_alloc(struct profile_count *count, uint64_t id, uint64_t bytes,
					 uint32_t leaf);
enum profile_counted profile_count_free(struct profile_count *count, uint64_t id);

/* profile_count_end - no events follow. False: out of memory. */
bool profile_count_end(struct profile_count *count);

#endif
