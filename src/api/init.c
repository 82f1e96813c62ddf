/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - initialization at the first pool, and fork handlers.
 *
 * A fork copies one thread and the current state of every lock. To copy no lock that another thread
 * holds:
 *  1. before the fork, the forking thread takes all of mam's locks, in their order (base/lock.h);
 *     then the layer above, if there is one, takes its own. The counters on the statistics page,
 *     which the child would share, are copied last;
 *  2. afterwards the parent releases them;
 *  3. the child reinitializes them, and ends every pool whose source does not survive a fork.
 * A program without a pool pays nothing: the handlers are registered with the first pool. That is
 * also an order: handlers before a fork run in reverse, and those of a driver that was loaded earlier
 * may take a lock that a thread waits for while it holds a lock of a pool.
 */
#include "api/init.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <mam/mam.h>
#include <mam/statpage.h>

#include "api/named.h"
#include "api/oom.h"
#include "api/paper.h"
#include "api/recorder.h"
#include "api/registry.h"
#include "base/event.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(const struct mam_above *) above;
static const struct mam_above *prepared; /* lock: all, around a fork */

static void set_up(void)
{
	/*
	 * Fails only if there is no memory. Then a fork in a program with many threads is as
	 * dangerous as it is without handlers.
	 */
	(void)pthread_atfork(mam_fork_prepare, mam_fork_parent, mam_fork_child);
}

void mam_init(void)
{
	bool is_inherited = mam_statpage_is_inherited();

	pthread_once(&once, set_up);
	mam_recorder_join();
	/* Threads of a child may already use pools of its parent: stop them, as for a fork. */
	if (is_inherited)
		mam_registry_fork_prepare();
	mam_statpage_open();
	if (is_inherited)
		mam_registry_fork_parent();
}

void mam_init_above(const struct mam_above *stop)
{
	mam_init();
	atomic_store(&above, stop);
}

void mam_fork_prepare(void)
{
	mam_paper_fork_prepare();
	mam_named_fork_prepare();
	mam_registry_fork_prepare();
	mam_oom_fork_prepare();
	mam_event_fork_prepare();
	prepared = atomic_load(&above);
	if (prepared)
		prepared->prepare();
	mam_statpage_fork_prepare();
}

void mam_fork_parent(void)
{
	mam_statpage_fork_parent();
	if (prepared)
		prepared->parent();
	mam_event_fork_parent();
	mam_oom_fork_parent();
	mam_registry_fork_parent();
	mam_named_fork_parent();
	mam_paper_fork_parent();
}

void mam_fork_child(void)
{
	mam_statpage_fork_child();
	if (prepared)
		prepared->child();
	mam_event_fork_child();
	mam_oom_fork_child();
	mam_registry_fork_child();
	mam_named_fork_child();
	mam_paper_fork_child();
}
