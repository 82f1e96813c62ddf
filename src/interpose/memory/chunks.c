/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.c - a source around libmam's "cudamalloc" source. It charges each chunk to the device's
 * account before it calls the driver, notifies the watchers and measures the time of the driver.
 *
 * At most once per second, growth also queries how much memory of the device is in use. This costs
 * 27 us, and shows how much memory contexts and modules take.
 *
 * The guard is up whenever a pool calls its source, so the driver's functions are the real ones.
 */
#include "interpose/memory/chunks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <mam/options.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/kept.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

struct chunks {
	struct mam_source source;
	/* lock: none, set at creation */
	struct mam_source *inner;
	void *context;
	int device;
	_Atomic size_t held;   /* atomic; bytes */
	atomic_uint next_free; /* atomic; number of the next free since growth (free.c); 0: no
			        * growth */
	bool chooses_sizes;    /* lock: none, set at creation */
};

static _Atomic uint64_t grows, grow_ns, shrinks, shrink_ns; /* atomic */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#define LOOK_EVERY UINT64_C(1000000000) /* ns */

static void look(int device, uint64_t time)
{
	static _Atomic uint64_t due; /* atomic; ns */
	uint64_t then = atomic_load_explicit(&due, memory_order_relaxed);
	__typeof__(&cuMemGetInfo_v2) ask;
	size_t free_bytes, total_bytes;

	if (time < then || mam_capture_alive() ||
	    !atomic_compare_exchange_strong(&due, &then, time + LOOK_EVERY))
		return;
	ask = MAM_TABLE_ORIGINAL(cuMemGetInfo_v2);
	if (ask != NULL && ask(&free_bytes, &total_bytes) == MAM_CUDA_SUCCESS)
		mam_account_look(device, total_bytes, free_bytes);
}

static enum mam_status grow(struct mam_source *source, size_t bytes, void **base)
{
	struct chunks *chunks = (struct chunks *)source;
	enum mam_status status;
	uint64_t start, end;

	mam_kept_look(chunks->device);
	if (!mam_account_charge(chunks->device, MAM_ACCOUNT_CHUNK, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	start = now();
	status = chunks->inner->ops->grow(chunks->inner, bytes, base);
	if (status != MAM_OK) {
		mam_account_refund(chunks->device, MAM_ACCOUNT_CHUNK, bytes);
		return status;
	}
	mam_account_confirm(chunks->device, MAM_ACCOUNT_CHUNK);
	end = now();
	atomic_fetch_add_explicit(&grow_ns, end - start, memory_order_relaxed);
	atomic_fetch_add_explicit(&grows, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&chunks->held, bytes, memory_order_relaxed);
	atomic_store_explicit(&chunks->next_free, chunks->chooses_sizes, memory_order_relaxed);
	mam_watch_chunk(*base, bytes, chunks->context, true);
	look(chunks->device, end);
	return MAM_OK;
}

static enum mam_status shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct chunks *chunks = (struct chunks *)source;
	enum mam_status status;
	uint64_t start;

	mam_watch_chunk(base, bytes, chunks->context, false);
	start = now();
	status = chunks->inner->ops->shrink(chunks->inner, base, bytes);
	if (status != MAM_OK) {
		mam_watch_chunk(base, bytes, chunks->context, true);
		return status;
	}
	atomic_fetch_add_explicit(&shrink_ns, now() - start, memory_order_relaxed);
	atomic_fetch_add_explicit(&shrinks, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&chunks->held, bytes, memory_order_relaxed);
	mam_account_refund(chunks->device, MAM_ACCOUNT_CHUNK, bytes);
	return MAM_OK;
}

/* There is no quiesce: free.c waits itself, so that it can return the driver's own code. */
static const struct mam_source_ops chunks_ops = {
	.size = sizeof(chunks_ops),
	.grow = grow,
	.shrink = shrink,
};

enum mam_status mam_chunks_create(void *context, int device, struct mam_source **source)
{
	struct chunks *chunks = calloc(1, sizeof(*chunks));
	enum mam_status status;

	if (chunks == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_source_create("cudamalloc", device, &chunks->inner);
	if (status != MAM_OK) {
		free(chunks);
		return status;
	}
	chunks->source.size = sizeof(chunks->source);
	chunks->source.ops = &chunks_ops;
	chunks->source.properties = chunks->inner->properties;
	chunks->context = context;
	chunks->device = device;
	chunks->chooses_sizes =
		mam_option_number("MAM_CHUNK") == 0 && mam_option_number("MAM_GROWTH") == 0;
	*source = &chunks->source;
	return MAM_OK;
}

void mam_chunks_destroy(struct mam_source *source)
{
	struct chunks *chunks = (struct chunks *)source;

	mam_source_destroy(chunks->inner);
	free(chunks);
}

/* The source is not freed: a thread may be inside it, and destroying it would call the driver. */
void mam_chunks_lose(struct mam_source *source)
{
	struct chunks *chunks = (struct chunks *)source;

	mam_account_refund(chunks->device, MAM_ACCOUNT_CHUNK, atomic_exchange(&chunks->held, 0));
}

unsigned int mam_chunks_count_free(struct mam_source *source)
{
	struct chunks *chunks = (struct chunks *)source;

	if (atomic_load_explicit(&chunks->next_free, memory_order_relaxed) == 0)
		return 0;
	return atomic_fetch_add_explicit(&chunks->next_free, 1, memory_order_relaxed);
}

void mam_chunks_forget_growth(struct mam_source *source)
{
	atomic_store_explicit(&((struct chunks *)source)->next_free, 0, memory_order_relaxed);
}

size_t mam_chunks_held(const struct mam_source *source)
{
	const struct chunks *chunks = (const struct chunks *)source;

	return atomic_load_explicit(&chunks->held, memory_order_relaxed);
}

void mam_chunks_cost(struct mam_chunks_costs *costs)
{
	costs->grows = atomic_load_explicit(&grows, memory_order_relaxed);
	costs->grow_ns = atomic_load_explicit(&grow_ns, memory_order_relaxed);
	costs->shrinks = atomic_load_explicit(&shrinks, memory_order_relaxed);
	costs->shrink_ns = atomic_load_explicit(&shrink_ns, memory_order_relaxed);
}
