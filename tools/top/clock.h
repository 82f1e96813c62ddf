/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the time on a clock that no one sets.
 */
#ifndef TOOLS_TOP_CLOCK_H
#define TOOLS_TOP_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec now = { .tv_sec = 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
