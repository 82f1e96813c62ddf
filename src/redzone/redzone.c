/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redzone.c - implements redzone.h: records of blocks, the quarantine, reports.
 *
 *  1. An allocation takes a larger block from the pool, fills both red zones in a stream, and does
 *     not wait: in the request's stream, or in one apart (check.h). Its record enters a tree.
 *  2. A free fills the caller's bytes with the same pattern, after all work that may use them. The
 *     record is queued as FREED. From now on all of the block must keep the pattern.
 *  3. Once BATCH_FREES blocks are queued, one launch checks their red zones. They are then HELD: in
 *     quarantine. If that has more than HELD_MAX bytes, the same launch checks all bytes of the
 *     oldest blocks in it, which are LEAVING.
 *  4. Any later call that finds the launch done reports damage, and returns the blocks that have
 *     left to the pool. There is one launch at a time; blocks that are freed meanwhile join the next.
 *  5. Before the pool is out of memory, and by trim and destroy, the quarantine is emptied, with a
 *     wait. At exit the red zones of live blocks are checked, too, after all work: for EXIT_WAIT_NS at
 *     most, as a kernel may run forever.
 *
 * After all damage that a launch found is reported, the process aborts: memory that was overwritten
 * may belong to anything, and a test must not pass.
 *
 * A write by a kernel that runs before the red zones are filled is not detected: only fills in the
 * request's stream are ordered with the program's work. Reads are not detected either, nor writes
 * that jump over the red zones into another live block.
 *
 * Invariants while `lock` is free: there is a record for each block that a caller has and each that
 * is in a queue; LEAVING blocks and ranges exist only while a launch is in flight.
 */
#define _GNU_SOURCE /* secure_getenv, syscall */
#include "redzone/redzone.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mam/tag_paths.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/option.h"
#include "pool/batch.h"
#include "pool/pool.h"
#include "pool/space.h"
#include "redzone/blocks.h"
#include "redzone/check.h"
#include "stream/stream.h"

/* Index of "redzone" among the words of MAM_DEBUG. */
#define DEBUG_REDZONE 1u

#define ZONE ((size_t)512)             /* minimum size of a red zone; a multiple of 16 */
#define BATCH_FREES 64u                /* freed blocks per launch */
#define HELD_MAX ((uint64_t)256 << 20) /* bytes of freed blocks in quarantine */
#define BYTES_MAX ((uint64_t)1 << 54)  /* larger requests fail in every pool */
#define EXIT_PATIENCE_NS ((uint64_t)1000000000)
#define EXIT_WAIT_NS ((uint64_t)5000000000)

/* A range of a launch. */
struct part {
	uint32_t record;
	size_t offset; /* of the range from the block's base */
};

struct mam_redzone {
	struct mam_redzone *next; /* lock: none, set before it is listed: all that were ever made */
	struct mam_pool *pool;    /* lock: none, set at open; also the next two */
	char name[32];            /* of the pool */
	pid_t process;
	struct mam_lock lock;
	struct mam_check check;              /* lock: redzone */
	struct mam_blocks blocks;            /* lock: redzone */
	struct part parts[MAM_CHECK_RANGES]; /* lock: redzone */
	uint64_t left;   /* lock: redzone; count of blocks that left quarantine */
	bool has_warned; /* lock: redzone; of a launch that failed */
	bool has_ended;  /* lock: redzone */
};

/* Blocks that return to the pool once the lock is free. */
struct leaving {
	size_t count;
	void *bases[MAM_CHECK_RANGES];
	bool is_damaged; /* the process must abort */
};

static _Atomic(struct mam_redzone *) all; /* atomic; never freed: late calls may still come */

bool mam_redzone_is_wanted(int device)
{
	return device >= 0 && mam_option_choice(MAM_OPTION_DEBUG) == DEBUG_REDZONE;
}

/* ---- checks; lock: redzone ---- */

static void add(struct mam_redzone *zones, uint32_t handle, size_t offset, size_t bytes)
{
	unsigned int range = mam_check_add(
		&zones->check, mam_block_at(&zones->blocks, handle)->base + offset, bytes);

	zones->parts[range] = (struct part){ handle, offset };
}

static void add_zones(struct mam_redzone *zones, uint32_t handle)
{
	const struct mam_block *record = mam_block_at(&zones->blocks, handle);
	const size_t end = record->front + record->bytes;

	add(zones, handle, 0, record->front);
	add(zones, handle, end, record->total - end);
}

static bool has_room(const struct mam_redzone *zones)
{
	return zones->check.count + 2 <= MAM_CHECK_RANGES;
}

static void launch(struct mam_redzone *zones)
{
	if (mam_check_launch(&zones->check) || zones->has_warned)
		return;
	zones->has_warned = true; /* after an error of the program, all others fail, too */
	mam_log(MAM_LOG_WARN,
		"pool %s: the red zones of %u ranges cannot be checked: cuLaunchKernel failed",
		zones->name, zones->check.count);
}

/* Start the next launch, which leaves at most `held_max` bytes in quarantine if there is room. */
static void check_freed(struct mam_redzone *zones, uint64_t held_max)
{
	uint32_t handle;

	while (zones->blocks.queues[MAM_BLOCK_FREED].count != 0 && has_room(zones)) {
		handle = mam_blocks_pop(&zones->blocks, MAM_BLOCK_FREED);
		add_zones(zones, handle);
		mam_blocks_push(&zones->blocks, MAM_BLOCK_HELD, handle);
	}
	while (zones->blocks.queues[MAM_BLOCK_HELD].count != 0 &&
	       zones->blocks.queues[MAM_BLOCK_HELD].bytes > held_max && has_room(zones)) {
		handle = mam_blocks_pop(&zones->blocks, MAM_BLOCK_HELD);
		add(zones, handle, 0, mam_block_at(&zones->blocks, handle)->total);
		mam_blocks_push(&zones->blocks, MAM_BLOCK_LEAVING, handle);
	}
	if (zones->check.count != 0)
		launch(zones);
}

static void report(const struct mam_redzone *zones, const struct mam_block *record, size_t offset)
{
	const bool is_inside = offset >= record->front && offset < record->front + record->bytes;
	const int64_t byte = (int64_t)offset - (int64_t)record->front;

	mam_log(MAM_LOG_ERROR,
		"%s byte %" PRId64
		" of a %zu-byte block (%p, pool %s, allocated by thread %d%s%s); "
		"detected %s",
		is_inside ? "use after free: write to" : "out-of-bounds write to", byte,
		record->bytes, (void *)(record->base + record->front), zones->name, record->thread,
		record->tag[0] ? ", tag " : "", record->tag,
		record->state == MAM_BLOCK_LIVE ? "while it was live" : "after it was freed");
}

/* The launch is done. */
static void collect(struct mam_redzone *zones, struct leaving *leaving)
{
	for (unsigned int i = 0; i < zones->check.count; i++) {
		struct mam_block *record = mam_block_at(&zones->blocks, zones->parts[i].record);
		uint64_t bad = mam_check_bad(&zones->check, i);

		if (bad == MAM_CHECK_INTACT)
			continue;
		leaving->is_damaged = true;
		if (!record->is_reported)
			report(zones, record, zones->parts[i].offset + bad);
		record->is_reported = true;
	}
	mam_check_clear(&zones->check);
	while (zones->blocks.queues[MAM_BLOCK_LEAVING].count != 0) {
		uint32_t handle = mam_blocks_pop(&zones->blocks, MAM_BLOCK_LEAVING);

		leaving->bases[leaving->count++] =
			(void *)mam_block_at(&zones->blocks, handle)->base;
		mam_blocks_erase(&zones->blocks, handle);
		zones->left++;
	}
}

static uint64_t count_kept(const struct mam_redzone *zones)
{
	uint64_t count = 0;

	for (int state = MAM_BLOCK_FREED; state < MAM_BLOCK_STATES; state++)
		count += zones->blocks.queues[state].count;
	return count;
}

/* Part of each call. */
static void advance(struct mam_redzone *zones, struct leaving *leaving)
{
	if (zones->check.in_flight && mam_check_is_done(&zones->check))
		collect(zones, leaving);
	if (!zones->check.in_flight &&
	    (zones->blocks.queues[MAM_BLOCK_FREED].count >= BATCH_FREES ||
	     zones->blocks.queues[MAM_BLOCK_FREED].bytes +
			     zones->blocks.queues[MAM_BLOCK_HELD].bytes >
		     HELD_MAX))
		check_freed(zones, HELD_MAX);
}

/* ---- end of lock: redzone ---- */

static void stop(void)
{
	mam_log(MAM_LOG_ERROR, "MAM_DEBUG=redzone found damaged memory: abort");
	abort();
}

static void leave(const struct mam_redzone *zones, const struct leaving *leaving)
{
	if (leaving->is_damaged)
		stop();
	for (size_t i = 0; i < leaving->count; i++)
		(void)mam_pool_free_now(zones->pool, leaving->bases[i]);
}

static void begin_leaving(struct leaving *leaving)
{
	leaving->count = 0;
	leaving->is_damaged = false;
}

/*
 * Whether fewer than `goal` blocks have left, or at exit a launch is in flight, and there is time. Each
 * wait is without the lock: no allocation waits for it. *freed: whether blocks returned to the pool.
 */
static bool flush_step(struct mam_redzone *zones, uint64_t goal, uint64_t until_ns, bool *freed)
{
	struct leaving leaving;
	bool more;

	begin_leaving(&leaving);
	mam_lock_take(&zones->lock);
	if (zones->has_ended) {
		mam_lock_release(&zones->lock);
		return false;
	}
	if (zones->check.in_flight && mam_check_is_done(&zones->check))
		collect(zones, &leaving);
	more = zones->left < goal || (until_ns != MAM_CHECK_FOREVER && zones->check.in_flight);
	if (more && !zones->check.in_flight)
		check_freed(zones, 0);
	mam_lock_release(&zones->lock);
	leave(zones, &leaving);
	*freed |= leaving.count != 0;
	return more && mam_check_wait(&zones->check, until_ns);
}

/* Blocks leave in the order of their frees. Those that other threads free meanwhile may stay. */
static bool flush(struct mam_redzone *zones, uint64_t until_ns)
{
	bool freed = false;
	uint64_t goal;

	mam_lock_take(&zones->lock);
	goal = zones->left + count_kept(zones);
	mam_lock_release(&zones->lock);
	while (flush_step(zones, goal, until_ns, &freed))
		;
	return freed;
}

bool mam_redzone_flush(struct mam_pool *pool)
{
	return flush(pool->redzone, MAM_CHECK_FOREVER);
}

/*
 * All live blocks, in as many launches as necessary. The memory of a suspended pool is not there.
 * False: not all were checked in time.
 */
static bool check_live(struct mam_redzone *zones, uint64_t until_ns, struct leaving *leaving)
{
	uint32_t handle;

	if (mam_pool_is_suspended(zones->pool) || zones->check.in_flight)
		return !zones->check.in_flight;
	handle = mam_blocks_next(&zones->blocks, 0);
	while (handle != 0) {
		for (; handle != 0 && has_room(zones);
		     handle = mam_blocks_next(&zones->blocks, handle))
			if (mam_block_at(&zones->blocks, handle)->state == MAM_BLOCK_LIVE &&
			    mam_block_at(&zones->blocks, handle)->is_filled)
				add_zones(zones, handle);
		if (zones->check.count == 0)
			break;
		launch(zones);
		if (!mam_check_wait(&zones->check, until_ns))
			return false;
		collect(zones, leaving);
	}
	return true;
}

/* A signal handler that ends the process may have interrupted a thread that has the lock. */
static bool is_usable_at_exit(struct mam_redzone *zones)
{
	bool is_usable;

	if (zones->process != getpid() || !mam_lock_take_within(&zones->lock, EXIT_PATIENCE_NS))
		return false;
	is_usable = !zones->has_ended;
	mam_lock_release(&zones->lock);
	return is_usable;
}

/* False: work still runs. */
static bool check_pool_at_exit(struct mam_redzone *zones, uint64_t until_ns,
			       struct leaving *leaving)
{
	struct mam_device_visit visit;
	bool in_time;

	/* A failure: it is too late for any check. */
	if (mam_device_enter(&zones->check.device, &visit).result != MAM_DRIVER_SUCCESS)
		return true;
	in_time = mam_check_wait_all(&zones->check, until_ns);
	mam_device_leave(&zones->check.device, &visit);
	if (!in_time)
		return false;
	(void)flush(zones, until_ns);
	mam_lock_take(&zones->lock);
	if (!zones->has_ended)
		in_time = check_live(zones, until_ns, leaving);
	mam_lock_release(&zones->lock);
	return in_time;
}

static void check_at_exit(void)
{
	const uint64_t until_ns = mam_clock_ns() + EXIT_WAIT_NS;
	struct leaving leaving;

	begin_leaving(&leaving);
	for (struct mam_redzone *zones = atomic_load(&all); zones; zones = zones->next)
		if (is_usable_at_exit(zones) && !check_pool_at_exit(zones, until_ns, &leaving))
			mam_log(MAM_LOG_WARN,
				"pool %s: the red zones are not checked at exit: work still runs",
				zones->name);
	if (leaving.is_damaged)
		stop();
}

/* The pool has ended: no block is live, and no call begins. */
static void end(struct mam_redzone *zones)
{
	mam_lock_take(&zones->lock);
	if (!zones->has_ended) {
		zones->has_ended = true;
		mam_check_end(&zones->check);
		mam_blocks_fini(&zones->blocks);
	}
	mam_lock_release(&zones->lock);
}

static bool drain(struct mam_pool *pool, enum mam_drain_level level)
{
	if (level == MAM_DRAIN_END)
		end(pool->redzone);
	return level == MAM_DRAIN_ALL && mam_redzone_flush(pool);
}

/* compute-sanitizer knows each block from mam run, and calls our own checks errors. */
static bool is_watched(void)
{
	return mam_option_text(MAM_OPTION_RUN_PID)[0] != '\0' &&
	       secure_getenv("NV_SANITIZER_INJECTION_PORT_BASE") != NULL;
}

void mam_redzone_open(struct mam_pool *pool)
{
	static atomic_flag is_registered = ATOMIC_FLAG_INIT;
	struct mam_redzone *zones = calloc(1, sizeof(*zones));
	const char *failed = "malloc";

	if (zones && mam_blocks_init(&zones->blocks)) {
		failed = mam_check_begin(&zones->check, pool->source, is_watched());
		if (failed)
			mam_blocks_fini(&zones->blocks);
	}
	if (failed) {
		mam_log(MAM_LOG_WARN, "pool %s: MAM_DEBUG=redzone has no effect: %s failed",
			pool->config.name, failed);
		free(zones);
		return;
	}
	mam_lock_init(&zones->lock, MAM_RANK_SOURCE, "redzone");
	zones->pool = pool;
	zones->process = getpid();
	memcpy(zones->name, pool->config.name, sizeof(zones->name));
	zones->next = atomic_load(&all);
	while (!atomic_compare_exchange_weak(&all, &zones->next, zones))
		;
	/* After the driver was loaded: handlers run in reverse order. */
	if (!atomic_flag_test_and_set(&is_registered))
		(void)atexit(check_at_exit);
	pool->drain[MAM_DRAIN_REDZONE] = drain;
	pool->redzone = zones;
}

void mam_redzone_drop(struct mam_pool *pool)
{
	struct mam_redzone *zones = pool->redzone;
	const bool is_child = zones->process != getpid();

	if (is_child)
		mam_lock_reinit(&zones->lock);
	mam_lock_take(&zones->lock);
	if (!zones->has_ended && !is_child) /* another thread may have been changing the records */
		mam_blocks_fini(&zones->blocks);
	zones->has_ended = true;
	mam_lock_release(&zones->lock);
}

/* The sizes of a block. False: too large, which the pool must refuse. */
static bool shape(const struct mam_pool *pool, size_t bytes, size_t alignment,
		  struct mam_block *record)
{
	struct mam_request request;

	if (bytes >= BYTES_MAX || alignment >= BYTES_MAX)
		return false;
	record->front = pool->config.granule > ZONE ? pool->config.granule : ZONE;
	/* Such a block has the alignment of large ones. */
	if (mam_round_up(bytes, pool->config.granule) >= MAM_POOL_LARGE &&
	    record->front < pool->config.large_alignment)
		record->front = pool->config.large_alignment;
	if (record->front < alignment)
		record->front = alignment;
	record->bytes = bytes;
	if (mam_space_shape(pool, record->front + bytes + ZONE, alignment, &request) != MAM_OK)
		return false;
	record->total = request.bytes;
	return true;
}

/* Fill the red zones in a stream, or in the own one. False: they are not filled. */
static bool fill(const struct mam_check *check, const struct mam_block *record,
		 struct CUstream_st *stream, bool in_stream)
{
	const size_t end = record->front + record->bytes;

	if (!in_stream)
		stream = check->fills;
	else if (!mam_check_is_possible(check, stream))
		return false;
	return mam_check_fill(check, record->base, record->front, stream) &&
	       mam_check_fill(check, record->base + end, record->total - end, stream);
}

/* The pool's block is at record->base. */
static enum mam_status open_block(struct mam_pool *pool, struct mam_block *record,
				  struct CUstream_st *stream, bool in_stream, void **block)
{
	struct mam_redzone *zones = pool->redzone;
	enum mam_status status = MAM_OK;
	struct leaving leaving;
	uint32_t handle;

	begin_leaving(&leaving);
	record->tag = mam_tag_paths_here();
	record->thread = (int)syscall(SYS_gettid);
	record->state = MAM_BLOCK_LIVE;
	record->is_apart = !in_stream;
	mam_lock_take(&zones->lock);
	if (zones->has_ended) {
		status = MAM_ERROR_DESTROYED;
	} else {
		/* First the record: a block without one returns to the pool, and nothing may fill it. */
		handle = mam_blocks_insert(&zones->blocks, record);
		if (handle == 0)
			status = MAM_ERROR_OUT_OF_HOST_MEMORY;
		else /* another thread may just have suspended the pool */
			mam_block_at(&zones->blocks, handle)->is_filled =
				!mam_pool_is_suspended(pool) &&
				fill(&zones->check, record, stream, in_stream);
		advance(zones, &leaving);
	}
	mam_lock_release(&zones->lock);
	leave(zones, &leaving);
	if (status == MAM_OK)
		*block = (void *)(record->base + record->front);
	return status;
}

enum mam_status mam_redzone_alloc(struct mam_pool *pool, size_t bytes, size_t alignment, bool held,
				  void **block)
{
	struct mam_block record = { 0 };
	enum mam_status status;
	void *base;

	if (!block || bytes == 0 || !shape(pool, bytes, alignment, &record))
		return held ? mam_pool_alloc_held(pool, bytes, alignment, block)
			    : mam_pool_alloc(pool, bytes, alignment, block);
	status = held ? mam_pool_alloc_held(pool, record.total, alignment, &base)
		      : mam_pool_alloc(pool, record.total, alignment, &base);
	if (status != MAM_OK)
		return status;
	record.base = (uintptr_t)base;
	status = open_block(pool, &record, NULL, false, block);
	if (status != MAM_OK)
		(void)mam_pool_free_now(pool, base);
	return status;
}

enum mam_status mam_redzone_alloc_async(struct mam_pool *pool, size_t bytes,
					struct CUstream_st *stream, void **block)
{
	struct mam_block record = { 0 };
	enum mam_status status;
	void *base;

	if (!shape(pool, bytes, 0, &record))
		return mam_stream_alloc(pool, bytes, stream, block);
	status = mam_stream_alloc(pool, record.total, stream, &base);
	if (status != MAM_OK)
		return status;
	record.base = (uintptr_t)base;
	status = open_block(pool, &record, stream, true, block);
	if (status != MAM_OK)
		(void)mam_stream_free(pool, base, stream);
	return status;
}

/*
 * The record of a live block that a caller knows by this address. 0 and OK: the address is in no
 * block with a record. lock: redzone
 */
static enum mam_status find_live(const struct mam_redzone *zones, const void *block,
				 uint32_t *handle)
{
	const struct mam_block *record;

	*handle = zones->has_ended ? 0 : mam_blocks_find(&zones->blocks, (uintptr_t)block);
	if (*handle == 0)
		return MAM_OK;
	record = mam_block_at(&zones->blocks, *handle);
	if (record->state != MAM_BLOCK_LIVE)
		return MAM_ERROR_DOUBLE_FREE;
	return record->base + record->front == (uintptr_t)block ? MAM_OK : MAM_ERROR_INTERIOR;
}

/*
 * Queue a block for a check, after the work of a stream or, without one, now. False: it cannot be
 * checked. lock: redzone
 */
static bool queue(struct mam_redzone *zones, uint32_t handle, struct CUstream_st *stream,
		  bool in_stream)
{
	const struct mam_block *record = mam_block_at(&zones->blocks, handle);
	const struct mam_check *check = &zones->check;

	if (record->is_filled && !mam_pool_is_suspended(zones->pool) &&
	    (!in_stream ||
	     (mam_check_is_possible(check, stream) && mam_check_follow(check, stream))) &&
	    mam_check_fill_freed(check, record->base + record->front, record->bytes)) {
		mam_blocks_push(&zones->blocks, MAM_BLOCK_FREED, handle);
		return true;
	}
	return false;
}

/* A live block leaves its records. Returns whether its red zones may not be filled yet. lock: redzone */
static bool forget(struct mam_redzone *zones, uint32_t handle, void **block)
{
	const struct mam_block *record = mam_block_at(&zones->blocks, handle);
	const bool is_apart = record->is_apart;

	*block = (void *)record->base;
	mam_blocks_erase(&zones->blocks, handle);
	return is_apart;
}

/* Not under the lock: allocations take it. */
static void await_fills(const struct mam_redzone *zones, bool may_be_missing)
{
	if (may_be_missing)
		mam_check_wait_fills(&zones->check);
}

static enum mam_status close_block(struct mam_pool *pool, void *block, struct CUstream_st *stream,
				   bool in_stream)
{
	struct mam_redzone *zones = pool->redzone;
	struct leaving leaving;
	enum mam_status status;
	bool is_queued = false, fills = false;
	uint32_t handle;

	begin_leaving(&leaving);
	mam_lock_take(&zones->lock);
	status = find_live(zones, block, &handle);
	if (status == MAM_OK && handle != 0) {
		is_queued = queue(zones, handle, stream, in_stream);
		if (!is_queued)
			fills = forget(zones, handle, &block);
		advance(zones, &leaving);
	}
	mam_lock_release(&zones->lock);
	leave(zones, &leaving);
	if (status != MAM_OK || is_queued)
		return status;
	await_fills(zones, fills);
	return in_stream ? mam_stream_free(pool, block, stream) : mam_pool_free(pool, block);
}

enum mam_status mam_redzone_free(struct mam_pool *pool, void *block)
{
	return close_block(pool, block, NULL, false);
}

enum mam_status mam_redzone_free_async(struct mam_pool *pool, void *block,
				       struct CUstream_st *stream)
{
	return close_block(pool, block, stream, true);
}

enum mam_status mam_redzone_forget(struct mam_pool *pool, void **block)
{
	struct mam_redzone *zones = pool->redzone;
	enum mam_status status;
	bool fills = false;
	uint32_t handle;

	mam_lock_take(&zones->lock);
	status = find_live(zones, *block, &handle);
	if (status == MAM_OK && handle != 0)
		fills = forget(zones, handle, block);
	mam_lock_release(&zones->lock);
	await_fills(zones, fills);
	return status;
}

void mam_redzone_distrust(struct mam_pool *pool)
{
	struct mam_redzone *zones = pool->redzone;
	uint32_t handle;

	mam_lock_take(&zones->lock);
	handle = zones->has_ended ? 0 : mam_blocks_next(&zones->blocks, 0);
	for (; handle != 0; handle = mam_blocks_next(&zones->blocks, handle))
		mam_block_at(&zones->blocks, handle)->is_filled = false;
	mam_lock_release(&zones->lock);
}

void mam_redzone_correct(const struct mam_pool *pool, struct mam_segment_info *segment)
{
	struct mam_redzone *zones = pool->redzone;
	const struct mam_block *record;
	uint32_t handle;

	mam_lock_take(&zones->lock);
	handle = zones->has_ended ? 0 : mam_blocks_find(&zones->blocks, (uintptr_t)segment->base);
	if (handle != 0 && segment->live) {
		record = mam_block_at(&zones->blocks, handle);
		segment->base = (void *)(record->base + record->front);
		segment->bytes = record->bytes;
		segment->requested = record->state == MAM_BLOCK_LIVE ? record->bytes : 0;
		segment->live = record->state == MAM_BLOCK_LIVE;
		segment->retired = !segment->live;
	}
	mam_lock_release(&zones->lock);
}

/* The pool was counted before, and other threads may have freed blocks since. */
static void subtract(uint64_t *count, uint64_t less)
{
	*count -= *count < less ? *count : less;
}

void mam_redzone_count(const struct mam_pool *pool, struct mam_stats *stats)
{
	struct mam_redzone *zones = pool->redzone;

	mam_lock_take(&zones->lock);
	for (int state = MAM_BLOCK_FREED; state < MAM_BLOCK_STATES; state++) {
		const struct mam_block_queue *queue = &zones->blocks.queues[state];

		subtract(&stats->live_blocks, queue->count);
		subtract(&stats->live_bytes, queue->bytes);
		subtract(&stats->live_rounded_bytes, queue->bytes);
		stats->retired_blocks += queue->count;
		stats->retired_bytes += queue->bytes;
		stats->frees += queue->count;
	}
	mam_lock_release(&zones->lock);
}
