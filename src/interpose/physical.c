/* SPDX-License-Identifier: Apache-2.0 */
/*
 * physical.c - cuMemCreate and cuMemRelease: physical memory that programs map by themselves, as
 * XLA and PyTorch's expandable segments do. Counted and under the limit; there is nothing to pool.
 *
 * A handle that came by cuMemRetainAllocationHandle or an import is released like any other; the
 * first release of a noted one takes it off the account.
 */
#include "interpose/hooks.h"
#include "interpose/init.h"
#include "interpose/pass.h"

struct arguments {
	const void *properties;
	unsigned long long flags;
};

static int ask(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	unsigned long long handle;
	int answer = MAM_TABLE_ORIGINAL(cuMemCreate)(&handle, bytes, arguments->properties,
						     arguments->flags);

	if (answer == MAM_CUDA_SUCCESS)
		*key = handle;
	return answer;
}

static int create(enum mam_road road, unsigned long long *handle, size_t bytes,
		  const void *properties, unsigned long long flags)
{
	__typeof__(&cuMemCreate) real = MAM_TABLE_ORIGINAL(cuMemCreate);
	struct arguments arguments = { properties, flags };
	struct mam_pass pass = { .function = MAM_TABLE_cuMemCreate,
				 .road = road,
				 .kind = MAM_ACCOUNT_PHYSICAL,
				 .bytes = bytes,
				 .ask = ask,
				 .arguments = &arguments };
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || handle == NULL || bytes == 0)
		return real(handle, bytes, properties, flags);
	answer = mam_pass_alloc(&pass);
	if (answer == MAM_CUDA_SUCCESS)
		*handle = pass.key;
	return answer;
}

int cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
		unsigned long long flags)
{
	return create(MAM_ROAD_SYMBOL, handle, bytes, properties, flags);
}

int mam_by_lookup_cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
			      unsigned long long flags)
{
	return create(MAM_ROAD_LOOKUP, handle, bytes, properties, flags);
}

static int release_handle(uint64_t key)
{
	return MAM_TABLE_ORIGINAL(cuMemRelease)(key);
}

static int release(enum mam_road road, unsigned long long handle)
{
	__typeof__(&cuMemRelease) real = MAM_TABLE_ORIGINAL(cuMemRelease);

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(handle);
	return mam_pass_free(MAM_TABLE_cuMemRelease, road, MAM_ACCOUNT_PHYSICAL, handle,
			     release_handle);
}

int cuMemRelease(unsigned long long handle)
{
	return release(MAM_ROAD_SYMBOL, handle);
}

int mam_by_lookup_cuMemRelease(unsigned long long handle)
{
	return release(MAM_ROAD_LOOKUP, handle);
}
