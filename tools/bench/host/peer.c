/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - the allocators that `mam bench` can measure: one table, with one row each.
 *
 * glibc's malloc is built in; jemalloc and mimalloc are loaded at run time and optional.
 * peer_mam.c has the functions of mam's rows, peer_cuda.c those of CUDA's. Every peer is called
 * through the same function pointers, so that the bench's call overhead is the same for all.
 *
 * A mam pool has two rows: with `-cache` in its name threads cache freed blocks, which is a
 * program's default; without, every call reaches the pool. The cost of the pool's own structure
 * (fragmented, live, size) is measured without.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include <string.h>

#include <mam/mam.h>

#include "bench/bench.h"

#define HOST_SPACE (80 * BENCH_GIB) /* addresses only */

/* ---- the C library ---- */

static bool libc_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	(void)why;
	(void)why_bytes;
	peer->space_bytes = HOST_SPACE;
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
	malloc_trim(0); /* so that a run does not start with another's leftovers */
#endif
}

static void *libc_alloc(struct bench_peer *peer, size_t bytes)
{
	(void)peer;
	return malloc(bytes);
}

static void libc_release(struct bench_peer *peer, void *block, size_t bytes)
{
	(void)peer;
	(void)bytes;
	free(block);
}

/* ---- malloc libraries loaded at run time ---- */

struct malloc_library {
	const char *file;
	const char *alloc_name, *release_name;
	void *(*alloc)(size_t bytes);
	void (*release)(void *block);
};

static struct malloc_library malloc_libraries[] = {
	{ "libjemalloc.so.2", "malloc", "free", NULL, NULL },
	{ "libmimalloc.so.2", "mi_malloc", "mi_free", NULL, NULL },
};

static bool malloc_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	struct malloc_library *library = &malloc_libraries[peer->variant];
	void *handle;

	/*
	 * If C++'s library were first loaded as a dependency of jemalloc, it would use jemalloc's
	 * operator new, and C++ peers (peer_library.h) would free blocks there that it did not
	 * allocate.
	 */
	dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	peer->space_bytes = HOST_SPACE;
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

static void malloc_close(struct bench_peer *peer)
{
	(void)peer;
}

static void *malloc_alloc(struct bench_peer *peer, size_t bytes)
{
	return malloc_libraries[peer->variant].alloc(bytes);
}

static void malloc_release(struct bench_peer *peer, void *block, size_t bytes)
{
	(void)bytes;
	malloc_libraries[peer->variant].release(block);
}

/* ---- the table ---- */

#define CACHED_ONLY                                                                         \
	"pair,threads,foreign,random,training,footprint,stream,replay,latency,fill,policy," \
	"smallest,"                                                                         \
	"multistream,ownstream,handover"
/* The driver takes half a second per gibibyte of this memory. */
#define HOST_MEMORY .only = "pair,size,footprint,latency,policy", .max_bytes = 16 * BENCH_MIB

/* Making it takes half a second: it allocates and frees half of the device's memory. */
#define PRIMED_ONLY "random,training"

/*
 * RMM's pool has its free blocks in one list: 100,000 free blocks between live ones take minutes.
 */
#define LIST_FREE_BLOCKS 10000

#define MAM_CALLS                                                                         \
	.is_mam = true, .probe = bench_mam_probe, .open = bench_mam_open,                 \
	.close = bench_mam_close, .alloc = bench_mam_alloc, .release = bench_mam_release, \
	.trim = bench_mam_trim, .gauge = bench_mam_gauge, .block_memory = 128
#define MAM_DEVICE                                                                              \
	MAM_CALLS, .on_device = true, .alloc_on = bench_mam_alloc_on,                           \
		   .release_on = bench_mam_release_on, .enter_thread = bench_cuda_enter_thread, \
		   .max_blocks = 1100000
#define MALLOC_CALLS                                                                            \
	.probe = malloc_probe, .open = libc_open, .close = malloc_close, .alloc = malloc_alloc, \
	.release = malloc_release, .block_memory = 32
#define LIBRARY_CALLS                                                                \
	.on_device = true, .probe = bench_library_probe, .open = bench_library_open, \
	.close = bench_library_close, .alloc = bench_library_alloc,                  \
	.release = bench_library_release, .gauge = bench_library_gauge,              \
	.finish = bench_cuda_finish, .enter_thread = bench_cuda_enter_thread,        \
	.max_blocks = 1100000, .block_memory = 256
#define RMM_CALLS                                                                 \
	LIBRARY_CALLS, .source = "BENCH_RMM", .alloc_on = bench_library_alloc_on, \
		       .release_on = bench_library_release_on
#define CUDA_CALLS                                                             \
	.on_device = true, .open = bench_cuda_open, .close = bench_cuda_close, \
	.enter_thread = bench_cuda_enter_thread, .block_memory = 256
#define ASYNC_CALLS                                                                        \
	.on_device = true, .probe = bench_cuda_probe_async, .open = bench_cuda_open_async, \
	.close = bench_cuda_close_async, .alloc = bench_cuda_alloc_async,                  \
	.release = bench_cuda_release_async, .alloc_on = bench_cuda_alloc_on,              \
	.release_on = bench_cuda_release_on, .trim = bench_cuda_trim_async,                \
	.gauge = bench_cuda_gauge_async, .finish = bench_cuda_finish,                      \
	.enter_thread = bench_cuda_enter_thread, .max_blocks = 1100000, .block_memory = 256

struct bench_peer bench_peers[] = {
	{ .name = "mam-host",
	  .bounded = true,
	  MAM_CALLS,
	  .source = "host",
	  .drop = bench_mam_drop,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-host-cache",
	  .bounded = true,
	  MAM_CALLS,
	  .source = "host",
	  .cached = true,
	  .only = CACHED_ONLY,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-simulated",
	  MAM_CALLS,
	  .source = "simulated",
	  .only = CACHED_ONLY,
	  .drop = bench_mam_drop,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-simulated-cache",
	  MAM_CALLS,
	  .source = "simulated",
	  .cached = true,
	  .only = CACHED_ONLY,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-cudamalloc",
	  .bounded = true,
	  MAM_DEVICE,
	  .source = "cudamalloc",
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-cudamalloc-cache",
	  MAM_DEVICE,
	  .source = "cudamalloc",
	  .cached = true,
	  .only = CACHED_ONLY,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-cudamalloc-strict",
	  MAM_DEVICE,
	  .source = "cudamalloc",
	  .only = "pair,size,fragmented,threads",
	  .variant = MAM_FREE_STRICT },
	{ .name = "mam-vmm",
	  MAM_DEVICE,
	  .source = "vmm",
	  .only = CACHED_ONLY ",size,fragmented,create",
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-vmm-cache",
	  MAM_DEVICE,
	  .source = "vmm",
	  .cached = true,
	  .only = CACHED_ONLY,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-pinned",
	  MAM_DEVICE,
	  .source = "pinned",
	  .cached = true,
	  HOST_MEMORY,
	  .variant = MAM_FREE_STREAM },
	{ .name = "mam-managed",
	  MAM_DEVICE,
	  .source = "managed",
	  .cached = true,
	  HOST_MEMORY,
	  .variant = MAM_FREE_STREAM },
	{ .name = "glibc",
	  .probe = libc_probe,
	  .open = libc_open,
	  .close = libc_close,
	  .alloc = libc_alloc,
	  .release = libc_release,
	  .block_memory = 32 },
	{ .name = "jemalloc", MALLOC_CALLS, .variant = 0 },
	{ .name = "mimalloc", MALLOC_CALLS, .variant = 1 },
	{ .name = "cudaMalloc",
	  CUDA_CALLS,
	  .probe = bench_cuda_probe,
	  .alloc = bench_cuda_alloc,
	  .release = bench_cuda_release,
	  .max_blocks = 110000 },
	{ .name = "cudaMallocAsync", ASYNC_CALLS, .variant = 0 },
	{ .name = "cudaMallocAsync-warm", ASYNC_CALLS, .variant = 1 },
	{ .name = "cudaMallocAsync-primed", ASYNC_CALLS, .only = PRIMED_ONLY, .variant = 2 },
	{ .name = "cudaHostAlloc",
	  CUDA_CALLS,
	  .probe = bench_cuda_probe_pinned,
	  .alloc = bench_cuda_alloc_pinned,
	  .release = bench_cuda_release_pinned,
	  HOST_MEMORY },
	{ .name = "cudaMallocManaged",
	  CUDA_CALLS,
	  .probe = bench_cuda_probe_managed,
	  .alloc = bench_cuda_alloc_managed,
	  .release = bench_cuda_release,
	  HOST_MEMORY },
	{ .name = "rmm-pool",
	  RMM_CALLS,
	  .bounded = true,
	  .max_free_blocks = LIST_FREE_BLOCKS,
	  .variant = 0 },
	{ .name = "rmm-pool-grow", RMM_CALLS, .only = "training,footprint", .variant = 1 },
	{ .name = "rmm-arena", RMM_CALLS, .bounded = true, .variant = 2 },
	{ .name = "rmm-binning", RMM_CALLS, .max_free_blocks = 100000, .variant = 3 },
	{ .name = "torch",
	  LIBRARY_CALLS,
	  .trim = bench_library_trim,
	  .source = "BENCH_TORCH",
	  .variant = 0 },
	{ .name = "torch-expandable",
	  LIBRARY_CALLS,
	  .trim = bench_library_trim,
	  .source = "BENCH_TORCH",
	  .variant = 1 },
	{ .name = "torch-async",
	  LIBRARY_CALLS,
	  .trim = bench_library_trim,
	  .source = "BENCH_TORCH",
	  .variant = 2 },
	{ .name = "cuMemMap", CUDA_CALLS, .probe = bench_cuda_probe, .only = "vmm" },
};

const size_t bench_peer_count = sizeof(bench_peers) / sizeof(bench_peers[0]);

_Static_assert(sizeof(bench_peers) / sizeof(bench_peers[0]) <= BENCH_PEERS_MAX,
	       "raise BENCH_PEERS_MAX");
