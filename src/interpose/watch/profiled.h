/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiled.h - profiles that the program starts and stops (mam/recorder.h): a trace with call stacks,
 * as mam ctl starts a trace, without the blocks that were allocated before.
 */
#ifndef MAM_INTERPOSE_PROFILED_H
#define MAM_INTERPOSE_PROFILED_H

/*
 * The program has no profile that it could stop. Called in the child of a fork, which does not
 * continue the profile, and before mam ctl ends it: a later trace is not the program's.
 */
void mam_profiled_forget(void);

#endif
