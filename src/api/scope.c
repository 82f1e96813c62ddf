/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - statistics since a push, as programs ask for them; pool/scope.c does the work. */
#include "pool/scope.h"

#include <mam/stats.h>

#include "api/slots.h"
#include "base/sized.h"
#include "cache/cache.h"

enum mam_status mam_stats_push(struct mam_pool *pool)
{
	struct mam_cache *held;
	enum mam_status status;

	if (!pool || !mam_slots_know(pool))
		return MAM_ERROR_INVALID_VALUE;
	held = mam_cache_settle(pool);
	status = mam_scope_push(pool);
	mam_cache_go(held);
	return status;
}

enum mam_status mam_stats_pop(struct mam_pool *pool, struct mam_stats *stats)
{
	struct mam_cache *held;
	struct mam_stats full;
	enum mam_status status;

	if (!pool || !mam_slots_know(pool) || (stats && !mam_sized_can_hold(stats)))
		return MAM_ERROR_INVALID_VALUE;
	held = mam_cache_settle(pool);
	status = mam_scope_pop(pool, &full);
	mam_cache_go(held);
	if (status == MAM_OK && stats)
		mam_sized_write(stats, &full, sizeof(full));
	return status;
}
