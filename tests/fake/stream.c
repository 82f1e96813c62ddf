/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - streams: the time at which submitted work is done.
 *
 * Work in a stream follows the stream's earlier work. Work in the legacy stream also follows that
 * of all blocking streams of its context, and theirs follows the legacy stream's; non-blocking
 * streams are ordered only with themselves. Each copy or fill takes FAKE_CUDA_LAG_US, or with
 * FAKE_CUDA_LAG_RANDOM up to that: the n-th one takes the same time in each run, so that one thread
 * sees the same order on every run. The delay of a link is added for memory of another device.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct CUstream_st {
	struct CUstream_st *next;
	struct CUctx_st *context;
	bool non_blocking;
	uint64_t capture;   /* the id of the capture that it is part of; 0: none */
	const void *thread; /* a per-thread default stream: its thread */
	unsigned long long id;
	uint64_t end_ns; /* when all its work is done */
};

static struct CUstream_st *streams;    /* lock: fake */
static struct CUstream_st *ended;      /* lock: fake; records of destroyed streams */
static unsigned long long last_id = 2; /* lock: fake */
static __thread char self;             /* its address identifies the thread */

int fake_stream_make(struct CUctx_st *context, bool non_blocking, struct CUstream_st **stream)
{
	struct CUstream_st *made = ended;

	if (made)
		ended = made->next;
	else
		made = malloc(sizeof(*made));
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memset(made, 0, sizeof(*made));
	made->context = context;
	made->non_blocking = non_blocking;
	made->id = ++last_id;
	made->next = streams;
	streams = made;
	*stream = made;
	return CUDA_SUCCESS;
}

/* The next stream reuses its handle, as with a real driver. */
static void bury(struct CUstream_st *stream)
{
	stream->next = ended;
	ended = stream;
}

static struct CUstream_st **find(const struct CUstream_st *stream)
{
	struct CUstream_st **link = &streams;

	while (*link && *link != stream)
		link = &(*link)->next;
	return link;
}

static bool is_legacy(const struct CUstream_st *stream)
{
	return !stream || stream == STREAM_LEGACY;
}

/* Maps a handle to a record: legacy is NULL, a thread's own stream is created when needed. */
int fake_stream_resolve(struct CUctx_st *context, struct CUstream_st **stream)
{
	if (is_legacy(*stream)) {
		*stream = NULL;
		return CUDA_SUCCESS;
	}
	if (*stream != STREAM_PER_THREAD)
		return *find(*stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	for (*stream = streams; *stream; *stream = (*stream)->next)
		if ((*stream)->thread == &self && (*stream)->context == context)
			return CUDA_SUCCESS;
	if (fake_stream_make(context, false, stream) != CUDA_SUCCESS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*stream)->thread = &self;
	return CUDA_SUCCESS;
}

unsigned long long fake_stream_id(const struct CUstream_st *stream)
{
	return stream ? stream->id : 1;
}

int fake_stream_context(struct CUstream_st *stream, struct CUctx_st **context)
{
	int result;

	if (is_legacy(stream) || stream == STREAM_PER_THREAD)
		return fake_context_current(context);
	if (!*find(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	*context = stream->context;
	result = fake_context_check(*context);
	return result == CUDA_SUCCESS ? fake_context_owner(*context)->broken : result;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t end_of(const struct CUctx_st *context, const struct CUstream_st *stream)
{
	if (!stream)
		return later(context->legacy_ns, context->blocking_ns);
	if (stream->non_blocking)
		return stream->end_ns;
	return later(stream->end_ns, context->legacy_ns);
}

static void set_end(struct CUctx_st *context, struct CUstream_st *stream, uint64_t end_ns)
{
	if (!stream) {
		context->legacy_ns = end_ns;
	} else {
		stream->end_ns = end_ns;
		if (!stream->non_blocking)
			context->blocking_ns = later(context->blocking_ns, end_ns);
	}
	context->all_ns = later(context->all_ns, end_ns);
	if (context->parent)
		context->parent->all_ns = later(context->parent->all_ns, end_ns);
}

int fake_stream_end(struct CUctx_st *context, struct CUstream_st *stream, uint64_t *end_ns)
{
	int result = fake_stream_resolve(context, &stream);

	if (result == CUDA_SUCCESS)
		*end_ns = end_of(context, stream);
	return result;
}

/* Everything submitted to the stream later waits until then. */
int fake_stream_delay(struct CUctx_st *context, struct CUstream_st *stream, uint64_t until_ns)
{
	int result = fake_stream_resolve(context, &stream);

	if (result == CUDA_SUCCESS)
		set_end(context, stream, later(end_of(context, stream), until_ns));
	return result;
}

static uint64_t lag(void)
{
	static uint64_t drawn; /* lock: fake */
	uint64_t mixed;

	if (!fake_knobs.lag_seed)
		return fake_knobs.lag_ns;
	mixed = fake_knobs.lag_seed + ++drawn * 0x9e3779b97f4a7c15ull;
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
	return (mixed ^ mixed >> 31) % (fake_knobs.lag_ns + 1);
}

int fake_stream_begin(struct CUctx_st *context, struct CUstream_st *stream, uint64_t *begin_ns)
{
	int result = fake_stream_end(context, stream, begin_ns);

	if (result == CUDA_SUCCESS)
		*begin_ns = later(*begin_ns, fake_now());
	return result;
}

int fake_stream_submit(struct CUctx_st *context, struct CUstream_st *stream, uint64_t longer_ns,
		       uint64_t *due_ns)
{
	int result = fake_capture_refuse_legacy(context, stream);

	if (result == CUDA_SUCCESS)
		result = fake_stream_resolve(context, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	fake_timeline_submitter(context);
	if (stream && stream->capture) {
		*due_ns = FAKE_CAPTURED;
		return CUDA_SUCCESS;
	}
	*due_ns = later(end_of(context, stream), fake_now()) + lag() + longer_ns;
	set_end(context, stream, *due_ns);
	return CUDA_SUCCESS;
}

void fake_stream_drop_context(struct CUctx_st *context)
{
	for (struct CUstream_st **link = &streams; *link;) {
		struct CUstream_st *stream = *link;

		if (stream->context != context) {
			link = &stream->next;
			continue;
		}
		fake_capture_forget(stream);
		*link = stream->next;
		bury(stream);
	}
}

uint64_t fake_stream_capture(const struct CUstream_st *stream)
{
	return stream->capture;
}

void fake_stream_set_capture(struct CUstream_st *stream, uint64_t id)
{
	stream->capture = id;
}

void fake_stream_end_capture(uint64_t id)
{
	for (struct CUstream_st *stream = streams; stream; stream = stream->next)
		if (stream->capture == id)
			stream->capture = 0;
}

/* A green context's streams count as streams of its primary context. */
bool fake_stream_is_captured(uint64_t id, const struct CUctx_st *context, bool blocking_only)
{
	for (const struct CUstream_st *stream = streams; stream; stream = stream->next)
		if (stream->capture == id && !(blocking_only && stream->non_blocking) &&
		    (stream->context == context ||
		     (!blocking_only && stream->context->parent == context)))
			return true;
	return false;
}

int cuStreamCreateWithPriority(struct CUstream_st **stream, unsigned int flags, int priority)
{
	struct CUctx_st *context;
	int result = fake_enter("cuStreamCreate");

	if (result == CUDA_SUCCESS && (!stream || flags > STREAM_NON_BLOCKING))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS)
		result = fake_stream_make(context, flags & STREAM_NON_BLOCKING, stream);
	return fake_leave("cuStreamCreate", result, "flags=%u priority=%d", flags, priority);
}

int cuStreamCreate(struct CUstream_st **stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

/* Work that was already submitted continues. */
int cuStreamDestroy_v2(struct CUstream_st *stream)
{
	struct CUstream_st **link;
	int result = fake_enter("cuStreamDestroy");

	if (result == CUDA_SUCCESS) {
		link = find(stream);
		if (is_legacy(stream) || !*link)
			result = CUDA_ERROR_INVALID_HANDLE;
	}
	if (result == CUDA_SUCCESS) {
		fake_capture_forget(stream);
		*link = stream->next;
		bury(stream);
	}
	return fake_leave("cuStreamDestroy", result, "stream=%p", (void *)stream);
}

int cuStreamDestroy(struct CUstream_st *stream)
{
	return cuStreamDestroy_v2(stream);
}

static int stream_end(struct CUstream_st *stream, uint64_t *end_ns)
{
	struct CUctx_st *context;
	int result = fake_stream_context(stream, &context);

	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse();
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse_legacy(context, stream);
	if (result == CUDA_SUCCESS && fake_capture_alive(stream)) {
		fake_capture_spoil(fake_capture_id(stream));
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return result == CUDA_SUCCESS ? fake_stream_end(context, stream, end_ns) : result;
}

int cuStreamSynchronize(struct CUstream_st *stream)
{
	uint64_t end_ns;
	int result = fake_enter("cuStreamSynchronize");

	if (result == CUDA_SUCCESS)
		result = stream_end(stream, &end_ns);
	if (result == CUDA_SUCCESS)
		fake_timeline_wait(end_ns);
	return fake_leave("cuStreamSynchronize", result, "stream=%p", (void *)stream);
}

int cuStreamQuery(struct CUstream_st *stream)
{
	uint64_t end_ns;
	int result = fake_enter("cuStreamQuery");

	if (result == CUDA_SUCCESS)
		result = stream_end(stream, &end_ns);
	if (result == CUDA_SUCCESS && end_ns > fake_now() && !fake_knobs.hasty)
		result = CUDA_ERROR_NOT_READY;
	return fake_leave("cuStreamQuery", result, "stream=%p", (void *)stream);
}

int cuStreamGetCtx(struct CUstream_st *stream, struct CUctx_st **context)
{
	int result = fake_enter("cuStreamGetCtx");

	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, context);
	return fake_leave("cuStreamGetCtx", result, "stream=%p", (void *)stream);
}

int cuStreamGetId(struct CUstream_st *stream, unsigned long long *id)
{
	struct CUctx_st *context;
	int result = fake_enter("cuStreamGetId");

	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS)
		result = fake_stream_resolve(context, &stream);
	/* In any mode: no other query invalidates a capture. */
	if (result == CUDA_SUCCESS && fake_capture_alive(stream))
		result = fake_capture_refuse_all(context);
	if (result == CUDA_SUCCESS)
		*id = fake_stream_id(stream);
	return fake_leave("cuStreamGetId", result, "stream=%p", (void *)stream);
}
