/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm_access.h - which devices may use the memory of one vmm source.
 *
 * Only the devices that cuMemSetAccess names can use mapped memory. Neither cuCtxEnablePeerAccess
 * nor the device's memory attributes change that. Without access a kernel of another device faults,
 * and cuMemcpyPeer may report success and copy wrong bytes (two H200s, driver 580). The library
 * cannot know which devices will use the memory, and a device needs no context to get access. So
 * every device that can reach the memory gets access when a piece is mapped, unless the program
 * names others (struct mam_vmm_attr) or sets MAM_PEERS=none.
 */
#ifndef MAM_SOURCE_VMM_ACCESS_H
#define MAM_SOURCE_VMM_ACCESS_H

#include <stdatomic.h>

#include "source/device.h"

struct mam_vmm_access {
	/* lock: none, set by mam_vmm_access_init() */
	const struct mam_driver *driver;
	int device;
	bool is_required; /* the program named the peers: a map fails without one of them */
	_Atomic uint64_t
		peers; /* atomic; bit n: device n. Peers that the driver rejects are removed */
};

/*
 * mam_vmm_access_init - choose the peers of `device`, which has the memory. wanted: bit n for
 * device n; 0: the default. UNSUPPORTED: a device in `wanted` does not exist or cannot reach the
 * memory; DRIVER.
 */
enum mam_status mam_vmm_access_init(struct mam_vmm_access *access, const struct mam_device *device,
				    uint64_t wanted);

/*
 * mam_vmm_access_set - give the device and its peers access to mapped memory. Returns the driver's
 * result. A default peer that the driver rejects is reported and removed; the memory is usable
 * nevertheless.
 */
unsigned int mam_vmm_access_set(struct mam_vmm_access *access, unsigned long long base,
				size_t bytes);

#endif
