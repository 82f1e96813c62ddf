/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash.h - a kernel that writes where it must not ends the program: which interleaving it was is
 * said before.
 */
#ifndef MAM_TESTS_SIMT_CRASH_H
#define MAM_TESTS_SIMT_CRASH_H

#include "simt/explore.h"

/*
 * From here to the end of the run with `seed` and `policy`: signals of a crash in a lane are
 * described on stderr.
 */
void simt_crash_begin(const struct simt_case *test, uint64_t seed, enum simt_policy policy);
void simt_crash_end(void);

#endif
