/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - a table from block to marks (marks.h).
 *
 * Open addressing, in pages of its own, doubled at half full; what is taken out lets the rest of
 * its run move up. One lock, which is held for no call but these.
 *
 * Buffer ids count up from 2^63: the driver counts up from 1.
 */
#include "interpose/marks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "interpose/attribute.h"
#include "interpose/ipc.h"
#include "interpose/watch.h"

#define SLOTS_FIRST 256u /* a power of two */
#define FIRST_ID (UINT64_C(1) << 63)

struct mark {
	uint64_t block; /* 0: the slot is empty */
	uint64_t chunk; /* of a synchronous one */
	uint64_t buffer_id; /* 0: nobody asked */
	bool synchronous, shared;
	unsigned char token[MAM_MARKS_TOKEN_BYTES]; /* where shared */
};

static struct mark *marks;  /* lock: marks */
static size_t slots, used;  /* lock: marks; counts */
static uint64_t newest_id;  /* lock: marks; FIRST_ID less */
static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(uint64_t block, size_t count)
{
	return (size_t)((block * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (count - 1);
}

static struct mark *find_locked(const void *block)
{
	uint64_t key = (uintptr_t)block;

	if (slots == 0)
		return NULL;
	for (size_t at = slot_of(key, slots); marks[at].block != 0; at = (at + 1) & (slots - 1))
		if (marks[at].block == key)
			return &marks[at];
	return NULL;
}

static struct mark *empty_slot(struct mark *table, size_t count, uint64_t key)
{
	size_t at = slot_of(key, count);

	while (table[at].block != 0)
		at = (at + 1) & (count - 1);
	return &table[at];
}

static bool grow_locked(void)
{
	size_t count = slots == 0 ? SLOTS_FIRST : 2 * slots;
	struct mark *table = mmap(NULL, count * sizeof(*table), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (table == MAP_FAILED)
		return false;
	for (size_t i = 0; i < slots; i++)
		if (marks[i].block != 0)
			*empty_slot(table, count, marks[i].block) = marks[i];
	if (marks != NULL)
		munmap(marks, slots * sizeof(*marks));
	marks = table;
	slots = count;
	return true;
}

/* The mark of a block, made if there is none. NULL: no memory. */
static struct mark *find_or_make_locked(const void *block)
{
	struct mark *mark = find_locked(block);

	if (mark != NULL)
		return mark;
	if (used >= slots / 2 && !grow_locked())
		return NULL;
	mark = empty_slot(marks, slots, (uintptr_t)block);
	*mark = (struct mark){ .block = (uintptr_t)block };
	used++;
	mam_watch_start(MAM_WATCH_MARKS);
	return mark;
}

static void remove_locked(struct mark *mark)
{
	size_t hole = (size_t)(mark - marks), at = hole;

	marks[hole].block = 0;
	for (;;) {
		at = (at + 1) & (slots - 1);
		if (marks[at].block == 0)
			break;
		if (((at - slot_of(marks[at].block, slots)) & (slots - 1)) <
		    ((at - hole) & (slots - 1)))
			continue;
		marks[hole] = marks[at];
		marks[at].block = 0;
		hole = at;
	}
	if (--used == 0)
		mam_watch_stop(MAM_WATCH_MARKS);
}

bool mam_marks_buffer_id(const void *block, uint64_t *id)
{
	struct mark *mark;

	pthread_mutex_lock(&marks_lock);
	mark = find_or_make_locked(block);
	if (mark != NULL && mark->buffer_id == 0)
		mark->buffer_id = FIRST_ID + ++newest_id;
	if (mark != NULL)
		*id = mark->buffer_id;
	pthread_mutex_unlock(&marks_lock);
	return mark != NULL;
}

bool mam_marks_is_synchronous(const void *block)
{
	struct mark *mark;
	bool synchronous;

	pthread_mutex_lock(&marks_lock);
	mark = find_locked(block);
	synchronous = mark != NULL && mark->synchronous;
	pthread_mutex_unlock(&marks_lock);
	return synchronous;
}

static bool has_synchronous_locked(uint64_t chunk)
{
	for (size_t i = 0; i < slots; i++)
		if (marks[i].block != 0 && marks[i].synchronous && marks[i].chunk == chunk)
			return true;
	return false;
}

bool mam_marks_set_synchronous(const void *block, const void *chunk, bool synchronous,
			       bool *others)
{
	struct mark *mark;

	pthread_mutex_lock(&marks_lock);
	mark = find_or_make_locked(block);
	if (mark != NULL) {
		mark->synchronous = false;
		mark->chunk = (uintptr_t)chunk;
		*others = has_synchronous_locked((uintptr_t)chunk);
		mark->synchronous = synchronous;
	}
	pthread_mutex_unlock(&marks_lock);
	return mark != NULL;
}

bool mam_marks_token(const void *block, unsigned char *token)
{
	struct mark *mark;
	bool shared;

	pthread_mutex_lock(&marks_lock);
	mark = find_locked(block);
	shared = mark != NULL && mark->shared;
	if (shared)
		memcpy(token, mark->token, MAM_MARKS_TOKEN_BYTES);
	pthread_mutex_unlock(&marks_lock);
	return shared;
}

bool mam_marks_set_token(const void *block, unsigned char *token)
{
	struct mark *mark;

	pthread_mutex_lock(&marks_lock);
	mark = find_or_make_locked(block);
	if (mark != NULL && mark->shared) {
		memcpy(token, mark->token, MAM_MARKS_TOKEN_BYTES);
	} else if (mark != NULL) {
		mark->shared = true;
		memcpy(mark->token, token, MAM_MARKS_TOKEN_BYTES);
	}
	pthread_mutex_unlock(&marks_lock);
	return mark != NULL;
}

void mam_marks_free(void *block)
{
	struct mark gone = { 0 }, *mark;
	bool last = false;

	pthread_mutex_lock(&marks_lock);
	mark = find_locked(block);
	if (mark != NULL) {
		gone = *mark;
		remove_locked(mark);
		last = gone.synchronous && !has_synchronous_locked(gone.chunk);
	}
	pthread_mutex_unlock(&marks_lock);
	if (gone.shared)
		mam_ipc_withdraw(gone.token);
	if (last)
		mam_attribute_not_synchronous((void *)(uintptr_t)gone.chunk);
}

void mam_marks_chunk_gone(void *base, size_t bytes)
{
	bool again = true;

	while (again) {
		struct mark gone = { 0 };

		again = false;
		pthread_mutex_lock(&marks_lock);
		for (size_t i = 0; i < slots && !again; i++) {
			again = marks[i].block != 0 && marks[i].block - (uintptr_t)base < bytes;
			if (again) {
				gone = marks[i];
				remove_locked(&marks[i]);
			}
		}
		pthread_mutex_unlock(&marks_lock);
		if (gone.shared)
			mam_ipc_withdraw(gone.token);
	}
}

void mam_marks_each_token(void (*visit)(const unsigned char *token))
{
	pthread_mutex_lock(&marks_lock);
	for (size_t i = 0; i < slots; i++)
		if (marks[i].block != 0 && marks[i].shared)
			visit(marks[i].token);
	pthread_mutex_unlock(&marks_lock);
}

/* What the parent shares stays the parent's. */
void mam_marks_restart(void)
{
	pthread_mutex_init(&marks_lock, NULL);
	if (slots != 0)
		memset(marks, 0, slots * sizeof(*marks));
	used = 0;
}
