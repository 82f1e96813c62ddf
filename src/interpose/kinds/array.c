/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - CUDA arrays. Only the driver knows their layout, so it keeps allocating them. mam
 * computes their size from the descriptors and lists it; arrays do not count toward the limit.
 */
#include "interpose/memory/pass.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"

/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR, as the driver API declares them. */
struct flat {
	size_t width, height;
	int format;
	unsigned int channels;
};
struct deep {
	size_t width, height, depth;
	int format;
	unsigned int channels;
	unsigned int flags;
};

/*
 * CUarray_format: 8, 16 or 32 bits per channel. The driver has no format with 64 bits per channel.
 */
static size_t channel_bytes(int format)
{
	switch (format) {
	case 0x01: /* unsigned, signed: 8 bits */
	case 0x08: return 1;
	case 0x02: /* unsigned, signed, half: 16 bits */
	case 0x09:
	case 0x10: return 2;
	default: return 4;
	}
}

static size_t at_least_one(size_t count)
{
	return count == 0 ? 1 : count;
}

struct arguments {
	void **array; /* out */
	const void *descriptor;
	unsigned int levels;
};

static int ask_flat(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	int answer = MAM_TABLE_ORIGINAL(cuArrayCreate_v2)(arguments->array, arguments->descriptor);

	(void)bytes;
	if (answer == MAM_CUDA_SUCCESS)
		*key = (uintptr_t)*arguments->array;
	return answer;
}

static int ask_deep(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	int answer =
		MAM_TABLE_ORIGINAL(cuArray3DCreate_v2)(arguments->array, arguments->descriptor);

	(void)bytes;
	if (answer == MAM_CUDA_SUCCESS)
		*key = (uintptr_t)*arguments->array;
	return answer;
}

static int ask_mipmapped(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	int answer = MAM_TABLE_ORIGINAL(cuMipmappedArrayCreate)(
		arguments->array, arguments->descriptor, arguments->levels);

	(void)bytes;
	if (answer == MAM_CUDA_SUCCESS)
		*key = (uintptr_t)*arguments->array;
	return answer;
}

static int create(enum mam_table_id function, enum mam_road road, size_t bytes,
		  struct arguments *arguments, int (*ask)(void *, size_t, uint64_t *))
{
	struct mam_pass pass = { .function = function,
				 .road = road,
				 .kind = MAM_ACCOUNT_ARRAY,
				 .bytes = bytes,
				 .taken = bytes,
				 .ask = ask,
				 .arguments = arguments };

	return mam_pass_alloc(&pass);
}

static int create_flat(enum mam_road road, void **array, const void *descriptor)
{
	MAM_GATE_PASS();
	__typeof__(&cuArrayCreate_v2) real = MAM_TABLE_ORIGINAL(cuArrayCreate_v2);
	struct arguments arguments = { array, descriptor, 0 };
	const struct flat *flat = descriptor;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || array == NULL || flat == NULL)
		return real(array, descriptor);
	return create(MAM_TABLE_cuArrayCreate_v2, road,
		      flat->width * at_least_one(flat->height) * flat->channels *
			      channel_bytes(flat->format),
		      &arguments, ask_flat);
}

int cuArrayCreate_v2(void **array, const void *descriptor)
{
	return create_flat(mam_road_taken(), array, descriptor);
}
MAM_THUNK(cuArrayCreate_v2);

/* Sparse arrays and arrays with deferred mapping have no memory of their own. */
#define FLAGS_EMPTY (0x40 | 0x80)

static size_t deep_bytes(const struct deep *deep)
{
	if ((deep->flags & FLAGS_EMPTY) != 0)
		return 0;
	return deep->width * at_least_one(deep->height) * at_least_one(deep->depth) *
	       deep->channels * channel_bytes(deep->format);
}

static int create_deep(enum mam_road road, void **array, const void *descriptor)
{
	MAM_GATE_PASS();
	__typeof__(&cuArray3DCreate_v2) real = MAM_TABLE_ORIGINAL(cuArray3DCreate_v2);
	struct arguments arguments = { array, descriptor, 0 };

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || array == NULL || descriptor == NULL)
		return real(array, descriptor);
	return create(MAM_TABLE_cuArray3DCreate_v2, road, deep_bytes(descriptor), &arguments,
		      ask_deep);
}

int cuArray3DCreate_v2(void **array, const void *descriptor)
{
	return create_deep(mam_road_taken(), array, descriptor);
}
MAM_THUNK(cuArray3DCreate_v2);

/*
 * Each level has a quarter or an eighth of the bytes of the level before it, so all levels together
 * need about a third more than the first.
 */
static int create_mipmapped(enum mam_road road, void **array, const void *descriptor,
			    unsigned int levels)
{
	MAM_GATE_PASS();
	__typeof__(&cuMipmappedArrayCreate) real = MAM_TABLE_ORIGINAL(cuMipmappedArrayCreate);
	struct arguments arguments = { array, descriptor, levels };

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || array == NULL || descriptor == NULL)
		return real(array, descriptor, levels);
	return create(MAM_TABLE_cuMipmappedArrayCreate, road, deep_bytes(descriptor) / 3 * 4,
		      &arguments, ask_mipmapped);
}

int cuMipmappedArrayCreate(void **array, const void *descriptor, unsigned int levels)
{
	return create_mipmapped(mam_road_taken(), array, descriptor, levels);
}
MAM_THUNK(cuMipmappedArrayCreate);

static int release_array(uint64_t key)
{
	return MAM_TABLE_ORIGINAL(cuArrayDestroy)((void *)(uintptr_t)key);
}

static int destroy(enum mam_road road, void *array)
{
	MAM_GATE_PASS();
	__typeof__(&cuArrayDestroy) real = MAM_TABLE_ORIGINAL(cuArrayDestroy);

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(array);
	return mam_pass_free(MAM_TABLE_cuArrayDestroy, road, MAM_ACCOUNT_ARRAY, (uintptr_t)array,
			     release_array);
}

int cuArrayDestroy(void *array)
{
	return destroy(mam_road_taken(), array);
}
MAM_THUNK(cuArrayDestroy);

static int release_mipmapped(uint64_t key)
{
	return MAM_TABLE_ORIGINAL(cuMipmappedArrayDestroy)((void *)(uintptr_t)key);
}

static int destroy_mipmapped(enum mam_road road, void *array)
{
	MAM_GATE_PASS();
	__typeof__(&cuMipmappedArrayDestroy) real = MAM_TABLE_ORIGINAL(cuMipmappedArrayDestroy);

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(array);
	return mam_pass_free(MAM_TABLE_cuMipmappedArrayDestroy, road, MAM_ACCOUNT_ARRAY,
			     (uintptr_t)array, release_mipmapped);
}

int cuMipmappedArrayDestroy(void *array)
{
	return destroy_mipmapped(mam_road_taken(), array);
}
MAM_THUNK(cuMipmappedArrayDestroy);
