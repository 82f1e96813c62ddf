/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds.h - what keeps physical memory of cuMemCreate alive: handles that were not released, and
 * mappings.
 *
 * Programs release a handle as soon as its memory is mapped, and the memory then lives until the
 * last mapping is gone. So each piece of memory has a number of its own and a count of holds: one
 * for its handle, one for each cuMemRetainAllocationHandle, one for each mapping.
 *
 * Everything is told after the driver did it. By then a handle may mean new memory, made by another
 * thread, which is why a piece is known by its number.
 *
 * Bound: expected O(1), for an unmapping one step a mapping. Without memory for the books a piece
 * may be thought gone too early, or for ever alive.
 * Threads: any. No call to the driver.
 */
#ifndef MAM_INTERPOSE_HOLDS_H
#define MAM_INTERPOSE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of the memory that a handle means; 0: not known. */
uint64_t mam_holds_of(uint64_t handle);

/* cuMemCreate gave `handle`. Returns the memory's number; 0: no memory for the books. */
uint64_t mam_holds_create(uint64_t handle);

/* cuMemRetainAllocationHandle gave `handle` for what is mapped at `address`. */
void mam_holds_retain(uint64_t handle, uint64_t address);

/* cuMemRelease of a handle of this memory. True: nothing holds it any more. */
bool mam_holds_release(uint64_t piece);

void mam_holds_map(uint64_t address, size_t bytes, uint64_t handle);

/* Calls `gone` for each piece of memory that nothing holds any more. */
void mam_holds_unmap(uint64_t address, size_t bytes, void (*gone)(uint64_t piece));

/* In the child of a fork. */
void mam_holds_restart(void);

#endif
