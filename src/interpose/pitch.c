/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pitch.c - cuMemAllocPitch: rows of a pool block, as far apart as the driver would put them.
 * cudaMallocPitch and cudaMalloc3D come down to it.
 *
 *   1. The pitch of a width is the driver's: textures are bound by it. It is asked once for each
 *      width and element size, by an allocation of one row, and remembered.
 *   2. A block of pitch times height from the pool.
 *   3. What is odd, or asked while a capture is alive, is the real function's.
 *
 * The memory of answers is a table where each width has one place; two widths of one place take
 * turns in it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose/alloc.h"
#include "interpose/capture.h"
#include "interpose/hooks.h"
#include "interpose/init.h"
#include "interpose/pass.h"
#include "interpose/watch.h"

#define ANSWERS 256 /* a power of two */

/* A width, its element size and how much wider the pitch is, in one word; 0: empty. */
static _Atomic uint64_t answers[ANSWERS]; /* atomic */

#define WIDTH_BITS 40
#define GAP_BITS 16

static uint64_t key_of(size_t width, unsigned int element)
{
	return (uint64_t)width | (uint64_t)element << WIDTH_BITS;
}

static _Atomic uint64_t *place_of(uint64_t key)
{
	return &answers[(key * UINT64_C(0x9E3779B97F4A7C15)) >> 56 & (ANSWERS - 1)];
}

static bool is_plain(size_t width, size_t height, unsigned int element)
{
	return width != 0 && height != 0 && width < (uint64_t)1 << WIDTH_BITS &&
	       (element == 4 || element == 8 || element == 16);
}

/* 0: the driver gave no answer. The guard is up. */
static size_t pitch_of(__typeof__(&cuMemAllocPitch_v2) real, size_t width, unsigned int element)
{
	__typeof__(&cuMemFree_v2) real_free = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	uint64_t key = key_of(width, element), kept;
	_Atomic uint64_t *place = place_of(key);
	unsigned long long block;
	size_t pitch;

	kept = atomic_load_explicit(place, memory_order_relaxed);
	if ((kept & ((UINT64_C(1) << (WIDTH_BITS + 5)) - 1)) == key)
		return width + (size_t)(kept >> (WIDTH_BITS + 5));
	if (real_free == NULL || real(&block, &pitch, width, 1, element) != MAM_CUDA_SUCCESS)
		return 0;
	real_free(block);
	if (pitch >= width && pitch - width < (size_t)1 << GAP_BITS)
		atomic_store_explicit(place, key | (uint64_t)(pitch - width) << (WIDTH_BITS + 5),
				      memory_order_relaxed);
	return pitch;
}

struct arguments {
	size_t pitch, width, height;
	unsigned int element;
};

/* Too much is asked for by the height. */
static int ask(void *user, size_t bytes, uint64_t *key)
{
	struct arguments *arguments = user;
	size_t height =
		bytes == MAM_ALLOC_TOO_MUCH ? bytes / arguments->width : arguments->height;
	unsigned long long block;
	int answer = MAM_TABLE_ORIGINAL(cuMemAllocPitch_v2)(&block, &arguments->pitch,
							    arguments->width, height,
							    arguments->element);

	if (answer == MAM_CUDA_SUCCESS)
		*key = block;
	return answer;
}

/* By the driver, on the account. */
static int forward(enum mam_road road, struct arguments *arguments, unsigned long long *block,
		   size_t *pitch)
{
	struct mam_pass pass = { .function = MAM_TABLE_cuMemAllocPitch_v2,
				 .road = road,
				 .kind = MAM_ACCOUNT_DIRECT,
				 .ask = ask,
				 .arguments = arguments };
	size_t bytes;
	int answer;

	if (__builtin_mul_overflow(arguments->width, arguments->height, &bytes))
		bytes = SIZE_MAX / 2;
	pass.bytes = mam_pass_rounded(bytes);
	answer = mam_pass_alloc(&pass);
	if (answer == MAM_CUDA_SUCCESS) {
		*block = pass.key;
		*pitch = arguments->pitch;
	}
	return answer;
}

static int alloc_pitch(enum mam_road road, unsigned long long *block, size_t *pitch, size_t width,
		       size_t height, unsigned int element)
{
	__typeof__(&cuMemAllocPitch_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocPitch_v2);
	struct arguments arguments = { 0, width, height, element };
	size_t wide = 0, bytes;
	enum mam_why why;
	void *served;
	int answer = MAM_ALLOC_FORWARD;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL || pitch == NULL ||
	    !is_plain(width, height, element))
		return real(block, pitch, width, height, element);
	mam_init_depth++;
	if (!mam_capture_alive())
		wide = pitch_of(real, width, element);
	if (wide != 0 && !__builtin_mul_overflow(wide, height, &bytes))
		answer = mam_alloc_pooled(MAM_TABLE_cuMemAllocPitch_v2, road, bytes, &served, &why);
	mam_init_depth--;
	if (answer == MAM_ALLOC_FORWARD)
		return forward(road, &arguments, block, pitch);
	*block = (unsigned long long)(uintptr_t)served;
	*pitch = wide;
	return answer;
}

int cuMemAllocPitch_v2(unsigned long long *block, size_t *pitch, size_t width, size_t height,
		       unsigned int element)
{
	return alloc_pitch(MAM_ROAD_SYMBOL, block, pitch, width, height, element);
}

int mam_by_lookup_cuMemAllocPitch_v2(unsigned long long *block, size_t *pitch, size_t width,
				     size_t height, unsigned int element)
{
	return alloc_pitch(MAM_ROAD_LOOKUP, block, pitch, width, height, element);
}
