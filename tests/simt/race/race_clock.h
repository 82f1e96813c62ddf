/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_clock.h - vector clocks: how much of each lane's past is known.
 *
 * Source: Leslie Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, CACM
 * 1978; Friedemann Mattern, Virtual Time and Global States of Distributed Systems, 1988.
 *
 * A lane counts its own epochs; one ends when what the lane knows is handed on. An access in epoch
 * e of lane a happens before what a lane with clock c does next if e <= c[a]. Entries past the end
 * are zero, and epochs begin at 1, so a short clock is a clock that knows nothing of the rest.
 */
#ifndef MAM_TESTS_SIMT_RACE_CLOCK_H
#define MAM_TESTS_SIMT_RACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct race_memory;

/* All zero is a clock that knows nothing. */
struct race_clock {
	uint32_t *at;
	uint32_t lanes; /* entries that `at` has room for */
	bool set;       /* false: knows nothing, whatever `at` holds */
};

static inline uint32_t race_clock_of(const struct race_clock *clock, uint32_t lane)
{
	return lane < clock->lanes ? clock->at[lane] : 0;
}

/*
 * Room for `lanes` entries at least. The calls below are false where there is no memory; the clock
 * is as before then.
 */
bool race_clock_reach(struct race_memory *memory, struct race_clock *clock, uint32_t lanes);
bool race_clock_copy(struct race_memory *memory, struct race_clock *to,
		     const struct race_clock *from);
bool race_clock_join(struct race_memory *memory, struct race_clock *to,
		     const struct race_clock *from);

#endif
