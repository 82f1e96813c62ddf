/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - see serve.h.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "interpose/control/serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

#include <mam/control.h>

#include "interpose/control/heap_list.h"
#include "interpose/control/request.h"
#include "interpose/control/socket.h"
#include "interpose/control/suspend.h"
#include "interpose/control/turn.h"
#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/pools.h"
#include "interpose/process/file.h"
#include "interpose/process/thread.h"
#include "interpose/report/report.h"
#include "interpose/routes/init.h"
#include "interpose/routes/table.h"
#include "interpose/watch/profiled.h"
#include "interpose/watch/library.h"
#include "interpose/watch/sites.h"
#include "interpose/watch/tracer.h"
#include "interpose/watch/watch.h"

#define STACK_BYTES ((size_t)256 << 10) /* the driver's functions run on it */
#define REPORT_EVERY 5                  /* tenths of a second, while a suspend waits */
#define GIVE_UP_AFTER 300               /* the same */

static void put_error(struct mam_file_text *text, const char *why)
{
	mam_file_put(text, "error %s\n", why);
}

/* Released memory must be idle: it waits for quarantined blocks, and the driver for running work. */
static void trim(struct mam_file_text *text)
{
	struct mam_account_sums sums;
	size_t released;

	if (mam_capture_alive()) {
		put_error(text, "a stream is in capture, in which memory cannot be released");
		return;
	}
	released = mam_pools_make_room(-1, true);
	mam_account_sum(-1, &sums);
	mam_file_put(text, "done %zu %llu\n", released,
		     (unsigned long long)sums.now[MAM_ACCOUNT_CHUNK]);
}

static void limit(struct mam_file_text *text, uint64_t bytes)
{
	mam_account_set_limit(bytes);
	mam_file_put(text, "done %llu\n", (unsigned long long)mam_account_fullest());
}

static void dump(struct mam_file_text *text)
{
	if (mam_heap_list_put(text))
		mam_file_put(text, "done\n");
	else
		put_error(text, "the program has no host memory for the list of its blocks");
}

static void stats(struct mam_file_text *text, bool as_keys)
{
	static struct mam_report report; /* lock: none, this thread's */

	if (!mam_init_wants_stats()) {
		put_error(text, "the program was started without --stats");
		return;
	}
	mam_report_collect(&report);
	if (as_keys)
		mam_report_keys(text, &report);
	else
		mam_report_table(text, &report);
	mam_file_put(text, "done\n");
}

/* The blocks of one pool that were allocated before the trace started. */
static void trace_blocks(const struct mam_pools_entry *entry,
			 const struct mam_heap_list_block *blocks, size_t count, void *user)
{
	unsigned long long *traced = user;

	for (size_t i = 0; i < count; i++) {
		struct mam_watch_call call = { .function = MAM_TABLE_cuMemAlloc_v2,
					       .fate = MAM_FATE_SERVED,
					       .block = (void *)blocks[i].base,
					       .bytes = blocks[i].requested,
					       .context = entry->owner,
					       .device = entry->device };

		if (blocks[i].requested != 0 && !mam_library_is_chunk(call.block))
			*traced += mam_tracer_add(&call);
	}
}

static void trace(struct mam_file_text *text, const char *path)
{
	unsigned long long traced = 0;
	uint64_t events;
	int error = mam_tracer_open(path, NULL);
	bool is_whole;

	if (error == EBUSY) {
		put_error(text, "the program already has a trace");
	} else if (error == EAGAIN) {
		put_error(text, "a thread has not finished its event of the last trace; try again");
	} else if (error != 0) {
		mam_file_put(text, "error cannot write the trace: %s\n", mam_file_error(error));
	} else {
		is_whole = mam_heap_list_visit(trace_blocks, &traced);
		mam_tracer_opened();
		if (is_whole)
			mam_file_put(text, "done %llu\n", traced);
		else
			put_error(text,
				  "the program has no host memory for the list of its blocks");
		if (!is_whole)
			mam_tracer_close(&events);
	}
}

static void trace_off(struct mam_file_text *text)
{
	struct mam_file_signals signals;
	uint64_t events;
	bool was_open;

	mam_file_hush(&signals);
	mam_profiled_forget();
	was_open = mam_tracer_close(&events);
	mam_file_unhush(&signals);
	if (was_open)
		mam_file_put(text, "done %llu\n", (unsigned long long)events);
	else
		put_error(text, "the program has no trace");
}

static void sites(struct mam_file_text *text, uint64_t seconds)
{
	const char *fault = mam_sites_sample(seconds);

	if (fault != NULL)
		put_error(text, fault);
	else
		mam_file_put(text, "done\n");
}

/* Whether the request ended; otherwise the reply is complete. Reports every half a second. */
static bool wait_for_suspend(struct mam_file_text *text, struct mam_suspend_state *state)
{
	for (unsigned int waits = 0; !mam_suspend_wait(state); waits++) {
		if (waits % REPORT_EVERY == REPORT_EVERY - 1) {
			mam_file_put(text, "waiting %s\n", state->waits);
			mam_file_flush(text);
		}
		if (text->error != 0 && mam_suspend_cancel()) /* the client has gone */
			return false;
		if (waits >= GIVE_UP_AFTER && mam_suspend_cancel()) {
			mam_file_put(text, "error the program waited too long %s\n", state->waits);
			return false;
		}
	}
	return true;
}

static void suspend(struct mam_file_text *text, enum mam_suspend_what what, const char *folder)
{
	const char *fault = mam_turn_is_taken() ? "the program takes turns with others (mam share)"
						: mam_suspend_begin(what, folder);
	struct mam_suspend_state state;

	if (fault == NULL && !wait_for_suspend(text, &state))
		return;
	if (fault == NULL)
		fault = state.fault;
	if (fault != NULL)
		put_error(text, fault);
	else
		mam_file_put(text, "done %llu %llu\n", (unsigned long long)state.released,
			     (unsigned long long)state.left);
}

static void reply(struct mam_file_text *text, const char *line, size_t length)
{
	static struct mam_request request; /* lock: none, this thread's */
	const char *fault = mam_request_parse(line, length, &request);

	mam_file_put(text, "working\n");
	if (mam_file_flush(text) != 0) /* the client has gone */
		return;
	if (fault != NULL) {
		put_error(text, fault);
		return;
	}
	switch (request.kind) {
	case MAM_REQUEST_TRIM: trim(text); break;
	case MAM_REQUEST_LIMIT: limit(text, request.number); break;
	case MAM_REQUEST_SITES: sites(text, request.number); break;
	case MAM_REQUEST_DUMP: dump(text); break;
	case MAM_REQUEST_STATS: stats(text, false); break;
	case MAM_REQUEST_STATS_KEYS: stats(text, true); break;
	case MAM_REQUEST_TRACE: trace(text, request.path); break;
	case MAM_REQUEST_TRACE_OFF: trace_off(text); break;
	case MAM_REQUEST_SUSPEND:
		suspend(text, request.path[0] == '\0' ? MAM_SUSPEND_HOST : MAM_SUSPEND_FILE,
			request.path);
		break;
	case MAM_REQUEST_SUSPEND_DISCARD: suspend(text, MAM_SUSPEND_DISCARD, NULL); break;
	case MAM_REQUEST_RESUME: suspend(text, MAM_SUSPEND_RESUME, NULL); break;
	}
}

/* The request arrives in one piece: it is much smaller than the socket's buffer. */
static void serve_one(const struct mam_file *peer)
{
	static struct mam_file_text text;       /* lock: none, this thread's */
	char line[MAM_CONTROL_REQUEST_MAX + 1]; /* a byte more: the line is too long */
	ssize_t length = recv(peer->number, line, sizeof(line), 0);

	if (length <= 0)
		return;
	text.number = peer->number;
	text.file = peer;
	text.error = 0;
	text.length = 0;
	reply(&text, line, (size_t)length);
	mam_file_flush(&text);
}

static void *serve(void *unused)
{
	const struct mam_file *peer;

	(void)pthread_setname_np(pthread_self(), "mam-ctl");
	mam_init_depth++;
	while ((peer = mam_socket_accept()) != NULL) {
		serve_one(peer);
		mam_socket_close();
	}
	mam_socket_remove();
	return unused;
}

void mam_serve_start(void)
{
	int error = errno;

	if (mam_socket_open() && !mam_thread_start(STACK_BYTES, serve)) {
		mam_socket_remove();
		mam_socket_drop();
	}
	errno = error;
}

void mam_serve_restart(void)
{
	mam_socket_drop();
}

__attribute__((destructor)) static void at_exit(void)
{
	mam_socket_remove();
}
