/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug_join.c - implements plug_join.h: blocks that several streams use.
 *
 * A block is freed in the order of one stream. If several streams use it, they are joined in a
 * stream without other users (a `meeting`, one per device):
 * 1. recording a use adds a note with the block and the stream, and submits no work;
 * 2. a free removes the notes of its block. If there are any, an event is recorded in each of the
 *    streams, and the device's join stream waits for all events. The other streams do not wait, so
 *    none is slowed down;
 * 3. the block is freed in the order of the join stream, and released at once, since no block is
 *    ever allocated on that stream;
 * 4. while one of the streams is being captured, no event may be recorded in it. The free is
 *    deferred, and retried at later frees;
 * 5. if a stream no longer exists, or the driver returns an error: wait for the device and for the
 *    devices of the other streams, then free.
 *
 * Between a note and the free a stream may be destroyed, and its handle reused. So the note has the
 * stream's ID, which is checked again. It also has the stream's context, since the stream may be on
 * another device: its event must be created there, and its work must be waited for there if the
 * stream is gone. Neither can be queried during a capture without invalidating the capture. Then
 * the stream is unknown, and the free waits. Default streams are those of the block's device.
 *
 * Bound: a search of one bucket and two driver calls per stream. If no block has notes, one load.
 * Invariant: `notes` is the number of notes in all buckets; a deferred block is in no bucket.
 */
#include "api/plug_join.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <mam/stream.h>

#include "api/plug.h"
#include "base/lock.h"
#include "base/log.h"
#include "source/device.h"

#define BUCKETS 256u
#define DEVICES_MAX 64 /* devices with a join stream; on others a free waits */

#define EVENT_WITHOUT_TIME 2u
#define STREAM_OF_ITS_OWN 1u /* no implicit synchronization with the legacy stream */

/* A handle that means the calling thread's own stream. */
#define OWN_OF_A_THREAD ((struct CUstream_st *)2)
#define DEFAULTS_END ((uintptr_t)3)

struct note {
	struct note *next;
	void *block;
	struct CUstream_st *stream;
	bool is_known;                 /* it has an ID, or is a default stream */
	unsigned long long id;         /* unique in the process; 0: a default stream */
	struct CUctx_st *context;      /* of the stream; NULL: that of the block's device */
	unsigned long long context_id; /* as in struct mam_device */
};

struct parting {
	struct parting *next; /* the one deferred before it */
	void *block;
	int device;
	struct CUstream_st *stream; /* on which the block was allocated */
	struct note *others;
};

struct meeting {
	struct mam_device device;
	struct CUstream_st *stream; /* NULL: not created yet */
	struct CUevent_st *event;
};

enum outcome { MET, ASIDE, REFUSED };

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_SOURCE, "plug");
static struct note *buckets[BUCKETS];        /* lock: plug */
static struct parting *aside;                /* lock: plug; newest first */
static struct meeting meetings[DEVICES_MAX]; /* lock: plug */
static _Atomic size_t notes, partings;       /* atomic; changed under lock: plug */
static _Atomic bool note_was_lost;           /* atomic: if set, all frees wait */

static struct note **bucket_of(const void *block)
{
	return &buckets[((uintptr_t)block >> 9) * 0x9e3779b1u % BUCKETS];
}

static bool has_calls(const struct mam_driver *driver)
{
	return driver->event_create && driver->event_record && driver->event_destroy &&
	       driver->stream_create && driver->stream_wait_event && driver->stream_is_capturing &&
	       driver->stream_get_ctx;
}

static bool is_default(const struct CUstream_st *stream)
{
	return (uintptr_t)stream < DEFAULTS_END;
}

/* Get the ID of the handle's current stream. pre: it is not being captured, or a default stream. */
static bool ask_id(const struct mam_driver *driver, struct CUstream_st *stream,
		   unsigned long long *id)
{
	*id = 0;
	return is_default(stream) ||
	       (driver->stream_get_id && driver->stream_get_id(stream, id) == MAM_DRIVER_SUCCESS);
}

static struct note describe(const struct mam_driver *driver, void *block,
			    struct CUstream_st *stream)
{
	struct note note = { .block = block, .stream = stream, .is_known = is_default(stream) };
	unsigned int status = 0;

	if (note.is_known || !has_calls(driver) ||
	    driver->stream_is_capturing(stream, &status) != MAM_DRIVER_SUCCESS || status != 0)
		return note;
	note.is_known = ask_id(driver, stream, &note.id);
	if (driver->stream_get_ctx(stream, &note.context) != MAM_DRIVER_SUCCESS)
		note.context = NULL;
	else if (driver->ctx_get_id &&
		 driver->ctx_get_id(note.context, &note.context_id) != MAM_DRIVER_SUCCESS)
		note.context_id = 0;
	return note;
}

void mam_plug_join_record(void *block, struct CUstream_st *stream)
{
	struct note *note, *same;
	const struct mam_driver *driver;

	/* In a forked child no GPU work runs, and the lock may be held forever. */
	if (mam_driver_get(&driver) != MAM_OK)
		return;
	note = malloc(sizeof(*note));
	if (!note) {
		atomic_store(&note_was_lost, true);
		mam_log(MAM_LOG_ERROR, "mam_torch_record_stream: no host memory to record a "
				       "stream; from now on each free waits for the device");
		return;
	}
	*note = describe(driver, block, stream);
	mam_lock_take(&lock);
	same = *bucket_of(block);
	while (same && (same->block != block || same->stream != stream || same->id != note->id))
		same = same->next;
	if (!same) {
		note->next = *bucket_of(block);
		*bucket_of(block) = note;
		atomic_fetch_add(&notes, 1);
	}
	mam_lock_release(&lock);
	if (same)
		free(note);
}

static struct note *take_notes_locked(const void *block)
{
	struct note **place = bucket_of(block);
	struct note *taken = NULL;

	while (*place) {
		struct note *note = *place;

		if (note->block != block) {
			place = &note->next;
			continue;
		}
		*place = note->next;
		note->next = taken;
		taken = note;
		atomic_fetch_sub(&notes, 1);
	}
	return taken;
}

static void drop_notes(struct note *note)
{
	while (note) {
		struct note *next = note->next;

		free(note);
		note = next;
	}
}

/* The join stream of a device; NULL: it has none. */
static struct meeting *meeting_locked(int device)
{
	struct meeting *meeting = device >= 0 && device < DEVICES_MAX ? &meetings[device] : NULL;
	struct mam_device_visit visit;
	bool is_made;

	if (!meeting || meeting->stream)
		return meeting;
	if (!meeting->device.driver && mam_device_bind(&meeting->device, device) != MAM_OK)
		return NULL;
	if (!has_calls(meeting->device.driver) ||
	    mam_device_enter(&meeting->device, &visit).result != MAM_DRIVER_SUCCESS)
		return NULL;
	is_made = (meeting->event ||
		   meeting->device.driver->event_create(&meeting->event, EVENT_WITHOUT_TIME) ==
			   MAM_DRIVER_SUCCESS) &&
		  meeting->device.driver->stream_create(&meeting->stream, STREAM_OF_ITS_OWN) ==
			  MAM_DRIVER_SUCCESS;
	mam_device_leave(&meeting->device, &visit);
	return is_made ? meeting : NULL;
}

static enum outcome look(const struct mam_driver *driver, struct CUstream_st *stream)
{
	unsigned int status = 0, result;

	if (stream == OWN_OF_A_THREAD)
		return REFUSED; /* the thread is unknown */
	result = driver->stream_is_capturing(stream, &status);
	if (result == MAM_DRIVER_CAPTURE_IMPLICIT || (result == MAM_DRIVER_SUCCESS && status != 0))
		return ASIDE;
	return result == MAM_DRIVER_SUCCESS ? MET : REFUSED;
}

/* A stream ends with its context: no call may use it after that. */
static enum outcome look_noted(const struct mam_driver *driver, const struct note *note)
{
	enum outcome outcome = REFUSED;
	unsigned long long id;

	if (!note->context ||
	    mam_context_check(driver, note->context, note->context_id) == MAM_DRIVER_SUCCESS)
		outcome = look(driver, note->stream);
	if (outcome == MET &&
	    (!note->is_known || !ask_id(driver, note->stream, &id) || id != note->id))
		return REFUSED;
	return outcome;
}

static enum outcome bring(const struct meeting *meeting, struct CUevent_st *event,
			  struct CUstream_st *stream)
{
	const struct mam_driver *driver = meeting->device.driver;

	if (driver->event_record(event, stream) != MAM_DRIVER_SUCCESS ||
	    driver->stream_wait_event(meeting->stream, event, 0) != MAM_DRIVER_SUCCESS)
		return REFUSED;
	return MET;
}

static bool is_foreign(const struct note *note, const struct mam_device *device)
{
	return note->context && note->context != device->context;
}

/* Another context, to be entered like one of our devices. */
static struct mam_device abroad(const struct mam_driver *driver, const struct note *note)
{
	return (struct mam_device){
		.driver = driver, .context = note->context, .id = note->context_id, .ordinal = -1
	};
}

/* An event can only be recorded in streams of its own context; any stream may wait for it. */
static enum outcome bring_noted(const struct meeting *meeting, const struct note *note)
{
	const struct mam_driver *driver = meeting->device.driver;
	const struct mam_device other = abroad(driver, note);
	struct mam_device_visit visit;
	struct CUevent_st *event;
	enum outcome outcome = REFUSED;

	if (!is_foreign(note, &meeting->device))
		return bring(meeting, meeting->event, note->stream);
	if (mam_device_enter(&other, &visit).result != MAM_DRIVER_SUCCESS)
		return REFUSED;
	if (driver->event_create(&event, EVENT_WITHOUT_TIME) == MAM_DRIVER_SUCCESS) {
		outcome = bring(meeting, event, note->stream);
		driver->event_destroy(event); /* the driver keeps it until the wait is over */
	}
	mam_device_leave(&other, &visit);
	return outcome;
}

/* Step 2, 4 or 5. One event serves all streams: a wait uses the latest record before it. */
static enum outcome meet_locked(const struct parting *parting, struct CUstream_st **stream)
{
	const struct meeting *meeting = meeting_locked(parting->device);
	struct mam_device_visit visit;
	enum outcome outcome;

	if (!meeting || mam_device_enter(&meeting->device, &visit).result != MAM_DRIVER_SUCCESS)
		return REFUSED;
	outcome = look(meeting->device.driver, parting->stream);
	for (const struct note *note = parting->others; note && outcome == MET; note = note->next)
		outcome = look_noted(meeting->device.driver, note);
	if (outcome == MET)
		outcome = bring(meeting, meeting->event, parting->stream);
	for (const struct note *note = parting->others; note && outcome == MET; note = note->next)
		outcome = bring_noted(meeting, note);
	mam_device_leave(&meeting->device, &visit);
	*stream = meeting->stream;
	return outcome;
}

/* Step 5. */
static void free_waiting(const struct parting *parting)
{
	const struct mam_driver *driver;

	for (const struct note *note = parting->others; note; note = note->next) {
		if (note->context && mam_driver_get(&driver) == MAM_OK) {
			const struct mam_device other = abroad(driver, note);

			mam_device_quiesce(&other, NULL);
		}
	}
	mam_plug_free_waiting("mam_torch_free", parting->block, parting->device);
}

/* False: the free is deferred. */
static bool part(struct parting *parting)
{
	struct CUstream_st *stream = NULL;
	enum outcome outcome;
	struct mam_pool *pool;

	mam_lock_take(&lock);
	outcome = meet_locked(parting, &stream);
	if (outcome == ASIDE) {
		parting->next = aside;
		aside = parting;
		atomic_fetch_add(&partings, 1);
	}
	mam_lock_release(&lock);
	if (outcome == ASIDE)
		return false;
	if (outcome == REFUSED) {
		free_waiting(parting);
	} else if (mam_plug_pool_of(parting->block, parting->device, &pool) == MAM_OK &&
		   mam_plug_free("mam_torch_free", parting->block, parting->device, stream) ==
			   MAM_OK) {
		mam_stream_release(pool, stream);
	}
	drop_notes(parting->others);
	free(parting);
	return true;
}

/* Step 4, later: retry the deferred frees, until one has to be deferred again. */
static void retry(void)
{
	struct parting *parting;

	do {
		mam_lock_take(&lock);
		parting = aside;
		if (parting) {
			aside = parting->next;
			atomic_fetch_sub(&partings, 1);
		}
		mam_lock_release(&lock);
	} while (parting && part(parting));
}

/* While the process exits, the driver returns DEINITIALIZED from every call: all memory is gone. */
static bool is_over(const struct mam_driver *driver)
{
	struct CUctx_st *current;

	return driver->ctx_get_current(&current) == MAM_DRIVER_DEINITIALIZED;
}

bool mam_plug_join_free(void *block, int device, struct CUstream_st *stream)
{
	const struct mam_driver *driver;
	struct parting *parting;
	struct note *others = NULL;

	if (atomic_load_explicit(&note_was_lost, memory_order_relaxed)) {
		mam_plug_free_waiting("mam_torch_free", block, device);
		return true;
	}
	if (atomic_load_explicit(&notes, memory_order_relaxed) == 0 &&
	    atomic_load_explicit(&partings, memory_order_relaxed) == 0)
		return false;
	if (mam_driver_get(&driver) != MAM_OK)
		return false; /* a forked child */
	if (atomic_load(&partings) != 0)
		retry();
	mam_lock_take(&lock);
	others = take_notes_locked(block);
	mam_lock_release(&lock);
	if (!others)
		return false;
	if (is_over(driver)) {
		drop_notes(others);
		return true;
	}
	parting = malloc(sizeof(*parting));
	if (!parting) {
		const struct parting here = { NULL, block, device, stream, others };

		free_waiting(&here);
		drop_notes(others);
		return true;
	}
	*parting = (struct parting){ NULL, block, device, stream, others };
	part(parting);
	return true;
}
