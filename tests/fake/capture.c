/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - stream capture, as far as allocation meets it.
 *
 * Work submitted to a capturing stream is not carried out, and the graph that comes out is
 * empty: what counts here is which calls a capture forbids. A call that could wait answers 900
 * and spoils the capture when the calling thread's mode and the capture's are not relaxed
 * enough:
 *
 *   thread's mode    is refused by
 *   global           own captures that are not relaxed, anybody's that are global
 *   thread local     own captures that are not relaxed
 *   relaxed          none
 *
 * Synchronising a context, and recording an event in it, are refused by every capture in it.
 */
#include "fake.h"

#include <stdlib.h>

struct capture {
	struct capture *next;
	struct CUstream_st *stream;
	int mode;
	const void *thread; /* who began it */
	bool spoilt;
};

static struct capture *captures; /* lock: fake */
static __thread int thread_mode = CAPTURE_GLOBAL;
static __thread char self; /* its address tells threads apart */

static struct capture **find(const struct CUstream_st *stream)
{
	struct capture **link = &captures;

	while (*link && (*link)->stream != stream)
		link = &(*link)->next;
	return link;
}

bool fake_capture_alive(struct CUstream_st *stream)
{
	return *find(stream) != NULL;
}

void fake_capture_forget(struct CUstream_st *stream)
{
	struct capture **link = find(stream), *capture = *link;

	if (capture) {
		*link = capture->next;
		free(capture);
	}
}

static bool minds(const struct capture *capture)
{
	if (thread_mode == CAPTURE_RELAXED || capture->mode == CAPTURE_RELAXED)
		return false;
	if (capture->thread == &self)
		return true;
	return thread_mode == CAPTURE_GLOBAL && capture->mode == CAPTURE_GLOBAL;
}

int fake_capture_refuse(void)
{
	int result = CUDA_SUCCESS;

	for (struct capture *capture = captures; capture; capture = capture->next)
		if (minds(capture)) {
			capture->spoilt = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return result;
}

int fake_capture_refuse_all(struct CUctx_st *context)
{
	struct CUctx_st *owner;
	int result = CUDA_SUCCESS;

	for (struct capture *capture = captures; capture; capture = capture->next)
		if (fake_stream_context(capture->stream, &owner) == CUDA_SUCCESS &&
		    owner == context) {
			capture->spoilt = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return result;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	int result = fake_enter("cuThreadExchangeStreamCaptureMode");
	int wanted = mode ? *mode : -1;

	if (result == CUDA_SUCCESS && (wanted < CAPTURE_GLOBAL || wanted > CAPTURE_RELAXED))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		*mode = thread_mode;
		thread_mode = wanted;
	}
	return fake_leave("cuThreadExchangeStreamCaptureMode", result, "mode=%d", wanted);
}

int cuStreamBeginCapture_v2(struct CUstream_st *stream, int mode)
{
	struct CUctx_st *context;
	struct capture *capture;
	int result = fake_enter("cuStreamBeginCapture");

	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS &&
	    (!stream || stream == STREAM_LEGACY || stream == STREAM_PER_THREAD))
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (result == CUDA_SUCCESS &&
	    (mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED || *find(stream)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		capture = calloc(1, sizeof(*capture));
		if (capture) {
			*capture = (struct capture){ captures, stream, mode, &self, false };
			captures = capture;
			fake_stream_set_capturing(stream, true);
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return fake_leave("cuStreamBeginCapture", result, "stream=%p mode=%d", (void *)stream,
			  mode);
}

int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	int result = fake_enter("cuStreamEndCapture");

	if (result == CUDA_SUCCESS && !*find(stream))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		if ((*find(stream))->spoilt)
			result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		*graph = result == CUDA_SUCCESS ? malloc(1) : NULL;
		fake_capture_forget(stream);
		fake_stream_set_capturing(stream, false);
	}
	return fake_leave("cuStreamEndCapture", result, "stream=%p", (void *)stream);
}

/* 0: not capturing, 1: capturing, 2: capturing, but spoilt */
int cuStreamIsCapturing(struct CUstream_st *stream, int *status)
{
	int result = fake_enter("cuStreamIsCapturing");

	if (result == CUDA_SUCCESS)
		*status = !*find(stream) ? 0 : (*find(stream))->spoilt ? 2 : 1;
	return fake_leave("cuStreamIsCapturing", result, "stream=%p", (void *)stream);
}

int cuGraphDestroy(struct CUgraph_st *graph)
{
	int result = fake_enter("cuGraphDestroy");

	if (result == CUDA_SUCCESS)
		free(graph);
	return fake_leave("cuGraphDestroy", result, "graph=%p", (void *)graph);
}
