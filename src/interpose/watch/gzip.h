/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - compresses gzip members by libz.so.1, if this machine has it. The library is searched
 * when a trace is opened: the object itself depends only on the C library.
 * Threads: one at a time, except for mam_gzip_load().
 */
#ifndef MAM_INTERPOSE_GZIP_H
#define MAM_INTERPOSE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Loads the library. Call it without a lock: a thread that allocates in a constructor holds the
 * dynamic linker's lock, and may wait for that lock. If another thread is loading the library, waits
 * for that, at most 0.1 s; then the library counts as missing until it is there.
 */
void mam_gzip_load(void);

/* Prepares for members of at most `bytes`. */
void mam_gzip_start(size_t bytes);
bool mam_gzip_is_there(void);

/* Returns one complete member, valid until the next call. Returns false if there is no memory. */
bool mam_gzip_pack(const void *data, size_t bytes, const void **packed, size_t *packed_bytes);

/* Called in the child of a fork: the parent's state may be inconsistent. */
void mam_gzip_restart(void);

#endif
