/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.c - see objects.h.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "interpose/process/objects.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define WAIT_MS 100
#define NAP_NS 20000

static atomic_int visitors;   /* atomic; count */
static atomic_bool is_forked; /* atomic; a thread is in fork() */

static void nap(void)
{
	static const struct timespec time = { 0, NAP_NS };

	nanosleep(&time, NULL);
}

static void begin_fork(void)
{
	atomic_store(&is_forked, true);
	for (int i = 0; i < WAIT_MS * 1000000 / NAP_NS && atomic_load(&visitors) != 0; i++)
		nap();
}

static void end_fork(void)
{
	atomic_store(&is_forked, false);
}

static void end_fork_child(void)
{
	atomic_store(&visitors, 0);
	end_fork();
}

/*
 * Before any other handler of mam's is registered, and before a thread can fork. It reads nothing of
 * the environment. The other constructors have no priority, so they run later.
 */
__attribute__((constructor(101))) static void watch_forks(void)
{
	pthread_atfork(begin_fork, end_fork, end_fork_child);
}

void mam_objects_enter(void)
{
	for (int i = 0;; i++) {
		atomic_fetch_add(&visitors, 1);
		if (__builtin_expect(!atomic_load(&is_forked), 1) ||
		    i == WAIT_MS * 1000000 / NAP_NS)
			return;
		atomic_fetch_sub(&visitors, 1);
		nap();
	}
}

void mam_objects_leave(void)
{
	atomic_fetch_sub(&visitors, 1);
}

int mam_objects_visit(int (*callback)(struct dl_phdr_info *object, size_t bytes, void *user),
		      void *user)
{
	int result;

	mam_objects_enter();
	result = dl_iterate_phdr(callback, user);
	mam_objects_leave();
	return result;
}
