/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - chunks of addresses, with or without memory: for replay, for tests, and for machines
 * without a GPU.
 *
 * 1. An unbacked chunk is an inaccessible mapping: it uses addresses but no memory, so that a pool
 *    of 80 GB replays on a machine with 1 GB.
 * 2. If even that mapping fails (a limit on the address space), the chunk gets made-up addresses,
 *    which no mapping of any process can have. One counter serves all host sources, so no two
 *    chunks overlap.
 * 3. A backed chunk is ordinary zeroed memory.
 *
 * Invariant between calls: given_bytes is the sum of the pool's chunks and at most
 * properties.total_bytes.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "source/source.h"

#define DEFAULT_TOTAL ((size_t)80 << 30)
/* Smaller than that of any driver, so that tests can create chunks of a few blocks. */
#define GRANULARITY ((size_t)4096)
/* The CUDA driver's alignment of large allocations. */
#define ALIGNMENT ((size_t)2 << 20)

/*
 * Addresses that no 64-bit machine maps: they are outside the low and the high half of every paging
 * scheme.
 */
#define MADE_UP_FIRST ((uintptr_t)1 << 60)
#define MADE_UP_END ((uintptr_t)1 << 62)

_Static_assert(sizeof(void *) == 8, "made-up addresses need a 64-bit address space");

struct host_source {
	struct mam_source source;
	bool backed; /* lock: none, set at creation */
	struct mam_lock lock;
	size_t given_bytes; /* lock: lock */
};

/* First unused made-up address. atomic */
static _Atomic uintptr_t made_up_next = MADE_UP_FIRST;

static void *made_up_take(size_t bytes)
{
	uintptr_t base = atomic_load(&made_up_next);

	do {
		if (bytes > MADE_UP_END - ALIGNMENT - base)
			return NULL;
	} while (!atomic_compare_exchange_weak(&made_up_next, &base,
					       base + mam_round_up(bytes, ALIGNMENT)));
	return (void *)base;
}

/* Only the newest chunk's addresses are reused; there are enough addresses for the others. */
static void made_up_give(uintptr_t base, size_t bytes)
{
	uintptr_t end = base + mam_round_up(bytes, ALIGNMENT);

	atomic_compare_exchange_strong(&made_up_next, &end, base);
}

static bool is_made_up(const void *base)
{
	return (uintptr_t)base >= MADE_UP_FIRST;
}

/* A mapping aligned to ALIGNMENT: map more, unmap the excess at both ends. NULL: mmap failed. */
static void *map_aligned(size_t bytes, int protection)
{
	const size_t mapped = bytes + ALIGNMENT;
	uintptr_t start, base, end;
	void *area;

	if (mapped < bytes)
		return NULL;
	area = mmap(NULL, mapped, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	start = (uintptr_t)area;
	base = mam_round_up(start, ALIGNMENT);
	end = start + mapped;
	if (base > start)
		munmap(area, base - start);
	if (end > base + bytes)
		munmap((void *)(base + bytes), end - (base + bytes));
	return (void *)base;
}

static bool reserve(struct host_source *host, size_t bytes)
{
	bool fits;

	mam_lock_take(&host->lock);
	fits = bytes <= host->source.properties.total_bytes - host->given_bytes;
	if (fits)
		host->given_bytes += bytes;
	mam_lock_release(&host->lock);
	return fits;
}

static void unreserve(struct host_source *host, size_t bytes)
{
	mam_lock_take(&host->lock);
	host->given_bytes -= bytes;
	mam_lock_release(&host->lock);
}

static enum mam_status host_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct host_source *host = (struct host_source *)source;
	void *area;

	if (!reserve(host, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	area = map_aligned(bytes, host->backed ? PROT_READ | PROT_WRITE : PROT_NONE);
	if (!area && !host->backed)
		area = made_up_take(bytes);
	if (!area) {
		unreserve(host, bytes);
		return MAM_ERROR_OUT_OF_MEMORY;
	}
	*base = area;
	return MAM_OK;
}

static enum mam_status host_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct host_source *host = (struct host_source *)source;

	if (is_made_up(base))
		made_up_give((uintptr_t)base, bytes);
	else if (munmap(base, bytes) != 0)
		return MAM_ERROR_DRIVER; /* the kernel has no memory to split a mapping in two */
	unreserve(host, bytes);
	return MAM_OK;
}

static void host_destroy(struct mam_source *source)
{
	struct host_source *host = (struct host_source *)source;

	mam_lock_fini(&host->lock);
	free(host);
}

static const struct mam_source_ops host_ops = {
	.size = sizeof(host_ops),
	.grow = host_grow,
	.shrink = host_shrink,
	.quiesce = NULL,
	.destroy = host_destroy,
};

enum mam_status mam_source_host(size_t total_bytes, bool backed, struct mam_source **source)
{
	struct host_source *host;

	if (!source)
		return MAM_ERROR_INVALID_VALUE;
	host = calloc(1, sizeof(*host));
	if (!host)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	host->source.size = sizeof(host->source);
	host->source.ops = &host_ops;
	host->source.properties = (struct mam_source_properties){
		.name = "host",
		.granularity = GRANULARITY,
		.alignment = ALIGNMENT,
		.total_bytes = total_bytes ? total_bytes : DEFAULT_TOTAL,
		.device = -1,
		.survives_fork = true,
	};
	host->backed = backed;
	mam_lock_init(&host->lock, MAM_RANK_SOURCE, "host source");
	*source = &host->source;
	return MAM_OK;
}

enum mam_status mam_host_create(int device, struct mam_source **source)
{
	(void)device; /* all devices share the host */
	return mam_source_host(0, false, source);
}

bool mam_host_abandon(struct mam_source *source)
{
	if (source->ops != &host_ops)
		return false;
	host_destroy(source);
	return true;
}

bool mam_host_room(struct mam_source *source, size_t *bytes)
{
	struct host_source *host = (struct host_source *)source;

	if (source->ops != &host_ops)
		return false;
	mam_lock_take(&host->lock);
	*bytes = source->properties.total_bytes - host->given_bytes;
	mam_lock_release(&host->lock);
	return true;
}
