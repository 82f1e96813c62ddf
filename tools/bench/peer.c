/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - the allocators that `mam bench` can measure: one table, a row each.
 *
 * mam's pools go through the public mam.h, as any program would. glibc's malloc is the process's
 * own; jemalloc and mimalloc are looked for at run time and not needed. The CUDA rows are in
 * peer_cuda.c. Every peer is called through the same two function pointers, so that what a call
 * costs the bench is the same for all.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include <mam/mam.h>
#include <mam/stats.h>

#include "bench.h"

#define HOST_GROUND (80 * BENCH_GIB) /* addresses only */
#define LEAST_GROUND (BENCH_GIB / 2)
#define MOST_GROUND \
	(24 *       \
	 BENCH_GIB) /* enough for workload random's 16,000 MiB live, and for 16 blocks of 1 GiB */

/* ---- mam ---- */

static bool mam_open_bytes(struct bench_peer *peer, size_t chunk_bytes, enum mam_status *status)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = peer->on_device ? "cudamalloc" : "host";
	attr.device = peer->on_device ? 0 : MAM_DEVICE_CURRENT;
	attr.chunk_bytes = chunk_bytes;
	attr.growth_bytes = MAM_GROWTH_NONE;
	attr.free_policy = (enum mam_free_policy)peer->variant;
	attr.name = "bench";
	*status = mam_pool_create(&attr, &pool);
	peer->heap = pool;
	return *status == MAM_OK;
}

static bool mam_open(struct bench_peer *peer)
{
	enum mam_status status;

	return mam_open_bytes(peer, peer->ground_bytes, &status);
}

static void mam_close(struct bench_peer *peer)
{
	/* A run gives back all it took; a pool that still has live blocks is a fault worth a
	 * line. */
	enum mam_status status = mam_pool_destroy(peer->heap);

	if (status != MAM_OK) {
		fprintf(stderr, "mam bench: %s: the pool could not be destroyed: %s\n", peer->name,
			mam_strerror(status));
		mam_pool_abandon(peer->heap);
	}
	peer->heap = NULL;
}

/* What an abandoned pool leaves behind of the host source is a range of addresses, of which there
 * are plenty. */
static void mam_drop(struct bench_peer *peer)
{
	mam_pool_abandon(peer->heap);
	peer->heap = NULL;
	peer->dropped = true;
}

static bool mam_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	enum mam_status status;

	peer->ground_bytes = HOST_GROUND;
	if (peer->on_device) {
		if (!bench_cuda_probe(peer, why, why_bytes))
			return false;
		peer->ground_bytes = bench_cuda_free_bytes() / 4 * 3 / BENCH_GIB * BENCH_GIB;
		if (peer->ground_bytes > MOST_GROUND)
			peer->ground_bytes = MOST_GROUND;
		if (peer->ground_bytes == 0)
			peer->ground_bytes = LEAST_GROUND;
	}
	if (!mam_open_bytes(peer, peer->ground_bytes, &status)) {
		snprintf(why, why_bytes, "no pool of %zu MiB: %s", peer->ground_bytes / BENCH_MIB,
			 mam_strerror(status));
		return false;
	}
	mam_close(peer);
	return true;
}

static void *mam_peer_alloc(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;

	mam_malloc(peer->heap, bytes, &block);
	return block;
}

static void mam_peer_release(struct bench_peer *peer, void *block)
{
	mam_free(peer->heap, block);
}

bool bench_peer_books(const struct bench_peer *peer, double *segments, double *bytes)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (!peer->is_mam || mam_pool_stats(peer->heap, &stats) != MAM_OK || stats.segments == 0)
		return false;
	*segments = (double)stats.segments;
	*bytes = (double)stats.host_bytes;
	return true;
}

/* ---- the C library ---- */

static bool libc_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	(void)why;
	(void)why_bytes;
	peer->ground_bytes = HOST_GROUND;
	return true;
}

static bool libc_open(struct bench_peer *peer)
{
	(void)peer;
	return true;
}

static void libc_close(struct bench_peer *peer)
{
	(void)peer;
#ifdef __GLIBC__
	malloc_trim(0); /* so that a run does not start on what another left */
#endif
}

static void *libc_alloc(struct bench_peer *peer, size_t bytes)
{
	(void)peer;
	return malloc(bytes);
}

static void libc_release(struct bench_peer *peer, void *block)
{
	(void)peer;
	free(block);
}

/* ---- malloc libraries found at run time ---- */

struct library {
	const char *file;
	const char *alloc_name, *release_name;
	void *(*alloc)(size_t bytes);
	void (*release)(void *block);
};

static struct library libraries[] = {
	{ "libjemalloc.so.2", "malloc", "free", NULL, NULL },
	{ "libmimalloc.so.2", "mi_malloc", "mi_free", NULL, NULL },
};

static bool library_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	struct library *library = &libraries[peer->variant];
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	peer->ground_bytes = HOST_GROUND;
	if (handle == NULL) {
		const char *text = dlerror();

		snprintf(why, why_bytes, "%s", text != NULL ? text : "its library did not load");
		return false;
	}
	*(void **)&library->alloc = dlsym(handle, library->alloc_name);
	*(void **)&library->release = dlsym(handle, library->release_name);
	if (library->alloc == NULL || library->release == NULL) {
		snprintf(why, why_bytes, "%s has no %s", library->file, library->alloc_name);
		dlclose(handle);
		return false;
	}
	return true;
}

static void library_close(struct bench_peer *peer)
{
	(void)peer;
}

static void *library_alloc(struct bench_peer *peer, size_t bytes)
{
	return libraries[peer->variant].alloc(bytes);
}

static void library_release(struct bench_peer *peer, void *block)
{
	libraries[peer->variant].release(block);
}

/* ---- the table ---- */

#define MAM_CALLS                                                                 \
	.is_mam = true, .probe = mam_probe, .open = mam_open, .close = mam_close, \
	.alloc = mam_peer_alloc, .release = mam_peer_release, .block_memory = 128
#define LIBRARY_CALLS                                                                              \
	.probe = library_probe, .open = libc_open, .close = library_close, .alloc = library_alloc, \
	.release = library_release, .block_memory = 32
#define ASYNC_CALLS                                                                        \
	.on_device = true, .probe = bench_cuda_probe_async, .open = bench_cuda_open_async, \
	.close = bench_cuda_close, .alloc = bench_cuda_alloc_async,                        \
	.release = bench_cuda_release_async, .settle = bench_cuda_settle,                  \
	.enter_thread = bench_cuda_enter_thread, .most_blocks = 1100000, .block_memory = 256

struct bench_peer bench_peers[] = {
	{ .name = "mam-host", MAM_CALLS, .drop = mam_drop, .variant = MAM_FREE_STREAM },
	{ .name = "mam-cudamalloc",
	  MAM_CALLS,
	  .variant = MAM_FREE_STREAM,
	  .on_device = true,
	  .most_blocks = 1100000 },
	{ .name = "mam-cudamalloc-strict",
	  MAM_CALLS,
	  .variant = MAM_FREE_STRICT,
	  .on_device = true,
	  .most_blocks = 1100000 },
	{ .name = "glibc",
	  .probe = libc_probe,
	  .open = libc_open,
	  .close = libc_close,
	  .alloc = libc_alloc,
	  .release = libc_release,
	  .block_memory = 32 },
	{ .name = "jemalloc", LIBRARY_CALLS, .variant = 0 },
	{ .name = "mimalloc", LIBRARY_CALLS, .variant = 1 },
	{ .name = "cudaMalloc",
	  .on_device = true,
	  .probe = bench_cuda_probe,
	  .open = bench_cuda_open,
	  .close = bench_cuda_close,
	  .alloc = bench_cuda_alloc,
	  .release = bench_cuda_release,
	  .enter_thread = bench_cuda_enter_thread,
	  .most_blocks = 110000,
	  .block_memory = 256 },
	{ .name = "cudaMallocAsync", ASYNC_CALLS, .variant = 0 },
	{ .name = "cudaMallocAsync-warm", ASYNC_CALLS, .variant = 1 },
};

const size_t bench_peer_count = sizeof(bench_peers) / sizeof(bench_peers[0]);

_Static_assert(sizeof(bench_peers) / sizeof(bench_peers[0]) <= BENCH_PEERS_MAX,
	       "raise BENCH_PEERS_MAX");
