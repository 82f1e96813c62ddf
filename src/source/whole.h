/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole.h - sources whose chunks the CUDA driver gives whole, by one call: cudamalloc, pinned and
 * managed. Each is a row: two calls of the driver, and where the driver would give more than is
 * good for the machine, what it may be asked for.
 */
#ifndef MAM_SOURCE_WHOLE_H
#define MAM_SOURCE_WHOLE_H

#include <stdatomic.h>

#include "source/device.h"
#include "source/source.h"

struct mam_whole;

struct mam_whole_kind {
	const char *name;
	size_t alignment; /* of all chunks: what the driver is known to keep */

	const char *alloc_name; /* of the driver's function, for the log */
	unsigned int (*alloc)(const struct mam_driver *driver, size_t bytes,
			      unsigned long long *address);
	const char *free_name;
	unsigned int (*free)(const struct mam_driver *driver, unsigned long long address);

	/* All there ever is. */
	enum mam_status (*total)(const struct mam_device *device, size_t *bytes);
	/* What there is now. False: it cannot be found. */
	bool (*room)(const struct mam_device *device, size_t *bytes);
	/*
	 * Where the driver gives more than there is: what the process has asked of it, by device. A
	 * grow is refused unless it fits the room beside that. NULL: the driver refuses by itself.
	 */
	atomic_size_t *asked;
	unsigned int places; /* of `asked`; devices that share one only leave each other less */
	/* Chunks stay in `asked` until they are given back: the room does not show them. */
	bool asked_stays;
	/* Memory that was mapped in pieces does as well, where the driver's call would wait. */
	bool maps;
};

struct mam_whole {
	struct mam_source source;
	const struct mam_whole_kind *kind; /* lock: none, set at creation */
	struct mam_device device;          /* lock: none, set at creation */
	struct mam_device_kept kept;       /* atomic */
	_Atomic(struct mam_source *) mapped; /* atomic; the vmm source of mapped chunks; NULL: none */
	_Atomic bool cannot_map;             /* atomic */
};

enum mam_status mam_whole_create(const struct mam_whole_kind *kind, int device,
				 struct mam_source **source);

#endif
