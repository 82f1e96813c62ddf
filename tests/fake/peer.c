/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - which context may access which other device's memory.
 *
 * The fake records this and returns the driver's errors for enabling twice and for disabling access
 * that is not enabled. Copies of cuMemAlloc memory between devices always work, as with a real
 * driver. Only cuMemSetAccess gives access to mapped memory (virtual.c).
 */
#include "fake.h"

#include <stdlib.h>

/* CUdevice_P2PAttribute. */
enum { PERFORMANCE_RANK = 1, ACCESS_SUPPORTED, NATIVE_ATOMICS, ARRAY_ACCESS };

struct peering {
	struct peering *next;
	const struct CUctx_st *from, *to;
};

static struct peering *peerings; /* lock: fake */

static struct peering **find(const struct CUctx_st *from, const struct CUctx_st *to)
{
	struct peering **link = &peerings;

	while (*link && ((*link)->from != from || (*link)->to != to))
		link = &(*link)->next;
	return link;
}

bool fake_peer_linked(int device, int peer)
{
	return device == peer || fake_knobs.links[device][peer] != FAKE_LINK_NONE;
}

uint64_t fake_peer_delay(int device, uintptr_t address)
{
	const struct fake_block *block = fake_memory_find(address);

	return block && block->kind == FAKE_DEVICE ? fake_knobs.link_ns[device][block->device] : 0;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	int result = fake_enter("cuDeviceCanAccessPeer");

	if (result == CUDA_SUCCESS && !can)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && (!fake_device_valid(device) || !fake_device_valid(peer)))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		*can = device != peer && fake_peer_linked(device, peer);
	return fake_leave("cuDeviceCanAccessPeer", result, "device=%d peer=%d", device, peer);
}

/* Links of NVLink have the better rank, 0, and atomic operations. */
int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
	int result = fake_enter("cuDeviceGetP2PAttribute");

	if (result == CUDA_SUCCESS && (!fake_device_valid(device) || !fake_device_valid(peer)))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS &&
	    (!value || device == peer || attribute < PERFORMANCE_RANK || attribute > ARRAY_ACCESS))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && attribute == PERFORMANCE_RANK)
		*value = fake_knobs.links[device][peer] != FAKE_LINK_NVLINK;
	else if (result == CUDA_SUCCESS && attribute == NATIVE_ATOMICS)
		*value = fake_knobs.links[device][peer] == FAKE_LINK_NVLINK;
	else if (result == CUDA_SUCCESS)
		*value = fake_peer_linked(device, peer);
	return fake_leave("cuDeviceGetP2PAttribute", result, "attribute=%d device=%d peer=%d",
			  attribute, device, peer);
}

int fake_peer_enable(struct CUctx_st *context, struct CUctx_st *peer)
{
	struct peering *made;

	if (!fake_peer_linked(context->device, peer->device))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (*find(context, peer))
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	made = calloc(1, sizeof(*made));
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*made = (struct peering){ peerings, context, peer };
	peerings = made;
	return CUDA_SUCCESS;
}

int cuCtxEnablePeerAccess(struct CUctx_st *peer, unsigned int flags)
{
	struct CUctx_st *context = NULL;
	int result = fake_enter("cuCtxEnablePeerAccess");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS && flags != 0)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = fake_context_check(peer);
	if (result == CUDA_SUCCESS && peer == context)
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (result == CUDA_SUCCESS && peer->device == context->device)
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		result = fake_peer_enable(context, peer);
	return fake_leave("cuCtxEnablePeerAccess", result, "context=%p peer=%p", (void *)context,
			  (void *)peer);
}

int cuCtxDisablePeerAccess(struct CUctx_st *peer)
{
	struct CUctx_st *context = NULL;
	struct peering **link, *old;
	int result = fake_enter("cuCtxDisablePeerAccess");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		result = fake_context_check(peer);
	if (result == CUDA_SUCCESS) {
		link = find(context, peer);
		old = *link;
		if (old)
			*link = old->next;
		else
			result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
		free(old);
	}
	return fake_leave("cuCtxDisablePeerAccess", result, "context=%p peer=%p", (void *)context,
			  (void *)peer);
}

void fake_peer_drop_context(struct CUctx_st *context)
{
	for (struct peering **link = &peerings; *link;) {
		struct peering *old = *link;

		if (old->from != context && old->to != context) {
			link = &old->next;
			continue;
		}
		*link = old->next;
		free(old);
	}
}
