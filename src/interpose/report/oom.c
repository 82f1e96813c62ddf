/* SPDX-License-Identifier: Apache-2.0 */
/* oom.c - see oom.h. oom_report.c writes the report. */
#include "interpose/report/oom.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include <mam/options.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "interpose/memory/account.h"
#include "interpose/memory/pools.h"
#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/report/oom_heap.h"
#include "interpose/report/oom_report.h"
#include "interpose/watch/watch.h"

#define MESSAGES_MAX 3 /* programs that cope with a full device retry again and again */
#define REPORTS_MAX 8
#define REPORT_EVERY UINT64_C(1000000000) /* ns */

static atomic_uint messages, reports; /* atomic */
static _Atomic uint64_t due;          /* atomic; ns: no report before */
static atomic_bool busy;              /* atomic; a thread writes a report */

/* The pool of the context, otherwise one of the device; NULL: there is none. */
static struct mam_pools_entry *entry_of(const struct mam_watch_call *call)
{
	struct mam_pools_entry *entry, *first = NULL;

	for (unsigned int at = 0; (entry = mam_pools_next_on(call->device, &at)) != NULL;) {
		if (entry->owner == call->context)
			return entry;
		if (first == NULL)
			first = entry;
	}
	return first;
}

/* Sets busy, unless no report may be written now. */
static bool may_report(void)
{
	const char *folder = mam_option_value("MAM_OOM_REPORT");

	if (folder == NULL || folder[0] == '\0' || !mam_file_is_watched() ||
	    atomic_load(&reports) >= REPORTS_MAX || atomic_exchange(&busy, true))
		return false;
	if (atomic_load(&reports) < REPORTS_MAX && mam_oom_now() >= atomic_load(&due))
		return true;
	atomic_store(&busy, false);
	return false;
}

/* The reason and what to do. */
static void advise(const struct mam_watch_call *call, const struct mam_stats *stats, size_t bytes,
		   char *text)
{
	uint64_t others = call->why == MAM_WHY_LIMIT ? mam_account_others(call->device) : 0;

	if (others != 0)
		snprintf(text, bytes,
			 "other processes use %s of the limit of %s: raise --limit or free memory",
			 mam_file_bytes(others).text, mam_file_bytes(mam_account_limit()).text);
	else if (call->why == MAM_WHY_LIMIT)
		snprintf(text, bytes, "raise --limit or free memory");
	else if (stats->reserved_bytes - stats->live_rounded_bytes >= call->bytes)
		snprintf(text, bytes,
			 "enough memory is free but fragmented: try --source=vmm if it is not set, "
			 "or a larger --growth");
	else
		snprintf(text, bytes, "free memory, or check which other processes use the device");
}

/* `report` is the name of its file; "": none. A message without a report is limited in number. */
static void say(const struct mam_watch_call *call, const struct mam_stats *stats,
		const char *report)
{
	char advice[160];

	if (!mam_say_wants(MAM_SAY_WARN) ||
	    (atomic_fetch_add(&messages, 1) >= MESSAGES_MAX && report[0] == '\0'))
		return;
	advise(call, stats, sizeof(advice), advice);
	mam_say(MAM_SAY_WARN,
		"out of memory: cannot allocate %s (live %s, largest free block %s, quarantined "
		"%s, reserved %s); %s%s%s",
		mam_file_bytes(call->bytes).text, mam_file_bytes(stats->live_bytes).text,
		mam_file_bytes(stats->largest_free_bytes).text,
		mam_file_bytes(stats->retired_bytes).text,
		mam_file_bytes(stats->reserved_bytes).text, advice,
		report[0] == '\0' ? "" : "; report: ", report);
}

static void report_and_say(const struct mam_watch_call *call, const struct mam_oom_pool *pool)
{
	unsigned int number = atomic_fetch_add(&reports, 1) + 1;
	const char *path = "";
	int error = mam_oom_report(call, pool, number, &path);

	say(call, &pool->stats, error == 0 ? path : "");
	if (error != 0) {
		mam_say(MAM_SAY_WARN, "cannot write out-of-memory report '%.300s': %s", path,
			mam_file_error(error));
		atomic_store(&reports, REPORTS_MAX);
	}
	atomic_store(&due, mam_oom_now() + REPORT_EVERY);
	atomic_store(&busy, false);
}

void mam_oom_explain(const struct mam_watch_call *call)
{
	struct mam_oom_pool pool = { .stats = { .size = sizeof(pool.stats) } };
	struct mam_pools_entry *entry = entry_of(call);
	int before = errno;

	if (entry != NULL)
		pool.pool = atomic_load(&entry->pool);
	if (pool.pool != NULL && mam_pool_stats(pool.pool, &pool.stats) != MAM_OK)
		pool.pool = NULL; /* its context was destroyed */
	if (pool.pool != NULL)
		pool.is_mapped = entry->source->ops->map != NULL;
	if (may_report())
		report_and_say(call, &pool);
	else if (pool.pool != NULL)
		say(call, &pool.stats, "");
	errno = before;
}

void mam_oom_restart(void)
{
	atomic_store(&messages, 0);
	atomic_store(&reports, 0);
	atomic_store(&due, 0);
	atomic_store(&busy, false);
}
