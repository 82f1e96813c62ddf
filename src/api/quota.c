/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.c - the quotas of programs. source/limit.c charges them: a pool that joins a quota gets
 * such a source around its own (registry.c). oom.c releases memory when a quota is exhausted.
 */
#include "source/quota.h"

#include <mam/pools.h>

enum mam_status mam_quota_create(size_t bytes, struct mam_quota **quota)
{
	struct mam_quota *made;

	if (!quota)
		return MAM_ERROR_INVALID_VALUE;
	made = calloc(1, sizeof(*made));
	if (!made)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	atomic_init(&made->max, bytes ? bytes : SIZE_MAX);
	atomic_init(&made->owners, 1);
	*quota = made;
	return MAM_OK;
}

enum mam_status mam_quota_set(struct mam_quota *quota, size_t bytes)
{
	if (!quota)
		return MAM_ERROR_INVALID_VALUE;
	atomic_store(&quota->max, bytes ? bytes : SIZE_MAX);
	return MAM_OK;
}

enum mam_status mam_quota_held(struct mam_quota *quota, size_t *bytes)
{
	if (!quota || !bytes)
		return MAM_ERROR_INVALID_VALUE;
	*bytes = atomic_load(&quota->given);
	return MAM_OK;
}

void mam_quota_destroy(struct mam_quota *quota)
{
	if (quota)
		mam_quota_leave(quota);
}
