/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_example.h - an example adapter of mam bench device: slots of 64 bytes, each with a word
 * that is set if it is used, tried one after another starting at a place chosen by the clock.
 * device_example.cu explains how it becomes a module.
 */
#include "device/port.h"

#define SLOT 64u

/* The heap is zeros, except for its first 8 bytes, which have its size in bytes. */
MAM_KFN void *bench_malloc(void *heap, size_t bytes)
{
	const uint32_t slots = (uint32_t)(*(uint64_t *)heap / (SLOT + 4)) - 1;
	uint32_t *const taken = (uint32_t *)((unsigned char *)heap + (uint64_t)(slots + 1) * SLOT);
	uint32_t slot = ((uint32_t)mam_clock() * 0x9e3779b9u + mam_thread()) % slots, tried;

	for (tried = 0; bytes <= SLOT && tried < slots; tried++, slot = (slot + 1) % slots)
		if (mam_atomic_xchg32(&taken[slot], 1, MAM_ACQUIRE, MAM_AT_DEVICE) == 0)
			return (unsigned char *)heap + (uint64_t)(slot + 1) * SLOT;
	return NULL;
}

MAM_KFN void bench_free(void *heap, void *object, size_t bytes)
{
	const uint32_t slots = (uint32_t)(*(uint64_t *)heap / (SLOT + 4)) - 1;
	uint32_t *const taken = (uint32_t *)((unsigned char *)heap + (uint64_t)(slots + 1) * SLOT);

	(void)bytes;
	if (object == NULL)
		return;
	mam_atomic_store32(&taken[((unsigned char *)object - (unsigned char *)heap) / SLOT - 1], 0,
			   MAM_RELEASE, MAM_AT_DEVICE);
}
