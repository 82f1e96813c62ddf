/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole.c - implements whole.h: growing and shrinking with one driver call each.
 *
 * To grow:
 * 1. If the driver would allocate more than there is room for: add the request to the bytes already
 *    requested, and fail if the sum exceeds the room. It is added first, so that two pools that
 *    grow concurrently see each other;
 * 2. one call, in the source's context (device.h);
 * 3. free a chunk that is not aligned as promised;
 * 4. subtract the request again, unless the room does not show the chunk.
 *
 * To grow while a kernel waits for the chunk: the driver's allocation functions cannot be used.
 * While another thread of the process is in cuMemFree, cuMemFreeHost or a copy to ordinary host
 * memory, and waits there for a kernel, cuMemAlloc, cuMemHostAlloc and cuMemAllocManaged wait for
 * that thread (an H100, CUDA 13). Reserving addresses, and creating and mapping memory, does not
 * wait. So such chunks are mapped, each in its own range of a vmm source in the same context.
 * Mapped memory is equivalent to the kind's own, except for the limits in vmm_cuda.c:
 * cudaIpcGetMemHandle rejects it. Kinds without such memory fail.
 *
 * To shrink a mapped chunk: unlike cuMemFree, unmapping does not wait for work that may still
 * access the chunk, so the source waits for that work first.
 */
#include "source/whole.h"

#include <stdlib.h>

#include "base/log.h"
#include "source/vmm.h"

/* The driver's unit of mapping, and its alignment of device memory of this size and more. */
#define GRANULARITY ((size_t)2 << 20)

static const struct mam_source_ops whole_ops;

static atomic_size_t *asked_of(const struct mam_whole *whole)
{
	return &whole->kind->asked[(unsigned int)whole->device.ordinal % whole->kind->places];
}

/* Step 1. */
static bool note(struct mam_whole *whole, size_t bytes)
{
	size_t others, room;

	if (!whole->kind->asked)
		return true;
	others = atomic_fetch_add(asked_of(whole), bytes);
	if (whole->kind->room(&whole->device, &room) && others <= room && bytes <= room - others)
		return true;
	atomic_fetch_sub(asked_of(whole), bytes);
	return false;
}

static void forget(struct mam_whole *whole, size_t bytes)
{
	if (whole->kind->asked)
		atomic_fetch_sub(asked_of(whole), bytes);
}

/* Steps 2 and 3. */
static enum mam_status ask(struct mam_whole *whole, size_t bytes, void **base)
{
	const struct mam_whole_kind *kind = whole->kind;
	const struct mam_driver *driver = whole->device.driver;
	unsigned long long address = 0;
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(&whole->device, &visit);
	bool is_crooked;

	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status(&whole->device, answer);
	answer = mam_device_answer_of(kind->alloc_name, kind->alloc(driver, bytes, &address));
	is_crooked = answer.result == MAM_DRIVER_SUCCESS && address % kind->alignment != 0;
	if (is_crooked)
		kind->free(driver, address);
	mam_device_leave(&whole->device, &visit);
	if (is_crooked) {
		mam_log(MAM_LOG_WARN,
			"the CUDA driver's %s returned %#llx for %zu bytes: not a "
			"multiple of %zu",
			kind->alloc_name, address, bytes, kind->alignment);
		return MAM_ERROR_DRIVER;
	}
	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status(&whole->device, answer);
	*base = (void *)(uintptr_t)address;
	return MAM_OK;
}

static enum mam_status whole_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct mam_whole *whole = (struct mam_whole *)source;
	enum mam_status status;

	if (!note(whole, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	status = ask(whole, bytes, base);
	if (status != MAM_OK || !whole->kind->asked_stays)
		forget(whole, bytes);
	return status;
}

/* The source of mapped chunks, created when first needed; NULL: creation failed. */
static struct mam_source *make_mapped(struct mam_whole *whole)
{
	struct mam_source *mapped = atomic_load(&whole->mapped), *made;
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_device_visit visit;
	enum mam_status status;

	if (mapped || atomic_load(&whole->cannot_map))
		return mapped;
	/* The new source binds to the current context. */
	if (mam_device_enter(&whole->device, &visit).result != MAM_DRIVER_SUCCESS)
		return NULL;
	attr.device = whole->device.ordinal;
	status = mam_vmm_cuda_create(&attr, &made);
	mam_device_leave(&whole->device, &visit);
	if (status == MAM_ERROR_UNSUPPORTED)
		atomic_store(&whole->cannot_map, true);
	if (status != MAM_OK)
		return NULL;
	if (atomic_compare_exchange_strong(&whole->mapped, &mapped, made))
		return made;
	mam_source_destroy(made);
	return mapped;
}

bool mam_whole_grow_prompt(struct mam_source *source, size_t bytes, void **base,
			   enum mam_status *status)
{
	struct mam_whole *whole = (struct mam_whole *)source;
	struct mam_source *mapped;
	void *range;

	if (source->ops != &whole_ops)
		return false;
	*status = MAM_ERROR_OUT_OF_MEMORY;
	mapped = whole->kind->maps ? make_mapped(whole) : NULL;
	if (!mapped || bytes % mapped->properties.granularity != 0)
		return true;
	*status = mam_source_grow(mapped, bytes, &range);
	if (*status != MAM_OK)
		return true;
	*status = mam_source_map(mapped, range, bytes);
	if (*status == MAM_OK)
		*base = range;
	else
		(void)mam_source_shrink(mapped, range, bytes);
	return true;
}

/* If freeing the addresses fails, they leak; they have no memory. */
static enum mam_status shrink_mapped(struct mam_source *mapped, void *base, size_t bytes)
{
	enum mam_status status = mam_source_quiesce(mapped);

	if (status == MAM_OK)
		status = mam_source_unmap(mapped, base, bytes);
	if (status == MAM_OK)
		(void)mam_source_shrink(mapped, base, bytes);
	return status;
}

static enum mam_status whole_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct mam_whole *whole = (struct mam_whole *)source;
	struct mam_source *mapped = atomic_load(&whole->mapped);
	struct mam_device_visit visit;
	struct mam_device_answer answer;
	enum mam_status status;

	if (mapped && mam_vmm_holds(mapped, base, bytes))
		return shrink_mapped(mapped, base, bytes);
	answer = mam_device_enter(&whole->device, &visit);
	if (answer.result == MAM_DRIVER_SUCCESS) {
		answer = mam_device_answer_of(
			whole->kind->free_name,
			whole->kind->free(whole->device.driver, (uintptr_t)base));
		mam_device_leave(&whole->device, &visit);
	}
	status = mam_device_status_of_end(&whole->device, answer);
	if (status == MAM_OK && whole->kind->asked_stays)
		forget(whole, bytes);
	return status;
}

static enum mam_status whole_quiesce(struct mam_source *source)
{
	struct mam_whole *whole = (struct mam_whole *)source;

	return mam_device_quiesce(&whole->device, &whole->kept);
}

static void whole_destroy(struct mam_source *source)
{
	struct mam_whole *whole = (struct mam_whole *)source;

	mam_source_destroy(atomic_load(&whole->mapped));
	mam_device_give_kept(&whole->device, &whole->kept);
	mam_device_unbind(&whole->device);
	free(whole);
}

static const struct mam_source_ops whole_ops = {
	.size = sizeof(whole_ops),
	.grow = whole_grow,
	.shrink = whole_shrink,
	.quiesce = whole_quiesce,
	.destroy = whole_destroy,
};

enum mam_status mam_whole_create(const struct mam_whole_kind *kind, int device,
				 struct mam_source **source)
{
	struct mam_whole *whole = calloc(1, sizeof(*whole));
	struct mam_source_properties *properties;
	enum mam_status status;

	if (!whole)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	properties = &whole->source.properties;
	whole->source.size = sizeof(whole->source);
	whole->source.ops = &whole_ops;
	whole->kind = kind;
	*properties = (struct mam_source_properties){
		.name = kind->name,
		.granularity = GRANULARITY,
		.alignment = kind->alignment,
		.survives_fork = false,
	};
	status = mam_device_bind(&whole->device, device);
	properties->device = whole->device.ordinal;
	if (status == MAM_OK)
		status = kind->total(&whole->device, &properties->total_bytes);
	if (status != MAM_OK) {
		whole_destroy(&whole->source);
		return status;
	}
	*source = &whole->source;
	return MAM_OK;
}

bool mam_whole_free_mapped(struct mam_source *source)
{
	if (source->ops != &whole_ops)
		return false;
	mam_source_free_mapped(atomic_load(&((struct mam_whole *)source)->mapped));
	return true;
}

bool mam_whole_abandon(struct mam_source *source)
{
	struct mam_whole *whole = (struct mam_whole *)source;

	if (source->ops != &whole_ops)
		return false;
	mam_source_abandon(atomic_load(&whole->mapped));
	free(whole);
	return true;
}

bool mam_whole_room(struct mam_source *source, size_t *bytes)
{
	struct mam_whole *whole = (struct mam_whole *)source;
	size_t room, asked;

	if (source->ops != &whole_ops)
		return false;
	/* If the room is unknown, keep the caller's estimate: the grow will report the error. */
	if (!whole->kind->room(&whole->device, &room))
		return true;
	asked = whole->kind->asked ? atomic_load(asked_of(whole)) : 0;
	*bytes = room > asked ? room - asked : 0;
	return true;
}

const struct mam_device *mam_whole_device(struct mam_source *source)
{
	return source->ops == &whole_ops ? &((struct mam_whole *)source)->device : NULL;
}
