/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c - creates and destroys heaps on one block of a pool (<mam/heap.h>).
 *
 * To create one:
 * 1. check the attributes, field by field (attr.h), and whether it may grow, if requested
 *    (profiler.h);
 * 2. find the pool, and check that its source provides memory that a device can access;
 * 3. allocate one block of it: pages or blocks, head and metadata (head.h, metadata.h), aligned to a
 *    page or block, followed by the state of growth (growth.h);
 * 4. if the pool may have returned memory that work still uses, wait for the context;
 * 5. create a ring of reports, if it is debugged (reader.h), and a mailbox, if it grows (post.h);
 * 6. zero the metadata, write head and headers, in a stream of its own, and wait for that.
 *
 * It is destroyed in the reverse order, except for the mailbox: kernels that the pool waits for,
 * before it frees the memory, may still send requests.
 */
#include "heap/host/create.h"

#include <stdlib.h>
#include <string.h>

#include "api/registry.h"
#include "api/slots.h"
#include "heap/host/clear.h"
#include "heap/host/leaks.h"
#include "heap/host/profiler.h"
#include "heap/host/table.h"
#include "heap/host/attr.h"

#define NS_IN_US 1000u

static void describe(const struct mam_heap_attr *attr, struct mam_heap *heap)
{
	heap->peers = attr->peers != 0;
	if (attr->kind == MAM_HEAP_PAGES) {
		heap->pages = (uint32_t)((attr->bytes - 1) / attr->page_bytes + 1);
		heap->shift = (uint32_t)__builtin_ctzll(attr->page_bytes);
		heap->low = attr->low_per_mille;
		heap->space_bytes =
			mam_head_offset(heap->pages, heap->shift) + mam_head_bytes(heap->pages);
	} else {
		heap->blocks = (uint32_t)((attr->bytes - 1) / MAM_HEAP_BLOCK + 1);
		heap->shift = MAM_UNIT_SHIFT;
		heap->low = MAM_HEAP_LOW_DEFAULT;
		heap->columns = mam_metadata_columns(heap->blocks);
		heap->space_bytes =
			((uint64_t)heap->blocks << MAM_BLOCK_SHIFT) + mam_grant_plan(heap).end;
		heap->debug = attr->debug != 0;
		heap->has_growth = attr->max_bytes != 0 || heap->debug;
		if (heap->has_growth)
			heap->space_bytes += sizeof(struct mam_growth);
	}
}

/* The head and the first cache line of a bitmap's header, which follows it. */
struct made {
	struct mam_kheap head;
	struct mam_pages metadata;
};

static void make_objects(const struct mam_heap *heap, struct mam_kheap *head)
{
	mam_metadata_head(head, heap->space, (unsigned char *)mam_grant_head(heap), heap->blocks,
			  heap->columns);
	if (heap->has_growth)
		head->growth = (struct mam_growth *)mam_table_at(heap);
	if (heap->debug)
		head->layout = MAM_HEAP_LAYOUT_DEBUG;
}

static void make(const struct mam_heap *heap, struct made *made)
{
	memset(made, 0, sizeof(*made));
	if (heap->blocks != 0) {
		make_objects(heap, &made->head);
	} else {
		made->head.space = heap->space;
		made->head.pages = heap->pages;
		made->head.shift = heap->shift;
		made->head.layout = MAM_HEAP_LAYOUT;
	}
	if (heap->peers)
		made->head.layout |= MAM_HEAP_LAYOUT_PEERS;
	mam_pages_head(&made->metadata, heap->pages, heap->low);
}

static void write_objects(const struct mam_heap *heap, struct mam_copy_visit *visit,
			  const struct mam_growth *growth)
{
	const uintptr_t at = mam_grant_head(heap) + mam_grant_plan(heap).units;
	const struct mam_plot plot = mam_grant_plot(heap);
	struct mam_pages units;

	memset(&units, 0, sizeof(units));
	mam_pages_head(&units, heap->blocks * MAM_BLOCK_UNITS, heap->low);
	mam_copy_write(visit, at, &units, offsetof(struct mam_pages, open));
	mam_clear_plot(visit, &plot);
	if (growth)
		mam_table_make(heap, visit, growth);
}

/* Writes the constant fields, and the rest as a reset leaves it. */
static enum mam_status write_metadata(const struct mam_heap *heap, const struct mam_growth *growth)
{
	const size_t constant = offsetof(struct mam_pages, open);
	struct mam_copy_visit visit;
	enum mam_status status;
	struct made made;

	make(heap, &made);
	status = mam_copy_begin_apart(&heap->reach, &visit);
	if (status != MAM_OK)
		return status;
	mam_copy_write(&visit, mam_grant_head(heap), &made, sizeof(made.head) + constant);
	if (heap->blocks != 0)
		write_objects(heap, &visit, growth);
	else
		mam_clear_pages(&visit, mam_grant_metadata(heap), heap->pages);
	mam_copy_wait(&visit);
	return mam_copy_end(&visit);
}

/* Ends the objects that serve the heap, after its memory was freed. */
static void end_growth(struct mam_heap *heap)
{
	if (heap->post)
		mam_post_destroy(heap->post);
	mam_reader_destroy(heap->reader);
}

/* Step 5. Fills `growth` for kernels. */
static enum mam_status begin_growth(const struct mam_heap_attr *attr, struct mam_heap *heap,
				    struct mam_growth *growth)
{
	const uint64_t root = (uint64_t)heap->blocks << MAM_BLOCK_SHIFT;
	const struct mam_post_config config = {
		.max_bytes = attr->max_bytes > root ? attr->max_bytes : root,
		.root_bytes = root,
		.grow_bytes = attr->grow_bytes,
		.ahead = attr->ahead,
		.large = mam_table_at(heap) + offsetof(struct mam_growth, large),
	};
	enum mam_status status = MAM_OK;

	growth->wait_ns = (uint64_t)attr->wait_us * NS_IN_US;
	if (heap->debug)
		status = mam_reader_create(&heap->reach, &heap->reader);
	if (heap->reader)
		mam_reader_report(heap->reader, growth);
	if (status == MAM_OK && attr->max_bytes != 0)
		status = mam_post_create(heap->pool, &config, &heap->post);
	if (heap->post)
		growth->mail = mam_post_mail(heap->post);
	return status;
}

/* Steps 5 and 6 of a heap that grows or is debugged. */
static enum mam_status finish_growth(const struct mam_heap_attr *attr, struct mam_heap *heap)
{
	struct mam_growth *growth = calloc(1, sizeof(*growth));
	enum mam_status status;

	if (!growth)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = begin_growth(attr, heap, growth);
	if (status == MAM_OK)
		status = write_metadata(heap, growth);
	if (status != MAM_OK)
		end_growth(heap);
	free(growth);
	return status;
}

/* Steps 4 to 6. */
static enum mam_status settle(const struct mam_heap_attr *attr, struct mam_heap *heap)
{
	enum mam_status status = mam_copy_knows(&heap->reach, heap->space);

	if (status == MAM_OK && !heap->pool->strict)
		status = mam_device_quiesce(&heap->reach.device, NULL);
	if (status != MAM_OK)
		return status;
	return heap->has_growth ? finish_growth(attr, heap) : write_metadata(heap, NULL);
}

/* Steps 2 to 6. */
static enum mam_status build(const struct mam_heap_attr *attr, struct mam_heap *heap)
{
	const size_t align = heap->blocks != 0 ? MAM_HEAP_BLOCK : (size_t)1 << heap->shift;
	enum mam_status status;
	void *space;

	status = mam_copy_bind(&heap->reach, heap->pool->source);
	if (status != MAM_OK)
		return status;
	status = mam_malloc_aligned(heap->handle, heap->space_bytes, align, &space);
	if (status == MAM_OK) {
		heap->space = space;
		status = settle(attr, heap);
		if (status != MAM_OK)
			(void)mam_free(heap->handle, space);
	}
	if (status != MAM_OK)
		mam_copy_unbind(&heap->reach);
	return status;
}

/* NULL is the default pool. The heap holds it until let_go(). */
static enum mam_status find_pool(struct mam_pool *handle, struct mam_heap *heap)
{
	struct mam_section section;
	enum mam_status status = MAM_OK;

	if (!handle)
		status = mam_pool_default(MAM_DEVICE_CURRENT, &handle);
	if (status == MAM_OK)
		status = mam_slots_enter(handle, &heap->pool, &section);
	if (status != MAM_OK)
		return status;
	mam_slots_pin(heap->pool);
	mam_epoch_leave(section);
	heap->handle = handle;
	return MAM_OK;
}

static void let_go(struct mam_heap *heap)
{
	mam_slots_unpin(heap->pool);
	free(heap);
}

bool mam_grant_alive(const struct mam_heap *heap)
{
	return atomic_load(&heap->pool->state) == MAM_POOL_READY;
}

enum mam_status mam_heap_create(struct mam_pool *pool, const struct mam_heap_attr *attr,
				struct mam_heap **heap)
{
	struct mam_heap_attr whole;
	struct mam_heap *made;
	enum mam_status status;

	if (!heap)
		return MAM_ERROR_INVALID_VALUE;
	status = mam_heap_attr_read(attr, &whole);
	if (status != MAM_OK)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = find_pool(pool, made);
	if (status != MAM_OK) {
		free(made);
		return status;
	}
	made->returning = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	made->counting = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (whole.max_bytes != 0 && !mam_profiler_lets_grow())
		whole.max_bytes = 0;
	describe(&whole, made);
	status = mam_grant_alive(made) ? build(&whole, made) : MAM_ERROR_DESTROYED;
	if (status == MAM_OK)
		*heap = made;
	else
		let_go(made);
	return status;
}

struct mam_kheap *mam_heap_device(const struct mam_heap *heap)
{
	return heap ? (struct mam_kheap *)mam_grant_head(heap) : NULL;
}

enum mam_status mam_heap_destroy(struct mam_heap *heap)
{
	enum mam_status status;

	if (!heap)
		return MAM_OK;
	if (heap->reader)
		mam_leaks_log(heap);
	status = mam_free(heap->handle, heap->space);
	if (status != MAM_OK && status != MAM_ERROR_DESTROYED)
		return status;
	end_growth(heap);
	mam_copy_unbind(&heap->reach);
	pthread_mutex_destroy(&heap->returning);
	pthread_mutex_destroy(&heap->counting);
	let_go(heap);
	return MAM_OK;
}
