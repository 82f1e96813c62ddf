/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - creating sources by name, and functions common to all of them.
 *
 * One table with a row for each kind of source. A new kind is a new file and a new row.
 */
#include <string.h>

#include "source/device.h"
#include "source/source.h"

static const struct {
	const char *name;
	/* NULL: cannot be created by name. */
	enum mam_status (*create)(int device, struct mam_source **source);
	/* False: the source is of another kind. NULL: the function of the row above covers both. */
	bool (*room)(struct mam_source *source, size_t *bytes);
	/* Returns NULL for a source of another kind. NULL: there is no such function. */
	const struct mam_device *(*device)(struct mam_source *source);
	/* False: the source is of another kind. NULL: the function of the row above covers both. */
	bool (*abandon)(struct mam_source *source);
	bool (*free_mapped)(struct mam_source *source);
} kinds[] = {
	{ "cudamalloc", mam_cudamalloc_create, mam_whole_room, mam_whole_device, mam_whole_abandon,
	  mam_whole_free_mapped },
	{ "pinned", mam_pinned_create, NULL, NULL, NULL, NULL },
	{ "managed", mam_managed_create, NULL, NULL, NULL, NULL },
	{ "vmm", mam_vmm_create, mam_vmm_room, mam_vmm_device, mam_vmm_abandon,
	  mam_vmm_free_mapped },
	{ "simulated", mam_vmm_simulated, NULL, NULL, NULL, NULL },
	{ "host", mam_host_create, mam_host_room, NULL, mam_host_abandon, NULL },
	{ "limit", NULL, mam_limit_room, mam_limit_device, mam_limit_abandon,
	  mam_limit_free_mapped },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* No process has a larger address space. The search starts here if a source's room is unknown. */
#define LARGEST_GUESS ((size_t)1 << 47)

/* The first steps down are finer, so that little is lost when nearly all memory is free. */
#define FIRST_FALL_SHIFT 10
#define LAST_FALL_SHIFT 5

enum mam_status mam_source_create(const char *name, int device, struct mam_source **source)
{
	if (!name || !source || device < MAM_DEVICE_CURRENT)
		return MAM_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (kinds[i].create && strcmp(kinds[i].name, name) == 0)
			return kinds[i].create(device, source);
	}
	return MAM_ERROR_INVALID_VALUE;
}

void mam_source_destroy(struct mam_source *source)
{
	if (source && source->ops->destroy)
		source->ops->destroy(source);
}

void mam_source_abandon(struct mam_source *source)
{
	for (size_t i = 0; source && i < KIND_COUNT; i++) {
		if (kinds[i].abandon && kinds[i].abandon(source))
			return;
	}
}

void mam_source_free_mapped(struct mam_source *source)
{
	for (size_t i = 0; source && i < KIND_COUNT; i++) {
		if (kinds[i].free_mapped && kinds[i].free_mapped(source))
			return;
	}
}

bool mam_source_is_usable(const struct mam_source *source)
{
	static const struct mam_sized_field fields[] = {
		{ offsetof(struct mam_source, properties.range_bytes),
		  offsetof(struct mam_source, properties.range_bytes) + sizeof(size_t) },
	};
	static const struct mam_sized_field ops_fields[] = {
		MAM_SIZED_FIELD(struct mam_source_ops, map),
		MAM_SIZED_FIELD(struct mam_source_ops, unmap),
		MAM_SIZED_FIELD(struct mam_source_ops, move),
		MAM_SIZED_FIELD(struct mam_source_ops, cost),
		MAM_SIZED_FIELD(struct mam_source_ops, alias),
		MAM_SIZED_FIELD(struct mam_source_ops, unalias),
	};
	const struct mam_source_ops *ops;

	if (!source || !mam_sized_fits(source, sizeof(*source), fields, 1))
		return false;
	ops = source->ops;
	return ops &&
	       mam_sized_fits(ops, sizeof(*ops), ops_fields,
			      sizeof(ops_fields) / sizeof(ops_fields[0])) &&
	       ops->grow && ops->shrink &&
	       !MAM_SOURCE_OP(source, map) == !MAM_SOURCE_OP(source, unmap) &&
	       !MAM_SOURCE_OP(source, map) == !MAM_SOURCE_OP(source, move) &&
	       !MAM_SOURCE_OP(source, alias) == !MAM_SOURCE_OP(source, unalias) &&
	       (!MAM_SOURCE_OP(source, alias) || MAM_SOURCE_OP(source, map)) &&
	       mam_is_power_of_two(source->properties.granularity) &&
	       mam_is_power_of_two(source->properties.alignment);
}

struct mam_source_properties mam_source_describe(const struct mam_source *source)
{
	struct mam_source whole = { .size = sizeof(whole) };

	mam_sized_read(&whole, source, sizeof(whole));
	return whole.properties;
}

size_t mam_source_room(struct mam_source *source)
{
	size_t bytes = source->properties.total_bytes;

	if (!bytes)
		bytes = LARGEST_GUESS;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (kinds[i].room && kinds[i].room(source, &bytes))
			break;
	}
	return mam_round_down(bytes, source->properties.granularity);
}

const struct mam_device *mam_source_device(struct mam_source *source)
{
	const struct mam_device *device = NULL;

	for (size_t i = 0; i < KIND_COUNT && !device; i++) {
		if (kinds[i].device)
			device = kinds[i].device(source);
	}
	return device;
}

/* The id of the context comes along: without it no call notices that the context has ended. */
enum mam_status mam_source_bind(struct mam_source *source, struct mam_device *device)
{
	const struct mam_device *own = mam_source_device(source);
	const struct mam_driver *driver;
	enum mam_status status;

	if (!own) {
		status = mam_device_bind(device, source->properties.device);
		if (status != MAM_OK)
			mam_device_unbind(device);
		return status;
	}
	*device = *own;
	device->retains_primary = false; /* the source does */
	return mam_driver_get(&driver);
}

bool mam_source_is_shared(struct mam_source *source)
{
	struct mam_source *inner;

	while ((inner = mam_limit_inner(source)) != NULL)
		source = inner;
	return mam_vmm_is_shared(source);
}

enum mam_status mam_source_grow_prompt(struct mam_source *source, size_t bytes, void **base)
{
	enum mam_status status;

	if (mam_limit_grow_prompt(source, bytes, base, &status) ||
	    mam_whole_grow_prompt(source, bytes, base, &status))
		return status;
	return mam_source_grow(source, bytes, base);
}

enum mam_status mam_source_grow_largest(struct mam_source *source, size_t max_bytes, size_t *bytes,
					void **base)
{
	const size_t granularity = source->properties.granularity;
	size_t size = mam_source_room(source);
	unsigned int shift = FIRST_FALL_SHIFT;

	if (size > max_bytes)
		size = mam_round_down(max_bytes, granularity);
	while (size >= granularity) {
		enum mam_status status = mam_source_grow(source, size, base);

		if (status == MAM_OK)
			*bytes = size;
		if (status != MAM_ERROR_OUT_OF_MEMORY)
			return status;
		/* Step down by at least one granule. */
		if (size >> shift < granularity)
			size -= granularity;
		else
			size = mam_round_down(size - (size >> shift), granularity);
		if (shift > LAST_FALL_SHIFT)
			shift--;
	}
	return MAM_ERROR_OUT_OF_MEMORY;
}
