/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures around a heap: arguments, sources without device memory, each driver call in turn, out
 * of memory, streams in capture, pools that are destroyed. Nothing leaks, and no operation is left
 * incomplete.
 */
#include "tools/failing.h"

#include "heap_fixture.h"

#define NON_BLOCKING 1u
#define PAGES                                                                \
	{                                                                    \
		.size = sizeof(struct mam_heap_attr), .kind = MAM_HEAP_PAGES \
	}

START_TEST(attributes_out_of_range_are_rejected)
{
#define ROW(size_, bytes_, page, low)                                                             \
	{                                                                                         \
		.size = (size_), .bytes = (bytes_), .page_bytes = (page), .low_per_mille = (low), \
		.kind = MAM_HEAP_PAGES                                                            \
	}
	static const struct mam_heap_attr rows[] = {
		ROW(0, MIB, 4096, 5),                                  /* no size */
		ROW(sizeof(struct mam_heap_attr) - 1, MIB, 4096, 5),   /* too short */
		ROW(4097, MIB, 4096, 5),                               /* an unreasonable size */
		ROW(sizeof(struct mam_heap_attr), 0, 4096, 5),         /* no bytes */
		ROW(sizeof(struct mam_heap_attr), MIB, 128, 5),        /* pages too small */
		ROW(sizeof(struct mam_heap_attr), MIB, 8 * MIB, 5),    /* too large */
		ROW(sizeof(struct mam_heap_attr), MIB, 4096 + 256, 5), /* not a power of two */
		ROW(sizeof(struct mam_heap_attr), MIB, 4096, 1001),
		ROW(sizeof(struct mam_heap_attr), SIZE_MAX, 256,
		    5), /* more pages than page numbers */
		ROW(sizeof(struct mam_heap_attr), (size_t)MAM_PAGES_COUNT_MAX * 256 + 1, 256, 5),
	};
#undef ROW
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = (struct mam_heap *)&pool;
	struct mam_heap_attr attr = PAGES;

	(void)cuda;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(mam_heap_create(pool, &rows[i], &heap) == MAM_ERROR_INVALID_VALUE,
			      "row %zu", i);
	ck_assert_int_eq(mam_heap_create(pool, NULL, &heap), MAM_ERROR_INVALID_VALUE);
	attr.bytes = MIB;
	ck_assert_int_eq(mam_heap_create(pool, &attr, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_create((struct mam_pool *)&attr, &attr, &heap),
			 MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_eq(heap, (struct mam_heap *)&pool); /* outputs only on success */

	/* The limits themselves are valid. */
	for (unsigned int low = 1; low <= 1000; low += 999) {
		attr.low_per_mille = low;
		ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_OK);
		ck_assert_uint_eq(metadata_of(heap)->low, low);
		heap_end(heap);
	}
	pool_end(pool);
}
END_TEST

/* The struct of a newer program: unknown fields must be zero. */
START_TEST(longer_struct_must_end_in_zeros)
{
	struct {
		struct mam_heap_attr attr;
		unsigned char more[40];
	} longer = { .attr = PAGES };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap;

	(void)cuda;
	longer.attr.size = sizeof(longer);
	longer.attr.bytes = MIB;
	ck_assert_int_eq(mam_heap_create(pool, &longer.attr, &heap), MAM_OK);
	heap_end(heap);
	longer.more[39] = 1;
	ck_assert_int_eq(mam_heap_create(pool, &longer.attr, &heap), MAM_ERROR_INVALID_VALUE);
	pool_end(pool);
}
END_TEST

START_TEST(statistics_respect_struct_size)
{
	struct {
		struct mam_heap_info info;
		unsigned char more[40];
	} longer;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, MIB, 0);
	struct mam_heap_info info = { .size = 0, .pages = 77 };

	(void)cuda;
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, NULL), MAM_ERROR_INVALID_VALUE);
	info.size = sizeof(info);
	ck_assert_int_eq(mam_heap_stats(NULL, NULL, &info), MAM_ERROR_INVALID_VALUE);
	info.size = offsetof(struct mam_heap_info, pages);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_OK);
	ck_assert_uint_eq(info.page_bytes, 4096);
	ck_assert_uint_eq(info.pages, 77); /* beyond the caller's struct */
	ck_assert_uint_eq(info.size, offsetof(struct mam_heap_info, pages));
	memset(&longer, 0xff, sizeof(longer));
	longer.info.size = sizeof(longer);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &longer.info), MAM_OK);
	ck_assert_uint_eq(longer.info.pages, 256);
	ck_assert_uint_eq(longer.info.size, sizeof(longer));
	for (unsigned int i = 0; i < 40; i++)
		ck_assert_uint_eq(longer.more[i], 0);
	ck_assert_int_eq(mam_heap_reset(NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_destroy(NULL), MAM_OK);
	ck_assert_ptr_null(mam_heap_device(NULL));
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(sources_without_device_memory_are_rejected)
{
	static const char *const sources[] = { "host", "simulated" };
	struct mam_heap_attr attr = PAGES;
	struct cuda cuda = load();
	struct mam_source *source;
	struct mam_pool *pool;
	struct mam_heap *heap;

	(void)cuda;
	attr.bytes = MIB;
	for (size_t i = 0; i < 2; i++) {
		pool = pool_on(sources[i], MAM_FREE_DEFAULT);
		ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_UNSUPPORTED);
		pool_end(pool);
	}
	ck_assert_int_eq(mam_source_host(0, true, &source), MAM_OK);
	ck_assert_int_eq(mam_pool_create_on(source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_UNSUPPORTED);
	pool_end(pool);
	mam_source_destroy(source);
}
END_TEST

/* A source that the program provides, which claims to belong to a device. */
struct own_source {
	struct mam_source source;
	const struct cuda *cuda; /* NULL: returns host memory */
};

static enum mam_status own_grow(struct mam_source *source, size_t bytes, void **base)
{
	const struct cuda *cuda = ((struct own_source *)source)->cuda;
	unsigned long long address;

	if (!cuda)
		return posix_memalign(base, 512, bytes) == 0 ? MAM_OK : MAM_ERROR_OUT_OF_MEMORY;
	if (cuda->cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
		return MAM_ERROR_OUT_OF_MEMORY;
	*base = (void *)(uintptr_t)address;
	return MAM_OK;
}

static enum mam_status own_shrink(struct mam_source *source, void *base, size_t bytes)
{
	const struct cuda *cuda = ((struct own_source *)source)->cuda;

	(void)bytes;
	if (cuda)
		cuda->cuMemFree_v2((uintptr_t)base);
	else
		free(base);
	return MAM_OK;
}

static const struct mam_source_ops own_ops = {
	.size = sizeof(own_ops),
	.grow = own_grow,
	.shrink = own_shrink,
};

START_TEST(custom_source_works)
{
	struct cuda cuda = load();
	struct own_source own = { .source = { .size = sizeof(own.source),
					      .ops = &own_ops,
					      .properties = { .name = "own",
							      .granularity = 2 * MIB,
							      .alignment = 512 } },
				  .cuda = &cuda };
	struct mam_heap_attr attr = PAGES;
	struct mam_pool *pool;
	struct mam_heap *heap;

	attr.bytes = MIB;
	ck_assert_int_eq(mam_pool_create_on(&own.source, NULL, &pool), MAM_OK);
	heap = heap_of(pool, MIB, 0);
	ck_assert_uint_eq(stats_of(heap).free, 256);
	heap_end(heap);
	pool_end(pool);

	own.cuda = NULL;
	ck_assert_int_eq(mam_pool_create_on(&own.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_UNSUPPORTED);
	pool_end(pool);
}
END_TEST

START_TEST(create_fails_if_pool_is_too_small)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_heap_attr wanted = PAGES;
	struct cuda cuda = load();
	struct mam_pool *pool;
	struct mam_heap *heap;

	(void)cuda;
	attr.limit_bytes = 4 * MIB;
	attr.growth_bytes = 2 * MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	wanted.bytes = 4 * MIB; /* plus its metadata */
	ck_assert_int_eq(mam_heap_create(pool, &wanted, &heap), MAM_ERROR_OUT_OF_MEMORY);
	wanted.bytes = (size_t)1 << 42; /* more than the device, with a valid number of pages */
	ck_assert_int_eq(mam_heap_create(pool, &wanted, &heap), MAM_ERROR_OUT_OF_MEMORY);
	wanted.bytes = MIB;
	ck_assert_int_eq(mam_heap_create(pool, &wanted, &heap), MAM_OK);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

static struct mam_stats pool_stats(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats;
}

/* The n-th driver call fails, for each n until all succeed; with a pool of each policy. */
START_TEST(failed_driver_call_leaks_nothing)
{
	static const enum mam_free_policy policies[] = { MAM_FREE_STRICT, MAM_FREE_STREAM };
	struct mam_heap_attr attr = PAGES;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_on("cudamalloc", policies[_i]);
	struct mam_heap *heap = heap_of(pool, MIB, 0);
	struct mam_heap_info info = { .size = sizeof(info) };
	unsigned long at, failed = 0;
	char name[64];

	attr.bytes = 100 * KIB;
	for (at = 1;; at++) {
		struct mam_heap *other = NULL;
		enum mam_status status;

		cuda.fake_fail(at, 1);
		status = mam_heap_create(pool, &attr, &other);
		if (cuda.fake_failed(name, sizeof(name)) == 0) {
			cuda.fake_fail(0, 0);
			ck_assert_int_eq(status, MAM_OK);
			heap_end(other);
			break;
		}
		cuda.fake_fail(0, 0);
		failed++;
		/* Calls that only clean up, or that wait unnecessarily, may fail without effect. */
		if (status == MAM_OK)
			heap_end(other);
		else
			ck_assert_ptr_null(other);
		ck_assert_uint_eq(pool_stats(pool).live_blocks, 1);
	}
	ck_assert_uint_ge(failed, 8);

	for (at = 1, failed = 0;; at++, failed++) {
		enum mam_status status;

		cuda.fake_fail(at, 1);
		status = mam_heap_stats(heap, NULL, &info);
		if (cuda.fake_failed(name, sizeof(name)) == 0) {
			ck_assert_int_eq(status, MAM_OK);
			break;
		}
	}
	ck_assert_uint_ge(failed, 4);

	for (at = 1, failed = 0;; at++, failed++) {
		enum mam_status status;

		cuda.fake_fail(at, 1);
		status = mam_heap_reset(heap, NULL);
		if (cuda.fake_failed(name, sizeof(name)) == 0) {
			ck_assert_int_eq(status, MAM_OK);
			break;
		}
	}
	ck_assert_uint_ge(failed, 2);
	cuda.fake_fail(0, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* The wait of a strict free fails: the heap is unchanged. */
START_TEST(failed_destroy_changes_nothing)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, MIB, 0);

	cuda.fake_fail(1, 3);
	ck_assert_int_ne(mam_heap_destroy(heap), MAM_OK);
	cuda.fake_fail(0, 0);
	ck_assert_uint_eq(stats_of(heap).free, 256);
	ck_assert_uint_eq(pool_stats(pool).live_blocks, 1);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(calls_fail_without_host_memory)
{
	struct mam_heap_attr attr = PAGES;
	struct mam_heap_info info = { .size = sizeof(info) };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = NULL;

	(void)cuda;
	attr.bytes = MIB;
	failing_left = 0;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_OUT_OF_HOST_MEMORY);
	failing_left = -1;
	ck_assert_ptr_null(heap);
	ck_assert_uint_eq(pool_stats(pool).live_blocks, 0);
	heap = heap_of(pool, MIB, 0);
	failing_left = 0;
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_OUT_OF_HOST_MEMORY);
	failing_left = -1;
	ck_assert_uint_eq(stats_of(heap).free, 256);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* A reset may be captured, a wait may not; no capture is disturbed. */
START_TEST(stream_capture_is_not_disturbed)
{
	struct mam_heap_info info = { .size = sizeof(info), .pages = 77 };
	struct mam_heap_attr attr = PAGES;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, MIB, 0), *other;
	struct CUstream_st *streams[2];
	struct CUgraph_st *graph;

	attr.bytes = 10 * KIB;
	for (unsigned int blocking = 0; blocking < 2; blocking++) {
		struct CUstream_st **stream = &streams[blocking];

		ck_assert_int_eq(cuda.cuStreamCreate(stream, blocking ? 0 : NON_BLOCKING),
				 CUDA_SUCCESS);
		((uint64_t *)(metadata_of(heap) + 1))[0] = 3;
		ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(*stream, CAPTURE_GLOBAL),
				 CUDA_SUCCESS);
		ck_assert_int_eq(mam_heap_reset(heap, *stream), MAM_OK);
		ck_assert_int_eq(mam_heap_stats(heap, *stream, &info), MAM_ERROR_WOULD_WAIT);
		ck_assert_uint_eq(info.pages, 77);
		if (blocking) {
			ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_WOULD_WAIT);
			ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_ERROR_WOULD_WAIT);
		} else {
			info = stats_of(heap);
			ck_assert_uint_eq(info.taken, 2); /* the graph has not run */
			info.pages = 77;
		}
		ck_assert_int_eq(mam_heap_create(pool, &attr, &other), MAM_OK);
		ck_assert_int_eq(cuda.cuStreamEndCapture(*stream, &graph), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
		heap_end(other);
	}
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Statistics follow stream order: they come after an earlier reset on that stream. */
START_TEST(calls_follow_stream_order)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, MIB, 0);
	uint64_t *bits = (uint64_t *)(metadata_of(heap) + 1);
	struct CUstream_st *one, *two;

	ck_assert_int_eq(cuda.cuStreamCreate(&one, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&two, NON_BLOCKING), CUDA_SUCCESS);
	bits[0] = 7;
	ck_assert_int_eq(mam_heap_reset(heap, one), MAM_OK);
	ck_assert_int_gt(cuda.fake_pending((uintptr_t)bits, 8), 0); /* it did not wait */
	ck_assert_uint_eq(bits[0], 7);
	ck_assert_uint_eq(stats_in(heap, one).taken, 0);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)bits, 8), 0);
	bits[0] = 7;
	ck_assert_uint_eq(stats_in(heap, two).taken, 3);
	ck_assert_uint_eq(stats_in(heap, (struct CUstream_st *)1).taken, 3);
	ck_assert_uint_eq(stats_in(heap, (struct CUstream_st *)2).taken, 3);
	ck_assert_int_eq(mam_heap_reset(heap, (struct CUstream_st *)2), MAM_OK);
	ck_assert_uint_eq(stats_in(heap, (struct CUstream_st *)2).taken, 0);

	/* The memory of a strict pool is not reused until the work in flight has completed. */
	ck_assert_int_eq(mam_heap_reset(heap, one), MAM_OK);
	heap_end(heap);
	pool_end(pool);
	ck_assert_int_eq(cuda.fake_disturbed(NULL, NULL), 0);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(one), CUDA_SUCCESS);
}
END_TEST

START_TEST(invalid_stream_is_rejected)
{
	struct mam_heap_info info = { .size = sizeof(info) };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, MIB, 0);
	struct CUstream_st *stream;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
	ck_assert_int_eq(mam_heap_reset(heap, stream), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_stats(heap, stream, &info), MAM_ERROR_INVALID_VALUE);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Memory that a stream still writes, freed without a wait, then allocated by a heap. */
START_TEST(create_waits_for_pending_writes)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_on("cudamalloc", MAM_FREE_STREAM);
	struct CUstream_st *stream;
	struct mam_heap *heap;
	void *block;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(mam_malloc(pool, 2 * MIB, &block), MAM_OK);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert_int_eq(cuda.cuMemsetD8Async((uintptr_t)block, 0xff, 2 * MIB, stream),
				 CUDA_SUCCESS);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	heap = heap_of(pool, MIB, 0);
	ck_assert_ptr_eq(mam_heap_device(heap)->space, block);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, 2 * MIB), 0);
	ck_assert_uint_eq(stats_of(heap).free, 256);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* With a strict pool there is no such wait, nor for the work of other streams. */
START_TEST(create_does_not_wait_for_other_streams)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap;
	void *block;

	ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert_int_eq(cuda.cuMemsetD8Async((uintptr_t)block, 0xff, MIB, NULL),
				 CUDA_SUCCESS);
	heap = heap_of(pool, MIB, 0);
	ck_assert_int_gt(cuda.fake_pending((uintptr_t)block, MIB), 0);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Nor is a driver needed for that. */
START_TEST(host_source_is_rejected_without_driver)
{
	struct mam_heap_attr attr = PAGES;
	struct mam_pool *pool;
	struct mam_heap *heap;

	setenv("FAKE_CUDA_DEVICES", "0", 1);
	(void)load_only();
	pool = pool_on("host", MAM_FREE_DEFAULT);
	attr.bytes = MIB;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_UNSUPPORTED);
	ck_assert_int_eq(mam_heap_create(NULL, &attr, &heap), MAM_ERROR_NO_DEVICE);
	pool_end(pool);
}
END_TEST

static int is_active(const struct cuda *cuda)
{
	unsigned int flags;
	int active = -1;

	ck_assert_int_eq(cuda->cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
	return active;
}

/* If the source names no context, the heap keeps the device's primary context alive. */
START_TEST(heap_keeps_primary_context_alive)
{
	struct cuda cuda = load();
	struct own_source own = { .source = { .size = sizeof(own.source),
					      .ops = &own_ops,
					      .properties = { .name = "own",
							      .granularity = 2 * MIB,
							      .alignment = 512 } } };
	struct mam_heap_attr attr = PAGES;
	struct CUctx_st *context;
	struct mam_pool *pool;
	struct mam_heap *heap;
	void *block;

	attr.bytes = MIB;
	ck_assert_int_eq(mam_pool_create_on(&own.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_UNSUPPORTED);
	pool_end(pool);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(is_active(&cuda), 0); /* a failed create retains nothing */

	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	own.cuda = &cuda;
	ck_assert_int_eq(mam_pool_create_on(&own.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 512, &block), MAM_OK); /* the chunk exists now */
	ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	heap = heap_of(pool, MIB, 0);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	ck_assert_int_eq(is_active(&cuda), 1);
	ck_assert_uint_eq(stats_of(heap).free, 256);
	heap_end(heap);
	ck_assert_int_eq(is_active(&cuda), 0);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
}
END_TEST

START_TEST(calls_fail_after_pool_is_abandoned)
{
	struct mam_heap_info info = { .size = sizeof(info) };
	struct mam_heap_attr attr = PAGES;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, MIB, 0);

	(void)cuda;
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_LIVE_BLOCKS);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ck_assert_int_eq(mam_heap_stats(heap, NULL, &info), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_heap_destroy(heap), MAM_OK);
	attr.bytes = MIB;
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_DESTROYED);
	pool = pool_new();
	pool_end(pool);
	ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_ERROR_DESTROYED);
}
END_TEST

static unsigned int calls_in(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	unsigned int calls = 0;
	char line[512];

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		calls += strncmp(line, name, strlen(name)) == 0;
	fclose(file);
	return calls;
}

/* The heap keeps nothing of the driver: no stream, no event, no block except the pool's chunks. */
START_TEST(destroy_leaks_nothing)
{
	struct fake_held before, after;
	struct mam_pool *pool;
	char path[64];
	struct cuda cuda;

	snprintf(path, sizeof(path), "/tmp/mam-heap-calls.%d", (int)getpid());
	unlink(path);
	setenv("FAKE_CUDA_LOG", path, 1);
	cuda = load();
	pool = pool_new();
	cuda.fake_holds(&before);
	for (unsigned int i = 0; i < 50; i++) {
		struct mam_heap *heap = heap_of(pool, (i + 1) * 10 * KIB, 256);

		(void)stats_of(heap);
		heap_end(heap);
	}
	ck_assert_uint_eq(pool_stats(pool).live_blocks, 0);
	pool_end(pool);
	cuda.fake_holds(&after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	ck_assert_uint_eq(calls_in(path, "cuStreamCreate "), 50);
	ck_assert_uint_eq(calls_in(path, "cuStreamDestroy "), 50);
	unlink(path);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, attributes_out_of_range_are_rejected);
	tcase_add_test(tests, longer_struct_must_end_in_zeros);
	tcase_add_test(tests, statistics_respect_struct_size);
	tcase_add_test(tests, sources_without_device_memory_are_rejected);
	tcase_add_test(tests, custom_source_works);
	tcase_add_test(tests, create_fails_if_pool_is_too_small);
	tcase_add_loop_test(tests, failed_driver_call_leaks_nothing, 0, 2);
	tcase_add_test(tests, failed_destroy_changes_nothing);
	tcase_add_test(tests, calls_fail_without_host_memory);
	tcase_add_test(tests, stream_capture_is_not_disturbed);
	tcase_add_test(tests, calls_follow_stream_order);
	tcase_add_test(tests, invalid_stream_is_rejected);
	tcase_add_test(tests, create_waits_for_pending_writes);
	tcase_add_test(tests, create_does_not_wait_for_other_streams);
	tcase_add_test(tests, host_source_is_rejected_without_driver);
	tcase_add_test(tests, heap_keeps_primary_context_alive);
	tcase_add_test(tests, calls_fail_after_pool_is_abandoned);
	tcase_add_test(tests, destroy_leaks_nothing);
}

int main(void)
{
	return run_suite("heap/heap_failure", add);
}
