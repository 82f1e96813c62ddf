/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.c - fences for memory that is mapped at a second address (pool/alias.h).
 *
 * The thread that requests memory on a stream records the fence in it: its handle is valid during
 * that call. An event in a stream in capture would become a part of the graph, so there is none.
 * Neither is there one for a stream of another context, nor if the driver has no ids, since memory
 * of an earlier stream with the same handle might be in the list.
 *
 * The pool's grow lock is held, so each call takes the stream lock and the pool's lock after it.
 */
#include "stream/stream.h"

#include "pool/alias.h"

bool mam_stream_identify(struct mam_streams *streams, const struct mam_stream_key *key,
			 unsigned long long *id)
{
	const struct mam_stream *stream;
	uint32_t handle = 0;
	bool good = false;

	*id = 0;
	if (key->capture != 0 || streams->ended ||
	    atomic_load_explicit(&streams->faulty, memory_order_relaxed))
		return false;
	mam_lock_take(&streams->pool->lock);
	if (atomic_load_explicit(&streams->pool->state, memory_order_relaxed) == MAM_POOL_READY)
		handle = mam_stream_find_locked(streams, key);
	if (handle != 0) {
		stream = mam_stream_at(streams, handle);
		good = stream->lasting && stream->context == streams->fences.device.context;
		*id = stream->id;
	}
	mam_lock_release(&streams->pool->lock);
	if (good && !mam_key_is_whole(key)) {
		unsigned long long now = 0;

		good = mam_key_id(&streams->fences, key, &now) && now == *id;
	}
	return good && mam_key_recordable(&streams->fences, key);
}

static bool may(struct mam_pool *pool, const void *order)
{
	struct mam_streams *streams = pool->stream;
	unsigned long long id;
	bool good;

	mam_lock_take(&streams->lock);
	good = mam_stream_identify(streams, order, &id);
	mam_lock_release(&streams->lock);
	return good;
}

static bool record(struct mam_pool *pool, const void *order, struct mam_alias_fence *fence)
{
	struct mam_streams *streams = pool->stream;
	const struct mam_stream_key *key = order;
	struct mam_fence made = { 0 };
	unsigned long long id;
	bool good;

	mam_lock_take(&streams->lock);
	good = mam_stream_identify(streams, key, &id) &&
	       mam_fence_record(&streams->fences, streams->fences.device.context, key->stream,
				&made);
	mam_lock_release(&streams->lock);
	if (good)
		*fence = (struct mam_alias_fence){ .event = made.event,
						   .context = made.context,
						   .stream = key->stream,
						   .thread = key->thread,
						   .id = id };
	return good;
}

static bool passed(struct mam_pool *pool, const struct mam_alias_fence *fence)
{
	struct mam_streams *streams = pool->stream;
	const struct mam_fence look = { .event = fence->event, .context = fence->context };
	enum mam_fence_state state;

	mam_lock_take(&streams->lock);
	state = mam_fence_look(&streams->fences, &look);
	mam_lock_release(&streams->lock);
	if (state == MAM_FENCE_FAULTY)
		atomic_store_explicit(&streams->faulty, true, memory_order_relaxed);
	return state == MAM_FENCE_PASSED;
}

static void drop(struct mam_pool *pool, struct mam_alias_fence *fence)
{
	struct mam_streams *streams = pool->stream;
	struct mam_fence dropped = { .event = fence->event, .context = fence->context };

	mam_lock_take(&streams->lock);
	mam_fence_drop(&streams->fences, &dropped);
	mam_lock_release(&streams->lock);
	fence->event = NULL;
}

const struct mam_stream_ops mam_stream_fences = {
	.may = may,
	.record = record,
	.passed = passed,
	.drop = drop,
	.borrow = mam_stream_borrow,
	.gather = mam_stream_gather,
};
