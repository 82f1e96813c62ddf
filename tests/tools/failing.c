/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.c - memory that runs out when a test requests it.
 */
#undef malloc
#undef calloc
#undef realloc
#define FAILING_ITSELF
#include "failing.h"

#include <malloc.h>

long failing_left = -1;

static int fails(void)
{
	if (failing_left == 0)
		return 1;
	failing_left -= failing_left > 0;
	return 0;
}

/* Fresh memory is filled with junk, so that no code relies on zeros. */
#define JUNK 0xa5

void *failing_malloc(size_t bytes)
{
	void *at = fails() ? NULL : malloc(bytes);

	if (at)
		memset(at, JUNK, bytes);
	return at;
}

void *failing_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : calloc(count, bytes);
}

void *failing_realloc(void *at, size_t bytes)
{
	size_t before = at ? malloc_usable_size(at) : 0;
	char *wider = fails() ? NULL : realloc(at, bytes);

	if (wider && bytes > before)
		memset(wider + before, JUNK, bytes - before);
	return wider;
}
