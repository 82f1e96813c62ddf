/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of gdb.sh: two pools on source host with known blocks, and with the argument "heap"
 * also heaps on the fake driver. gdb stops it at stop_here().
 */
#include <string.h>

#include <mam/heap.h>
#include <mam/pools.h>

struct mam_pool *first, *second, *ended, *of_heaps;
struct mam_heap *pages, *objects, *growing;

__attribute__((noinline)) void stop_here(void)
{
	__asm__ volatile("" : : : "memory");
}

static struct mam_pool *pool_new(const char *source, const char *name)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = source;
	attr.name = name;
	attr.chunk_bytes = 1 << 20;
	attr.limit_bytes = 32 << 20;
	attr.cache = MAM_CACHE_OFF;
	return mam_pool_create(&attr, &pool) == MAM_OK ? pool : NULL;
}

static struct mam_heap *heap_new(unsigned int kind, size_t max_bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap = NULL;

	attr.kind = kind;
	attr.bytes = 1 << 20;
	attr.page_bytes = kind == MAM_HEAP_PAGES ? 4096 : 0;
	attr.max_bytes = max_bytes;
	return mam_heap_create(of_heaps, &attr, &heap) == MAM_OK ? heap : NULL;
}

int main(int argc, char **argv)
{
	void *block[4];

	first = pool_new("host", "first");
	ended = pool_new("host", "ended");
	second = pool_new("host", "second");
	if (!first || !ended || !second || mam_pool_destroy(ended) != MAM_OK)
		return 1;
	for (int i = 0; i < 4; i++)
		if (mam_malloc(first, 1000 * ((size_t)i + 1), &block[i]) != MAM_OK)
			return 1;
	if (mam_free(first, block[1]) != MAM_OK ||
	    mam_pool_retire(first, block[2], NULL, NULL) != MAM_OK)
		return 1;
	if (argc > 1 && strcmp(argv[1], "heap") == 0) {
		of_heaps = pool_new("cudamalloc", "heaps");
		pages = heap_new(MAM_HEAP_PAGES, 0);
		objects = heap_new(MAM_HEAP_OBJECTS, 0);
		growing = heap_new(MAM_HEAP_OBJECTS, 16 << 20);
		if (!of_heaps || !pages || !objects || !growing)
			return 1;
	}
	stop_here();
	return 0;
}
