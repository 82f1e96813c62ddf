/* SPDX-License-Identifier: Apache-2.0 */
/* entry.c - entry to and exit from the fake driver: its one lock, and the log. */
#include "fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool started; /* cuInit was called. lock: fake */
static bool ended;   /* the process exits. lock: fake */
static bool forked;  /* this process is the child of one that used the library */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* CUDA cannot be used in the child of a process that has initialized it. */
static void fork_child(void)
{
	forked = started;
	fake_timeline_forget();
	pthread_mutex_unlock(&lock);
}

static void prepare(void)
{
	fake_knobs_read();
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

int fake_enter_early(const char *name)
{
	int result = CUDA_SUCCESS;

	pthread_once(&once, prepare);
	pthread_mutex_lock(&lock);
	fake_timeline_tick();
	if (forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (ended)
		return CUDA_ERROR_DEINITIALIZED;
	if (fake_knobs_fails(name, &result))
		return result;
	fake_timeline_run();
	return CUDA_SUCCESS;
}

int fake_enter(const char *name)
{
	int result;

	if (!forked)
		fake_checkpoint_wait();
	result = fake_enter_early(name);
	if (result == CUDA_SUCCESS && !started)
		result = CUDA_ERROR_NOT_INITIALIZED;
	return result == CUDA_SUCCESS ? fake_context_broken(name) : result;
}

/* One write() to a descriptor opened for appending: lines of threads and processes never mix. */
static void log_line(const char *name, int result, const char *arguments)
{
	char line[400];
	int length = snprintf(line, sizeof(line), "%s%s%s result=%d\n", name, *arguments ? " " : "",
			      arguments, result);

	if (write(fake_knobs.log, line, length) != length)
		fake_knobs.log = -1;
}

int fake_leave(const char *name, int result, const char *format, ...)
{
	char arguments[256];
	va_list list;
	int code;

	fake_timeline_run();
	if (fake_knobs_breaks(name, &code))
		fake_context_break(code);
	if (fake_knobs.log >= 0) {
		va_start(list, format);
		vsnprintf(arguments, sizeof(arguments), format, list);
		va_end(list);
		log_line(name, result, arguments);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

void fake_lock_drop(void)
{
	pthread_mutex_unlock(&lock);
}

void fake_lock_retake(void)
{
	pthread_mutex_lock(&lock);
}

static void end(void)
{
	pthread_mutex_lock(&lock);
	ended = true;
	pthread_mutex_unlock(&lock);
}

/* Handlers that the program registers later run before end(), and may still use the driver. */
void fake_started(void)
{
	if (!started)
		atexit(end);
	started = true;
}
