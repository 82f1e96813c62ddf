/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_report.c - see oom_report.h.
 *
 * 1. Read the heap, the account and the free memory of the GPU, one after the other: other threads
 *    may change them in between.
 * 2. Write the heap. The text names it only if that succeeded.
 * 3. Write the text.
 *
 * All buffers are static or come from mmap(): the stack of the program's thread may be small, and
 * its heap may be in any state that its own allocator permits.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "interpose/report/oom_report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mam/mam.h>
#include <mam/options.h>
#include <mam/tag_paths.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/pass.h"
#include "interpose/memory/pools.h"
#include "interpose/process/file.h"
#include "interpose/process/stack.h"
#include "interpose/report/oom_advice.h"
#include "interpose/report/oom_heap.h"
#include "interpose/report/oom_others.h"
#include "interpose/report/oom_top.h"
#include "interpose/report/report.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"
#include "interpose/watch/leaks.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/tagged.h"

#define SHOWN 10
#define NAMING_NS UINT64_C(60000000) /* no further call site is named after this time */
#define VISIT_NS UINT64_C(30000000)  /* no further call site or tag is visited after this time */
#define CLOCK_EVERY 1024u            /* blocks */
#define GRANULE 512u                 /* the default of mam replay, too */

/* lock: the caller of mam_oom_report() is the only one */
static struct mam_oom_top sizes, sites, tags;
static struct mam_file file;
static struct mam_file_text text;
static char path_of_text[PATH_MAX], path_of_heap[PATH_MAX], path_of_trace[PATH_MAX], program[32];

struct report {
	const struct mam_watch_call *call;
	const struct mam_oom_pool *pool;
	struct mam_oom_facts facts;
	struct mam_oom_heap heap;
	struct mam_account_sums account;
	uint64_t others;              /* bytes of other processes that share the limit */
	struct mam_oom_replay replay; /* events 0: the heap was not written */
};

/* The program may have any name; only harmless characters of it are used. */
static void name_program(void)
{
	static const char harmless[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

	snprintf(program, sizeof(program), "%s", program_invocation_short_name);
	for (char *at = program; *at != '\0'; at++)
		if (strchr(harmless, *at) == NULL)
			*at = '_';
}

static int name_file(unsigned int number, const char *suffix, char path[PATH_MAX])
{
	int length =
		snprintf(path, PATH_MAX, "%s/oom.%s.%d.%u.%s", mam_option_value("MAM_OOM_REPORT"),
			 program, (int)getpid(), number, suffix);

	return length < PATH_MAX ? 0 : ENAMETOOLONG;
}

/* cuMemGetInfo is about the current context's device, and may invalidate a capture. */
static void ask_gpu(int device, struct mam_oom_facts *facts)
{
	const struct mam_real_driver *driver = mam_real_driver();
	__typeof__(&cuMemGetInfo_v2) ask = MAM_TABLE_ORIGINAL(cuMemGetInfo_v2);
	size_t free_bytes, total_bytes;
	int current;

	if (mam_capture_alive() || driver == NULL || ask == NULL ||
	    driver->ctx_device(&current) != MAM_CUDA_SUCCESS || current != device ||
	    ask(&free_bytes, &total_bytes) != MAM_CUDA_SUCCESS)
		return;
	facts->has_gpu = true;
	facts->gpu_free = free_bytes;
	facts->gpu_total = total_bytes;
	mam_account_look(device, total_bytes, free_bytes);
}

static bool is_of_device(const struct mam_ledger_entry *entry, const struct mam_watch_call *call)
{
	return entry->function != MAM_TABLE_cuMemHostAlloc &&
	       entry->function != MAM_TABLE_cuMemAllocHost_v2 && entry->context != NULL &&
	       (entry->context == call->context ||
		mam_pools_device(entry->context) == call->device);
}

struct visit {
	const struct mam_watch_call *call;
	struct mam_oom_top *top;
	uint64_t seen, until;
};

/* Called under a lock of the ledger. The id is a call site, or tags. */
static bool add_id(const struct mam_ledger_entry *entry, void *user)
{
	struct visit *visit = user;

	if (visit->seen++ % CLOCK_EVERY == 0 && mam_oom_now() > visit->until)
		return false;
	if (is_of_device(entry, visit->call))
		mam_oom_top_add(visit->top, entry->id, entry->bytes);
	return true;
}

static void read_ids(const struct mam_watch_call *call)
{
	struct visit visit = { call, &sites, 0, mam_oom_now() + VISIT_NS };

	mam_leaks_visit(add_id, &visit);
	visit = (struct visit){ call, &tags, 0, mam_oom_now() + VISIT_NS };
	mam_tagged_visit(add_id, &visit);
}

static void read_all(struct report *report)
{
	const struct mam_stats *stats = &report->pool->stats;
	const struct mam_watch_call *call = report->call;
	struct mam_oom_facts *facts = &report->facts;

	memset(&sizes, 0, sizeof(sizes));
	memset(&sites, 0, sizeof(sites));
	memset(&tags, 0, sizeof(tags));
	facts->requested = call->bytes;
	facts->taken = mam_pass_rounded(call->bytes);
	facts->why = call->why;
	facts->limit = mam_account_limit();
	facts->is_mapped = report->pool->is_mapped;
	ask_gpu(call->device, facts);
	mam_account_sum(call->device < 0 ? 0 : call->device, &report->account);
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++)
		if (kind != MAM_ACCOUNT_ARRAY && kind != MAM_ACCOUNT_HOST)
			facts->charged += report->account.now[kind];
	report->others = mam_account_others(call->device);
	facts->charged += report->others;
	read_ids(call);
	if (report->pool->pool == NULL)
		return;
	facts->free = stats->physical_bytes - stats->live_rounded_bytes - stats->cached_bytes -
		      stats->retired_bytes;
	facts->largest_free = stats->largest_free_bytes;
	mam_oom_heap_read(report->pool->pool, &report->heap, &sizes);
	facts->has_heap = report->heap.is_whole;
	facts->whole_pieces = report->heap.whole_pieces;
	facts->largest_run = report->heap.largest_run;
}

static void put_size(const char *label, uint64_t bytes, const char *more)
{
	mam_file_put(&text, "  %-22s %10s%s\n", label, mam_oom_size(bytes).text, more);
}

static const char *reason(enum mam_why why)
{
	return why == MAM_WHY_LIMIT ? "the request would exceed --limit"
	       : why == MAM_WHY_LARGE
		       ? "it is above --pass-above, and the driver does not have the memory"
	       : why == MAM_WHY_MEMORY ? "neither the pool nor the driver has the memory"
				       : "the driver does not have the memory";
}

/* As in a trace, except for blanks. */
static void put_tags(const char *path)
{
	for (const char *at = path; *at != '\0'; at++) {
		bool is_blank = strncmp(at, "%20", 3) == 0;

		mam_file_put(&text, "%c", is_blank ? ' ' : *at);
		at += is_blank ? 2 : 0;
	}
	mam_file_put(&text, "\n");
}

static void put_request(const struct report *report)
{
	const struct mam_watch_call *call = report->call;

	mam_file_put(&text, "mam %s: out of memory in %s\n\n", mam_version(), program);
	mam_file_put(&text, "Request\n  %s (%llu bytes) by %s, ", mam_oom_size(call->bytes).text,
		     (unsigned long long)call->bytes, mam_table_name(call->function));
	mam_file_put(&text, "process %d, thread %ld", (int)getpid(), (long)syscall(SYS_gettid));
	if (call->device >= 0)
		mam_file_put(&text, ", device %d", call->device);
	mam_file_put(&text, "\n  %s\n", reason(call->why));
	if (mam_tag_paths_here()[0] != '\0') {
		mam_file_put(&text, "  with the tag ");
		put_tags(mam_tag_paths_here());
	}
}

static void put_gpu(const struct report *report)
{
	const struct mam_oom_facts *facts = &report->facts;

	mam_file_put(&text, "\nMemory of the GPU\n");
	if (facts->has_gpu) {
		put_size("total", facts->gpu_total, "");
		put_size("free", facts->gpu_free, "");
	} else {
		mam_file_put(&text,
			     "  total and free memory are unknown: a stream is in capture, or "
			     "the driver did not return them\n");
	}
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++)
		if (kind != MAM_ACCOUNT_HOST && report->account.now[kind] != 0)
			put_size(mam_report_kind_text((enum mam_account_kind)kind),
				 report->account.now[kind], ", of this process");
	if (facts->has_gpu)
		put_size("other", report->account.other,
			 ": contexts, modules and other processes (nvidia-smi lists them)");
	if (facts->limit != 0)
		put_size("--limit", facts->limit, ", of which this process uses the above");
	if (facts->limit != 0 && report->others != 0)
		put_size("other processes", report->others, " of the limit");
}

static void put_others(void)
{
	static struct mam_oom_other others[SHOWN];
	size_t count = mam_oom_others_find(others, SHOWN);

	if (count != 0)
		mam_file_put(&text, "\nOther processes of this user that use mam, on all GPUs\n");
	for (size_t i = 0; i < count; i++)
		mam_file_put(&text, "  %10s process %d (%s)\n", mam_oom_size(others[i].bytes).text,
			     (int)others[i].process, others[i].program);
}

static void put_pool(const struct report *report)
{
	const struct mam_stats *stats = &report->pool->stats;

	if (report->pool->pool == NULL) {
		mam_file_put(&text, "\nThis device has no pool\n");
		return;
	}
	mam_file_put(&text, "\nPool of the context\n");
	put_size("reserved", stats->physical_bytes, "");
	mam_file_put(&text, "  %-22s %10s in %llu block%s\n", "live",
		     mam_oom_size(stats->live_rounded_bytes).text,
		     (unsigned long long)stats->live_blocks, stats->live_blocks == 1 ? "" : "s");
	put_size("cached by threads", stats->cached_bytes, "");
	put_size("waiting for the GPU", stats->retired_bytes, ", freed");
	put_size("free", report->facts.free, "");
	put_size("largest free block", report->facts.largest_free, "");
}

static void put_advice(const struct report *report)
{
	static struct mam_oom_advice advice; /* as the buffers above */

	mam_oom_advise(&report->facts, &advice);
	if (advice.count == 0)
		return;
	mam_file_put(&text, "\nAdvice, if all blocks stay where they are\n");
	for (size_t i = 0; i < advice.count; i++)
		mam_file_put(&text, "  - %s\n", advice.lines[i]);
}

/* The names of stacks that were looked up for a trace are not used: its thread may write them now. */
static void put_site(uint64_t id, uint64_t until)
{
	const struct mam_stack *stack = (const struct mam_stack *)(uintptr_t)id;
	char name[MAM_STACK_NAME_BYTES] = "";

	if (stack != NULL && mam_oom_now() < until)
		mam_stack_print(stack, name);
	mam_file_put(&text, "%s\n", name[0] == '\0' ? "unknown" : name);
}

static void put_top(const struct mam_oom_top *top)
{
	static struct mam_oom_sum largest[SHOWN];
	const uint64_t until = mam_oom_now() + NAMING_NS;
	size_t count = mam_oom_top_largest(top, largest, SHOWN);

	if (count == 0)
		return;
	mam_file_put(&text,
		     top == &sites ? "\nCall sites with the most live memory\n"
		     : top == &tags
			     ? "\nTags with the most live memory\n"
			     : "\nSizes with the most live memory (--leaks shows call sites)\n");
	for (size_t i = 0; i < count; i++) {
		mam_file_put(&text, "  %10s in %llu block%s ", mam_oom_size(largest[i].bytes).text,
			     (unsigned long long)largest[i].blocks,
			     largest[i].blocks == 1 ? "" : "s");
		if (top == &sites)
			put_site(largest[i].key, until);
		else if (top == &tags)
			put_tags((const char *)(uintptr_t)largest[i].key);
		else
			mam_file_put(&text, "of %llu bytes\n", (unsigned long long)largest[i].key);
	}
	if (top->used > count || top->others.blocks != 0)
		mam_file_put(&text, "  and others\n");
}

/* As one word of a shell, whatever the name has in it. */
static void put_quoted(const char *path)
{
	mam_file_put(&text, "'");
	for (const char *at = path; *at != '\0'; at++)
		mam_file_put(&text, *at == '\'' ? "'\\''" : "%c", *at);
	mam_file_put(&text, "'");
}

/* The advice is about this moment. A replay, after the program has ended, is about all of it. */
static void put_replay(void)
{
	const char *profile = mam_option_value("MAM_PROFILE"); /* excludes a trace */
	const char *trace = mam_option_value("MAM_TRACE");

	mam_file_put(&text,
		     "\nMemory that other settings would have needed up to this request\n  ");
	if ((profile != NULL && profile[0] != '\0') || trace == NULL || trace[0] == '\0' ||
	    mam_file_name(trace, sizeof(path_of_trace), path_of_trace) != 0) {
		mam_file_put(&text, "mam run --trace FILE records what mam replay --compare FILE "
				    "plays with them\n");
		return;
	}
	mam_file_put(&text, "mam replay --compare ");
	put_quoted(path_of_trace);
	mam_file_put(&text, "\n");
}

static void put_heap(const struct report *report)
{
	const uint64_t granule = mam_option_number("MAM_GRANULE");

	if (report->replay.events == 0)
		return;
	mam_file_put(&text,
		     "\nThe heap at this moment, as a page; its last event is the request\n  "
		     "mam replay --map heap.html --chunk %llu --growth none ",
		     (unsigned long long)report->replay.chunk);
	if (granule != GRANULE)
		mam_file_put(&text, "--granule %llu ", (unsigned long long)granule);
	put_quoted(path_of_heap);
	mam_file_put(&text, "\n  then open heap.html#by=who&event=%llu\n",
		     (unsigned long long)report->replay.events - 1);
	if (!report->heap.is_whole || report->heap.kept < report->heap.seen)
		mam_file_put(&text,
			     "  The page has only the %zu segments at the lowest addresses.\n",
			     report->heap.kept);
}

static void put_all(const struct report *report)
{
	put_request(report);
	put_gpu(report);
	put_others();
	put_pool(report);
	put_advice(report);
	put_top(&tags);
	put_top(sites.used != 0 ? &sites : &sizes);
	put_replay();
	put_heap(report);
}

static int open_file(const char *path)
{
	int error = mam_file_create(path, &file);

	text.file = &file;
	text.number = -1;
	text.error = 0;
	text.length = 0;
	return error;
}

/* `error`: of opening it */
static int close_file(int error)
{
	if (error == 0)
		error = mam_file_flush(&text);
	if (error == 0)
		error = mam_file_publish(&file);
	return mam_file_close(&file) != 0 && error == 0 ? errno : error;
}

static int write_heap(struct report *report, unsigned int number)
{
	int error = name_file(number, "trace", path_of_heap);

	if (error != 0 || report->heap.kept == 0)
		return error;
	error = open_file(path_of_heap);
	if (error == 0) {
		mam_file_put(&text, "# the heap of %s %d when it was out of memory\n", program,
			     (int)getpid());
		mam_oom_heap_write(&report->heap, report->call->bytes, &text, &report->replay);
	}
	error = close_file(error);
	if (error != 0)
		report->replay.events = 0;
	return error;
}

static int write_text(const struct report *report, unsigned int number)
{
	int error = name_file(number, "txt", path_of_text);

	if (error != 0)
		return error;
	error = open_file(path_of_text);
	if (error == 0)
		put_all(report);
	return close_file(error);
}

int mam_oom_report(const struct mam_watch_call *call, const struct mam_oom_pool *pool,
		   unsigned int number, const char **path)
{
	struct report report = { .call = call, .pool = pool };
	struct mam_file_signals signals;
	int error, heap_error;

	name_program();
	read_all(&report);
	mam_file_hush(&signals);
	heap_error = write_heap(&report, number);
	error = write_text(&report, number);
	mam_file_unhush(&signals);
	mam_oom_heap_free(&report.heap);
	*path = error == 0 && heap_error != 0 ? path_of_heap : path_of_text;
	return error != 0 ? error : heap_error;
}
