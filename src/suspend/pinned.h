/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned.h - a large range of pinned host memory, which is obtained while its first part is used.
 *
 * The system has to find and clear each page. In cuMemHostAlloc() one thread does so, for pages of
 * 4 KiB, which takes several times as long as the copy to them. Here several threads touch the
 * memory, on huge pages if there are any, and the caller registers it with the driver unit by unit,
 * in the order of addresses:
 *
 *   units       [ registered ][ registered ][ touched ][ a thread in it ][   ][   ]
 *   copies        done          running
 *
 * A unit that no thread has begun is touched by the caller, so it also works without threads. These
 * make no driver call and take no lock of mam. They end before the last unit is registered.
 *
 * A range that is kept for another use has its first units touched and registered already: then
 * nothing of this takes time. It has an eighth more addresses than bytes, for a use that needs more.
 *
 * The memory is not in core dumps and not in children of a fork: their copy of a page would separate
 * the driver from the parent's. All ranges of the process together have at most MAM_HOST_MEMORY bytes.
 *
 * lock: none, one caller at a time.
 */
#ifndef MAM_SUSPEND_PINNED_H
#define MAM_SUSPEND_PINNED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/driver.h"

#define MAM_PINNED_THREADS 8 /* 16 touch fewer bytes per second (sleep-h200.csv) */

struct mam_pinned {
	char *memory; /* NULL: none */
	size_t bytes; /* of addresses: whole pages; the last unit may be shorter */
	size_t used;  /* may be touched, from the start; at most `bytes`, never less than before */
	size_t unit;
	size_t registered;     /* bytes, from the start */
	_Atomic size_t begun;  /* atomic; units that a thread touches or has touched */
	_Atomic bool *touched; /* atomic, by unit; from calloc() */
	pthread_mutex_t lock;  /* only for `moved` */
	pthread_cond_t moved;  /* a unit was touched */
	pthread_t threads[MAM_PINNED_THREADS];
	unsigned count; /* of threads */
	pid_t process;  /* that opened it */
};

bool mam_pinned_is_possible(const struct mam_driver *driver);

/*
 * mam_pinned_open - reserve addresses and start the threads. `unit`: 0, or the size of a unit, a
 * multiple of 4096. OUT_OF_HOST_MEMORY, also above MAM_HOST_MEMORY, or if less than a quarter of the
 * host's memory would remain. `pinned` stays where it is until the close.
 */
enum mam_status mam_pinned_open(struct mam_pinned *pinned, size_t bytes, size_t unit);

/*
 * mam_pinned_extend - use an open range again, for `bytes`: units that were never used are touched.
 * False: it is too small, or the host has too little memory; nothing changed.
 */
bool mam_pinned_extend(struct mam_pinned *pinned, size_t bytes);

/*
 * mam_pinned_reach - register memory up to and including the unit that contains `offset`. `room`: the
 * bytes from there to the end of a whole unit; no copy may go beyond. Returns the driver's result. Called
 * between an enter and a leave (device.h).
 */
unsigned int mam_pinned_reach(struct mam_pinned *pinned, const struct mam_driver *driver,
			      size_t offset, size_t *room);

/*
 * mam_pinned_close - between an enter and a leave. Memory that the driver refuses to unregister stays
 * mapped: otherwise the system could reuse addresses that the driver regards as registered.
 * mam_pinned_drop - without a driver call; `is_gone`: the context is gone, and its registrations with
 * it. Otherwise registered memory stays mapped.
 */
void mam_pinned_close(struct mam_pinned *pinned, const struct mam_driver *driver);
void mam_pinned_drop(struct mam_pinned *pinned, bool is_gone);

#endif
