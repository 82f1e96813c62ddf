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
#include <stdio.h>
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

static _Atomic uint64_t refused; /* atomic */
static atomic_bool is_used;      /* atomic; a source of mapped memory was created */

static uint64_t bit_of(int device)
{
	return UINT64_C(1) << device % 64;
}

static bool is_refused(int device)
{
	return atomic_load_explicit(&refused, memory_order_relaxed) & bit_of(device);
}

static bool is_selected(void)
{
	return strcmp(mam_option_value("MAM_SOURCE"), "vmm") == 0;
}

/* Prints why the pools of a device allocate chunks, once. */
static void say_why(int device, const char *why, const char *advice)
{
	static _Atomic uint64_t said; /* atomic */
	const uint64_t bit = bit_of(device);

	if (!(atomic_fetch_or(&said, bit) & bit))
		mam_say(MAM_SAY_WARN,
			"device %d cannot use mapped memory (%s): its pools allocate chunks, as "
			"with --source=cudamalloc%s",
			device, why, advice);
}

bool mam_mapped_is_possible(int device)
{
	const struct mam_real_driver *driver = mam_real_driver();
	char text[160];
	int peer;

	if (!is_selected() || mam_watch_wants(MAM_WATCH_NVTX) || is_refused(device))
		return false;
	if (!is_known(driver)) {
		say_why(device, "the driver is older than CUDA 12.0", "");
		return false;
	}
	if (attribute_of(driver, MAPS_MEMORY, device) == 0) {
		say_why(device, "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0", "");
		return false;
	}
	peer = unreachable_from(driver, device);
	if (peer < 0)
		return true;
	snprintf(text, sizeof(text),
		 "device %d has no peer access to it, and copies between the two could be wrong",
		 peer);
	say_why(device, text, ", or hide one of the two with CUDA_VISIBLE_DEVICES");
	return false;
}

void mam_mapped_refuse(int device)
{
	atomic_fetch_or(&refused, bit_of(device));
	say_why(device, "the driver refused a call that maps memory", "");
}

void mam_mapped_note_peer(void)
{
	static atomic_bool said;

	if (!atomic_load(&is_used) || mam_option_number("MAM_PEERS") != PEERS_ARE_NONE ||
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

/*
 * Maps a piece and unmaps it: the attributes of a device do not show whether its driver, a container
 * or a virtual machine refuses one of the calls. A full device is not a reason to do without.
 */
static enum mam_status try_piece(struct mam_source *source)
{
	size_t bytes = source->properties.granularity;
	enum mam_status status;
	void *base;

	status = source->ops->grow(source, bytes, &base);
	if (status != MAM_OK)
		return status;
	status = source->ops->map(source, base, bytes);
	if (status == MAM_OK)
		status = source->ops->unmap(source, base, bytes);
	source->ops->shrink(source, base, bytes);
	return status == MAM_ERROR_OUT_OF_MEMORY ? MAM_OK : status;
}

enum mam_status mam_mapped_create(int device, struct mam_source **source)
{
	const struct mam_real_driver *driver = mam_real_driver();
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	enum mam_status status;

	attr.device = device;
	attr.gpudirect = attribute_of(driver, MAPS_FOR_GPUDIRECT, device) != 0;
	attr.exportable = mam_mapped_is_exportable(device);
	status = mam_source_vmm(&attr, source);
	if (status != MAM_OK)
		return status;
	status = try_piece(*source);
	if (status == MAM_OK)
		atomic_store(&is_used, true);
	else
		mam_source_destroy(*source);
	return status;
}
