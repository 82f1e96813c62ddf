/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures around a heap of objects: attributes, calls on a heap of the other kind, each driver
 * call in turn, out of memory, streams in capture, pools that are destroyed, and slabs that open or
 * close while the host looks at them. Nothing leaks, and no operation is left incomplete.
 */
#include "tools/failing.h"

#include <mam/heap.cuh>

#include "heap_fixture.h"

#define NON_BLOCKING 1u
#define BLOCK ((size_t)MAM_HEAP_BLOCK)

static bool count_one(void *argument, void *address, size_t bytes)
{
	(void)address;
	(void)bytes;
	++*(unsigned int *)argument;
	return true;
}

static unsigned int walked(struct mam_heap *heap)
{
	unsigned int count = 0;

	ck_assert_int_eq(mam_heap_walk(heap, NULL, count_one, &count), MAM_OK);
	return count;
}

static struct mam_stats pool_stats(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

START_TEST(attributes_out_of_range_are_rejected)
{
#define SIZED .size = sizeof(struct mam_heap_attr)
	static const struct mam_heap_attr rows[] = {
		{ SIZED },                                   /* no bytes */
		{ SIZED, .bytes = MIB, .page_bytes = 4096 }, /* pages only */
		{ SIZED, .bytes = MIB, .low_per_mille = 5 }, /* pages only */
		{ SIZED, .bytes = MIB, .kind = 2 },          /* invalid kind */
		{ SIZED, .bytes = MIB, .kind = UINT32_MAX },
		{ SIZED, .bytes = SIZE_MAX },
		{ SIZED,
		  .bytes = (((size_t)1 << 26) - 1) * BLOCK + 1 }, /* more blocks than numbers */
	};
#undef SIZED
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = (struct mam_heap *)&pool;
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;

	(void)cuda;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(mam_heap_create(pool, &rows[i], &heap) == MAM_ERROR_INVALID_VALUE,
			      "row %zu", i);
	/* The maximum number: only the memory is missing. */
	attr.bytes = (((size_t)1 << 26) - 1) * BLOCK;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(heap, (struct mam_heap *)&pool); /* outputs only on success */
	pool_end(pool);
}
END_TEST

/* Calls of one kind on a heap of the other return defined values and change nothing. */
START_TEST(calls_of_the_other_kind_are_rejected)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *pages = heap_of(pool, MIB, 4096), *objects = objects_of(pool, MIB);
	struct mam_kheap *device = mam_heap_device(pages);
	unsigned int count = 0;
	struct mam_kwalk walk;
	void *object = &count;
	size_t taken = 77;

	(void)cuda;
	ck_assert_int_eq(mam_heap_walk(pages, NULL, count_one, &count), MAM_ERROR_UNSUPPORTED);
	ck_assert_int_eq(mam_heap_free(pages, NULL, &object, 1, &taken), MAM_ERROR_UNSUPPORTED);
	ck_assert_uint_eq(taken, 0);
	ck_assert_uint_eq(count, 0);
	ck_assert_ptr_null(mam_kmalloc(device, 16));
	ck_assert(!mam_kfree(device, device->space));
	mam_kdrain(device);
	mam_kdrain(NULL);
	ck_assert_uint_eq(stats_of(pages).taken, 0);
	ck_assert_uint_eq(stats_of(pages).wrong_heaps, 2);

	device = mam_heap_device(objects);
	mam_kpage_start(device, &walk);
	ck_assert_ptr_null(mam_kpage_alloc(device, &walk));
	ck_assert_ptr_null(mam_kpage_alloc_run(device, &walk, 2));
	ck_assert(!mam_kpage_free(device, device->space));
	ck_assert_uint_eq(stats_of(objects).taken, 0);
	ck_assert_uint_eq(stats_of(objects).wrong_heaps, 3);
	ck_assert_uint_eq(stats_of(objects).full + stats_of(objects).foreign_frees, 0);
	ck_assert_int_eq(mam_heap_reset(objects, NULL), MAM_OK);
	ck_assert_int_eq(mam_heap_reset(pages, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(objects).wrong_heaps + stats_of(pages).wrong_heaps, 0);
	heap_end(pages);
	heap_end(objects);
	pool_end(pool);
}
END_TEST

START_TEST(invalid_arguments_are_rejected)
{
	struct mam_heap_info info = { .size = sizeof(info) };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct CUstream_st *stream;
	unsigned int count = 0;
	void *object = mam_kmalloc(mam_heap_device(heap), 16);
	size_t taken = 77;

	ck_assert_int_eq(mam_heap_walk(NULL, NULL, count_one, &count), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_walk(heap, NULL, NULL, &count), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_free(NULL, NULL, &object, 1, &taken), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_free(heap, NULL, NULL, 1, &taken), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(taken, 0);
	ck_assert_int_eq(mam_heap_free(heap, NULL, NULL, 0, NULL), MAM_OK);

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
	ck_assert_int_eq(mam_heap_walk(heap, stream, count_one, &count), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_free(heap, stream, &object, 1, &taken), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_stats(heap, stream, &info), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_reset(heap, stream), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(count, 0);
	ck_assert_uint_eq(stats_of(heap).returned, 0);
	ck_assert_uint_eq(walked(heap), 1);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* The struct of a caller that was built before heaps of objects ends before their fields. */
START_TEST(statistics_respect_struct_size)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_heap_info info;

	(void)cuda;
	ck_assert_ptr_nonnull(mam_kmalloc(mam_heap_device(heap), 16));
	memset(&info, 0x77, sizeof(info));
	info.size = offsetof(struct mam_heap_info, wrong_heaps);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_OK);
	ck_assert_uint_eq(info.pages, 1024);
	ck_assert_uint_eq(info.taken, 1);
	ck_assert_uint_eq(info.wrong_heaps, 0x7777777777777777u);
	ck_assert_uint_eq(info.classes[0].objects, 0x7777777777777777u);
	info.size = offsetof(struct mam_heap_info, classes) + sizeof(info.classes[0]);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_OK);
	ck_assert_uint_eq(info.classes[0].objects, 1);
	ck_assert_uint_eq(info.classes[1].objects, 0x7777777777777777u);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- driver errors --------------------------------------------------------------------------- */

struct trial {
	struct cuda cuda;
	struct mam_pool *pool;
	struct mam_heap *heap;
	void *objects[40];
	bool failed; /* whether a call failed in the last trial */
};

/* The call is over: stops failure injection. */
static void stop(struct trial *trial)
{
	char name[64];

	trial->failed = trial->cuda.fake_failed(name, sizeof(name)) != 0;
	trial->cuda.fake_fail(0, 0);
	failing_left = -1;
}

/* The calls under test, and checks of the state that they leave. */
static enum mam_status try_create(struct trial *trial)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *other = NULL;
	enum mam_status status;

	attr.bytes = 3 * BLOCK;
	status = mam_heap_create(trial->pool, &attr, &other);
	stop(trial);
	if (status == MAM_OK)
		heap_end(other);
	else
		ck_assert_ptr_null(other);
	ck_assert_uint_eq(pool_stats(trial->pool).live_blocks, 1);
	return status;
}

static enum mam_status try_stats(struct trial *trial)
{
	struct mam_heap_info info = { .size = sizeof(info), .objects = 77 };
	enum mam_status status = mam_heap_stats(trial->heap, NULL, &info);

	stop(trial);
	ck_assert_uint_eq(info.objects, status == MAM_OK ? 40 : 77);
	return status;
}

static enum mam_status try_walk(struct trial *trial)
{
	unsigned int count = 0;
	enum mam_status status = mam_heap_walk(trial->heap, NULL, count_one, &count);

	stop(trial);
	if (status == MAM_OK)
		ck_assert_uint_eq(count, 40);
	else
		ck_assert(count == 0 || count == 40); /* one piece */
	return status;
}

/* Whether published or not, the published entries are correct. */
static enum mam_status try_free(struct trial *trial)
{
	const struct mam_returns *ring = mam_heap_device(trial->heap)->returns;
	uint64_t told = ring->told;
	size_t taken = 77;
	enum mam_status status = mam_heap_free(trial->heap, NULL, trial->objects + 3, 30, &taken);

	stop(trial);
	(void)walked(trial->heap); /* submitted work has completed */
	ck_assert_uint_eq(taken, status == MAM_OK ? 30 : 0);
	ck_assert(ring->told == told + 30 || (status != MAM_OK && ring->told == told));
	for (uint64_t i = told; i < ring->told; i++)
		ck_assert_uint_eq(ring->address[i % MAM_RETURNS],
				  (uintptr_t)trial->objects[3 + i - told]);
	return status;
}

static enum mam_status try_reset(struct trial *trial)
{
	enum mam_status status = mam_heap_reset(trial->heap, NULL);

	stop(trial);
	return status;
}

/* The n-th driver call fails, for each n until all succeed. */
START_TEST(failed_driver_call_leaks_nothing)
{
	static const struct {
		const char *name;
		enum mam_status (*call)(struct trial *trial);
		unsigned int min; /* failures */
	} rows[] = {
		{ "create", try_create, 9 }, { "stats", try_stats, 12 }, { "walk", try_walk, 10 },
		{ "free", try_free, 12 },    { "reset", try_reset, 3 },
	};
	struct trial trial = { .cuda = load() };

	trial.pool = pool_new();
	trial.heap = objects_of(trial.pool, 4 * BLOCK);
	for (unsigned int i = 0; i < 40; i++)
		ck_assert_ptr_nonnull(trial.objects[i] = mam_kmalloc(mam_heap_device(trial.heap),
								     i < 38 ? 20 + i : 20000));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned int failed = 0;

		for (unsigned long at = 1;; at++) {
			enum mam_status status;

			trial.cuda.fake_fail(at, 1);
			status = rows[i].call(&trial);
			if (!trial.failed) {
				ck_assert_msg(status == MAM_OK, "%s", rows[i].name);
				break;
			}
			failed += status != MAM_OK;
		}
		ck_assert_msg(failed >= rows[i].min, "%s: %u", rows[i].name, failed);
	}
	heap_end(trial.heap);
	pool_end(trial.pool);
}
END_TEST

/* ---- out of memory --------------------------------------------------------------------------- */

/* The number of allocations in the call, each of which failed once before it succeeded. */
static unsigned int fails_of(enum mam_status (*call)(struct trial *trial), struct trial *trial)
{
	for (unsigned int at = 0;; at++) {
		enum mam_status status;

		failing_left = at;
		status = call(trial);
		if (status == MAM_OK)
			return at;
		ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
		ck_assert_uint_lt(at, 20);
	}
}

START_TEST(calls_fail_without_host_memory)
{
	struct trial trial = { .cuda = load() };

	trial.pool = pool_new();
	trial.heap = objects_of(trial.pool, 4 * BLOCK);
	for (unsigned int i = 0; i < 40; i++)
		ck_assert_ptr_nonnull(mam_kmalloc(mam_heap_device(trial.heap), 20 + i));
	ck_assert_uint_eq(fails_of(try_create, &trial), 1);
	ck_assert_uint_eq(fails_of(try_stats, &trial), 8);
	ck_assert_uint_eq(fails_of(try_walk, &trial), 5);
	ck_assert_uint_eq(fails_of(try_free, &trial), 0);
	heap_end(trial.heap);
	pool_end(trial.pool);
}
END_TEST

START_TEST(create_fails_if_pool_is_too_small)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_heap_attr wanted = MAM_HEAP_ATTR_INIT;
	struct cuda cuda = load();
	struct mam_pool *pool;
	struct mam_heap *heap;

	(void)cuda;
	attr.limit_bytes = 4 * MIB;
	attr.growth_bytes = 2 * MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	wanted.bytes = 4 * MIB; /* plus its metadata */
	ck_assert_int_eq(mam_heap_create(pool, &wanted, &heap), MAM_ERROR_OUT_OF_MEMORY);
	wanted.bytes = MIB;
	ck_assert_int_eq(mam_heap_create(pool, &wanted, &heap), MAM_OK);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- streams --------------------------------------------------------------------------------- */

/* A reset may be captured, calls that wait may not; no capture is disturbed. */
START_TEST(stream_capture_is_not_disturbed)
{
	struct mam_heap_info info = { .size = sizeof(info) };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	void *object = mam_kmalloc(mam_heap_device(heap), 100);
	struct CUstream_st *streams[2];
	struct CUgraph_st *graph;

	for (unsigned int blocking = 0; blocking < 2; blocking++) {
		struct CUstream_st **stream = &streams[blocking];
		unsigned int count = 0;
		size_t taken = 77;

		ck_assert_int_eq(cuda.cuStreamCreate(stream, blocking ? 0 : NON_BLOCKING),
				 CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(*stream, CAPTURE_GLOBAL),
				 CUDA_SUCCESS);
		ck_assert_int_eq(mam_heap_reset(heap, *stream), MAM_OK);
		ck_assert_int_eq(mam_heap_stats(heap, *stream, &info), MAM_ERROR_WOULD_WAIT);
		ck_assert_int_eq(mam_heap_walk(heap, *stream, count_one, &count),
				 MAM_ERROR_WOULD_WAIT);
		ck_assert_int_eq(mam_heap_free(heap, *stream, &object, 1, &taken),
				 MAM_ERROR_WOULD_WAIT);
		ck_assert_uint_eq(taken, 0);
		ck_assert_uint_eq(count, 0);
		if (blocking)
			ck_assert_int_eq(mam_heap_free(heap, NULL, &object, 1, &taken),
					 MAM_ERROR_WOULD_WAIT);
		else
			ck_assert_uint_eq(stats_of(heap).objects, 1); /* the graph has not run */
		ck_assert_int_eq(cuda.cuStreamEndCapture(*stream, &graph), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	}
	ck_assert_uint_eq(stats_of(heap).returned, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Concurrent work of another stream, in order. */
struct fill {
	void *at;
	unsigned char value;
	size_t bytes;
};

static void submit(const struct cuda *cuda, struct CUstream_st *stream, const struct fill *fills,
		   unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		ck_assert_int_eq(cuda->cuMemsetD8Async((uintptr_t)fills[i].at, fills[i].value,
						       fills[i].bytes, stream),
				 CUDA_SUCCESS);
}

/*
 * An empty slab is closed, as slab.h does it, or opened, at each possible moment of a call. Its
 * word is 0 before and after, as that of a full one is; no call may report 64 objects.
 */
START_TEST(opening_or_closing_slab_counts_no_objects)
{
	const bool begins = _i;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned int stood = 0, gone = 0;
	struct CUstream_st *other, *own;

	ck_assert_int_eq(cuda.cuStreamCreate(&other, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&own, NON_BLOCKING), CUDA_SUCCESS);
	for (unsigned int turn = 0; turn < 48; turn++) {
		unsigned char *object = mam_kmalloc(device, 16);
		uint32_t unit = (uint32_t)((object - device->space) / 1024);
		unsigned char *owner = (unsigned char *)device->owners + unit;
		uint64_t *word = &mam_metadata_words(device, 1)[unit];
		const struct fill wait = { object, 0, 16 };
		const struct fill ends[] = { { owner, 1 + MAM_OWNER_MOVING, 1 },
					     { word, 0, 8 },
					     { owner, 0, 1 } };
		const struct fill opens[] = { { owner, 1 + MAM_OWNER_MOVING, 1 },
					      { word, 0xff, 8 },
					      { owner, 1, 1 } };
		unsigned int count = 0;
		struct mam_heap_info info;

		ck_assert(mam_kfree(device, object));
		ck_assert_uint_eq(*word, ~(uint64_t)0);
		ck_assert_uint_eq(*owner, 1);
		if (begins) {
			*word = 0;
			*owner = 0;
		}
		for (unsigned int i = 0; i < turn / 2; i++)
			submit(&cuda, other, &wait, 1);
		submit(&cuda, other, begins ? opens : ends, 3);
		if (turn % 2) {
			ck_assert_int_eq(mam_heap_walk(heap, own, count_one, &count), MAM_OK);
			ck_assert_uint_eq(count, 0);
		} else {
			info = stats_in(heap, own);
			ck_assert_uint_eq(info.objects, 0);
			stood += info.idle_slabs == 1;
			gone += info.idle_slabs == 0;
		}
		ck_assert_int_eq(cuda.cuStreamSynchronize(other), CUDA_SUCCESS);
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	}
	ck_assert_uint_gt(stood, 0);
	ck_assert_uint_gt(gone, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- destruction ----------------------------------------------------------------------------- */

START_TEST(calls_fail_after_pool_is_abandoned)
{
	struct mam_heap_info info = { .size = sizeof(info) };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	unsigned int count = 0;
	void *object = &count;

	(void)cuda;
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_walk(heap, NULL, count_one, &count), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_free(heap, NULL, &object, 1, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_destroy(heap), MAM_OK);
}
END_TEST

START_TEST(destroy_leaks_nothing)
{
	struct fake_held before, after;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	cuda.fake_holds(&before);
	for (unsigned int i = 0; i < 30; i++) {
		struct mam_heap *heap = objects_of(pool, (i + 1) * BLOCK);
		void *object = mam_kmalloc(mam_heap_device(heap), 100);

		(void)stats_of(heap);
		ck_assert_uint_eq(walked(heap), 1);
		ck_assert_int_eq(mam_heap_free(heap, NULL, &object, 1, NULL), MAM_OK);
		heap_end(heap);
	}
	ck_assert_uint_eq(pool_stats(pool).live_blocks, 0);
	pool_end(pool);
	cuda.fake_holds(&after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, attributes_out_of_range_are_rejected);
	tcase_add_test(tests, calls_of_the_other_kind_are_rejected);
	tcase_add_test(tests, invalid_arguments_are_rejected);
	tcase_add_test(tests, statistics_respect_struct_size);
	tcase_add_test(tests, failed_driver_call_leaks_nothing);
	tcase_add_test(tests, calls_fail_without_host_memory);
	tcase_add_test(tests, create_fails_if_pool_is_too_small);
	tcase_add_test(tests, stream_capture_is_not_disturbed);
	tcase_add_loop_test(tests, opening_or_closing_slab_counts_no_objects, 0, 2);
	tcase_add_test(tests, calls_fail_after_pool_is_abandoned);
	tcase_add_test(tests, destroy_leaks_nothing);
}

int main(void)
{
	return run_suite("heap/heap_objects_failure", add);
}
