/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - time that only moves forward, in nanoseconds from an arbitrary start.
 */
#ifndef MAM_BASE_CLOCK_H
#define MAM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t mam_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
