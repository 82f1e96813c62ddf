/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - the interface between the pool and a source of any kind.
 *
 * The pool calls a source only through the inline functions below. In debug builds they check both
 * sides of the contract in <mam/source.h>: the obligations of the pool (pre) and of the source
 * (post).
 */
#ifndef MAM_SOURCE_SOURCE_H
#define MAM_SOURCE_SOURCE_H

#include <assert.h>

#include "base/bits.h"
#include "base/lock.h" /* MAM_DEBUG */
#include "base/sized.h"
#include <mam/source.h>

static inline enum mam_status mam_source_grow(struct mam_source *source, size_t bytes, void **base)
{
	enum mam_status status;

#if MAM_DEBUG
	assert(bytes > 0 && bytes % source->properties.granularity == 0);
#endif
	status = source->ops->grow(source, bytes, base);
#if MAM_DEBUG
	assert(status == MAM_OK || status == MAM_ERROR_OUT_OF_MEMORY ||
	       status == MAM_ERROR_DRIVER || status == MAM_ERROR_NO_DEVICE);
	assert(status != MAM_OK || (*base && (uintptr_t)*base % source->properties.alignment == 0));
	assert(status != MAM_OK || (uintptr_t)*base <= UINTPTR_MAX - bytes);
#endif
	return status;
}

static inline enum mam_status mam_source_shrink(struct mam_source *source, void *base, size_t bytes)
{
#if MAM_DEBUG
	assert(base && (uintptr_t)base % source->properties.alignment == 0);
	assert(bytes > 0 && bytes % source->properties.granularity == 0);
#endif
	return source->ops->shrink(source, base, bytes);
}

/* A function of the table, or NULL if the table is from an older program that lacks it. */
#define MAM_SOURCE_OP(source, name)                                                              \
	((source)->ops->size >= MAM_SIZED_END(struct mam_source_ops, name) ? (source)->ops->name \
									   : NULL)

/* mam_source_is_usable - whether a program's source is valid: its sizes, calls and properties. */
bool mam_source_is_usable(const struct mam_source *source);

/* mam_source_describe - returns its full properties: those that an older program lacks are 0. */
struct mam_source_properties mam_source_describe(const struct mam_source *source);

/* For sources that separate addresses and memory. */
static inline bool mam_source_has_pieces(const struct mam_source *source)
{
	return MAM_SOURCE_OP(source, map) != NULL;
}

static inline enum mam_status mam_source_map(struct mam_source *source, void *base, size_t bytes)
{
#if MAM_DEBUG
	assert(base && (uintptr_t)base % source->properties.granularity == 0);
	assert(bytes > 0 && bytes % source->properties.granularity == 0);
#endif
	return source->ops->map(source, base, bytes);
}

static inline enum mam_status mam_source_unmap(struct mam_source *source, void *base, size_t bytes)
{
#if MAM_DEBUG
	assert(base && (uintptr_t)base % source->properties.granularity == 0);
	assert(bytes > 0 && bytes % source->properties.granularity == 0);
#endif
	return source->ops->unmap(source, base, bytes);
}

static inline enum mam_status mam_source_move(struct mam_source *source, void *from, size_t bytes,
					      void *to, bool *lost)
{
#if MAM_DEBUG
	assert(from && to && from != to && bytes > 0);
	assert((uintptr_t)to % source->properties.granularity == 0);
#endif
	return source->ops->move(source, from, bytes, to, lost);
}

static inline bool mam_source_has_aliases(const struct mam_source *source)
{
	return MAM_SOURCE_OP(source, alias) != NULL;
}

static inline enum mam_status mam_source_alias(struct mam_source *source, void *from, size_t bytes,
					       void *to)
{
#if MAM_DEBUG
	assert(from && to && from != to && bytes > 0);
	assert((uintptr_t)to % source->properties.granularity == 0);
#endif
	return source->ops->alias(source, from, bytes, to);
}

static inline enum mam_status mam_source_unalias(struct mam_source *source, void *base,
						 size_t bytes)
{
#if MAM_DEBUG
	assert(base && bytes > 0);
#endif
	return source->ops->unalias(source, base, bytes);
}

static inline enum mam_status mam_source_quiesce(struct mam_source *source)
{
	return source->ops->quiesce ? source->ops->quiesce(source) : MAM_OK;
}

/*
 * mam_source_grow_largest - allocate the largest chunk of at most `max_bytes` that the source
 * provides, by trying decreasing sizes.
 *
 * As MAM_Create_auto does in Aknesil and Unat, "MAM: A Memory Allocation Manager for GPUs". The
 * first size is the source's room; the next ones are 1/1024, 1/512, ... 1/64 less, and from then on
 * each is 1/32 less. So the result is at most 1/32 below the largest possible size. A source that
 * allocates nothing is called at most 6 + 22 times per halving from its total down to its
 * granularity: under 400 calls for 80 GiB by 2 MiB. The search continues only after OUT_OF_MEMORY;
 * it returns any other status.
 */
enum mam_status mam_source_grow_largest(struct mam_source *source, size_t max_bytes, size_t *bytes,
					void **base);

/*
 * mam_source_room - an estimate of the largest chunk that one grow would allocate now, a multiple
 * of the granularity. mam's own sources may overestimate it, but do not underestimate what they
 * know. 0: none.
 */
size_t mam_source_room(struct mam_source *source);

/*
 * mam_source_room() calls these for each kind in turn. False: the source is of another kind. True
 * with `bytes` unchanged: the room is unknown.
 */
bool mam_limit_room(struct mam_source *source, size_t *bytes);
bool mam_host_room(struct mam_source *source, size_t *bytes);
bool mam_whole_room(struct mam_source *source, size_t *bytes);
bool mam_vmm_room(struct mam_source *source, size_t *bytes);

/*
 * mam_source_bind - bind `device` to the CUDA context of a source: that of one of mam's own,
 * including the inner source of a limit, otherwise as mam_device_bind() does. After success,
 * mam_device_unbind() undoes it.
 * mam_source_device: the source's own binding; NULL: unknown.
 */
struct mam_device;
enum mam_status mam_source_bind(struct mam_source *source, struct mam_device *device);
const struct mam_device *mam_source_device(struct mam_source *source);
const struct mam_device *mam_limit_device(struct mam_source *source);
const struct mam_device *mam_whole_device(struct mam_source *source);
const struct mam_device *mam_vmm_device(struct mam_source *source);

/*
 * mam_source_is_shared - whether its memory was made for other users besides the device: processes,
 * network cards, or devices that the program named. They may use it at any time, and the pool does
 * not know when they are done. False: unknown, for sources that are not mam's.
 */
bool mam_source_is_shared(struct mam_source *source);
bool mam_vmm_is_shared(const struct mam_source *source);
/* mam_limit_inner - the source around which a limit is; NULL: it is not a limit. */
struct mam_source *mam_limit_inner(struct mam_source *source);

/*
 * mam_source_lag - the simulated streams of a vmm source; NULL: none.
 */
struct mam_lag;
struct mam_lag *mam_source_lag(struct mam_source *source);

/*
 * mam_source_abandon - frees the host memory of a source without calling the driver: its context is
 * gone or no longer usable, and the device memory with it. Sources that are not mam's own are left
 * alone. NULL: no effect. pre: no thread is in the source or will use it.
 *
 * Each kind frees its own sources and returns true. False: the source is of another kind.
 */
void mam_source_abandon(struct mam_source *source);
bool mam_limit_abandon(struct mam_source *source);
bool mam_host_abandon(struct mam_source *source);
bool mam_whole_abandon(struct mam_source *source);
bool mam_vmm_abandon(struct mam_source *source);

/*
 * mam_source_free_mapped - frees the mapped memory of a source whose context has ended: the driver
 * frees other memory with the context, but mapped memory belongs to no context. pre: no thread maps or
 * unmaps in it. Calls the driver. NULL, or no mapped memory: no effect.
 *
 * Each kind frees that of its own sources and returns true. False: the source is of another kind.
 */
void mam_source_free_mapped(struct mam_source *source);
bool mam_limit_free_mapped(struct mam_source *source);
bool mam_whole_free_mapped(struct mam_source *source);
bool mam_vmm_free_mapped(struct mam_source *source);

/*
 * mam_source_grow_prompt - as grow, for a thread that a running kernel waits for. The driver's own
 * allocations block while another thread frees or copies and waits for a kernel there; mapping does
 * not (whole.c). OUT_OF_MEMORY also if the source has no non-blocking way.
 */
enum mam_status mam_source_grow_prompt(struct mam_source *source, size_t bytes, void **base);
bool mam_limit_grow_prompt(struct mam_source *source, size_t bytes, void **base,
			   enum mam_status *status);
bool mam_whole_grow_prompt(struct mam_source *source, size_t bytes, void **base,
			   enum mam_status *status);

/* Create a source of each kind. `device` as in mam_source_create(). */
enum mam_status mam_host_create(int device, struct mam_source **source);
enum mam_status mam_cudamalloc_create(int device, struct mam_source **source);
enum mam_status mam_pinned_create(int device, struct mam_source **source);
enum mam_status mam_managed_create(int device, struct mam_source **source);
enum mam_status mam_vmm_create(int device, struct mam_source **source);
enum mam_status mam_vmm_simulated(int device, struct mam_source **source);

/* mam_vmm_is_possible - whether driver and device (an ordinal) can map memory in pieces. */
bool mam_vmm_is_possible(int device);

#endif
