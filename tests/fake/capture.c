/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - stream capture, as far as it affects allocation.
 *
 * Work submitted to a capturing stream is not executed, and the resulting graph is empty: this code
 * only models which calls a capture forbids. A call that could wait returns 900 and invalidates the
 * capture if the calling thread's mode and the capture's are not relaxed enough:
 *
 *  thread's mode    is refused by
 *  global           own captures that are not relaxed, any thread's that are global
 *  thread local     own captures that are not relaxed
 *  relaxed          none
 *
 * In every mode, a capture refuses to synchronize its context and to record an event in it, to query
 * or wait for its streams and events, and dependencies on work that is not captured. As long as a
 * blocking stream is captured, the legacy stream of the context cannot be used (906).
 *
 * A capture begins in one stream. Other streams, of any context, join it when they wait for an
 * event that was recorded in it, and are part of it until it ends.
 */
#include "fake.h"

#include <stdlib.h>

struct capture {
	struct capture *next;
	struct CUstream_st *stream;
	int mode;
	const void *thread; /* thread that began it */
	bool spoilt;
	uint64_t id;              /* never reused */
	struct CUgraph_st *graph; /* created by the program, or NULL */
};

static struct capture *captures; /* lock: fake */
static uint64_t last_id;         /* lock: fake */
static __thread int thread_mode = CAPTURE_GLOBAL;
static __thread char self; /* its address identifies the thread */

static struct capture *of_id(uint64_t id)
{
	struct capture *capture = captures;

	while (capture && capture->id != id)
		capture = capture->next;
	return capture;
}

/* The capture that a stream began or joined. */
static struct capture *find(const struct CUstream_st *stream)
{
	uint64_t id = stream ? fake_stream_capture(stream) : 0;

	return id ? of_id(id) : NULL;
}

/* A handle for the thread's own default stream is replaced by its record. */
static struct CUstream_st *record_of(struct CUstream_st *stream)
{
	struct CUctx_st *context;

	if (stream == STREAM_PER_THREAD && fake_context_current(&context) == CUDA_SUCCESS)
		fake_stream_resolve(context, &stream);
	return stream;
}

bool fake_capture_spoil(uint64_t id)
{
	struct capture *capture = of_id(id);

	if (capture)
		capture->spoilt = true;
	return capture;
}

uint64_t fake_capture_id(struct CUstream_st *stream)
{
	const struct capture *capture;

	if (!captures || !stream || stream == STREAM_LEGACY)
		return 0;
	capture = find(record_of(stream));
	return capture ? capture->id : 0;
}

bool fake_capture_alive(struct CUstream_st *stream)
{
	return fake_capture_id(stream) != 0;
}

static void end(struct capture *capture)
{
	struct capture **link = &captures;

	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	fake_stream_end_capture(capture->id);
	free(capture);
}

/* The stream is destroyed: this ends a capture that it began. */
void fake_capture_forget(struct CUstream_st *stream)
{
	struct capture *capture = find(stream);

	if (capture && capture->stream == stream)
		end(capture);
}

int fake_capture_join(struct CUstream_st *stream, uint64_t id)
{
	struct capture *joined = of_id(id), *own;

	if (!joined)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream || stream == STREAM_LEGACY) {
		joined->spoilt = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	stream = record_of(stream);
	own = find(stream);
	if (own && own != joined) {
		own->spoilt = joined->spoilt = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	fake_stream_set_capture(stream, id);
	return CUDA_SUCCESS;
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
	int result = CUDA_SUCCESS;

	for (struct capture *capture = captures; capture; capture = capture->next)
		if (fake_stream_is_captured(capture->id, context, false)) {
			capture->spoilt = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return result;
}

bool fake_capture_blocking(struct CUctx_st *context)
{
	for (const struct capture *capture = captures; capture; capture = capture->next)
		if (fake_stream_is_captured(capture->id, context, true))
			return true;
	return false;
}

/* The legacy stream would wait for blocking streams, which a graph cannot. */
int fake_capture_refuse_legacy(struct CUctx_st *context, struct CUstream_st *stream)
{
	if ((stream && stream != STREAM_LEGACY) || !fake_capture_blocking(context))
		return CUDA_SUCCESS;
	for (struct capture *capture = captures; capture; capture = capture->next)
		if (fake_stream_is_captured(capture->id, context, true))
			capture->spoilt = true;
	return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
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

static int begin(struct CUstream_st *stream, struct CUgraph_st *graph, int mode)
{
	struct CUctx_st *context;
	struct capture *capture;
	int result = fake_stream_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!stream || stream == STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream = record_of(stream);
	if (mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED || find(stream))
		return CUDA_ERROR_INVALID_VALUE;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*capture = (struct capture){ captures, stream, mode, &self, false, ++last_id, graph };
	captures = capture;
	fake_stream_set_capture(stream, capture->id);
	return CUDA_SUCCESS;
}

int cuStreamBeginCapture_v2(struct CUstream_st *stream, int mode)
{
	int result = fake_enter("cuStreamBeginCapture");

	if (result == CUDA_SUCCESS)
		result = begin(stream, NULL, mode);
	return fake_leave("cuStreamBeginCapture", result, "stream=%p mode=%d", (void *)stream,
			  mode);
}

/* The first version had only one mode. */
int cuStreamBeginCapture(struct CUstream_st *stream)
{
	return cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL);
}

int cuStreamBeginCaptureToGraph(struct CUstream_st *stream, struct CUgraph_st *graph,
				const void *dependencies, const void *edges, size_t count, int mode)
{
	int result = fake_enter("cuStreamBeginCaptureToGraph");

	(void)dependencies, (void)edges;
	if (result == CUDA_SUCCESS && (!graph || count))
		result = CUDA_ERROR_INVALID_VALUE; /* graphs of the fake have no nodes */
	if (result == CUDA_SUCCESS)
		result = begin(stream, graph, mode);
	return fake_leave("cuStreamBeginCaptureToGraph", result, "stream=%p graph=%p mode=%d",
			  (void *)stream, (void *)graph, mode);
}

int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	struct CUctx_st *context;
	int result = fake_enter("cuStreamEndCapture");

	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS) {
		struct CUstream_st *record =
			!stream || stream == STREAM_LEGACY ? NULL : record_of(stream);
		struct capture *capture = find(record);

		if (capture && capture->stream != record) {
			result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
		} else if (capture && capture->mode != CAPTURE_RELAXED &&
			   capture->thread != &self) {
			result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
		} else if (capture) {
			if (capture->spoilt)
				result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
			*graph = result != CUDA_SUCCESS ? NULL
				 : capture->graph       ? capture->graph
							: fake_graph_make();
			end(capture);
		} else {
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return fake_leave("cuStreamEndCapture", result, "stream=%p", (void *)stream);
}

/* 0: not capturing, 1: capturing, 2: capturing, but invalidated */
static int ask(struct CUstream_st *stream, int *status, uint64_t *id)
{
	const struct capture *capture;
	struct CUctx_st *context;
	int result = fake_stream_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!stream || stream == STREAM_LEGACY) {
		*status = 0;
		return fake_capture_blocking(context) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
						      : CUDA_SUCCESS;
	}
	capture = find(record_of(stream));
	*status = !capture ? 0 : capture->spoilt ? 2 : 1;
	if (id && *status == 1)
		*id = capture->id;
	return CUDA_SUCCESS;
}

int cuStreamGetCaptureInfo_v3(struct CUstream_st *stream, int *status, uint64_t *id,
			      struct CUgraph_st **graph, void *dependencies, void *edges,
			      size_t *count)
{
	int result = fake_enter("cuStreamGetCaptureInfo");

	if (result == CUDA_SUCCESS && (!status || graph || dependencies || edges || count))
		result = CUDA_ERROR_INVALID_VALUE; /* the fake's graphs have no nodes to report */
	if (result == CUDA_SUCCESS)
		result = ask(stream, status, id);
	return fake_leave("cuStreamGetCaptureInfo", result, "stream=%p", (void *)stream);
}

int cuStreamIsCapturing(struct CUstream_st *stream, int *status)
{
	int result = fake_enter("cuStreamIsCapturing");

	if (result == CUDA_SUCCESS)
		result = ask(stream, status, NULL);
	return fake_leave("cuStreamIsCapturing", result, "stream=%p", (void *)stream);
}
