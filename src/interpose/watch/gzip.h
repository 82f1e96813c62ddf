/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - gzip members by libz.so.1, where this machine has it. It is looked for when a trace is
 * opened: the object itself needs no library but the C library.
 * Threads: one at a time.
 */
#ifndef MAM_INTERPOSE_GZIP_H
#define MAM_INTERPOSE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/* For pieces of at most `bytes`. */
void mam_gzip_start(size_t bytes);
bool mam_gzip_is_there(void);

/* One member of its own; valid until the next call. False: no memory. */
bool mam_gzip_pack(const void *data, size_t bytes, const void **packed, size_t *packed_bytes);

/* In the child of a fork: what there was may be half done. */
void mam_gzip_restart(void);

#endif
