/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.h - memory that runs out when a test requests it. A test's Makefile lines include this
 * before everything else, so that the files under test allocate through failing.c.
 */
#ifndef TESTS_TOOLS_FAILING_H
#define TESTS_TOOLS_FAILING_H

#include <stdlib.h>
#include <string.h>

extern long failing_left; /* allocations that succeed from now on; below 0: all do */

void *failing_malloc(size_t bytes);
void *failing_calloc(size_t count, size_t bytes);
void *failing_realloc(void *at, size_t bytes);

#ifndef FAILING_ITSELF
#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#endif

#endif
