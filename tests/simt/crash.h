/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash.h - an invalid access in a kernel ends the program: the handler reports the interleaving
 * first.
 */
#ifndef MAM_TESTS_SIMT_CRASH_H
#define MAM_TESTS_SIMT_CRASH_H

#include "simt/explore.h"

/*
 * Until the end of the run with `seed` and `policy`, a signal that reports a crash of a lane is
 * described on stderr.
 */
void simt_crash_begin(const struct simt_case *test, uint64_t seed, enum simt_policy policy);
void simt_crash_end(void);

#endif
