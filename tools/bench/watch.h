/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - the bench's own clock, for allocators that do not come back.
 *
 * A bench calls code of others. Where a call hangs, or takes minutes, what was measured before
 * must not be lost: a thread that sleeps until the time is up, and then some, tells it and ends the
 * process.
 */
#ifndef MAM_TOOLS_BENCH_WATCH_H
#define MAM_TOOLS_BENCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * bench_watch_begin - unless bench_watch_end() comes within `limit_ns`, `late` is called in a
 * thread of its own, under the watch's lock, and the process ends with the status it answers. The
 * thread that is stuck goes on meanwhile: `late` may use only what others change under the lock.
 * Without a thread to be had there is no watch. One watch at a time.
 */
void bench_watch_begin(uint64_t limit_ns, int (*late)(void *user), void *user);

/* bench_watch_end - once the time is up, it does not come back. */
void bench_watch_end(void);

/* Around every change of what `late` uses. Once the time is up, take does not come back. */
void bench_watch_take(void);
void bench_watch_release(void);

#endif
