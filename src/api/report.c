/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - the messages of report.h.
 */
#include "api/report.h"

#include <mam/pools.h>
#include <mam/stats.h>

#include "api/slots.h"
#include "base/bytes.h"
#include "base/log.h"
#include "pool/pool.h"

void mam_report_free(enum mam_status status, const void *block)
{
	if (status == MAM_ERROR_INTERIOR)
		mam_log(MAM_LOG_WARN,
			"mam_free(%p): invalid free: inside a block, not at its start; nothing "
			"was freed",
			block);
	else if (status == MAM_ERROR_DOUBLE_FREE)
		mam_log(MAM_LOG_WARN,
			"mam_free(%p): double free: no block is allocated at the address", block);
}

/* Find the reason of the failure, and return the advice for it. */
static const char *advice(const struct mam_pool *pool, const struct mam_stats *stats, size_t limit,
			  size_t bytes)
{
	if (stats->reserved_bytes - stats->live_rounded_bytes >= bytes)
		return "the free memory is fragmented: free large blocks, or allocate them earlier";
	if (limit != 0 && (stats->physical_bytes >= limit || bytes > limit - stats->physical_bytes))
		return "raise the pool's limit, or free blocks";
	if (((const struct mam_slot *)pool)->quota)
		return "its quota or its source has no more memory: raise the quota, free blocks "
		       "in the pools that share it, or find other users of the device";
	return "its source has no more memory: free blocks, or find other users of the device";
}

void mam_report_no_memory(struct mam_pool *handle, size_t bytes)
{
	struct mam_section section;
	struct mam_stats stats = { .size = sizeof(stats) };
	char asked[MAM_BYTES_TEXT], largest[MAM_BYTES_TEXT], used[MAM_BYTES_TEXT],
		held[MAM_BYTES_TEXT], allowed[MAM_BYTES_TEXT];
	struct mam_pool *pool;
	size_t limit;

	if (!mam_log_wants(MAM_LOG_INFO) || mam_pool_stats(handle, &stats) != MAM_OK ||
	    mam_pool_limit(handle, &limit) != MAM_OK ||
	    mam_slots_enter(handle, &pool, &section) != MAM_OK)
		return;
	mam_log(MAM_LOG_INFO,
		"%s: no memory for %s: largest free block %s, live %s, physical %s, limit %s; %s",
		pool->config.name, mam_format_bytes(bytes, asked),
		mam_format_bytes(stats.largest_free_bytes, largest),
		mam_format_bytes(stats.live_rounded_bytes, used),
		mam_format_bytes(stats.physical_bytes, held),
		limit != 0 ? mam_format_bytes(limit, allowed) : "none",
		advice(pool, &stats, limit, bytes));
	mam_epoch_leave(section);
}
