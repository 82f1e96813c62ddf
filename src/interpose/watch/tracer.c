/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.c - see tracer.h.
 */
#include "interpose/watch/tracer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mam/options.h>
#include <mam/tag_paths.h>

#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/process/stack.h"
#include "interpose/routes/init.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/trace_out.h"
#include "interpose/watch/trace_ring.h"
#include "interpose/watch/watch.h"

enum state { UNWANTED, WANTED, OPEN, OVER };

static atomic_int state; /* atomic: an enum state */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static bool asks_who;  /* lock: none, set when started */
static uint64_t began; /* lock: none, set at open; ns */
static struct mam_ledger ledger;
static __thread uint32_t thread_id __attribute__((tls_model("initial-exec")));      /* thread */
static __thread unsigned int thread_age __attribute__((tls_model("initial-exec"))); /* thread */
static unsigned int age = 1; /* lock: none; number of forks since the first process, plus 1 */

/*
 * *at_home is not 0 in the process that opened the trace. It is 0 in a process that a clone()
 * outside the C library created and that shares the ring. lock: none, set when opened
 */
static const int *at_home;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint32_t this_thread(void)
{
	if (__builtin_expect(thread_age != age, 0)) {
		thread_id = (uint32_t)syscall(SYS_gettid);
		thread_age = age;
	}
	return thread_id;
}

static const int *make_home(void)
{
	static const int always = 1;
	int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return &always;
	*page = 1;
#ifdef MADV_WIPEONFORK
	madvise(page, 4096, MADV_WIPEONFORK);
#endif
	return page;
}

static void open_trace(void)
{
	const char *pattern = mam_option_value("MAM_TRACE");
	int error;

	pthread_mutex_lock(&opening);
	if (atomic_load(&state) == WANTED) {
		began = now();
		at_home = make_home();
		error = mam_trace_out_open(pattern);
		if (error != 0) {
			mam_say(MAM_SAY_ERROR, "cannot write trace '%s': %s", pattern,
				mam_file_error(error));
			mam_watch_stop(MAM_WATCH_TRACE);
		}
		atomic_store_explicit(&state, error == 0 ? OPEN : OVER, memory_order_release);
	}
	pthread_mutex_unlock(&opening);
}

static bool is_open(void)
{
	int is = atomic_load_explicit(&state, memory_order_acquire);

	if (__builtin_expect(is == WANTED, 0)) {
		open_trace();
		is = atomic_load_explicit(&state, memory_order_acquire);
	}
	return is == OPEN && *at_home != 0;
}

static bool is_traced(enum mam_table_id function)
{
	switch (function) {
	case MAM_TABLE_cudaMalloc:
	case MAM_TABLE_cuMemAlloc_v2:
	case MAM_TABLE_cuMemAllocPitch_v2:
	case MAM_TABLE_cuMemAllocAsync:
	case MAM_TABLE_cuMemAllocAsync_ptsz:
	case MAM_TABLE_cuMemAllocFromPoolAsync:
	case MAM_TABLE_cuMemAllocFromPoolAsync_ptsz: return true;
	default: return false;
	}
}

/* The tags of the thread, which stay valid; 0: none. */
static uint64_t tag_here(void)
{
	const char *path = mam_tag_paths_here();

	return path[0] == '\0' ? 0 : (uint64_t)(uintptr_t)path;
}

/* Writes all fields into a reserved record. */
static void write_record(struct mam_trace_record *record, uint64_t number, uint64_t ns,
			 enum mam_trace_record_kind kind, const struct mam_ledger_entry *entry,
			 const void *stream, unsigned int flags, const struct mam_stack *who)
{
	record->ns = ns;
	if (kind == MAM_TRACE_RECORD_ALLOC)
		record->tag = tag_here();
	else
		record->id = entry->id;
	record->bytes = entry->bytes;
	record->stream = (uint64_t)(uintptr_t)stream;
	record->context = (uint64_t)(uintptr_t)entry->context;
	record->who = (uint64_t)(uintptr_t)who;
	record->thread = this_thread();
	record->kind = (uint16_t)kind;
	record->flags =
		(uint16_t)(flags |
			   (entry->fate == MAM_FATE_FORWARDED ? MAM_TRACE_RECORD_DRIVER : 0u));
	mam_trace_ring_commit(record, number);
}

static void put_free(const struct mam_ledger_entry *entry, const void *stream, unsigned int flags)
{
	bool full;
	uint64_t number;
	struct mam_trace_record *record = mam_trace_ring_reserve(&number, &full);

	if (record == NULL)
		return;
	write_record(record, number, now() - began, MAM_TRACE_RECORD_FREE, entry, stream, flags,
		     NULL);
	if (full)
		mam_trace_out_wake();
}

static unsigned int device_flags(int device)
{
	return device < 0 || device > MAM_TRACE_RECORD_DEVICE_MAX
		       ? 0
		       : (unsigned int)(device + 1) << MAM_TRACE_RECORD_DEVICE_SHIFT;
}

/*
 * The allocation reserves its slot before other threads can find its entry. The free of an older
 * entry at the same address reserves its slot after that entry was removed. So each free follows
 * its allocation, whichever other threads use this address.
 */
void mam_tracer_alloc(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry = { .bytes = call->bytes,
					  .context = call->context,
					  .fate = (uint16_t)call->fate };
	const struct mam_stack *who = NULL;
	struct mam_ledger_entry old;
	struct mam_trace_record *record;
	uint64_t number;
	bool full, known;

	if (!is_traced(call->function) || call->block == NULL || !is_open())
		return;
	if (asks_who) /* before a slot is reserved, which others then wait for */
		who = mam_stack_here();
	record = mam_trace_ring_reserve(&number, &full);
	if (record == NULL)
		return;
	entry.key = mam_ledger_key(call->function, call->block);
	entry.id = number - 1;
	entry.ns = now() - began;
	known = mam_ledger_put(&ledger, &entry, &old);
	if (known) {
		write_record(record, number, entry.ns, MAM_TRACE_RECORD_ALLOC, &entry, call->stream,
			     device_flags(call->device), who);
	} else {
		record->kind = MAM_TRACE_RECORD_LOST; /* its free will be unknown */
		record->bytes = 1;
		mam_trace_ring_commit(record, number);
	}
	if (full)
		mam_trace_out_wake();
	while (known && old.key != 0) {
		put_free(&old, NULL, MAM_TRACE_RECORD_IMPLIED);
		known = mam_ledger_put(&ledger, &entry, &old);
	}
}

void mam_tracer_free(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry;

	if (call->block == NULL || !is_open())
		return;
	if (mam_ledger_take(&ledger, mam_ledger_key(call->function, call->block), &entry))
		put_free(&entry, call->stream, 0);
}

static void gone(const struct mam_ledger_entry *entry)
{
	put_free(entry, NULL, MAM_TRACE_RECORD_IMPLIED);
}

void mam_tracer_context_gone(void *context)
{
	if (context != NULL && atomic_load_explicit(&state, memory_order_acquire) == OPEN &&
	    *at_home != 0)
		mam_ledger_take_context(&ledger, context, gone);
}

void mam_tracer_start(void)
{
	const char *pattern = mam_option_value("MAM_TRACE");

	if (pattern == NULL || pattern[0] == '\0' || !mam_file_is_watched())
		return;
	asks_who = mam_option_number("MAM_TRACE_WHO") != 0;
	if (asks_who)
		mam_stack_start();
	atomic_store(&state, WANTED);
	mam_watch_start(MAM_WATCH_TRACE);
}

void mam_tracer_finish(void)
{
	const char *pattern;
	int is = atomic_load(&state);

	if (is == OPEN && *at_home == 0)
		return;
	mam_watch_stop(MAM_WATCH_TRACE);
	atomic_store(&state, OVER);
	if (is == OPEN)
		mam_trace_out_finish();
	if (is != WANTED && (is != UNWANTED || mam_init_is_awake()))
		return;
	pattern = mam_option_value("MAM_TRACE");
	if (pattern != NULL && pattern[0] != '\0' && mam_file_is_started_one())
		mam_say(MAM_SAY_WARN, "trace '%s' was not written: no allocation was intercepted",
			pattern);
}

void mam_tracer_restart(void)
{
	int is = atomic_load(&state);

	age++;
	pthread_mutex_init(&opening, NULL);
	if (is == OPEN)
		mam_trace_out_restart();
	mam_ledger_restart(&ledger);
	atomic_store(&state, UNWANTED);
	if (is != UNWANTED && !mam_init_is_off())
		mam_tracer_start();
}
