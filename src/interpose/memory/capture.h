/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - whether a stream of this process is in capture.
 *
 * While one is, the driver judges allocations and frees by capture mode and thread, ends captures
 * over them, and refuses to synchronise. mam keeps no rules of its own for that: it lets the driver
 * judge (alloc.c, free.c), and makes no call of its own that a capture could suffer from.
 */
#ifndef MAM_INTERPOSE_CAPTURE_H
#define MAM_INTERPOSE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic unsigned int mam_capture_count
	__attribute__((visibility("hidden"))); /* atomic; live captures */

static inline bool mam_capture_alive(void)
{
	return atomic_load_explicit(&mam_capture_count, memory_order_relaxed) != 0;
}

/*
 * mam_capture_hold - keep captures from beginning for the length of one short driver call. False:
 * one is alive, and nothing is held. Held by any number of threads.
 */
bool mam_capture_hold(void);
void mam_capture_release(void);

/* A context is gone, and its captures with it; in the child of a fork all are. */
void mam_capture_context_gone(void *context);
void mam_capture_restart(void);

#endif
