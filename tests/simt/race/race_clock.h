/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_clock.h - vector clocks: how much of each lane's past is known.
 *
 * Source: Leslie Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, CACM
 * 1978; Friedemann Mattern, Virtual Time and Global States of Distributed Systems, 1988.
 *
 * A lane counts its own epochs; an epoch ends when the lane's knowledge is passed on. An access in
 * epoch e of lane a happens before the next access of a lane with clock c if e <= c[a]. Entries
 * past the end are zero, and epochs start at 1, so a short clock knows nothing of the other lanes.
 */
#ifndef MAM_TESTS_SIMT_RACE_CLOCK_H
#define MAM_TESTS_SIMT_RACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct race_memory;

/* A zeroed clock knows nothing. */
struct race_clock {
	uint32_t *at;
	uint32_t lanes; /* capacity of `at` */
	bool set;       /* false: knows nothing, whatever `at` contains */
};

static inline uint32_t race_clock_of(const struct race_clock *clock, uint32_t lane)
{
	return lane < clock->lanes ? clock->at[lane] : 0;
}

/*
 * Makes room for at least `lanes` entries. The functions below return false if out of memory; the
 * clock is then unchanged.
 */
bool race_clock_reach(struct race_memory *memory, struct race_clock *clock, uint32_t lanes);
bool race_clock_copy(struct race_memory *memory, struct race_clock *to,
		     const struct race_clock *from);
bool race_clock_join(struct race_memory *memory, struct race_clock *to,
		     const struct race_clock *from);

#endif
