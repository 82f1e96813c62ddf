/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - arrays and mipmapped arrays: opaque, so their only effect is the memory that they use.
 *
 * Each level of a mipmapped array is half as large in each dimension as the one before it. The
 * array uses the sum of its levels, rounded up to 512 bytes.
 */
#include "fake.h"

#include <stdlib.h>

struct CUarray_st {
	struct CUarray_st *next;
	struct CUctx_st *context;
	size_t rounded; /* bytes used */
	bool mipmapped;
};

static struct CUarray_st *arrays; /* lock: fake */

/* Bytes of one channel of a format, as cuda.h numbers them; 0: the format does not exist. */
static size_t channel_bytes(int format)
{
	switch (format) {
	case 0x01: /* unsigned and signed 8 bits */
	case 0x08: return 1;
	case 0x02: /* unsigned, signed and floating 16 bits */
	case 0x09:
	case 0x10: return 2;
	case 0x03: /* unsigned, signed and floating 32 bits */
	case 0x0a:
	case 0x20: return 4;
	default: return 0;
	}
}

static size_t at_least_one(size_t value)
{
	return value ? value : 1;
}

static int make(const struct cu_array3d_descriptor *wanted, unsigned int levels, bool mipmapped,
		struct CUarray_st **array)
{
	struct CUctx_st *context;
	struct CUarray_st *made;
	size_t max = (size_t)1 << 20, bytes = 0;
	int result = fake_context_current(&context);

	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	if (result != CUDA_SUCCESS)
		return result;
	if (!array || wanted->width == 0 || wanted->width > max || wanted->height > max ||
	    wanted->depth > max || levels == 0 || levels > 32 ||
	    (wanted->channels != 1 && wanted->channels != 2 && wanted->channels != 4) ||
	    channel_bytes(wanted->format) == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int level = 0; level < levels; level++) {
		__uint128_t area = (__uint128_t)at_least_one(wanted->width >> level) *
				   at_least_one(wanted->height >> level) *
				   at_least_one(wanted->depth >> level) * wanted->channels *
				   channel_bytes(wanted->format);

		if (area > SIZE_MAX / 64)
			return CUDA_ERROR_OUT_OF_MEMORY;
		bytes += area;
	}
	bytes = (bytes + FAKE_GRANULE - 1) & ~(FAKE_GRANULE - 1);
	made = calloc(1, sizeof(*made));
	result = made ? fake_memory_charge(context->device, bytes) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result != CUDA_SUCCESS) {
		free(made);
		return result;
	}
	*made = (struct CUarray_st){ arrays, fake_context_owner(context), bytes, mipmapped };
	*array = arrays = made;
	return CUDA_SUCCESS;
}

static void drop(struct CUarray_st **link)
{
	struct CUarray_st *array = *link;

	fake_memory_uncharge(array->context->device, array->rounded);
	*link = array->next;
	free(array);
}

/* As a free of memory, it waits for all work of the array's context. */
static int destroy(const struct CUarray_st *array, bool mipmapped)
{
	struct CUctx_st *context;
	int result = fake_context_current(&context);

	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	for (int pass = 0; pass < 2 && result == CUDA_SUCCESS; pass++) {
		struct CUarray_st **link = &arrays;

		while (*link && *link != array)
			link = &(*link)->next;
		if (!*link || (*link)->mipmapped != mipmapped)
			result = CUDA_ERROR_INVALID_HANDLE;
		else if (pass == 0)
			fake_timeline_wait((*link)->context->all_ns);
		else
			drop(link);
	}
	return result;
}

void fake_array_drop_context(struct CUctx_st *context)
{
	for (struct CUarray_st **link = &arrays; *link;)
		if ((*link)->context == context)
			drop(link);
		else
			link = &(*link)->next;
}

int cuArrayCreate_v2(struct CUarray_st **array, const struct cu_array_descriptor *wanted)
{
	struct cu_array3d_descriptor flat = { 0 };
	int result = fake_enter("cuArrayCreate");

	if (result == CUDA_SUCCESS && !wanted)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		flat.width = wanted->width;
		flat.height = wanted->height;
		flat.format = wanted->format;
		flat.channels = wanted->channels;
		result = make(&flat, 1, false, array);
	}
	return fake_leave("cuArrayCreate", result, "width=%zu height=%zu", flat.width, flat.height);
}

int cuArray3DCreate_v2(struct CUarray_st **array, const struct cu_array3d_descriptor *wanted)
{
	int result = fake_enter("cuArray3DCreate");

	if (result == CUDA_SUCCESS && !wanted)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = make(wanted, 1, false, array);
	return fake_leave("cuArray3DCreate", result, "width=%zu height=%zu depth=%zu",
			  wanted ? wanted->width : 0, wanted ? wanted->height : 0,
			  wanted ? wanted->depth : 0);
}

int cuArrayDestroy(struct CUarray_st *array)
{
	int result = fake_enter("cuArrayDestroy");

	if (result == CUDA_SUCCESS)
		result = destroy(array, false);
	return fake_leave("cuArrayDestroy", result, "array=%p", (void *)array);
}

int cuMipmappedArrayCreate(struct CUmipmappedArray_st **array,
			   const struct cu_array3d_descriptor *wanted, unsigned int levels)
{
	int result = fake_enter("cuMipmappedArrayCreate");

	if (result == CUDA_SUCCESS && !wanted)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = make(wanted, levels, true, (struct CUarray_st **)array);
	return fake_leave("cuMipmappedArrayCreate", result, "levels=%u", levels);
}

int cuMipmappedArrayDestroy(struct CUmipmappedArray_st *array)
{
	int result = fake_enter("cuMipmappedArrayDestroy");

	if (result == CUDA_SUCCESS)
		result = destroy((struct CUarray_st *)array, true);
	return fake_leave("cuMipmappedArrayDestroy", result, "array=%p", (void *)array);
}
