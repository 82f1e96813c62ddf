/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers_kit.h - helpers for tests of buffers: create buffers, and count the blocks in them; on
 * top of kit.h.
 */
#ifndef MAM_TESTS_COALESCE_BUFFERS_KIT_H
#define MAM_TESTS_COALESCE_BUFFERS_KIT_H

#include "coalesce/kit.h"
#include "coalesce/buffers.h"

static struct mam_buffers *buffers;

static inline void buffers_make(uint32_t count, uint32_t blocks, uint64_t reference)
{
	free(buffers);
	buffers = aligned_alloc(MAM_FIFO_LINE, mam_buffers_bytes(count, blocks));
	ck_assert_ptr_nonnull(buffers);
	memset(buffers, 0xa5, mam_buffers_bytes(count, blocks));
	mam_buffers_format(buffers, count, blocks, reference);
}

static inline void buffers_drop(void)
{
	free(buffers);
	buffers = NULL;
}

/* The number of blocks in the FIFOs of a class; class 0: in all FIFOs. */
CKIT_UNSEEN uint32_t buffers_cached(uint32_t class_)
{
	uint32_t i, n = 0;

	for (i = 0; i < MAM_CLASSES * buffers->count; i++) {
		const struct mam_fifo *fifo = mam_buffers_fifo(buffers, buffers->fifo_bytes, i);

		if (!class_ || i / buffers->count == class_ - 1)
			n += (uint32_t)(fifo->tail >> 32) - fifo->head + 1;
	}
	return n;
}

#endif
