/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_opened.c - a list of the open blocks, sorted by address (ipc_opened.h).
 *
 * Entries are found by binary search, O(log n), and inserted and removed by moving the following
 * ones. By token they are searched one by one. Programs open a few blocks, or the same ones again.
 *
 * Two entries may start at one address. The owner freed a block, against the rules, while it is
 * open here; its chunk was unmapped, and another one was mapped at the same address. Blocks may
 * overlap in the same way. Then any of them may be returned.
 */
#include "interpose/share/ipc_opened.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

static struct mam_ipc_opened *list; /* lock: list; by address */
static size_t room;                 /* lock: list; entries */
static _Atomic size_t listed;       /* written under lock: list; entries */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t listed_now(void)
{
	return atomic_load_explicit(&listed, memory_order_relaxed);
}

/* Returns the index of the first entry after an address. */
static size_t behind_locked(unsigned long long address)
{
	size_t from = 0, to = listed_now();

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (list[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool grow_locked(void)
{
	size_t longer = room == 0 ? ROOM_FIRST : 2 * room;
	struct mam_ipc_opened *entries = realloc(list, longer * sizeof(*list));

	if (entries == NULL)
		return false;
	list = entries;
	room = longer;
	return true;
}

/*
 * If the driver returns one address to two contexts, the first one has ended with its opens. Then the
 * counts do not show which opens the driver has, and it is called for each.
 */
static void set_context_locked(struct mam_ipc_opened *entry, const struct mam_ipc_opened *opened)
{
	bool is_other =
		entry->context != opened->context || entry->context_id != opened->context_id;

	entry->context = is_other && opened->mapped_bytes == 0 ? NULL : opened->context;
	entry->context_id = opened->context_id;
}

static bool add_locked(const struct mam_ipc_opened *opened)
{
	size_t at = behind_locked(opened->address), count = listed_now();

	for (size_t i = at; i > 0 && list[i - 1].address == opened->address; i--) {
		if (list[i - 1].chunk == opened->chunk) {
			list[i - 1].bytes = opened->bytes;
			list[i - 1].count++;
			list[i - 1].driver_opens += opened->mapped_bytes == 0;
			set_context_locked(&list[i - 1], opened);
			memcpy(list[i - 1].token, opened->token, sizeof(opened->token));
			return true;
		}
	}
	if (count == room && !grow_locked())
		return false;
	memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
	list[at] = *opened;
	list[at].count = 1;
	list[at].driver_opens = opened->mapped_bytes == 0;
	atomic_store_explicit(&listed, count + 1, memory_order_relaxed);
	return true;
}

bool mam_ipc_opened_add(const struct mam_ipc_opened *opened)
{
	bool good;

	pthread_mutex_lock(&list_lock);
	good = add_locked(opened);
	pthread_mutex_unlock(&list_lock);
	return good;
}

static bool is_same(const struct mam_ipc_opened *entry, const struct mam_ipc_opened *opened)
{
	return memcmp(entry->token, opened->token, sizeof(entry->token)) == 0 &&
	       (entry->mapped_bytes != 0 ||
		(entry->context != NULL && entry->context == opened->context &&
		 entry->context_id == opened->context_id));
}

bool mam_ipc_opened_again(struct mam_ipc_opened *opened)
{
	bool is_open = false;

	pthread_mutex_lock(&list_lock);
	for (size_t i = 0; i < listed_now() && !is_open; i++) {
		is_open = is_same(&list[i], opened);
		if (is_open) {
			list[i].count++;
			*opened = list[i];
		}
	}
	pthread_mutex_unlock(&list_lock);
	return is_open;
}

bool mam_ipc_opened_take(unsigned long long address, struct mam_ipc_opened *opened, bool *by_driver)
{
	size_t at, count;
	bool is_open;

	if (listed_now() == 0)
		return false;
	pthread_mutex_lock(&list_lock);
	at = behind_locked(address);
	is_open = at > 0 && list[at - 1].address == address;
	if (is_open) {
		at--;
		list[at].count--;
		*by_driver = list[at].driver_opens > list[at].count;
		list[at].driver_opens -= *by_driver;
		*opened = list[at];
		if (list[at].count == 0) {
			count = listed_now() - 1;
			memmove(&list[at], &list[at + 1], (count - at) * sizeof(*list));
			atomic_store_explicit(&listed, count, memory_order_relaxed);
		}
	}
	pthread_mutex_unlock(&list_lock);
	return is_open;
}

bool mam_ipc_opened_find(unsigned long long address, struct mam_ipc_opened *opened)
{
	bool is_open;
	size_t at;

	if (listed_now() == 0)
		return false;
	pthread_mutex_lock(&list_lock);
	at = behind_locked(address);
	is_open = at > 0 && address - list[at - 1].address < list[at - 1].bytes;
	if (is_open)
		*opened = list[at - 1];
	pthread_mutex_unlock(&list_lock);
	return is_open;
}

void mam_ipc_opened_restart(void)
{
	pthread_mutex_init(&list_lock, NULL);
	atomic_store_explicit(&listed, 0, memory_order_relaxed);
}
