/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_allocators.c - the page allocators, in the order of columns: mam's own, the published ones,
 * CUDA's own malloc, the queue, which represents allocators that keep free pages in one structure,
 * and bare counters, which hand out each page once and are a lower bound on time.
 */
#include <string.h>

#include "heap/pages/layout.h"
#include "bench/papers/walk/bump.h"
#include "bench/papers/walk/bumpw.h"
#include "bench/papers/walk/corw.h"
#include "bench/papers/walk/crw.h"
#include "bench/papers/walk/queue.h"
#include "bench/papers/walk/rw.h"
#include "bench/papers/walk/rwbm.h"
#include "bench/papers/walk/rwmalloc.h"
#include "pages_bench.h"

/*
 * The share of free pages, per mille, below which a heap may count as full. Ours then searches it
 * page by page. The published ones give up, which as published they never do; so they search as
 * long as their formula allows.
 */
#define LOW_OURS 5
#define LOW_PUBLISHED 1

static uint64_t mam_bytes(uint32_t pages)
{
	return mam_pages_bytes(pages);
}

static void mam_format(void *heap, uint32_t pages)
{
	mam_pages_format(heap, pages, LOW_OURS);
}

#define PUBLISHED(name)                                          \
	static uint64_t name##_bytes(uint32_t pages)             \
	{                                                        \
		return mam_##name##_bytes(pages);                \
	}                                                        \
	static void name##_format(void *heap, uint32_t pages)    \
	{                                                        \
		mam_##name##_format(heap, pages, LOW_PUBLISHED); \
	}

PUBLISHED(rw)
PUBLISHED(rwbm)
PUBLISHED(crw)
PUBLISHED(corw)
PUBLISHED(rwmalloc)
PUBLISHED(queue)
PUBLISHED(bump)
PUBLISHED(bumpw)

#define ROW(name, kernel, role, metadata, one, runs)                                   \
	{                                                                              \
		name, #kernel, role, metadata, one, runs, sizeof(struct mam_##kernel), \
			kernel##_bytes, kernel##_format                                \
	}

#define mam_mam mam_pages
const struct pages_allocator pages_allocators[] = {
	ROW("mam-pages", mam, PAGES_OURS, PAGES_BITS, true, true),
	ROW("rw", rw, PAGES_PUBLISHED, PAGES_FLAGS, true, false),
	ROW("rw-bm", rwbm, PAGES_PUBLISHED, PAGES_PAIRS, true, false),
	ROW("crw", crw, PAGES_PUBLISHED, PAGES_PAIRS, true, false),
	ROW("corw", corw, PAGES_PUBLISHED, PAGES_PAIRS, true, false),
	ROW("rw-malloc", rwmalloc, PAGES_PUBLISHED, PAGES_BITS, false, true),
	ROW("queue", queue, PAGES_PROXY, PAGES_QUEUE, true, false),
	{ "cuda-malloc", "cuda", PAGES_SYSTEM, PAGES_ADDRESS, true, true, 0, NULL, NULL },
	ROW("bump", bump, PAGES_CEILING, PAGES_COUNTER, true, false),
	ROW("bumpw", bumpw, PAGES_CEILING, PAGES_COUNTER, true, false),
};

const size_t pages_allocator_count = sizeof(pages_allocators) / sizeof(pages_allocators[0]);

const struct pages_allocator *pages_allocator_find(const char *name)
{
	size_t i;

	for (i = 0; i < pages_allocator_count; i++) {
		if (strcmp(pages_allocators[i].name, name) == 0)
			return &pages_allocators[i];
	}
	return NULL;
}
