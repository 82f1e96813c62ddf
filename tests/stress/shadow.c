/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.c - granules in pages of 2 MiB of addresses, found by a table of hashed page numbers.
 *
 * A page is created when a block in it is first seen, and stays. If memory is released to the
 * driver and returns at the same addresses, its work is done; otherwise that is an error which
 * fake_disturbed() reports.
 *
 * Bound: O(granules of the block) per call.
 */
#include "shadow.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

#define PAGE_BYTES ((uintptr_t)2 << 20)
#define PAGE_GRANULES (PAGE_BYTES / SHADOW_GRANULE)
#define BUCKETS 4096u

struct granule {
	uint64_t due_ns;    /* when its last work ends; 0: never used */
	uint32_t stream_id; /* the stream of that work */
	uint32_t live;      /* size of the block that contains it, in granules; 0: no block */
};

struct page {
	struct page *next;
	uintptr_t number;
	struct granule granules[PAGE_GRANULES];
};

struct shadow {
	const struct cuda *cuda;
	pthread_mutex_t lock;
	struct page *buckets[BUCKETS]; /* lock: lock */
	struct page *last;             /* last result; lock: lock */
	uint64_t reused, ahead;        /* granules; lock: lock */
	char why[300];                 /* the first message; lock: lock */
};

struct shadow *shadow_new(const struct cuda *cuda)
{
	struct shadow *shadow = calloc(1, sizeof(*shadow));

	ck_assert_ptr_nonnull(shadow);
	shadow->cuda = cuda;
	pthread_mutex_init(&shadow->lock, NULL);
	return shadow;
}

void shadow_end(struct shadow *shadow)
{
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct page *page = shadow->buckets[i];

		while (page) {
			struct page *next = page->next;

			free(page);
			page = next;
		}
	}
	pthread_mutex_destroy(&shadow->lock);
	free(shadow);
}

static struct granule *find(struct shadow *shadow, uintptr_t address)
{
	uintptr_t number = address / PAGE_BYTES;
	struct page **link = &shadow->buckets[(number * 0x9e3779b97f4a7c15u >> 40) % BUCKETS];
	struct page *page = shadow->last;

	if (!page || page->number != number) {
		while (*link && (*link)->number != number)
			link = &(*link)->next;
		if (!*link) {
			*link = calloc(1, sizeof(**link));
			if (!*link)
				ck_abort_msg("the test is out of host memory");
			(*link)->number = number;
		}
		page = shadow->last = *link;
	}
	return &page->granules[address % PAGE_BYTES / SHADOW_GRANULE];
}

/* Formats one sentence; the first one stays. */
__attribute__((format(printf, 2, 3))) static const char *complain(struct shadow *shadow,
								  const char *format, ...)
{
	va_list list;

	if (!shadow->why[0]) {
		va_start(list, format);
		vsnprintf(shadow->why, sizeof(shadow->why), format, list);
		va_end(list);
	}
	return shadow->why;
}

static const char *take_one(struct shadow *shadow, uintptr_t block, size_t bytes, size_t at,
			    uint64_t stream_id, uint64_t begin_ns, uint64_t now)
{
	struct granule *granule = find(shadow, block + at);

	if (granule->live)
		return complain(
			shadow,
			"the block of %zu bytes at %#zx for stream %llu was allocated although "
			"its byte %zu is in a live block of %zu",
			bytes, (size_t)block, (unsigned long long)stream_id, at,
			granule->live * SHADOW_GRANULE);
	if (granule->due_ns > begin_ns && granule->stream_id != stream_id)
		return complain(
			shadow,
			"the block of %zu bytes at %#zx for stream %llu was allocated although "
			"stream %u uses its byte %zu for another %llu ns",
			bytes, (size_t)block, (unsigned long long)stream_id, granule->stream_id, at,
			(unsigned long long)(granule->due_ns - begin_ns));
	shadow->reused += granule->due_ns != 0;
	shadow->ahead += granule->due_ns > now;
	granule->live = (bytes + SHADOW_GRANULE - 1) / SHADOW_GRANULE;
	return NULL;
}

const char *shadow_take(struct shadow *shadow, const void *block, size_t bytes, uint64_t stream_id,
			uint64_t begin_ns)
{
	uint64_t now = shadow->cuda->fake_clock();
	const char *why = NULL;

	pthread_mutex_lock(&shadow->lock);
	if ((uintptr_t)block % SHADOW_GRANULE)
		why = complain(shadow, "the block at %p is not aligned to %zu", block,
			       SHADOW_GRANULE);
	for (size_t at = 0; !why && at < bytes; at += SHADOW_GRANULE)
		why = take_one(shadow, (uintptr_t)block, bytes, at, stream_id, begin_ns, now);
	pthread_mutex_unlock(&shadow->lock);
	return why;
}

const char *shadow_give(struct shadow *shadow, const void *block, size_t bytes)
{
	size_t granules = (bytes + SHADOW_GRANULE - 1) / SHADOW_GRANULE;
	const char *why = NULL;

	pthread_mutex_lock(&shadow->lock);
	for (size_t at = 0; !why && at < bytes; at += SHADOW_GRANULE) {
		struct granule *granule = find(shadow, (uintptr_t)block + at);

		if (granule->live != granules)
			why = complain(shadow,
				       "the live block of %zu bytes at %p is not at its byte %zu",
				       bytes, block, at);
		granule->live = 0;
	}
	pthread_mutex_unlock(&shadow->lock);
	return why;
}

void shadow_use(struct shadow *shadow, const void *block, size_t bytes, uint64_t stream_id,
		uint64_t due_ns)
{
	pthread_mutex_lock(&shadow->lock);
	for (size_t at = 0; at < bytes; at += SHADOW_GRANULE) {
		struct granule *granule = find(shadow, (uintptr_t)block + at);

		granule->due_ns = due_ns;
		granule->stream_id = (uint32_t)stream_id;
	}
	pthread_mutex_unlock(&shadow->lock);
}

uint64_t shadow_reused(struct shadow *shadow)
{
	uint64_t reused;

	pthread_mutex_lock(&shadow->lock);
	reused = shadow->reused;
	pthread_mutex_unlock(&shadow->lock);
	return reused;
}

uint64_t shadow_ahead(struct shadow *shadow)
{
	uint64_t ahead;

	pthread_mutex_lock(&shadow->lock);
	ahead = shadow->ahead;
	pthread_mutex_unlock(&shadow->lock);
	return ahead;
}
