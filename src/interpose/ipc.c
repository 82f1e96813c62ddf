/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.c - memory shared between processes.
 */
#include "interpose/ipc.h"

#include "interpose/hooks.h"
#include "interpose/table.h"

int cuIpcGetMemHandle(struct mam_ipc_handle *handle, unsigned long long address)
{
	__typeof__(&cuIpcGetMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcGetMemHandle);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle, address);
}

int mam_by_lookup_cuIpcGetMemHandle(struct mam_ipc_handle *handle, unsigned long long address)
{
	__typeof__(&cuIpcGetMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcGetMemHandle);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(handle, address);
}

int cuIpcOpenMemHandle(unsigned long long *address, struct mam_ipc_handle handle,
		       unsigned int flags)
{
	__typeof__(&cuIpcOpenMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(address, handle, flags);
}

int mam_by_lookup_cuIpcOpenMemHandle(unsigned long long *address, struct mam_ipc_handle handle,
				     unsigned int flags)
{
	__typeof__(&cuIpcOpenMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(address, handle, flags);
}

int cuIpcOpenMemHandle_v2(unsigned long long *address, struct mam_ipc_handle handle,
			  unsigned int flags)
{
	__typeof__(&cuIpcOpenMemHandle_v2) real = MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(address, handle, flags);
}

int mam_by_lookup_cuIpcOpenMemHandle_v2(unsigned long long *address, struct mam_ipc_handle handle,
					unsigned int flags)
{
	__typeof__(&cuIpcOpenMemHandle_v2) real = MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle_v2);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(address, handle, flags);
}

int cuIpcCloseMemHandle(unsigned long long address)
{
	__typeof__(&cuIpcCloseMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcCloseMemHandle);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(address);
}

int mam_by_lookup_cuIpcCloseMemHandle(unsigned long long address)
{
	__typeof__(&cuIpcCloseMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcCloseMemHandle);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(address);
}

size_t mam_ipc_dedicated_from(void)
{
	return SIZE_MAX;
}

void mam_ipc_finish(void)
{
}
