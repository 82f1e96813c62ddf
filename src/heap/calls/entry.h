/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - routes calls for objects to the heap or, in kernels compiled with error detection, to
 * the checks around it.
 */
#ifndef MAM_HEAP_CALLS_ENTRY_H
#define MAM_HEAP_CALLS_ENTRY_H

#ifdef MAM_KDEBUG
#include "heap/debug/kdebug.h"
#define mam_entry_alloc mam_kdebug_alloc
#define mam_entry_free mam_kdebug_free
#define mam_entry_free_parts mam_kdebug_free_parts
#define mam_entry_calloc mam_kdebug_calloc
#define mam_entry_realloc mam_kdebug_realloc
#define mam_entry_usable mam_kdebug_usable
#else
#include "heap/objects/resize.h"
#define mam_entry_alloc mam_objects_alloc
#define mam_entry_free mam_objects_free
#define mam_entry_free_parts mam_objects_free_parts
#define mam_entry_calloc mam_objects_calloc
#define mam_entry_realloc mam_objects_realloc
#define mam_entry_usable mam_objects_usable
#endif

#endif
