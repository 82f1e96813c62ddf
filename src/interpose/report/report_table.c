/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_table.c - prints the statistics as a table for people.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "interpose/report/report.h"

#include <errno.h>
#include <unistd.h>

#include <mam/filename.h>

#include "interpose/routes/init.h"
#include "interpose/routes/real.h"

static const char *const road_labels[MAM_ROAD_COUNT] = {
	[MAM_ROAD_RUNTIME] = "runtime symbol",
	[MAM_ROAD_SYMBOL] = "driver symbol",
	[MAM_ROAD_LOOKUP] = "cuGetProcAddress",
};

static const char *likely_reason(void)
{
	if (mam_init_is_awake() && mam_init_is_off())
		return "mam is disabled by MAM_DISABLE";
	if (mam_init_is_awake())
		return "it looked up CUDA functions, but called no allocation function that mam "
		       "intercepts";
	if (mam_real_is_loaded("libcuda.so") || mam_real_is_loaded("libcudart.so"))
		return "it loaded CUDA, but did not use it or bypassed mam, as a plugin opened "
		       "with RTLD_DEEPBIND does: try mam run --route=audit";
	return "it never loaded CUDA; child processes that mam was loaded into report separately";
}

static void put_row(struct mam_file_text *text, const char *label, const uint64_t *calls)
{
	mam_file_put(text, "  %-26s %12llu", label,
		     (unsigned long long)(calls[0] + calls[1] + calls[2]));
	for (int fate = 0; fate < MAM_FATE_COUNT; fate++)
		mam_file_put(text, " %12llu", (unsigned long long)calls[fate]);
	mam_file_put(text, "\n");
}

static void put_heading(struct mam_file_text *text, const char *first)
{
	mam_file_put(text, "  %-26s %12s %12s %12s %12s\n", first, "calls", "served", "forwarded",
		     "failed");
}

static void put_calls(struct mam_file_text *text, const struct mam_count_sums *counts)
{
	uint64_t roads[MAM_ROAD_COUNT][MAM_FATE_COUNT] = { { 0 } };

	put_heading(text, "function");
	for (int function = 0; function < MAM_TABLE_COUNT; function++) {
		uint64_t calls[MAM_FATE_COUNT] = { 0 };

		for (int road = 0; road < MAM_ROAD_COUNT; road++) {
			for (int fate = 0; fate < MAM_FATE_COUNT; fate++) {
				calls[fate] += counts->calls[function][road][fate];
				roads[road][fate] += counts->calls[function][road][fate];
			}
		}
		if (calls[0] + calls[1] + calls[2] != 0)
			put_row(text, mam_table_name((enum mam_table_id)function), calls);
	}
	put_heading(text, "interface");
	for (int road = 0; road < MAM_ROAD_COUNT; road++)
		if (roads[road][0] + roads[road][1] + roads[road][2] != 0)
			put_row(text, road_labels[road], roads[road]);
	for (int why = 0; why < MAM_WHY_COUNT; why++)
		if (counts->why[why] != 0)
			mam_file_put(text, "  not served by a pool: %llu, %s\n",
				     (unsigned long long)counts->why[why],
				     mam_count_why_text((enum mam_why)why));
}

/* `indent` is at the start of each line. */
static void put_memory(struct mam_file_text *text, const char *indent,
		       const struct mam_report_part *part)
{
	mam_file_put(text, "%srequested ", indent);
	mam_file_put_bytes(text, part->bytes_asked);
	mam_file_put(text, " in total; peak live ");
	mam_file_put_bytes(text, part->pools.peak_live_bytes);
	mam_file_put(text, ", peak reserved ");
	mam_file_put_bytes(text, part->pools.peak_reserved_bytes);
	mam_file_put(text, " (%.2f times peak live); %llu block%s never freed\n", part->ratio,
		     (unsigned long long)part->pools.live_blocks,
		     part->pools.live_blocks == 1 ? "" : "s");
	if (part->pools.peak_retired_bytes != 0) {
		mam_file_put(text, "%speak in quarantine (freed, waiting for the GPU): ", indent);
		mam_file_put_bytes(text, part->pools.peak_retired_bytes);
		mam_file_put(text, "\n");
	}
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++) {
		if (kind == MAM_ACCOUNT_CHUNK || part->account.peak[kind] == 0)
			continue;
		mam_file_put(text, "%soutside the pools: %s, peak ", indent,
			     mam_report_kind_text((enum mam_account_kind)kind));
		mam_file_put_bytes(text, part->account.peak[kind]);
		mam_file_put(text, "\n");
	}
}

static void put_shared(struct mam_file_text *text, const char *indent,
		       const struct mam_report_part *part)
{
	if (part->account.peak_shared == 0)
		return;
	mam_file_put(text, "%speak of all processes that share the limit: ", indent);
	mam_file_put_bytes(text, part->account.peak_shared);
	mam_file_put(text, "\n");
}

static void put_other(struct mam_file_text *text, const char *indent, const char *where,
		      const struct mam_report_part *part)
{
	if (part->account.other == 0)
		return;
	mam_file_put(text, "%sother memory in use on the %s (contexts, modules, other processes): ",
		     indent, where);
	mam_file_put_bytes(text, part->account.other);
	mam_file_put(text, " when last queried\n");
}

static void put_time(struct mam_file_text *text, double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	while (ns >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		ns /= 1000;
		unit++;
	}
	mam_file_put(text, ns < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", ns, units[unit]);
}

static void put_costs(struct mam_file_text *text, const char *indent,
		      const struct mam_report_part *part)
{
	const struct mam_chunks_costs *costs = &part->costs;

	if (costs->grows + costs->shrinks == 0)
		return;
	mam_file_put(text, "%sthe pools allocated %llu %s%s from the driver in ", indent,
		     (unsigned long long)costs->grows, costs->in_pieces ? "piece" : "chunk",
		     costs->grows == 1 ? "" : "s");
	put_time(text, (double)costs->grow_ns);
	mam_file_put(text, " and released %llu in ", (unsigned long long)costs->shrinks);
	put_time(text, (double)costs->shrink_ns);
	mam_file_put(text, "\n");
	if (part->saved_ns <= 0)
		return;
	mam_file_put(text, "%stime saved: about ", indent);
	put_time(text, part->saved_ns);
	mam_file_put(text, ", if each call had taken ");
	put_time(text, part->call_ns);
	mam_file_put(text, " (the mean of those above); the driver is faster for small blocks\n");
}

static void put_part(struct mam_file_text *text, const char *indent, const char *where,
		     const struct mam_report_part *part)
{
	put_memory(text, indent, part);
	put_shared(text, indent, part);
	put_other(text, indent, where, part);
	put_costs(text, indent, part);
}

static void put_devices(struct mam_file_text *text, const struct mam_report *report)
{
	struct mam_report_part part;

	for (int device = 0; mam_report_next_device(report, &device, &part); device++) {
		mam_file_put(text,
			     "  device %d: %llu call%s, %llu served, %llu forwarded, %llu failed\n",
			     device, (unsigned long long)part.caught, part.caught == 1 ? "" : "s",
			     (unsigned long long)part.fate[MAM_FATE_SERVED],
			     (unsigned long long)part.fate[MAM_FATE_FORWARDED],
			     (unsigned long long)part.fate[MAM_FATE_FAILED]);
		put_part(text, "    ", "device", &part);
	}
}

void mam_report_table(struct mam_file_text *text, const struct mam_report *report)
{
	const long rank = mam_filename_rank();

	if (report->all.caught == 0) {
		mam_file_put(text, "mam: intercepted no CUDA memory calls of %s (process %d): %s\n",
			     program_invocation_short_name, (int)getpid(), likely_reason());
		return;
	}
	mam_file_put(text, "mam: CUDA memory calls of %s (", program_invocation_short_name);
	if (rank >= 0)
		mam_file_put(text, "rank %ld, ", rank);
	mam_file_put(text, "process %d)\n", (int)getpid());
	put_calls(text, &report->counts);
	put_part(text, "  ", "devices", &report->all);
	put_devices(text, report);
}
