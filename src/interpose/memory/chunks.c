/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.c - a source around libmam's "cudamalloc" source. It charges each chunk to the device's
 * account before it calls the driver, notifies the watchers and measures the time of the driver.
 *
 * With --source=vmm it is around a source that maps memory in pieces (mapped.h), and the same
 * happens for each piece; address ranges are not charged. A ledger records the pieces: mapped memory
 * belongs to no context, so it must be freed when the context of its pool ends. Marks of blocks in
 * a range end with the context, so watchers are not notified of pieces.
 *
 * At most once per second, growth also queries how much memory of the device is in use. This costs
 * 27 us, and shows how much memory contexts and modules take.
 *
 * The guard is up whenever a pool calls its source, so the driver's functions are the real ones.
 */
#include "interpose/memory/chunks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mam/options.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/kept.h"
#include "interpose/memory/mapped.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/table.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/watch.h"

struct chunks {
	struct mam_source source;
	/* lock: none, set at creation */
	struct mam_source *inner;
	void *context;
	int device;
	_Atomic size_t held;       /* atomic; bytes */
	atomic_uint next_free;     /* atomic; number of the next free since growth (free.c); 0: no
			        * growth */
	atomic_bool refused;       /* atomic; the driver or the limit refused a chunk */
	bool chooses_sizes;        /* lock: none, set at creation */
	struct mam_source_ops ops; /* lock: none, set at creation; of mapped memory */
};

/* By address; the context of an entry is its struct chunks. */
static struct mam_ledger pieces, ranges;
static _Atomic uint64_t piece_unit; /* atomic; pieces start at multiples of it; 0: there is none */

static struct cost {
	_Atomic uint64_t grows, grow_ns, shrinks, shrink_ns; /* atomic */
} costs_of[MAM_WATCH_DEVICES_MAX];

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

/* Charges the account; false: the limit would be exceeded. */
static bool charge(const struct chunks *chunks, size_t bytes)
{
	mam_kept_look(chunks->device);
	return mam_account_charge(chunks->device, MAM_ACCOUNT_CHUNK, bytes);
}

static struct cost *cost_of(const struct chunks *chunks)
{
	int device = chunks->device;

	return &costs_of[device < 0 || device >= MAM_WATCH_DEVICES_MAX ? 0 : device];
}

/* The driver was called for the charged bytes, and returned. */
static void called(struct chunks *chunks, size_t bytes, uint64_t start, enum mam_status status)
{
	struct cost *cost = cost_of(chunks);

	if (status != MAM_OK) {
		mam_account_refund(chunks->device, MAM_ACCOUNT_CHUNK, bytes);
		return;
	}
	mam_account_confirm(chunks->device, MAM_ACCOUNT_CHUNK);
	atomic_fetch_add_explicit(&cost->grow_ns, now() - start, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost->grows, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&chunks->held, bytes, memory_order_relaxed);
	atomic_store_explicit(&chunks->next_free, chunks->chooses_sizes, memory_order_relaxed);
}

/* The memory was returned to the driver. */
static void returned(struct chunks *chunks, size_t bytes, uint64_t start)
{
	struct cost *cost = cost_of(chunks);

	atomic_fetch_add_explicit(&cost->shrink_ns, now() - start, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost->shrinks, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&chunks->held, bytes, memory_order_relaxed);
	mam_account_refund(chunks->device, MAM_ACCOUNT_CHUNK, bytes);
}

static enum mam_status grow(struct mam_source *source, size_t bytes, void **base)
{
	struct chunks *chunks = (struct chunks *)source;
	enum mam_status status;
	uint64_t start;

	if (!charge(chunks, bytes)) {
		atomic_store_explicit(&chunks->refused, true, memory_order_relaxed);
		return MAM_ERROR_OUT_OF_MEMORY;
	}
	start = now();
	status = chunks->inner->ops->grow(chunks->inner, bytes, base);
	called(chunks, bytes, start, status);
	if (status != MAM_OK) {
		atomic_store_explicit(&chunks->refused, true, memory_order_relaxed);
		return status;
	}
	mam_watch_chunk(*base, bytes, chunks->context, true);
	look(chunks->device, now());
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
	returned(chunks, bytes, start);
	return MAM_OK;
}

/* There is no quiesce: free.c waits itself, so that it can return the driver's own code. */
static const struct mam_source_ops chunks_ops = {
	.size = sizeof(chunks_ops),
	.grow = grow,
	.shrink = shrink,
};

/* Returns false if there is no host memory. */
static bool record(struct mam_ledger *ledger, struct chunks *chunks, const void *base, size_t bytes)
{
	const struct mam_ledger_entry entry = { .key = (uintptr_t)base,
						.bytes = bytes,
						.context = chunks };
	struct mam_ledger_entry old;

	return mam_ledger_put(ledger, &entry, &old) &&
	       (old.key == 0 || mam_ledger_put(ledger, &entry, &old));
}

static void erase(struct mam_ledger *ledger, const void *base)
{
	struct mam_ledger_entry entry;

	mam_ledger_take(ledger, (uintptr_t)base, &entry);
}

static enum mam_status reserve(struct mam_source *source, size_t bytes, void **base)
{
	struct chunks *chunks = (struct chunks *)source;
	enum mam_status status = chunks->inner->ops->grow(chunks->inner, bytes, base);

	if (status == MAM_OK && !record(&ranges, chunks, *base, bytes)) {
		chunks->inner->ops->shrink(chunks->inner, *base, bytes);
		status = MAM_ERROR_OUT_OF_MEMORY;
	}
	return status;
}

static enum mam_status unreserve(struct mam_source *source, void *base, size_t bytes)
{
	struct chunks *chunks = (struct chunks *)source;
	enum mam_status status = chunks->inner->ops->shrink(chunks->inner, base, bytes);

	if (status == MAM_OK)
		erase(&ranges, base);
	return status;
}

static enum mam_status map(struct mam_source *source, void *base, size_t bytes)
{
	struct chunks *chunks = (struct chunks *)source;
	enum mam_status status;
	uint64_t start;

	if (!charge(chunks, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	start = now();
	status = chunks->inner->ops->map(chunks->inner, base, bytes);
	if (status == MAM_OK && !record(&pieces, chunks, base, bytes)) {
		chunks->inner->ops->unmap(chunks->inner, base, bytes);
		status = MAM_ERROR_OUT_OF_MEMORY;
	}
	called(chunks, bytes, start, status);
	if (status == MAM_OK)
		look(chunks->device, now());
	return status;
}

static enum mam_status unmap(struct mam_source *source, void *base, size_t bytes)
{
	struct chunks *chunks = (struct chunks *)source;
	uint64_t start = now();
	enum mam_status status = chunks->inner->ops->unmap(chunks->inner, base, bytes);

	if (status == MAM_OK) {
		erase(&pieces, base);
		returned(chunks, bytes, start);
	}
	return status;
}

/* If there is no host memory to record the new place, the piece is freed only with the process. */
static enum mam_status move(struct mam_source *source, void *from, size_t bytes, void *to,
			    bool *lost)
{
	struct chunks *chunks = (struct chunks *)source;
	uint64_t start = now();
	enum mam_status status = chunks->inner->ops->move(chunks->inner, from, bytes, to, lost);

	if (status == MAM_OK || *lost)
		erase(&pieces, from);
	if (status == MAM_OK)
		record(&pieces, chunks, to, bytes);
	if (*lost)
		returned(chunks, bytes, start);
	return status;
}

/* Before a piece of a block that was freed without a wait is unmapped. */
static enum mam_status quiesce(struct mam_source *source)
{
	struct mam_source *inner = ((struct chunks *)source)->inner;

	return inner->ops->quiesce(inner);
}

/*
 * Under the policies strict and deferred a block is free only when its work is done, so the pool
 * need not wait before it moves a piece.
 */
static void wrap_mapped(struct chunks *chunks)
{
	uint64_t unit = atomic_load_explicit(&piece_unit, memory_order_relaxed);

	chunks->ops = (struct mam_source_ops){
		.size = sizeof(chunks->ops),
		.grow = reserve,
		.shrink = unreserve,
		.quiesce = mam_init_policy() == MAM_INIT_STREAM ? quiesce : NULL,
		.map = map,
		.unmap = unmap,
		.move = move,
	};
	chunks->source.ops = &chunks->ops;
	chunks->chooses_sizes = false;
	if (unit == 0 || unit > chunks->source.properties.granularity)
		atomic_store_explicit(&piece_unit, chunks->source.properties.granularity,
				      memory_order_relaxed);
}

enum mam_status mam_chunks_create(void *context, int device, struct mam_source **source)
{
	struct chunks *chunks = calloc(1, sizeof(*chunks));
	enum mam_status status;
	bool is_mapped;

	if (chunks == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	is_mapped = mam_mapped_is_possible(device);
	status = is_mapped ? mam_mapped_create(device, &chunks->inner)
			   : mam_source_create("cudamalloc", device, &chunks->inner);
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
	if (is_mapped)
		wrap_mapped(chunks);
	*source = &chunks->source;
	return MAM_OK;
}

void mam_chunks_destroy(struct mam_source *source)
{
	struct chunks *chunks = (struct chunks *)source;

	mam_source_destroy(chunks->inner);
	free(chunks);
}

static void free_piece(const struct mam_ledger_entry *entry)
{
	struct mam_source *inner = ((struct chunks *)entry->context)->inner;

	inner->ops->unmap(inner, (void *)(uintptr_t)entry->key, entry->bytes);
}

static void free_range(const struct mam_ledger_entry *entry)
{
	struct mam_source *inner = ((struct chunks *)entry->context)->inner;

	inner->ops->shrink(inner, (void *)(uintptr_t)entry->key, entry->bytes);
}

/*
 * The source is not freed: a thread may be inside it, and destroying it would call the driver. No
 * thread is in map, unmap and move: the pool has ended.
 */
void mam_chunks_lose(struct mam_source *source)
{
	struct chunks *chunks = (struct chunks *)source;

	mam_ledger_take_context(&pieces, chunks, free_piece);
	mam_ledger_take_context(&ranges, chunks, free_range);
	mam_account_refund(chunks->device, MAM_ACCOUNT_CHUNK, atomic_exchange(&chunks->held, 0));
}

bool mam_chunks_piece(uint64_t range, uint64_t address, struct mam_chunks_piece *piece)
{
	uint64_t unit = atomic_load_explicit(&piece_unit, memory_order_relaxed);
	struct mam_ledger_entry entry;
	bool found = false;

	if (unit == 0)
		return false;
	for (uint64_t base = address / unit * unit; base >= range && !found; base -= unit)
		found = mam_ledger_find(&pieces, base, &entry);
	if (found)
		*piece = (struct mam_chunks_piece){ entry.key, entry.bytes };
	return found && address - entry.key < entry.bytes;
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

bool mam_chunks_is_refused(const struct mam_source *source)
{
	const struct chunks *chunks = (const struct chunks *)source;

	return atomic_load_explicit(&chunks->refused, memory_order_relaxed);
}

void mam_chunks_cost(int device, struct mam_chunks_costs *costs)
{
	memset(costs, 0, sizeof(*costs));
	for (int i = 0; i < MAM_WATCH_DEVICES_MAX; i++) {
		const struct cost *cost = &costs_of[i];

		if (device >= 0 && device != i)
			continue;
		costs->grows += atomic_load_explicit(&cost->grows, memory_order_relaxed);
		costs->grow_ns += atomic_load_explicit(&cost->grow_ns, memory_order_relaxed);
		costs->shrinks += atomic_load_explicit(&cost->shrinks, memory_order_relaxed);
		costs->shrink_ns += atomic_load_explicit(&cost->shrink_ns, memory_order_relaxed);
	}
	costs->in_pieces = atomic_load_explicit(&piece_unit, memory_order_relaxed) != 0;
}
