/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refs.c - see refs.h.
 *
 * Three ledgers map handles to pieces, pieces to their counts, and addresses to mappings. One lock
 * protects all of them.
 */
#include "interpose/kinds/refs.h"

#include <pthread.h>

#include "interpose/watch/ledger.h"

#define GRANULE ((uint64_t)2 << 20) /* mappings start at multiples of it */

/* lock: holds, all of these */
static struct mam_ledger handles;  /* id: the piece */
static struct mam_ledger counts;   /* key: the piece, id: its reference count, bytes: its handle */
static struct mam_ledger mappings; /* key: the address, id: the piece, or 0 */
static uint64_t pieces;            /* the last number assigned */
static pthread_mutex_t holds_lock = PTHREAD_MUTEX_INITIALIZER;

/* lock: holds */
static void put(struct mam_ledger *ledger, uint64_t key, uint64_t id, uint64_t bytes)
{
	const struct mam_ledger_entry entry = { .key = key, .id = id, .bytes = bytes };
	struct mam_ledger_entry old;

	if (key != 0 && mam_ledger_put(ledger, &entry, &old) && old.key != 0)
		mam_ledger_put(ledger, &entry, &old);
}

/* lock: holds. Returns 0 if `key` is not found. */
static uint64_t look(struct mam_ledger *ledger, uint64_t key)
{
	struct mam_ledger_entry entry;

	return key != 0 && mam_ledger_find(ledger, key, &entry) ? entry.id : 0;
}

/*
 * lock: holds. Returns true if the last reference was dropped. The handle is then forgotten, unless
 * another thread received the same handle for new memory.
 */
static bool add(uint64_t piece, int more)
{
	struct mam_ledger_entry entry, handle;

	if (piece == 0 || !mam_ledger_take(&counts, piece, &entry))
		return false;
	entry.id += (uint64_t)(int64_t)more;
	if (entry.id != 0)
		put(&counts, piece, entry.id, entry.bytes);
	else if (look(&handles, entry.bytes) == piece)
		mam_ledger_take(&handles, entry.bytes, &handle);
	return entry.id == 0;
}

uint64_t mam_refs_of(uint64_t handle)
{
	uint64_t piece;

	pthread_mutex_lock(&holds_lock);
	piece = look(&handles, handle);
	pthread_mutex_unlock(&holds_lock);
	return piece;
}

uint64_t mam_refs_create(uint64_t handle)
{
	uint64_t piece;

	pthread_mutex_lock(&holds_lock);
	piece = ++pieces;
	put(&counts, piece, 1, handle);
	put(&handles, handle, piece, 0);
	if (look(&handles, handle) != piece || look(&counts, piece) != 1)
		piece = 0;
	pthread_mutex_unlock(&holds_lock);
	return piece;
}

void mam_refs_retain(uint64_t handle, uint64_t address)
{
	uint64_t piece;

	pthread_mutex_lock(&holds_lock);
	piece = look(&handles, handle);
	if (piece == 0) {
		piece = look(&mappings, address);
		if (piece != 0)
			put(&handles, handle, piece, 0);
	}
	add(piece, 1);
	pthread_mutex_unlock(&holds_lock);
}

/* The handle stays known, because it may have been retained. */
bool mam_refs_release(uint64_t piece)
{
	bool gone;

	pthread_mutex_lock(&holds_lock);
	gone = add(piece, -1);
	pthread_mutex_unlock(&holds_lock);
	return gone;
}

void mam_refs_map(uint64_t address, size_t bytes, uint64_t handle)
{
	uint64_t piece;

	pthread_mutex_lock(&holds_lock);
	piece = look(&handles, handle);
	put(&mappings, address, piece, bytes);
	add(piece, 1);
	pthread_mutex_unlock(&holds_lock);
}

void mam_refs_unmap(uint64_t address, size_t bytes, void (*gone)(uint64_t piece))
{
	struct mam_ledger_entry entry;
	uint64_t at = address, ended;
	bool found;

	while (at - address < bytes) {
		ended = 0;
		pthread_mutex_lock(&holds_lock);
		found = at != 0 && mam_ledger_take(&mappings, at, &entry);
		if (found && add(entry.id, -1))
			ended = entry.id;
		pthread_mutex_unlock(&holds_lock);
		if (ended != 0)
			gone(ended);
		at += found && entry.bytes != 0 ? entry.bytes : GRANULE;
	}
}

void mam_refs_restart(void)
{
	pthread_mutex_init(&holds_lock, NULL);
	mam_ledger_restart(&handles);
	mam_ledger_restart(&counts);
	mam_ledger_restart(&mappings);
}
