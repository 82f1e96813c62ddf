/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_keys.c - prints the statistics for programs: lines of key, tab, value (mam-run.1,
 * STATISTICS).
 */
#include "interpose/report/report.h"

#include <unistd.h>

#include <mam/filename.h>

static void put(struct mam_file_text *text, const char *key, uint64_t value)
{
	mam_file_put(text, "%s\t%llu\n", key, (unsigned long long)value);
}

static void put_calls(struct mam_file_text *text, const struct mam_count_sums *counts)
{
	static const char *const fates[] = { "served", "forwarded", "failed" };

	for (int function = 0; function < MAM_TABLE_COUNT; function++) {
		const char *name = mam_table_name((enum mam_table_id)function);

		for (int road = 0; road < MAM_ROAD_COUNT; road++) {
			const char *route = mam_report_road_key((enum mam_road)road);
			const uint64_t *calls = counts->calls[function][road];
			uint64_t sum = calls[0] + calls[1] + calls[2];

			if (sum == 0)
				continue;
			mam_file_put(text, "call.%s.%s\t%llu\n", name, route,
				     (unsigned long long)sum);
			for (int fate = 0; fate < MAM_FATE_COUNT; fate++)
				if (calls[fate] != 0)
					mam_file_put(text, "call.%s.%s.%s\t%llu\n", name, route,
						     fates[fate], (unsigned long long)calls[fate]);
		}
		if (counts->bytes[function] != 0)
			mam_file_put(text, "bytes.%s\t%llu\n", name,
				     (unsigned long long)counts->bytes[function]);
	}
	for (int why = 0; why < MAM_WHY_COUNT; why++)
		if (counts->why[why] != 0)
			mam_file_put(text, "why.%s\t%llu\n", mam_count_why_key((enum mam_why)why),
				     (unsigned long long)counts->why[why]);
}

static void put_account(struct mam_file_text *text, const struct mam_account_sums *account)
{
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++)
		mam_file_put(text, "peak_%s_bytes\t%llu\n",
			     mam_report_kind_key((enum mam_account_kind)kind),
			     (unsigned long long)account->peak[kind]);
	put(text, "peak_together_bytes", account->peak_together);
	put(text, "other_bytes", account->other);
}

void mam_report_keys(struct mam_file_text *text, const struct mam_report *report)
{
	const long rank = mam_filename_rank();

	put(text, "pid", (uint64_t)getpid());
	if (rank >= 0)
		put(text, "rank", (uint64_t)rank);
	put(text, "calls_caught", report->caught);
	put(text, "calls_runtime", report->road[MAM_ROAD_RUNTIME]);
	put(text, "calls_driver", report->road[MAM_ROAD_SYMBOL]);
	put(text, "calls_lookup", report->road[MAM_ROAD_LOOKUP]);
	put(text, "served", report->fate[MAM_FATE_SERVED]);
	put(text, "forwarded", report->fate[MAM_FATE_FORWARDED]);
	put(text, "failed", report->fate[MAM_FATE_FAILED]);
	put(text, "bytes_asked", report->bytes_asked);
	put(text, "pools", report->pools.pools);
	put(text, "allocs", report->pools.allocs);
	put(text, "frees", report->pools.frees);
	put(text, "live_blocks", report->pools.live_blocks);
	put(text, "live_bytes", report->pools.live_bytes);
	put(text, "peak_live_bytes", report->pools.peak_live_bytes);
	put(text, "peak_reserved_bytes", report->pools.peak_reserved_bytes);
	put(text, "retired_peak_bytes", report->pools.peak_retired_bytes);
	mam_file_put(text, "reserved_ratio\t%.4f\n", report->ratio);
	put_account(text, &report->account);
	put(text, "driver_grows", report->costs.grows);
	put(text, "driver_grow_ns", report->costs.grow_ns);
	put(text, "driver_shrinks", report->costs.shrinks);
	put(text, "driver_shrink_ns", report->costs.shrink_ns);
	put(text, "saved_ns", (uint64_t)report->saved_ns);
	put_calls(text, &report->counts);
}
