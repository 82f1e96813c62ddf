/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream uses memory that another one freed, before its work is done: the GPU waits (borrow.c).
 *
 * The fake's work is unfinished until a call waits. It counts the waits of the host (fake_waited) and
 * the uses of memory that began before earlier ones ended, at any address (fake_crossed, which
 * scene_end checks). Without the GPU's wait, the uses below cross.
 */
#include "scene.h"

#include <string.h>

#define BLOCK (16 * MIB)
#define BLOCKS 4

static const char *const sources[] = { "cudamalloc", "vmm" };

/* A pool without thread caches; limit 0: none. */
static struct scene *pool_with(const char *source, size_t limit_bytes, size_t footprint)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = source;
	attr.growth_bytes = 8 * MIB;
	attr.limit_bytes = limit_bytes;
	attr.footprint = footprint;
	return scene_with(&attr);
}

static void *used(struct scene *s, size_t bytes, struct CUstream_st *stream)
{
	void *block = alloc(s, bytes, stream);

	work(s, block, bytes, stream);
	return block;
}

/* A block of the stream that its work still uses becomes free memory of the stream. */
static void *freed(struct scene *s, size_t bytes, struct CUstream_st *stream)
{
	void *block = used(s, bytes, stream);

	dealloc(s, block, stream);
	return block;
}

/* The number of the log's first line that begins so, counted from 1; 0: there is none. */
static unsigned line_of(const char *name)
{
	FILE *file = fopen(getenv("FAKE_CUDA_LOG"), "r");
	unsigned number = 0, found = 0;
	char line[512];

	ck_assert_ptr_nonnull(file);
	while (found == 0 && fgets(line, sizeof(line), file) != NULL) {
		number++;
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ')
			found = number;
	}
	fclose(file);
	return found;
}

/* The event is recorded after the work, when the block is freed, and only once. */
START_TEST(full_pool_lets_gpu_wait)
{
	struct scene *s = pool_with(sources[_i], BLOCK, 0);
	void *a = freed(s, BLOCK, s->one), *b;
	unsigned long waited = s->cuda.fake_waited();

	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	b = used(s, BLOCK, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(s->cuda.fake_waited(), waited);
	ck_assert_uint_eq(calls("cuEventRecord"), 1);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 1);
	ck_assert_uint_lt(line_of("cuEventRecord"), line_of("cuStreamWaitEvent"));
	ck_assert_uint_eq(stats_of(s).failures, 0);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

/* Below the footprint the pool grows; above it, the GPU waits. */
START_TEST(footprint_decides_between_growth_and_wait)
{
	struct scene *s = pool_with(sources[_i], 0, 50);
	void *keep = used(s, 2 * BLOCK, s->one), *a = freed(s, BLOCK, s->one), *b, *c;
	uint64_t before = stats_of(s).reserved_bytes;

	b = used(s, BLOCK, s->two); /* 64 of 72 MiB */
	ck_assert_ptr_ne(b, a);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 0);
	ck_assert_uint_gt(stats_of(s).reserved_bytes, before);
	before = stats_of(s).reserved_bytes;
	dealloc(s, keep, s->one); /* now 48 of 48 MiB */
	c = used(s, BLOCK, s->two);
	ck_assert_uint_eq(stats_of(s).reserved_bytes, before);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 1);
	dealloc(s, b, s->two);
	dealloc(s, c, s->two);
	scene_end(s);
}
END_TEST

START_TEST(pool_without_footprint_grows)
{
	struct scene *s = pool_with(sources[_i], 0, 0);
	void *a = freed(s, BLOCK, s->one), *b = used(s, BLOCK, s->two);

	ck_assert_ptr_ne(a, b);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 0);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

/* The smallest segment that fits; the rest stays with the stream that freed it. */
START_TEST(rest_stays_with_stream_that_freed_it)
{
	struct scene *s = pool_with(sources[_i], 2 * BLOCK, 0);
	void *a = freed(s, 2 * BLOCK, s->one), *b = used(s, BLOCK, s->two), *c;
	unsigned waits = calls("cuStreamWaitEvent");

	ck_assert_ptr_eq(b, a);
	c = used(s, BLOCK, s->one);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), waits);
	dealloc(s, b, s->two);
	dealloc(s, c, s->one);
	scene_end(s);
}
END_TEST

/* Two streams freed half of the pool each: the third one waits for both, and nothing else does. */
START_TEST(memory_of_several_streams_serves_one_request)
{
	struct scene *s = pool_with("vmm", 4 * BLOCK, 0);
	struct CUstream_st *three = stream_new(s);
	void *blocks[BLOCKS], *wide;
	unsigned long waited = s->cuda.fake_waited();

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = used(s, BLOCK, i % 2 ? s->one : s->two);
	for (int i = 0; i < BLOCKS; i++)
		dealloc(s, blocks[i], i % 2 ? s->one : s->two);
	wide = used(s, 4 * BLOCK, three);
	intact(s);
	ck_assert_uint_eq(s->cuda.fake_waited(), waited);
	ck_assert_uint_ge(calls("cuStreamWaitEvent"), 2);
	ck_assert_uint_le(stats_of(s).physical_bytes, 4 * BLOCK);
	dealloc(s, wide, three);
	scene_end(s);
}
END_TEST

/* Freed blocks between live ones: their pieces are mapped elsewhere for the other stream. */
START_TEST(pieces_of_other_stream_are_mapped_elsewhere)
{
	struct scene *s = pool_with("vmm", 0, 1);
	void *blocks[BLOCKS], *wide;
	uint64_t before;

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = used(s, BLOCK, s->one);
	for (int i = 0; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], s->one);
	before = stats_of(s).physical_bytes;
	wide = used(s, 2 * BLOCK, s->two);
	intact(s);
	ck_assert_uint_le(stats_of(s).physical_bytes, before + 4 * MIB);
	ck_assert_uint_gt(stats_of(s).remaps, 0);
	ck_assert_uint_ge(calls("cuStreamWaitEvent"), 1);
	dealloc(s, wide, s->two);
	for (int i = 1; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], s->one);
	scene_end(s);
}
END_TEST

/* Freed memory beside free memory is used where it is: nothing is mapped. */
START_TEST(gathered_memory_joins_free_neighbor)
{
	struct scene *s = pool_with("vmm", 0, 1);
	void *a = used(s, 2 * BLOCK, s->one), *b = used(s, BLOCK, s->one), *wide;

	dealloc(s, b, s->one);
	finish(s, s->one);
	ck_assert_int_eq(mam_stream_release(s->pool, s->one), MAM_OK); /* b is free */
	work(s, a, 2 * BLOCK, s->one);
	dealloc(s, a, s->one);
	calls_forget();
	wide = used(s, 2 * BLOCK + 8 * MIB, s->two);
	ck_assert_ptr_eq(wide, a);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 1);
	ck_assert_uint_eq(calls("cuMemMap"), 0);
	dealloc(s, wide, s->two);
	scene_end(s);
}
END_TEST

/*
 * Memory that the second stream does not need returns to the pool, although that stream makes no further
 * call: another stream gets it without a wait of the host, which is a small allocation and its free.
 */
START_TEST(gathered_memory_returns_to_pool)
{
	struct scene *s = pool_with("vmm", 5 * BLOCK, 0);
	void *a = used(s, 2 * BLOCK, s->one), *wall = used(s, BLOCK, s->one);
	void *b = used(s, 2 * BLOCK, s->one), *wide, *rest;

	dealloc(s, a, s->one);
	dealloc(s, b, s->one);
	wide = used(s, 3 * BLOCK, s->two);
	finish(s, s->one);
	finish(s, s->two);
	calls_forget();
	rest = used(s, BLOCK, s->one);
	ck_assert_uint_eq(calls("cuMemFree") + calls("cuStreamWaitEvent"), 0);
	dealloc(s, rest, s->one);
	dealloc(s, wide, s->two);
	dealloc(s, wall, s->one);
	scene_end(s);
}
END_TEST

/* Legacy by both handles, and the thread's own default stream, on either side. */
static struct CUstream_st *const defaults[] = { NULL, MAM_STREAM_LEGACY, MAM_STREAM_PER_THREAD };

START_TEST(default_streams_take_part)
{
	struct CUstream_st *stream = defaults[_i / 2];
	struct scene *s = pool_with("vmm", BLOCK, 0);
	struct CUstream_st *from = _i % 2 ? stream : s->one, *to = _i % 2 ? s->one : stream;
	unsigned long waited = s->cuda.fake_waited();
	void *a = NULL, *b;

	/* After some reuse, freed memory stays open: it has no event yet. */
	for (int i = 0; i < 40; i++)
		a = freed(s, BLOCK, from);
	if (_i % 2 == 0)
		ck_assert_int_eq(mam_stream_release(s->pool, from), MAM_OK);
	b = used(s, BLOCK, to);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(s->cuda.fake_waited(), waited);
	ck_assert_uint_gt(calls("cuStreamWaitEvent"), 0);
	dealloc(s, b, to);
	scene_end(s);
}
END_TEST

/* Open memory of other streams has no event: the host waits once, and their next frees record. */
START_TEST(host_waits_for_open_memory_once)
{
	struct scene *s = pool_with(sources[_i], BLOCK, 0);
	unsigned long waited;
	void *b;

	for (int i = 0; i < 40; i++)
		(void)freed(s, BLOCK, s->one);
	b = used(s, BLOCK, s->two);
	dealloc(s, b, s->two);
	waited = s->cuda.fake_waited();
	for (int i = 0; i < 40; i++)
		(void)freed(s, BLOCK, i / 4 % 2 ? s->two : s->one);
	ck_assert_uint_eq(s->cuda.fake_waited(), waited);
	scene_end(s);
}
END_TEST

/* Neither waits a stream in capture for another one, nor does one wait for it. */
START_TEST(stream_in_capture_takes_no_part)
{
	struct scene *s = pool_with("vmm", 2 * BLOCK, 1);
	void *a = freed(s, BLOCK, s->one), *inside = NULL, *b = NULL;

	capture_begin(s, s->two, _i);
	ck_assert_int_eq(mam_malloc_async(s->pool, BLOCK, s->two, &inside), MAM_OK);
	ck_assert_ptr_ne(inside, a);
	dealloc(s, inside, s->two);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 0);
	ck_assert_int_eq(mam_malloc_async(s->pool, 2 * BLOCK, s->one, &b), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 0);
	capture_end(s, s->two, true);
	scene_end(s);
}
END_TEST

/* A blocking stream in capture: the legacy stream can neither record nor wait, and none is ended. */
START_TEST(legacy_stream_ends_no_capture)
{
	struct scene *s = pool_with("vmm", 2 * BLOCK, 1);
	struct CUstream_st *blocking;
	void *a, *b = NULL;

	ck_assert_int_eq(s->cuda.cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
	a = freed(s, BLOCK, s->one);
	capture_begin(s, blocking, 2);
	b = alloc(s, BLOCK, NULL);
	ck_assert_ptr_ne(a, b);
	dealloc(s, b, NULL);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 0);
	b = NULL;
	(void)mam_malloc_async(s->pool, 2 * BLOCK, s->one, &b);
	capture_end(s, blocking, true);
	dealloc(s, b, s->one);
	scene_end(s);
}
END_TEST

/* Its batch is under an event, which outlives the stream. */
START_TEST(destroyed_stream_lends_its_memory)
{
	struct scene *s = pool_with(sources[_i], BLOCK, 0);
	struct CUstream_st *gone = stream_new(s);
	void *a = freed(s, BLOCK, gone), *b;
	unsigned long waited = s->cuda.fake_waited();

	stream_end(s, gone);
	b = used(s, BLOCK, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_uint_eq(s->cuda.fake_waited(), waited);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

/*
 * Without ids, an event of a stream may follow another stream with the same handle, and does not cover
 * its work.
 */
START_TEST(driver_without_ids_lends_nothing)
{
	struct scene *s = pool_with("vmm", 2 * BLOCK, 0);
	struct mam_streams *streams = s->pool->stream;
	struct CUstream_st *old = stream_new(s);
	struct mam_driver without;
	void *a, *b;

	dealloc(s, alloc(s, MIB, NULL), NULL); /* binds the pool to its context */
	without = *streams->fences.device.driver;
	without.stream_get_id = NULL;
	streams->fences.device.driver = &without;
	a = used(s, BLOCK, old);
	b = alloc(s, BLOCK, old);
	dealloc(s, a, old);
	stream_end(s, old);
	ck_assert_ptr_eq(stream_new(s), old);
	dealloc(s, b, old); /* joined with a, under an event of the new stream */
	a = alloc(s, 2 * BLOCK, s->two);
	ck_assert_uint_eq(calls("cuStreamWaitEvent"), 0);
	ck_assert_int_eq(pending(s, a, 2 * BLOCK), 0);
	dealloc(s, a, s->two);
	scene_end(s);
}
END_TEST

/* The driver refuses the wait: nothing is taken without it, and the host waits instead. */
START_TEST(refused_wait_takes_nothing)
{
	struct scene *s;
	void *a, *b;

	setenv("FAKE_CUDA_FAIL_AT", "cuStreamWaitEvent:1+", 1);
	s = pool_with(sources[_i], BLOCK, 0);
	a = freed(s, BLOCK, s->one);
	b = alloc(s, BLOCK, s->two);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(pending(s, b, BLOCK), 0);
	dealloc(s, b, s->two);
	scene_end(s);
}
END_TEST

static const char *const fallible[] = { "cuStreamWaitEvent", "cuEventRecord",  "cuEventQuery",
					"cuEventCreate",     "cuMemMap",       "cuMemSetAccess",
					"cuMemUnmap",        "cuMemCreate",    "cuMemRelease",
					"cuStreamGetId",     "cuStreamGetCtx", "cuCtxPushCurrent",
					"cuCtxGetCurrent",   "cuMemAlloc",     "cuMemFree" };

#define FALLIBLE (sizeof(fallible) / sizeof(fallible[0]))
#define FAILURES 10
#define FIRST_CALL 3 /* the scene itself makes fewer calls of any of these */
#define STREAMS 3
#define PROGRAM_BLOCKS 12

/* Random requests on three streams of a pool that is small for them. Every use is checked. */
static void play(struct scene *s, unsigned seed)
{
	struct CUstream_st *streams[STREAMS] = { s->one, s->two, NULL };
	struct {
		void *base;
		size_t bytes;
		struct CUstream_st *stream;
	} blocks[PROGRAM_BLOCKS] = { { NULL, 0, NULL } };

	for (int step = 0; step < 300; step++) {
		unsigned k, bytes;

		seed = seed * 1664525u + 1013904223u;
		k = (seed >> 8) % PROGRAM_BLOCKS;
		bytes = (1 + (seed >> 16) % 15) * (unsigned)MIB;
		if (blocks[k].base != NULL) {
			ck_assert_int_eq(mam_free_async(s->pool, blocks[k].base, blocks[k].stream),
					 MAM_OK);
			blocks[k].base = NULL;
			continue;
		}
		blocks[k].stream = streams[(seed >> 4) % STREAMS];
		if (mam_malloc_async(s->pool, bytes, blocks[k].stream, &blocks[k].base) != MAM_OK)
			blocks[k].base = NULL;
		else
			work(s, blocks[k].base, bytes, blocks[k].stream);
		if (step % 8 == 0)
			intact(s);
	}
	for (int k = 0; k < PROGRAM_BLOCKS; k++)
		if (blocks[k].base != NULL)
			dealloc(s, blocks[k].base, blocks[k].stream);
}

START_TEST(failed_calls_break_nothing)
{
	size_t row = (size_t)_i % FALLIBLE;
	char rule[64];
	struct scene *s;

	snprintf(rule, sizeof(rule), "%s:%d%s", fallible[row], FIRST_CALL + _i / (int)FALLIBLE * 7,
		 _i % 2 ? "" : "+");
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
	s = pool_with(sources[_i % 2], 48 * MIB, 1);
	play(s, (unsigned)_i + 1);
	unsetenv("FAKE_CUDA_FAIL_AT");
	intact(s);
	ck_assert_uint_eq(stats_of(s).live_blocks, 0);
	ck_assert_int_eq(s->cuda.fake_crossed(), 0);
	(void)mam_pool_destroy(s->pool);
	free(s);
}
END_TEST

START_TEST(random_programs_share_memory_between_streams)
{
	struct scene *s = pool_with(sources[_i % 2], _i < 8 ? 64 * MIB : 0, (size_t)(_i % 4));
	struct mam_stats stats;

	play(s, (unsigned)_i + 77);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.allocs, stats.frees);
	if (_i < 8 || _i % 4 != 0)
		ck_assert_uint_gt(calls("cuStreamWaitEvent"), 0);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, full_pool_lets_gpu_wait, 0, 2);
	tcase_add_loop_test(tests, footprint_decides_between_growth_and_wait, 0, 2);
	tcase_add_loop_test(tests, pool_without_footprint_grows, 0, 2);
	tcase_add_loop_test(tests, rest_stays_with_stream_that_freed_it, 0, 2);
	tcase_add_test(tests, memory_of_several_streams_serves_one_request);
	tcase_add_test(tests, pieces_of_other_stream_are_mapped_elsewhere);
	tcase_add_test(tests, gathered_memory_joins_free_neighbor);
	tcase_add_test(tests, gathered_memory_returns_to_pool);
	tcase_add_loop_test(tests, default_streams_take_part, 0, 6);
	tcase_add_loop_test(tests, host_waits_for_open_memory_once, 0, 2);
	tcase_add_loop_test(tests, stream_in_capture_takes_no_part, 0, 3);
	tcase_add_test(tests, legacy_stream_ends_no_capture);
	tcase_add_loop_test(tests, destroyed_stream_lends_its_memory, 0, 2);
	tcase_add_test(tests, driver_without_ids_lends_nothing);
	tcase_add_loop_test(tests, refused_wait_takes_nothing, 0, 2);
	tcase_add_loop_test(tests, failed_calls_break_nothing, 0, (int)FALLIBLE * FAILURES);
	tcase_add_loop_test(tests, random_programs_share_memory_between_streams, 0, 16);
}

int main(void)
{
	return suite_run("stream/borrow", add);
}
