/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring.c - see trace_ring.h.
 */
#include "interpose/watch/trace_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "interpose/process/file.h"

#define SLACK 1024 /* threads that may reserve at the same time */
#define WAIT_MS 20 /* how long an event waits for space */
#define SPINS 1000 /* before a waiting thread sleeps */
#define NAP_NS 50000

static struct mam_trace_record *records;                   /* lock: none, set by open */
static uint64_t capacity;                                  /* lock: none, set by open */
static size_t mapped;                                      /* lock: none, set by open; bytes */
static _Atomic uint64_t head __attribute__((aligned(64))); /* atomic; slots reserved */
static _Atomic uint64_t tail __attribute__((aligned(64))); /* atomic; slots written out */
static char *text;                                         /* lock: none, set by open */
static uint64_t text_bytes;                                /* lock: none, set by open */
static uint64_t text_head;         /* lock: of mam_trace_ring_add_text()'s caller */
static _Atomic uint64_t text_tail; /* atomic; bytes written out, skipped ones included */
static struct mam_file ring_file = { .number = -1 }; /* lock: none, from open to publish */
static atomic_bool closed;                           /* atomic */
static atomic_bool dropping;     /* atomic; the ring was full, and is not half empty yet */
static _Atomic uint64_t dropped; /* atomic; events not yet reported by a record */

/* Creates the file, large enough, with its space allocated. */
static int make_file(const char *place, size_t bytes, struct mam_file *file)
{
	struct rlimit limit;
	int error;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
		return EFBIG;
	error = mam_file_create(place, file);
	if (error != 0)
		return error;
	if (file->in_place)
		return EEXIST;
	do
		error = posix_fallocate(file->number, 0, (off_t)bytes);
	while (error == EINTR);
	return error;
}

static int map(const char *place, size_t bytes, const struct mam_trace_ring *heading, void **ring)
{
	int error = 0;

	ring_file.number = -1;
	if (place != NULL)
		error = make_file(place, bytes, &ring_file);
	if (error == 0) {
		*ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     place != NULL ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
			     ring_file.number, 0);
		if (*ring == MAP_FAILED)
			error = errno;
	}
	if (error == 0)
		memcpy(*ring, heading, sizeof(*heading));
	else if (place != NULL)
		mam_file_close(&ring_file);
	return error;
}

int mam_trace_ring_open(const char *place, const struct mam_trace_ring *heading)
{
	size_t bytes =
		MAM_TRACE_RING_HEAD + heading->capacity * sizeof(*records) + heading->text_bytes;
	void *ring;
	int error = map(place, bytes, heading, &ring);

	if (error != 0)
		return error;
	if (mapped != 0)
		munmap((char *)records - MAM_TRACE_RING_HEAD, mapped);
	mapped = bytes;
	records = (struct mam_trace_record *)((char *)ring + MAM_TRACE_RING_HEAD);
	capacity = heading->capacity;
	text = (char *)&records[capacity];
	text_bytes = heading->text_bytes;
	text_head = 0;
	atomic_store(&text_tail, 0);
	atomic_store(&head, 0);
	atomic_store(&tail, 0);
	atomic_store(&dropping, false);
	atomic_store(&dropped, 0);
	atomic_store(&closed, false);
	return 0;
}

int mam_trace_ring_publish(bool is_wanted)
{
	int error = 0;

	if (ring_file.number < 0)
		return 0;
	if (is_wanted)
		error = mam_file_publish(&ring_file);
	mam_file_close(&ring_file);
	return error;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Waits a moment. The longer a wait takes, the less CPU time it uses. */
static void rest(unsigned int *turn)
{
	static const struct timespec nap = { 0, NAP_NS };

	if ((*turn)++ < SPINS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

static uint64_t used(void)
{
	uint64_t end = atomic_load_explicit(&tail, memory_order_acquire);

	return atomic_load_explicit(&head, memory_order_relaxed) - end;
}

bool mam_trace_ring_is_half_full(void)
{
	return used() > capacity / 2 && !atomic_load(&closed);
}

/* The ring is full. Returns false if the event must be dropped. */
static bool wait_for_room(void)
{
	uint64_t start = 0;
	unsigned int turn = 0;

	if (atomic_load(&dropping)) {
		if (used() > capacity / 2)
			return false;
		atomic_store(&dropping, false);
		return true;
	}
	while (used() + SLACK >= capacity && !atomic_load(&closed)) {
		if (start == 0)
			start = milliseconds();
		else if (milliseconds() - start > WAIT_MS) {
			atomic_store(&dropping, true);
			return false;
		}
		rest(&turn);
	}
	return true;
}

static struct mam_trace_record *reserve(uint64_t *number, bool *segment_full)
{
	uint64_t place = atomic_fetch_add_explicit(&head, 1, memory_order_relaxed);
	unsigned int turn = 0;

	while (place - atomic_load_explicit(&tail, memory_order_acquire) >= capacity) {
		if (atomic_load(&closed))
			return NULL;
		rest(&turn);
	}
	*number = place + 1;
	*segment_full = *segment_full || *number % MAM_TRACE_SEGMENT == 0;
	return &records[place & (capacity - 1)];
}

static void say_lost(uint64_t events, bool *segment_full)
{
	uint64_t number;
	struct mam_trace_record *record = reserve(&number, segment_full);

	if (record == NULL)
		return;
	record->kind = MAM_TRACE_RECORD_LOST;
	record->bytes = events;
	mam_trace_ring_commit(record, number);
}

struct mam_trace_record *mam_trace_ring_reserve(uint64_t *number, bool *segment_full)
{
	bool full =
		atomic_load_explicit(&dropping, memory_order_relaxed) || used() + SLACK >= capacity;

	*segment_full = false;
	if (__builtin_expect(full, 0) && !wait_for_room()) {
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
		return NULL;
	}
	if (atomic_load_explicit(&closed, memory_order_relaxed))
		return NULL;
	if (__builtin_expect(atomic_load_explicit(&dropped, memory_order_relaxed) != 0, 0)) {
		uint64_t events = atomic_exchange(&dropped, 0);

		if (events != 0)
			say_lost(events, segment_full);
	}
	return reserve(number, segment_full);
}

void mam_trace_ring_commit(struct mam_trace_record *record, uint64_t number)
{
	atomic_store_explicit((_Atomic uint64_t *)&record->number, number, memory_order_release);
}

/* A line is in one piece: one that does not fit before the end is at the beginning. */
bool mam_trace_ring_add_text(const char *line, size_t bytes, bool *segment_full)
{
	uint64_t from = text_head, number;
	struct mam_trace_record *record;

	*segment_full = false;
	if (bytes > text_bytes)
		return false;
	if (from % text_bytes + bytes > text_bytes)
		from += text_bytes - from % text_bytes;
	if (from + bytes - atomic_load_explicit(&text_tail, memory_order_acquire) > text_bytes)
		return false;
	record = mam_trace_ring_reserve(&number, segment_full);
	if (record == NULL)
		return false;
	memcpy(text + from % text_bytes, line, bytes);
	text_head = from + bytes;
	record->kind = MAM_TRACE_RECORD_TEXT;
	record->id = from % text_bytes;
	record->bytes = bytes;
	record->context = text_head;
	mam_trace_ring_commit(record, number);
	return true;
}

const char *mam_trace_ring_text(const struct mam_trace_record *record, size_t *length)
{
	return mam_trace_record_text(record, text, text_bytes, length);
}

void mam_trace_ring_close(void)
{
	atomic_store(&closed, true);
}

uint64_t mam_trace_ring_waiting(uint64_t *from)
{
	*from = atomic_load_explicit(&tail, memory_order_relaxed);
	return atomic_load_explicit(&head, memory_order_acquire) - *from;
}

const struct mam_trace_record *mam_trace_ring_record(uint64_t i, unsigned int patience_ms)
{
	struct mam_trace_record *record = &records[i & (capacity - 1)];
	_Atomic uint64_t *number = (_Atomic uint64_t *)&record->number;
	uint64_t start = 0;
	unsigned int turn = 0;

	while (atomic_load_explicit(number, memory_order_acquire) != i + 1) {
		if (start == 0)
			start = milliseconds();
		else if (milliseconds() - start >= patience_ms)
			return NULL;
		rest(&turn);
	}
	return record;
}

void mam_trace_ring_advance(uint64_t to)
{
	uint64_t from = text_bytes == 0 ? to : atomic_load_explicit(&tail, memory_order_relaxed);

	for (; from < to; from++) {
		const struct mam_trace_record *record = &records[from & (capacity - 1)];

		if (record->number == from + 1 && record->kind == MAM_TRACE_RECORD_TEXT)
			atomic_store_explicit(&text_tail, record->context, memory_order_release);
	}
	atomic_store_explicit(&tail, to, memory_order_release);
}
