/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - counts the live captures (capture.h).
 *
 * A capture begins with cuStreamBeginCapture on a stream and ends with cuStreamEndCapture, with the
 * stream, or with its context. Which streams are in capture is kept in a short list, so that the
 * end of something that never began changes no count. When the list is full a capture is counted
 * and not noted, and the count then never falls to 0 again: from there on the driver judges every
 * call, which is slow and right.
 *
 * Beginning and holding: whoever begins adds to the count first and then waits for those who hold;
 * whoever holds says so first and then looks at the count. One of the two sees the other.
 */
#include "interpose/memory/capture.h"

#include <pthread.h>
#include <sched.h>

#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define STREAMS_MOST 128

_Atomic unsigned int mam_capture_count;
static _Atomic unsigned int holders; /* atomic */

struct captured {
	void *stream;
	void *context;
};

static struct captured list[STREAMS_MOST]; /* lock: list */
static unsigned int listed;                /* lock: list */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

bool mam_capture_hold(void)
{
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

static void *current_context(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;

	return driver != NULL && driver->ctx_current(&context) == 0 ? context : NULL;
}

/* Before the real call: from here on nobody disturbs. */
static void announce(void)
{
	atomic_fetch_add(&mam_capture_count, 1);
	while (atomic_load(&holders) != 0)
		sched_yield();
}

static void began(void *stream, int answer)
{
	if (answer != MAM_CUDA_SUCCESS) {
		atomic_fetch_sub(&mam_capture_count, 1);
		return;
	}
	pthread_mutex_lock(&list_lock);
	if (listed < STREAMS_MOST)
		list[listed++] = (struct captured){ stream, current_context() };
	pthread_mutex_unlock(&list_lock);
}

static void remove_locked(unsigned int i)
{
	list[i] = list[--listed];
	atomic_fetch_sub(&mam_capture_count, 1);
}

/*
 * A stream's handle is known by the context that was current when its capture began: the handles
 * of default streams are the same in all.
 */
static void ended(void *stream)
{
	void *context = current_context();

	pthread_mutex_lock(&list_lock);
	for (unsigned int i = 0; i < listed; i++) {
		if (list[i].stream == stream && list[i].context == context) {
			remove_locked(i);
			break;
		}
	}
	pthread_mutex_unlock(&list_lock);
}

void mam_capture_context_gone(void *context)
{
	pthread_mutex_lock(&list_lock);
	for (unsigned int i = listed; i-- > 0;)
		if (list[i].context == context)
			remove_locked(i);
	pthread_mutex_unlock(&list_lock);
}

void mam_capture_restart(void)
{
	pthread_mutex_init(&list_lock, NULL);
	listed = 0;
	atomic_store(&mam_capture_count, 0);
	atomic_store(&holders, 0);
}

/* `call` is the real function with its arguments. */
#define BEGIN(real, stream, call)                                \
	do {                                                     \
		int answer;                                      \
                                                                 \
		if ((real) == NULL)                              \
			return MAM_CUDA_NOT_INITIALIZED;         \
		if (mam_init_passes())                           \
			return call;                             \
		announce();                                      \
		answer = call;                                   \
		began(stream, answer);                           \
		return answer;                                   \
	} while (0)

int cuStreamBeginCapture(void *stream)
{
	__typeof__(&cuStreamBeginCapture) real = MAM_TABLE_ORIGINAL(cuStreamBeginCapture);

	BEGIN(real, stream, real(stream));
}

int cuStreamBeginCapture_ptsz(void *stream)
{
	__typeof__(&cuStreamBeginCapture_ptsz) real = MAM_TABLE_ORIGINAL(cuStreamBeginCapture_ptsz);

	BEGIN(real, stream, real(stream));
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	__typeof__(&cuStreamBeginCapture_v2) real = MAM_TABLE_ORIGINAL(cuStreamBeginCapture_v2);

	BEGIN(real, stream, real(stream, mode));
}

int cuStreamBeginCapture_v2_ptsz(void *stream, int mode)
{
	__typeof__(&cuStreamBeginCapture_v2_ptsz) real =
		MAM_TABLE_ORIGINAL(cuStreamBeginCapture_v2_ptsz);

	BEGIN(real, stream, real(stream, mode));
}

int cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *dependencies,
				const void *data, size_t count, int mode)
{
	__typeof__(&cuStreamBeginCaptureToGraph) real =
		MAM_TABLE_ORIGINAL(cuStreamBeginCaptureToGraph);

	BEGIN(real, stream, real(stream, graph, dependencies, data, count, mode));
}

int cuStreamBeginCaptureToGraph_ptsz(void *stream, void *graph, const void *dependencies,
				     const void *data, size_t count, int mode)
{
	__typeof__(&cuStreamBeginCaptureToGraph_ptsz) real =
		MAM_TABLE_ORIGINAL(cuStreamBeginCaptureToGraph_ptsz);

	BEGIN(real, stream, real(stream, graph, dependencies, data, count, mode));
}

/*
 * Also an end that reports a spoilt capture ends it. What does not: a stream that is in no capture,
 * or one whose capture another thread must end; those the driver still says to be capturing.
 */
static int end(int (*real)(void *, void **), void *stream, void **graph)
{
	const struct mam_real_driver *driver = mam_real_driver();
	int answer, still = 0;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	answer = real(stream, graph);
	if (mam_init_passes() || !mam_capture_alive())
		return answer;
	if (answer != MAM_CUDA_SUCCESS && driver != NULL && driver->is_capturing != NULL &&
	    driver->is_capturing(stream, &still) == MAM_CUDA_SUCCESS && still != 0)
		return answer;
	ended(stream);
	return answer;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	return end(MAM_TABLE_ORIGINAL(cuStreamEndCapture), stream, graph);
}

int cuStreamEndCapture_ptsz(void *stream, void **graph)
{
	return end(MAM_TABLE_ORIGINAL(cuStreamEndCapture_ptsz), stream, graph);
}

int cuStreamDestroy_v2(void *stream)
{
	__typeof__(&cuStreamDestroy_v2) real = MAM_TABLE_ORIGINAL(cuStreamDestroy_v2);
	int answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(stream);

	if (answer == MAM_CUDA_SUCCESS && mam_capture_alive() && !mam_init_passes())
		ended(stream);
	return answer;
}
