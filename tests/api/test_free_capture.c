/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict frees while a stream is in capture, on the fake driver: in each capture mode, in the
 * freeing thread and in another one, in blocking and non-blocking streams, for each source.
 *
 * A free waits for the work on its block, invalidates no capture, and restores the thread's capture
 * mode. A failing driver call may fail the free, and nothing else: the block stays live, and a
 * second free succeeds. The same holds on a device without free memory.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "api/suite.h"
#include "fake/load.h"

#define MIB ((size_t)1 << 20)
#define MODES 3
#define PLACES 4 /* own or other thread, blocking or non-blocking stream */
#define CALLS_MAX 40

static const char *const sources[] = { "cudamalloc", "vmm", "pinned", "managed" };

#define CASES ((int)COUNT_OF(sources) * MODES * PLACES)

/* A capture in a stream, started and ended by the calling thread or by a thread of its own. */
struct capture {
	const struct cuda *cuda;
	struct CUstream_st *stream;
	pthread_t thread;
	sem_t begun, over;
	int mode, result;
	bool elsewhere;
};

static struct cuda cuda;
static struct mam_pool *pool;
static struct CUctx_st *context;

static void begin_here(struct capture *capture)
{
	capture->result = capture->cuda->cuStreamBeginCapture_v2(capture->stream, capture->mode);
}

static void end_here(struct capture *capture)
{
	struct CUgraph_st *graph = NULL;

	if (capture->result == CUDA_SUCCESS)
		capture->result = capture->cuda->cuStreamEndCapture(capture->stream, &graph);
	if (capture->result == CUDA_SUCCESS)
		capture->result = capture->cuda->cuGraphDestroy(graph);
}

static void *capture_thread(void *argument)
{
	struct capture *capture = argument;

	capture->cuda->cuCtxSetCurrent(context);
	begin_here(capture);
	sem_post(&capture->begun);
	sem_wait(&capture->over);
	end_here(capture);
	return NULL;
}

static void begin_capture(struct capture *capture, int mode, int place)
{
	*capture = (struct capture){ .cuda = &cuda, .mode = mode, .elsewhere = place & 1 };
	ck_assert_int_eq(cuda.cuStreamCreate(&capture->stream, place & 2 ? STREAM_NON_BLOCKING : 0),
			 CUDA_SUCCESS);
	if (!capture->elsewhere) {
		begin_here(capture);
		return;
	}
	sem_init(&capture->begun, 0, 0);
	sem_init(&capture->over, 0, 0);
	ck_assert_int_eq(pthread_create(&capture->thread, NULL, capture_thread, capture), 0);
	sem_wait(&capture->begun);
}

/* Also asserts that it is valid. */
static void end_capture(struct capture *capture)
{
	if (capture->elsewhere) {
		sem_post(&capture->over);
		pthread_join(capture->thread, NULL);
	} else {
		end_here(capture);
	}
	ck_assert_int_eq(capture->result, CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(capture->stream), CUDA_SUCCESS);
}

static void begin(const char *source, const char *memory, size_t chunk_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("FAKE_CUDA_MEMORY", memory, 1);
	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
	attr.source = source;
	attr.chunk_bytes = chunk_bytes;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
}

static void *block_in_use(struct CUstream_st *stream)
{
	unsigned long long id;
	uint64_t due;
	void *block;

	ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
	ck_assert_int_eq(cuda.fake_use((uintptr_t)block, MIB, stream, &id, &due), CUDA_SUCCESS);
	return block;
}

static void expect_mode(int mode)
{
	int found = CAPTURE_RELAXED;

	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&found), CUDA_SUCCESS);
	ck_assert_int_eq(found, mode);
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&found), CUDA_SUCCESS);
}

static uint64_t live_blocks(void)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats.live_blocks;
}

/* Only the pool's memory was ever allocated, and it is freed. */
static void end(void)
{
	struct fake_held held;

	ck_assert_int_eq(live_blocks(), 0);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	cuda.fake_holds(&held);
	ck_assert_int_eq(held.blocks, 0);
	ck_assert_uint_eq(held.device_bytes, 0);
}

START_TEST(frees_invalidate_no_capture)
{
	int mode = _i % MODES, place = _i / MODES % PLACES;
	struct CUstream_st *stream;
	struct capture capture;
	void *first, *second;

	begin(sources[_i / MODES / PLACES], "256M", 0);
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	first = block_in_use(stream);
	second = block_in_use(stream);
	begin_capture(&capture, mode, place);
	ck_assert_int_eq(mam_free(pool, first), MAM_OK);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)second, MIB), 0);
	ck_assert_int_eq(mam_free(NULL, second), MAM_OK);
	expect_mode(CAPTURE_GLOBAL);
	end_capture(&capture);
	end();
}
END_TEST

START_TEST(failing_driver_calls_invalidate_no_capture)
{
	int mode = _i % MODES, place = _i / MODES % PLACES;
	struct capture capture;
	enum mam_status status;
	char name[64] = "";
	int failed = 1;
	void *block;

	begin(sources[_i / MODES / PLACES], "256M", 0);
	for (unsigned long at = 1; failed != 0; at++) {
		ck_assert_uint_lt(at, CALLS_MAX);
		block = block_in_use(NULL);
		begin_capture(&capture, mode, place);
		cuda.fake_fail(at, 1);
		status = mam_free(pool, block);
		failed = cuda.fake_failed(name, sizeof(name)); /* fake_fail() clears it */
		cuda.fake_fail(0, 0);
		if (status != MAM_OK) {
			ck_assert_int_eq(status, MAM_ERROR_DRIVER);
			ck_assert_uint_eq(live_blocks(), 1);
			ck_assert_int_eq(mam_free(pool, block), MAM_OK);
		}
		ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
		/* The call that restores the thread's mode cannot be retried. */
		if (strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0) {
			int global = CAPTURE_GLOBAL;

			cuda.cuThreadExchangeStreamCaptureMode(&global);
		}
		expect_mode(CAPTURE_GLOBAL);
		end_capture(&capture);
	}
	ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(full_device_invalidates_no_capture)
{
	int mode = _i % MODES, place = _i / MODES % PLACES;
	size_t free_bytes, total_bytes;
	struct capture capture;
	void *block;

	begin(sources[_i / MODES / PLACES], "64M", MAM_CHUNK_LARGEST);
	ck_assert_int_eq(cuda.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
	ck_assert_uint_eq(free_bytes, 0);
	block = block_in_use(NULL);
	begin_capture(&capture, mode, place);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	expect_mode(CAPTURE_GLOBAL);
	end_capture(&capture);
	end();
}
END_TEST

/* Neither device nor host memory for the wait: the fallback is to synchronize the context. */
START_TEST(free_without_memory_synchronizes_context)
{
	void *block;

	begin("cudamalloc", "64M", MAM_CHUNK_LARGEST);
	block = block_in_use(NULL);
	/* The calls: context id, current context, capture mode, device memory, host memory. */
	cuda.fake_fail(4, 2);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(cuda.fake_failed(NULL, 0), 2);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	end();
}
END_TEST

/* The first wait keeps its block, so that the driver keeps the block's slab. */
START_TEST(wait_needs_one_small_block)
{
	struct fake_held before, after;
	void *block;

	begin("cudamalloc", "256M", 64 * MIB);
	cuda.fake_holds(&before);
	for (int i = 0; i < 8; i++) {
		block = block_in_use(NULL);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
		cuda.fake_holds(&after);
		ck_assert_int_eq(after.blocks, before.blocks + 1);
	}
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("strict frees and stream captures");
	TCase *tests = suite_case(suite, "all");

	tcase_add_loop_test(tests, frees_invalidate_no_capture, 0, CASES);
	tcase_add_loop_test(tests, failing_driver_calls_invalidate_no_capture, 0, CASES);
	/* Only these two use all memory of the device. */
	tcase_add_loop_test(tests, full_device_invalidates_no_capture, 0, 2 * MODES * PLACES);
	tcase_add_test(tests, free_without_memory_synchronizes_context);
	tcase_add_test(tests, wait_needs_one_small_block);
	return suite_run(suite);
}
