/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong around a heap: arguments, sources without memory, the driver's refusals one
 * after the other, memory that runs out, streams in capture, pools that end. Nothing is left
 * behind, and nothing half done.
 */
#include "tools/failing.h"

#include "heap_fixture.h"

#define NON_BLOCKING 1u
#define PAGES                                                                \
	{                                                                    \
		.size = sizeof(struct mam_heap_attr), .kind = MAM_HEAP_PAGES \
	}

START_TEST(attributes_out_of_range_are_refused)
{
#define ROW(size_, bytes_, page, low)                                                             \
	{                                                                                         \
		.size = (size_), .bytes = (bytes_), .page_bytes = (page), .low_per_mille = (low), \
		.kind = MAM_HEAP_PAGES                                                            \
	}
	static const struct mam_heap_attr rows[] = {
		ROW(0, MIB, 4096, 5),                                  /* no size */
		ROW(sizeof(struct mam_heap_attr) - 1, MIB, 4096, 5),   /* too short */
		ROW(4097, MIB, 4096, 5),                               /* no size anybody means */
		ROW(sizeof(struct mam_heap_attr), 0, 4096, 5),         /* no bytes */
		ROW(sizeof(struct mam_heap_attr), MIB, 128, 5),        /* pages too small */
		ROW(sizeof(struct mam_heap_attr), MIB, 8 * MIB, 5),    /* too large */
		ROW(sizeof(struct mam_heap_attr), MIB, 4096 + 256, 5), /* no power of two */
		ROW(sizeof(struct mam_heap_attr), MIB, 4096, 1001),
		ROW(sizeof(struct mam_heap_attr), SIZE_MAX, 256, 5), /* more pages than numbers */
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

	/* The limits themselves will do. */
	for (unsigned int low = 1; low <= 1000; low += 999) {
		attr.low_per_mille = low;
		ck_assert_int_eq(mam_heap_create(pool, &attr, &heap), MAM_OK);
		ck_assert_uint_eq(metadata_of(heap)->low, low);
		heap_end(heap);
	}
	pool_end(pool);
}
END_TEST

/* A newer program's struct: what we do not know must ask for nothing. */
START_TEST(a_longer_struct_may_have_zeros_behind)
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

START_TEST(statistics_by_size)
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
	ck_assert_uint_eq(info.pages, 77); /* behind what the caller has */
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

START_TEST(addresses_without_a_devices_memory_are_refused)
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

/* A source of the program's own, that says it is a device's. */
struct own_source {
	struct mam_source source;
	const struct cuda *cuda; /* NULL: gives memory of the host's */
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

START_TEST(a_source_of_the_programs_own)
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

START_TEST(a_pool_that_is_too_small)
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
	wanted.bytes = 4 * MIB; /* and its books */
	ck_assert_int_eq(mam_heap_create(pool, &wanted, &heap), MAM_ERROR_OUT_OF_MEMORY);
	wanted.bytes = (size_t)1 << 42; /* more than the device, and pages enough */
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

/* The n-th call of the driver fails, for each n until none is left; a pool of each policy. */
START_TEST(each_call_of_the_driver_fails_once)
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
		/* What only undoes, or waits where there was no need, may fail unseen. */
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

/* The wait that a strict free makes fails: the heap is as it was. */
START_TEST(a_destroy_that_cannot_wait_changes_nothing)
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

START_TEST(host_memory_runs_out)
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
START_TEST(streams_in_capture)
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

/* Statistics are of the stream's moment: behind the reset that was given to it. */
START_TEST(calls_are_in_their_streams_order)
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

	/* A strict pool's ground is nobody's until work in flight is done. */
	ck_assert_int_eq(mam_heap_reset(heap, one), MAM_OK);
	heap_end(heap);
	pool_end(pool);
	ck_assert_int_eq(cuda.fake_disturbed(NULL, NULL), 0);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(one), CUDA_SUCCESS);
}
END_TEST

START_TEST(streams_that_are_none)
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

/* Memory that a stream still writes, freed without a wait, and given to a heap. */
START_TEST(a_pool_that_frees_at_once_is_waited_for)
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

/* One that is strict is not, nor is what other streams do. */
START_TEST(a_new_heap_waits_for_itself_alone)
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

/* Nor does it take a driver to say so. */
START_TEST(addresses_alone_are_refused_without_a_device)
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

/* Of a source that names no context a heap keeps the device's own alive. */
START_TEST(the_context_is_kept_as_long_as_the_heap)
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
	ck_assert_int_eq(is_active(&cuda), 0); /* a heap that was not made keeps nothing */

	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	own.cuda = &cuda;
	ck_assert_int_eq(mam_pool_create_on(&own.source, NULL, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 512, &block), MAM_OK); /* the chunk is here */
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

START_TEST(a_pool_that_ends_under_its_heap)
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

/* Nothing of the driver's is kept: no stream, no event, no block but the pool's chunks. */
START_TEST(nothing_is_left_behind)
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
	tcase_add_test(tests, attributes_out_of_range_are_refused);
	tcase_add_test(tests, a_longer_struct_may_have_zeros_behind);
	tcase_add_test(tests, statistics_by_size);
	tcase_add_test(tests, addresses_without_a_devices_memory_are_refused);
	tcase_add_test(tests, a_source_of_the_programs_own);
	tcase_add_test(tests, a_pool_that_is_too_small);
	tcase_add_loop_test(tests, each_call_of_the_driver_fails_once, 0, 2);
	tcase_add_test(tests, a_destroy_that_cannot_wait_changes_nothing);
	tcase_add_test(tests, host_memory_runs_out);
	tcase_add_test(tests, streams_in_capture);
	tcase_add_test(tests, calls_are_in_their_streams_order);
	tcase_add_test(tests, streams_that_are_none);
	tcase_add_test(tests, a_pool_that_frees_at_once_is_waited_for);
	tcase_add_test(tests, a_new_heap_waits_for_itself_alone);
	tcase_add_test(tests, addresses_alone_are_refused_without_a_device);
	tcase_add_test(tests, the_context_is_kept_as_long_as_the_heap);
	tcase_add_test(tests, a_pool_that_ends_under_its_heap);
	tcase_add_test(tests, nothing_is_left_behind);
}

int main(void)
{
	return run_suite("heap/heap_failure", add);
}
