/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit.c - a quota around another source, its own or shared with others, and injected failures.
 *
 * A call that allocates memory first charges its bytes to the quota, then calls the inner source,
 * and discharges the bytes if that fails. So the inner source may lock as it likes, and two
 * concurrent calls never exceed the limit together. Both may fail although one alone would have
 * fitted.
 *
 * Memory is allocated by grow, or by map if the inner source separates addresses and memory. In
 * that case grow and shrink, which only handle addresses, pass through uncounted. The table of
 * functions follows the inner source's, row by row: a function that the inner source lacks is
 * missing here too.
 *
 * Invariant between calls: given_bytes is the sum of the bytes allocated through this source, and
 * is charged to the quota.
 */
#include "source/quota.h"
#include "source/source.h"

struct limit_source {
	struct mam_source source;
	struct mam_source_ops ops; /* lock: none, set at creation; source.ops points to it */
	struct mam_source *inner;  /* lock: none, set at creation */
	bool owns_inner;           /* lock: none, set at creation */
	struct mam_quota *quota;   /* lock: none, set at creation */
	/* Allocating calls from first to last, counted from 1, fail; none if last < first. */
	size_t refuse_first;        /* lock: none, set at creation */
	size_t refuse_last;         /* lock: none, set at creation */
	_Atomic size_t given_bytes; /* atomic */
	_Atomic size_t calls;       /* atomic; allocating calls so far */
};

static bool book(struct limit_source *limit, size_t bytes)
{
	size_t call = atomic_fetch_add(&limit->calls, 1) + 1;

	if (call >= limit->refuse_first && call <= limit->refuse_last)
		return false;
	if (!mam_quota_charge(limit->quota, bytes))
		return false;
	atomic_fetch_add(&limit->given_bytes, bytes);
	return true;
}

static void unbook(struct limit_source *limit, size_t bytes)
{
	atomic_fetch_sub(&limit->given_bytes, bytes);
	mam_quota_discharge(limit->quota, bytes);
}

static enum mam_status grow_by(struct limit_source *limit, size_t bytes, void **base,
			       enum mam_status (*grow)(struct mam_source *source, size_t bytes,
						       void **base))
{
	enum mam_status status;

	if (mam_source_has_pieces(limit->inner))
		return grow(limit->inner, bytes, base);
	if (!book(limit, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	status = grow(limit->inner, bytes, base);
	if (status != MAM_OK)
		unbook(limit, bytes);
	return status;
}

static enum mam_status limit_grow(struct mam_source *source, size_t bytes, void **base)
{
	return grow_by((struct limit_source *)source, bytes, base, mam_source_grow);
}

static enum mam_status limit_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct limit_source *limit = (struct limit_source *)source;
	enum mam_status status = mam_source_shrink(limit->inner, base, bytes);

	if (status == MAM_OK && !mam_source_has_pieces(limit->inner))
		unbook(limit, bytes);
	return status;
}

static enum mam_status limit_quiesce(struct mam_source *source)
{
	return mam_source_quiesce(((struct limit_source *)source)->inner);
}

static enum mam_status limit_map(struct mam_source *source, void *base, size_t bytes)
{
	struct limit_source *limit = (struct limit_source *)source;
	enum mam_status status;

	if (!book(limit, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	status = mam_source_map(limit->inner, base, bytes);
	if (status != MAM_OK)
		unbook(limit, bytes);
	return status;
}

static enum mam_status limit_unmap(struct mam_source *source, void *base, size_t bytes)
{
	struct limit_source *limit = (struct limit_source *)source;
	enum mam_status status = mam_source_unmap(limit->inner, base, bytes);

	if (status == MAM_OK)
		unbook(limit, bytes);
	return status;
}

static enum mam_status limit_move(struct mam_source *source, void *from, size_t bytes, void *to,
				  bool *lost)
{
	struct limit_source *limit = (struct limit_source *)source;
	bool gone = false;
	enum mam_status status = mam_source_move(limit->inner, from, bytes, to, &gone);

	if (gone)
		unbook(limit, bytes);
	if (lost)
		*lost = gone;
	return status;
}

static enum mam_status limit_alias(struct mam_source *source, void *from, size_t bytes, void *to)
{
	return mam_source_alias(((struct limit_source *)source)->inner, from, bytes, to);
}

static enum mam_status limit_unalias(struct mam_source *source, void *base, size_t bytes)
{
	return mam_source_unalias(((struct limit_source *)source)->inner, base, bytes);
}

static uint64_t limit_cost(struct mam_source *source)
{
	struct mam_source *inner = ((struct limit_source *)source)->inner;

	return inner->ops->cost(inner);
}

static void limit_destroy(struct mam_source *source)
{
	struct limit_source *limit = (struct limit_source *)source;

	if (limit->owns_inner)
		mam_source_destroy(limit->inner);
	mam_quota_leave(limit->quota);
	free(limit);
}

static bool is_limit(const struct mam_source *source)
{
	return source->ops->grow == limit_grow;
}

bool mam_limit_free_mapped(struct mam_source *source)
{
	if (!is_limit(source))
		return false;
	mam_source_free_mapped(((struct limit_source *)source)->inner);
	return true;
}

bool mam_limit_abandon(struct mam_source *source)
{
	struct limit_source *limit = (struct limit_source *)source;

	if (!is_limit(source))
		return false;
	if (limit->owns_inner)
		mam_source_abandon(limit->inner);
	mam_quota_leave(limit->quota);
	free(limit);
	return true;
}

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct limit_source *make(struct mam_source *inner, bool owns_inner, struct mam_quota *quota)
{
	struct limit_source *limit = calloc(1, sizeof(*limit));

	if (!limit)
		return NULL;
	limit->ops = (struct mam_source_ops){
		.size = sizeof(limit->ops),
		.grow = limit_grow,
		.shrink = limit_shrink,
		.quiesce = inner->ops->quiesce ? limit_quiesce : NULL,
		.map = MAM_SOURCE_OP(inner, map) ? limit_map : NULL,
		.unmap = MAM_SOURCE_OP(inner, unmap) ? limit_unmap : NULL,
		.move = MAM_SOURCE_OP(inner, move) ? limit_move : NULL,
		.cost = MAM_SOURCE_OP(inner, cost) ? limit_cost : NULL,
		.alias = MAM_SOURCE_OP(inner, alias) ? limit_alias : NULL,
		.unalias = MAM_SOURCE_OP(inner, unalias) ? limit_unalias : NULL,
		.destroy = limit_destroy,
	};
	limit->source.size = sizeof(limit->source);
	limit->source.ops = &limit->ops;
	limit->source.properties = mam_source_describe(inner);
	limit->inner = inner;
	limit->owns_inner = owns_inner;
	limit->quota = quota;
	limit->refuse_first = SIZE_MAX;
	return limit;
}

enum mam_status mam_source_limit(struct mam_source *inner, size_t limit_bytes, size_t refuse_at,
				 size_t refuse_count, struct mam_source **source)
{
	struct limit_source *limit;
	struct mam_quota *quota;
	size_t total;

	if (!source || !mam_source_is_usable(inner))
		return MAM_ERROR_INVALID_VALUE;
	quota = calloc(1, sizeof(*quota));
	limit = quota ? make(inner, false, quota) : NULL;
	if (!limit) {
		free(quota);
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	}
	atomic_init(&quota->max, limit_bytes ? limit_bytes : SIZE_MAX);
	atomic_init(&quota->owners, 1);
	total = inner->properties.total_bytes ? inner->properties.total_bytes : SIZE_MAX;
	limit->source.properties.name = "limit";
	if (limit_bytes)
		limit->source.properties.total_bytes = min_of(total, limit_bytes);
	if (refuse_at && refuse_count) {
		limit->refuse_first = refuse_at;
		limit->refuse_last = refuse_at + min_of(refuse_count - 1, SIZE_MAX - refuse_at);
	}
	*source = &limit->source;
	return MAM_OK;
}

enum mam_status mam_limit_share(struct mam_source *inner, bool owns_inner, struct mam_quota *quota,
				struct mam_source **source)
{
	struct limit_source *limit = make(inner, owns_inner, quota);

	if (!limit)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	mam_quota_keep(quota);
	*source = &limit->source;
	return MAM_OK;
}

bool mam_limit_refuses(const struct mam_source *source, size_t bytes)
{
	const struct limit_source *limit = (const struct limit_source *)source;
	size_t unit = source->properties.granularity;

	return is_limit(source) && (mam_round_up_overflows(bytes, unit) ||
				    mam_round_up(bytes, unit) > mam_quota_left(limit->quota));
}

void mam_limit_lost(struct mam_source *source)
{
	struct limit_source *limit = (struct limit_source *)source;

	if (is_limit(source))
		mam_quota_discharge(limit->quota, atomic_exchange(&limit->given_bytes, 0));
}

bool mam_limit_grow_prompt(struct mam_source *source, size_t bytes, void **base,
			   enum mam_status *status)
{
	if (!is_limit(source))
		return false;
	*status = grow_by((struct limit_source *)source, bytes, base, mam_source_grow_prompt);
	return true;
}

struct mam_source *mam_limit_inner(struct mam_source *source)
{
	return is_limit(source) ? ((struct limit_source *)source)->inner : NULL;
}

const struct mam_device *mam_limit_device(struct mam_source *source)
{
	return is_limit(source) ? mam_source_device(((struct limit_source *)source)->inner) : NULL;
}

bool mam_limit_room(struct mam_source *source, size_t *bytes)
{
	struct limit_source *limit = (struct limit_source *)source;

	if (!is_limit(source))
		return false;
	*bytes = min_of(mam_quota_left(limit->quota), mam_source_room(limit->inner));
	return true;
}
