/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm.h - internals of the vmm source: its metadata, and the interface of its backends.
 *
 *   vmm.c       ranges and pieces: which handle is mapped at which address
 *   vmm_cuda.c  the CUDA driver
 *   vmm_sim.c   a simulation, for machines without a GPU
 */
#ifndef MAM_SOURCE_VMM_H
#define MAM_SOURCE_VMM_H

#include "base/lock.h"
#include "source/lag.h"
#include "source/pieces.h"
#include "source/source.h"

#define MAM_VMM_RANGES 128 /* max ranges of one source: a pool uses two; see also whole.c */

struct mam_vmm;

/* All functions except room and destroy return MAM_OK, OUT_OF_MEMORY, DRIVER or NO_DEVICE. */
struct mam_vmm_backend {
	enum mam_status (*reserve)(struct mam_vmm *vmm, size_t bytes, uint64_t *base);
	enum mam_status (*unreserve)(struct mam_vmm *vmm, uint64_t base, size_t bytes);
	enum mam_status (*create)(struct mam_vmm *vmm, size_t bytes, uint64_t *handle);
	enum mam_status (*release)(struct mam_vmm *vmm, uint64_t handle, size_t bytes);
	/* On success the memory is usable; on failure nothing has changed. */
	enum mam_status (*map)(struct mam_vmm *vmm, uint64_t base, size_t bytes, uint64_t handle);
	enum mam_status (*unmap)(struct mam_vmm *vmm, uint64_t base, size_t bytes);
	size_t (*room)(struct mam_vmm *vmm);  /* SIZE_MAX: unknown */
	void (*destroy)(struct mam_vmm *vmm); /* frees the backend's resources and the struct */
};

struct mam_vmm_range {
	struct mam_pieces pieces; /* table NULL: no range */
	uint64_t *handles;        /* the handle of the piece at each unit */
	size_t handles_bytes;
};

struct mam_vmm {
	struct mam_source source;
	struct mam_source_ops ops; /* lock: none, set at creation */
	const struct mam_vmm_backend *backend;
	bool is_shared;     /* lock: none, set at creation; see mam_source_is_shared() */
	struct mam_lag lag; /* of simulated streams; synchronizes itself */
	struct mam_lock lock;
	struct mam_vmm_range ranges[MAM_VMM_RANGES]; /* lock: lock */
};

/* mam_vmm_init - initialize the part that both backends share. The caller sets the properties. */
void mam_vmm_init(struct mam_vmm *vmm, const struct mam_vmm_backend *backend);

/* mam_vmm_holds - whether the addresses are in one of its ranges. */
bool mam_vmm_holds(struct mam_source *source, const void *base, size_t bytes);

/* Create a source with each backend. */
enum mam_status mam_vmm_cuda_create(const struct mam_vmm_attr *attr, struct mam_source **source);
enum mam_status mam_vmm_sim_create(const struct mam_vmm_attr *attr, struct mam_source **source);

#endif
