/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.c - sums per device and kind, and the table that maps an address to its charge.
 *
 * Each device has one sum of limited bytes. Threads change it by compare-and-swap, so that two
 * threads never exceed the limit together. If the limit is shared, the process also has a counter
 * in the shared file, and each charge adds its bytes there before it compares the sum of all
 * processes with the limit. Two charges that do not fit together may both be undone; each of them
 * then tries again a few times. The child of a fork has its parent's sum on its statistics page,
 * but starts with an empty counter. The notes are an open-addressing hash table in its own
 * pages; its capacity doubles when it is half full. The table may briefly contain two notes with
 * one key: the driver freed a block, and another thread received the same address before the first
 * note was dropped. The older note is dropped first.
 *
 * Bound: O(1). If there is no memory for the table, a charge is refunded immediately (account.h).
 */
#include "interpose/memory/account.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <mam/options.h>
#include <mam/statpage.h>

#include "interpose/memory/shared.h"
#include "interpose/watch/watch.h"

#define TRIES_MAX 20      /* of a charge to a shared limit */
#define SLOTS_FIRST 1024u /* a power of two */

_Static_assert(MAM_ACCOUNT_COUNT == MAM_STATPAGE_KINDS && MAM_ACCOUNT_HOST + 1 == MAM_ACCOUNT_COUNT,
	       "as on the statistics page");
_Static_assert(MAM_WATCH_DEVICES_MAX == MAM_STATPAGE_DEVICES, "as on the statistics page");

static mam_statpage_word peaks_shared[MAM_WATCH_DEVICES_MAX]; /* atomic; bytes of all processes */

struct note {
	uint64_t key;
	uint64_t bytes; /* 0: the slot is empty */
	uint64_t order; /* increases with each note */
	void *context;
	int device;
	enum mam_account_kind kind;
};

static struct note *notes;       /* lock: notes */
static size_t slots, used;       /* lock: notes; capacity (a power of two), used slots */
static uint64_t order;           /* lock: notes */
static atomic_size_t note_count; /* atomic; equals used; read without the lock */
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_limited(enum mam_account_kind kind)
{
	return kind != MAM_ACCOUNT_ARRAY && kind != MAM_ACCOUNT_HOST;
}

static int index_of(int device)
{
	return device < 0 || device >= MAM_WATCH_DEVICES_MAX ? 0 : device;
}

/* On the statistics page: other processes can read it after this one was killed. */
static struct mam_statpage_device *device_of(int device)
{
	return &mam_statpage_own()->devices[index_of(device)];
}

#define AS_STARTED UINT64_MAX
static _Atomic uint64_t limit_set = AS_STARTED; /* atomic; bytes; AS_STARTED: MAM_LIMIT is valid */

uint64_t mam_account_limit(void)
{
	uint64_t limit = atomic_load_explicit(&limit_set, memory_order_relaxed);

	return limit == AS_STARTED ? mam_option_number("MAM_LIMIT") : limit;
}

void mam_account_set_limit(uint64_t bytes)
{
	atomic_store_explicit(&limit_set, bytes, memory_order_relaxed);
}

static uint64_t limit_now(void)
{
	uint64_t limit = mam_account_limit();

	return limit == 0 ? UINT64_MAX : limit;
}

/* Processes that have ended are included if the sum is not above `enough`. 0: it is unknown. */
static uint64_t shared_sum(int device, uint64_t enough)
{
	uint64_t sum = mam_shared_exists() ? mam_shared_sum(index_of(device), enough) : 0;

	return sum == UINT64_MAX ? 0 : sum;
}

uint64_t mam_account_fullest(void)
{
	uint64_t bytes = 0, now;

	for (int device = 0; device < MAM_WATCH_DEVICES_MAX; device++) {
		now = mam_shared_exists() ? shared_sum(device, 0)
					  : atomic_load_explicit(&device_of(device)->together,
								 memory_order_relaxed);
		bytes = now > bytes ? now : bytes;
	}
	return bytes;
}

static void raise_to(mam_statpage_word *peak, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);

	while (seen < value &&
	       !atomic_compare_exchange_weak_explicit(peak, &seen, value, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

static bool charge_private(mam_statpage_word *together, uint64_t bytes, uint64_t limit)
{
	uint64_t now = atomic_load_explicit(together, memory_order_relaxed);

	do {
		if (now > limit || bytes > limit - now)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		together, &now, now + bytes, memory_order_relaxed, memory_order_relaxed));
	return true;
}

/*
 * A sum above the limit contains a charge that will be undone. Only then is it worth another try. A
 * process with a smaller limit than others, or graphs (mam_account_set), may also be above it.
 */
static bool charge_shared(int device, mam_statpage_word *counter, uint64_t bytes, uint64_t limit)
{
	uint64_t sum;

	if (limit == UINT64_MAX)
		return charge_private(counter, bytes, limit);
	for (int i = 0; i < TRIES_MAX; i++) {
		sum = mam_shared_sum(device, bytes > limit ? 0 : limit - bytes);
		if (sum <= limit && bytes > limit - sum)
			return false;
		if (sum <= limit) {
			atomic_fetch_add(counter, bytes);
			if (mam_shared_sum(device, limit) <= limit)
				return true;
			atomic_fetch_sub(counter, bytes);
		}
		sched_yield();
	}
	return false;
}

/* Adds limited bytes without comparing them with the limit. A negative number wraps around. */
static void add_together(int device, uint64_t bytes)
{
	mam_statpage_word *counter = mam_shared_counter(index_of(device));

	if (counter != NULL)
		atomic_fetch_add(counter, bytes);
	atomic_fetch_add_explicit(&device_of(device)->together, bytes, memory_order_relaxed);
}

static bool charge_together(int device, uint64_t bytes)
{
	mam_statpage_word *counter = mam_shared_counter(index_of(device));
	mam_statpage_word *together = &device_of(device)->together;

	if (counter == NULL)
		return charge_private(together, bytes, limit_now());
	if (!charge_shared(index_of(device), counter, bytes, limit_now()))
		return false;
	atomic_fetch_add_explicit(together, bytes, memory_order_relaxed);
	return true;
}

bool mam_account_charge(int device, enum mam_account_kind kind, size_t bytes)
{
	if (is_limited(kind) && !charge_together(device, bytes))
		return false;
	atomic_fetch_add_explicit(&device_of(device)->now[kind], bytes, memory_order_relaxed);
	return true;
}

void mam_account_confirm(int device, enum mam_account_kind kind)
{
	struct mam_statpage_device *account = device_of(device);
	mam_statpage_word *peak_shared = &peaks_shared[index_of(device)];

	raise_to(&account->peak[kind],
		 atomic_load_explicit(&account->now[kind], memory_order_relaxed));
	if (!is_limited(kind))
		return;
	raise_to(&account->peak_together,
		 atomic_load_explicit(&account->together, memory_order_relaxed));
	raise_to(peak_shared,
		 shared_sum(device, atomic_load_explicit(peak_shared, memory_order_relaxed)));
}

void mam_account_refund(int device, enum mam_account_kind kind, size_t bytes)
{
	atomic_fetch_sub_explicit(&device_of(device)->now[kind], bytes, memory_order_relaxed);
	if (is_limited(kind))
		add_together(device, -(uint64_t)bytes);
}

void mam_account_set(int device, enum mam_account_kind kind, uint64_t bytes)
{
	uint64_t before = atomic_exchange_explicit(&device_of(device)->now[kind], bytes,
						   memory_order_relaxed);

	if (is_limited(kind))
		add_together(device, bytes - before);
	mam_account_confirm(device, kind);
}

static size_t slot_of(uint64_t key, size_t count)
{
	return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (count - 1);
}

static void put_locked(struct note *table, size_t count, const struct note *note)
{
	size_t at = slot_of(note->key, count);

	while (table[at].bytes != 0)
		at = (at + 1) & (count - 1);
	table[at] = *note;
}

static bool grow_locked(void)
{
	size_t count = slots == 0 ? SLOTS_FIRST : 2 * slots;
	struct note *table = mmap(NULL, count * sizeof(*table), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (table == MAP_FAILED)
		return false;
	for (size_t i = 0; i < slots; i++)
		if (notes[i].bytes != 0)
			put_locked(table, count, &notes[i]);
	if (notes != NULL)
		munmap(notes, slots * sizeof(*notes));
	notes = table;
	slots = count;
	return true;
}

void mam_account_note(uint64_t key, void *context, int device, enum mam_account_kind kind,
		      size_t bytes)
{
	struct note note = { key, bytes, 0, context, device, kind };
	bool room;

	if (bytes == 0)
		return;
	mam_account_confirm(device, kind);
	pthread_mutex_lock(&notes_lock);
	room = key != 0 && (used < slots / 2 || grow_locked());
	if (room) {
		note.order = ++order;
		put_locked(notes, slots, &note);
		used++;
		atomic_store_explicit(&note_count, used, memory_order_relaxed);
	}
	pthread_mutex_unlock(&notes_lock);
	if (!room)
		mam_account_refund(device, kind, bytes);
}

/* Empties a slot. Moves up the following notes that a lookup could no longer find. */
static void empty_locked(size_t free_block)
{
	size_t at = free_block;

	notes[free_block].bytes = 0;
	for (;;) {
		size_t home;

		at = (at + 1) & (slots - 1);
		if (notes[at].bytes == 0)
			break;
		home = slot_of(notes[at].key, slots);
		if (((at - home) & (slots - 1)) < ((at - free_block) & (slots - 1)))
			continue;
		notes[free_block] = notes[at];
		notes[at].bytes = 0;
		free_block = at;
	}
	used--;
	atomic_store_explicit(&note_count, used, memory_order_relaxed);
}

bool mam_account_has_notes(void)
{
	return atomic_load_explicit(&note_count, memory_order_relaxed) != 0;
}

bool mam_account_take(uint64_t key, enum mam_account_kind kind, struct mam_account_noted *noted)
{
	struct note found = { .bytes = 0 };
	size_t at, place = 0;

	if (!mam_account_has_notes())
		return false;
	pthread_mutex_lock(&notes_lock);
	for (at = slot_of(key, slots); notes[at].bytes != 0; at = (at + 1) & (slots - 1)) {
		if (notes[at].key != key || notes[at].kind != kind ||
		    (found.bytes != 0 && found.order < notes[at].order))
			continue;
		found = notes[at];
		place = at;
	}
	if (found.bytes != 0)
		empty_locked(place);
	pthread_mutex_unlock(&notes_lock);
	if (found.bytes == 0)
		return false;
	*noted = (struct mam_account_noted){ key, found.bytes, found.context, found.device, kind };
	return true;
}

size_t mam_account_drop(uint64_t key, enum mam_account_kind kind)
{
	struct mam_account_noted noted;

	if (!mam_account_take(key, kind, &noted))
		return 0;
	mam_account_finish(&noted, true);
	return noted.bytes;
}

void mam_account_finish(const struct mam_account_noted *noted, bool freed)
{
	if (freed)
		mam_account_refund(noted->device, noted->kind, noted->bytes);
	else
		mam_account_note(noted->key, noted->context, noted->device, noted->kind,
				 noted->bytes);
}

void mam_account_context_gone(void *context)
{
	size_t at = 0;

	if (context == NULL || !mam_account_has_notes())
		return;
	pthread_mutex_lock(&notes_lock);
	while (at < slots) {
		struct note note = notes[at];

		if (note.bytes == 0 || note.context != context) {
			at++;
			continue;
		}
		empty_locked(at); /* a following note may have moved here, and is checked next */
		mam_account_refund(note.device, note.kind, note.bytes);
	}
	pthread_mutex_unlock(&notes_lock);
}

size_t mam_account_room(int device)
{
	const mam_statpage_word *counter = mam_shared_counter(index_of(device));
	uint64_t limit = limit_now(), now;

	if (limit == UINT64_MAX)
		return SIZE_MAX;
	now = counter != NULL
		      ? mam_shared_sum(index_of(device), 0)
		      : atomic_load_explicit(&device_of(device)->together, memory_order_relaxed);
	return now < limit ? limit - now : 0;
}

uint64_t mam_account_others(int device)
{
	const mam_statpage_word *counter = mam_shared_counter(index_of(device));
	uint64_t ours = counter != NULL ? atomic_load(counter) : 0, sum = shared_sum(device, 0);

	return sum > ours ? sum - ours : 0;
}

void mam_account_look(int device, size_t total_bytes, size_t free_bytes)
{
	struct mam_statpage_device *account = device_of(device);
	uint64_t taken = total_bytes > free_bytes ? total_bytes - free_bytes : 0, ours;

	ours = atomic_load_explicit(&account->together, memory_order_relaxed) +
	       atomic_load_explicit(&account->now[MAM_ACCOUNT_ARRAY], memory_order_relaxed);
	atomic_store_explicit(&account->other, taken > ours ? taken - ours : 0,
			      memory_order_relaxed);
}

void mam_account_restart(void)
{
	pthread_mutex_init(&notes_lock, NULL);
	mam_shared_restart();
}

void mam_account_sum(int device, struct mam_account_sums *sums)
{
	const struct mam_statpage_device *devices = mam_statpage_own()->devices;

	memset(sums, 0, sizeof(*sums));
	for (int i = 0; i < MAM_WATCH_DEVICES_MAX; i++) {
		if (device >= 0 && device != i)
			continue;
		for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++) {
			sums->now[kind] += atomic_load(&devices[i].now[kind]);
			sums->peak[kind] += atomic_load(&devices[i].peak[kind]);
		}
		sums->peak_together += atomic_load(&devices[i].peak_together);
		sums->peak_shared += atomic_load(&peaks_shared[i]);
		sums->other += atomic_load(&devices[i].other);
	}
}
