/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - the public functions for statistics since a push; pool/scope.c implements them. */
#include "pool/scope.h"

#include <mam/stats.h>

#include "api/slots.h"
#include "base/sized.h"
#include "cache/cache.h"

enum mam_status mam_stats_push(struct mam_pool *handle)
{
	struct mam_section section;
	struct mam_cache *held;
	struct mam_pool *pool;
	enum mam_status status = mam_slots_enter(handle, &pool, &section);

	if (status != MAM_OK)
		return status;
	held = mam_cache_count_pending(pool);
	status = mam_scope_push(pool);
	mam_cache_go(held);
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_stats_pop(struct mam_pool *handle, struct mam_stats *stats)
{
	struct mam_section section;
	struct mam_cache *held;
	struct mam_stats full;
	struct mam_pool *pool;
	enum mam_status status;

	if (stats && !mam_sized_can_hold(stats, sizeof(*stats)))
		return MAM_ERROR_INVALID_VALUE;
	status = mam_slots_enter(handle, &pool, &section);
	if (status != MAM_OK)
		return status;
	held = mam_cache_count_pending(pool);
	status = mam_scope_pop(pool, &full);
	mam_cache_go(held);
	mam_epoch_leave(section);
	if (status == MAM_OK && stats)
		mam_sized_write(stats, &full, sizeof(full));
	return status;
}
