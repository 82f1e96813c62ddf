/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - set-up at the first pool, and what happens around a fork.
 *
 * A fork copies one thread and every lock, as it stands. So that no lock is copied while another
 * thread holds it:
 *  1. before the fork, the forking thread takes all of mam's locks, in their order (base/lock.h);
 *     then the stop above, if there is one, its own;
 *  2. afterwards the parent releases them;
 *  3. the child makes them new, and ends every pool whose source does not survive a fork.
 * A program without a pool pays nothing: the handlers are registered with the first one.
 */
#include "api/init.h"

#include <pthread.h>
#include <stdatomic.h>

#include <mam/mam.h>

#include "api/named.h"
#include "api/oom.h"
#include "api/paper.h"
#include "api/registry.h"
#include "base/event.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(const struct mam_above *) above;
static const struct mam_above *prepared; /* lock: all, around a fork */

static void set_up(void)
{
	/*
	 * Fails only without memory, and then a fork in a program of many threads is as risky as it
	 * always was.
	 */
	(void)pthread_atfork(mam_fork_prepare, mam_fork_parent, mam_fork_child);
}

void mam_init(void)
{
	pthread_once(&once, set_up);
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
}

void mam_fork_parent(void)
{
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
	if (prepared)
		prepared->child();
	mam_event_fork_child();
	mam_oom_fork_child();
	mam_registry_fork_child();
	mam_named_fork_child();
	mam_paper_fork_child();
}
