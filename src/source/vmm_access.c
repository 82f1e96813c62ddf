/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm_access.c - implements vmm_access.h: chooses peers, and sets access with one cuMemSetAccess.
 *
 * To give access:
 * 1. One call for the device and all its peers.
 * 2. If that fails: the device alone. If that fails too, the memory is unusable, and that result is
 *    returned.
 * 3. Otherwise a peer is the cause: each peer alone. A peer that fails gets a warning and no more
 *    access. The allocation does not fail because of it: the peer may be full, or have too many
 *    peers (9 devices without NVSwitch), in a program that never copies between the two.
 * Peers that the program named are not optional: for these the first failure is final.
 *
 * Bound: one call per piece, plus one per device in the single map in which a peer fails.
 */
#include "source/vmm_access.h"

#include "base/log.h"
#include "base/option.h"

#define ATTRIBUTE_COMPUTE_MODE 20u
#define COMPUTE_MODE_PROHIBITED 2 /* no program can have a context on the device */
#define LOCATION_DEVICE 1u
#define ACCESS_READWRITE 3u

#define MAX_DEVICES 64 /* bits of a peer mask */

/* Index of "none" among the words of MAM_PEERS. */
#define PEERS_ARE_NONE 1u

/* Layout of the driver's CUmemAccessDesc. */
struct descriptor {
	unsigned int kind;
	int device;
	unsigned int flags;
};

_Static_assert(sizeof(struct descriptor) == 12, "as in cuda.h");

static bool can_reach(const struct mam_driver *driver, int peer, int device)
{
	int can = 0;

	return driver->device_can_access_peer &&
	       driver->device_can_access_peer(&can, peer, device) == MAM_DRIVER_SUCCESS && can != 0;
}

static bool is_prohibited(const struct mam_driver *driver, int device)
{
	int mode = 0;

	return driver->device_get_attribute(&mode, ATTRIBUTE_COMPUTE_MODE, device) ==
		       MAM_DRIVER_SUCCESS &&
	       mode == COMPUTE_MODE_PROHIBITED;
}

/* Once per process: on a machine without peer access no two devices have it. */
static void report_unreachable(int peer, int device)
{
	static _Atomic bool reported;

	if (!atomic_exchange(&reported, true))
		mam_log(MAM_LOG_WARN,
			"device %d has no peer access to device %d: copies of mapped memory "
			"between "
			"the two may fail or be wrong; copy through the host, or use the source "
			"cudamalloc",
			peer, device);
}

static enum mam_status refuse(int peer, int device, const char *why)
{
	mam_log(MAM_LOG_WARN, "device %d cannot access memory of device %d: %s", peer, device, why);
	return MAM_ERROR_UNSUPPORTED;
}

static uint64_t choose_default(const struct mam_driver *driver, int device, int devices)
{
	uint64_t peers = 0;

	if (mam_option_choice(MAM_OPTION_PEERS) == PEERS_ARE_NONE)
		return 0;
	for (int peer = 0; peer < devices && peer < MAX_DEVICES; peer++) {
		if (peer == device || is_prohibited(driver, peer))
			continue;
		if (can_reach(driver, peer, device))
			peers |= (uint64_t)1 << peer;
		else
			report_unreachable(peer, device);
	}
	return peers;
}

enum mam_status mam_vmm_access_init(struct mam_vmm_access *access, const struct mam_device *device,
				    uint64_t wanted)
{
	const struct mam_driver *driver = device->driver;
	int devices = 0;
	unsigned int result = driver->device_get_count(&devices);

	access->driver = driver;
	access->device = device->ordinal;
	access->is_required = wanted != 0;
	if (result != MAM_DRIVER_SUCCESS)
		return mam_driver_status(driver, "cuDeviceGetCount", result);
	if (wanted == 0)
		wanted = choose_default(driver, device->ordinal, devices);
	else if (device->ordinal < MAX_DEVICES)
		wanted &= ~((uint64_t)1 << device->ordinal);
	for (int peer = 0; access->is_required && peer < MAX_DEVICES; peer++) {
		if (!(wanted >> peer & 1))
			continue;
		if (peer >= devices)
			return refuse(peer, device->ordinal, "there is no such device");
		if (!can_reach(driver, peer, device->ordinal))
			return refuse(peer, device->ordinal, "there is no peer access");
	}
	atomic_store(&access->peers, wanted);
	return MAM_OK;
}

static struct descriptor read_write(int device)
{
	return (struct descriptor){ LOCATION_DEVICE, device, ACCESS_READWRITE };
}

static unsigned int set(const struct mam_vmm_access *access, unsigned long long base, size_t bytes,
			const struct descriptor *descriptors, size_t count)
{
	return access->driver->mem_set_access(
		base, bytes, (const struct CUmemAccessDesc_st *)descriptors, count);
}

static void remove_peer(struct mam_vmm_access *access, int peer, unsigned int result)
{
	const uint64_t bit = (uint64_t)1 << peer;
	const char *name = NULL;

	if (!(atomic_fetch_and(&access->peers, ~bit) & bit))
		return; /* another thread has already reported it */
	access->driver->get_error_name(result, &name);
	mam_log(MAM_LOG_WARN,
		"device %d gets no access to memory that device %d maps from now on "
		"(cuMemSetAccess: "
		"%s): copies of it between the two may fail or be wrong",
		peer, access->device, name ? name : "unknown error");
}

unsigned int mam_vmm_access_set(struct mam_vmm_access *access, unsigned long long base,
				size_t bytes)
{
	struct descriptor all[MAX_DEVICES + 1];
	uint64_t peers = atomic_load_explicit(&access->peers, memory_order_relaxed);
	unsigned int result;
	size_t count = 1;

	all[0] = read_write(access->device);
	for (int peer = 0; peer < MAX_DEVICES; peer++)
		if (peers >> peer & 1)
			all[count++] = read_write(peer);
	result = set(access, base, bytes, all, count);
	if (result == MAM_DRIVER_SUCCESS || count == 1 || access->is_required)
		return result;
	result = set(access, base, bytes, all, 1);
	for (size_t i = 1; i < count && result == MAM_DRIVER_SUCCESS; i++) {
		unsigned int refused = set(access, base, bytes, &all[i], 1);

		if (refused != MAM_DRIVER_SUCCESS)
			remove_peer(access, all[i].device, refused);
	}
	return result;
}
