/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.h - the watcher that knows when and where each live block was allocated.
 */
#ifndef MAM_INTERPOSE_LEAKS_H
#define MAM_INTERPOSE_LEAKS_H

struct mam_watch_call;

void mam_leaks_start(void);
void mam_leaks_alloc(const struct mam_watch_call *call);
void mam_leaks_free(const struct mam_watch_call *call);

/* All blocks of a context are gone with it, freed or not: they are no leaks of the program's. */
void mam_leaks_context_gone(void *context);

/* The process ends: the report. Host data only. */
void mam_leaks_finish(void);
void mam_leaks_restart(void);

#endif
