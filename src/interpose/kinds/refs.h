/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refs.h - reference counts of physical memory from cuMemCreate: unreleased handles and mappings
 * keep the memory alive.
 *
 * Programs release a handle as soon as its memory is mapped. The memory then lives until its last
 * mapping is removed. So each piece of memory has a number and a reference count: one reference for
 * its handle, one for each cuMemRetainAllocationHandle and one for each mapping.
 *
 * Callers report each operation after the driver performed it. By then another thread may have
 * received the same handle for new memory, which is why the number identifies a piece.
 *
 * Bound: expected O(1); an unmap takes one step per mapping. If memory for the metadata runs out, a
 * piece may be considered freed too early or may stay counted forever.
 * Threads: any. No call to the driver.
 */
#ifndef MAM_INTERPOSE_REFS_H
#define MAM_INTERPOSE_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the number of the memory that `handle` refers to, or 0 if it is unknown. */
uint64_t mam_refs_of(uint64_t handle);

/*
 * Records that cuMemCreate returned `handle`. Returns the memory's number, or 0 if there is no
 * memory for the metadata.
 */
uint64_t mam_refs_create(uint64_t handle);

/* Records that cuMemRetainAllocationHandle returned `handle` for the mapping at `address`. */
void mam_refs_retain(uint64_t handle, uint64_t address);

/* Records cuMemRelease of a handle of this memory. Returns true if that was the last reference. */
bool mam_refs_release(uint64_t piece);

void mam_refs_map(uint64_t address, size_t bytes, uint64_t handle);

/* Calls `gone` for each piece of memory whose last reference was this mapping. */
void mam_refs_unmap(uint64_t address, size_t bytes, void (*gone)(uint64_t piece));

/* Called in the child of a fork. */
void mam_refs_restart(void);

#endif
