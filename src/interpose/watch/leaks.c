/* SPDX-License-Identifier: Apache-2.0 */
/* leaks.c - see leaks.h. leaks_report.c prints the report. */
#include "interpose/watch/leaks.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mam/options.h>

#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/process/stack.h"
#include "interpose/routes/init.h"
#include "interpose/watch/leaks_report.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/watch.h"

static struct mam_ledger ledger;
static atomic_bool wanted;         /* atomic */
static _Atomic uint64_t forgotten; /* atomic; blocks for which the ledger had no memory */
static _Atomic uint64_t seen;      /* atomic; blocks */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void begin(void)
{
	atomic_store(&wanted, true);
	mam_watch_start(MAM_WATCH_LEAKS);
}

void mam_leaks_start(void)
{
	if (mam_option_number("MAM_LEAKS") == 0 || !mam_file_is_watched())
		return;
	mam_stack_start();
	begin();
}

void mam_leaks_alloc(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry = { 0 }, old;
	bool known;

	if (call->block == NULL)
		return;
	entry.key = mam_ledger_key(call->function, call->block);
	entry.id = (uint64_t)(uintptr_t)mam_stack_here();
	entry.bytes = call->bytes;
	entry.ns = now();
	entry.context = call->context;
	entry.thread = (uint32_t)syscall(SYS_gettid);
	entry.function = (uint16_t)call->function;
	entry.fate = (uint8_t)call->fate;
	entry.is_library = call->is_library;
	atomic_store_explicit(&seen, 1, memory_order_relaxed);
	do /* the old entry was freed by a call that mam does not intercept */
		known = mam_ledger_put(&ledger, &entry, &old);
	while (known && old.key != 0);
	if (!known)
		atomic_fetch_add_explicit(&forgotten, 1, memory_order_relaxed);
}

void mam_leaks_free(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry;

	if (call->block != NULL)
		mam_ledger_take(&ledger, mam_ledger_key(call->function, call->block), &entry);
}

void mam_leaks_context_gone(void *context)
{
	if (context != NULL && atomic_load_explicit(&wanted, memory_order_relaxed))
		mam_ledger_take_context(&ledger, context, NULL);
}

void mam_leaks_visit(bool (*visit)(const struct mam_ledger_entry *entry, void *user), void *user)
{
	mam_ledger_visit(&ledger, visit, user);
}

const struct mam_stack *mam_leaks_find(const void *block)
{
	const uint64_t key = mam_ledger_key(MAM_TABLE_cuMemAlloc_v2, block);
	struct mam_ledger_entry entry;

	if (!atomic_load_explicit(&wanted, memory_order_relaxed) ||
	    !mam_ledger_find(&ledger, key, &entry))
		return NULL;
	return (const struct mam_stack *)(uintptr_t)entry.id;
}

/* Copies all remaining entries to new memory. */
static struct mam_ledger_entry *copy(size_t *count)
{
	size_t room = mam_ledger_copy(&ledger, NULL, 0), found;
	struct mam_ledger_entry *entries;

	*count = 0;
	if (room == 0)
		return NULL;
	entries = mmap(NULL, room * sizeof(*entries), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (entries == MAP_FAILED)
		return NULL;
	found = mam_ledger_copy(&ledger, entries, room); /* other threads may still run */
	*count = found < room ? found : room;
	return entries;
}

void mam_leaks_finish(void)
{
	const char *path = mam_option_value("MAM_LEAKS_FILE");
	struct mam_leaks_left left = { .now = now() };

	if (!atomic_load(&wanted) && (mam_init_is_awake() || mam_option_number("MAM_LEAKS") == 0))
		return;
	mam_watch_stop(MAM_WATCH_LEAKS);
	if (atomic_load(&seen) == 0 && (!mam_file_is_started_one() || mam_file_is_of_rank(path)))
		return; /* an intermediate process that used no CUDA memory */
	left.entries = copy(&left.count);
	left.forgotten = atomic_load(&forgotten);
	mam_leaks_report(&left, path);
}

void mam_leaks_restart(void)
{
	bool was = atomic_load(&wanted);

	mam_ledger_restart(&ledger);
	atomic_store(&forgotten, 0);
	atomic_store(&seen, 0);
	atomic_store(&wanted, false);
	if (was && !mam_init_is_off() && mam_file_is_watched())
		begin(); /* the parent has initialized stack.h */
}
