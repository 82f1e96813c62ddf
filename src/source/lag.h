/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lag.h - the streams of a GPU that lags, without a GPU.
 *
 * Time is the number of stream-ordered calls (mam_malloc_async and mam_free_async). Work that was
 * submitted before call n is done when call n + lag begins, whatever its stream is. A wait lets the
 * GPU catch up: time advances until the work is done. So a replay sees the same on every run, and
 * the pool's fences (stream/fence.c) behave as they do with a driver.
 *
 * Any thread may call any function at any time.
 */
#ifndef MAM_SOURCE_LAG_H
#define MAM_SOURCE_LAG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mam_lag {
	uint64_t calls; /* lock: none, set at creation; 1 + the lag; 0: no streams */
	_Atomic uint64_t
		now; /* atomic; the number of calls so far, and of those that were waited */
};

/* mam_lag_tick - a stream-ordered call begins. */
static inline void mam_lag_tick(struct mam_lag *lag)
{
	atomic_fetch_add_explicit(&lag->now, 1, memory_order_relaxed);
}

/* mam_lag_end - the time at which all work that was submitted so far is done; never 0. */
static inline uint64_t mam_lag_end(const struct mam_lag *lag)
{
	return atomic_load_explicit(&lag->now, memory_order_relaxed) + lag->calls;
}

static inline bool mam_lag_is_over(const struct mam_lag *lag, uint64_t end)
{
	return atomic_load_explicit(&lag->now, memory_order_relaxed) + 1 >= end;
}

/* mam_lag_wait - until `end`, a result of mam_lag_end(). */
static inline void mam_lag_wait(struct mam_lag *lag, uint64_t end)
{
	uint64_t now = atomic_load_explicit(&lag->now, memory_order_relaxed);

	while (now + 1 < end &&
	       !atomic_compare_exchange_weak_explicit(&lag->now, &now, end - 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

#endif
