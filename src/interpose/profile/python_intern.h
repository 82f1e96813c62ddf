/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_intern.h - one copy of each piece of data, which is never freed.
 *
 * A hash table whose nodes are never changed or removed, so a lookup needs no lock; a new node is
 * inserted by compare-and-swap, after a search among the nodes that other threads inserted meanwhile.
 * Bound: 64 MiB.
 */
#ifndef MAM_INTERPOSE_PYTHON_INTERN_H
#define MAM_INTERPOSE_PYTHON_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* Returns the copy of these bytes, aligned like a pointer; NULL if there is no memory. */
const void *mam_python_intern(const void *data, size_t bytes);

/* Returns a hash over these bytes that also depends on `seed`. */
uint64_t mam_python_hash(const void *data, size_t bytes, uint64_t seed);

#endif
