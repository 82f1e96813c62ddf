/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - check that a pool on this machine's GPU keeps the data written into it.
 */
#ifndef TOOLS_SELFTEST_H
#define TOOLS_SELFTEST_H

#include <stdbool.h>

/* selftest_built - whether this build contains the kernels that it needs. */
bool selftest_built(void);

/* selftest - run it, print one line, and return the exit status. */
int selftest(void);

#endif
