/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.c - memory that runs out when a test says so.
 */
#undef malloc
#undef calloc
#undef realloc
#define FAILING_ITSELF
#include "failing.h"

long failing_left = -1;

static int fails(void)
{
	if (failing_left == 0)
		return 1;
	failing_left -= failing_left > 0;
	return 0;
}

void *failing_malloc(size_t bytes)
{
	return fails() ? NULL : malloc(bytes);
}

void *failing_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : calloc(count, bytes);
}

void *failing_realloc(void *at, size_t bytes)
{
	return fails() ? NULL : realloc(at, bytes);
}
