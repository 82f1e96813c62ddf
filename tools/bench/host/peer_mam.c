/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_mam.c - mam's pools as peers, through the public headers, as in any program.
 *
 * Two kinds of heap. A run that measures the pool's structure allocates all its memory at once, so
 * that no call to the source is timed. A growing one begins empty, as a program's does; pools on
 * sources for which a large allocation is slow (pinned, managed), or which map on demand (vmm),
 * always grow.
 */
#include <string.h>

#include <mam/mam.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "bench/bench.h"
#include "bench/harness/driver.h"

#define HOST_SPACE (80 * BENCH_GIB) /* addresses only */
#define MIN_SPACE (BENCH_GIB / 2)
/* Enough for workload random's 16,000 MiB live, and for 16 blocks of 1 GiB. */
#define MAX_SPACE (24 * BENCH_GIB)
#define HOST_MEMORY_MAX (4 * BENCH_GIB)

static bool takes_host_memory(const struct bench_peer *peer)
{
	return strcmp(peer->source, "pinned") == 0 || strcmp(peer->source, "managed") == 0;
}

static bool always_grows(const struct bench_peer *peer)
{
	return takes_host_memory(peer) || strcmp(peer->source, "vmm") == 0 ||
	       strcmp(peer->source, "simulated") == 0;
}

static enum mam_status make_pool(const struct bench_peer *peer, struct mam_pool **pool)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = peer->source;
	attr.device = peer->on_device ? 0 : MAM_DEVICE_CURRENT;
	if (peer->chunk_bytes > 0 || (!peer->growing && !always_grows(peer))) {
		attr.chunk_bytes = peer->chunk_bytes > 0 ? peer->chunk_bytes : peer->space_bytes;
		attr.growth_bytes = MAM_GROWTH_NONE;
	}
	attr.free_policy = (enum mam_free_policy)peer->variant;
	attr.cache = peer->cached ? MAM_CACHE_ON : MAM_CACHE_OFF;
	attr.name = "bench";
	return mam_pool_create(&attr, pool);
}

bool bench_mam_open(struct bench_peer *peer)
{
	struct mam_pool *pool = NULL;

	if (make_pool(peer, &pool) != MAM_OK)
		return false;
	peer->heap = pool;
	return true;
}

void bench_mam_close(struct bench_peer *peer)
{
	/* A run frees all its blocks; a pool that still has live blocks is a bug worth a line. */
	enum mam_status status = mam_pool_destroy(peer->heap);

	if (status != MAM_OK) {
		fprintf(stderr, "mam bench: %s: the pool could not be destroyed: %s\n", peer->name,
			mam_strerror(status));
		mam_pool_abandon(peer->heap);
	}
	peer->heap = NULL;
}

/* An abandoned pool on the host source leaks only an address range, of which there are plenty. */
void bench_mam_drop(struct bench_peer *peer)
{
	mam_pool_abandon(peer->heap);
	peer->heap = NULL;
	peer->dropped = true;
}

static size_t device_space(const struct bench_peer *peer)
{
	size_t bytes = bench_cuda_free_bytes() / 4 * 3 / BENCH_GIB * BENCH_GIB;
	size_t max = MAX_SPACE;

	if (takes_host_memory(peer)) {
		max = bench_run_memory() / 4;
		if (max > HOST_MEMORY_MAX)
			max = HOST_MEMORY_MAX;
	}
	if (bytes > max)
		bytes = max;
	return bytes > 0 ? bytes : MIN_SPACE;
}

bool bench_mam_probe(struct bench_peer *peer, char *why, size_t why_bytes)
{
	struct mam_pool *pool = NULL;
	enum mam_status status;
	void *block = NULL;

	peer->space_bytes = HOST_SPACE;
	if (peer->on_device) {
		if (!bench_cuda_probe(peer, why, why_bytes))
			return false;
		peer->space_bytes = device_space(peer);
	}
	status = make_pool(peer, &pool);
	if (status == MAM_OK) {
		status = mam_malloc(pool, 1, &block);
		if (status == MAM_OK)
			status = mam_free(pool, block);
		peer->heap = pool;
		bench_mam_close(peer);
	}
	if (status == MAM_OK)
		return true;
	snprintf(why, why_bytes, "its pool could not be made: %s", mam_strerror(status));
	return false;
}

void *bench_mam_alloc(struct bench_peer *peer, size_t bytes)
{
	void *block = NULL;

	mam_malloc(peer->heap, bytes, &block);
	return block;
}

void bench_mam_release(struct bench_peer *peer, void *block, size_t bytes)
{
	(void)bytes;
	mam_free(peer->heap, block);
}

void *bench_mam_alloc_on(struct bench_peer *peer, size_t bytes, size_t which)
{
	void *block = NULL;

	mam_malloc_async(peer->heap, bytes, bench_driver_stream(which), &block);
	return block;
}

void bench_mam_release_on(struct bench_peer *peer, void *block, size_t bytes, size_t which)
{
	(void)bytes;
	mam_free_async(peer->heap, block, bench_driver_stream(which));
}

bool bench_mam_trim(struct bench_peer *peer)
{
	return mam_pool_trim(peer->heap, 0, NULL) == MAM_OK;
}

/* Sources that provide addresses and memory together may leave the physical fields at 0. */
bool bench_mam_gauge(struct bench_peer *peer, struct bench_gauge *gauge)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (mam_pool_stats(peer->heap, &stats) != MAM_OK)
		return false;
	*gauge = (struct bench_gauge){
		.reserved = (double)stats.reserved_bytes,
		.peak_reserved = (double)stats.peak_reserved_bytes,
		.high_water = (double)stats.high_water_bytes,
		.physical = (double)stats.physical_bytes,
		.peak_physical = (double)stats.peak_physical_bytes,
		.driver_ms = (double)stats.driver_ns / 1e6,
		.remaps = (double)stats.remaps,
	};
	if (gauge->peak_physical <= 0) {
		gauge->physical = gauge->reserved;
		gauge->peak_physical = gauge->peak_reserved;
	}
	return true;
}

bool bench_mam_metadata(const struct bench_peer *peer, double *segments, double *bytes)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	if (!peer->is_mam || mam_pool_stats(peer->heap, &stats) != MAM_OK || stats.segments == 0)
		return false;
	*segments = (double)stats.segments;
	*bytes = (double)stats.host_bytes;
	return true;
}
