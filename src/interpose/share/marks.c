/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - a table from block to marks (marks.h).
 *
 * The table uses open addressing in its own pages, and doubles when it is half full. Removing an
 * entry moves up the rest of its run. One lock, which is held only inside these functions.
 *
 * Besides the blocks, the table has an entry for each chunk with synchronous blocks, which counts
 * them, so that the last one is known without a search. Blocks have even addresses: the key of a
 * chunk's entry is the chunk's address plus one.
 *
 * Buffer IDs count up from 2^63: the driver counts up from 1.
 */
#include "interpose/share/marks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "interpose/watch/watch.h"

#define SLOTS_FIRST 256u /* a power of two */
#define FIRST_ID (UINT64_C(1) << 63)
#define TOKENS_AT_ONCE 32
#define FINISH_SECONDS 1

struct mark {
	uint64_t key;       /* the block's address; the chunk's plus one; 0: the slot is empty */
	uint64_t chunk;     /* of a synchronous block */
	uint64_t buffer_id; /* 0: not requested yet */
	size_t blocks;      /* of a chunk: number of synchronous blocks */
	bool synchronous, shared;
	unsigned char token[MAM_MARKS_TOKEN_BYTES]; /* if shared */
};

static struct mark *marks; /* lock: marks */
static size_t slots, used; /* lock: marks; counts */
static uint64_t newest_id; /* lock: marks; minus FIRST_ID */
static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t key_of(const void *block)
{
	return (uintptr_t)block;
}

static uint64_t key_of_chunk(uint64_t chunk)
{
	return chunk | 1;
}

static size_t slot_of(uint64_t key, size_t count)
{
	return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (count - 1);
}

static struct mark *find_locked(uint64_t key)
{
	if (slots == 0)
		return NULL;
	for (size_t at = slot_of(key, slots); marks[at].key != 0; at = (at + 1) & (slots - 1))
		if (marks[at].key == key)
			return &marks[at];
	return NULL;
}

static struct mark *empty_slot(struct mark *table, size_t count, uint64_t key)
{
	size_t at = slot_of(key, count);

	while (table[at].key != 0)
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
		if (marks[i].key != 0)
			*empty_slot(table, count, marks[i].key) = marks[i];
	if (marks != NULL)
		munmap(marks, slots * sizeof(*marks));
	marks = table;
	slots = count;
	return true;
}

/* Reserves space for `more` marks, so that creating them moves no entry. */
static bool reserve_locked(size_t more)
{
	return used + more <= slots / 2 || grow_locked();
}

/* Returns the mark of a key. Creates it if necessary; the space for it was reserved. */
static struct mark *make_locked(uint64_t key)
{
	struct mark *mark = find_locked(key);

	if (mark != NULL)
		return mark;
	mark = empty_slot(marks, slots, key);
	*mark = (struct mark){ .key = key };
	if (used++ == 0)
		mam_watch_start(MAM_WATCH_MARKS);
	return mark;
}

/* Other entries may move. */
static void remove_locked(struct mark *mark)
{
	size_t free_block = (size_t)(mark - marks), at = free_block;

	marks[free_block].key = 0;
	for (;;) {
		at = (at + 1) & (slots - 1);
		if (marks[at].key == 0)
			break;
		if (((at - slot_of(marks[at].key, slots)) & (slots - 1)) <
		    ((at - free_block) & (slots - 1)))
			continue;
		marks[free_block] = marks[at];
		marks[at].key = 0;
		free_block = at;
	}
	if (--used == 0)
		mam_watch_stop(MAM_WATCH_MARKS);
}

/* Removes one synchronous block. Returns true if it was the chunk's last. */
static bool leave_chunk_locked(uint64_t chunk)
{
	struct mark *count = find_locked(key_of_chunk(chunk));

	if (count == NULL || --count->blocks != 0)
		return false;
	remove_locked(count);
	return true;
}

bool mam_marks_buffer_id(const void *block, uint64_t *id)
{
	struct mark *mark = NULL;

	pthread_mutex_lock(&marks_lock);
	if (reserve_locked(1)) {
		mark = make_locked(key_of(block));
		if (mark->buffer_id == 0)
			mark->buffer_id = FIRST_ID + ++newest_id;
		*id = mark->buffer_id;
	}
	pthread_mutex_unlock(&marks_lock);
	return mark != NULL;
}

bool mam_marks_is_synchronous(const void *block)
{
	struct mark *mark;
	bool synchronous;

	pthread_mutex_lock(&marks_lock);
	mark = find_locked(key_of(block));
	synchronous = mark != NULL && mark->synchronous;
	pthread_mutex_unlock(&marks_lock);
	return synchronous;
}

bool mam_marks_set_synchronous(const void *block, const void *chunk, bool synchronous)
{
	struct mark *mark;
	bool good;

	pthread_mutex_lock(&marks_lock);
	good = !synchronous || reserve_locked(2);
	mark = good && synchronous ? make_locked(key_of(block)) : find_locked(key_of(block));
	if (good && mark != NULL && mark->synchronous != synchronous) {
		mark->synchronous = synchronous;
		mark->chunk = (uintptr_t)chunk;
		if (synchronous)
			make_locked(key_of_chunk(mark->chunk))->blocks++;
		else
			leave_chunk_locked(mark->chunk);
	}
	pthread_mutex_unlock(&marks_lock);
	return good;
}

bool mam_marks_chunk_is_synchronous(const void *chunk)
{
	bool is;

	pthread_mutex_lock(&marks_lock);
	is = find_locked(key_of_chunk((uintptr_t)chunk)) != NULL;
	pthread_mutex_unlock(&marks_lock);
	return is;
}

bool mam_marks_token(const void *block, unsigned char *token)
{
	struct mark *mark;
	bool shared;

	pthread_mutex_lock(&marks_lock);
	mark = find_locked(key_of(block));
	shared = mark != NULL && mark->shared;
	if (shared)
		memcpy(token, mark->token, MAM_MARKS_TOKEN_BYTES);
	pthread_mutex_unlock(&marks_lock);
	return shared;
}

/* A search: a program shares few blocks, and a peer opens each of them once. */
bool mam_marks_block_of(const unsigned char *token, const void **block)
{
	bool found = false;

	pthread_mutex_lock(&marks_lock);
	for (size_t i = 0; i < slots && !found; i++) {
		found = marks[i].key != 0 && marks[i].shared &&
			memcmp(marks[i].token, token, MAM_MARKS_TOKEN_BYTES) == 0;
		if (found)
			*block = (const void *)(uintptr_t)marks[i].key;
	}
	pthread_mutex_unlock(&marks_lock);
	return found;
}

bool mam_marks_set_token(const void *block, unsigned char *token)
{
	struct mark *mark = NULL;

	pthread_mutex_lock(&marks_lock);
	if (reserve_locked(1)) {
		mark = make_locked(key_of(block));
		if (mark->shared)
			memcpy(token, mark->token, MAM_MARKS_TOKEN_BYTES);
		else
			memcpy(mark->token, token, MAM_MARKS_TOKEN_BYTES);
		mark->shared = true;
	}
	pthread_mutex_unlock(&marks_lock);
	return mark != NULL;
}

void mam_marks_free(const void *block, const struct mam_marks_ends *ends)
{
	struct mark gone = { 0 }, *mark;
	bool last = false;

	pthread_mutex_lock(&marks_lock);
	mark = find_locked(key_of(block));
	if (mark != NULL) {
		gone = *mark;
		remove_locked(mark);
		last = gone.synchronous && leave_chunk_locked(gone.chunk);
	}
	pthread_mutex_unlock(&marks_lock);
	if (gone.shared)
		ends->shared(gone.token);
	if (last)
		ends->synchronous((void *)(uintptr_t)gone.chunk);
}

/*
 * Visits every slot once: an entry that a removal moves goes to the slot that is visited next, or
 * stays among the visited ones. Stops if there is no more space for tokens; returns true at the
 * end.
 */
static bool remove_range_locked(uint64_t base, size_t bytes,
				unsigned char tokens[][MAM_MARKS_TOKEN_BYTES], size_t *count)
{
	for (size_t i = 0; i < slots;) {
		if (marks[i].key == 0 || marks[i].key - base >= bytes) {
			i++;
			continue;
		}
		if (marks[i].shared && *count == TOKENS_AT_ONCE)
			return false;
		if (marks[i].shared)
			memcpy(tokens[(*count)++], marks[i].token, MAM_MARKS_TOKEN_BYTES);
		remove_locked(&marks[i]);
	}
	return true;
}

void mam_marks_chunk_gone(void *base, size_t bytes, const struct mam_marks_ends *ends)
{
	unsigned char tokens[TOKENS_AT_ONCE][MAM_MARKS_TOKEN_BYTES];
	bool done = false;

	while (!done) {
		size_t count = 0;

		pthread_mutex_lock(&marks_lock);
		done = remove_range_locked((uintptr_t)base, bytes, tokens, &count);
		pthread_mutex_unlock(&marks_lock);
		for (size_t i = 0; i < count; i++)
			ends->shared(tokens[i]);
	}
}

/* A program that ends in a signal handler may have interrupted the thread that holds the lock. */
void mam_marks_each_token(void (*visit)(const unsigned char *token))
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FINISH_SECONDS;
	if (pthread_mutex_timedlock(&marks_lock, &until) != 0)
		return;
	for (size_t i = 0; i < slots; i++)
		if (marks[i].key != 0 && marks[i].shared)
			visit(marks[i].token);
	pthread_mutex_unlock(&marks_lock);
}

static atomic_bool exported; /* atomic */

void mam_marks_note_export(void)
{
	atomic_store(&exported, true);
}

bool mam_marks_is_exported(void)
{
	return atomic_load(&exported);
}

/* The child does not own the blocks that its parent shares. */
void mam_marks_restart(void)
{
	pthread_mutex_init(&marks_lock, NULL);
	if (slots != 0)
		memset(marks, 0, slots * sizeof(*marks));
	used = 0;
}
