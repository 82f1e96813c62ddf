/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_timeline.c - streams that lag: work is pending until its time, waits wait, and a block that
 * is reused too early is detected.
 */
#include "fake/load.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAG_MS 40

static struct cuda load_lagging(void)
{
	setenv("FAKE_CUDA_LAG_US", "40000", 1);
	return load();
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static unsigned char read_byte(const struct cuda *cuda, unsigned long long address)
{
	unsigned char byte = 0;

	ck_assert_int_eq(cuda->cuMemcpyDtoH_v2(&byte, address, 1), CUDA_SUCCESS);
	return byte;
}

START_TEST(work_is_pending_until_its_time)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	unsigned long long address;
	double start;

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	start = now_ms();
	cuda.cuMemsetD8Async(address, 9, 512, stream);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	ck_assert_double_lt(now_ms() - start, LAG_MS);
	ck_assert_int_eq(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
	ck_assert_double_ge(now_ms() - start, LAG_MS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
	ck_assert_uint_eq(read_byte(&cuda, address), 9);
}
END_TEST

START_TEST(work_of_one_stream_is_ordered)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	unsigned long long address;
	double start;

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	start = now_ms();
	cuda.cuMemsetD8Async(address, 1, 512, stream);
	cuda.cuMemsetD8Async(address, 2, 512, stream);
	cuda.cuStreamSynchronize(stream);
	ck_assert_double_ge(now_ms() - start, 2 * LAG_MS);
	ck_assert_uint_eq(read_byte(&cuda, address), 2);
}
END_TEST

START_TEST(free_waits_for_all_work_of_its_context)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	unsigned long long busy, unrelated;
	double start;

	cuda.cuMemAlloc_v2(&busy, 512);
	cuda.cuMemAlloc_v2(&unrelated, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	start = now_ms();
	cuda.cuMemsetD8Async(busy, 1, 512, stream);
	ck_assert_int_eq(cuda.cuMemFree_v2(unrelated), CUDA_SUCCESS);
	ck_assert_double_ge(now_ms() - start, LAG_MS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
}
END_TEST

START_TEST(free_does_not_wait_for_other_contexts)
{
	struct cuda cuda = load_lagging();
	struct CUctx_st *primary, *other;
	struct CUstream_st *stream;
	unsigned long long busy, unrelated;

	cuda.cuMemAlloc_v2(&busy, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	cuda.cuMemsetD8Async(busy, 1, 512, stream);
	cuda.cuCtxGetCurrent(&primary);
	cuda.cuCtxCreate_v2(&other, 0, 0);
	cuda.cuMemAlloc_v2(&unrelated, 512);
	ck_assert_int_eq(cuda.cuMemFree_v2(unrelated), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}
END_TEST

START_TEST(allocation_does_not_wait)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	unsigned long long address, other;

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, 0);
	cuda.cuMemsetD8Async(address, 1, 512, stream);
	cuda.cuMemAlloc_v2(&other, 4096);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}
END_TEST

/* The effect of a pool that reuses a block without waiting, on every run. */
START_TEST(block_reused_too_early_is_overwritten)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *old_user, *new_user;
	unsigned long long block;
	char text[] = "of the new user", back[sizeof(text)];

	cuda.cuMemAlloc_v2(&block, 512);
	cuda.cuStreamCreate(&old_user, STREAM_NON_BLOCKING);
	cuda.cuStreamCreate(&new_user, STREAM_NON_BLOCKING);
	cuda.cuMemsetD8Async(block, 'x', 512, old_user);
	cuda.cuMemsetD8Async(block, 'x', 512, old_user);
	cuda.cuMemcpyHtoDAsync_v2(block, text, sizeof(text), new_user);
	cuda.cuCtxSynchronize();
	cuda.cuMemcpyDtoH_v2(back, block, sizeof(back));
	ck_assert_int_eq(back[0], 'x');
}
END_TEST

START_TEST(blocking_streams_and_legacy_stream_are_ordered)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *blocking, *free_running;
	unsigned long long address;
	double start = now_ms();

	cuda.cuMemAlloc_v2(&address, 1024);
	cuda.cuStreamCreate(&blocking, 0);
	cuda.cuStreamCreate(&free_running, STREAM_NON_BLOCKING);
	cuda.cuMemsetD8Async(address, 1, 512, blocking);
	cuda.cuMemsetD8Async(address, 2, 512, NULL);
	cuda.cuMemsetD8Async(address, 3, 512, blocking);
	cuda.cuMemsetD8Async(address + 512, 4, 512, free_running);
	cuda.cuStreamSynchronize(free_running);
	ck_assert_double_lt(now_ms() - start, 2 * LAG_MS);
	cuda.cuStreamSynchronize(blocking);
	ck_assert_double_ge(now_ms() - start, 3 * LAG_MS);
	ck_assert_uint_eq(read_byte(&cuda, address), 3);
}
END_TEST

START_TEST(event_is_done_after_earlier_work)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream, *waiter;
	struct CUevent_st *event, *never;
	unsigned long long address;
	double start = now_ms();

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	cuda.cuStreamCreate(&waiter, STREAM_NON_BLOCKING);
	cuda.cuEventCreate(&event, 0);
	cuda.cuEventCreate(&never, 0);
	ck_assert_int_eq(cuda.cuEventQuery(never), CUDA_SUCCESS);
	cuda.cuMemsetD8Async(address, 1, 512, stream);
	cuda.cuEventRecord(event, stream);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
	cuda.cuStreamWaitEvent(waiter, event, 0);
	cuda.cuMemsetD8Async(address, 2, 512, waiter);
	ck_assert_int_eq(cuda.cuEventSynchronize(event), CUDA_SUCCESS);
	ck_assert_double_ge(now_ms() - start, LAG_MS);
	cuda.cuStreamSynchronize(waiter);
	ck_assert_double_ge(now_ms() - start, 2 * LAG_MS);
	ck_assert_uint_eq(read_byte(&cuda, address), 2);
}
END_TEST

START_TEST(context_event_follows_every_stream)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	struct CUctx_st *context;
	struct CUevent_st *event;
	unsigned long long address;

	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	cuda.cuEventCreate(&event, 0);
	cuda.cuCtxGetCurrent(&context);
	cuda.cuMemsetD8Async(address, 1, 512, stream);
	ck_assert_int_eq(cuda.cuCtxRecordEvent(context, event), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
	cuda.cuStreamSynchronize(stream);
	ck_assert_int_eq(cuda.cuEventQuery(event), CUDA_SUCCESS);
}
END_TEST

START_TEST(pageable_bytes_are_read_at_once)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	unsigned long long address;
	unsigned char pageable = 1, *pinned;

	cuda.cuMemAlloc_v2(&address, 1024);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	cuda.cuMemHostAlloc((void **)&pinned, 1, 0);
	*pinned = 1;
	cuda.cuMemcpyHtoDAsync_v2(address, &pageable, 1, stream);
	cuda.cuMemcpyHtoDAsync_v2(address + 512, pinned, 1, stream);
	pageable = *pinned = 2;
	cuda.cuStreamSynchronize(stream);
	ck_assert_uint_eq(read_byte(&cuda, address), 1);
	ck_assert_uint_eq(read_byte(&cuda, address + 512), 2);
}
END_TEST

START_TEST(ordered_free_waits_in_its_stream_only)
{
	struct cuda cuda = load_lagging();
	struct CUstream_st *stream;
	unsigned long long address, other;

	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 512, stream), CUDA_SUCCESS);
	cuda.cuMemsetD8Async(address, 1, 512, stream);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
	cuda.cuMemAlloc_v2(&other, 512);
	ck_assert_uint_ne(other, address);
	cuda.cuStreamSynchronize(stream);
	cuda.cuMemAlloc_v2(&other, 512);
	ck_assert_uint_eq(other, address);
}
END_TEST

#define FILLS 8

/*
 * The times of some fills of one stream, in ns. The stream is never idle in between, so the times
 * of two events differ by exactly that. Settings are read once per process, so each seed has its
 * own process.
 */
static void lags_of(const char *seed, float lags[FILLS])
{
	struct cuda cuda;
	struct CUevent_st *ends[FILLS + 1];
	unsigned long long address;
	int pipes[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		setenv("FAKE_CUDA_LAG_US", "100000", 1);
		setenv("FAKE_CUDA_LAG_RANDOM", seed, 1);
		cuda = load();
		cuda.cuMemAlloc_v2(&address, 512);
		cuda.cuMemsetD8Async(address, 1, 512, NULL);
		for (int i = 0; i <= FILLS; i++) {
			cuda.cuEventCreate(&ends[i], 0);
			cuda.cuMemsetD8Async(address, i, 512, NULL);
			cuda.cuEventRecord(ends[i], NULL);
		}
		cuda.cuCtxSynchronize();
		for (int i = 0; i < FILLS; i++)
			cuda.cuEventElapsedTime(&lags[i], ends[i], ends[i + 1]);
		status = write(pipes[1], lags, FILLS * sizeof(float)) == FILLS * sizeof(float);
		_exit(status ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(pipes[0], lags, FILLS * sizeof(float)), FILLS * sizeof(float));
	close(pipes[0]);
	close(pipes[1]);
}

START_TEST(random_lags_depend_on_seed_only)
{
	float one[FILLS], again[FILLS], other[FILLS], min = 100, max = 0;
	int differing = 0;

	lags_of("1", one);
	lags_of("1", again);
	lags_of("2", other);
	for (int i = 0; i < FILLS; i++) {
		ck_assert_float_eq_tol(one[i], again[i], 0.001);
		differing += one[i] < other[i] - 0.001 || one[i] > other[i] + 0.001;
		min = one[i] < min ? one[i] : min;
		max = one[i] > max ? one[i] : max;
	}
	ck_assert_int_ge(differing, FILLS - 1);
	ck_assert_float_ge(min, 0);
	ck_assert_float_le(max, 100);
	ck_assert_float_gt(max - min, 20);
}
END_TEST

START_TEST(pending_counts_unfinished_work_in_range)
{
	struct cuda cuda;
	unsigned long long a, b;
	unsigned char host[512] = { 0 };
	struct CUstream_st *stream;

	setenv("FAKE_CUDA_LAG_US", "200000", 1);
	cuda = load();
	cuda.cuMemAlloc_v2(&a, 1024);
	cuda.cuMemAlloc_v2(&b, 1024);
	cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING);
	ck_assert_int_eq(cuda.fake_pending(a, 1024), 0);
	cuda.cuMemsetD8Async(a, 1, 512, stream);
	cuda.cuMemcpyHtoDAsync_v2(a + 256, host, 512, stream);
	ck_assert_int_eq(cuda.fake_pending(a, 1), 1);
	ck_assert_int_eq(cuda.fake_pending(a, 1024), 2);
	ck_assert_int_eq(cuda.fake_pending(a + 511, 1), 2);
	ck_assert_int_eq(cuda.fake_pending(a + 512, 256), 1);
	ck_assert_int_eq(cuda.fake_pending(a + 768, 256), 0);
	ck_assert_int_eq(cuda.fake_pending(b, 1024), 0);
	cuda.cuMemcpyDtoDAsync_v2(b, a, 512, stream);
	ck_assert_int_eq(cuda.fake_pending(b + 511, 513), 1);
	ck_assert_int_eq(cuda.fake_pending(a, 1), 2);
	cuda.cuStreamSynchronize(stream);
	ck_assert_int_eq(cuda.fake_pending(a, 1024), 0);
	ck_assert_int_eq(cuda.fake_pending(b, 1024), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, random_lags_depend_on_seed_only);
	tcase_add_test(tests, pending_counts_unfinished_work_in_range);
	tcase_add_test(tests, work_is_pending_until_its_time);
	tcase_add_test(tests, work_of_one_stream_is_ordered);
	tcase_add_test(tests, free_waits_for_all_work_of_its_context);
	tcase_add_test(tests, free_does_not_wait_for_other_contexts);
	tcase_add_test(tests, allocation_does_not_wait);
	tcase_add_test(tests, block_reused_too_early_is_overwritten);
	tcase_add_test(tests, blocking_streams_and_legacy_stream_are_ordered);
	tcase_add_test(tests, event_is_done_after_earlier_work);
	tcase_add_test(tests, context_event_follows_every_stream);
	tcase_add_test(tests, pageable_bytes_are_read_at_once);
	tcase_add_test(tests, ordered_free_waits_in_its_stream_only);
}

int main(void)
{
	return run_suite("fake/timeline", add);
}
