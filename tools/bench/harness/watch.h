/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - the bench's watchdog, for allocators that do not return.
 *
 * A bench calls code of others. If a call hangs, or takes minutes, earlier measurements must not be
 * lost: a thread that sleeps until some time after the deadline reports them and ends the process.
 */
#ifndef MAM_TOOLS_BENCH_WATCH_H
#define MAM_TOOLS_BENCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * bench_watch_begin - unless bench_watch_end() is called within `limit_ns`, `late` is called in a
 * separate thread, under the watch's lock, and the process ends with the status it returns. The
 * stuck thread continues meanwhile: `late` may only use data that others change under the lock. If
 * the thread cannot be created, there is no watch. Only one watch can be active.
 */
void bench_watch_begin(uint64_t limit_ns, int (*late)(void *user), void *user);

/* bench_watch_end - does not return once the limit has passed. */
void bench_watch_end(void);

/* Around every change of data that `late` uses. Once the limit has passed, take does not return. */
void bench_watch_take(void);
void bench_watch_release(void);

#endif
