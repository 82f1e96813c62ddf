/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch.c - the records of threads (epoch.h).
 *
 * Records are in pages from the system and no page is ever unmapped: another thread may read them
 * at any time, and a thread that outlives the library (dlclose) leaves its record in use. The key's
 * destructor returns the record when the thread ends. The C library calls the destructor again if
 * other destructors of the thread use the library. A record that a thread takes after the last of
 * these calls stays used, outside of every section.
 */
#include "base/epoch.h"

#include <pthread.h>

#include "base/barrier.h"
#include "base/lock.h"
#include "base/pages.h"

#define PAGE_BYTES 4096
/* Threads write their records often, and processors prefetch pairs of lines. */
#define RECORD_BYTES 128

_Static_assert(sizeof(struct mam_epoch_record) <= RECORD_BYTES, "a record fits");

_Atomic uint64_t mam_epoch_now = 1;
_Thread_local struct mam_epoch_record *mam_epoch_mine __attribute__((tls_model("initial-exec")));
static _Thread_local struct mam_epoch_record unlisted __attribute__((tls_model("initial-exec")));

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_LOG, "epoch");
static _Atomic(struct mam_epoch_record *) records; /* atomic; written under lock: epoch */
static _Atomic bool incomplete;                    /* atomic; a thread has no record on the list */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Atomic bool has_key; /* atomic; a thread may still take a record while the process exits */

static void thread_ends(void *record)
{
	mam_epoch_mine = NULL;
	mam_lock_take(&lock);
	((struct mam_epoch_record *)record)->used = false;
	mam_lock_release(&lock);
}

static void make_key(void)
{
	atomic_store(&has_key, pthread_key_create(&key, thread_ends) == 0);
}

/* The library is being unloaded, or the process ends: no thread may call the library any more. */
__attribute__((destructor)) static void drop_key(void)
{
	if (atomic_exchange(&has_key, false))
		pthread_key_delete(key);
}

/* Add a page of unused records to the list. NULL: the system has no memory. */
static struct mam_epoch_record *add_page_locked(void)
{
	char *page = mam_pages_map(PAGE_BYTES);
	struct mam_epoch_record *first = atomic_load_explicit(&records, memory_order_relaxed);

	if (!page)
		return NULL;
	for (size_t at = 0; at < PAGE_BYTES; at += RECORD_BYTES) {
		struct mam_epoch_record *record = (struct mam_epoch_record *)(page + at);

		record->next = first;
		first = record;
	}
	atomic_store_explicit(&records, first, memory_order_release);
	return first;
}

static struct mam_epoch_record *take_locked(void)
{
	struct mam_epoch_record *record = atomic_load_explicit(&records, memory_order_relaxed);

	while (record && record->used)
		record = record->next;
	if (!record)
		record = add_page_locked();
	if (record)
		record->used = true;
	return record;
}

struct mam_epoch_record *mam_epoch_join(void)
{
	struct mam_epoch_record *record = NULL;

	pthread_once(&once, make_key);
	mam_lock_take(&lock);
	if (atomic_load(&has_key))
		record = take_locked();
	if (record && pthread_setspecific(key, record) != 0) {
		record->used = false;
		record = NULL;
	}
	mam_lock_release(&lock);
	if (record) {
		record->fences = !mam_barrier_prepare();
	} else {
		record = &unlisted;
		atomic_store(&incomplete, true);
		record->fences = true;
	}
	mam_epoch_mine = record;
	return record;
}

uint64_t mam_epoch_retire(void)
{
	return atomic_fetch_add(&mam_epoch_now, 1);
}

uint64_t mam_epoch_oldest(void)
{
	uint64_t oldest = atomic_load(&mam_epoch_now), since;

	mam_barrier_all();
	if (atomic_load(&incomplete))
		return 0;
	for (const struct mam_epoch_record *record = atomic_load(&records); record;
	     record = record->next) {
		since = atomic_load(&record->since);
		if (since != 0 && since < oldest)
			oldest = since;
	}
	return oldest;
}

void mam_epoch_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_epoch_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

void mam_epoch_fork_child(void)
{
	for (struct mam_epoch_record *record = atomic_load(&records); record;
	     record = record->next) {
		if (record == mam_epoch_mine)
			continue;
		atomic_store(&record->since, 0);
		record->used = false;
	}
	mam_lock_reinit(&lock);
}
