/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched.h - selects the next lane. Every choice depends on the world's seed and the lanes' numbers.
 *
 * By lane: any lane that is ready, with equal probability. By warp: the lanes of one warp in turn,
 * step by step, or (one seed in two) each as far as it goes; other warps run in between at random.
 * By PCT: lanes have random priorities, the first of those that are ready runs, and at a few random
 * steps the running one falls behind all others (S. Burckhardt, P. Kothari, M. Musuvathi, S.
 * Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS
 * 2010). Unlike in the paper, a lane that does not stop also falls behind from time to time:
 * hardware lets every lane continue eventually, so a loop that waits for another lane is valid.
 *
 * By warp and in lockstep, as before Volta: a lane that spins keeps its warp's lower lanes from
 * running until it waits or ends, so that a lock that one of them owns is never released.
 *
 * By bound: bound.h.
 *
 * A sleeping lane is skipped until the simulated clock, one tick per step, has reached its time; if
 * all lanes sleep, the clock jumps.
 */
#ifndef MAM_TESTS_SIMT_SCHED_H
#define MAM_TESTS_SIMT_SCHED_H

#include "simt/lane.h"

/*
 * splitmix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
 * 2014).
 */
static inline uint64_t simt_dice(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint32_t simt_below(uint64_t *state, uint32_t bound)
{
	return (uint32_t)((simt_dice(state) >> 32) * bound >> 32);
}

/* Before a run: sets its seed; `lanes` is the total number of lanes. */
void simt_sched_begin(struct simt_world *world, uint32_t lanes);
/* Makes room for this many resident lanes; false: out of memory. */
bool simt_sched_room(struct simt_world *world, uint32_t lanes);
void simt_sched_free(struct simt_world *world);
/* A lane that has not run yet: not ready before simt_sched_add(). */
void simt_sched_new(struct simt_world *world, struct simt_lane *lane);
void simt_sched_add(struct simt_world *world, struct simt_lane *lane);
/* The lane is no longer ready: `state` is the reason. */
void simt_sched_remove(struct simt_world *world, struct simt_lane *lane, enum simt_state state);
void simt_sched_sleep(struct simt_world *world, struct simt_lane *lane, uint32_t ns);
/* The next lane; NULL if no lane can continue. */
struct simt_lane *simt_sched_next(struct simt_world *world);

#endif
