/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.c - see tracer.h.
 */
#include "interpose/watch/tracer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mam/options.h>
#include <mam/tag_paths.h>

#include "interpose/process/altstack.h"
#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/process/stack.h"
#include "interpose/profile/sample.h"
#include "interpose/profile/stacks.h"
#include "interpose/routes/init.h"
#include "interpose/watch/gzip.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/tagged.h"
#include "interpose/watch/trace_out.h"
#include "interpose/watch/trace_ring.h"
#include "interpose/watch/watch.h"

#define COUNTERS 64   /* of threads in this file */
#define QUIET_MS 1000 /* how long the end of a trace waits for them */
#define NAP_NS 1000000

enum state { UNWANTED, WANTED, OPEN, OVER };

static atomic_int state; /* atomic: an enum state */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
/* The origin of an allocation, which its line contains. */
enum origin { NOTHING, WHO, STACKS };
static enum origin origin, wanted_origin; /* lock: none, set when a trace starts; by the options */
static uint64_t rate, wanted_rate;        /* lock: none, the same; see sample.h */
static uint64_t began;                    /* lock: none, set at open; ns */
static struct mam_ledger ledger;
static struct mam_ledger freed; /* blocks and contexts, while is_adding */
static atomic_bool is_adding;   /* atomic; between mam_tracer_open() and mam_tracer_opened() */
static struct {
	atomic_int threads; /* atomic; inside of this file, of those with such an id */
} __attribute__((aligned(64))) inside[COUNTERS];
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

/* The thread counts itself before it reads the state. */
static void enter(void)
{
	atomic_fetch_add(&inside[this_thread() % COUNTERS].threads, 1);
}

static void leave(void)
{
	atomic_fetch_sub(&inside[this_thread() % COUNTERS].threads, 1);
}

/* Whether no thread that has read an earlier state is inside. */
static bool is_quiet(void)
{
	int threads = 0;

	for (int i = 0; i < COUNTERS; i++)
		threads += atomic_load(&inside[i].threads);
	return threads == 0;
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

/* A profile is a trace with call stacks. Returns "" if neither is wanted. */
static const char *wanted_file(bool *has_stacks)
{
	const char *profile = mam_option_value("MAM_PROFILE");
	const char *trace = mam_option_value("MAM_TRACE");

	*has_stacks = profile != NULL && profile[0] != '\0';
	return *has_stacks ? profile : trace == NULL ? "" : trace;
}

static void open_trace(void *unused)
{
	bool has_stacks;
	const char *pattern = wanted_file(&has_stacks);
	int error;

	(void)unused;
	mam_gzip_load();
	pthread_mutex_lock(&opening);
	if (atomic_load(&state) == WANTED) {
		began = now();
		at_home = make_home();
		error = mam_trace_out_open(pattern, false, has_stacks, rate);
		if (error != 0) {
			mam_say(MAM_SAY_ERROR, "cannot write %s '%s': %s",
				mam_trace_out_noun(has_stacks), pattern, mam_file_error(error));
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
		mam_altstack_call(open_trace, NULL);
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

/* The tags of the thread, which stay valid; NULL: none. */
static const char *tags_of(const struct mam_watch_call *call)
{
	const char *path = call->tags != NULL ? call->tags : mam_tag_paths_here();

	return path[0] == '\0' ? NULL : path;
}

/* Writes all fields into a reserved record. */
static void write_record(struct mam_trace_record *record, uint64_t number, uint64_t ns,
			 enum mam_trace_record_kind kind, const struct mam_ledger_entry *entry,
			 const void *stream, unsigned int flags, uint64_t who, const char *tags)
{
	record->ns = ns;
	if (kind == MAM_TRACE_RECORD_ALLOC)
		record->tag = (uint64_t)(uintptr_t)tags;
	else
		record->id = entry->id;
	record->bytes = entry->bytes;
	record->stream = (uint64_t)(uintptr_t)stream;
	record->context = entry->is_library ? 0 : (uint64_t)(uintptr_t)entry->context;
	record->who = who;
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
	write_record(record, number, now() - began, MAM_TRACE_RECORD_FREE, entry, stream, flags, 0,
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

static bool put_text(const char *line, size_t bytes)
{
	bool full, good = mam_trace_ring_add_text(line, bytes, &full);

	if (full)
		mam_trace_out_wake();
	return good;
}

/* Called before a slot is reserved, which other threads then wait for. */
static uint64_t find_origin(unsigned int *flags)
{
	if (origin == WHO)
		return (uint64_t)(uintptr_t)mam_stack_here();
	*flags |= MAM_TRACE_RECORD_STACK;
	return mam_stacks_here(put_text);
}

/* The block will not be traced. If a traced one had its address, it was freed by an unseen call. */
static void pass_over(const struct mam_watch_call *call)
{
	struct mam_ledger_entry old;

	if (mam_ledger_take(&ledger, mam_ledger_key(call->function, call->block), &old))
		put_free(&old, NULL, MAM_TRACE_RECORD_IMPLIED);
}

/*
 * The allocation reserves its slot before other threads can find its entry. The free of an older
 * entry at the same address reserves its slot after that entry was removed. So each free follows
 * its allocation, whichever other threads use this address.
 */
static void record_alloc(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry = { .bytes = call->bytes,
					  .context = call->context,
					  .is_library = call->is_library,
					  .fate = (uint8_t)call->fate };
	struct mam_ledger_entry old;
	struct mam_trace_record *record;
	unsigned int flags = device_flags(call->device);
	uint64_t number, who = 0;
	bool full, known;

	if (!is_traced(call->function) || call->block == NULL || !is_open())
		return;
	if (__builtin_expect(origin != NOTHING, 0)) {
		if (!mam_sample_takes(call->bytes, rate)) {
			pass_over(call);
			return;
		}
		who = find_origin(&flags);
	}
	record = mam_trace_ring_reserve(&number, &full);
	if (record == NULL)
		return;
	entry.key = mam_ledger_key(call->function, call->block);
	entry.id = number - 1;
	entry.ns = now() - began;
	known = mam_ledger_put(&ledger, &entry, &old);
	if (known) {
		write_record(record, number, entry.ns, MAM_TRACE_RECORD_ALLOC, &entry, call->stream,
			     flags, who, tags_of(call));
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

void mam_tracer_alloc(const struct mam_watch_call *call)
{
	enter();
	record_alloc(call);
	leave();
}

/* Without memory for the note, the block's free may be missing. */
static void note_freed(uint64_t key)
{
	const struct mam_ledger_entry entry = { .key = key };

	if (__builtin_expect(atomic_load(&is_adding), 0))
		mam_ledger_add(&freed, &entry);
}

static bool was_freed(const struct mam_ledger_entry *entry)
{
	struct mam_ledger_entry note;

	return mam_ledger_find(&freed, entry->key, &note) ||
	       (entry->context != NULL &&
		mam_ledger_find(&freed, (uint64_t)(uintptr_t)entry->context, &note));
}

static void record_free(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry;

	if (call->block == NULL || !is_open())
		return;
	note_freed(mam_ledger_key(call->function, call->block));
	if (mam_ledger_take(&ledger, mam_ledger_key(call->function, call->block), &entry))
		put_free(&entry, call->stream, 0);
}

void mam_tracer_free(const struct mam_watch_call *call)
{
	enter();
	record_free(call);
	leave();
}

static void gone(const struct mam_ledger_entry *entry)
{
	put_free(entry, NULL, MAM_TRACE_RECORD_IMPLIED);
}

void mam_tracer_context_gone(void *context)
{
	enter();
	if (context != NULL && atomic_load_explicit(&state, memory_order_acquire) == OPEN &&
	    *at_home != 0) {
		note_freed((uint64_t)(uintptr_t)context);
		mam_ledger_take_context(&ledger, context, gone);
	}
	leave();
}

static void nap(void)
{
	static const struct timespec time = { 0, NAP_NS };

	nanosleep(&time, NULL);
}

static bool become_quiet(void)
{
	for (int i = 0; i < QUIET_MS && !is_quiet(); i++)
		nap();
	return is_quiet();
}

int mam_tracer_open(const char *name, const uint64_t *profile_rate)
{
	const bool has_stacks = profile_rate != NULL || wanted_origin == STACKS;
	const uint64_t mean = profile_rate != NULL ? *profile_rate : wanted_rate;
	int error = EBUSY;

	mam_gzip_load();
	pthread_mutex_lock(&opening);
	if (atomic_load(&state) == UNWANTED)
		error = become_quiet() ? mam_trace_out_open(name, true, has_stacks, mean) : EAGAIN;
	if (error == 0) {
		origin = has_stacks ? STACKS : wanted_origin;
		rate = mean;
		if (has_stacks) /* the new file lacks their lines */
			mam_stacks_begin();
		began = now();
		if (at_home == NULL)
			at_home = make_home();
		mam_ledger_restart(&ledger);
		mam_ledger_restart(&freed);
		atomic_store(&is_adding, true);
		atomic_store(&state, OPEN);
		mam_watch_start(MAM_WATCH_TRACE);
	}
	pthread_mutex_unlock(&opening);
	return error;
}

/*
 * A thread that allocates the same address meanwhile, or frees the block, finds either the entry or
 * its address in the other ledger. The slot is reserved first, as above.
 */
static bool add(const struct mam_watch_call *call, struct mam_ledger_entry *entry)
{
	struct mam_trace_record *record;
	struct mam_ledger_entry other;
	bool full, is_new;
	uint64_t number;

	if (was_freed(entry) || mam_ledger_find(&ledger, entry->key, &other) ||
	    !mam_sample_takes(entry->bytes, rate))
		return false;
	record = mam_trace_ring_reserve(&number, &full);
	if (record == NULL)
		return false;
	entry->id = number - 1;
	is_new = mam_ledger_add(&ledger, entry);
	write_record(record, number, 0, MAM_TRACE_RECORD_ALLOC, entry, NULL,
		     device_flags(call->device), 0, mam_tagged_find(call->block));
	if (full)
		mam_trace_out_wake();
	if (is_new && (!was_freed(entry) || !mam_ledger_take_same(&ledger, entry)))
		return true;
	put_free(entry, NULL, MAM_TRACE_RECORD_IMPLIED);
	return false;
}

bool mam_tracer_add(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry = { .key = mam_ledger_key(call->function, call->block),
					  .bytes = call->bytes,
					  .context = call->context,
					  .fate = (uint8_t)call->fate };
	bool is_new = false;

	while (mam_trace_ring_is_half_full()) { /* other threads must not lose their events */
		mam_trace_out_wake();
		nap();
	}
	enter();
	if (is_open())
		is_new = add(call, &entry);
	leave();
	return is_new;
}

void mam_tracer_opened(void)
{
	atomic_store(&is_adding, false);
}

int mam_tracer_flush(void)
{
	int error = EINVAL;

	pthread_mutex_lock(&opening);
	if (atomic_load(&state) == OPEN && *at_home != 0)
		error = mam_trace_out_flush() ? 0 : EIO;
	pthread_mutex_unlock(&opening);
	return error;
}

/* Events that were begun are completed first: the trace would lack them. */
bool mam_tracer_close(uint64_t *events)
{
	uint64_t tail;
	bool is;

	pthread_mutex_lock(&opening);
	is = atomic_load(&state) == OPEN && *at_home != 0;
	if (is) {
		mam_watch_stop(MAM_WATCH_TRACE);
		atomic_store(&state, UNWANTED);
		become_quiet();
		mam_trace_out_finish();
		*events = mam_trace_ring_waiting(&tail);
		*events += tail;
	}
	pthread_mutex_unlock(&opening);
	return is;
}

void mam_tracer_start(void)
{
	bool has_stacks;
	const char *pattern = wanted_file(&has_stacks);

	if (pattern[0] == '\0' || !mam_file_is_watched())
		return;
	wanted_origin = has_stacks                                ? STACKS
			: mam_option_number("MAM_TRACE_WHO") != 0 ? WHO
								  : NOTHING;
	wanted_rate = has_stacks ? mam_option_number("MAM_PROFILE_RATE") : 0;
	origin = wanted_origin;
	rate = wanted_rate;
	if (origin == WHO)
		mam_stack_start();
	atomic_store(&state, WANTED);
	mam_watch_start(MAM_WATCH_TRACE);
}

void mam_tracer_finish(void)
{
	const char *pattern;
	bool has_stacks;
	int is = atomic_load(&state);

	if (is == OPEN && *at_home == 0)
		return;
	mam_watch_stop(MAM_WATCH_TRACE);
	atomic_store(&state, OVER);
	if (is == OPEN)
		mam_trace_out_finish();
	if (is != WANTED && (is != UNWANTED || mam_init_is_awake()))
		return;
	pattern = wanted_file(&has_stacks);
	if (pattern[0] != '\0' && mam_file_is_started_one())
		mam_say(MAM_SAY_WARN, "%s '%s' was not written: no allocation was intercepted",
			mam_trace_out_noun(has_stacks), pattern);
}

void mam_tracer_restart(void)
{
	int is = atomic_load(&state);

	age++;
	pthread_mutex_init(&opening, NULL);
	at_home = NULL; /* the page is zero now */
	memset(inside, 0, sizeof(inside));
	atomic_store(&is_adding, false);
	mam_trace_out_restart();
	if (origin == STACKS)
		mam_stacks_restart();
	mam_ledger_restart(&ledger);
	mam_ledger_restart(&freed);
	atomic_store(&state, UNWANTED);
	if (is != UNWANTED && !mam_init_is_off())
		mam_tracer_start();
}
