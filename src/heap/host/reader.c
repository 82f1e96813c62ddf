/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - reader.h: the ring's memory, and the reading of it (<mam/heap.h>).
 *
 * To read: of all numbers that can be in the ring, those with a matching stamp, in order, each
 * once. A lane that took a number, or its kernel with the context, may have died before it wrote
 * the stamp. Then later reports are read all the same, and remembered as read, but `taken` stays,
 * so that no lane overwrites a report that may still appear.
 *
 * The ring is read under a lock, so each report is shown once; `visit` is called under it, too.
 */
#include "heap/host/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "heap/host/create.h"
#include "heap/service/shared.h"

struct mam_reader {
	/* lock: none, set when made */
	const struct mam_copy *reach;
	struct mam_shared memory;
	struct mam_reports *reports; /* `memory`, mapped */
	uint64_t salt;

	pthread_mutex_t reading;
	uint64_t lost;              /* lock: reading; how many of those were shown as lost */
	uint64_t seen[MAM_REPORTS]; /* lock: reading; the last stamp shown at each place */
};

static uint64_t load(const uint64_t *where)
{
	return __atomic_load_n(where, __ATOMIC_ACQUIRE);
}

/* Different for each heap of a process, and mostly of all processes. */
static uint64_t new_salt(void)
{
	static _Atomic uint64_t heaps;

	return mam_guard_mix(mam_clock_ns(), atomic_fetch_add(&heaps, 1) + 1) | 1;
}

enum mam_status mam_reader_create(const struct mam_copy *reach, struct mam_reader **reader)
{
	struct mam_reader *made = calloc(1, sizeof(*made));
	enum mam_status status;

	if (!made)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_shared_map(&reach->device, sizeof(*made->reports), &made->memory);
	if (status != MAM_OK) {
		free(made);
		return status;
	}
	made->reach = reach;
	made->reports = made->memory.at;
	made->salt = new_salt();
	made->reading = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	*reader = made;
	return MAM_OK;
}

void mam_reader_destroy(struct mam_reader *reader)
{
	if (!reader)
		return;
	mam_shared_unmap(&reader->reach->device, &reader->memory);
	pthread_mutex_destroy(&reader->reading);
	free(reader);
}

void mam_reader_report(const struct mam_reader *reader, struct mam_growth *growth)
{
	growth->reports = reader->reports;
	growth->salt = reader->salt;
}

static struct mam_heap_thread thread_of(const struct mam_who *who)
{
	struct mam_heap_thread thread = { .known = false };

	thread.known = mam_who_read(*who, thread.block, thread.thread);
	return thread;
}

static struct mam_heap_report report_of(const struct mam_report *told)
{
	struct mam_heap_report report = {
		.size = sizeof(report),
		.kind = (enum mam_heap_mistake)told->kind,
		.address = (void *)(uintptr_t)told->address,
		.bytes = told->bytes,
		.offset = (int64_t)told->offset,
		.finder = thread_of(&told->finder),
		.holder = thread_of(&told->holder),
		.giver = thread_of(&told->giver),
	};

	return report;
}

bool mam_reader_object(const struct mam_reader *reader, const struct mam_guard *guard,
		       uintptr_t base, struct mam_heap_report *report)
{
	if (guard->check != mam_guard_check(guard, base, reader->salt))
		return false;
	*report = (struct mam_heap_report){
		.size = sizeof(*report),
		.kind = MAM_HEAP_LEAK,
		.address = (void *)(base + mam_guard_front(guard)),
		.bytes = guard->bytes,
		.holder = thread_of(&guard->holder),
	};
	return true;
}

/* Shows how many reports were lost since the last time, if any. */
static void visit_lost(struct mam_reader *reader,
		       bool (*visit)(void *argument, const struct mam_heap_report *report),
		       void *argument)
{
	const uint64_t lost = load(&reader->reports->lost);
	const struct mam_heap_report report = { .size = sizeof(report),
						.kind = MAM_HEAP_UNTOLD,
						.bytes = lost - reader->lost };

	if (lost == reader->lost)
		return;
	reader->lost = lost;
	(void)visit(argument, &report);
}

/* Returns false if `visit` stopped. */
static bool visit_told(struct mam_reader *reader,
		       bool (*visit)(void *argument, const struct mam_heap_report *report),
		       void *argument)
{
	uint64_t taken = reader->reports->taken;
	bool more = true;

	for (uint64_t number = taken; more && number < taken + MAM_REPORTS; number++) {
		const struct mam_report *told = &reader->reports->report[number % MAM_REPORTS];
		struct mam_heap_report report;

		if (load(&told->stamp) != number + 1 ||
		    reader->seen[number % MAM_REPORTS] == number + 1)
			continue;
		report = report_of(told);
		reader->seen[number % MAM_REPORTS] = number + 1;
		more = visit(argument, &report);
	}
	while (reader->seen[taken % MAM_REPORTS] == taken + 1)
		taken++;
	__atomic_store_n(&reader->reports->taken, taken, __ATOMIC_RELEASE);
	return more;
}

void mam_reader_visit(struct mam_reader *reader,
		      bool (*visit)(void *argument, const struct mam_heap_report *report),
		      void *argument)
{
	pthread_mutex_lock(&reader->reading);
	if (visit_told(reader, visit, argument))
		visit_lost(reader, visit, argument);
	pthread_mutex_unlock(&reader->reading);
}

static bool log_report(void *argument, const struct mam_heap_report *report)
{
	char text[512];

	(void)argument;
	(void)mam_heap_report_text(report, text, sizeof(text));
	mam_log(MAM_LOG_WARN, "%s", text);
	return true;
}

void mam_reader_log(struct mam_reader *reader)
{
	mam_reader_visit(reader, log_report, NULL);
}

enum mam_status mam_heap_reports(struct mam_heap *heap,
				 bool (*visit)(void *argument,
					       const struct mam_heap_report *report),
				 void *argument)
{
	if (!heap || !visit)
		return MAM_ERROR_INVALID_VALUE;
	if (!heap->reader)
		return MAM_ERROR_UNSUPPORTED;
	mam_reader_visit(heap->reader, visit, argument);
	return MAM_OK;
}
