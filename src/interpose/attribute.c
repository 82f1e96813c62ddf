/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.c - what a pointer is.
 */
#include "interpose/hooks.h"
#include "interpose/table.h"

int cuPointerGetAttribute(void *value, int attribute, unsigned long long address)
{
	__typeof__(&cuPointerGetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerGetAttribute);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(value, attribute, address);
}

int mam_by_lookup_cuPointerGetAttribute(void *value, int attribute, unsigned long long address)
{
	__typeof__(&cuPointerGetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerGetAttribute);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(value, attribute, address);
}

int cuPointerGetAttributes(unsigned int count, int *attributes, void **values,
			   unsigned long long address)
{
	__typeof__(&cuPointerGetAttributes) real = MAM_TABLE_ORIGINAL(cuPointerGetAttributes);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(count, attributes, values, address);
}

int mam_by_lookup_cuPointerGetAttributes(unsigned int count, int *attributes, void **values,
					 unsigned long long address)
{
	__typeof__(&cuPointerGetAttributes) real = MAM_TABLE_ORIGINAL(cuPointerGetAttributes);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(count, attributes, values, address);
}

int cuPointerSetAttribute(const void *value, int attribute, unsigned long long address)
{
	__typeof__(&cuPointerSetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerSetAttribute);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(value, attribute, address);
}

int mam_by_lookup_cuPointerSetAttribute(const void *value, int attribute,
					unsigned long long address)
{
	__typeof__(&cuPointerSetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerSetAttribute);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(value, attribute, address);
}

int cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes, unsigned long long address)
{
	__typeof__(&cuMemGetAddressRange_v2) real = MAM_TABLE_ORIGINAL(cuMemGetAddressRange_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(base, bytes, address);
}

int mam_by_lookup_cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes,
					  unsigned long long address)
{
	__typeof__(&cuMemGetAddressRange_v2) real = MAM_TABLE_ORIGINAL(cuMemGetAddressRange_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(base, bytes, address);
}

int cuMemGetHandleForAddressRange(void *handle, unsigned long long address, size_t bytes,
				  int type, unsigned long long flags)
{
	__typeof__(&cuMemGetHandleForAddressRange) real = MAM_TABLE_ORIGINAL(cuMemGetHandleForAddressRange);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle, address, bytes, type, flags);
}

int mam_by_lookup_cuMemGetHandleForAddressRange(void *handle, unsigned long long address,
						size_t bytes, int type, unsigned long long flags)
{
	__typeof__(&cuMemGetHandleForAddressRange) real = MAM_TABLE_ORIGINAL(cuMemGetHandleForAddressRange);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle, address, bytes, type, flags);
}
