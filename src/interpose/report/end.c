/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.c - the ways in which a process ends, and what is reported at each (end.h).
 *
 *   exit, return from main   This object's destructor: it runs after the program's own exit
 *                            handlers and destructors, so after nearly all of its frees. All
 *                            watchers report.
 *   quick_exit               The same, in a handler that is registered when the process first uses
 *                            CUDA.
 *   _exit, _Exit             May be called anywhere, also in a signal handler that interrupted any
 *                            code. So mam does only what needs no memory and no lock that this
 *                            thread can hold: it withdraws the notes for peers, removes the file of
 *                            a shared limit and writes the statistics. The leak report is omitted
 *                            because it looks up names in the dynamic linker; a trace is complete
 *                            in any case.
 *
 * Invariant of _exit: the process ends with the given status, soon, whatever it was executing.
 *   1. Nothing is done in a process other than the one that used CUDA: the child of vfork(), which
 *      shares the memory of its parent.
 *   2. Nothing is done if this thread is inside mam and may hold a lock, or if it is on the stack
 *      of a signal handler, which may be too small.
 *   3. Another thread may hold a lock and never continue, or the file may be a pipe without a
 *      reader, or the memory may be corrupted: an alarm and the fault signals then still end the
 *      process with its status.
 *
 * A program that calls the kernel itself (exit_group) is not intercepted.
 *
 * A process that never used CUDA reads one environment variable and does nothing. The exception is
 * the process that mam run started: it reports that no call was intercepted, and the likely reason.
 */
#define _GNU_SOURCE /* secure_getenv, at_quick_exit */
#include "interpose/report/end.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mam/options.h>

#include "interpose/memory/shared.h"
#include "interpose/process/file.h"
#include "interpose/report/report.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/share/ipc.h"
#include "interpose/watch/leaks.h"
#include "interpose/watch/tracer.h"
#include "interpose/watch/watch.h"

#define END_SECONDS 2
#define STACK_BYTES (64 * 1024)
#define EXIT_FUNCTION __attribute__((visibility("default"), noreturn))

static atomic_bool over;  /* atomic; a thread has started to report */
static int status_wanted; /* lock: none, set by the thread that set `over` */

EXIT_FUNCTION void _exit(int status);
EXIT_FUNCTION void _Exit(int status);

static void say_all(void)
{
	struct mam_file_signals signals;
	bool awake = mam_init_is_awake(), stats;

	/*
	 * Options are read only if needed, because reading them may print warnings in a program
	 * without CUDA.
	 */
	if (!awake && !mam_file_is_started_one())
		return;
	if (!awake && secure_getenv("MAM_STATS") == NULL && secure_getenv("MAM_TRACE") == NULL &&
	    secure_getenv("MAM_PROFILE") == NULL && secure_getenv("MAM_LEAKS") == NULL)
		return;
	if (mam_init_is_alone()) {
		mam_file_hush(&signals);
		mam_tracer_finish();
		mam_file_unhush(&signals);
		return;
	}
	stats = awake ? mam_init_wants_stats() : mam_option_number("MAM_STATS") != 0;
	mam_file_hush(&signals);
	if (awake) {
		mam_ipc_finish();
		mam_shared_finish();
	}
	if (!awake || !mam_init_is_off()) {
		mam_tracer_finish();
		mam_leaks_finish();
	}
	if (stats && mam_file_is_watched())
		mam_report_statistics();
	mam_file_unhush(&signals);
}

__attribute__((destructor)) static void at_exit(void)
{
	if (!atomic_exchange(&over, true))
		say_all();
}

void mam_end_start(void)
{
	(void)at_quick_exit(at_exit); /* otherwise no report at quick_exit() */
}

void mam_end_restart(void)
{
	atomic_store(&over, false);
}

static void give_up(int signal)
{
	(void)signal;
	syscall(SYS_exit_group, status_wanted);
}

/* Ensures that the process ends, whatever happens next. */
static void end_in_any_case(int status)
{
	static const int fatal[] = { SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	static char room[STACK_BYTES];
	const stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = give_up, .sa_flags = SA_ONSTACK };
	sigset_t signals;

	status_wanted = status;
	sigaltstack(&stack, NULL);
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		sigaction(fatal[i], &action, NULL);
		sigaddset(&signals, fatal[i]);
	}
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	alarm(END_SECONDS);
}

static bool is_on_stack_of_signals(void)
{
	stack_t stack;

	return sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

static void say_what_is_safe(int status)
{
	struct mam_file_signals signals;
	bool stats = mam_init_wants_stats();

	if ((!stats && !mam_watch_wants(MAM_WATCH_MARKS) && !mam_shared_exists()) ||
	    mam_init_depth > 0 || !mam_init_is_at_home() || is_on_stack_of_signals() ||
	    atomic_exchange(&over, true))
		return;
	end_in_any_case(status);
	mam_file_hush(&signals);
	mam_ipc_finish();
	mam_shared_finish();
	if (stats && mam_file_is_watched())
		mam_report_statistics();
}

static __attribute__((noreturn)) void leave(int status)
{
	void (*next)(int status) = mam_real_exit();

	say_what_is_safe(status);
	if (next != NULL)
		next(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

void _exit(int status)
{
	leave(status);
}

void _Exit(int status)
{
	leave(status);
}
