/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - what the lanes of a warp do together.
 *
 * Lanes that wait with the same kind of call and the same mask are a group; a warp has as many as
 * its lanes disagree, mostly one. A group is complete when every lane of its mask has come or has
 * ended. Two groups that wait for each other's lanes never will be: that is found when the second
 * lane comes, not at the end.
 *
 * mam_warp_active() answers lanes that reached the same call, once no other lane of the warp can
 * run, and now and then at once: nothing may rely on a warp that converges. How often is of the
 * seed: never, or for one call in 64, 16 or 4. A warp in which each lane has its own one in sixteen
 * is seldom whole; code for whole warps must be met too.
 */
#ifndef MAM_TESTS_SIMT_WARP_H
#define MAM_TESTS_SIMT_WARP_H

#include "simt/lane.h"

/* Some lanes that wait at one mam_warp_active() go on. */
void simt_warp_release(struct simt_world *world, struct simt_warp *warp);
/* A lane of the warp just stopped being ready. */
static inline void simt_warp_idle(struct simt_world *world, struct simt_warp *warp)
{
	if (!warp->ready && warp->at_active)
		simt_warp_release(world, warp);
}
/* The lane has ended: those that waited for it only go on. */
void simt_warp_ended(struct simt_world *world, struct simt_lane *lane);

#endif
