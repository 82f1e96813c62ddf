/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terms.h - struct mam_heap_attr as a program gives it, of this version or another: checked field
 * by field, and every default filled in.
 */
#ifndef MAM_HEAP_TERMS_H
#define MAM_HEAP_TERMS_H

#include <mam/heap.h>

/* mam_terms_read - INVALID_VALUE. */
enum mam_status mam_terms_read(const struct mam_heap_attr *given, struct mam_heap_attr *terms);

#endif
