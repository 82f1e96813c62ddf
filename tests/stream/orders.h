/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orders.h - a pool of the GPU's memory (gpu.h) for schedules of host threads that use streams.
 *
 * The code of src/stream and of those files of src/pool that take the pool's lock is observed. In a
 * row, threads are listed in the order in which the fixed schedule runs them. A stream that is
 * listed in `gpu` has a thread by which its work is complete at two moments of the schedule.
 */
#ifndef TESTS_STREAM_ORDERS_H
#define TESTS_STREAM_ORDERS_H

#include <check.h>
#include <stdlib.h>

#include <mam/stats.h>

#include "device/port.h"
#include "gpu.h"
#include "pool/grow.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"
#include "stream/stream.h"
#include "wrong.h"

#define BLOCK ((size_t)8 << 10)
#define CHUNK (4 * BLOCK)
#define THREADS 3
#define MOMENTS 2

typedef void work(void *argument);

struct row {
	const char *name;
	work *works[THREADS];
	unsigned gpu; /* bits: streams */
	unsigned deviations;
	enum wrong wrong;
	unsigned chunks; /* of memory */
	bool held;       /* threads hold the first chunk at the start: orders.held */
	uint64_t frees;  /* count that each stream starts with */
	uint64_t swing;  /* bytes that each stream is expected to reuse */
};

/* The last two: memory leaves its stream at each free, at the second, or when it is needed. */
#define EARLY 0, 0
#define SECOND 8, 0
#define LATE 64, CHUNK

static struct orders {
	struct mam_pool *pool;
	struct CUstream_st *stream[2];
	void *held[4]; /* blocks: two that were allocated on each stream; NULL: freed */
	_Atomic(void *) passed;
	atomic_uint moments;
	const struct row *row;
	bool ended; /* the pool */
} orders;

static inline struct mam_streams *streams_of(void)
{
	return orders.pool->stream;
}

static inline void meet(struct CUstream_st *stream)
{
	const struct mam_stream_key key = { .stream = stream };
	struct mam_stream *made;

	if (mam_stream_meet(orders.pool, &key) != MAM_OK)
		abort();
	made = mam_stream_at(streams_of(), mam_stream_find_locked(streams_of(), &key));
	made->frees = made->leave_at = orders.row->frees;
	made->swing = orders.row->swing;
}

static inline void *get(size_t bytes, unsigned stream)
{
	void *block = NULL;

	MAM_KASSERT(mam_stream_alloc(orders.pool, bytes, orders.stream[stream], &block) == MAM_OK);
	gpu_got(block, bytes, orders.stream[stream]);
	return block;
}

static inline void put(void *block, size_t bytes, unsigned stream)
{
	gpu_use(block, bytes, orders.stream[stream]);
	gpu_gone(block, bytes);
	MAM_KASSERT(mam_stream_free(orders.pool, block, orders.stream[stream]) == MAM_OK);
}

static inline void put_held(unsigned which, unsigned stream)
{
	void *block = orders.held[which];

	orders.held[which] = NULL;
	put(block, BLOCK, stream);
}

static inline void orders_begin(const struct row *row)
{
	const struct mam_pool_config config = { .chunk_bytes = CHUNK,
						.growth_bytes = CHUNK,
						.free_policy = MAM_FREE_STREAM };
	struct mam_streams *streams;

	orders = (struct orders){ .row = row };
	wrong_now = NOTHING;
	gpu_begin(row->chunks * CHUNK);
	orders.pool = calloc(1, sizeof(*orders.pool));
	if (!orders.pool || mam_streams_attach(orders.pool, gpu_source()) != MAM_OK ||
	    mam_pool_init(orders.pool, gpu_source(), false, &config) != MAM_OK)
		abort();
	streams = streams_of();
	streams->fences.device.context = gpu_context();
	if (mam_driver_get(&streams->fences.device.driver) != MAM_OK)
		abort();
	streams->bound = true;
	for (unsigned i = 0; i < 2; i++) {
		orders.stream[i] = gpu_stream_new();
		meet(orders.stream[i]);
	}
	for (unsigned i = 0; i < 4 && row->held; i++)
		orders.held[i] = get(BLOCK, i / 2);
	wrong_now = row->wrong;
}

/* All memory comes back, and all events are destroyed. */
static inline const char *orders_end(void)
{
	struct mam_pool *pool = orders.pool;
	struct mam_streams *streams = pool->stream;
	struct mam_stats stats = { .size = sizeof(stats) };

	wrong_now = NOTHING;
	for (unsigned i = 0; i < 2; i++) {
		gpu_run(orders.stream[i]);
		gpu_run_former(orders.stream[i]);
	}
	for (unsigned i = 0; i < 4; i++)
		if (orders.held[i])
			put_held(i, i / 2);
	if (!orders.ended) {
		if (mam_pool_audit(pool, NULL, 0) != MAM_OK)
			return "the pool is not intact";
		(void)mam_grow_trim(pool, 0, NULL);
		if (mam_pool_count(pool, &stats) != MAM_OK || stats.live_blocks != 0 ||
		    stats.live_bytes != 0 || stats.allocs != stats.frees ||
		    stats.retired_blocks != 0)
			return "the counts are wrong";
		if (mam_pool_audit(pool, NULL, 0) != MAM_OK)
			return "the pool is not intact after a trim";
		if (gpu_bytes() != 0)
			return "memory did not come back";
		if (mam_pool_fini(pool) != MAM_OK)
			return "the pool cannot end";
	}
	if (gpu_bytes() != 0 || gpu_events() != 0)
		return "the pool left memory or events";
	mam_streams_detach(pool, streams);
	free(pool);
	return NULL;
}

/* Work of a stream is complete, at first only that of the one that has the handle now. */
static inline void run(void *argument)
{
	for (unsigned i = 0; i < MOMENTS; i++) {
		(void)atomic_fetch_add_explicit(&orders.moments, 1, memory_order_relaxed);
		gpu_run(argument);
		if (i != 0)
			gpu_run_former(argument);
	}
}

static inline bool orders_build(struct simt_world *world, void *argument)
{
	const struct row *row = argument;

	for (unsigned i = 0; i < THREADS; i++)
		if (row->works[i] &&
		    !simt_world_host(world, row->works[i], (void *)(uintptr_t)(i + 1)))
			return false;
	for (unsigned i = 0; i < 2; i++)
		if ((row->gpu >> i & 1) && !simt_world_host(world, run, orders.stream[i]))
			return false;
	return true;
}

/* Random schedules: `seeds` for each policy. */
static inline void orders_explore(struct row row, unsigned seeds, void (*begin)(void *),
				  const char *(*check)(void *))
{
	struct simt_case test = {
		.name = row.name,
		.build = orders_build,
		.argument = &row,
		.begin = begin,
		.check = check,
		.deviations = row.deviations,
		.seeds = seeds,
		.config = { .race = true, .stale = true, .atomics_only = true, .steps_max = 50000 }
	};

	if (row.wrong == NOTHING)
		simt_must_pass(&test);
	else
		simt_must_fail(&test, SIMT_FINE);
}

#endif
