/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.h - a shadow map of a pool's memory: which stream used each byte last, and whether that
 * work is done.
 *
 * The fake driver reports when each piece of work ends (fake_use) and the current time
 * (fake_clock). The map stores that per granule. So for each block that a pool allocates, it
 * detects whether work still uses some byte of it, or whether some byte belongs to another block:
 *
 *   shadow_take   a block was allocated, for work on one stream or on any that begins at `begin_ns`
 *                 (fake_begin): each granule must belong to no block, and be unused so far, or its
 *                 last work must end before that, or be in that stream
 *   shadow_use    work on a live block was submitted; all earlier work on the block is done or
 *                 ordered before it
 *   shadow_give   a block is about to be freed: call before the free, because another thread may
 *                 get the block at once after it
 *
 * Result: NULL, or one sentence with the block and both streams. Any thread may call them; there is
 * one lock.
 *
 * The map ignores order between streams (legacy and blocking ones): a pool that relied on it would
 * be correct where the map reports an early reuse. mam does not.
 */
#ifndef TESTS_STRESS_SHADOW_H
#define TESTS_STRESS_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include "fake/load.h"

#define SHADOW_ANYBODY 0u /* no stream has this id */
#define SHADOW_GRANULE ((size_t)512)

struct shadow;

struct shadow *shadow_new(const struct cuda *cuda);
void shadow_end(struct shadow *shadow);

const char *shadow_take(struct shadow *shadow, const void *block, size_t bytes, uint64_t stream_id,
			uint64_t begin_ns);
const char *shadow_give(struct shadow *shadow, const void *block, size_t bytes);
void shadow_use(struct shadow *shadow, const void *block, size_t bytes, uint64_t stream_id,
		uint64_t due_ns);

/*
 * shadow_reused - number of granules that were allocated and had been used before: a test without
 * reuse proves nothing.
 */
uint64_t shadow_reused(struct shadow *shadow);
/* shadow_ahead - those of them whose work was not done, in the order of their stream. */
uint64_t shadow_ahead(struct shadow *shadow);

#endif
