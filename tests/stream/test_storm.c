/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storm of streams: threads create and destroy 100,000 of them, while blocks that were used on
 * them are in caches, in stream free lists, with callers and with other threads. No block is reused
 * too early, all come back, and the memory of mam itself does not grow. Most streams are released
 * before they end, as <mam/stream.h> advises. Some blocks of the others stay with a stream that no
 * longer exists.
 *
 * TEST_SHARE=n creates one n-th of the streams.
 */
#include "scene.h"

#include <pthread.h>
#include <stdatomic.h>

#include "pool/handle.h"
#include "stress/scale.h"

#define STREAMS 100000
#define THREADS 3
#define LONG_LIVED 100      /* frees on a stream after which a thread has bins for it */
#define LONG_EVERY 63       /* one of this number of streams is used that often */
#define FORGOTTEN_EVERY 257 /* one of this number of streams is not released */
#define PAGES_MAX 3000      /* of host memory that may be added after a quarter of the streams */
#define HANDLES_MAX 1024    /* of streams that exist at the same time, by far */

/* A block that work on its stream uses. The thread that gets it frees it and ends the stream. */
struct handed {
	void *block;
	size_t bytes;
	struct CUstream_st *stream;
};

struct thread {
	struct scene *s;
	struct CUctx_st *context;
	unsigned number, streams, ended;
	_Atomic(struct handed *) inbox; /* from the thread before this one */
	struct thread *next;
	pthread_t thread;
	uint64_t allocs;
	struct CUstream_st *handles[HANDLES_MAX]; /* different ones so far */
	unsigned handle_count;
};

static struct thread threads[THREADS];
static pthread_barrier_t quarter;

static void note_handle(struct thread *self, struct CUstream_st *stream)
{
	for (unsigned i = 0; i < self->handle_count; i++)
		if (self->handles[i] == stream)
			return;
	ck_assert_uint_lt(self->handle_count, HANDLES_MAX);
	self->handles[self->handle_count++] = stream;
}

/* A block of the stream that its work uses. */
static struct handed use(struct thread *self, struct CUstream_st *stream, size_t bytes)
{
	struct handed handed = { alloc(self->s, bytes, stream), bytes, stream };

	self->allocs++;
	work(self->s, handed.block, bytes, stream);
	return handed;
}

static void end_stream(struct thread *self, struct CUstream_st *stream)
{
	if (++self->ended % FORGOTTEN_EVERY != 0)
		ck_assert_int_eq(mam_stream_release(self->s->pool, stream), MAM_OK);
	stream_end(self->s, stream);
}

static void end_handed(struct thread *self, const struct handed *handed)
{
	dealloc(self->s, handed->block, handed->stream);
	end_stream(self, handed->stream);
}

static void receive(struct thread *self)
{
	struct handed *handed = atomic_exchange(&self->inbox, NULL);

	if (handed)
		end_handed(self, handed);
	free(handed);
}

/* The next thread frees the block; this one does, if the next one has not taken the last one yet. */
static void send(struct thread *self, struct handed handed)
{
	struct handed *copy = malloc(sizeof(*copy)), *none = NULL;

	ck_assert_ptr_nonnull(copy);
	*copy = handed;
	if (atomic_compare_exchange_strong(&self->next->inbox, &none, copy))
		return;
	free(copy);
	end_handed(self, &handed);
}

/* The last block of a stream: `turn` decides who frees it, and when its stream ends. */
static void finish_stream(struct thread *self, unsigned turn, struct handed handed)
{
	struct scene *s = self->s;

	switch (turn % 4) {
	case 0: send(self, handed); break;
	case 1: end_handed(self, &handed); break;
	case 2: /* the stream ends while the caller holds the block, whose work is over */
		finish(s, handed.stream);
		end_stream(self, handed.stream);
		dealloc(s, handed.block, s->one);
		break;
	default: /* the same, but its work is not over: a free that waits for the device */
		end_stream(self, handed.stream);
		ck_assert_int_eq(mam_free(s->pool, handed.block), MAM_OK);
	}
}

static void one_stream(struct thread *self, unsigned turn)
{
	size_t bytes = 4 * KIB << (turn + self->number) % 8;
	struct CUstream_st *stream = stream_new(self->s);

	note_handle(self, stream);
	for (unsigned i = 0; i < (turn % LONG_EVERY == 0 ? LONG_LIVED : 2); i++) {
		struct handed handed = use(self, stream, bytes);

		dealloc(self->s, handed.block, stream);
	}
	finish_stream(self, turn, use(self, stream, bytes));
	receive(self);
}

static void *storm(void *argument)
{
	struct thread *self = argument;

	self->s->cuda.cuCtxSetCurrent(self->context);
	for (unsigned turn = 0; turn < self->streams; turn++) {
		if (turn == self->streams / 4) {
			pthread_barrier_wait(&quarter); /* the main thread looks */
			pthread_barrier_wait(&quarter);
		}
		one_stream(self, turn);
	}
	pthread_barrier_wait(&quarter); /* no more blocks are handed over */
	receive(self);
	return NULL;
}

static void start(struct scene *s)
{
	unsigned streams =
		(unsigned)(STREAMS / THREADS / STRESS_SHARE / from_environment("TEST_SHARE", 1)) +
		1;

	pthread_barrier_init(&quarter, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .s = s, .number = i, .streams = streams };
		threads[i].next = &threads[(i + 1) % THREADS];
		ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&threads[i].context), CUDA_SUCCESS);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i].thread, NULL, storm, &threads[i]), 0);
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all, resident = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld %ld", &all, &resident), 2);
	fclose(file);
	return resident;
}

/* Metadata without the pages of free lists: a list that is reused for other sizes gets more of them. */
static uint64_t metadata_bytes(struct scene *s)
{
	const struct mam_pool *pool = mam_handle_storage(s->pool);
	uint64_t pages = mam_freelists_bytes(&pool->freelists) + mam_holds_bytes(pool) -
			 mam_records_bytes(&pool->holds);

	for (unsigned part = 0; pool->range != NULL && part < MAM_RANGE_PARTS; part++)
		pages += mam_freelists_bytes(&pool->range->part[part].free_blocks) +
			 mam_freelists_bytes(&pool->range->part[part].unmapped);
	return stats_of(s).host_bytes - pages;
}

static const char *const sources[] = { "cudamalloc", "vmm" };

START_TEST(streams_of_threads_leave_nothing)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	const struct mam_streams *streams;
	struct mam_stats late;
	uint64_t allocs = 0, metadata;
	struct scene *s;
	long pages;

	unsetenv("FAKE_CUDA_LOG");
	setenv("FAKE_CUDA_LAG_US", "10", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	attr.source = sources[_i];
	attr.growth_bytes = 8 * MIB;
	attr.cache = MAM_CACHE_ON;
	s = scene_with(&attr);
	streams = mam_handle_storage(s->pool)->stream;
	start(s);
	pthread_barrier_wait(&quarter);
	metadata = metadata_bytes(s);
	pages = resident_pages();
	pthread_barrier_wait(&quarter);
	pthread_barrier_wait(&quarter);
	for (unsigned i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i].thread, NULL), 0);
		allocs += threads[i].allocs;
		/* The driver reused most handles. */
		ck_assert_uint_lt(threads[i].handle_count, threads[i].streams / 8 + 64);
	}
	late = stats_of(s);
	ck_assert_uint_eq(late.allocs, allocs);
	ck_assert_uint_eq(late.frees, allocs);
	ck_assert_uint_eq(late.live_blocks, 0);
	ck_assert_uint_le(late.reserved_bytes, 64 * MIB);
	ck_assert_uint_le(metadata_bytes(s), metadata + 64 * KIB);
#if STRESS_SHARE == 1 /* sanitizers keep records of memory */
	ck_assert_int_lt(resident_pages() - pages, PAGES_MAX);
#else
	(void)pages;
#endif
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	ck_assert_uint_eq(stats_of(s).cached_blocks, 0);
	ck_assert_uint_eq(stats_of(s).reserved_bytes, 0);
	ck_assert_uint_le(streams->count, 128);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, streams_of_threads_leave_nothing, 0,
			    (int)(sizeof(sources) / sizeof(sources[0])));
}

int main(void)
{
	return suite_run("stream/storm", add);
}
