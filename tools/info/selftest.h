/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - does a pool on the GPU of this machine hold what is written into it?
 */
#ifndef TOOLS_SELFTEST_H
#define TOOLS_SELFTEST_H

#include <stdbool.h>

/* selftest_built - were the kernels it needs built in? */
bool selftest_built(void);

/* selftest - run it, print one line, return the exit status. */
int selftest(void);

#endif
