/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - memory that stays the driver's.
 */
#include "interpose/hooks.h"
#include "interpose/table.h"

int cuMemAllocManaged(unsigned long long *block, size_t bytes, unsigned int flags)
{
	__typeof__(&cuMemAllocManaged) real = MAM_TABLE_ORIGINAL(cuMemAllocManaged);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, flags);
}

int mam_by_lookup_cuMemAllocManaged(unsigned long long *block, size_t bytes, unsigned int flags)
{
	__typeof__(&cuMemAllocManaged) real = MAM_TABLE_ORIGINAL(cuMemAllocManaged);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, flags);
}

int cuMemHostAlloc(void **block, size_t bytes, unsigned int flags)
{
	__typeof__(&cuMemHostAlloc) real = MAM_TABLE_ORIGINAL(cuMemHostAlloc);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, flags);
}

int mam_by_lookup_cuMemHostAlloc(void **block, size_t bytes, unsigned int flags)
{
	__typeof__(&cuMemHostAlloc) real = MAM_TABLE_ORIGINAL(cuMemHostAlloc);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, flags);
}

int cuMemAllocHost_v2(void **block, size_t bytes)
{
	__typeof__(&cuMemAllocHost_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocHost_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes);
}

int mam_by_lookup_cuMemAllocHost_v2(void **block, size_t bytes)
{
	__typeof__(&cuMemAllocHost_v2) real = MAM_TABLE_ORIGINAL(cuMemAllocHost_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes);
}

int cuMemFreeHost(void *block)
{
	__typeof__(&cuMemFreeHost) real = MAM_TABLE_ORIGINAL(cuMemFreeHost);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block);
}

int mam_by_lookup_cuMemFreeHost(void *block)
{
	__typeof__(&cuMemFreeHost) real = MAM_TABLE_ORIGINAL(cuMemFreeHost);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block);
}

int cuMemHostRegister_v2(void *block, size_t bytes, unsigned int flags)
{
	__typeof__(&cuMemHostRegister_v2) real = MAM_TABLE_ORIGINAL(cuMemHostRegister_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, flags);
}

int mam_by_lookup_cuMemHostRegister_v2(void *block, size_t bytes, unsigned int flags)
{
	__typeof__(&cuMemHostRegister_v2) real = MAM_TABLE_ORIGINAL(cuMemHostRegister_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block, bytes, flags);
}

int cuMemHostUnregister(void *block)
{
	__typeof__(&cuMemHostUnregister) real = MAM_TABLE_ORIGINAL(cuMemHostUnregister);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block);
}

int mam_by_lookup_cuMemHostUnregister(void *block)
{
	__typeof__(&cuMemHostUnregister) real = MAM_TABLE_ORIGINAL(cuMemHostUnregister);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(block);
}

int cuArrayCreate_v2(void **array, const void *descriptor)
{
	__typeof__(&cuArrayCreate_v2) real = MAM_TABLE_ORIGINAL(cuArrayCreate_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array, descriptor);
}

int mam_by_lookup_cuArrayCreate_v2(void **array, const void *descriptor)
{
	__typeof__(&cuArrayCreate_v2) real = MAM_TABLE_ORIGINAL(cuArrayCreate_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array, descriptor);
}

int cuArray3DCreate_v2(void **array, const void *descriptor)
{
	__typeof__(&cuArray3DCreate_v2) real = MAM_TABLE_ORIGINAL(cuArray3DCreate_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array, descriptor);
}

int mam_by_lookup_cuArray3DCreate_v2(void **array, const void *descriptor)
{
	__typeof__(&cuArray3DCreate_v2) real = MAM_TABLE_ORIGINAL(cuArray3DCreate_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array, descriptor);
}

int cuArrayDestroy(void *array)
{
	__typeof__(&cuArrayDestroy) real = MAM_TABLE_ORIGINAL(cuArrayDestroy);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array);
}

int mam_by_lookup_cuArrayDestroy(void *array)
{
	__typeof__(&cuArrayDestroy) real = MAM_TABLE_ORIGINAL(cuArrayDestroy);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array);
}

int cuMipmappedArrayCreate(void **array, const void *descriptor, unsigned int levels)
{
	__typeof__(&cuMipmappedArrayCreate) real = MAM_TABLE_ORIGINAL(cuMipmappedArrayCreate);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array, descriptor, levels);
}

int mam_by_lookup_cuMipmappedArrayCreate(void **array, const void *descriptor,
					 unsigned int levels)
{
	__typeof__(&cuMipmappedArrayCreate) real = MAM_TABLE_ORIGINAL(cuMipmappedArrayCreate);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array, descriptor, levels);
}

int cuMipmappedArrayDestroy(void *array)
{
	__typeof__(&cuMipmappedArrayDestroy) real = MAM_TABLE_ORIGINAL(cuMipmappedArrayDestroy);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array);
}

int mam_by_lookup_cuMipmappedArrayDestroy(void *array)
{
	__typeof__(&cuMipmappedArrayDestroy) real = MAM_TABLE_ORIGINAL(cuMipmappedArrayDestroy);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(array);
}

int cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
		unsigned long long flags)
{
	__typeof__(&cuMemCreate) real = MAM_TABLE_ORIGINAL(cuMemCreate);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle, bytes, properties, flags);
}

int mam_by_lookup_cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
			      unsigned long long flags)
{
	__typeof__(&cuMemCreate) real = MAM_TABLE_ORIGINAL(cuMemCreate);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle, bytes, properties, flags);
}

int cuMemRelease(unsigned long long handle)
{
	__typeof__(&cuMemRelease) real = MAM_TABLE_ORIGINAL(cuMemRelease);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle);
}

int mam_by_lookup_cuMemRelease(unsigned long long handle)
{
	__typeof__(&cuMemRelease) real = MAM_TABLE_ORIGINAL(cuMemRelease);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle);
}
