/* SPDX-License-Identifier: Apache-2.0 */
/* sites.c - see sites.h. */
#include "interpose/watch/sites.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <mam/statpage.h>

#include "interpose/process/altstack.h"
#include "interpose/process/stack.h"
#include "interpose/profile/python.h"
#include "interpose/profile/sample.h"
#include "interpose/profile/stacks.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/site_table.h"
#include "interpose/watch/watch.h"

#define RATE ((uint64_t)512 << 10) /* bytes; mean distance of samples */
#define SPINS 200                  /* before a thread yields the processor */
#define UNKNOWN (MAM_STACKS_SITES + 1)

static struct mam_ledger ledger;
static atomic_int locked;           /* atomic; 1: taken */
static struct mam_site_table table; /* lock: locked */
static bool is_active;              /* lock: locked */
static uint64_t until;              /* lock: locked; seconds */
static uint64_t period; /* lock: locked; count of starts; entries of earlier ones are old */
static const char *_Atomic names[MAM_STACKS_SITES + 1]; /* atomic; by number of the site */

static uint64_t seconds_of(clockid_t clock)
{
	struct timespec now = { .tv_sec = 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec;
}

static void lock(void)
{
	for (int spin = 0; atomic_exchange_explicit(&locked, 1, memory_order_acquire) != 0; spin++)
		if (spin >= SPINS)
			sched_yield();
}

static void unlock(void)
{
	atomic_store_explicit(&locked, 0, memory_order_release);
}

static struct mam_statpage_sites *page(void)
{
	return &mam_statpage_own()->sites;
}

/* lock: locked */
static void stop(void)
{
	if (!is_active)
		return;
	is_active = false;
	mam_site_table_begin(&table, page(), 0);
	mam_watch_stop(MAM_WATCH_SITES);
}

/* lock: locked */
static void start(void)
{
	uint64_t since = seconds_of(CLOCK_REALTIME);

	is_active = true;
	period++;
	mam_ledger_clear(&ledger); /* blocks of the last period, whose frees it may have missed */
	mam_site_table_begin(&table, page(), since + (since == 0));
	mam_watch_start(MAM_WATCH_SITES);
}

const char *mam_sites_sample(uint64_t seconds)
{
	const uint64_t now = seconds_of(CLOCK_MONOTONIC);
	const uint64_t end = seconds > UINT64_MAX - now ? UINT64_MAX : now + seconds;

	if (seconds != 0 && mam_watch_wants(MAM_WATCH_LEAKS) != 0)
		return "the program records all call sites (--leaks)";
	if (seconds != 0)
		mam_stacks_prepare();
	lock();
	if (seconds == 0) {
		stop();
	} else {
		until = is_active && until > end ? until : end;
		if (!is_active)
			start();
	}
	unlock();
	return NULL;
}

/* ---- names ---- */

static void put_python(char *to, size_t bytes, const struct mam_python_frame *frame)
{
	const char *slash = strrchr(frame->file, '/');

	snprintf(to, bytes, "%s@%s:%u", frame->function, slash == NULL ? frame->file : slash + 1,
		 frame->line);
}

static void put_native(char name[MAM_STACK_NAME_BYTES], const void *address)
{
	struct {
		struct mam_stack stack;
		void *frame;
	} one = { .stack = { .count = 1 }, .frame = (void *)(uintptr_t)address };

	_Static_assert(offsetof(__typeof__(one), frame) == offsetof(struct mam_stack, frames),
		       "the frame is that of the stack");
	mam_stack_print(&one.stack, name);
}

/* A name may take a millisecond, so each site is named once, without a lock. */
static const char *name_of(uint32_t number, const struct mam_stacks_site *site)
{
	const char *known = atomic_load_explicit(&names[number], memory_order_acquire);
	char name[MAM_STACK_NAME_BYTES];
	char *kept;

	if (known != NULL)
		return known;
	if (site->python != NULL)
		put_python(name, sizeof(name), site->python);
	else
		put_native(name, site->address);
	kept = mam_stack_cut(strlen(name) + 1);
	if (kept == NULL)
		return "?";
	strcpy(kept, name);
	atomic_store_explicit(&names[number], kept, memory_order_release);
	return kept;
}

/* ---- blocks ---- */

static struct mam_site_place place_of(const struct mam_ledger_entry *entry)
{
	return (struct mam_site_place){ .number = (uint16_t)(entry->id % MAM_STATPAGE_SITES),
					.device = (uint16_t)entry->thread,
					.sequence = entry->id / MAM_STATPAGE_SITES };
}

static void forget(const struct mam_ledger_entry *entry)
{
	const struct mam_site_place place = place_of(entry);

	lock();
	if (is_active && entry->ns == period)
		mam_site_table_subtract(&table, page(), &place, entry->bytes,
					mam_sample_probability(entry->bytes, RATE));
	unlock();
}

/* Returns false if the time is over. */
static bool count(const struct mam_watch_call *call, uint32_t number, const char *name,
		  struct mam_ledger_entry *entry)
{
	struct mam_site_place place;
	bool is_counted;

	lock();
	if (is_active && seconds_of(CLOCK_MONOTONIC) >= until)
		stop();
	is_counted = is_active;
	if (is_active) {
		place = mam_site_table_find(&table, page(), number, call->device, name);
		mam_site_table_add(&table, page(), &place, call->bytes,
				   mam_sample_probability(call->bytes, RATE));
		entry->id = place.sequence * MAM_STATPAGE_SITES + place.number;
		entry->thread = place.device;
		entry->ns = period;
	}
	unlock();
	return is_counted;
}

static void add(void *argument)
{
	const struct mam_watch_call *call = argument;
	struct mam_ledger_entry entry = { .bytes = call->bytes, .context = call->context }, old;
	struct mam_stacks_site site;
	uint32_t number;
	bool known;

	number = mam_stacks_site(&site);
	if (!count(call, number == 0 ? UNKNOWN : number, number == 0 ? "?" : name_of(number, &site),
		   &entry))
		return;
	entry.key = mam_ledger_key(call->function, call->block);
	do { /* the old entry was freed by a call that mam does not intercept */
		known = mam_ledger_put(&ledger, &entry, &old);
		if (known && old.key != 0)
			forget(&old);
	} while (known && old.key != 0);
	if (!known) /* its free will be unknown */
		forget(&entry);
}

void mam_sites_alloc(const struct mam_watch_call *call)
{
	if (call->block != NULL && call->bytes != 0 && call->fate == MAM_FATE_SERVED &&
	    mam_sample_takes(call->bytes, RATE))
		mam_altstack_call(add, (void *)(uintptr_t)call);
}

void mam_sites_free(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry;

	if (call->block != NULL &&
	    mam_ledger_take(&ledger, mam_ledger_key(call->function, call->block), &entry))
		forget(&entry);
}

void mam_sites_context_gone(void *context)
{
	if (context != NULL)
		mam_ledger_take_context(&ledger, context, forget);
}

void mam_sites_restart(void)
{
	if (period == 0) /* the page has no sites */
		return;
	mam_statpage_fork_child();
	atomic_store(&locked, 0);
	mam_stacks_restart();
	mam_ledger_restart(&ledger);
	memset((void *)names, 0, sizeof(names));
	is_active = false;
	mam_site_table_begin(&table, page(), 0);
}
