/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole.h - sources whose chunks the CUDA driver allocates whole, with one call: cudamalloc, pinned
 * and managed. Each kind is a row: two driver calls and, if the driver would allocate more than the
 * machine can bear, a limit on the requests.
 */
#ifndef MAM_SOURCE_WHOLE_H
#define MAM_SOURCE_WHOLE_H

#include <stdatomic.h>

#include "source/device.h"
#include "source/source.h"

struct mam_whole;

struct mam_whole_kind {
	const char *name;
	size_t alignment; /* of all chunks, as the driver guarantees in practice */

	const char *alloc_name; /* name of the driver's function, for the log */
	unsigned int (*alloc)(const struct mam_driver *driver, size_t bytes,
			      unsigned long long *address);
	const char *free_name;
	unsigned int (*free)(const struct mam_driver *driver, unsigned long long address);

	/* Total memory. */
	enum mam_status (*total)(const struct mam_device *device, size_t *bytes);
	/* Memory available now. False: unknown. */
	bool (*room)(const struct mam_device *device, size_t *bytes);
	/*
	 * If the driver allocates more than there is: the bytes that the process has requested, by
	 * device. A grow fails unless it fits in the room in addition to these. NULL: the driver
	 * itself fails in time.
	 */
	atomic_size_t *asked;
	unsigned int places; /* of `asked`; devices that share a place reduce each other's room */
	/* Chunks count in `asked` until they are freed: the room does not show them. */
	bool asked_stays;
	/* Mapped memory is an acceptable substitute if the driver's call would block. */
	bool maps;
};

struct mam_whole {
	struct mam_source source;
	const struct mam_whole_kind *kind; /* lock: none, set at creation */
	struct mam_device device;          /* lock: none, set at creation */
	struct mam_device_kept kept;       /* atomic */
	_Atomic(struct mam_source *)
		mapped;          /* atomic; the vmm source of mapped chunks; NULL: none */
	_Atomic bool cannot_map; /* atomic */
};

enum mam_status mam_whole_create(const struct mam_whole_kind *kind, int device,
				 struct mam_source **source);

#endif
