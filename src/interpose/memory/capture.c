/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - the list of live captures (capture.h).
 *
 * A capture begins with cuStreamBeginCapture on a stream. It ends with cuStreamEndCapture on that
 * stream, or with the stream or its context. Streams that join it by events are part of it and have
 * no entry. A stream's handle identifies a capture, except CU_STREAM_PER_THREAD, which means
 * another stream in each thread and context. The context that is current at the end does not
 * matter.
 *
 *   begin    Add an entry, then call the driver. Remove the entry again if the driver returns an
 *            error.
 *   end      Call the driver, then remove the entry if the driver succeeds, or if it fails and
 *            reports that the stream is not in capture. An invalidated capture ends with an error;
 *            a capture that another thread must end does not end.
 *   check    An end that mam did not see must not disable the pools forever. Before an entry makes
 *            a difference, the driver is queried whether its stream is still in capture.
 *
 * An entry is pending while a thread that begins or ends the capture, or destroys the stream or its
 * context, is inside the driver. The driver is not queried about it then: the handle may be about
 * to become invalid, and the capture may not have begun. Nor is it queried about the default stream
 * of another thread, which only that thread can name: such an entry stays at most as long as its
 * context.
 *
 * Begin and hold: a thread that begins a capture counts it first and then waits for the holders. A
 * thread that holds counts itself first and then reads the number of captures. One of the two sees
 * the other.
 *
 * Bound: a few entries; everything here is linear in their number. The lock is held across
 * cuStreamIsCapturing, which takes 70 ns and waits for nothing.
 */
#include "interpose/memory/capture.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define LEGACY ((void *)1)     /* CU_STREAM_LEGACY */
#define PER_THREAD ((void *)2) /* CU_STREAM_PER_THREAD: what NULL means to a _ptsz function */

struct capture {
	struct capture *next;
	uint64_t serial; /* identifies the entry; never 0 */
	void *stream;
	void *context;      /* of the stream */
	const void *thread; /* the thread that began it */
	int mode;
	unsigned int pending; /* count */
};

_Atomic unsigned int mam_capture_count; /* length of the list */
static _Atomic unsigned int holders;    /* atomic */
static struct capture *captures;        /* lock: list; oldest first */
static uint64_t last_serial;            /* lock: list */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* Raises the guard, so that a signal handler that allocates does not take the lock again. */
static void lock_list(void)
{
	mam_init_depth++;
	pthread_mutex_lock(&list_lock);
}

static void unlock_list(void)
{
	pthread_mutex_unlock(&list_lock);
	mam_init_depth--;
}

/* Returns an address that is unique to the thread. */
static const void *this_thread(void)
{
	return &mam_init_depth;
}

static void *current_context(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;

	return driver != NULL && driver->ctx_current(&context) == MAM_CUDA_SUCCESS ? context : NULL;
}

void *mam_capture_context_of(void *stream)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;

	if (stream != NULL && stream != LEGACY && stream != PER_THREAD && driver != NULL &&
	    driver->stream_context != NULL &&
	    driver->stream_context(stream, &context) == MAM_CUDA_SUCCESS)
		return context;
	return current_context();
}

/* Whether the stream is in capture. Also true if the driver does not report it. */
static bool is_capturing(void *stream)
{
	const struct mam_real_driver *driver = mam_real_driver();
	int status = 0, code;

	if (driver == NULL || driver->is_capturing == NULL)
		return true;
	code = driver->is_capturing(stream, &status);
	if (code == MAM_CUDA_SUCCESS)
		return status != 0;
	return code != MAM_CUDA_INVALID_HANDLE && code != MAM_CUDA_CONTEXT_IS_DESTROYED &&
	       code != MAM_CUDA_STREAM_DETACHED;
}

static bool is_stream_of(const struct capture *capture, const void *stream)
{
	return capture->stream == stream &&
	       (stream != PER_THREAD ||
		(capture->thread == this_thread() && capture->context == current_context()));
}

/* lock: list */
static bool is_over(const struct capture *capture)
{
	return capture->pending == 0 && is_stream_of(capture, capture->stream) &&
	       !is_capturing(capture->stream);
}

/* lock: list */
static void drop(struct capture **link)
{
	struct capture *capture = *link;

	*link = capture->next;
	free(capture);
	atomic_fetch_sub(&mam_capture_count, 1);
}

static void drop_over(void)
{
	lock_list();
	for (struct capture **link = &captures; *link != NULL;) {
		if (is_over(*link))
			drop(link);
		else
			link = &(*link)->next;
	}
	unlock_list();
}

uint64_t mam_capture_context_ending(void *context)
{
	uint64_t serial;

	if (context == NULL || !mam_capture_alive())
		return 0;
	lock_list();
	serial = last_serial;
	for (struct capture *capture = captures; capture != NULL; capture = capture->next)
		if (capture->context == context)
			capture->pending++;
	unlock_list();
	return serial;
}

void mam_capture_context_ended(void *context, uint64_t serial, bool gone)
{
	if (serial == 0)
		return;
	lock_list();
	for (struct capture **link = &captures; *link != NULL && (*link)->serial <= serial;) {
		if ((*link)->context == context) {
			(*link)->pending--;
			if (gone) {
				drop(link);
				continue;
			}
		}
		link = &(*link)->next;
	}
	unlock_list();
}

void mam_capture_restart(void)
{
	pthread_mutex_init(&list_lock, NULL);
	captures = NULL;
	atomic_store(&mam_capture_count, 0);
	atomic_store(&holders, 0);
}

bool mam_capture_hold(void)
{
	if (mam_capture_alive())
		drop_over();
	if (mam_capture_alive())
		return false;
	atomic_fetch_add(&holders, 1);
	if (atomic_load(&mam_capture_count) == 0)
		return true;
	atomic_fetch_sub(&holders, 1);
	return false;
}

void mam_capture_release(void)
{
	atomic_fetch_sub(&holders, 1);
}

int mam_capture_mode(int mode)
{
	const struct mam_real_driver *driver = mam_real_driver();

	if (driver == NULL || driver->capture_mode == NULL ||
	    driver->capture_mode(&mode) != MAM_CUDA_SUCCESS)
		return MAM_CAPTURE_GLOBAL;
	return mode;
}

/* The driver's rule (cuda.h, cuThreadExchangeStreamCaptureMode), for the calling thread's mode. */
static bool restricts(const struct capture *capture, int mode)
{
	if (mode == MAM_CAPTURE_RELAXED || capture->mode == MAM_CAPTURE_RELAXED)
		return false;
	return capture->thread == this_thread() ||
	       (mode == MAM_CAPTURE_GLOBAL && capture->mode == MAM_CAPTURE_GLOBAL);
}

bool mam_capture_restricts_slow(void)
{
	bool restricted = false;
	int mode;

	if (mam_init_serves_captures())
		return false;
	mode = mam_capture_mode(MAM_CAPTURE_RELAXED);
	mam_capture_mode(mode);
	lock_list();
	for (struct capture **link = &captures; *link != NULL && !restricted;) {
		if (!restricts(*link, mode))
			link = &(*link)->next;
		else if (is_over(*link))
			drop(link);
		else
			restricted = true;
	}
	unlock_list();
	return restricted;
}

bool mam_capture_has(void *stream)
{
	return mam_capture_alive() && is_capturing(stream);
}

/* The driver rejects this as it rejects the program's call, and the runtime keeps the error. */
static int alloc_and_free_by_runtime(void)
{
	__typeof__(&cudaMalloc) real_alloc = MAM_TABLE_ORIGINAL(cudaMalloc);
	__typeof__(&cudaFree) real_free = MAM_TABLE_ORIGINAL(cudaFree);
	void *block;
	int code;

	if (real_alloc == NULL || real_free == NULL)
		return MAM_CUDA_INSUFFICIENT_DRIVER;
	code = real_alloc(&block, 1);
	return code == MAM_CUDA_SUCCESS ? real_free(block) : code;
}

/* Allocates a small block from the driver, or pinned host memory if the device is full. */
static int alloc_and_free(void)
{
	__typeof__(&cuMemAlloc_v2) real_alloc = MAM_TABLE_ORIGINAL(cuMemAlloc_v2);
	__typeof__(&cuMemFree_v2) real_free = MAM_TABLE_ORIGINAL(cuMemFree_v2);
	__typeof__(&cuMemHostAlloc) real_host_alloc = MAM_TABLE_ORIGINAL(cuMemHostAlloc);
	__typeof__(&cuMemFreeHost) real_host_free = MAM_TABLE_ORIGINAL(cuMemFreeHost);
	unsigned long long block;
	void *host;
	int code;

	if (real_alloc == NULL || real_free == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	code = real_alloc(&block, 1);
	if (code == MAM_CUDA_SUCCESS)
		return real_free(block);
	if (code != MAM_CUDA_OUT_OF_MEMORY || real_host_alloc == NULL || real_host_free == NULL)
		return code;
	code = real_host_alloc(&host, 1, 0);
	return code == MAM_CUDA_SUCCESS ? real_host_free(host) : code;
}

int mam_capture_wait(bool runtime)
{
	bool relaxed = mam_init_serves_captures();
	int mode = MAM_CAPTURE_GLOBAL, code;

	if (mam_capture_hold()) {
		code = runtime ? mam_real_runtime()->device_synchronize()
			       : mam_real_driver()->ctx_synchronize();
		mam_capture_release();
		if (!mam_capture_rejects(code)) /* a capture that mam did not see */
			return code;
	}
	if (runtime && mam_capture_restricts())
		return alloc_and_free_by_runtime();
	if (relaxed)
		mode = mam_capture_mode(MAM_CAPTURE_RELAXED);
	code = alloc_and_free();
	if (relaxed)
		mam_capture_mode(mode);
	return code;
}

/*
 * Adds a pending entry for a capture that is about to begin. From here on no thread can hold.
 * Returns the entry's serial, or 0 if there is no host memory.
 */
static uint64_t add(void *stream, int mode)
{
	struct capture *capture = malloc(sizeof(*capture)), **link = &captures;
	uint64_t serial;

	if (capture == NULL)
		return 0;
	*capture = (struct capture){ .stream = stream,
				     .context = mam_capture_context_of(stream),
				     .thread = this_thread(),
				     .mode = mode,
				     .pending = 1 };
	lock_list();
	serial = capture->serial = ++last_serial;
	while (*link != NULL)
		link = &(*link)->next;
	*link = capture;
	atomic_fetch_add(&mam_capture_count, 1);
	unlock_list();
	while (atomic_load(&holders) != 0)
		sched_yield();
	return serial;
}

/* Makes the entry of a stream pending. Returns its serial, or 0 if the stream has no entry. */
static uint64_t mark(const void *stream)
{
	uint64_t serial = 0;

	if (mam_init_passes() || !mam_capture_alive())
		return 0;
	lock_list();
	for (struct capture *capture = captures; capture != NULL; capture = capture->next) {
		if (capture->pending == 0 && is_stream_of(capture, stream)) {
			capture->pending++;
			serial = capture->serial;
			break;
		}
	}
	unlock_list();
	return serial;
}

/*
 * After the driver call: drops the entry if the capture is over; otherwise it is no longer pending.
 */
static void finish(uint64_t serial, bool over)
{
	if (serial == 0)
		return;
	lock_list();
	for (struct capture **link = &captures; *link != NULL; link = &(*link)->next) {
		if ((*link)->serial != serial)
			continue;
		(*link)->pending--;
		if (over)
			drop(link);
		break;
	}
	unlock_list();
}

/* `call` is the real function with its arguments. */
#define BEGIN(real, stream, mode, call)                     \
	do {                                                \
		MAM_GATE_PASS();                            \
		uint64_t serial;                            \
		int answer;                                 \
                                                            \
		if ((real) == NULL)                         \
			return MAM_CUDA_NOT_INITIALIZED;    \
		if (mam_init_passes())                      \
			return call;                        \
		serial = add(stream, mode);                 \
		if (serial == 0)                            \
			return MAM_CUDA_OUT_OF_MEMORY;      \
		answer = call;                              \
		finish(serial, answer != MAM_CUDA_SUCCESS); \
		return answer;                              \
	} while (0)

/* The stream that `stream` means to a _ptsz function. */
static void *own(void *stream)
{
	return stream == NULL ? PER_THREAD : stream;
}

int cuStreamBeginCapture(void *stream)
{
	__typeof__(&cuStreamBeginCapture) real = MAM_TABLE_ORIGINAL(cuStreamBeginCapture);

	BEGIN(real, stream, MAM_CAPTURE_GLOBAL, real(stream));
}

int cuStreamBeginCapture_ptsz(void *stream)
{
	__typeof__(&cuStreamBeginCapture_ptsz) real = MAM_TABLE_ORIGINAL(cuStreamBeginCapture_ptsz);

	BEGIN(real, own(stream), MAM_CAPTURE_GLOBAL, real(stream));
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	__typeof__(&cuStreamBeginCapture_v2) real = MAM_TABLE_ORIGINAL(cuStreamBeginCapture_v2);

	BEGIN(real, stream, mode, real(stream, mode));
}

int cuStreamBeginCapture_v2_ptsz(void *stream, int mode)
{
	__typeof__(&cuStreamBeginCapture_v2_ptsz) real =
		MAM_TABLE_ORIGINAL(cuStreamBeginCapture_v2_ptsz);

	BEGIN(real, own(stream), mode, real(stream, mode));
}

int cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *dependencies,
				const void *data, size_t count, int mode)
{
	__typeof__(&cuStreamBeginCaptureToGraph) real =
		MAM_TABLE_ORIGINAL(cuStreamBeginCaptureToGraph);

	BEGIN(real, stream, mode, real(stream, graph, dependencies, data, count, mode));
}

int cuStreamBeginCaptureToGraph_ptsz(void *stream, void *graph, const void *dependencies,
				     const void *data, size_t count, int mode)
{
	__typeof__(&cuStreamBeginCaptureToGraph_ptsz) real =
		MAM_TABLE_ORIGINAL(cuStreamBeginCaptureToGraph_ptsz);

	BEGIN(real, own(stream), mode, real(stream, graph, dependencies, data, count, mode));
}

/* `key` is the stream that `stream` means to the real function. */
static int end(int (*real)(void *, void **), void *stream, void *key, void **graph)
{
	uint64_t serial;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	serial = mark(key);
	answer = real(stream, graph);
	finish(serial, answer == MAM_CUDA_SUCCESS || (serial != 0 && !is_capturing(key)));
	return answer;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	return end(MAM_TABLE_ORIGINAL(cuStreamEndCapture), stream, stream, graph);
}

int cuStreamEndCapture_ptsz(void *stream, void **graph)
{
	return end(MAM_TABLE_ORIGINAL(cuStreamEndCapture_ptsz), stream, own(stream), graph);
}

static int destroy(int (*real)(void *), void *stream)
{
	uint64_t serial;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	serial = mark(stream);
	answer = real(stream);
	finish(serial, answer == MAM_CUDA_SUCCESS);
	return answer;
}

int cuStreamDestroy(void *stream)
{
	return destroy(MAM_TABLE_ORIGINAL(cuStreamDestroy), stream);
}

int cuStreamDestroy_v2(void *stream)
{
	return destroy(MAM_TABLE_ORIGINAL(cuStreamDestroy_v2), stream);
}
