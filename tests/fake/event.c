/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - events: each stores the time at which the work before it is done.
 *
 * An event that was never recorded counts as done. It can only be recorded in streams of its own
 * context. A record in a capturing stream becomes part of the graph: a stream that waits for the event
 * then joins the capture, and the event can neither be queried nor waited for. An event ends with its
 * context, even if a primary context becomes active again: a call with it ends the program then.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#define POLLS_MAX 1000

struct CUevent_st {
	struct CUevent_st *next;
	uint64_t done_ns; /* 0: never recorded */
	uint64_t capture; /* id of the capture that it was last recorded in; 0: none */
	struct CUctx_st *context;
	unsigned long long context_id; /* the event is valid as long as the context has this id */
	uint64_t polled_ns;            /* done_ns when it was last queried */
	unsigned int polls;            /* queries since then that found it pending */
};

static struct CUevent_st *events; /* lock: fake */

static struct CUevent_st **find(const struct CUevent_st *event)
{
	struct CUevent_st **link = &events;

	while (*link && *link != event)
		link = &(*link)->next;
	return link;
}

static bool is_alive(const struct CUevent_st *event)
{
	return event->context->alive && event->context->id == event->context_id;
}

static int check(const struct CUevent_st *event)
{
	if (!event || !*find(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!is_alive(event)) {
		fprintf(stderr, "fake driver: a call uses an event of a destroyed context\n");
		abort();
	}
	return CUDA_SUCCESS;
}

/* The same for a call that a sticky error of the event's context prevents. */
static int check_work(const struct CUevent_st *event)
{
	int result = check(event);

	return result == CUDA_SUCCESS ? fake_context_owner(event->context)->broken : result;
}

/*
 * The same for a query or wait. A captured event conflicts with its capture in every mode, and has
 * nothing to wait for once that has ended.
 */
static int check_done(const struct CUevent_st *event)
{
	int result = check_work(event);

	if (result == CUDA_SUCCESS && event->capture)
		result = fake_capture_spoil(event->capture) ? CUDA_ERROR_CAPTURED_EVENT
							    : CUDA_ERROR_INVALID_VALUE;
	return result == CUDA_SUCCESS ? fake_capture_refuse() : result;
}

int fake_event_count(void)
{
	int count = 0;

	for (const struct CUevent_st *event = events; event; event = event->next)
		count += is_alive(event);
	return count;
}

int cuEventCreate(struct CUevent_st **event, unsigned int flags)
{
	struct CUctx_st *context;
	int result = fake_enter("cuEventCreate");

	if (result == CUDA_SUCCESS)
		result = fake_context_current(&context);
	if (result == CUDA_SUCCESS) {
		struct CUevent_st *made = calloc(1, sizeof(*made));

		if (made) {
			made->next = events;
			made->context = context;
			made->context_id = context->id;
			events = made;
			*event = made;
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return fake_leave("cuEventCreate", result, "flags=%u", flags);
}

int cuEventDestroy_v2(struct CUevent_st *event)
{
	int result = fake_enter("cuEventDestroy");

	if (result == CUDA_SUCCESS)
		result = check(event);
	if (result == CUDA_SUCCESS) {
		*find(event) = event->next;
		free(event);
	}
	return fake_leave("cuEventDestroy", result, "event=%p", (void *)event);
}

int cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
	struct CUctx_st *context;
	uint64_t end_ns;
	int result = fake_enter("cuEventRecord");

	if (result == CUDA_SUCCESS)
		result = check(event);
	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS &&
	    fake_context_owner(event->context) != fake_context_owner(context))
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = fake_stream_end(context, stream, &end_ns);
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse_legacy(context, stream);
	if (result == CUDA_SUCCESS) {
		event->capture = fake_capture_id(stream);
		if (!event->capture)
			event->done_ns = end_ns > fake_now() ? end_ns : fake_now();
	}
	return fake_leave("cuEventRecord", result, "event=%p stream=%p", (void *)event,
			  (void *)stream);
}

/* A fence after everything submitted to a context so far. */
int cuCtxRecordEvent(struct CUctx_st *context, struct CUevent_st *event)
{
	int result = fake_enter("cuCtxRecordEvent");

	if (result == CUDA_SUCCESS)
		result = check_work(event);
	if (result == CUDA_SUCCESS)
		result = fake_context_check(context);
	if (result == CUDA_SUCCESS &&
	    fake_context_owner(event->context) != fake_context_owner(context))
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = fake_capture_refuse_all(context);
	if (result == CUDA_SUCCESS) {
		event->capture = 0;
		event->done_ns = context->all_ns > fake_now() ? context->all_ns : fake_now();
	}
	return fake_leave("cuCtxRecordEvent", result, "context=%p event=%p", (void *)context,
			  (void *)event);
}

/* On the fake's own clock, a program that polls would wait for as many calls as its work has ticks. */
static bool is_polled(struct CUevent_st *event)
{
	if (event->polled_ns != event->done_ns)
		event->polls = 0;
	event->polled_ns = event->done_ns;
	return ++event->polls > POLLS_MAX && fake_knobs.clock_ns != 0;
}

int cuEventQuery(struct CUevent_st *event)
{
	int result = fake_enter("cuEventQuery");

	if (result == CUDA_SUCCESS)
		result = check_done(event);
	if (result == CUDA_SUCCESS && event->done_ns > fake_now() && is_polled(event))
		fake_timeline_wait(event->done_ns);
	if (result == CUDA_SUCCESS && event->done_ns > fake_now() && !fake_knobs.hasty)
		result = CUDA_ERROR_NOT_READY;
	return fake_leave("cuEventQuery", result, "event=%p", (void *)event);
}

int cuEventSynchronize(struct CUevent_st *event)
{
	int result = fake_enter("cuEventSynchronize");

	if (result == CUDA_SUCCESS)
		result = check_done(event);
	if (result == CUDA_SUCCESS)
		fake_timeline_wait(event->done_ns);
	return fake_leave("cuEventSynchronize", result, "event=%p", (void *)event);
}

int cuEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end)
{
	int result = fake_enter("cuEventElapsedTime");

	if (result == CUDA_SUCCESS)
		result = check(start) == CUDA_SUCCESS ? check(end) : CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS && (start->capture || end->capture))
		result = CUDA_ERROR_CAPTURED_EVENT;
	if (result == CUDA_SUCCESS && (!start->done_ns || !end->done_ns))
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS && (start->done_ns > fake_now() || end->done_ns > fake_now()))
		result = CUDA_ERROR_NOT_READY;
	if (result == CUDA_SUCCESS)
		*milliseconds = ((double)end->done_ns - (double)start->done_ns) / 1e6;
	return fake_leave("cuEventElapsedTime", result, "%s", "");
}

/* A capture cannot depend on work outside of it. */
static int wait_for(struct CUctx_st *context, struct CUstream_st *stream,
		    const struct CUevent_st *event)
{
	uint64_t capture = fake_capture_id(stream);
	int result;

	if (capture) {
		fake_capture_spoil(capture);
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	result = fake_capture_refuse_legacy(context, stream);
	return result == CUDA_SUCCESS ? fake_stream_delay(context, stream, event->done_ns) : result;
}

int cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags)
{
	struct CUctx_st *context;
	int result = fake_enter("cuStreamWaitEvent");

	if (result == CUDA_SUCCESS)
		result = check(event);
	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS && event->capture)
		result = fake_capture_join(stream, event->capture);
	else if (result == CUDA_SUCCESS && event->done_ns != 0)
		result = wait_for(context, stream, event);
	return fake_leave("cuStreamWaitEvent", result, "stream=%p event=%p flags=%u",
			  (void *)stream, (void *)event, flags);
}
