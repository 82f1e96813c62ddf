/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the list of listeners, and delivery of events (event.h).
 */
#include "base/event.h"

#include "base/lock.h"

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_LOG, "event listeners");

/* lock: lock; the first mam_event_listeners entries are in use, in order of subscription */
static struct {
	void (*listener)(const struct mam_event *event, void *user);
	void *user;
} listeners[MAM_EVENT_LISTENERS];

/* Changed under the lock, read without it by mam_event_emit(). atomic */
_Atomic unsigned int mam_event_listeners;

bool mam_event_subscribe(void (*listener)(const struct mam_event *event, void *user), void *user)
{
	unsigned int count;

	mam_lock_take(&lock);
	count = mam_event_listeners;
	if (count < MAM_EVENT_LISTENERS) {
		listeners[count].listener = listener;
		listeners[count].user = user;
		mam_event_listeners = count + 1;
	}
	mam_lock_release(&lock);
	return count < MAM_EVENT_LISTENERS;
}

bool mam_event_unsubscribe(void (*listener)(const struct mam_event *event, void *user), void *user)
{
	unsigned int at = 0, count;
	bool found;

	mam_lock_take(&lock);
	count = mam_event_listeners;
	while (at < count && (listeners[at].listener != listener || listeners[at].user != user))
		at++;
	found = at < count;
	if (found) {
		for (; at + 1 < count; at++)
			listeners[at] = listeners[at + 1];
		mam_event_listeners = count - 1;
	}
	mam_lock_release(&lock);
	return found;
}

void mam_event_deliver(const struct mam_event *event)
{
	mam_lock_take(&lock);
	for (unsigned int i = 0; i < mam_event_listeners; i++)
		listeners[i].listener(event, listeners[i].user);
	mam_lock_release(&lock);
}

void mam_event_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_event_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

void mam_event_fork_child(void)
{
	mam_lock_reinit(&lock);
}
