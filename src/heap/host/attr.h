/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - checks a program's struct mam_heap_attr, of this version or another, field by field,
 * and fills in every default.
 */
#ifndef MAM_HEAP_HOST_ATTR_H
#define MAM_HEAP_HOST_ATTR_H

#include <mam/heap.h>

/* mam_heap_attr_read - returns INVALID_VALUE on failure. */
enum mam_status mam_heap_attr_read(const struct mam_heap_attr *given, struct mam_heap_attr *terms);

#endif
