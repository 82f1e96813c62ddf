/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit.h - visits the live objects of an object heap according to its metadata: the heap's own
 * objects, which in a debugged heap are larger than the program's.
 */
#ifndef MAM_HEAP_HOST_VISIT_H
#define MAM_HEAP_HOST_VISIT_H

#include "heap/host/create.h"

/* mam_visit_objects - as mam_heap_walk(). */
enum mam_status mam_visit_objects(const struct mam_heap *heap, struct CUstream_st *stream,
				  bool (*visit)(void *argument, void *address, size_t bytes),
				  void *argument);

#endif
