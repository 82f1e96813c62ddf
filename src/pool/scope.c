/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.c - statistics of a pool between a push and its pop.
 *
 * Counters continue, and the result is their difference. Peaks must be found anew, at no cost to
 * the requests between:
 *   1. The peaks in `counts` are those since the last mark. Each push and each pop is a mark.
 *   2. A mark merges them into every open scope (the maximum of both) and resets them to the
 *      present values.
 *   3. So a scope's peaks are those of all periods between marks since its push, whatever scopes
 *      begin and end inside it. Scopes need not end in order: each thread ends its own.
 *   4. The oldest scope has no owner and covers the pool's lifetime. The first push creates it. The
 *      last pop removes it, and its peaks return to `counts`.
 *
 * Bound: O(open scopes) per push and pop; nothing for requests.
 */
#include "pool/scope.h"

#include "pool/inspect.h"

#include <stdlib.h>

#define NO_THREAD 0u

struct mam_scope {
	struct mam_scope *older; /* lock: pool, all fields */
	uint64_t owner;          /* thread, or NO_THREAD */
	struct mam_stats start;  /* all numbers at the push */
	struct mam_stats peaks;  /* only its peaks are used: since the push, up to the last mark */
};

/*
 * Peaks, each with its present value. The present value of high_water_bytes is not in the counts.
 */
/* clang-format off */
static const struct {
	size_t peak, present;
} peaks[] = {
#define PEAK(name) { offsetof(struct mam_stats, peak_##name), offsetof(struct mam_stats, name) }
	PEAK(live_blocks),
	PEAK(live_bytes),
	PEAK(live_rounded_bytes),
	PEAK(reserved_bytes),
	PEAK(retired_bytes),
	PEAK(physical_bytes),
#undef PEAK
	{ offsetof(struct mam_stats, high_water_bytes), SIZE_MAX },
};
/* clang-format on */

/* Counts that only grow. */
static const size_t counters[] = {
	offsetof(struct mam_stats, allocs),       offsetof(struct mam_stats, frees),
	offsetof(struct mam_stats, failures),     offsetof(struct mam_stats, grows),
	offsetof(struct mam_stats, shrinks),      offsetof(struct mam_stats, remaps),
	offsetof(struct mam_stats, driver_calls), offsetof(struct mam_stats, driver_ns),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static _Atomic uint64_t threads;    /* atomic; count: threads that ever pushed */
static _Thread_local uint64_t self; /* thread; NO_THREAD: has not pushed */

static uint64_t *field(struct mam_stats *stats, size_t offset)
{
	return (uint64_t *)(void *)((char *)stats + offset);
}

static uint64_t value(const struct mam_stats *stats, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)stats + offset);
}

static void raise_peaks(struct mam_stats *to, const struct mam_stats *from)
{
	for (size_t i = 0; i < COUNT_OF(peaks); i++)
		mam_pool_peak(field(to, peaks[i].peak), value(from, peaks[i].peak));
}

static void reset_peaks(struct mam_stats *stats, const struct mam_pool *pool)
{
	for (size_t i = 0; i < COUNT_OF(peaks); i++)
		*field(stats, peaks[i].peak) = peaks[i].present == SIZE_MAX
						       ? pool->high_bytes
						       : value(&pool->counts, peaks[i].present);
}

static void mark_locked(struct mam_pool *pool)
{
	for (struct mam_scope *at = pool->scopes; at != NULL; at = at->older)
		raise_peaks(&at->peaks, &pool->counts);
	if (pool->scopes != NULL)
		reset_peaks(&pool->counts, pool);
}

static void link_locked(struct mam_pool *pool, struct mam_scope *scope, uint64_t owner)
{
	scope->owner = owner;
	scope->older = pool->scopes;
	pool->scopes = scope;
}

static bool ready_locked(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

enum mam_status mam_scope_push(struct mam_pool *pool)
{
	struct mam_scope *scope = calloc(1, sizeof(*scope));
	struct mam_scope *life = calloc(1, sizeof(*life)); /* used if it is the first */
	enum mam_status status = MAM_OK;

	if (self == NO_THREAD)
		self = atomic_fetch_add(&threads, 1) + 1;
	mam_lock_take(&pool->lock);
	if (!ready_locked(pool)) {
		status = MAM_ERROR_DESTROYED;
	} else if (scope == NULL || (life == NULL && pool->scopes == NULL)) {
		status = MAM_ERROR_OUT_OF_HOST_MEMORY;
	} else {
		if (pool->scopes == NULL) {
			link_locked(pool, life, NO_THREAD);
			life = NULL;
		}
		mark_locked(pool);
		scope->start = pool->counts;
		mam_inspect_complete_locked(pool, &scope->start);
		link_locked(pool, scope, self);
		scope = NULL;
	}
	mam_pool_unlock(pool);
	free(scope);
	free(life);
	return status;
}

static struct mam_scope *unlink_mine_locked(struct mam_pool *pool)
{
	struct mam_scope **at = &pool->scopes;
	struct mam_scope *mine;

	while (*at != NULL && ((*at)->owner != self || self == NO_THREAD))
		at = &(*at)->older;
	mine = *at;
	if (mine != NULL)
		*at = mine->older;
	return mine;
}

/* Only the lifetime scope is left: no thread has an open scope. */
static struct mam_scope *unlink_life_locked(struct mam_pool *pool)
{
	struct mam_scope *life = pool->scopes;

	if (life == NULL || life->owner != NO_THREAD)
		return NULL;
	raise_peaks(&pool->counts, &life->peaks);
	pool->scopes = NULL;
	return life;
}

static void report_locked(const struct mam_pool *pool, const struct mam_scope *scope,
			  struct mam_stats *full)
{
	*full = pool->counts;
	raise_peaks(full, &scope->peaks);
	mam_inspect_complete_locked(pool, full);
	for (size_t i = 0; i < COUNT_OF(counters); i++) {
		uint64_t before = value(&scope->start, counters[i]);
		uint64_t now = value(full, counters[i]);

		/* a failure that was subtracted since the push makes it less than before */
		*field(full, counters[i]) = now > before ? now - before : 0;
	}
}

enum mam_status mam_scope_pop(struct mam_pool *pool, struct mam_stats *full)
{
	struct mam_scope *scope = NULL;
	struct mam_scope *life = NULL;
	enum mam_status status = MAM_OK;

	mam_lock_take(&pool->lock);
	if (!ready_locked(pool)) {
		status = MAM_ERROR_DESTROYED;
	} else {
		mark_locked(pool);
		scope = unlink_mine_locked(pool);
		if (scope == NULL)
			status = MAM_ERROR_INVALID_VALUE;
		else
			report_locked(pool, scope, full);
		life = unlink_life_locked(pool);
	}
	mam_pool_unlock(pool);
	free(scope);
	free(life);
	return status;
}

void mam_scope_lifetime_locked(const struct mam_pool *pool, struct mam_stats *full)
{
	const struct mam_scope *at = pool->scopes;

	while (at != NULL && at->older != NULL)
		at = at->older;
	if (at != NULL)
		raise_peaks(full, &at->peaks);
}

void mam_scope_fini(struct mam_pool *pool)
{
	while (pool->scopes != NULL) {
		struct mam_scope *scope = pool->scopes;

		pool->scopes = scope->older;
		free(scope);
	}
}

void mam_scope_unfail(struct mam_pool *pool)
{
	mam_lock_take(&pool->lock);
	if (pool->counts.failures != 0)
		pool->counts.failures--;
	mam_pool_unlock(pool);
}
