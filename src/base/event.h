/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - what layers report, for whoever listens. They know nothing of the listeners.
 *
 * Emitting costs one relaxed load while nobody listens. Otherwise the listeners are called one
 * after another under one lock, in the emitting thread, which may hold any of mam's locks: a
 * listener calls nothing of mam but mam_log().
 */
#ifndef MAM_BASE_EVENT_H
#define MAM_BASE_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum mam_event_kind {
	MAM_EVENT_POOL_CREATE,
	MAM_EVENT_POOL_DESTROY, /* or abandoned */
	MAM_EVENT_GROW,         /* address, bytes: the chunk */
	MAM_EVENT_SHRINK,
	MAM_EVENT_ALLOC,        /* address, bytes: the block and what was asked */
	MAM_EVENT_FREE,
	MAM_EVENT_FAIL          /* bytes: what was asked and not given */
};

struct mam_event {
	enum mam_event_kind kind;
	const void *pool;    /* a struct mam_pool, only for telling pools apart */
	const void *address; /* NULL where there is none */
	size_t bytes;        /* 0 where there are none */
};

#define MAM_EVENT_LISTENERS 8

/* False: MAM_EVENT_LISTENERS listen already. */
bool mam_event_subscribe(void (*listener)(const struct mam_event *event, void *user), void *user);

/*
 * Afterwards the listener is not called again, and no call of it is under way. False: it did not
 * listen.
 */
bool mam_event_unsubscribe(void (*listener)(const struct mam_event *event, void *user), void *user);

/* Around a fork: take the lock, release it, make it new. */
void mam_event_fork_prepare(void);
void mam_event_fork_parent(void);
void mam_event_fork_child(void);

extern _Atomic unsigned int mam_event_listeners; /* count */

void mam_event_deliver(const struct mam_event *event);

static inline void mam_event_emit(enum mam_event_kind kind, const void *pool, const void *address,
				  size_t bytes)
{
	if (atomic_load_explicit(&mam_event_listeners, memory_order_relaxed))
		mam_event_deliver(&(struct mam_event){ kind, pool, address, bytes });
}

#endif
