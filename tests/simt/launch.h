/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - the list of a world's launches, and host threads that wait for them.
 */
#ifndef MAM_TESTS_SIMT_LAUNCH_H
#define MAM_TESTS_SIMT_LAUNCH_H

#include "simt/lane.h"

/* Resumes host threads whose streams have no unfinished work that they wait for. */
void simt_launch_wake(struct simt_world *world);

#endif
