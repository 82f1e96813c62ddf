/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.h - a book beside a pool's: who used which byte last, and is that work done?
 *
 * The fake driver says of each piece of work when it is done (fake_use) and what time it is (fake_clock). The book
 * keeps that per granule, so of each block a pool hands out it can tell whether some byte of it is still in use, or
 * somebody else's:
 *
 *   shadow_take   a block was handed out, for work on one stream or for anybody: each granule must be nobody's, and
 *                 unused so far, or its last work done, or of that very stream
 *   shadow_use    work on a live block was submitted; all work before it on the block is done or ordered before it
 *   shadow_give   a block is about to be freed: call before the free, as another thread may have it at once after
 *
 * Answers: NULL, or one sentence that names the block and both streams. Any thread, one lock.
 *
 * Order across streams (legacy and blocking ones) is not looked at: a pool that used it would be right in what the
 * book calls too early. mam does not.
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

const char *shadow_take(struct shadow *shadow, const void *block, size_t bytes, uint64_t stream_id);
const char *shadow_give(struct shadow *shadow, const void *block, size_t bytes);
void shadow_use(struct shadow *shadow, const void *block, size_t bytes, uint64_t stream_id,
		uint64_t due_ns);

/* shadow_reused - how many granules were handed out that had been used before: a test that reuses none sees nothing. */
uint64_t shadow_reused(struct shadow *shadow);
/* shadow_ahead - ... of those whose work was not done, that is in the order of their stream. */
uint64_t shadow_ahead(struct shadow *shadow);

#endif
