/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mill.c - the programs of mill.h.
 *
 * Each operation of a thread is one of: allocate a block and submit work on it; submit more work on
 * it; pass it to another stream with an event (join), or to another thread through the exchange;
 * free it; destroy a stream and create another; trim, check, wait.
 *
 * The rules that the program keeps:
 *   1. All work of a block is in its home stream, or ordered before that stream's next work (join).
 *   2. mam_free_async() passes the home stream. mam_free() is called with unfinished work only
 *      where the policy permits this; under STREAM the program first waits for the home stream.
 *   3. Only its own thread uses a private stream. A block whose home was destroyed is waited for.
 */
#include "mill.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "shadow.h"

#define SHARED 6u /* streams that all threads use */
#define PRIVATE \
	3u /* of a thread: its default stream, and two that are created and destroyed repeatedly */
#define HELD 192u /* maximum of blocks per thread */
#define SLOTS 64u /* of the exchange */
#define RETIRED 8u

struct stream {
	struct CUstream_st *handle;
	unsigned long long id;
};

struct block {
	void *at;
	size_t bytes;
	struct stream *home;        /* NULL: unused so far, and not for a stream */
	unsigned long long home_id; /* differs from home->id: the stream was destroyed */
};

struct run {
	const struct cuda *cuda;
	const struct mill_setup *setup;
	struct mam_pool *pool;
	struct shadow *shadow;
	struct CUctx_st *context;
	struct stream shared[SHARED];
	_Atomic(struct block *) slots[SLOTS];
	_Atomic bool failed;
	pthread_mutex_t lock;
	char why[500]; /* lock: lock */
};

struct worker {
	struct run *run;
	unsigned number;
	uint64_t state;
	unsigned long operation;
	struct stream own[PRIVATE];
	struct CUevent_st *event;
	struct block *held[HELD];
	unsigned count;
	unsigned retired;
	uint64_t allocs, frees, failures;
	uint64_t live_bytes, peak_bytes;
	pthread_t thread;
};

static uint64_t draw(struct worker *worker)
{
	worker->state ^= worker->state << 13;
	worker->state ^= worker->state >> 7;
	worker->state ^= worker->state << 17;
	return worker->state >> 11;
}

__attribute__((format(printf, 2, 3))) static void blame(struct worker *worker, const char *format,
							...)
{
	struct run *run = worker->run;
	char text[400];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	pthread_mutex_lock(&run->lock);
	if (!run->why[0])
		snprintf(run->why, sizeof(run->why), "seed %llu, thread %u, operation %lu: %s",
			 (unsigned long long)run->setup->seed, worker->number, worker->operation,
			 text);
	pthread_mutex_unlock(&run->lock);
	atomic_store(&run->failed, true);
}

static void expect(struct worker *worker, enum mam_status status, const char *call)
{
	if (status != MAM_OK)
		blame(worker, "%s returns %s", call, mam_status_name(status));
}

static void driver(struct worker *worker, int result, const char *call)
{
	if (result != CUDA_SUCCESS)
		blame(worker, "the program's own %s returns %d", call, result);
}

static struct stream *any_stream(struct worker *worker)
{
	unsigned at = draw(worker) % (SHARED + PRIVATE);

	return at < SHARED ? &worker->run->shared[at] : &worker->own[at - SHARED];
}

static struct stream *shared_stream(struct worker *worker)
{
	return &worker->run->shared[draw(worker) % SHARED];
}

static bool is_orphan(const struct block *block)
{
	return block->home && block->home->id != block->home_id;
}

static void use(struct worker *worker, struct block *block)
{
	struct run *run = worker->run;
	unsigned long long id;
	uint64_t due_ns;

	driver(worker,
	       run->cuda->fake_use((uintptr_t)block->at, block->bytes, block->home->handle, &id,
				   &due_ns),
	       "fake_use");
	if (id != block->home->id)
		blame(worker, "stream %llu changed its id to %llu", block->home->id, id);
	if (run->cuda->fake_crossed())
		blame(worker, "a use of %zu bytes at %p began while work used them", block->bytes,
		      block->at);
	shadow_use(run->shadow, block->at, block->bytes, id, due_ns);
}

/* From its home to another stream, whose next work comes after all of the home's. */
static void join(struct worker *worker, struct block *block, struct stream *to)
{
	const struct cuda *cuda = worker->run->cuda;

	if (is_orphan(block)) {
		driver(worker, cuda->cuCtxSynchronize(), "cuCtxSynchronize");
	} else if (block->home) {
		driver(worker, cuda->cuEventRecord(worker->event, block->home->handle),
		       "cuEventRecord");
		driver(worker, cuda->cuStreamWaitEvent(to->handle, worker->event, 0),
		       "cuStreamWaitEvent");
	}
	block->home = to;
	block->home_id = to->id;
	use(worker, block);
}

static size_t draw_size(struct worker *worker)
{
	size_t max = (size_t)256 << draw(worker) % 20;

	if (max > worker->run->setup->largest)
		max = worker->run->setup->largest;
	return 1 + draw(worker) % max;
}

static void free_now(struct worker *worker, struct block *block)
{
	struct run *run = worker->run;
	struct mam_pool *pool = draw(worker) % 8 ? run->pool : NULL;
	bool by_stream = draw(worker) % 8 != 0;
	const char *why;

	if (is_orphan(block) || (!by_stream && run->setup->policy == MAM_FREE_STREAM))
		driver(worker, run->cuda->cuCtxSynchronize(), "cuCtxSynchronize");
	if (is_orphan(block))
		by_stream = false;
	else if (by_stream && (!block->home || draw(worker) % 8 == 0))
		join(worker, block, any_stream(worker));
	if (run->setup->wrong_stream && draw(worker) % 16 == 0 && by_stream)
		block->home = any_stream(worker);
	why = shadow_give(run->shadow, block->at, block->bytes);
	if (why)
		blame(worker, "%s", why);
	if (by_stream)
		expect(worker, mam_free_async(pool, block->at, block->home->handle),
		       "mam_free_async");
	else
		expect(worker, mam_free(pool, block->at), "mam_free");
	worker->frees++;
}

/* With a ticket of its own, or one that it shares with others of the thread. */
static void retire(struct worker *worker, struct block *block)
{
	struct run *run = worker->run;
	const char *why = shadow_give(run->shadow, block->at, block->bytes);
	uint64_t ticket;
	size_t bytes;

	if (why)
		blame(worker, "%s", why);
	if (worker->number == 0 && draw(worker) % 4 == 0)
		expect(worker, mam_pool_retire(run->pool, block->at, NULL, NULL),
		       "mam_pool_retire");
	else
		expect(worker, mam_pool_retire_shared(run->pool, block->at, &ticket, &bytes),
		       "mam_pool_retire_shared");
	worker->frees++;
	worker->retired++;
}

/* The ticket covers what any thread retired before it, and the wait the work on that. */
static void reclaim(struct worker *worker)
{
	struct run *run = worker->run;
	uint64_t ticket = 0;

	expect(worker, mam_pool_retired(run->pool, &ticket), "mam_pool_retired");
	driver(worker, run->cuda->cuCtxSynchronize(), "cuCtxSynchronize");
	expect(worker, mam_pool_reclaim(run->pool, ticket, NULL), "mam_pool_reclaim");
	worker->retired = 0;
}

static void dispose(struct worker *worker, struct block *block)
{
	worker->live_bytes -= block->bytes;
	if (draw(worker) % 64 == 0)
		retire(worker, block);
	else
		free_now(worker, block);
	if (worker->retired == RETIRED)
		reclaim(worker);
	free(block);
}

static struct block *drop(struct worker *worker, unsigned at)
{
	struct block *block = worker->held[at];

	worker->held[at] = worker->held[--worker->count];
	return block;
}

static void dispose_some(struct worker *worker, unsigned some)
{
	while (some-- && worker->count && !atomic_load(&worker->run->failed))
		dispose(worker, drop(worker, draw(worker) % worker->count));
}

static enum mam_status try_alloc(struct worker *worker, struct block *block)
{
	struct mam_pool *pool = worker->run->pool;

	switch (draw(worker) % 16) {
	case 0: return mam_malloc(pool, block->bytes, &block->at);
	case 1:
		return mam_malloc_aligned(pool, block->bytes, (size_t)1 << draw(worker) % 20,
					  &block->at);
	case 2: return mam_pool_alloc_nowait(pool, block->bytes, 0, &block->at);
	default:
		block->home = any_stream(worker);
		block->home_id = block->home->id;
		return mam_malloc_async(pool, block->bytes, block->home->handle, &block->at);
	}
}

static void obtain(struct worker *worker)
{
	struct block *block = calloc(1, sizeof(*block));
	enum mam_status status;
	const char *why;

	if (!block)
		ck_abort_msg("the test is out of host memory");
	block->bytes = draw_size(worker);
	status = try_alloc(worker, block);
	if (status != MAM_OK) {
		if (status != MAM_ERROR_OUT_OF_MEMORY && status != MAM_ERROR_WOULD_WAIT)
			blame(worker, "a request of %zu bytes returns %s", block->bytes,
			      mam_status_name(status));
		worker->failures += status != MAM_ERROR_WOULD_WAIT;
		free(block);
		dispose_some(worker, worker->count / 4 + 1);
		return;
	}
	worker->allocs++;
	worker->live_bytes += block->bytes;
	if (worker->live_bytes > worker->peak_bytes)
		worker->peak_bytes = worker->live_bytes;
	why = shadow_take(worker->run->shadow, block->at, block->bytes,
			  block->home ? block->home->id : SHADOW_ANYBODY,
			  block->home ? worker->run->cuda->fake_begin(block->home->handle)
				      : worker->run->cuda->fake_clock());
	if (why)
		blame(worker, "%s", why);
	if (!block->home && draw(worker) % 2) {
		block->home = any_stream(worker);
		block->home_id = block->home->id;
	}
	if (block->home && draw(worker) % 4)
		use(worker, block);
	worker->held[worker->count++] = block;
	if (worker->count == HELD)
		dispose_some(worker, HELD / 4);
}

/*
 * Destroys one of the thread's own streams, with unfinished work and blocks just freed on it, and
 * creates another.
 */
static void recycle(struct worker *worker)
{
	const struct cuda *cuda = worker->run->cuda;
	struct stream *stream = &worker->own[1 + draw(worker) % (PRIVATE - 1)];

	for (unsigned at = worker->count; at-- > 0;)
		if (worker->held[at]->home == stream && worker->held[at]->home_id == stream->id &&
		    draw(worker) % 2)
			dispose(worker, drop(worker, at));
	if (draw(worker) % 2)
		expect(worker, mam_stream_release(worker->run->pool, stream->handle),
		       "mam_stream_release");
	driver(worker, cuda->cuStreamDestroy_v2(stream->handle), "cuStreamDestroy");
	driver(worker,
	       cuda->cuStreamCreate(&stream->handle, draw(worker) % 2 ? STREAM_NON_BLOCKING : 0),
	       "cuStreamCreate");
	driver(worker, cuda->cuStreamGetId(stream->handle, &stream->id), "cuStreamGetId");
}

/*
 * Puts a block into a slot that all threads see, in the order of a shared stream; takes the block
 * that was there.
 */
static void exchange(struct worker *worker)
{
	struct block *given = NULL, *got;

	if (worker->count && draw(worker) % 4) {
		given = drop(worker, draw(worker) % worker->count);
		join(worker, given, shared_stream(worker));
		worker->live_bytes -= given->bytes;
	}
	got = atomic_exchange(&worker->run->slots[draw(worker) % SLOTS], given);
	if (got) {
		worker->live_bytes += got->bytes;
		worker->held[worker->count++] = got;
		if (worker->count == HELD)
			dispose_some(worker, HELD / 4);
	}
}

static void look_on(struct worker *worker)
{
	struct run *run = worker->run;
	struct mam_stats stats = { .size = sizeof(stats) };
	unsigned long long where;
	char why[256] = "";
	size_t bytes;

	expect(worker, mam_pool_stats(run->pool, &stats), "mam_pool_stats");
	if (stats.allocs - stats.frees != stats.live_blocks ||
	    stats.live_bytes > stats.live_rounded_bytes ||
	    stats.live_rounded_bytes + stats.cached_bytes + stats.retired_bytes >
		    stats.reserved_bytes ||
	    stats.live_blocks > stats.peak_live_blocks || stats.live_bytes > stats.peak_live_bytes)
		blame(worker, "the statistics are inconsistent: %llu allocs, %llu frees, %llu live",
		      (unsigned long long)stats.allocs, (unsigned long long)stats.frees,
		      (unsigned long long)stats.live_blocks);
	if (run->setup->threads == 1 && stats.live_blocks != worker->allocs - worker->frees)
		blame(worker, "the pool reports %llu live blocks, expected %llu",
		      (unsigned long long)stats.live_blocks,
		      (unsigned long long)(worker->allocs - worker->frees));
	if (run->setup->limit_bytes && stats.physical_bytes > run->setup->limit_bytes)
		blame(worker, "the pool reserves %llu bytes, more than its limit",
		      (unsigned long long)stats.physical_bytes);
	if (mam_pool_check(run->pool, why, sizeof(why)) != MAM_OK)
		blame(worker, "%s", why);
	if (run->cuda->fake_disturbed(&where, &bytes))
		blame(worker,
		      "%zu bytes at %#llx were released or reused while work used "
		      "them",
		      bytes, where);
}

static void step(struct worker *worker)
{
	const struct cuda *cuda = worker->run->cuda;
	struct CUctx_st *context;
	unsigned kind = draw(worker) % 1000;

	cuda->cuCtxGetCurrent(&context); /* advance the clock */
	if (kind < 450)
		obtain(worker);
	else if (kind < 850)
		dispose_some(worker, 1);
	else if (kind < 900)
		exchange(worker);
	else if (kind < 990 && worker->count)
		join(worker, worker->held[draw(worker) % worker->count], any_stream(worker));
	else if (kind < 993)
		recycle(worker);
	else if (kind < 995)
		expect(worker, mam_stream_release(worker->run->pool, any_stream(worker)->handle),
		       "mam_stream_release");
	else if (kind < 996)
		driver(worker, cuda->cuCtxSynchronize(), "cuCtxSynchronize");
	else if (kind < 998)
		expect(worker, mam_pool_trim(worker->run->pool, draw(worker) % (32u << 20), NULL),
		       "mam_pool_trim");
	else if (draw(worker) % 4 == 0)
		look_on(worker);
}

static void *work(void *user)
{
	struct worker *worker = user;
	const struct cuda *cuda = worker->run->cuda;
	unsigned long operations = worker->run->setup->operations / worker->run->setup->threads;

	driver(worker, cuda->cuCtxSetCurrent(worker->run->context), "cuCtxSetCurrent");
	driver(worker, cuda->cuEventCreate(&worker->event, 2), "cuEventCreate");
	worker->own[0].handle = STREAM_PER_THREAD;
	for (unsigned i = 1; i < PRIVATE; i++)
		driver(worker, cuda->cuStreamCreate(&worker->own[i].handle, STREAM_NON_BLOCKING),
		       "cuStreamCreate");
	for (unsigned i = 0; i < PRIVATE; i++)
		driver(worker, cuda->cuStreamGetId(worker->own[i].handle, &worker->own[i].id),
		       "cuStreamGetId");
	while (worker->operation < operations && !atomic_load(&worker->run->failed)) {
		worker->operation++;
		step(worker);
	}
	dispose_some(worker, HELD);
	if (worker->retired && !atomic_load(&worker->run->failed))
		reclaim(worker);
	for (unsigned i = 1; i < PRIVATE; i++)
		driver(worker, cuda->cuStreamDestroy_v2(worker->own[i].handle), "cuStreamDestroy");
	driver(worker, cuda->cuEventDestroy_v2(worker->event), "cuEventDestroy");
	return NULL;
}

struct cuda mill_load(void)
{
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	setenv("FAKE_CUDA_LAG_US", "40", 1);
	setenv("FAKE_CUDA_LAG_RANDOM", "7", 1);
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	return load();
}

static bool make_pool(struct run *run, struct mam_source **source)
{
	const struct mill_setup *setup = run->setup;
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_vmm_attr vmm = MAM_VMM_ATTR_INIT;
	enum mam_status status;

	attr.free_policy = setup->policy;
	attr.cache = setup->cache;
	attr.limit_bytes = setup->limit_bytes;
	attr.footprint = setup->footprint;
	*source = NULL;
	if (strcmp(setup->source, "vmm") == 0) {
		status = mam_source_vmm(&vmm, source);
		if (status == MAM_OK)
			status = mam_pool_create_on(*source, &attr, &run->pool);
	} else {
		attr.source = setup->source;
		status = mam_pool_create(&attr, &run->pool);
	}
	if (status != MAM_OK)
		snprintf(run->why, sizeof(run->why), "no pool on %s: %s", setup->source,
			 mam_status_name(status));
	return status == MAM_OK;
}

static void make_streams(struct run *run)
{
	const struct cuda *cuda = run->cuda;

	run->shared[0].handle = NULL;
	run->shared[1].handle = STREAM_LEGACY;
	for (unsigned i = 2; i < SHARED; i++)
		ck_assert_int_eq(cuda->cuStreamCreate(&run->shared[i].handle,
						      i % 2 ? STREAM_NON_BLOCKING : 0),
				 CUDA_SUCCESS);
	for (unsigned i = 0; i < SHARED; i++)
		ck_assert_int_eq(cuda->cuStreamGetId(run->shared[i].handle, &run->shared[i].id),
				 CUDA_SUCCESS);
}

/* No block is live: the statistics are correct, and everything is released. */
static void check_end(struct worker *worker, struct mam_source *source,
		      const struct mill_result *result)
{
	struct run *run = worker->run;
	struct mam_stats stats = { .size = sizeof(stats) };
	struct fake_held held;

	for (unsigned i = 0; i < SLOTS; i++) {
		struct block *block = atomic_exchange(&run->slots[i], NULL);

		if (block) {
			const char *why = shadow_give(run->shadow, block->at, block->bytes);

			if (why)
				blame(worker, "%s", why);
			expect(worker, mam_free_async(NULL, block->at, block->home->handle),
			       "mam_free_async");
			worker->frees++;
			free(block);
		}
	}
	expect(worker, mam_pool_stats(run->pool, &stats), "mam_pool_stats");
	if (stats.live_blocks || stats.live_bytes || stats.live_rounded_bytes)
		blame(worker, "everything was freed, but %llu blocks of %llu bytes are live",
		      (unsigned long long)stats.live_blocks, (unsigned long long)stats.live_bytes);
	if (stats.allocs != result->allocs || stats.frees != result->allocs ||
	    stats.failures != result->failures)
		blame(worker,
		      "the pool counts %llu allocs, %llu frees, %llu failures; expected %llu, "
		      "%llu, %llu",
		      (unsigned long long)stats.allocs, (unsigned long long)stats.frees,
		      (unsigned long long)stats.failures, (unsigned long long)result->allocs,
		      (unsigned long long)result->allocs, (unsigned long long)result->failures);
	look_on(worker);
	expect(worker, mam_pool_trim(run->pool, 0, NULL), "mam_pool_trim");
	run->cuda->fake_holds(&held);
	expect(worker, mam_pool_stats(run->pool, &stats), "mam_pool_stats");
	if (held.device_bytes > 4u << 20)
		blame(worker,
		      "a trim of everything leaves %zu bytes, of which %llu are retired and %llu "
		      "cached",
		      held.device_bytes, (unsigned long long)stats.retired_bytes,
		      (unsigned long long)stats.cached_bytes);
	look_on(worker);
	expect(worker, mam_pool_stats(run->pool, &stats), "mam_pool_stats");
	if (stats.retired_blocks || stats.retired_bytes || stats.cached_blocks ||
	    stats.cached_bytes)
		blame(worker, "after a trim of everything %llu blocks are retired and %llu cached",
		      (unsigned long long)stats.retired_blocks,
		      (unsigned long long)stats.cached_blocks);
	expect(worker, mam_pool_destroy(run->pool), "mam_pool_destroy");
	mam_source_destroy(source);
	run->cuda->fake_holds(&held);
	if (held.device_bytes || held.blocks || held.handles || held.mappings || held.reservations)
		blame(worker,
		      "after the pool's end there are %zu bytes, %d blocks, %d handles, %d "
		      "mappings, %d ranges",
		      held.device_bytes, held.blocks, held.handles, held.mappings,
		      held.reservations);
	if (held.events)
		blame(worker, "after the pool's end there are %d events", held.events);
}

/* The run stopped at its first error: blocks are live, and the pool's metadata may be invalid. */
static void leave(struct run *run, struct worker *workers, struct mam_source *source)
{
	for (unsigned i = 0; i < run->setup->threads; i++)
		while (workers[i].count)
			free(workers[i].held[--workers[i].count]);
	for (unsigned i = 0; i < SLOTS; i++)
		free(atomic_exchange(&run->slots[i], NULL));
	mam_pool_abandon(run->pool);
	mam_source_destroy(source);
}

void mill_run(const struct cuda *cuda, const struct mill_setup *setup, struct mill_result *result)
{
	struct run *run = calloc(1, sizeof(*run));
	struct worker *workers = calloc(setup->threads, sizeof(*workers));
	struct mam_source *source;

	ck_assert(run && workers);
	memset(result, 0, sizeof(*result));
	run->cuda = cuda;
	run->setup = setup;
	run->shadow = shadow_new(cuda);
	pthread_mutex_init(&run->lock, NULL);
	cuda->cuCtxGetCurrent(&run->context);
	make_streams(run);
	if (make_pool(run, &source)) {
		for (unsigned i = 0; i < setup->threads; i++) {
			workers[i].run = run;
			workers[i].number = i;
			workers[i].state = (setup->seed + i) * 0x9e3779b97f4a7c15u | 1;
			ck_assert_int_eq(
				pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
		}
		for (unsigned i = 0; i < setup->threads; i++) {
			pthread_join(workers[i].thread, NULL);
			result->allocs += workers[i].allocs;
			result->frees += workers[i].frees;
			result->failures += workers[i].failures;
		}
		result->stats.size = sizeof(result->stats);
		expect(&workers[0], mam_pool_stats(run->pool, &result->stats), "mam_pool_stats");
		if (!run->failed)
			check_end(&workers[0], source, result);
		else
			leave(run, workers, source);
	}
	for (unsigned i = 2; i < SHARED; i++)
		cuda->cuStreamDestroy_v2(run->shared[i].handle);
	result->reused = shadow_reused(run->shadow);
	result->ahead = shadow_ahead(run->shadow);
	memcpy(result->why, run->why, sizeof(result->why));
	shadow_end(run->shadow);
	pthread_mutex_destroy(&run->lock);
	free(workers);
	free(run);
}
