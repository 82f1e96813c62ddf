/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - events that the layers report to listeners. The layers do not depend on the listeners.
 *
 * Emitting an event costs one relaxed load if there is no listener. Otherwise the emitting thread
 * calls the listeners one after another under one lock. That thread may hold any of mam's locks, so
 * mam_log() is the only function of mam that a listener may call.
 *
 * The recorder is a listener that is called before the others, without the lock: it may load
 * libraries, whose constructors may allocate.
 */
#ifndef MAM_BASE_EVENT_H
#define MAM_BASE_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum mam_event_kind {
	MAM_EVENT_POOL_CREATE,
	MAM_EVENT_POOL_DESTROY, /* destroyed or abandoned */
	MAM_EVENT_GROW,         /* address, bytes: the chunk */
	MAM_EVENT_SHRINK,
	MAM_EVENT_ALLOC, /* address, bytes: the block and the requested size */
	MAM_EVENT_FREE,
	MAM_EVENT_FAIL /* bytes: the size of the failed request */
};

struct mam_event {
	enum mam_event_kind kind;
	const void *pool;    /* a struct mam_pool, only to distinguish pools */
	const void *address; /* NULL if the event has none */
	size_t bytes;        /* 0 if the event has none */
	const void *stream;  /* of a stream-ordered call, or NULL */
};

#define MAM_EVENT_LISTENERS 8

/* False: there are MAM_EVENT_LISTENERS listeners already. */
bool mam_event_subscribe(void (*listener)(const struct mam_event *event, void *user), void *user);

/*
 * Afterwards the listener is not called again, and no call of it is in progress. False: it was not
 * subscribed.
 */
bool mam_event_unsubscribe(void (*listener)(const struct mam_event *event, void *user), void *user);

/*
 * mam_event_record - set the recorder, or remove it (NULL). Other threads may be in a call of the old
 * one for some time. May be called anywhere, also in the child of a fork.
 */
void mam_event_record(void (*recorder)(const struct mam_event *event));

/* Around a fork: take the lock, release it in the parent, reinitialize it in the child. */
void mam_event_fork_prepare(void);
void mam_event_fork_parent(void);
void mam_event_fork_child(void);

extern _Atomic unsigned int mam_event_listeners; /* count, the recorder included */

void mam_event_deliver(const struct mam_event *event);

static inline bool mam_event_is_wanted(void)
{
	return atomic_load_explicit(&mam_event_listeners, memory_order_relaxed) != 0;
}

static inline void mam_event_emit_on(enum mam_event_kind kind, const void *pool,
				     const void *address, size_t bytes, const void *stream)
{
	if (mam_event_is_wanted())
		mam_event_deliver(&(struct mam_event){ kind, pool, address, bytes, stream });
}

static inline void mam_event_emit(enum mam_event_kind kind, const void *pool, const void *address,
				  size_t bytes)
{
	mam_event_emit_on(kind, pool, address, bytes, NULL);
}

#endif
