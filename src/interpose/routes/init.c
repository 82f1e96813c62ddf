/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - reads the environment and starts mam's parts when the process first looks up or calls
 * CUDA. In the child of a fork it restarts the parts or turns mam off.
 */
#include "interpose/routes/init.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mam/options.h>
#include <mam/statpage.h>

#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/routes/preloads.h"

#define CAPTURE_ALLOW 1 /* index of the word among those of MAM_CAPTURE */

__thread int mam_init_depth;

atomic_int mam_init_state;      /* an enum mam_init_state */
static atomic_bool wants_stats; /* atomic */
static atomic_int policy;       /* atomic: an enum mam_init_policy */
static atomic_bool captures;    /* atomic */
static atomic_bool has_pools;   /* atomic */
static atomic_int home;         /* atomic; the process that first used CUDA; 0: none */
static atomic_bool alone;       /* atomic */
static atomic_bool checked;     /* atomic; other preloaded objects were checked */
static pthread_once_t awakening = PTHREAD_ONCE_INIT;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

/*
 * The child of a process that never had a pool may initialize CUDA itself and is served like any
 * other process, unless children are excluded. A process that never used CUDA has nothing to restart.
 */
static void start_child(void)
{
	if (atomic_load(&home) == 0)
		return;
	if (atomic_load_explicit(&has_pools, memory_order_relaxed) || !mam_file_is_watched())
		atomic_store_explicit(&mam_init_state, MAM_INIT_OFF, memory_order_relaxed);
	mam_statpage_fork_child();
	atomic_store_explicit(&home, (int)getpid(), memory_order_relaxed);
	for (const struct mam_init_part *part = mam_init_parts; part->restart != NULL; part++)
		part->restart();
	mam_init_depth = 0;
}

static enum mam_init_policy policy_of(uint64_t word)
{
	return word == MAM_FREE_STREAM     ? MAM_INIT_STREAM
	       : word == MAM_FREE_DEFERRED ? MAM_INIT_DEFERRED
					   : MAM_INIT_STRICT;
}

/* mam run has already warned of this before the program started. */
static void warn_of_source(void)
{
	const char *source = mam_option_value("MAM_SOURCE");

	if (secure_getenv("MAM_RUN_PID") == NULL && strcmp(source, "cudamalloc") != 0 &&
	    strcmp(source, "vmm") != 0)
		mam_say(MAM_SAY_WARN,
			"MAM_SOURCE=%s has no effect on cudaMalloc: its pools allocate memory with "
			"cuMemAlloc",
			source);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_child);
}

/*
 * At load, not at the first call: a fork that has begun in another thread calls no handler that is
 * registered meanwhile, and its child would keep the locks of that call. It reads nothing of the
 * environment. The constructor of a library that the program needs may run before, and call CUDA.
 */
__attribute__((constructor)) static void watch_forks_at_load(void)
{
	pthread_once(&watching, watch_forks);
}

/* Files are opened under locks meanwhile, which a thread that is cancelled there would keep. */
static int begin_whole(void)
{
	int old = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	return old;
}

static void end_whole(int old)
{
	pthread_setcancelstate(old, NULL);
}

static void wake(void)
{
	bool off = mam_option_number("MAM_DISABLE") != 0 || !mam_file_is_watched();

	pthread_once(&watching, watch_forks);
	atomic_store(&home, (int)getpid()); /* before any lock: see start_child() */
	atomic_store_explicit(&wants_stats, mam_option_number("MAM_STATS") != 0,
			      memory_order_relaxed);
	/* Red zones are checked when no work uses the block any more. */
	atomic_store_explicit(&policy,
			      mam_option_number("MAM_DEBUG") != 0
				      ? MAM_INIT_STRICT
				      : policy_of(mam_option_number("MAM_FREE")),
			      memory_order_relaxed);
	atomic_store_explicit(&captures, mam_option_number("MAM_CAPTURE") == CAPTURE_ALLOW,
			      memory_order_relaxed);
	if (!off) {
		warn_of_source();
		mam_statpage_open();
	}
	for (const struct mam_init_part *part = mam_init_parts; !off && part->restart != NULL;
	     part++)
		if (part->start != NULL)
			part->start();
	atomic_store_explicit(&mam_init_state, off ? MAM_INIT_OFF : MAM_INIT_ON,
			      memory_order_release);
}

/* Instead of wake(). */
static void stand_aside(void)
{
	atomic_store(&home, (int)getpid());
	atomic_store(&alone, true);
	atomic_store_explicit(&mam_init_state, MAM_INIT_OFF, memory_order_release);
}

void mam_init_stand_aside(void)
{
	pthread_once(&awakening, stand_aside);
}

bool mam_init_is_alone(void)
{
	return atomic_load(&alone);
}

bool mam_init_is_off_slow(void)
{
	int now = atomic_load_explicit(&mam_init_state, memory_order_acquire);

	if (now == MAM_INIT_ASLEEP) {
		int old = begin_whole();

		pthread_once(&awakening, wake);
		now = atomic_load_explicit(&mam_init_state, memory_order_acquire);
		if (now == MAM_INIT_ON && !atomic_exchange(&checked, true))
			mam_preloads_check();
		end_whole(old);
	}
	return now == MAM_INIT_OFF;
}

bool mam_init_is_awake(void)
{
	return atomic_load_explicit(&mam_init_state, memory_order_relaxed) != MAM_INIT_ASLEEP;
}

bool mam_init_is_at_home(void)
{
	int process = atomic_load_explicit(&home, memory_order_relaxed);

	return process != 0 && process == (int)getpid(); /* no system call if CUDA was never used */
}

void mam_init_note_pool(void)
{
	int old;

	if (atomic_exchange_explicit(&has_pools, true, memory_order_relaxed))
		return;
	old = begin_whole();
	for (const struct mam_init_part *part = mam_init_parts; part->restart != NULL; part++)
		if (part->first_pool != NULL)
			part->first_pool();
	end_whole(old);
}

bool mam_init_wants_stats(void)
{
	return atomic_load_explicit(&wants_stats, memory_order_relaxed);
}

enum mam_init_policy mam_init_policy(void)
{
	return (enum mam_init_policy)atomic_load_explicit(&policy, memory_order_relaxed);
}

bool mam_init_serves_captures(void)
{
	return atomic_load_explicit(&captures, memory_order_relaxed);
}
