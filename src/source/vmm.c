/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm.c - the vmm source: address ranges, and pieces of memory mapped into them.
 *
 *   grow    reserves a range                 shrink  frees one that contains no piece
 *   map     creates a handle and maps it     unmap   unmaps it and releases it
 *   move    unmaps a handle and maps it at the new address; if that fails, maps it back; if that
 *           fails too, releases it
 *   alias   maps a handle at a second address   unalias   unmaps it at one of several
 *
 * The driver names memory by handle, the pool by address: the metadata maps an address to its
 * handle. An invalid call of the pool (mapping over a piece, unmapping where there is none) returns
 * DRIVER and changes nothing.
 *
 * Bound: O(1) in addition to the driver's calls. The lock guards the metadata and is not held
 * across a call to the backend: a pool calls from one thread at a time, and pools never use each
 * other's addresses.
 */
#include "source/vmm.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/sized.h"

#define PAGE ((size_t)4096)

/* The slot of a piece's handle. NULL: the address is in no range. */
static uint64_t *slot_locked(struct mam_vmm *vmm, uint64_t base, size_t bytes,
			     struct mam_vmm_range **range)
{
	for (int i = 0; i < MAM_VMM_RANGES; i++) {
		const struct mam_pieces *pieces = &vmm->ranges[i].pieces;
		uint64_t all = pieces->units << pieces->unit_shift;

		if (pieces->length != NULL && base - pieces->base < all &&
		    bytes <= all - (base - pieces->base)) {
			*range = &vmm->ranges[i];
			return &vmm->ranges[i].handles[(base - pieces->base) >> pieces->unit_shift];
		}
	}
	return NULL;
}

static enum mam_status wrong(const char *what, uint64_t base)
{
	mam_log(MAM_LOG_ERROR, "vmm source: %s at %#llx", what, (unsigned long long)base);
	return MAM_ERROR_DRIVER;
}

/* Find the handle of the piece at `base`. */
static enum mam_status find(struct mam_vmm *vmm, uint64_t base, size_t bytes, uint64_t *handle)
{
	struct mam_vmm_range *range;
	struct mam_piece piece;
	const uint64_t *slot;
	bool found = false;

	mam_lock_take(&vmm->lock);
	slot = slot_locked(vmm, base, bytes, &range);
	if (slot != NULL && mam_pieces_first(&range->pieces, base, base + bytes, &piece) &&
	    piece.base == base && piece.bytes == bytes) {
		*handle = *slot;
		found = true;
	}
	mam_lock_release(&vmm->lock);
	return found ? MAM_OK : wrong("there is no such piece", base);
}

bool mam_vmm_holds(struct mam_source *source, const void *base, size_t bytes)
{
	struct mam_vmm *vmm = (struct mam_vmm *)source;
	struct mam_vmm_range *range;
	bool holds;

	mam_lock_take(&vmm->lock);
	holds = slot_locked(vmm, (uintptr_t)base, bytes, &range) != NULL;
	mam_lock_release(&vmm->lock);
	return holds;
}

static bool is_vacant(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	struct mam_vmm_range *range;
	struct mam_piece piece;
	bool vacant;

	mam_lock_take(&vmm->lock);
	vacant = slot_locked(vmm, base, bytes, &range) != NULL &&
		 !mam_pieces_first(&range->pieces, base, base + bytes, &piece);
	mam_lock_release(&vmm->lock);
	return vacant;
}

static void note(struct mam_vmm *vmm, uint64_t base, size_t bytes, uint64_t handle)
{
	struct mam_vmm_range *range;
	uint64_t *slot;

	mam_lock_take(&vmm->lock);
	slot = slot_locked(vmm, base, bytes, &range);
	if (slot != NULL) {
		*slot = handle;
		mam_pieces_put(&range->pieces, base, bytes);
	}
	mam_lock_release(&vmm->lock);
}

static void forget(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	struct mam_vmm_range *range;

	mam_lock_take(&vmm->lock);
	if (slot_locked(vmm, base, bytes, &range) != NULL)
		mam_pieces_take(&range->pieces, base);
	mam_lock_release(&vmm->lock);
}

static struct mam_pieces *range_at(void *user, unsigned i)
{
	return i < MAM_VMM_RANGES ? &((struct mam_vmm *)user)->ranges[i].pieces : NULL;
}

static bool has_twin(struct mam_vmm *vmm, uint64_t base)
{
	const uint64_t *twin;
	bool has;

	mam_lock_take(&vmm->lock);
	twin = mam_pieces_twin(range_at, vmm, base);
	has = twin != NULL && *twin != 0;
	mam_lock_release(&vmm->lock);
	return has;
}

static struct mam_vmm *vmm_of(struct mam_source *source)
{
	return (struct mam_vmm *)source;
}

static void drop_range(struct mam_vmm_range *range)
{
	if (range->handles != NULL)
		mam_pages_unmap(range->handles, range->handles_bytes);
	mam_pieces_fini(&range->pieces);
	memset(range, 0, sizeof(*range));
}

/* Create the metadata of a range; it keeps a place in the table only on success. */
static enum mam_status keep_range(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	struct mam_vmm_range range = { 0 };
	enum mam_status status =
		mam_pieces_init(&range.pieces, base, bytes, vmm->source.properties.granularity);
	int i = 0;

	range.handles_bytes = mam_round_up(range.pieces.units * sizeof(*range.handles), PAGE);
	if (status == MAM_OK) {
		range.handles = mam_pages_map(range.handles_bytes);
		status = range.handles != NULL ? MAM_OK : MAM_ERROR_OUT_OF_MEMORY;
	}
	mam_lock_take(&vmm->lock);
	while (i < MAM_VMM_RANGES && vmm->ranges[i].pieces.length != NULL)
		i++;
	if (status == MAM_OK && i < MAM_VMM_RANGES)
		vmm->ranges[i] = range;
	else
		status = MAM_ERROR_OUT_OF_MEMORY;
	mam_lock_release(&vmm->lock);
	if (status != MAM_OK)
		drop_range(&range);
	return status;
}

static enum mam_status vmm_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t address;
	enum mam_status status = vmm->backend->reserve(vmm, bytes, &address);

	if (status != MAM_OK)
		return status;
	status = keep_range(vmm, address, bytes);
	if (status != MAM_OK)
		(void)vmm->backend->unreserve(vmm, address, bytes);
	else
		*base = (void *)(uintptr_t)address;
	return status;
}

static enum mam_status vmm_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t address = (uintptr_t)base;
	struct mam_vmm_range *range, gone = { 0 };
	enum mam_status status;

	if (!is_vacant(vmm, address, bytes))
		return wrong("memory is still mapped in the range", address);
	status = vmm->backend->unreserve(vmm, address, bytes);
	if (status != MAM_OK)
		return status;
	mam_lock_take(&vmm->lock);
	if (slot_locked(vmm, address, bytes, &range) != NULL) {
		gone = *range;
		memset(range, 0, sizeof(*range));
	}
	mam_lock_release(&vmm->lock);
	drop_range(&gone);
	return MAM_OK;
}

static enum mam_status vmm_map(struct mam_source *source, void *base, size_t bytes)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t address = (uintptr_t)base;
	enum mam_status status;
	uint64_t handle;

	if (!is_vacant(vmm, address, bytes))
		return wrong("memory is mapped already, or the range ends", address);
	status = vmm->backend->create(vmm, bytes, &handle);
	if (status != MAM_OK)
		return status;
	status = vmm->backend->map(vmm, address, bytes, handle);
	if (status != MAM_OK)
		(void)vmm->backend->release(vmm, handle, bytes);
	else
		note(vmm, address, bytes, handle);
	return status;
}

static enum mam_status vmm_unmap(struct mam_source *source, void *base, size_t bytes)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t address = (uintptr_t)base;
	uint64_t handle;
	enum mam_status status = find(vmm, address, bytes, &handle);

	if (status == MAM_OK && has_twin(vmm, address))
		status = wrong("the piece is mapped elsewhere, too", address);
	if (status == MAM_OK)
		status = vmm->backend->unmap(vmm, address, bytes);
	if (status != MAM_OK)
		return status;
	forget(vmm, address, bytes);
	/* The handle has no further use. A failed release leaks driver memory, not pool memory. */
	(void)vmm->backend->release(vmm, handle, bytes);
	return MAM_OK;
}

static enum mam_status vmm_move(struct mam_source *source, void *from, size_t bytes, void *to,
				bool *lost)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t here = (uintptr_t)from, there = (uintptr_t)to;
	uint64_t handle;
	enum mam_status status = find(vmm, here, bytes, &handle);

	*lost = false;
	if (status == MAM_OK && has_twin(vmm, here))
		status = wrong("the piece is mapped elsewhere, too", here);
	if (status == MAM_OK && !is_vacant(vmm, there, bytes))
		status = wrong("memory is mapped already, or the range ends", there);
	if (status == MAM_OK)
		status = vmm->backend->unmap(vmm, here, bytes);
	if (status != MAM_OK)
		return status;
	status = vmm->backend->map(vmm, there, bytes, handle);
	if (status == MAM_OK) {
		forget(vmm, here, bytes);
		note(vmm, there, bytes, handle);
		return MAM_OK;
	}
	if (vmm->backend->map(vmm, here, bytes, handle) != MAM_OK) {
		forget(vmm, here, bytes);
		(void)vmm->backend->release(vmm, handle, bytes);
		*lost = true;
	}
	return status;
}

static enum mam_status vmm_alias(struct mam_source *source, void *from, size_t bytes, void *to)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t here = (uintptr_t)from, there = (uintptr_t)to;
	uint64_t handle;
	enum mam_status status = find(vmm, here, bytes, &handle);

	if (status == MAM_OK && !is_vacant(vmm, there, bytes))
		status = wrong("memory is mapped already, or the range ends", there);
	if (status == MAM_OK)
		status = vmm->backend->map(vmm, there, bytes, handle);
	if (status != MAM_OK)
		return status;
	note(vmm, there, bytes, handle);
	mam_lock_take(&vmm->lock);
	mam_pieces_link(range_at, vmm, here, there);
	mam_lock_release(&vmm->lock);
	return MAM_OK;
}

static enum mam_status vmm_unalias(struct mam_source *source, void *base, size_t bytes)
{
	struct mam_vmm *vmm = vmm_of(source);
	uint64_t address = (uintptr_t)base;
	uint64_t handle;
	enum mam_status status = find(vmm, address, bytes, &handle);

	if (status == MAM_OK && !has_twin(vmm, address))
		status = wrong("the piece has no other address", address);
	if (status == MAM_OK)
		status = vmm->backend->unmap(vmm, address, bytes);
	if (status != MAM_OK)
		return status;
	mam_lock_take(&vmm->lock);
	mam_pieces_unlink(range_at, vmm, address);
	mam_lock_release(&vmm->lock);
	forget(vmm, address, bytes);
	return MAM_OK;
}

static void drop_ranges(struct mam_vmm *vmm)
{
	for (int i = 0; i < MAM_VMM_RANGES; i++)
		drop_range(&vmm->ranges[i]);
	mam_lock_fini(&vmm->lock);
}

static void vmm_destroy(struct mam_source *source)
{
	struct mam_vmm *vmm = vmm_of(source);

	drop_ranges(vmm);
	vmm->backend->destroy(vmm);
}

bool mam_vmm_free_mapped(struct mam_source *source)
{
	struct mam_vmm *vmm = vmm_of(source);
	struct mam_piece piece;

	if (source->ops->destroy != vmm_destroy)
		return false;
	for (int i = 0; i < MAM_VMM_RANGES; i++) {
		const struct mam_pieces *pieces = &vmm->ranges[i].pieces;
		uint64_t base = pieces->base, bytes = pieces->units << pieces->unit_shift;

		if (!pieces->length)
			continue;
		while (mam_pieces_first(pieces, base, base + bytes, &piece))
			if ((has_twin(vmm, piece.base) ? vmm_unalias : vmm_unmap)(
				    source, (void *)(uintptr_t)piece.base, piece.bytes) != MAM_OK)
				return true;
		(void)vmm_shrink(source, (void *)(uintptr_t)base, bytes);
	}
	return true;
}

bool mam_vmm_abandon(struct mam_source *source)
{
	struct mam_vmm *vmm = vmm_of(source);

	if (source->ops->destroy != vmm_destroy)
		return false;
	drop_ranges(vmm);
	free(vmm); /* the backend's struct starts with it */
	return true;
}

void mam_vmm_init(struct mam_vmm *vmm, const struct mam_vmm_backend *backend)
{
	vmm->ops = (struct mam_source_ops){
		.size = sizeof(vmm->ops),
		.grow = vmm_grow,
		.shrink = vmm_shrink,
		.map = vmm_map,
		.unmap = vmm_unmap,
		.move = vmm_move,
		.alias = vmm_alias,
		.unalias = vmm_unalias,
		.destroy = vmm_destroy,
	};
	vmm->source.size = sizeof(vmm->source);
	vmm->source.ops = &vmm->ops;
	vmm->backend = backend;
	mam_lock_init(&vmm->lock, MAM_RANK_SOURCE, "vmm source");
}

bool mam_vmm_is_shared(const struct mam_source *source)
{
	return source->ops->destroy == vmm_destroy && ((const struct mam_vmm *)source)->is_shared;
}

struct mam_lag *mam_source_lag(struct mam_source *source)
{
	struct mam_vmm *vmm = vmm_of(source);

	return source->ops->destroy == vmm_destroy && vmm->lag.calls != 0 ? &vmm->lag : NULL;
}

bool mam_vmm_room(struct mam_source *source, size_t *bytes)
{
	struct mam_vmm *vmm = vmm_of(source);
	size_t room;

	if (source->ops->destroy != vmm_destroy)
		return false;
	room = vmm->backend->room(vmm);
	if (room != SIZE_MAX)
		*bytes = room;
	return true;
}

enum mam_status mam_source_vmm(const struct mam_vmm_attr *attr, struct mam_source **source)
{
	static const struct mam_sized_field fields[] = {
		MAM_SIZED_FIELD(struct mam_vmm_attr, range_bytes),
		MAM_SIZED_FIELD(struct mam_vmm_attr, peers),
		MAM_SIZED_FIELD(struct mam_vmm_attr, gpudirect),
		MAM_SIZED_FIELD(struct mam_vmm_attr, exportable),
		MAM_SIZED_FIELD(struct mam_vmm_attr, simulated),
		MAM_SIZED_FIELD(struct mam_vmm_attr, total_bytes),
		MAM_SIZED_FIELD(struct mam_vmm_attr, lag),
	};
	struct mam_vmm_attr whole = MAM_VMM_ATTR_INIT;
	enum mam_status status;
	uint64_t others;
	int device;

	if (attr != NULL) {
		if (!mam_sized_fits(attr, sizeof(whole), fields,
				    sizeof(fields) / sizeof(fields[0])))
			return MAM_ERROR_INVALID_VALUE;
		mam_sized_read(&whole, attr, sizeof(whole));
	}
	if (source == NULL || whole.device < MAM_DEVICE_CURRENT)
		return MAM_ERROR_INVALID_VALUE;
	status = whole.simulated ? mam_vmm_sim_create(&whole, source)
				 : mam_vmm_cuda_create(&whole, source);
	if (status != MAM_OK)
		return status;
	vmm_of(*source)->lag.calls = whole.lag;
	device = (*source)->properties.device;
	others = whole.peers & ~(device < 0 ? 0 : (uint64_t)1 << device);
	vmm_of(*source)->is_shared = whole.gpudirect || whole.exportable || others != 0;
	return MAM_OK;
}

enum mam_status mam_vmm_create(int device, struct mam_source **source)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	attr.device = device;
	return mam_source_vmm(&attr, source);
}

enum mam_status mam_vmm_simulated(int device, struct mam_source **source)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	(void)device; /* a simulated source has no device */
	attr.simulated = true;
	return mam_source_vmm(&attr, source);
}
