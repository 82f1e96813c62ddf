/* SPDX-License-Identifier: Apache-2.0 */
/* pinned.c - implements pinned.h. */
#include "suspend/pinned.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/option.h"
#include "base/pages.h"
#include "source/hostmem.h"

#define PORTABLE 1u /* CU_MEMHOSTREGISTER_: pinned for every context */
#define PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)
#define UNIT_MAX ((size_t)256 << 20)
#define UNITS 64 /* at least, unless they would be smaller than a huge page */

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

static _Atomic size_t all_bytes; /* atomic; `used` of all ranges */

/*
 * Without the call the pages are written. Other errors have no effect here: the driver then fails to
 * register the unit, while a write without memory would end the process.
 */
static void touch(char *at, size_t bytes)
{
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0 || errno != EINVAL)
		return;
	for (size_t i = 0; i < bytes; i += PAGE)
		*(volatile char *)(at + i) = 0;
}

static size_t units_in(const struct mam_pinned *pinned, size_t bytes)
{
	return (bytes + pinned->unit - 1) / pinned->unit;
}

/* Units that may be touched. */
static size_t units_of(const struct mam_pinned *pinned)
{
	return units_in(pinned, pinned->used);
}

/* The last unit may be shorter. */
static size_t unit_at(const struct mam_pinned *pinned, size_t offset)
{
	size_t rest = pinned->bytes - offset;

	return rest < pinned->unit ? rest : pinned->unit;
}

/* Returns whether there was a unit left. */
static bool touch_next(struct mam_pinned *pinned)
{
	size_t unit = atomic_fetch_add_explicit(&pinned->begun, 1, memory_order_relaxed);

	if (unit >= units_of(pinned))
		return false;
	touch(pinned->memory + unit * pinned->unit, unit_at(pinned, unit * pinned->unit));
	pthread_mutex_lock(&pinned->lock);
	atomic_store_explicit(&pinned->touched[unit], true, memory_order_relaxed);
	pthread_cond_broadcast(&pinned->moved);
	pthread_mutex_unlock(&pinned->lock);
	return true;
}

static void *run(void *argument)
{
	while (touch_next(argument))
		;
	return NULL;
}

static unsigned processors(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < MAM_PINNED_THREADS ? (unsigned)count : MAM_PINNED_THREADS;
}

/* The threads get no signals: the program's handlers do not expect them. */
static void start(struct mam_pinned *pinned)
{
	unsigned threads = processors();
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pinned->count < threads &&
	       pthread_create(&pinned->threads[pinned->count], NULL, run, pinned) == 0)
		pinned->count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Units that no thread has begun stay as they are. */
static void stop(struct mam_pinned *pinned)
{
	atomic_store_explicit(&pinned->begun, units_of(pinned), memory_order_relaxed);
	for (unsigned i = 0; i < pinned->count; i++)
		pthread_join(pinned->threads[i], NULL);
	pinned->count = 0;
}

bool mam_pinned_is_possible(const struct mam_driver *driver)
{
	return driver->mem_host_register != NULL && driver->mem_host_unregister != NULL;
}

/* So many units that the last one, all of which is touched, adds little. */
static size_t unit_for(size_t bytes)
{
	size_t unit = mam_round_up(bytes / UNITS + 1, HUGE_PAGE);

	return unit < UNIT_MAX ? unit : UNIT_MAX;
}

/* Whether the host and the user's limit have room for that many bytes more, which then count. */
static bool reserve(size_t bytes)
{
	size_t limit = mam_option_bytes(MAM_OPTION_HOST_MEMORY), all = atomic_load(&all_bytes);
	struct mam_hostmem host;

	if (mam_hostmem_read("", &host) && bytes > mam_hostmem_room(&host))
		return false;
	do
		if (limit != 0 && (all > limit || bytes > limit - all))
			return false;
	while (!atomic_compare_exchange_weak(&all_bytes, &all, all + bytes));
	return true;
}

enum mam_status mam_pinned_open(struct mam_pinned *pinned, size_t bytes, size_t unit)
{
	*pinned = (struct mam_pinned){ .lock = PTHREAD_MUTEX_INITIALIZER,
				       .moved = PTHREAD_COND_INITIALIZER,
				       .process = getpid(),
				       .unit = unit != 0 ? unit : unit_for(bytes) };
	pinned->used = mam_round_up(bytes, unit != 0 ? PAGE : pinned->unit);
	pinned->bytes = pinned->used;
	if (unit == 0)
		pinned->bytes += mam_round_up(bytes / 8, pinned->unit);
	if (!reserve(pinned->used))
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	pinned->touched = calloc(units_in(pinned, pinned->bytes), sizeof(*pinned->touched));
	if (pinned->touched != NULL)
		pinned->memory = mam_pages_map(pinned->bytes);
	if (pinned->memory == NULL) {
		free(pinned->touched);
		atomic_fetch_sub(&all_bytes, pinned->used);
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	}
	(void)madvise(pinned->memory, pinned->bytes, MADV_DONTFORK);
	(void)madvise(pinned->memory, pinned->bytes, MADV_DONTDUMP);
	start(pinned);
	return MAM_OK;
}

bool mam_pinned_extend(struct mam_pinned *pinned, size_t bytes)
{
	size_t touched = 0;

	bytes = mam_round_up(bytes, pinned->unit);
	if (bytes <= pinned->used)
		return true;
	if (bytes > pinned->bytes || !reserve(bytes - pinned->used))
		return false;
	stop(pinned);
	while (touched < units_of(pinned) &&
	       atomic_load_explicit(&pinned->touched[touched], memory_order_relaxed))
		touched++;
	pinned->used = bytes;
	atomic_store_explicit(&pinned->begun, touched, memory_order_relaxed);
	start(pinned);
	return true;
}

static void wait_for(struct mam_pinned *pinned, size_t unit)
{
	while (atomic_load_explicit(&pinned->begun, memory_order_relaxed) <= unit)
		(void)touch_next(pinned);
	pthread_mutex_lock(&pinned->lock);
	while (!atomic_load_explicit(&pinned->touched[unit], memory_order_relaxed))
		pthread_cond_wait(&pinned->moved, &pinned->lock);
	pthread_mutex_unlock(&pinned->lock);
}

unsigned int mam_pinned_reach(struct mam_pinned *pinned, const struct mam_driver *driver,
			      size_t offset, size_t *room)
{
	unsigned int result = MAM_DRIVER_SUCCESS;

	while (pinned->registered <= offset && result == MAM_DRIVER_SUCCESS) {
		size_t bytes = unit_at(pinned, pinned->registered);

		wait_for(pinned, pinned->registered / pinned->unit);
		if (pinned->registered + bytes >= pinned->used)
			stop(pinned);
		result = driver->mem_host_register(pinned->memory + pinned->registered, bytes,
						   PORTABLE);
		if (result == MAM_DRIVER_SUCCESS)
			pinned->registered += bytes;
	}
	*room = pinned->unit - offset % pinned->unit;
	return result;
}

void mam_pinned_drop(struct mam_pinned *pinned, bool is_gone)
{
	/* The child of a fork does not have it, and may have something else there. */
	bool is_here = pinned->process == getpid();

	if (pinned->memory == NULL)
		return;
	stop(pinned);
	if (is_here && (is_gone || pinned->registered == 0))
		mam_pages_unmap(pinned->memory, pinned->bytes);
	else if (is_here)
		mam_log(MAM_LOG_WARN,
			"cannot unpin %zu bytes of host memory: they stay pinned until the process "
			"ends",
			pinned->used);
	if (!is_here || is_gone || pinned->registered == 0)
		atomic_fetch_sub(&all_bytes, pinned->used);
	free(pinned->touched);
	*pinned = (struct mam_pinned){ .memory = NULL };
}

void mam_pinned_close(struct mam_pinned *pinned, const struct mam_driver *driver)
{
	bool all = true;

	for (size_t at = 0; at < pinned->registered; at += pinned->unit)
		all &= driver->mem_host_unregister(pinned->memory + at) == MAM_DRIVER_SUCCESS;
	mam_pinned_drop(pinned, all);
}
