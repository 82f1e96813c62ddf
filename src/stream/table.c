/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - add streams to the table and remove them (table.h).
 *
 * The driver does not report when a stream is destroyed. A record whose lists are empty contains
 * nothing that cannot be determined again. So each time that their number has doubled, such records
 * are freed.
 */
#include "stream/table.h"

#define SWEEP_MIN 64

uint32_t mam_stream_next_locked(const struct mam_streams *streams, uint32_t after)
{
	uint32_t step = streams->records.base != NULL ? mam_stream_step(streams) : 1;
	uint32_t at = after + step;

	while (streams->records.base != NULL && at < streams->records.touched * step) {
		if (mam_stream_at(streams, at)->in_use)
			return at;
		at += step;
	}
	return 0;
}

static void unlink_locked(struct mam_streams *streams, uint32_t handle)
{
	uint32_t *link = &streams->bucket[mam_stream_bucket(&mam_stream_at(streams, handle)->key)];

	while (*link != 0 && *link != handle)
		link = &mam_stream_at(streams, *link)->next;
	if (*link == handle)
		*link = mam_stream_at(streams, handle)->next;
}

void mam_stream_orphan_locked(struct mam_streams *streams, uint32_t handle)
{
	unlink_locked(streams, handle);
	mam_stream_at(streams, handle)->orphan = true;
}

void mam_stream_forget_locked(struct mam_streams *streams, uint32_t handle)
{
	struct mam_stream *stream = mam_stream_at(streams, handle);

	if (!stream->orphan)
		unlink_locked(streams, handle);
	stream->in_use = false;
	mam_streamlist_end_locked(streams->pool, stream->open);
	mam_streamlist_end_locked(streams->pool, stream->loose);
	streams->count--;
	mam_records_put(&streams->records, handle);
}

static bool is_empty(const struct mam_streams *streams, const struct mam_stream *stream)
{
	return stream->batches == 0 && stream->pins == 0 &&
	       !mam_stream_has_open_locked(streams, stream);
}

static void sweep_locked(struct mam_streams *streams)
{
	for (uint32_t at = 0; (at = mam_stream_next_locked(streams, at)) != 0;)
		if (is_empty(streams, mam_stream_at(streams, at)))
			mam_stream_forget_locked(streams, at);
	streams->sweep_at = 2 * streams->count;
	if (streams->sweep_at < SWEEP_MIN)
		streams->sweep_at = SWEEP_MIN;
}

static enum mam_status reserve_locked(struct mam_streams *streams)
{
	if (streams->records.base == NULL) {
		enum mam_status status =
			mam_records_init(&streams->records, sizeof(struct mam_stream));

		if (status != MAM_OK)
			return status;
		streams->sweep_at = SWEEP_MIN;
	}
	if (streams->count >= streams->sweep_at)
		sweep_locked(streams);
	return mam_records_reserve(&streams->records, 1);
}

/* In a capture the driver must not be queried (key.h): use the stream's id known before. */
static unsigned long long id_before_locked(const struct mam_streams *streams,
					   const struct mam_stream_key *key)
{
	struct mam_stream_key before = *key;
	uint32_t handle;

	before.capture = 0;
	handle = mam_stream_find_locked(streams, &before);
	return handle != 0 ? mam_stream_at(streams, handle)->id : 0;
}

static enum mam_status add_locked(struct mam_streams *streams, const struct mam_stream *made)
{
	uint32_t *bucket = &streams->bucket[mam_stream_bucket(&made->key)];
	enum mam_status status;
	uint32_t handle, open, loose;

	if (atomic_load_explicit(&streams->pool->state, memory_order_relaxed) != MAM_POOL_READY)
		return MAM_ERROR_DESTROYED;
	if (mam_stream_find_locked(streams, &made->key) != 0)
		return MAM_OK;
	status = reserve_locked(streams);
	if (status == MAM_OK)
		status = mam_streamlist_begin_locked(streams->pool, &open);
	if (status != MAM_OK)
		return status;
	status = mam_streamlist_begin_locked(streams->pool, &loose);
	if (status != MAM_OK) {
		mam_streamlist_end_locked(streams->pool, open);
		return status;
	}
	mam_streamlist_at(streams->pool, loose)->loose = 1;
	handle = mam_records_take(&streams->records);
	*mam_stream_at(streams, handle) = *made;
	if (made->key.capture != 0)
		mam_stream_at(streams, handle)->id = id_before_locked(streams, &made->key);
	mam_stream_at(streams, handle)->open = open;
	mam_stream_at(streams, handle)->loose = loose;
	mam_stream_at(streams, handle)->next = *bucket;
	*bucket = handle;
	streams->count++;
	atomic_store_explicit(&streams->any, true, memory_order_release); /* after `bound` */
	return MAM_OK;
}

enum mam_status mam_stream_add(struct mam_streams *streams, const struct mam_stream_key *key)
{
	const struct mam_driver *driver = streams->fences.device.driver;
	struct mam_stream made = { .key = *key, .in_use = true };
	enum mam_status status;

	if (mam_key_is_whole(key) || streams->fences.lag != NULL) {
		made.context = streams->fences.device.context;
		made.lasting = true;
		if (!mam_key_is_whole(key))
			(void)mam_key_id(&streams->fences, key, &made.id);
	} else {
		made.lasting = mam_key_id(&streams->fences, key, &made.id);
		if (driver->stream_get_ctx == NULL ||
		    driver->stream_get_ctx(key->stream, &made.context) != MAM_DRIVER_SUCCESS)
			made.context = NULL;
	}
	mam_lock_take(&streams->pool->lock);
	status = add_locked(streams, &made);
	mam_pool_unlock(streams->pool);
	return status;
}

void mam_stream_seen_locked(struct mam_streams *streams, const struct mam_stream_key *key)
{
	uint32_t count = atomic_load_explicit(&streams->capturing, memory_order_relaxed);
	uint32_t at = 0;

	if (count == 0 && key->capture == 0)
		return;
	while (at < count && (streams->captured[at].stream != key->stream ||
			      streams->captured[at].thread != key->thread))
		at++;
	if (key->capture == 0 && at < count) {
		streams->captured[at] = streams->captured[--count];
	} else if (key->capture != 0 && at == count && count < MAM_CAPTURES_NOTED) {
		streams->captured[count++] = *key;
		atomic_fetch_add_explicit(&streams->captures, 1, memory_order_relaxed);
	} else if (key->capture != 0 && at == count) {
		atomic_store_explicit(&streams->lost_count, true, memory_order_relaxed);
	}
	atomic_store_explicit(&streams->capturing, count, memory_order_relaxed);
}

bool mam_stream_captures(const struct mam_streams *streams)
{
	return atomic_load_explicit(&streams->capturing, memory_order_relaxed) != 0 ||
	       atomic_load_explicit(&streams->lost_count, memory_order_relaxed);
}
