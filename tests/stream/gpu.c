/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - see gpu.h. Times are vectors: for each stream, how much of its work. A stream's clock is
 * the work after which its next work runs, and an event has a copy of it.
 */
#include "gpu.h"

#include <string.h>

#include "device/port_simt.h"
#include "simt/simt.h"
#include "wrong.h"

#define MEMORY ((uintptr_t)0x700000000000)
#define GRANULE 512
#define GRANULES 512
#define CHUNKS 8
#define EVENTS 32
#define ITEMS 64 /* of work in one stream */
#define LEGACY ((struct CUstream_st *)1)
#define TICKET 2

struct gpu_clock {
	unsigned at[GPU_STREAMS];
};

static struct gpu {
	struct stream {
		struct CUstream_st *handle; /* NULL: not created yet */
		bool alive;
		unsigned submitted, done;
		struct gpu_clock clock;       /* at[the stream itself] is not used */
		struct gpu_clock item[ITEMS]; /* the clock when each was submitted */
	} stream[GPU_STREAMS];
	struct event {
		bool exists;
		struct gpu_clock clock;
	} event[EVENTS];
	struct {
		uintptr_t base;
		size_t bytes; /* 0: not in use */
	} chunk[CHUNKS];
	size_t bytes;
	bool refuses;                    /* to create and to record events */
	bool held[GRANULES];             /* by a caller */
	struct gpu_clock used[GRANULES]; /* the last work that uses it */
} gpu;

static struct mam_source source;

#define CHECK(truth, what)                            \
	do {                                          \
		if (!(truth))                         \
			simt_fail((what), SIMT_SITE); \
	} while (0)

static unsigned stream_at(const struct CUstream_st *handle)
{
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		if (gpu.stream[i].alive && gpu.stream[i].handle == handle)
			return i;
	simt_fail("the driver got a stream that does not exist", SIMT_SITE);
}

static struct event *event_at(struct CUevent_st *handle)
{
	struct event *event = &gpu.event[((uintptr_t)handle - 1) % EVENTS];

	CHECK(handle && event->exists, "the driver got an event that does not exist");
	return event;
}

/* The work up to `count` of this stream is complete, and all that it waited for. */
static void complete(unsigned stream, unsigned count)
{
	struct stream *at = &gpu.stream[stream];

	while (at->done < count) {
		const struct gpu_clock *clock = &at->item[at->done];

		at->done++;
		for (unsigned i = 0; i < GPU_STREAMS; i++)
			if (i != stream)
				complete(i, clock->at[i]);
	}
}

static bool is_over(const struct gpu_clock *clock)
{
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		if (clock->at[i] > gpu.stream[i].done)
			return false;
	return true;
}

/* The clock after all work that was submitted so far. */
static struct gpu_clock clock_of(unsigned stream)
{
	struct gpu_clock clock = gpu.stream[stream].clock;

	clock.at[stream] = gpu.stream[stream].submitted;
	return clock;
}

/* Other threads run meanwhile. */
static void wait_for(const struct gpu_clock *given, const char *site)
{
	const struct gpu_clock clock = *given;

	simt_host_yield(site);
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		complete(i, clock.at[i]);
}

void gpu_run(struct CUstream_st *stream)
{
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		if (gpu.stream[i].alive && gpu.stream[i].handle == stream)
			complete(i, gpu.stream[i].submitted);
}

void gpu_run_former(struct CUstream_st *stream)
{
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		if (!gpu.stream[i].alive && gpu.stream[i].handle == stream)
			complete(i, gpu.stream[i].submitted);
}

struct CUstream_st *gpu_stream_new(void)
{
	struct CUstream_st *handle = (struct CUstream_st *)(uintptr_t)0x1000;
	unsigned at = 0;

	for (unsigned i = 0; i < GPU_STREAMS; i++) {
		at = gpu.stream[GPU_STREAMS - 1 - i].handle ? at : GPU_STREAMS - 1 - i;
		if (gpu.stream[i].alive && gpu.stream[i].handle == handle) {
			handle = (struct CUstream_st *)((uintptr_t)handle + 0x1000);
			i = 0;
		}
	}
	CHECK(at != 0, "too many streams");
	gpu.stream[at].handle = handle;
	gpu.stream[at].alive = true;
	return handle;
}

void gpu_stream_end(struct CUstream_st *stream)
{
	gpu.stream[stream_at(stream)].alive = false;
}

static unsigned granule_at(const void *block)
{
	uintptr_t at = ((uintptr_t)block - MEMORY) / GRANULE;

	CHECK(at < GRANULES, "a block is not in the GPU's memory");
	return (unsigned)at;
}

static void use(unsigned granule, unsigned count, unsigned stream)
{
	struct stream *at = &gpu.stream[stream];

	CHECK(at->submitted < ITEMS, "too much work in a stream");
	at->item[at->submitted++] = at->clock;
	for (unsigned g = granule; g < granule + count; g++) {
		for (unsigned i = 0; i < GPU_STREAMS; i++)
			CHECK(i == stream || gpu.used[g].at[i] <= gpu.stream[i].done ||
				      gpu.used[g].at[i] <= at->clock.at[i],
			      "work uses memory that work of another stream still uses");
		gpu.used[g].at[stream] = at->submitted;
	}
}

static unsigned count_of(size_t bytes)
{
	return (unsigned)((bytes + GRANULE - 1) / GRANULE);
}

static void hold(void *block, size_t bytes)
{
	for (unsigned g = granule_at(block), i = 0; i < count_of(bytes); i++) {
		CHECK(!gpu.held[g + i], "a block was allocated that a caller holds");
		gpu.held[g + i] = true;
	}
}

void gpu_use(void *block, size_t bytes, struct CUstream_st *stream)
{
	use(granule_at(block), count_of(bytes), stream_at(stream));
}

void gpu_got(void *block, size_t bytes, struct CUstream_st *stream)
{
	hold(block, bytes);
	gpu_use(block, bytes, stream);
}

void gpu_got_idle(void *block, size_t bytes)
{
	hold(block, bytes);
	for (unsigned g = granule_at(block), i = 0; i < count_of(bytes); i++)
		CHECK(is_over(&gpu.used[g + i]), "a block was allocated that work still uses");
}

void gpu_gone(void *block, size_t bytes)
{
	for (unsigned g = granule_at(block), i = 0; i < count_of(bytes); i++) {
		CHECK(gpu.held[g + i], "a caller frees a block that it does not hold");
		gpu.held[g + i] = false;
	}
}

/* ---- the driver ---- */

static unsigned int ctx_get_current(struct CUctx_st **context)
{
	*context = gpu_context();
	return MAM_DRIVER_SUCCESS;
}

static unsigned int ctx_push_current(struct CUctx_st *context)
{
	(void)context;
	return MAM_DRIVER_SUCCESS;
}

static unsigned int ctx_pop_current(struct CUctx_st **context)
{
	return ctx_get_current(context);
}

static unsigned int exchange_mode(unsigned int *mode)
{
	(void)mode;
	return MAM_DRIVER_SUCCESS;
}

static unsigned int event_create(struct CUevent_st **event, unsigned int flags)
{
	unsigned i = 0;

	(void)flags;
	if (gpu.refuses)
		return MAM_DRIVER_OUT_OF_MEMORY;
	while (i < EVENTS && gpu.event[i].exists)
		i++;
	CHECK(i < EVENTS, "too many events");
	gpu.event[i] = (struct event){ .exists = true };
	*event = (struct CUevent_st *)(uintptr_t)(i + 1);
	return MAM_DRIVER_SUCCESS;
}

static unsigned int event_destroy(struct CUevent_st *event)
{
	event_at(event)->exists = false;
	return MAM_DRIVER_SUCCESS;
}

static unsigned int event_record(struct CUevent_st *event, struct CUstream_st *stream)
{
	struct event *at = event_at(event);

	if (gpu.refuses)
		return MAM_DRIVER_OUT_OF_MEMORY;
	at->clock = clock_of(stream_at(stream));
	return MAM_DRIVER_SUCCESS;
}

static unsigned int event_query(struct CUevent_st *event)
{
	return is_over(&event_at(event)->clock) ? MAM_DRIVER_SUCCESS : MAM_DRIVER_NOT_READY;
}

static unsigned int event_synchronize(struct CUevent_st *event)
{
	wait_for(&event_at(event)->clock, "event_synchronize");
	return MAM_DRIVER_SUCCESS;
}

static unsigned int stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event,
				      unsigned int flags)
{
	struct gpu_clock *clock = &gpu.stream[stream_at(stream)].clock;
	const struct event *at = event_at(event);

	(void)flags;
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		if (clock->at[i] < at->clock.at[i])
			clock->at[i] = at->clock.at[i];
	return MAM_DRIVER_SUCCESS;
}

static unsigned int stream_get_id(struct CUstream_st *stream, unsigned long long *id)
{
	*id = 100 + stream_at(stream);
	return MAM_DRIVER_SUCCESS;
}

static unsigned int stream_get_ctx(struct CUstream_st *stream, struct CUctx_st **context)
{
	(void)stream_at(stream);
	return ctx_get_current(context);
}

static unsigned int stream_is_capturing(struct CUstream_st *stream, unsigned int *status)
{
	(void)stream_at(stream);
	*status = 0;
	return MAM_DRIVER_SUCCESS;
}

static unsigned int mem_alloc(unsigned long long *address, size_t bytes)
{
	(void)bytes;
	*address = TICKET;
	return MAM_DRIVER_SUCCESS;
}

/* As the driver's free: it waits for all work that was submitted before. */
static unsigned int mem_free(unsigned long long address)
{
	struct gpu_clock clock;

	CHECK(address == TICKET, "the driver frees memory that it did not allocate");
	for (unsigned i = 0; i < GPU_STREAMS; i++)
		clock.at[i] = gpu.stream[i].submitted;
	wait_for(&clock, "cuMemFree");
	return MAM_DRIVER_SUCCESS;
}

static const struct mam_driver driver = {
	.ctx_get_current = ctx_get_current,
	.ctx_push_current = ctx_push_current,
	.ctx_pop_current = ctx_pop_current,
	.thread_exchange_stream_capture_mode = exchange_mode,
	.event_create = event_create,
	.event_destroy = event_destroy,
	.event_record = event_record,
	.event_query = event_query,
	.event_synchronize = event_synchronize,
	.stream_wait_event = stream_wait_event,
	.stream_get_id = stream_get_id,
	.stream_get_ctx = stream_get_ctx,
	.stream_is_capturing = stream_is_capturing,
	.own_mem_alloc = mem_alloc,
	.own_mem_free = mem_free,
};

/* Instead of those of source/driver.c. */
enum mam_status mam_driver_get(const struct mam_driver **got)
{
	*got = &driver;
	return MAM_OK;
}

const char *mam_driver_reason(void)
{
	return "";
}

enum mam_status mam_driver_status(const struct mam_driver *given, const char *function,
				  unsigned int result)
{
	(void)given, (void)function;
	return result == MAM_DRIVER_SUCCESS ? MAM_OK : MAM_ERROR_DRIVER;
}

struct CUctx_st *gpu_context(void)
{
	return (struct CUctx_st *)(uintptr_t)0x100;
}

/* ---- the source ---- */

static bool overlaps(uintptr_t base, size_t bytes)
{
	for (unsigned i = 0; i < CHUNKS; i++)
		if (gpu.chunk[i].bytes != 0 && gpu.chunk[i].base < base + bytes &&
		    base < gpu.chunk[i].base + gpu.chunk[i].bytes)
			return true;
	return false;
}

/* At the lowest address. */
static enum mam_status grow(struct mam_source *this, size_t bytes, void **base)
{
	uintptr_t at = MEMORY;
	unsigned i = 0;

	(void)this;
	while (i < CHUNKS && gpu.chunk[i].bytes != 0)
		i++;
	while (overlaps(at, bytes))
		at += GRANULE;
	if (i == CHUNKS || at + bytes > MEMORY + gpu.bytes)
		return MAM_ERROR_OUT_OF_MEMORY;
	gpu.chunk[i].base = at;
	gpu.chunk[i].bytes = bytes;
	*base = (void *)at;
	return MAM_OK;
}

static enum mam_status shrink(struct mam_source *this, void *base, size_t bytes)
{
	unsigned i = 0;

	(void)this;
	while (i < CHUNKS && gpu.chunk[i].base != (uintptr_t)base)
		i++;
	CHECK(i < CHUNKS && gpu.chunk[i].bytes == bytes,
	      "memory is returned that was not allocated");
	for (unsigned g = granule_at(base), k = 0; k < count_of(bytes); k++) {
		CHECK(!gpu.held[g + k], "memory is returned that a caller holds");
		CHECK(is_over(&gpu.used[g + k]), "memory is returned that work still uses");
	}
	gpu.chunk[i].base = gpu.chunk[i].bytes = 0;
	return MAM_OK;
}

static void destroy(struct mam_source *this)
{
	(void)this;
}

static const struct mam_source_ops ops = {
	.size = sizeof(ops), .grow = grow, .shrink = shrink, .destroy = destroy
};

struct mam_source *gpu_source(void)
{
	return &source;
}

void gpu_begin(size_t bytes)
{
	memset(&gpu, 0, sizeof(gpu));
	gpu.bytes = bytes;
	gpu.stream[0].handle = LEGACY;
	gpu.stream[0].alive = true;
	source = (struct mam_source){ .size = sizeof(source), .ops = &ops };
	source.properties.name = "gpu";
	source.properties.granularity = source.properties.alignment = GRANULE;
	source.properties.device = 0;
}

void gpu_refuse_events(bool refuse)
{
	gpu.refuses = refuse;
}

size_t gpu_bytes(void)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < CHUNKS; i++)
		bytes += gpu.chunk[i].bytes;
	return bytes;
}

unsigned gpu_events(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < EVENTS; i++)
		count += gpu.event[i].exists;
	return count;
}

/* ---- wrong.h ---- */

enum wrong wrong_now;

bool wrong(enum wrong which)
{
	return wrong_now == which;
}
