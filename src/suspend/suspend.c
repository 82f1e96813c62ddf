/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspend.c - mam_pool_suspend() and mam_pool_resume(): release the memory of a pool, and map it
 * again at the same addresses; mam_pool_unpin(): free the host memory that is kept in between.
 *
 * suspend:
 *   1. From now on allocations fail (pool/suspend.h). Then the grow lock, which the thread holds to
 *      the end.
 *   2. Empty the caches and the streams, wait for the device, release free pieces.
 *   3. Copy the contents of all other pieces (contents.h). So far each error leaves the pool as it
 *      was, and the copies are submitted.
 *   4. Unmap the pieces, each when it has been saved, while later copies run. If one of these fails,
 *      which is an error of the driver, the pieces are mapped again as in a resume; if that fails,
 *      too, the pool stays suspended. A piece that the driver refuses to unmap stays mapped; if it
 *      refuses all of them, the pool is as before. Undoing the rest would need memory that others may
 *      have by now.
 * resume:
 *   1. Map each piece and copy its contents, in the order of addresses. Pieces that became free
 *      meanwhile stay unmapped.
 *   2. After an error, pieces that were mapped and copied stay so, and the next resume goes on from
 *      there. All contents are kept until it is complete. So another suspend before that only unmaps.
 *   3. Out of memory: as in an allocation, other pools of the device release idle memory, and the
 *      program's callbacks run (api/oom.h), with no lock held.
 *
 * lazy:
 *   A lazy suspend is step 1 alone. If an allocation or a resume runs out of memory, it does the rest
 *   for the pools that have waited longest (api/oom.c), and a resume before that undoes step 1.
 * host memory:
 *   After a resume it stays with the pool, for the next suspend: touching and registering it takes
 *   several times as long as the copies. A suspend that the host, or MAM_HOST_MEMORY, has no room for
 *   frees what other pools keep.
 *
 * Bound: one driver call to copy and one or more to map or unmap, for each piece.
 *
 * Source: vLLM's sleep mode and torch_memory_saver release memory and keep its addresses. We differ
 * in a pool as the unit, whose records show what need not come back.
 */
#include <mam/pools.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/oom.h"
#include "api/slots.h"
#include "base/log.h"
#include "base/sized.h"
#include "cache/cache.h"
#include "suspend/contents.h"

struct suspension {
	struct mam_suspension pieces; /* first: the pool knows this part */
	struct mam_contents contents;
	bool discards;
	char *folder; /* of a lazy suspension; NULL: none */
};

static _Atomic uint64_t lazy_suspends; /* atomic */

static void end(struct mam_suspension *suspension, bool abandoned)
{
	struct suspension *whole = (struct suspension *)suspension;

	mam_contents_close(&whole->contents, abandoned);
	free(suspension->pieces);
	free(whole->folder);
	free(whole);
}

/* A new suspension, with the host memory that the pool keeps if it can use that. NULL: none */
static struct suspension *begin(struct mam_pool *pool, const struct mam_suspend_attr *attr)
{
	struct suspension *whole = (struct suspension *)pool->kept;

	pool->kept = NULL;
	if (whole && (attr->discard || attr->folder)) {
		end(&whole->pieces, false);
		whole = NULL;
	}
	if (!whole)
		whole = calloc(1, sizeof(*whole));
	if (whole) {
		whole->pieces.end = end;
		whole->discards = attr->discard;
	}
	return whole;
}

/* The pool is resumed: free all but the pinned memory. */
static void set_aside(struct mam_pool *pool, struct suspension *whole)
{
	free(whole->pieces.pieces);
	whole->pieces = (struct mam_suspension){ .end = end };
	if (whole->contents.is_file || !whole->contents.pinned.memory)
		end(&whole->pieces, false);
	else
		pool->kept = &whole->pieces;
}

/* Step 3. On success the copies are on their way, if there is any piece. */
static enum mam_status save(struct suspension *whole, struct mam_pool *pool, const char *folder)
{
	enum mam_status status =
		mam_contents_open(&whole->contents, pool->source, whole->pieces.bytes, folder);

	if (status != MAM_OK || whole->pieces.count == 0)
		return status;
	status = mam_contents_begin(&whole->contents);
	if (status != MAM_OK)
		return status;
	for (size_t i = 0; i < whole->pieces.count; i++)
		mam_contents_save(&whole->contents, &whole->pieces.pieces[i]);
	return MAM_OK;
}

/*
 * Unmap the pieces that are mapped; `saves`: each as soon as it is saved. Errors: of the first, if
 * none was unmapped; the reason why one was not saved is that of the contents' end.
 */
static enum mam_status release(struct mam_pool *pool, struct suspension *whole, bool saves)
{
	struct mam_suspension *suspension = &whole->pieces;
	enum mam_status first = MAM_OK;
	bool any = false;

	for (size_t i = 0; i < suspension->count; i++) {
		struct mam_suspended *piece = &suspension->pieces[i];
		enum mam_status status = MAM_OK;

		if (saves && !mam_contents_is_saved(&whole->contents, piece))
			break;
		if (piece->state == MAM_SUSPENDED_MAPPED || piece->state == MAM_SUSPENDED_LOADED) {
			status = mam_suspend_release(pool, piece);
			any |= status == MAM_OK;
		}
		if (first == MAM_OK)
			first = status;
	}
	if (any && first != MAM_OK)
		mam_log(MAM_LOG_WARN,
			"pool %s: the source refused to release some memory, which stays with the "
			"suspended pool",
			pool->config.name);
	return any ? MAM_OK : first;
}

/* Step 1 of a resume. The contents of MAPPED pieces are on their way. */
static enum mam_status map_all(struct mam_pool *pool, struct suspension *whole)
{
	enum mam_status status = MAM_OK;

	for (size_t i = 0; i < whole->pieces.count && status == MAM_OK; i++) {
		struct mam_suspended *piece = &whole->pieces.pieces[i];

		if (piece->state == MAM_SUSPENDED_OUT)
			status = mam_suspend_map(pool, piece);
		if (status == MAM_OK && piece->state == MAM_SUSPENDED_MAPPED && !whole->discards &&
		    !mam_suspend_is_free(pool, piece))
			mam_contents_load(&whole->contents, piece);
	}
	return status;
}

static void mark_loaded(struct mam_suspension *suspension)
{
	for (size_t i = 0; i < suspension->count; i++)
		if (suspension->pieces[i].state == MAM_SUSPENDED_MAPPED)
			suspension->pieces[i].state = MAM_SUSPENDED_LOADED;
}

static enum mam_status load_all(struct mam_pool *pool, struct suspension *whole)
{
	enum mam_status status = MAM_OK, arrived = MAM_OK;

	if (!whole->discards && whole->pieces.count != 0) {
		status = mam_contents_begin(&whole->contents);
		if (status != MAM_OK)
			return status;
	}
	status = map_all(pool, whole);
	if (!whole->discards && whole->pieces.count != 0)
		arrived = mam_contents_end(&whole->contents);
	if (arrived == MAM_OK)
		mark_loaded(&whole->pieces);
	return status != MAM_OK ? status : arrived;
}

static bool is_any_out(const struct mam_suspension *suspension)
{
	for (size_t i = 0; i < suspension->count; i++)
		if (suspension->pieces[i].state == MAM_SUSPENDED_OUT)
			return true;
	return false;
}

/* Step 4. After an error of a copy, what was unmapped comes back; otherwise it stays suspended. */
static enum mam_status release_saved(struct mam_pool *pool, struct suspension *whole)
{
	enum mam_status status = release(pool, whole, true), saved;

	saved = mam_contents_end(&whole->contents);
	if (saved == MAM_OK)
		return status;
	if (is_any_out(&whole->pieces) && load_all(pool, whole) != MAM_OK) {
		mam_log(MAM_LOG_WARN,
			"pool %s stays suspended: its memory cannot be mapped again yet; resume it "
			"later",
			pool->config.name);
		mam_suspend_keep(pool, &whole->pieces);
	}
	return saved;
}

/* Steps 2 to 4. */
static enum mam_status suspend(struct mam_pool *pool, const struct mam_suspend_attr *attr)
{
	struct suspension *whole = begin(pool, attr);
	enum mam_status status;

	if (!whole)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	status = mam_suspend_settle(pool);
	if (status == MAM_OK)
		status = mam_suspend_list(pool, &whole->pieces);
	if (status == MAM_OK && !attr->discard)
		status = save(whole, pool, attr->folder);
	if (status == MAM_OK)
		status = attr->discard || whole->pieces.count == 0 ? release(pool, whole, false)
								   : release_saved(pool, whole);
	if (status == MAM_OK && attr->discard && pool->redzone)
		mam_redzone_distrust(pool);
	if (status == MAM_OK)
		mam_suspend_keep(pool, &whole->pieces);
	else if (pool->suspension != &whole->pieces)
		end(&whole->pieces, false);
	return status;
}

/* Returns an error if the pool stays as it was: lazily suspended. */
static enum mam_status spill(struct mam_pool *pool)
{
	struct suspension *lazy = (struct suspension *)pool->suspension;
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;
	enum mam_status status;

	attr.folder = lazy->folder;
	attr.discard = lazy->discards;
	status = suspend(pool, &attr);
	if (pool->suspension != &lazy->pieces)
		end(&lazy->pieces, false);
	return status;
}

static enum mam_status suspend_lazily(struct mam_pool *pool, const struct mam_suspend_attr *attr)
{
	struct suspension *whole = calloc(1, sizeof(*whole));

	if (whole && attr->folder)
		whole->folder = strdup(attr->folder);
	if (!whole || (attr->folder && !whole->folder)) {
		free(whole);
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	}
	whole->discards = attr->discard;
	whole->pieces.end = end;
	whole->pieces.spill = spill;
	whole->pieces.since = atomic_fetch_add(&lazy_suspends, 1) + 1;
	mam_suspend_keep(pool, &whole->pieces);
	(void)mam_cache_drain(pool); /* caches would still serve requests */
	return MAM_OK;
}

/* The pool is suspended, lazily if it has `spill`. */
static enum mam_status suspend_again(struct mam_pool *pool, const struct mam_suspend_attr *attr)
{
	struct suspension *whole = (struct suspension *)pool->suspension;
	enum mam_status status;

	if (!whole->pieces.spill)
		return release(pool, whole, false);
	if (attr->lazy)
		return MAM_OK;
	status = suspend(pool, attr);
	if (pool->suspension != &whole->pieces)
		end(&whole->pieces, false);
	return status;
}

/* The grow lock serializes suspends and resumes; an earlier one may have changed the flag. */
static enum mam_status suspend_alone(struct mam_pool *pool, const struct mam_suspend_attr *attr)
{
	enum mam_status status;

	mam_lock_take(&pool->grow_lock);
	status = mam_suspend_set(pool, true);
	if (status == MAM_OK && pool->suspension) {
		status = suspend_again(pool, attr);
	} else if (status == MAM_OK) {
		status = attr->lazy ? suspend_lazily(pool, attr) : suspend(pool, attr);
		if (!pool->suspension)
			(void)mam_suspend_set(pool, false);
	}
	mam_lock_release(&pool->grow_lock);
	return status;
}

static bool read_attr(const struct mam_suspend_attr *given, struct mam_suspend_attr *attr)
{
	*attr = (struct mam_suspend_attr)MAM_SUSPEND_ATTR_INIT;
	if (!given)
		return true;
	if (!mam_sized_fits(given, sizeof(*attr), NULL, 0))
		return false;
	mam_sized_read(attr, given, sizeof(*attr));
	return !attr->discard || !attr->folder;
}

/* Whether the pool's memory can leave: pieces of memory that only the device uses. */
static bool is_possible(const struct mam_pool *pool)
{
	const char *why = !pool->range                         ? "is not vmm"
			  : mam_source_is_shared(pool->source) ? "shares its memory with others"
							       : NULL;

	if (why)
		mam_log(MAM_LOG_WARN, "pool %s cannot be suspended: its source %s",
			pool->config.name, why);
	return !why;
}

static enum mam_status suspend_handle(struct mam_pool *handle, const struct mam_suspend_attr *attr)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_slots_enter(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	status = is_possible(pool) ? mam_suspend_set(pool, true) : MAM_ERROR_UNSUPPORTED;
	if (status == MAM_OK)
		status = suspend_alone(pool, attr);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_suspend(struct mam_pool *handle, const struct mam_suspend_attr *given)
{
	struct mam_suspend_attr attr;
	enum mam_status status;

	if (!read_attr(given, &attr))
		return MAM_ERROR_INVALID_VALUE;
	status = suspend_handle(handle, &attr);
	if (status == MAM_ERROR_OUT_OF_HOST_MEMORY && mam_oom_unpin_others(handle))
		status = suspend_handle(handle, &attr);
	return status;
}

/* `lack`: bytes that are not mapped. */
static enum mam_status resume(struct mam_pool *pool, uint64_t *lack)
{
	struct suspension *whole;
	enum mam_status status = MAM_OK;

	*lack = 0;
	mam_lock_take(&pool->grow_lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	whole = (struct suspension *)pool->suspension;
	if (status == MAM_OK && whole) {
		if (!whole->pieces.spill)
			status = load_all(pool, whole);
		if (status == MAM_OK) {
			mam_suspend_keep(pool, NULL);
			if (whole->pieces.spill)
				end(&whole->pieces, false);
			else
				set_aside(pool, whole);
		} else if (status == MAM_ERROR_OUT_OF_MEMORY) {
			mam_lock_take(&pool->lock);
			pool->counts.failures++;
			*lack = pool->counts.suspended_bytes;
			mam_pool_unlock(pool);
		}
	}
	mam_lock_release(&pool->grow_lock);
	return status;
}

enum mam_status mam_pool_resume(struct mam_pool *handle)
{
	struct mam_oom_walk walk = { 0 };
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;
	uint64_t lack = 0;

	do {
		status = mam_slots_enter(handle, &pool, &section);
		if (status != MAM_OK)
			return status;
		status = resume(pool, &lack);
		mam_epoch_leave(section);
	} while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, handle, lack));
	return status;
}

enum mam_status mam_pool_unpin(struct mam_pool *handle, size_t *released)
{
	struct mam_suspension *kept;
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status = mam_slots_enter(handle, &pool, &section);
	size_t bytes = 0;

	if (status != MAM_OK)
		return status;
	mam_lock_take(&pool->grow_lock);
	if (atomic_load_explicit(&pool->state, memory_order_relaxed) != MAM_POOL_READY)
		status = MAM_ERROR_DESTROYED;
	kept = pool->kept;
	if (status == MAM_OK && kept) {
		bytes = ((struct suspension *)kept)->contents.pinned.used;
		pool->kept = NULL;
		end(kept, false);
	}
	mam_lock_release(&pool->grow_lock);
	mam_epoch_leave(section);
	if (status == MAM_OK && released)
		*released = bytes;
	return status;
}
