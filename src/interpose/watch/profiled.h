/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiled.h - profiles that the program starts and stops (mam/profile.h): a trace with call stacks,
 * as mam ctl starts a trace, without the blocks that were allocated before.
 */
#ifndef MAM_INTERPOSE_PROFILED_H
#define MAM_INTERPOSE_PROFILED_H

#include <stdint.h>

#include <mam/mam.h>

/* mam_profile_start() and mam_profile_stop() of this process, for libmam.so in the program. */
__attribute__((visibility("default"))) enum mam_status mam_interpose_profile_start(const char *file,
										   uint64_t rate);
__attribute__((visibility("default"))) enum mam_status mam_interpose_profile_stop(void);

/*
 * The program has no profile that it could stop. Called in the child of a fork, which does not
 * continue the profile, and before mam ctl ends it: a later trace is not the program's.
 */
void mam_profiled_forget(void);

#endif
