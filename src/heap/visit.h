/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit.h - a walk over what the books of a heap of objects say is live: the heap's own objects,
 * which in one that is debugged are more than what the program has.
 */
#ifndef MAM_HEAP_VISIT_H
#define MAM_HEAP_VISIT_H

#include "heap/grant.h"

/* mam_visit_objects - as mam_heap_walk(). */
enum mam_status mam_visit_objects(const struct mam_heap *heap, struct CUstream_st *stream,
				  bool (*visit)(void *argument, void *address, size_t bytes),
				  void *argument);

#endif
