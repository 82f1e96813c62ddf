/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - passes the allocations and frees of this library's pools to libmam-preload.so while it
 * writes a trace or a profile (mam/recorder.h).
 *
 * The lookups take no lock and are not in a pthread_once(): the dynamic linker waits for
 * constructors, which may allocate. Threads that arrive first at the same time all look, and find the
 * same.
 */
#ifndef MAM_API_RECORDER_H
#define MAM_API_RECORDER_H

#include <mam/mam.h>

/* Called before a pool is created: under mam run, the pool's blocks are in the trace. */
void mam_recorder_join(void);

/*
 * mam_recorder_load - without mam run, load libmam-preload.so. Errors: UNSUPPORTED (it is not
 * installed, or cannot be loaded: a message gives the reason).
 * mam_recorder_find - one of its functions; NULL: neither loaded, nor under mam run.
 */
enum mam_status mam_recorder_load(void);
void *mam_recorder_find(const char *name);

#endif
