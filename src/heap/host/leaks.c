/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.c - leaks.h: visits the objects that are live according to the metadata (visit.h), and
 * copies from the device each object's guard, in front of the program's memory (guard.h).
 *
 * Bound: a copy for each object shown; of leaks the first MOST are listed, and the others counted.
 */
#include "heap/host/leaks.h"

#include <inttypes.h>

#include "api/slots.h"
#include "base/log.h"
#include "base/option.h"
#include "heap/host/visit.h"

#define MAX 32u

struct walk {
	const struct mam_heap *heap;
	struct CUstream_st *stream;
	bool (*visit)(void *argument, void *address, size_t bytes);
	void *argument;
	enum mam_status status; /* of the copies */
	uint64_t count;         /* of objects so far */
};

/* The program's view of the heap's object at `base`. */
static enum mam_status read_object(const struct walk *walk, void *base,
				   struct mam_heap_report *report)
{
	struct mam_copy_visit visit;
	struct mam_guard guard;
	enum mam_status status;

	*report = (struct mam_heap_report){ .size = sizeof(*report),
					    .kind = MAM_HEAP_LEAK,
					    .address = base };
	status = mam_copy_begin(&walk->heap->reach, walk->stream, true, &visit);
	if (status != MAM_OK)
		return status;
	mam_copy_read(&visit, &guard, (uintptr_t)base, sizeof(guard));
	mam_copy_wait(&visit);
	status = mam_copy_end(&visit);
	if (status == MAM_OK)
		(void)mam_reader_object(walk->heap->reader, &guard, (uintptr_t)base, report);
	return status;
}

/* An object whose guard was overwritten is unknown: it is left out. */
static bool show(void *argument, void *base, size_t bytes)
{
	struct walk *walk = argument;
	struct mam_heap_report report;

	(void)bytes;
	walk->status = read_object(walk, base, &report);
	if (walk->status != MAM_OK)
		return false;
	if (!report.holder.known)
		return true;
	return walk->visit(walk->argument, report.address, (size_t)report.bytes);
}

enum mam_status mam_leaks_walk(struct mam_heap *heap, struct CUstream_st *stream,
			       bool (*visit)(void *argument, void *address, size_t bytes),
			       void *argument)
{
	struct walk walk = { .heap = heap, .stream = stream, .visit = visit, .argument = argument };
	enum mam_status status = mam_visit_objects(heap, stream, show, &walk);

	return status == MAM_OK ? walk.status : status;
}

static bool list(void *argument, void *base, size_t bytes)
{
	struct walk *walk = argument;
	struct mam_heap_report report;
	char text[512];

	(void)bytes;
	if (walk->count++ >= MAX)
		return true;
	walk->status = read_object(walk, base, &report);
	if (walk->status != MAM_OK)
		return false;
	(void)mam_heap_report_text(&report, text, sizeof(text));
	mam_log(MAM_LOG_WARN, "%s", text);
	return true;
}

void mam_leaks_log(struct mam_heap *heap)
{
	struct walk walk = { .heap = heap };

	if (mam_grant_alive(heap) && heap->pool->strict)
		(void)mam_device_quiesce(&heap->reach.device, NULL);
	mam_reader_log(heap->reader);
	if (!mam_grant_alive(heap) || !mam_log_wants(MAM_LOG_WARN) ||
	    !mam_option_bool(MAM_OPTION_HEAP_LEAKS))
		return;
	if (mam_visit_objects(heap, NULL, list, &walk) != MAM_OK || walk.status != MAM_OK)
		mam_log(MAM_LOG_WARN, "cannot read all live objects of the heap at %p",
			(void *)heap->space);
	else if (walk.count > MAX)
		mam_log(MAM_LOG_WARN, "memory leak: %" PRIu64 " more %s never freed",
			walk.count - MAX, walk.count - MAX == 1 ? "object was" : "objects were");
}
