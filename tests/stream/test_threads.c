/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads, each with a stream of its own and a default stream, that allocate, use and free
 * for a while; another one trims and checks. No block may have unfinished work of another stream.
 */
#include "scene.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define STEPS 3000
#define SLOTS 24
#define ROUNDS_MAX 30

struct worker {
	struct scene *s;
	struct CUctx_st *context;
	struct CUstream_st *stream;
	unsigned seed;
	size_t unit; /* of block sizes */
	pthread_t thread;
};

static atomic_bool over;

static unsigned draw(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/*
 * The stream's own work may still use the block, so the test waits for it first: any work that is
 * pending then belongs to another stream.
 */
static void *churn(void *argument)
{
	struct worker *worker = argument;
	struct scene *s = worker->s;
	struct {
		void *base;
		size_t bytes;
		struct CUstream_st *stream;
	} slots[SLOTS] = { { 0 } };

	s->cuda.cuCtxSetCurrent(worker->context);
	for (int step = 0; step < STEPS; step++) {
		unsigned i = draw(&worker->seed) % SLOTS;
		struct CUstream_st *stream =
			draw(&worker->seed) % 8 == 0 ? MAM_STREAM_PER_THREAD : worker->stream;

		if (slots[i].base == NULL) {
			slots[i].bytes = worker->unit * (1 + draw(&worker->seed) % 2000);
			slots[i].stream = stream;
			if (mam_malloc_async(s->pool, slots[i].bytes, stream, &slots[i].base) !=
			    MAM_OK) {
				slots[i].base = NULL;
				continue;
			}
			if (step % 16 == 0) {
				finish(s, stream);
				ck_assert_int_eq(pending(s, slots[i].base, slots[i].bytes), 0);
			}
		} else {
			if (stream != slots[i].stream) /* in order, after its own stream's work */
				finish(s, slots[i].stream);
			work(s, slots[i].base, slots[i].bytes, stream);
			dealloc(s, slots[i].base, stream);
			slots[i].base = NULL;
		}
		if (step % 500 == 0)
			ck_assert_int_eq(mam_stream_release(s->pool, stream), MAM_OK);
	}
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].base != NULL)
			dealloc(s, slots[i].base, slots[i].stream);
	return NULL;
}

/* On vmm, blocks of up to 8 MiB make the pool move and alias pieces. */
static const struct {
	const char *source;
	size_t limit;
	size_t unit;
} kinds[] = { { "cudamalloc", 64 * MIB, 512 }, { "vmm", 0, 4096 } };

static void *look(void *argument)
{
	struct worker *worker = argument;

	worker->s->cuda.cuCtxSetCurrent(worker->context);
	while (!atomic_load(&over)) {
		void *block = NULL;

		(void)mam_pool_trim(worker->s->pool, 0, NULL);
		if (mam_malloc(worker->s->pool, MIB, &block) == MAM_OK) {
			ck_assert_int_eq(pending(worker->s, block, MIB), 0);
			ck_assert_int_eq(mam_free(worker->s->pool, block), MAM_OK);
		}
		intact(worker->s);
	}
	return NULL;
}

/* All threads, from their start to their end. */
static void play(struct scene *s, size_t unit, unsigned seed)
{
	struct worker workers[THREADS + 1];

	atomic_store(&over, false);
	for (int i = 0; i <= THREADS; i++) {
		workers[i] = (struct worker){ .s = s, .seed = seed + (unsigned)i, .unit = unit };
		workers[i].stream = i < THREADS ? stream_new(s) : s->one;
		ck_assert_int_eq(s->cuda.cuCtxGetCurrent(&workers[i].context), CUDA_SUCCESS);
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL,
						i < THREADS ? churn : look, &workers[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	atomic_store(&over, true);
	ck_assert_int_eq(pthread_join(workers[THREADS].thread, NULL), 0);
}

START_TEST(threads_use_streams_of_their_own)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct scene *s;
	unsigned rounds = 1;

	attr.growth_bytes = 8 * MIB;
	attr.source = kinds[_i / 2].source;
	attr.limit_bytes = kinds[_i / 2].limit;
	attr.cache = _i % 2 == 0 ? MAM_CACHE_OFF : MAM_CACHE_ON;
	unsetenv("FAKE_CUDA_LOG");
	setenv("FAKE_CUDA_LAG_RANDOM", "5", 1);
	setenv("FAKE_CUDA_LAG_US", "20", 1);
	setenv("FAKE_CUDA_MEMORY", "512M", 1);
	s = scene_with(&attr);
	play(s, kinds[_i / 2].unit, 1);
	/* The thread that trims may release all memory that could be moved. */
	while (kinds[_i / 2].limit == 0 && stats_of(s).remaps == 0 && rounds < ROUNDS_MAX)
		play(s, kinds[_i / 2].unit, 100 * rounds++);
	ck_assert_uint_lt(rounds, ROUNDS_MAX);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).retired_bytes, 0);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, threads_use_streams_of_their_own, 0,
			    2 * (int)(sizeof(kinds) / sizeof(kinds[0])));
}

int main(void)
{
	return suite_run("stream/threads", add);
}
