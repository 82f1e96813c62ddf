/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_out.c - see trace_out.h.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "interpose/watch/trace_out.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mam/statpage.h>
#include <mam/tag.h>

#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/process/stack.h"
#include "interpose/process/thread.h"
#include "interpose/watch/gzip.h"
#include "interpose/watch/trace_ring.h"

#define CAPACITY ((uint64_t)1 << 17) /* records of the ring */
#define LINE_BYTES                                                                \
	(MAM_TRACE_RING_LINE + sizeof(WHO) + MAM_STACK_NAME_BYTES + sizeof(TAG) + \
	 MAM_TAG_PATH_BYTES)
#define TEXT_BYTES ((size_t)MAM_TRACE_SEGMENT * LINE_BYTES + NAMES_BYTES)
#define WHO " who="
#define TAG " tag="
#define STACK_BYTES ((size_t)256 << 10)
#define NAMES_BYTES ((size_t)4 << 20) /* of the ring: lines of frames and modules */
#define PATIENCE_MS 2000              /* for a thread that reserved a slot and does not fill it */
#define EXIT_PATIENCE_MS 2            /* the same, per record, when the process ends */
#define EXIT_WAIT_S 5                 /* then, for the thread to finish its segment */
#define OPEN_WAIT_S 1                 /* the same, when the next trace begins */
#define IMAGES_MAX 100 /* programs that one process may run by successive exec calls */

static struct mam_file file;      /* lock: draining */
static char ring_place[PATH_MAX]; /* lock: draining; "" if the ring has no file */
static off_t written;             /* lock: draining; bytes of complete segments */
static char *text;                /* lock: draining; TEXT_BYTES */
static bool over = true;          /* lock: draining; finished, failed, or not begun */
static const char *noun;          /* lock: none, set when the file is opened */
static pthread_mutex_t draining = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool started; /* atomic; a thread was requested */
static atomic_uint calls;   /* atomic; of mam_trace_out_wake(), as a futex */

/* Whether the file is a ring of this very process: it ran another program before an exec. */
static bool is_of_us(const char *place, uint64_t start)
{
	struct mam_trace_ring heading = { 0 };
	int there = open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t got;

	if (there < 0)
		return false;
	got = pread(there, &heading, sizeof(heading), 0);
	close(there);
	return got == (ssize_t)sizeof(heading) && heading.magic == MAM_TRACE_RING_MAGIC &&
	       heading.pid == (uint64_t)getpid() && heading.start == start;
}

/* Opens FILE, or FILE.2 if FILE has the trace of the program that this process ran before. */
static int open_file(const char *pattern, bool is_name, uint64_t start)
{
	static char place[PATH_MAX - 8]; /* lock: draining; too large for small stacks */
	int error = is_name ? mam_file_create(pattern, &file) : mam_file_open(pattern, &file);
	int image = 1;

	if (error != 0 || file.in_place)
		return error;
	if (snprintf(place, sizeof(place), "%s", file.place) >= (int)sizeof(place))
		return ENAMETOOLONG;
	for (;;) {
		if (snprintf(ring_place, sizeof(ring_place), "%s.ring", file.place) >=
		    (int)sizeof(ring_place))
			return ENAMETOOLONG;
		if (!is_of_us(ring_place, start) || image >= IMAGES_MAX)
			return 0;
		image++;
		if (snprintf(file.place, sizeof(file.place), "%s.%d", place, image) >=
		    (int)sizeof(file.place))
			return ENAMETOOLONG;
	}
}

/* Writes one member of the file. */
static int write_text(const char *chars, size_t length)
{
	const void *packed = chars;
	size_t bytes = length;
	int error;

	if (mam_gzip_is_there() && !mam_gzip_pack(chars, length, &packed, &bytes))
		return ENOMEM;
	error = mam_file_write(&file, packed, bytes);
	if (error == 0)
		written += (off_t)bytes;
	return error;
}

static int write_heading(const struct mam_trace_ring *heading, uint64_t sampled)
{
	char line[512], name[64];
	size_t length = 0;
	int bytes;

	for (const char *at = program_invocation_short_name; *at && length < sizeof(name) - 1; at++)
		name[length++] = *at > ' ' && *at < 127 ? *at : '?';
	name[length] = '\0';
	bytes = snprintf(line, sizeof(line), "# mam run trace of %s %d ring=%016llx time=%lld\n",
			 name, (int)getpid(), (unsigned long long)heading->token,
			 (long long)time(NULL));
	if (sampled != 0)
		bytes += snprintf(line + bytes, sizeof(line) - (size_t)bytes, "#sampled %llu\n",
				  (unsigned long long)sampled);
	return write_text(line, (size_t)bytes);
}

/* Called while the trace is locked: afterwards the name may belong to another process. */
static void remove_ring(void)
{
	if (ring_place[0] != '\0')
		unlink(ring_place);
	ring_place[0] = '\0';
}

static uint64_t make_token(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 0x9e3779b97f4a7c15u ^
	       (uint64_t)getpid() << 40;
}

/* The lock of the trace also protects its ring, which must not be replaced without it. */
static int publish(void)
{
	int error = mam_file_publish_locked(&file), ring_error;

	ring_error = mam_trace_ring_publish(error == 0);
	if (error == 0 && ring_error != 0 && !file.in_place)
		unlink(file.place);
	return error != 0 ? error : ring_error;
}

const char *mam_trace_out_noun(bool has_stacks)
{
	return has_stacks ? "profile" : "trace";
}

static int open_all(const char *pattern, bool is_name, bool has_stacks, uint64_t sampled)
{
	struct mam_trace_ring heading = { .magic = MAM_TRACE_RING_MAGIC,
					  .capacity = CAPACITY,
					  .token = make_token(),
					  .lines = sampled != 0 ? 2 : 1,
					  .pid = (uint64_t)getpid(),
					  .start = mam_statpage_start_of(getpid()),
					  .text_bytes = has_stacks ? NAMES_BYTES : 0 };
	int error;

	noun = mam_trace_out_noun(has_stacks);
	ring_place[0] = '\0';
	written = 0;
	over = false;
	error = open_file(pattern, is_name, heading.start);
	if (error != 0) {
		ring_place[0] = '\0'; /* the owner of the ring is unknown */
		return error;
	}
	if (text == NULL)
		text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (text == MAP_FAILED) {
		text = NULL;
		return ENOMEM;
	}
	mam_gzip_start(TEXT_BYTES);
	error = write_heading(&heading, sampled);
	if (error == 0)
		error = mam_trace_ring_open(ring_place[0] == '\0' ? NULL : ring_place, &heading);
	if (error == 0)
		error = publish();
	if (error != 0)
		ring_place[0] = '\0'; /* missing, or owned by the process that holds the lock */
	return error;
}

/* lock: draining */
static void give_up(const char *why)
{
	over = true;
	mam_trace_ring_close();
	/* A truncated member would corrupt the whole file; a pipe cannot be truncated. */
	if (!file.in_place && ftruncate(file.number, written) != 0)
		why = "cannot write or truncate it";
	mam_say(MAM_SAY_ERROR, "%s '%s' ends early: %s", noun, file.place, why);
	remove_ring();
	mam_file_close(&file);
}

/* Inserts a field before the newline of a line. Returns the new length. */
static size_t put_field(char *line, size_t bytes, const char *key, const char *value)
{
	const size_t key_bytes = strlen(key), value_bytes = strlen(value);

	memcpy(line + bytes - 1, key, key_bytes);
	memcpy(line + bytes - 1 + key_bytes, value, value_bytes);
	bytes += key_bytes + value_bytes;
	line[bytes - 1] = '\n';
	return bytes;
}

/*
 * lock: draining; adds the call site and the tags to an allocation's line. The ring alone does not
 * contain them: lines that are recovered from the ring later lack them.
 */
static size_t put_origin(const struct mam_trace_record *record, char *line, size_t bytes)
{
	const char *name;

	if (record->kind != MAM_TRACE_RECORD_ALLOC)
		return bytes;
	if (record->who != 0 && !(record->flags & MAM_TRACE_RECORD_STACK)) {
		name = mam_stack_name((const struct mam_stack *)(uintptr_t)record->who);
		if (name[0] != '\0')
			bytes = put_field(line, bytes, WHO, name);
	}
	if (record->tag != 0)
		bytes = put_field(line, bytes, TAG, (const char *)(uintptr_t)record->tag);
	return bytes;
}

/* lock: draining; returns the length of the line, 0: unknown record */
static size_t put_line(const struct mam_trace_record *record, char *at)
{
	size_t bytes = mam_trace_record_print(record, at);
	const char *line;

	if (bytes != 0)
		return put_origin(record, at, bytes);
	line = mam_trace_ring_text(record, &bytes);
	if (line == NULL)
		return 0;
	memcpy(at, line, bytes);
	return bytes;
}

/* lock: draining; prints the lines of some records. Returns false if one is incomplete. */
static bool print(uint64_t from, uint64_t count, bool last, size_t *length)
{
	*length = 0;
	for (uint64_t i = from; i < from + count; i++) {
		const struct mam_trace_record *record =
			mam_trace_ring_record(i, last ? EXIT_PATIENCE_MS : PATIENCE_MS);
		size_t bytes = record == NULL ? 0 : put_line(record, text + *length);

		if (bytes == 0 && !last)
			return false;
		if (bytes == 0) {
			static const char unfinished[] = "# lost: an event that was not whole\n";

			bytes = sizeof(unfinished) - 1;
			memcpy(text + *length, unfinished, bytes);
		}
		*length += bytes;
	}
	return true;
}

enum amount { SEGMENTS, UNTIL_NOW, LAST };

/* lock: draining; writes complete segments, or all records that were reserved until now */
static void drain(enum amount amount)
{
	const bool all = amount != SEGMENTS, last = amount == LAST;
	uint64_t tail, waiting = mam_trace_ring_waiting(&tail);

	while (!over && (waiting >= MAM_TRACE_SEGMENT || (all && waiting > 0))) {
		uint64_t count = waiting < MAM_TRACE_SEGMENT ? waiting : MAM_TRACE_SEGMENT;
		size_t length;
		int error;

		if (!print(tail, count, last, &length)) {
			give_up("a thread stopped while it recorded an event");
			return;
		}
		error = write_text(text, length);
		if (error != 0) {
			give_up(strerror(error));
			return;
		}
		mam_trace_ring_advance(tail + count);
		if (all) /* does not wait for events that others still add */
			waiting -= count, tail += count;
		else
			waiting = mam_trace_ring_waiting(&tail);
	}
}

static void *write_all(void *unused)
{
	unsigned int seen = 0;

	for (;;) {
		bool done;

		pthread_mutex_lock(&draining);
		drain(SEGMENTS);
		done = over;
		if (done) /* a later trace starts a new thread */
			atomic_store(&started, false);
		pthread_mutex_unlock(&draining);
		if (done)
			return unused;
		syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		seen = atomic_load(&calls);
	}
}

void mam_trace_out_wake(void)
{
	struct mam_file_signals signals;

	if (!atomic_exchange(&started, true) && !mam_thread_start(STACK_BYTES, write_all))
		atomic_store(&started, false);
	if (atomic_load(&started)) {
		atomic_fetch_add(&calls, 1);
		syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		return;
	}
	if (pthread_mutex_trylock(&draining) != 0)
		return;
	mam_file_hush(&signals);
	drain(SEGMENTS);
	mam_file_unhush(&signals);
	pthread_mutex_unlock(&draining);
}

bool mam_trace_out_flush(void)
{
	bool is_written;

	pthread_mutex_lock(&draining);
	drain(UNTIL_NOW);
	is_written = !over;
	pthread_mutex_unlock(&draining);
	return is_written;
}

/* The thread may be in a write that takes long. */
static bool lock_for(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return pthread_mutex_timedlock(&draining, &until) == 0;
}

/* lock: draining */
static void finish(void)
{
	int error;

	drain(LAST);
	if (over)
		return;
	over = true;
	remove_ring();
	error = mam_file_close(&file);
	if (error != 0)
		mam_say(MAM_SAY_ERROR, "%s '%s' may be truncated: %s", noun, file.place,
			strerror(error));
}

/* If the wait for the thread times out, file and ring stay: together they are complete. */
void mam_trace_out_finish(void)
{
	mam_trace_ring_close();
	if (!lock_for(EXIT_WAIT_S))
		return;
	finish();
	pthread_mutex_unlock(&draining);
}

/* The thread reads the ring and the file under the lock, also those of a trace that has ended. */
int mam_trace_out_open(const char *pattern, bool is_name, bool has_stacks, uint64_t sampled)
{
	struct mam_file_signals signals;
	int error;

	if (!lock_for(OPEN_WAIT_S))
		return EAGAIN;
	mam_file_hush(&signals);
	finish(); /* the last trace, if the wait for the thread timed out then */
	error = open_all(pattern, is_name, has_stacks, sampled);
	if (error != 0) {
		over = true;
		mam_file_close(&file);
	}
	mam_file_unhush(&signals);
	pthread_mutex_unlock(&draining);
	return error;
}

void mam_trace_out_restart(void)
{
	pthread_mutex_init(&draining, NULL);
	if (!over) { /* also open in the child, but the parent's */
		file.new.beside[0] = '\0';
		mam_file_close(&file);
	}
	over = true;
	ring_place[0] = '\0';
	text = NULL; /* the thread may have been writing there; a new buffer is cheap */
	mam_gzip_restart();
	atomic_store(&started, false);
}
