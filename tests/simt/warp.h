/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - collectives of the lanes of a warp.
 *
 * Lanes that wait with the same kind of call and the same mask are a group; a warp has as many
 * groups as there are different calls, usually one. A group is complete when every lane of its mask
 * has arrived or has ended. Two groups that wait for each other's lanes never will be: that is
 * detected when the second lane arrives, not at the end.
 *
 * mam_warp_active() returns the lanes that reached the same call, once no other lane of the warp
 * can run, and sometimes at once: callers must not rely on a converged warp. The seed determines
 * how often: never, or for one call in 64, 16 or 4. If each lane returned early in one of sixteen
 * calls, a warp would rarely be whole; code for whole warps must be tested too.
 */
#ifndef MAM_TESTS_SIMT_WARP_H
#define MAM_TESTS_SIMT_WARP_H

#include "simt/lane.h"

/* Some lanes that wait at one mam_warp_active() continue. */
void simt_warp_release(struct simt_world *world, struct simt_warp *warp);
/* A lane of the warp just stopped being ready. */
static inline void simt_warp_idle(struct simt_world *world, struct simt_warp *warp)
{
	if (!warp->ready && warp->at_active)
		simt_warp_release(world, warp);
}
/* The lane has ended: lanes that waited only for it continue. */
void simt_warp_ended(struct simt_world *world, struct simt_lane *lane);

#endif
