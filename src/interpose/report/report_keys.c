/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_keys.c - prints the statistics for programs: lines of key, tab, value (mam-run.1,
 * STATISTICS).
 */
#include "interpose/report/report.h"

#include <stdio.h>
#include <unistd.h>

#include <mam/filename.h>

/* `device` is "" or "device.0." and the like. */
static void put(struct mam_file_text *text, const char *device, const char *key, uint64_t value)
{
	mam_file_put(text, "%s%s\t%llu\n", device, key, (unsigned long long)value);
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

static void put_account(struct mam_file_text *text, const char *device,
			const struct mam_account_sums *account)
{
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++)
		if (kind != MAM_ACCOUNT_HOST || device[0] == '\0')
			mam_file_put(text, "%speak_%s_bytes\t%llu\n", device,
				     mam_report_kind_key((enum mam_account_kind)kind),
				     (unsigned long long)account->peak[kind]);
	put(text, device, "peak_together_bytes", account->peak_together);
	if (account->peak_shared != 0)
		put(text, device, "peak_shared_bytes", account->peak_shared);
	put(text, device, "other_bytes", account->other);
}

static void put_part(struct mam_file_text *text, const char *device,
		     const struct mam_report_part *part)
{
	put(text, device, "served", part->fate[MAM_FATE_SERVED]);
	put(text, device, "forwarded", part->fate[MAM_FATE_FORWARDED]);
	put(text, device, "failed", part->fate[MAM_FATE_FAILED]);
	put(text, device, "bytes_asked", part->bytes_asked);
	put(text, device, "pools", part->pools.pools);
	put(text, device, "allocs", part->pools.allocs);
	put(text, device, "frees", part->pools.frees);
	put(text, device, "live_blocks", part->pools.live_blocks);
	put(text, device, "live_bytes", part->pools.live_bytes);
	put(text, device, "peak_live_bytes", part->pools.peak_live_bytes);
	put(text, device, "peak_reserved_bytes", part->pools.peak_reserved_bytes);
	put(text, device, "retired_peak_bytes", part->pools.peak_retired_bytes);
	mam_file_put(text, "%sreserved_ratio\t%.4f\n", device, part->ratio);
	put_account(text, device, &part->account);
	put(text, device, "driver_grows", part->costs.grows);
	put(text, device, "driver_grow_ns", part->costs.grow_ns);
	put(text, device, "driver_shrinks", part->costs.shrinks);
	put(text, device, "driver_shrink_ns", part->costs.shrink_ns);
	put(text, device, "saved_ns", (uint64_t)part->saved_ns);
}

void mam_report_keys(struct mam_file_text *text, const struct mam_report *report)
{
	const long rank = mam_filename_rank();
	struct mam_report_part part;

	put(text, "", "pid", (uint64_t)getpid());
	if (rank >= 0)
		put(text, "", "rank", (uint64_t)rank);
	put(text, "", "calls_caught", report->all.caught);
	put(text, "", "calls_runtime", report->road[MAM_ROAD_RUNTIME]);
	put(text, "", "calls_driver", report->road[MAM_ROAD_SYMBOL]);
	put(text, "", "calls_lookup", report->road[MAM_ROAD_LOOKUP]);
	put_part(text, "", &report->all);
	for (int device = 0; mam_report_next_device(report, &device, &part); device++) {
		char name[24];

		snprintf(name, sizeof(name), "device.%d.", device);
		put(text, name, "calls_caught", part.caught);
		put_part(text, name, &part);
	}
	put_calls(text, &report->counts);
}
