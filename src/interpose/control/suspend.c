/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspend.c - see suspend.h.
 *
 * A thread in a call may wait for a lock of libcudart that a held thread has. So if calls do not end,
 * the gate opens for a moment: the held thread continues to where it is held next.
 */
#include "interpose/control/suspend.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <mam/mam.h>
#include <mam/options.h>
#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>

#include "interpose/control/refuse.h"
#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/kept.h"
#include "interpose/memory/pools.h"
#include "interpose/process/thread.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"

#define STACK_BYTES ((size_t)256 << 10) /* the driver's functions run on it */
#define LOOK_NS 200000                  /* between two looks whether calls have ended */
#define LOOKS 10000                     /* then the gate opens for a moment */
#define OPEN_NS 20000000
#define WAIT_NS 100000000

enum stage { IDLE, CALLS, CAPTURE, WORK, MOVES, ENDED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* lock: lock */
static enum stage stage;
static bool cancelled;    /* the request */
static bool runs;         /* the thread; also after a cancel, until it notices */
static bool is_suspended; /* or in part */
static enum mam_suspend_what what;
static char folder[PATH_MAX];
static struct mam_suspend_state state;

static const char *const waits[] = {
	[CALLS] = "for calls of CUDA that are in progress",
	[CAPTURE] = "for the end of a stream capture",
	[WORK] = "for the work on the GPU",
	[MOVES] = "until the memory is copied",
};

static void pause_for(long ns)
{
	const struct timespec time = { 0, ns };

	nanosleep(&time, NULL);
}

/* Enters the next stage. Returns false if the request was cancelled. */
static bool advance(enum stage next)
{
	bool goes_on;

	pthread_mutex_lock(&lock);
	goes_on = !cancelled;
	if (goes_on)
		stage = next;
	pthread_mutex_unlock(&lock);
	return goes_on;
}

static bool is_cancelled(void)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = cancelled;
	pthread_mutex_unlock(&lock);
	return is;
}

/* Under the lock, so that a cancel's opening is not followed by this. */
static bool close_gate(void)
{
	bool closes;

	pthread_mutex_lock(&lock);
	closes = !cancelled;
	if (closes)
		mam_gate_close();
	pthread_mutex_unlock(&lock);
	return closes;
}

static bool wait_for_calls(void)
{
	while (close_gate()) {
		for (int looks = 0; looks < LOOKS && !is_cancelled(); looks++) {
			if (mam_gate_is_idle())
				return true;
			pause_for(LOOK_NS);
		}
		mam_gate_open();
		pause_for(OPEN_NS);
	}
	return false;
}

/* Closes the gate while no thread is inside, and no stream in capture. False: cancelled. */
static bool hold_all(void)
{
	while (advance(CALLS) && wait_for_calls()) {
		if (!mam_capture_alive())
			return true;
		mam_gate_open();
		while (advance(CAPTURE) && mam_capture_alive())
			pause_for(LOOK_NS);
	}
	return false;
}

static int synchronize(const struct mam_real_driver *driver, void *context)
{
	int code = driver->ctx_push(context);
	void *popped;

	if (code != MAM_CUDA_SUCCESS)
		return code;
	code = driver->ctx_synchronize();
	driver->ctx_pop(&popped);
	return code;
}

/* A primary context without a pool may use the memory of another context of the device. */
static int synchronize_primary(const struct mam_real_driver *driver, int device)
{
	unsigned int flags;
	int active = 0, code = driver->primary_state(device, &flags, &active);
	void *context;

	if (code != MAM_CUDA_SUCCESS || !active)
		return code;
	code = driver->primary_retain(&context, device);
	if (code != MAM_CUDA_SUCCESS)
		return code;
	code = synchronize(driver, context);
	driver->primary_release(device);
	return code;
}

static bool wait_for_work(void)
{
	const struct mam_real_driver *driver = mam_real_driver();
	struct mam_pools_entry *entry;
	int code = MAM_CUDA_SUCCESS;

	for (unsigned int at = 0;
	     code == MAM_CUDA_SUCCESS && (entry = mam_pools_next(&at)) != NULL;) {
		code = synchronize(driver, entry->owner);
		if (code == MAM_CUDA_SUCCESS && !entry->primary)
			code = synchronize_primary(driver, entry->device);
	}
	return code == MAM_CUDA_SUCCESS;
}

static const char *text_of(enum mam_status status)
{
	switch (status) {
	case MAM_OK: return NULL;
	case MAM_ERROR_OUT_OF_MEMORY:
		return "the device has too little free memory; nothing is lost, try again later";
	case MAM_ERROR_OUT_OF_HOST_MEMORY: return "the host has too little memory for the contents";
	case MAM_ERROR_IO:
		return "the file with the contents cannot be written or read: see the program's "
		       "messages";
	default: return "the driver refused a call: see the program's messages";
	}
}

/* Turns of mam share use the pinned host memory again; otherwise nothing could free it. */
static const char *resume_pools(void)
{
	bool keeps = *mam_option_value("MAM_SHARE") != '\0';
	enum mam_status status = MAM_OK, first = MAM_OK;
	struct mam_pools_entry *entry;

	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL;) {
		status = mam_pool_resume(entry->pool);
		if (status == MAM_OK && !keeps)
			(void)mam_pool_unpin(entry->pool, NULL);
		if (first == MAM_OK && status != MAM_ERROR_DESTROYED)
			first = status;
	}
	return text_of(first);
}

static uint64_t suspended_bytes(void)
{
	struct mam_pools_entry *entry;
	uint64_t sum = 0;

	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL;) {
		struct mam_stats stats = { .size = sizeof(stats) };

		if (mam_pool_stats(entry->pool, &stats) == MAM_OK)
			sum += stats.suspended_bytes;
	}
	return sum;
}

/* Memory of this process that is not in pools. */
static uint64_t left_bytes(void)
{
	struct mam_account_sums sums;

	mam_account_sum(-1, &sums);
	return sums.now[MAM_ACCOUNT_DIRECT] + sums.now[MAM_ACCOUNT_ASYNC] +
	       sums.now[MAM_ACCOUNT_MANAGED] + sums.now[MAM_ACCOUNT_PHYSICAL] +
	       sums.now[MAM_ACCOUNT_GRAPH];
}

static const char *suspend_pools(uint64_t *released)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;
	enum mam_status status = MAM_OK;
	struct mam_pools_entry *entry;

	attr.folder = what == MAM_SUSPEND_FILE ? folder : NULL;
	attr.discard = what == MAM_SUSPEND_DISCARD;
	*released = mam_pools_make_room(-1, true);
	for (unsigned int at = 0; status == MAM_OK && (entry = mam_pools_next(&at)) != NULL;) {
		mam_kept_trim(entry->device, false);
		status = mam_pool_suspend(entry->pool, &attr);
	}
	*released += suspended_bytes();
	return text_of(status);
}

/* Returns the fault, or NULL. *suspends: whether threads stay held. */
static const char *suspend(struct mam_suspend_state *done, bool *suspends)
{
	const char *fault;

	*suspends = false;
	fault = mam_refuse_why(); /* before any thread is held */
	if (fault != NULL || !hold_all())
		return fault;
	fault = mam_refuse_why(); /* another thread may have shared a block */
	if (fault == NULL) {
		if (!advance(WORK))
			return NULL;
		if (!wait_for_work())
			fault = "work on the GPU has failed";
		if (!advance(MOVES))
			return NULL;
	}
	if (fault == NULL)
		fault = suspend_pools(&done->released);
	if (fault != NULL && resume_pools() != NULL) {
		*suspends = true;
		return "a part of the memory was released before an error, and cannot be mapped "
		       "again now: resume the program later";
	}
	*suspends = fault == NULL;
	if (!*suspends)
		mam_gate_open();
	done->left = left_bytes();
	return fault;
}

static void *run(void *unused)
{
	struct mam_suspend_state done = { .released = 0 };
	bool resumes = what == MAM_SUSPEND_RESUME, suspends = false;

	mam_init_depth++;
	if (resumes) {
		done.fault = resume_pools();
		suspends = done.fault != NULL;
		if (!suspends)
			mam_gate_open();
	} else {
		done.fault = suspend(&done, &suspends);
	}
	pthread_mutex_lock(&lock);
	runs = false;
	if (!cancelled) {
		is_suspended = suspends;
		state = done;
		stage = ENDED;
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static const char *refuse_locked(enum mam_suspend_what wanted)
{
	if (runs)
		return stage == IDLE ? "the last request still waits for the work on the GPU"
				     : "another request is in progress";
	if (wanted == MAM_SUSPEND_RESUME)
		return is_suspended ? NULL : "the program is not suspended";
	if (!mam_gate_exists())
		return "the program was started without --source=vmm";
	return is_suspended ? "the program is already suspended" : NULL;
}

const char *mam_suspend_begin(enum mam_suspend_what wanted, const char *place)
{
	const char *fault;

	pthread_mutex_lock(&lock);
	fault = refuse_locked(wanted);
	if (fault == NULL) {
		what = wanted;
		strcpy(folder, place == NULL ? "" : place);
		state = (struct mam_suspend_state){ .released = 0 };
		stage = wanted == MAM_SUSPEND_RESUME ? MOVES : CALLS;
		cancelled = false;
		runs = mam_thread_start(STACK_BYTES, run);
		if (!runs) {
			fault = "the program cannot start a thread";
			stage = IDLE;
		}
	}
	pthread_mutex_unlock(&lock);
	return fault;
}

bool mam_suspend_wait(struct mam_suspend_state *now)
{
	struct timespec until;
	bool ended;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&lock);
	if (stage != ENDED)
		pthread_cond_timedwait(&changed, &lock, &until);
	ended = stage == ENDED;
	*now = state;
	now->waits = ended ? NULL : waits[stage];
	if (ended)
		stage = IDLE;
	pthread_mutex_unlock(&lock);
	return ended;
}

bool mam_suspend_cancel(void)
{
	bool possible;

	pthread_mutex_lock(&lock);
	possible = stage == CALLS || stage == CAPTURE || stage == WORK;
	if (possible) {
		cancelled = true;
		stage = IDLE;
		mam_gate_open();
	}
	pthread_mutex_unlock(&lock);
	return possible;
}

void mam_suspend_from_start(void)
{
	pthread_mutex_lock(&lock);
	is_suspended = true;
	mam_gate_close();
	pthread_mutex_unlock(&lock);
}

void mam_suspend_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	stage = IDLE;
	cancelled = runs = is_suspended = false;
}
