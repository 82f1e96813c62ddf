/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - reads the environment when CUDA's name is first heard, and turns mam off in children
 * of a fork.
 */
#include "interpose/init.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include <mam/options.h>

#include "interpose/capture.h"
#include "interpose/count.h"
#include "interpose/leaks.h"
#include "interpose/marks.h"
#include "interpose/nvtx.h"
#include "interpose/pools.h"
#include "interpose/tracer.h"
#include "interpose/watch.h"

enum state { ASLEEP, ON, OFF };

__thread int mam_init_depth;

static atomic_int state;        /* atomic: an enum state */
static atomic_bool wants_stats; /* atomic */
static atomic_bool free_waits;  /* atomic */
static pthread_once_t awakening = PTHREAD_ONCE_INIT;

/*
 * The child of a process that never had a pool may start CUDA itself and is served like any
 * other.
 */
static void start_child(void)
{
	if (mam_pools_exist())
		atomic_store_explicit(&state, OFF, memory_order_relaxed);
	mam_watch_stop(~0u);
	mam_count_restart();
	mam_capture_restart();
	mam_marks_restart();
	mam_tracer_restart();
	mam_leaks_restart();
	mam_init_depth = 0;
}

static void wake(void)
{
	bool off = mam_option_number("MAM_DISABLE") != 0;

	atomic_store_explicit(&wants_stats, mam_option_number("MAM_STATS") != 0,
			      memory_order_relaxed);
	atomic_store_explicit(&free_waits, mam_option_number("MAM_FREE") != MAM_FREE_STREAM,
			      memory_order_relaxed);
	if (!off) {
		mam_tracer_start();
		mam_leaks_start();
		mam_nvtx_start();
	}
	if (!off)
		pthread_atfork(NULL, NULL, start_child);
	atomic_store_explicit(&state, off ? OFF : ON, memory_order_release);
}

bool mam_init_is_off(void)
{
	int now = atomic_load_explicit(&state, memory_order_acquire);

	if (now == ASLEEP) {
		pthread_once(&awakening, wake);
		now = atomic_load_explicit(&state, memory_order_acquire);
	}
	return now == OFF;
}

bool mam_init_is_awake(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) != ASLEEP;
}

bool mam_init_wants_stats(void)
{
	return atomic_load_explicit(&wants_stats, memory_order_relaxed);
}

bool mam_init_free_waits(void)
{
	return atomic_load_explicit(&free_waits, memory_order_relaxed);
}
