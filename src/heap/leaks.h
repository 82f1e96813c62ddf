/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.h - what the live objects of a heap that is debugged are to the program, and which of them
 * are live when it ends.
 */
#ifndef MAM_HEAP_LEAKS_H
#define MAM_HEAP_LEAKS_H

#include "heap/grant.h"

/* mam_leaks_walk - mam_heap_walk() of a heap that is debugged. */
enum mam_status mam_leaks_walk(struct mam_heap *heap, struct CUstream_st *stream,
			       bool (*visit)(void *argument, void *address, size_t bytes),
			       void *argument);

/*
 * mam_leaks_log - before a heap ends: the reports that nobody has read, and what is live, to the
 * log. Waits for kernels where the pool's policy is to do so. What cannot be read is left out.
 */
void mam_leaks_log(struct mam_heap *heap);

#endif
