/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - counters of the processes that share one limit: a file, MAM_LIMIT_FILE, in which each
 * process has a counter per device (mam run --limit-shared).
 *
 * A process that ends in any way, or executes another program, does not count from then on. No
 * process waits for another one.
 *
 * Threads: any. mam_shared_counter() may call the driver: the guard is up.
 */
#ifndef MAM_INTERPOSE_SHARED_H
#define MAM_INTERPOSE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns this process's counter of a device, 0 to MAM_WATCH_DEVICES_MAX - 1, in bytes. NULL: the
 * limit is not shared, or cannot be (reported). The result changes only in mam_shared_restart().
 */
_Atomic uint64_t *mam_shared_counter(int device);

/*
 * Returns the sum of all processes' counters of that physical device. If it is above `enough`, it
 * does not include processes that have ended; otherwise it may. UINT64_MAX if the driver does not
 * identify the device. Call it only after mam_shared_counter() has returned a counter.
 */
uint64_t mam_shared_sum(int device, uint64_t enough);

/* Whether the process has counters. */
bool mam_shared_exists(void);

/* Called when the process ends. The last process removes the file. Safe in _exit(). */
void mam_shared_finish(void);

/* Called in the child of a fork, which gets counters of its own when it needs them. */
void mam_shared_restart(void);

#endif
