/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.h - the live objects of a debugged heap as the program sees them, and those that are still
 * live when it ends.
 */
#ifndef MAM_HEAP_HOST_LEAKS_H
#define MAM_HEAP_HOST_LEAKS_H

#include "heap/host/create.h"

/* mam_leaks_walk - mam_heap_walk() of a heap that is debugged. */
enum mam_status mam_leaks_walk(struct mam_heap *heap, struct CUstream_st *stream,
			       bool (*visit)(void *argument, void *address, size_t bytes),
			       void *argument);

/*
 * mam_leaks_log - logs the unread reports and the live objects before a heap ends. Waits for
 * kernels if the pool's policy requires it. Objects that cannot be read are left out.
 */
void mam_leaks_log(struct mam_heap *heap);

#endif
