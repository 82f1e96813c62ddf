/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pitch.c - cuMemAllocPitch: rows of a pool block, with the pitch that the driver would choose.
 * cudaMallocPitch and cudaMalloc3D call it.
 *
 *   1. The driver chooses the pitch for a width, because textures are bound with it. So the first
 *      allocation of each width and element size on a device goes to the driver, which returns the
 *      pitch.
 *   2. Later ones are pool blocks of pitch times height.
 *   3. Unusual requests, and those of a thread that a capture restricts, go to the real function.
 *
 * mam does not query the pitch by an allocation that it frees again: a free waits for all work of
 * its context, which the program does not expect here.
 *
 * Known pitches are kept in a direct-mapped table: each width has one slot, and two widths with the
 * same slot replace each other.
 */
#include <stdatomic.h>
#include <stdint.h>

#include <mam/options.h>

#include "interpose/memory/alloc.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/pass.h"
#include "interpose/memory/pools.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"

#define ANSWER_BITS 12
#define ALIGNMENT 512 /* of the driver's pitched memory: textures are bound to it */
#define WIDTH_BITS 36
#define DEVICE_BITS 10
#define KEY_BITS (WIDTH_BITS + 2 + DEVICE_BITS)
#define GAP_BITS (64 - KEY_BITS)

/* A width, its element size, the device, and how much larger the pitch is; 0: empty. */
static _Atomic uint64_t answers[1 << ANSWER_BITS]; /* atomic */

/* Returns 0 if it cannot be kept in the table. */
static uint64_t key_of(size_t width, unsigned int element, int device)
{
	uint64_t size = element == 4 ? 1 : element == 8 ? 2 : element == 16 ? 3 : 0;

	if (size == 0 || width == 0 || (uint64_t)width >> WIDTH_BITS != 0 || device < 0 ||
	    device >> DEVICE_BITS != 0)
		return 0;
	return (uint64_t)width | size << WIDTH_BITS | (uint64_t)device << (WIDTH_BITS + 2);
}

static _Atomic uint64_t *place_of(uint64_t key)
{
	return &answers[(key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - ANSWER_BITS)];
}

/* Returns 0 if it is not known yet. */
static size_t recall(uint64_t key, size_t width)
{
	uint64_t kept = atomic_load_explicit(place_of(key), memory_order_relaxed);

	return (kept & ((UINT64_C(1) << KEY_BITS) - 1)) == key ? width + (kept >> KEY_BITS) : 0;
}

static void remember(uint64_t key, size_t width, size_t pitch)
{
	if (key != 0 && pitch >= width && (pitch - width) >> GAP_BITS == 0)
		atomic_store_explicit(place_of(key), key | (uint64_t)(pitch - width) << KEY_BITS,
				      memory_order_relaxed);
}

/* Returns the device of the current context, or -1 if there is none. */
static int current_device(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;
	int device;

	if (driver == NULL || driver->ctx_current(&context) != MAM_CUDA_SUCCESS || context == NULL)
		return -1;
	device = mam_pools_device(context);
	return device < 0 && driver->ctx_device(&device) != MAM_CUDA_SUCCESS ? -1 : device;
}

struct arguments {
	unsigned long long *block; /* out */
	size_t *pitch;             /* out */
	size_t width, height;
	unsigned int element;
};

/* An impossible size is requested by the height. */
static int ask(void *user, size_t bytes, uint64_t *key)
{
	struct arguments *arguments = user;
	size_t height = bytes == MAM_PASS_TOO_MUCH ? bytes / arguments->width : arguments->height;
	int answer = MAM_TABLE_ORIGINAL(cuMemAllocPitch_v2)(
		arguments->block, arguments->pitch, arguments->width, height, arguments->element);

	if (answer == MAM_CUDA_SUCCESS)
		*key = *arguments->block;
	return answer;
}

/* Allocates by the driver, charged to the account. */
static int forward(enum mam_road road, struct arguments *arguments, enum mam_why why)
{
	struct mam_pass pass = { .function = MAM_TABLE_cuMemAllocPitch_v2,
				 .road = road,
				 .kind = MAM_ACCOUNT_DIRECT,
				 .why = why,
				 .ask = ask,
				 .arguments = arguments };
	size_t wide = (arguments->width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	if (__builtin_mul_overflow(wide, arguments->height, &pass.bytes))
		pass.bytes = SIZE_MAX;
	pass.taken = mam_pass_rounded(pass.bytes);
	return mam_pass_alloc(&pass);
}

/*
 * Allocates from the pool if the pitch is known. Otherwise returns MAM_ALLOC_FORWARD. The guard is
 * up.
 */
static int serve(enum mam_road road, size_t pitch, size_t height, void **block, enum mam_why *why)
{
	size_t bytes;

	*why = mam_capture_restricts() ? MAM_WHY_CAPTURE : MAM_WHY_KIND;
	if (pitch == 0 || *why == MAM_WHY_CAPTURE || mam_option_number("MAM_GRANULE") < ALIGNMENT ||
	    __builtin_mul_overflow(pitch, height, &bytes))
		return MAM_ALLOC_FORWARD;
	return mam_alloc_pooled(MAM_TABLE_cuMemAllocPitch_v2, road, bytes, block, why);
}

static int alloc_pitch(enum mam_road road, unsigned long long *block, size_t *pitch, size_t width,
		       size_t height, unsigned int element)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemAllocPitch_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocPitch_v2);
	struct arguments arguments = { block, pitch, width, height, element };
	enum mam_why why;
	void *served;
	uint64_t key;
	size_t known;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || block == NULL || pitch == NULL || width == 0 || height == 0)
		return real(block, pitch, width, height, element);
	mam_init_depth++;
	key = key_of(width, element, current_device());
	known = key == 0 ? 0 : recall(key, width);
	answer = serve(road, known, height, &served, &why);
	mam_init_depth--;
	if (answer != MAM_ALLOC_FORWARD) {
		*block = (unsigned long long)(uintptr_t)served;
		*pitch = known;
		return answer;
	}
	answer = forward(road, &arguments, why);
	if (answer == MAM_CUDA_SUCCESS)
		remember(key, width, *pitch);
	return answer;
}

int cuMemAllocPitch_v2(unsigned long long *block, size_t *pitch, size_t width, size_t height,
		       unsigned int element)
{
	return alloc_pitch(mam_road_taken(), block, pitch, width, height, element);
}
MAM_THUNK(cuMemAllocPitch_v2);
