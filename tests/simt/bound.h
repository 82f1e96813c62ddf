/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.h - a fixed schedule and a few deviations from it: for a search over all schedules of host
 * threads that have no more deviations.
 *
 * In the fixed schedule a lane runs until it ends, waits or calls simt_host_yield(). Then the next
 * lane in the order of their numbers runs. Atomic loads return the newest value.
 *
 * A point is a step at which another lane could run, or a load that may return an older value. A
 * deviation is the number of a point, from 1, and which of the others it takes. The seed contains
 * up to four: 12 bits for the point and 4 for the choice, the earliest in the lowest bits, 0 for
 * none. Points from 4,096 up are not varied. A run counts its points, and the choices at each: the
 * search adds a deviation at each later one (explore.c).
 *
 * Source: M. Musuvathi and S. Qadeer, "Iterative Context Bounding for Systematic Testing of
 * Multithreaded Programs", PLDI 2007; M. Emmi, S. Qadeer, Z. Rakamaric, "Delay-Bounded Scheduling",
 * POPL 2011.
 *
 * Bound: p points with c choices each, and d deviations: about (p * c)^d / d! schedules.
 */
#ifndef MAM_TESTS_SIMT_BOUND_H
#define MAM_TESTS_SIMT_BOUND_H

#include "simt/lane.h"

#define SIMT_DEVIATIONS_MAX 4
#define SIMT_DEVIATION_BITS 16
#define SIMT_POINT_BITS 12

void simt_bound_begin(struct simt_world *world);
struct simt_lane *simt_bound_next(struct simt_world *world);
/* A choice between the default, 0, and `others` more. Not a point if there are none. */
uint32_t simt_bound_choose(struct simt_world *world, uint32_t others);
/* Of the last run: the number of points; others[n - 1] is the number of choices at point n. */
uint32_t simt_bound_points(const uint8_t **others);

#endif
