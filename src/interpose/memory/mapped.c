/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped.c - see mapped.h.
 *
 * Only devices to which the driver gives access can use mapped memory, and a copy by another device
 * may report success although it wrote wrong bytes. libmam gives access to each device that can
 * reach the memory, before the program enables peer access. If a visible device cannot reach it,
 * the pools keep their chunks: the driver copies those through the host.
 */
#include "interpose/memory/mapped.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <mam/options.h>

#include "interpose/process/say.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

/* CUdevice_attribute. */
enum { COMPUTE_MODE = 20, MAPS_MEMORY = 102, EXPORTS_DESCRIPTORS = 103, MAPS_FOR_GPUDIRECT = 110 };

#define COMPUTE_MODE_PROHIBITED 2 /* no program can have a context on the device */
#define PEERS_ARE_NONE 1          /* index of the word among those of MAM_PEERS */

/* 0 also if the driver does not know the attribute. */
static int attribute_of(const struct mam_real_driver *driver, int attribute, int device)
{
	int value;

	return driver->device_attribute(&value, attribute, device) == MAM_CUDA_SUCCESS ? value : 0;
}

/* Returns a device that can have a context but cannot reach the memory of `device`; -1: none. */
static int unreachable_from(const struct mam_real_driver *driver, int device)
{
	int count = 0, can;

	if (mam_option_number("MAM_PEERS") == PEERS_ARE_NONE ||
	    driver->device_count(&count) != MAM_CUDA_SUCCESS)
		return -1;
	for (int peer = 0; peer < count; peer++) {
		if (peer == device ||
		    attribute_of(driver, COMPUTE_MODE, peer) == COMPUTE_MODE_PROHIBITED)
			continue;
		if (driver->can_access_peer(&can, peer, device) != MAM_CUDA_SUCCESS || !can)
			return peer;
	}
	return -1;
}

static bool is_known(const struct mam_real_driver *driver)
{
	return driver != NULL && driver->device_attribute != NULL && driver->device_count != NULL &&
	       driver->can_access_peer != NULL && driver->ctx_id != NULL;
}

static bool is_selected(void)
{
	return strcmp(mam_option_value("MAM_SOURCE"), "vmm") == 0;
}

bool mam_mapped_is_possible(int device)
{
	static const char instead[] = "its pools allocate chunks, as with --source=cudamalloc";
	static _Atomic uint64_t said; /* atomic; bit n: device n */
	const uint64_t bit = UINT64_C(1) << device % 64;
	const struct mam_real_driver *driver = mam_real_driver();
	bool is_new = is_known(driver), maps;
	int peer = -1;

	if (!is_selected() || mam_watch_wants(MAM_WATCH_NVTX))
		return false;
	maps = is_new && attribute_of(driver, MAPS_MEMORY, device) != 0;
	if (maps)
		peer = unreachable_from(driver, device);
	if (maps && peer < 0)
		return true;
	if (atomic_fetch_or(&said, bit) & bit)
		return false;
	if (!is_new)
		mam_say(MAM_SAY_WARN,
			"device %d cannot use mapped memory (the driver is older than CUDA 12.0): "
			"%s",
			device, instead);
	else if (!maps)
		mam_say(MAM_SAY_WARN,
			"device %d cannot use mapped memory "
			"(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0): %s",
			device, instead);
	else
		mam_say(MAM_SAY_WARN,
			"device %d cannot use mapped memory (device %d has no peer access to it, "
			"and copies between the two could be wrong): %s, or hide one of the two "
			"with CUDA_VISIBLE_DEVICES",
			device, peer, instead);
	return false;
}

void mam_mapped_note_peer(void)
{
	static atomic_bool said;

	if (!is_selected() || mam_option_number("MAM_PEERS") != PEERS_ARE_NONE ||
	    atomic_exchange(&said, true))
		return;
	mam_say(MAM_SAY_WARN, "peers have no access to mapped memory with MAM_PEERS=none: kernels "
			      "fault, and copies may be wrong; unset it, or use "
			      "--source=cudamalloc");
}

bool mam_mapped_is_exportable(int device)
{
	return attribute_of(mam_real_driver(), EXPORTS_DESCRIPTORS, device) != 0;
}

enum mam_status mam_mapped_create(int device, struct mam_source **source)
{
	const struct mam_real_driver *driver = mam_real_driver();
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	attr.device = device;
	attr.gpudirect = attribute_of(driver, MAPS_FOR_GPUDIRECT, device) != 0;
	attr.exportable = mam_mapped_is_exportable(device);
	return mam_source_vmm(&attr, source);
}
