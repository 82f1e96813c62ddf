/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit.c - a quota around another source, and refusals on purpose.
 *
 * A grow first books its bytes under the lock, then asks the inner source with the lock released,
 * and takes the booking back if that fails. So the inner source may lock as it likes, and two grows
 * at once never pass the limit together. They may both be refused where one alone would have
 * fitted.
 *
 * Between calls: given_bytes is the sum of the chunks let through and, with a limit, at most
 * limit_bytes.
 */
#include <stdlib.h>

#include "base/lock.h"
#include "source/source.h"

struct limit_source {
	struct mam_source source;
	struct mam_source *inner; /* lock: none, set at creation */
	size_t limit_bytes;       /* lock: none, set at creation; SIZE_MAX: no limit */
	/* Grow calls from first to last, counted from 1, are refused; none where last < first. */
	size_t refuse_first;      /* lock: none, set at creation */
	size_t refuse_last;       /* lock: none, set at creation */
	struct mam_lock lock;
	size_t given_bytes;       /* lock: lock */
	size_t calls;             /* lock: lock; grow calls so far */
};

static bool book(struct limit_source *limit, size_t bytes)
{
	bool allowed;

	mam_lock_take(&limit->lock);
	limit->calls++;
	allowed = bytes <= limit->limit_bytes - limit->given_bytes &&
	          (limit->calls < limit->refuse_first || limit->calls > limit->refuse_last);
	if (allowed)
		limit->given_bytes += bytes;
	mam_lock_release(&limit->lock);
	return allowed;
}

static void unbook(struct limit_source *limit, size_t bytes)
{
	mam_lock_take(&limit->lock);
	limit->given_bytes -= bytes;
	mam_lock_release(&limit->lock);
}

static enum mam_status limit_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct limit_source *limit = (struct limit_source *)source;
	enum mam_status status;

	if (!book(limit, bytes))
		return MAM_ERROR_OUT_OF_MEMORY;
	status = mam_source_grow(limit->inner, bytes, base);
	if (status != MAM_OK)
		unbook(limit, bytes);
	return status;
}

static enum mam_status limit_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct limit_source *limit = (struct limit_source *)source;
	enum mam_status status = mam_source_shrink(limit->inner, base, bytes);

	if (status == MAM_OK)
		unbook(limit, bytes);
	return status;
}

static enum mam_status limit_quiesce(struct mam_source *source)
{
	return mam_source_quiesce(((struct limit_source *)source)->inner);
}

static void limit_destroy(struct mam_source *source)
{
	struct limit_source *limit = (struct limit_source *)source;

	mam_lock_fini(&limit->lock);
	free(limit);
}

/* Two tables: a source with nothing to wait for says so by having no quiesce. */
static const struct mam_source_ops limit_ops = {
	.grow = limit_grow,
	.shrink = limit_shrink,
	.quiesce = limit_quiesce,
	.destroy = limit_destroy,
};

static const struct mam_source_ops limit_ops_at_once = {
	.grow = limit_grow,
	.shrink = limit_shrink,
	.quiesce = NULL,
	.destroy = limit_destroy,
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

enum mam_status mam_source_limit(struct mam_source *inner, size_t limit_bytes, size_t refuse_at,
                                 size_t refuse_count, struct mam_source **source)
{
	struct limit_source *limit;
	size_t total;

	if (!inner || !source)
		return MAM_ERROR_INVALID_VALUE;
	limit = calloc(1, sizeof(*limit));
	if (!limit)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	total = inner->properties.total_bytes ? inner->properties.total_bytes : SIZE_MAX;
	limit->source.ops = inner->ops->quiesce ? &limit_ops : &limit_ops_at_once;
	limit->source.properties = inner->properties;
	limit->source.properties.name = "limit";
	if (limit_bytes)
		limit->source.properties.total_bytes = least(total, limit_bytes);
	limit->inner = inner;
	limit->limit_bytes = limit_bytes ? limit_bytes : SIZE_MAX;
	limit->refuse_first = SIZE_MAX;
	if (refuse_at && refuse_count) {
		limit->refuse_first = refuse_at;
		limit->refuse_last = refuse_at + least(refuse_count - 1, SIZE_MAX - refuse_at);
	}
	mam_lock_init(&limit->lock, MAM_RANK_SOURCE, "limit source");
	*source = &limit->source;
	return MAM_OK;
}

bool mam_limit_room(struct mam_source *source, size_t *bytes)
{
	struct limit_source *limit = (struct limit_source *)source;
	size_t left;

	if (source->ops != &limit_ops && source->ops != &limit_ops_at_once)
		return false;
	mam_lock_take(&limit->lock);
	left = limit->limit_bytes - limit->given_bytes;
	mam_lock_release(&limit->lock);
	*bytes = least(left, mam_source_room(limit->inner));
	return true;
}
