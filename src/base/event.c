/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the list of listeners, and delivery of events (event.h).
 */
#include "base/event.h"

#include "base/lock.h"

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_LOG, "event listeners");

static unsigned int subscribed; /* lock: lock; count */

/* lock: lock; the first `subscribed` entries are in use, in order of subscription */
static struct {
	void (*listener)(const struct mam_event *event, void *user);
	void *user;
} listeners[MAM_EVENT_LISTENERS];

/* atomic */
_Atomic unsigned int mam_event_listeners;
static void (*_Atomic record)(const struct mam_event *event); /* atomic */

bool mam_event_subscribe(void (*listener)(const struct mam_event *event, void *user), void *user)
{
	bool has_room;

	mam_lock_take(&lock);
	has_room = subscribed < MAM_EVENT_LISTENERS;
	if (has_room) {
		listeners[subscribed].listener = listener;
		listeners[subscribed].user = user;
		subscribed++;
		atomic_fetch_add(&mam_event_listeners, 1);
	}
	mam_lock_release(&lock);
	return has_room;
}

bool mam_event_unsubscribe(void (*listener)(const struct mam_event *event, void *user), void *user)
{
	unsigned int at = 0;
	bool found;

	mam_lock_take(&lock);
	while (at < subscribed &&
	       (listeners[at].listener != listener || listeners[at].user != user))
		at++;
	found = at < subscribed;
	if (found) {
		subscribed--;
		for (; at < subscribed; at++)
			listeners[at] = listeners[at + 1];
		atomic_fetch_sub(&mam_event_listeners, 1);
	}
	mam_lock_release(&lock);
	return found;
}

void mam_event_record(void (*recorder)(const struct mam_event *event))
{
	void (*old)(const struct mam_event *event) = atomic_exchange(&record, recorder);

	if (!old && recorder)
		atomic_fetch_add(&mam_event_listeners, 1);
	else if (old && !recorder)
		atomic_fetch_sub(&mam_event_listeners, 1);
}

void mam_event_deliver(const struct mam_event *event)
{
	void (*recorder)(const struct mam_event *event) = atomic_load(&record);

	if (recorder)
		recorder(event);
	if (atomic_load(&mam_event_listeners) == (recorder != NULL))
		return;
	mam_lock_take(&lock);
	for (unsigned int i = 0; i < subscribed; i++)
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
