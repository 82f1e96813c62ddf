/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.c - heaps made on one block of a pool, reset, and ended (<mam/heap.h>).
 *
 * To make one:
 * 1. the attributes, checked field by field;
 * 2. which pool, and whether its source gives memory that a device reaches;
 * 3. one block of it: pages or blocks, head and books (head.h, books.h), at a multiple of one;
 * 4. if the pool may have handed out memory that work still uses, wait for the context;
 * 5. books zeroed, head and headers written, in a stream of its own, which is waited for.
 *
 * Bits past the last page are taken from the start, and again by each reset: at most seven whole
 * bytes and a part of one, at the end of the bitmap, by two fills. So a reset is fills alone,
 * which a graph can hold without any memory of the host's. Of objects, too: a new heap's books are
 * zeros but for what never changes, which a reset goes around.
 */
#include "heap/grant.h"

#include <stdlib.h>
#include <string.h>

#include "api/registry.h"
#include "api/slots.h"
#include "base/bits.h"

#define MOST_ATTR_BYTES 4096u
#define LOW_MOST 1000u

static enum mam_status check_pages(struct mam_heap_attr *attr)
{
	if (attr->page_bytes == 0)
		attr->page_bytes = MAM_HEAP_PAGE_DEFAULT;
	if (attr->low_per_mille == 0)
		attr->low_per_mille = MAM_HEAP_LOW_DEFAULT;
	if (!mam_is_power_of_two(attr->page_bytes) || attr->page_bytes < MAM_HEAP_PAGE_LEAST ||
	    attr->page_bytes > MAM_HEAP_PAGE_MOST || attr->low_per_mille > LOW_MOST)
		return MAM_ERROR_INVALID_VALUE;
	if (attr->bytes == 0 ||
	    (attr->bytes - 1) / attr->page_bytes >= MAM_PAGES_COUNT_MAX)
		return MAM_ERROR_INVALID_VALUE;
	return MAM_OK;
}

/* Units are counted as pages are. */
static enum mam_status check_objects(const struct mam_heap_attr *attr)
{
	if (attr->page_bytes != 0 || attr->low_per_mille != 0)
		return MAM_ERROR_INVALID_VALUE;
	if (attr->bytes == 0 ||
	    (attr->bytes - 1) / MAM_HEAP_BLOCK >= MAM_PAGES_COUNT_MAX / MAM_BLOCK_UNITS)
		return MAM_ERROR_INVALID_VALUE;
	return MAM_OK;
}

/* A longer struct is a newer program's: what this version does not know must ask for nothing. */
static enum mam_status read_attr(const struct mam_heap_attr *given, struct mam_heap_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)given;

	if (!given || given->size < sizeof(*given) || given->size > MOST_ATTR_BYTES)
		return MAM_ERROR_INVALID_VALUE;
	for (size_t i = sizeof(*given); i < given->size; i++)
		if (bytes[i] != 0)
			return MAM_ERROR_INVALID_VALUE;
	*attr = *given;
	switch (attr->kind) {
	case MAM_HEAP_OBJECTS: return check_objects(attr);
	case MAM_HEAP_PAGES: return check_pages(attr);
	default: return MAM_ERROR_INVALID_VALUE;
	}
}

static void describe(const struct mam_heap_attr *attr, struct mam_heap *heap)
{
	if (attr->kind == MAM_HEAP_PAGES) {
		heap->pages = (uint32_t)((attr->bytes - 1) / attr->page_bytes + 1);
		heap->shift = (uint32_t)__builtin_ctzll(attr->page_bytes);
		heap->low = attr->low_per_mille;
		heap->ground_bytes =
			mam_head_offset(heap->pages, heap->shift) + mam_head_bytes(heap->pages);
	} else {
		heap->blocks = (uint32_t)((attr->bytes - 1) / MAM_HEAP_BLOCK + 1);
		heap->shift = MAM_UNIT_SHIFT;
		heap->low = MAM_HEAP_LOW_DEFAULT;
		heap->columns = mam_books_columns(heap->blocks);
		heap->ground_bytes = ((uint64_t)heap->blocks << MAM_BLOCK_SHIFT) +
				     mam_grant_plan(heap).end;
	}
}

/* Past `pages` of them the last word of the bitmap, which ends at `end`, has taken bits. */
static void clear_tail(struct mam_reach_visit *visit, uintptr_t end, uint32_t pages)
{
	const uint32_t last = pages % 64;

	if (last == 0 && pages != 0)
		return;
	mam_reach_fill(visit, end - 8 + last / 8, (unsigned char)(0xff << last % 8), 1);
	mam_reach_fill(visit, end - 8 + last / 8 + 1, 0xff, 7 - last / 8);
}

/* All free, all counts zero: what is not so in the headers never changes. */
static void clear(const struct mam_heap *heap, struct mam_reach_visit *visit)
{
	const size_t from = offsetof(struct mam_pages, open);
	const struct mam_books_plan plan = mam_grant_plan(heap);
	const uintptr_t head = mam_grant_head(heap), books = mam_grant_books(heap);
	const uintptr_t units = head + plan.units;
	const uintptr_t tail = books + mam_pages_bytes(heap->pages);
	const uintptr_t end = heap->blocks != 0 ? units : tail;

	mam_reach_fill(visit, books + from, 0, end - (books + from));
	clear_tail(visit, tail, heap->pages);
	if (heap->blocks != 0)
		mam_reach_fill(visit, units + from, 0, plan.end - plan.units - from);
}

/* The head and the first line of a bitmap's header, as they stand behind each other. */
struct made {
	struct mam_kheap head;
	struct mam_pages books;
};

static void make(const struct mam_heap *heap, struct made *made)
{
	memset(made, 0, sizeof(*made));
	if (heap->blocks != 0) {
		mam_books_head(&made->head, heap->ground, (unsigned char *)mam_grant_head(heap),
			       heap->blocks, heap->columns);
	} else {
		made->head.ground = heap->ground;
		made->head.pages = heap->pages;
		made->head.shift = heap->shift;
		made->head.layout = MAM_HEAP_LAYOUT;
	}
	mam_pages_head(&made->books, heap->pages, heap->low);
}

/* What never changes, and the rest as a reset leaves it. */
static enum mam_status write_books(const struct mam_heap *heap)
{
	const size_t constant = offsetof(struct mam_pages, open);
	struct mam_reach_visit visit;
	enum mam_status status;
	struct mam_pages units;
	struct made made;

	make(heap, &made);
	status = mam_reach_begin_apart(&heap->reach, &visit);
	if (status != MAM_OK)
		return status;
	mam_reach_write(&visit, mam_grant_head(heap), &made, sizeof(made.head) + constant);
	if (heap->blocks != 0) {
		memset(&units, 0, sizeof(units));
		mam_pages_head(&units, heap->blocks * MAM_BLOCK_UNITS, heap->low);
		mam_reach_write(&visit, mam_grant_head(heap) + mam_grant_plan(heap).units, &units,
				constant);
	}
	clear(heap, &visit);
	mam_reach_wait(&visit);
	return mam_reach_end(&visit);
}

/* Steps 4 and 5. */
static enum mam_status settle(struct mam_heap *heap)
{
	enum mam_status status = mam_reach_knows(&heap->reach, heap->ground);

	if (status == MAM_OK && !heap->pool->strict)
		status = mam_device_outwait(&heap->reach.device);
	return status == MAM_OK ? write_books(heap) : status;
}

/* Steps 2 to 5. */
static enum mam_status build(struct mam_heap *heap)
{
	const size_t align = heap->blocks != 0 ? MAM_HEAP_BLOCK : (size_t)1 << heap->shift;
	enum mam_status status;
	void *ground;

	status = mam_reach_bind(&heap->reach, heap->pool->source);
	if (status != MAM_OK)
		return status;
	status = mam_malloc_aligned(heap->pool, heap->ground_bytes, align, &ground);
	if (status == MAM_OK) {
		heap->ground = ground;
		status = settle(heap);
		if (status != MAM_OK)
			(void)mam_free(heap->pool, ground);
	}
	if (status != MAM_OK)
		mam_reach_unbind(&heap->reach);
	return status;
}

static enum mam_status find_pool(struct mam_pool **pool)
{
	if (!*pool)
		return mam_pool_default(MAM_DEVICE_CURRENT, pool);
	if (!mam_slots_know(*pool))
		return MAM_ERROR_INVALID_VALUE;
	return MAM_OK;
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
	status = read_attr(attr, &whole);
	if (status == MAM_OK)
		status = find_pool(&pool);
	if (status != MAM_OK)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	made->pool = pool;
	made->returning = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	describe(&whole, made);
	status = mam_grant_alive(made) ? build(made) : MAM_ERROR_DESTROYED;
	if (status == MAM_OK)
		*heap = made;
	else
		free(made);
	return status;
}

struct mam_kheap *mam_heap_device(const struct mam_heap *heap)
{
	return heap ? (struct mam_kheap *)mam_grant_head(heap) : NULL;
}

enum mam_status mam_heap_reset(struct mam_heap *heap, struct CUstream_st *stream)
{
	struct mam_reach_visit visit;
	enum mam_status status;

	if (!heap)
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	status = mam_reach_begin(&heap->reach, stream, false, &visit);
	if (status != MAM_OK)
		return status;
	clear(heap, &visit);
	return mam_reach_end(&visit);
}

enum mam_status mam_heap_destroy(struct mam_heap *heap)
{
	enum mam_status status;

	if (!heap)
		return MAM_OK;
	status = mam_free(heap->pool, heap->ground);
	if (status != MAM_OK && status != MAM_ERROR_DESTROYED)
		return status;
	mam_reach_unbind(&heap->reach);
	pthread_mutex_destroy(&heap->returning);
	free(heap);
	return MAM_OK;
}
