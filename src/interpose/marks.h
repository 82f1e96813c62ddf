/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - what few blocks have and must lose with their free: a buffer id that a program asked
 * for, synchronous copies, a handle for another process.
 */
#ifndef MAM_INTERPOSE_MARKS_H
#define MAM_INTERPOSE_MARKS_H

#include <stddef.h>

/* The block at this address is about to be freed: whatever is known of it is forgotten. */
void mam_marks_free(void *block);

/* A chunk of a pool goes: the same for all its blocks. */
void mam_marks_chunk_gone(void *base, size_t bytes);

/* In the child of a fork. */
void mam_marks_restart(void);

#endif
