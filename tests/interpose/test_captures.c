/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_captures.c - the list of captures (interpose/memory/capture.c) with a driver that has only
 * streams: threads begin, end, destroy and hold captures at once.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/memory/capture.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define STREAMS 8
#define THREADS 4
#define ROUNDS 3000

__thread int mam_init_depth;
static bool allowed; /* --capture=allow */

/* A stream's address is its handle. */
static struct stream {
	_Atomic int capturing;
	_Atomic int status_result; /* result of a query whether it is capturing */
	_Atomic int gone;          /* destroyed: no function may get its handle */
} streams[STREAMS];
static _Atomic int capturing, synchronizing, misuses, fails;
static _Atomic(void *) stream_context;
static __thread int thread_mode;

atomic_bool mam_gate_found;

bool mam_gate_enter_slow(void)
{
	return false;
}

void mam_gate_end(void)
{
}

atomic_int mam_init_state;

bool mam_init_is_off_slow(void)
{
	return false;
}

bool mam_init_serves_captures(void)
{
	return allowed;
}

static struct stream *stream_of(void *handle)
{
	struct stream *stream = handle;

	if (atomic_load(&stream->gone))
		atomic_fetch_add(&misuses, 1);
	return stream;
}

static int begin(void *handle, int mode)
{
	int not_yet = 0;

	(void)mode;
	if (!atomic_compare_exchange_strong(&stream_of(handle)->capturing, &not_yet, 1))
		return MAM_CUDA_INVALID_VALUE;
	atomic_fetch_add(&capturing, 1);
	if (atomic_load(&synchronizing) != 0)
		atomic_fetch_add(&misuses, 1);
	return MAM_CUDA_SUCCESS;
}

static int stop(struct stream *stream)
{
	int before = 1;

	if (!atomic_compare_exchange_strong(&stream->capturing, &before, 0))
		return MAM_CUDA_INVALID_VALUE;
	atomic_fetch_sub(&capturing, 1);
	return MAM_CUDA_SUCCESS;
}

static int end(void *handle, void **graph)
{
	(void)graph;
	if (atomic_load(&fails) != 0 && atomic_fetch_sub(&fails, 1) > 0)
		return 999;
	return stop(stream_of(handle));
}

static int destroy(void *handle)
{
	struct stream *stream = stream_of(handle);

	stop(stream);
	atomic_store(&stream->gone, 1);
	return MAM_CUDA_SUCCESS;
}

static int is_capturing(void *handle, int *status)
{
	int status_result = atomic_load(&stream_of(handle)->status_result);

	if (status_result == MAM_CUDA_SUCCESS)
		*status = atomic_load(&stream_of(handle)->capturing);
	return status_result;
}

static int get_context(void *handle, void **context)
{
	(void)handle;
	*context = atomic_load(&stream_context);
	return MAM_CUDA_SUCCESS;
}

static int current(void **context)
{
	*context = &streams;
	return MAM_CUDA_SUCCESS;
}

static _Atomic int rejects;

static int synchronize(void)
{
	if (atomic_load(&rejects) != 0)
		return 900;
	atomic_fetch_add(&synchronizing, 1);
	sched_yield(); /* a capture may begin here unless the wait prevents it */
	if (atomic_load(&capturing) != 0)
		atomic_fetch_add(&misuses, 1);
	atomic_fetch_sub(&synchronizing, 1);
	return MAM_CUDA_SUCCESS;
}

static int exchange(int *mode)
{
	int before = thread_mode;

	thread_mode = *mode;
	*mode = before;
	return MAM_CUDA_SUCCESS;
}

static _Atomic int allocations;

static int alloc(unsigned long long *block, size_t bytes)
{
	(void)bytes;
	atomic_fetch_add(&allocations, 1);
	*block = 1;
	return MAM_CUDA_SUCCESS;
}

static int release(unsigned long long block)
{
	(void)block;
	return MAM_CUDA_SUCCESS;
}

void *mam_table_original(enum mam_table_id id)
{
	switch (id) {
	case MAM_TABLE_cuStreamBeginCapture_v2: return (void *)(uintptr_t)begin;
	case MAM_TABLE_cuStreamEndCapture: return (void *)(uintptr_t)end;
	case MAM_TABLE_cuStreamDestroy:
	case MAM_TABLE_cuStreamDestroy_v2: return (void *)(uintptr_t)destroy;
	case MAM_TABLE_cuMemAlloc_v2: return (void *)(uintptr_t)alloc;
	case MAM_TABLE_cuMemFree_v2: return (void *)(uintptr_t)release;
	default: return NULL;
	}
}

const struct mam_real_driver *_Atomic mam_real_driver_known;

const struct mam_real_driver *mam_real_driver_slow(void)
{
	static const struct mam_real_driver driver = {
		.ctx_current = current,
		.ctx_synchronize = synchronize,
		.capture_mode = exchange,
		.is_capturing = is_capturing,
		.stream_context = get_context,
	};

	return &driver;
}

const struct mam_real_runtime *_Atomic mam_real_runtime_known;

const struct mam_real_runtime *mam_real_runtime_slow(void)
{
	return NULL;
}

static unsigned int draw(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

/* Any thread may end a capture, so some ends race with the begin of the next one. */
static void *shared(void *argument)
{
	unsigned int state = (unsigned int)(uintptr_t)argument;
	void *graph;

	for (int i = 0; i < ROUNDS; i++) {
		void *handle = &streams[draw(&state) % STREAMS];

		switch (draw(&state) % 6) {
		case 0:
		case 1: cuStreamBeginCapture_v2(handle, (int)(draw(&state) % 3)); break;
		case 2:
		case 3: cuStreamEndCapture(handle, &graph); break;
		case 4: mam_capture_wait(false); break;
		default: mam_capture_restricts(); break;
		}
	}
	return NULL;
}

/* A stream of this thread's own, destroyed while other threads read the list of captures. */
static void *own(void *argument)
{
	unsigned int place = (unsigned int)(uintptr_t)argument;
	struct stream *stream = &streams[place];
	void *graph;

	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(cuStreamBeginCapture_v2(stream, 0), MAM_CUDA_SUCCESS);
		ck_assert(mam_capture_alive());
		ck_assert(mam_capture_restricts());
		if (i % 3 == 0)
			ck_assert_int_eq(cuStreamEndCapture(stream, &graph), MAM_CUDA_SUCCESS);
		else
			(i % 3 == 1 ? cuStreamDestroy : cuStreamDestroy_v2)(stream);
		atomic_store(&stream->gone, 0); /* a new stream reuses the handle */
		mam_capture_wait(false);
	}
	return NULL;
}

static void run(void *(*thread)(void *))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, thread, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void nothing_is_left(void)
{
	ck_assert_int_eq(atomic_load(&misuses), 0);
	ck_assert(mam_capture_hold());
	ck_assert_uint_eq(atomic_load(&mam_capture_count), 0);
	mam_capture_release();
}

START_TEST(threads_share_streams)
{
	void *graph;

	run(shared);
	for (int i = 0; i < STREAMS; i++)
		cuStreamEndCapture(&streams[i], &graph);
	nothing_is_left();
}
END_TEST

START_TEST(threads_destroy_streams)
{
	run(own);
	nothing_is_left();
}
END_TEST

START_TEST(failed_end_leaves_the_capture_active)
{
	void *graph;

	ck_assert_int_eq(cuStreamBeginCapture_v2(&streams[0], 2), MAM_CUDA_SUCCESS);
	atomic_store(&fails, 1);
	ck_assert_int_eq(cuStreamEndCapture(&streams[0], &graph), 999);
	ck_assert(!mam_capture_hold());
	ck_assert_int_eq(mam_capture_wait(false), MAM_CUDA_SUCCESS);
	ck_assert_int_eq(atomic_load(&allocations), 1);
	ck_assert_int_eq(cuStreamEndCapture(&streams[0], &graph), MAM_CUDA_SUCCESS);
	nothing_is_left();
	ck_assert_int_eq(mam_capture_wait(false), MAM_CUDA_SUCCESS);
	ck_assert_int_eq(atomic_load(&allocations), 1);
}
END_TEST

/* mam cannot avoid the wait, but the driver may still accept the free. */
START_TEST(wait_succeeds_in_a_capture_that_began_unseen)
{
	atomic_store(&rejects, 1);
	ck_assert_int_eq(mam_capture_wait(false), MAM_CUDA_SUCCESS);
	ck_assert_int_eq(atomic_load(&allocations), 1);
	nothing_is_left();
}
END_TEST

START_TEST(capture_that_ended_unseen_is_dropped)
{
	for (int mode = 0; mode < 3; mode++) {
		ck_assert_int_eq(cuStreamBeginCapture_v2(&streams[0], mode), MAM_CUDA_SUCCESS);
		ck_assert(mam_capture_restricts() == (mode != 2));
		ck_assert(mam_capture_has(&streams[0]));
		stop(&streams[0]);
		ck_assert(!mam_capture_restricts());
		nothing_is_left();
	}
}
END_TEST

/* Destroying a green context invalidates captures and leaves the streams to the program. */
START_TEST(capture_of_an_invalid_stream_is_dropped)
{
	const int status_results[] = { MAM_CUDA_INVALID_HANDLE, MAM_CUDA_CONTEXT_IS_DESTROYED,
				       MAM_CUDA_STREAM_DETACHED };

	for (size_t i = 0; i < sizeof(status_results) / sizeof(status_results[0]); i++) {
		ck_assert_int_eq(cuStreamBeginCapture_v2(&streams[0], 0), MAM_CUDA_SUCCESS);
		atomic_store(&streams[0].status_result, 999);
		ck_assert(mam_capture_restricts());
		ck_assert(!mam_capture_hold());
		atomic_store(&streams[0].status_result, status_results[i]);
		ck_assert(!mam_capture_restricts());
		nothing_is_left();
		stop(&streams[0]);
		atomic_store(&streams[0].status_result, MAM_CUDA_SUCCESS);
	}
}
END_TEST

START_TEST(context_end_drops_its_captures)
{
	int here, there;
	uint64_t serial;

	atomic_store(&stream_context, &here);
	cuStreamBeginCapture_v2(&streams[0], 0);
	atomic_store(&stream_context, &there);
	cuStreamBeginCapture_v2(&streams[1], 0);
	serial = mam_capture_context_ending(&here);
	cuStreamBeginCapture_v2(&streams[2], 0);
	mam_capture_context_ended(&here, serial, false);
	ck_assert_uint_eq(atomic_load(&mam_capture_count), 3);
	serial = mam_capture_context_ending(&here);
	streams[0].gone = 1; /* during the driver's call */
	ck_assert(!mam_capture_hold());
	mam_capture_context_ended(&here, serial, true);
	ck_assert_uint_eq(atomic_load(&mam_capture_count), 2);
	stop(&streams[1]);
	stop(&streams[2]);
	nothing_is_left();
}
END_TEST

static void *restricted_elsewhere(void *mode)
{
	thread_mode = *(int *)mode;
	*(int *)mode = mam_capture_restricts();
	return NULL;
}

/*
 * Depends on the mode of the capture, then on that of the thread; cuda.h,
 * cuThreadExchangeStreamCaptureMode.
 */
START_TEST(modes_decide_which_threads_a_capture_restricts)
{
	static const bool same_thread[3][3] = { { true, true }, { true, true }, { false } };
	static const bool other_thread[3][3] = { { true, false }, { false }, { false } };
	pthread_t thread;
	void *graph;

	for (int i = 0; i < 18; i++) {
		int mode = i / 3 % 3, got = mode;

		allowed = i >= 9;
		cuStreamBeginCapture_v2(&streams[0], i % 3);
		pthread_create(&thread, NULL, restricted_elsewhere, &got);
		pthread_join(thread, NULL);
		ck_assert_int_eq(got, !allowed && other_thread[i % 3][mode]);
		thread_mode = mode;
		ck_assert_int_eq(mam_capture_restricts(), !allowed && same_thread[i % 3][mode]);
		ck_assert_int_eq(thread_mode, mode);
		cuStreamEndCapture(&streams[0], &graph);
	}
	nothing_is_left();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interpose/captures");
	TCase *tests = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, threads_share_streams);
	tcase_add_test(tests, threads_destroy_streams);
	tcase_add_test(tests, failed_end_leaves_the_capture_active);
	tcase_add_test(tests, wait_succeeds_in_a_capture_that_began_unseen);
	tcase_add_test(tests, capture_that_ended_unseen_is_dropped);
	tcase_add_test(tests, capture_of_an_invalid_stream_is_dropped);
	tcase_add_test(tests, context_end_drops_its_captures);
	tcase_add_test(tests, modes_decide_which_threads_a_capture_restricts);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
