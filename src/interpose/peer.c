/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - contexts that may touch each other's memory.
 */
#include "interpose/hooks.h"
#include "interpose/table.h"

int cuCtxEnablePeerAccess(void *context, unsigned int flags)
{
	__typeof__(&cuCtxEnablePeerAccess) real = MAM_TABLE_ORIGINAL(cuCtxEnablePeerAccess);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(context, flags);
}
