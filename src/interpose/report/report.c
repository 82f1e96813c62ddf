/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - the numbers of the statistics.
 *
 * They are computed from host memory alone, without malloc() and without stdio's buffers, because a
 * program may end anywhere (end.c).
 *
 * Statistics have two forms: a table on standard error for people (report_table.c), and lines of
 * key, tab, value in MAM_STATS_FILE for programs (report_keys.c).
 *
 * Time saved: without the pools, each call that a pool served would have been a call of the driver.
 * The cost of such a call is known from the chunks, which are large, so the result is rather too
 * high. It is printed as "about", and omitted if fewer than three calls were timed. The time that
 * the pools spent in the driver is subtracted.
 */
#include "interpose/report/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <mam/options.h>

#include "interpose/process/say.h"

#define TIMED_MIN 3 /* driver calls needed for a meaningful average */

static const char *const road_keys[MAM_ROAD_COUNT] = {
	[MAM_ROAD_RUNTIME] = "runtime",
	[MAM_ROAD_SYMBOL] = "driver",
	[MAM_ROAD_LOOKUP] = "lookup",
};

static const struct {
	const char *key;
	const char *text;
} kinds[MAM_ACCOUNT_COUNT] = {
	[MAM_ACCOUNT_CHUNK] = { "chunks", "chunks of pools" },
	[MAM_ACCOUNT_DIRECT] = { "direct", "blocks from the driver" },
	[MAM_ACCOUNT_ASYNC] = { "async", "stream-ordered memory" },
	[MAM_ACCOUNT_MANAGED] = { "managed", "managed memory" },
	[MAM_ACCOUNT_PHYSICAL] = { "physical", "memory of cuMemCreate" },
	[MAM_ACCOUNT_GRAPH] = { "graphs", "graph memory" },
	[MAM_ACCOUNT_ARRAY] = { "arrays", "arrays" },
	[MAM_ACCOUNT_HOST] = { "host", "pinned host memory" },
};

const char *mam_report_road_key(enum mam_road road)
{
	return road_keys[road];
}

const char *mam_report_kind_key(enum mam_account_kind kind)
{
	return kinds[kind].key;
}

const char *mam_report_kind_text(enum mam_account_kind kind)
{
	return kinds[kind].text;
}

static void collect_calls(struct mam_report *report)
{
	for (int function = 0; function < MAM_TABLE_COUNT; function++) {
		report->all.bytes_asked += report->counts.bytes[function];
		for (int road = 0; road < MAM_ROAD_COUNT; road++) {
			for (int fate = 0; fate < MAM_FATE_COUNT; fate++) {
				uint64_t calls = report->counts.calls[function][road][fate];

				report->all.caught += calls;
				report->road[road] += calls;
				report->all.fate[fate] += calls;
			}
		}
	}
}

/* If there are too few calls of one kind for an average, returns the average of both kinds. */
static double mean(uint64_t ns, uint64_t calls, double of_both)
{
	return calls < TIMED_MIN ? of_both : (double)ns / (double)calls;
}

static void estimate_saving(struct mam_report_part *part)
{
	const struct mam_chunks_costs *costs = &part->costs;
	uint64_t timed = costs->grows + costs->shrinks,
		 calls = part->pools.allocs + part->pools.frees;
	double spent = (double)(costs->grow_ns + costs->shrink_ns), both, instead;

	if (timed < TIMED_MIN || calls == 0)
		return;
	both = spent / (double)timed;
	instead = (double)part->pools.allocs * mean(costs->grow_ns, costs->grows, both) +
		  (double)part->pools.frees * mean(costs->shrink_ns, costs->shrinks, both);
	part->call_ns = instead / (double)calls;
	part->saved_ns = instead > spent ? instead - spent : 0;
}

/* device below 0: all */
static void collect_memory(int device, struct mam_report_part *part)
{
	mam_pools_sum(device, &part->pools);
	mam_account_sum(device, &part->account);
	mam_chunks_cost(device, &part->costs);
	if (part->pools.peak_live_bytes != 0)
		part->ratio = (double)part->pools.peak_reserved_bytes /
			      (double)part->pools.peak_live_bytes;
	estimate_saving(part);
}

/* Pinned host memory belongs to no device. */
static bool is_used(int device)
{
	struct mam_pools_sums pools;
	struct mam_account_sums account;

	mam_pools_sum(device, &pools);
	mam_account_sum(device, &account);
	for (int kind = 0; kind < MAM_ACCOUNT_COUNT; kind++)
		if (kind != MAM_ACCOUNT_HOST && account.peak[kind] != 0)
			return true;
	return pools.pools != 0;
}

void mam_report_collect(struct mam_report *report)
{
	memset(report, 0, sizeof(*report));
	mam_count_sum(&report->counts);
	collect_calls(report);
	collect_memory(-1, &report->all);
	for (int device = 0; device < MAM_WATCH_DEVICES_MAX; device++)
		report->devices |= (uint64_t)is_used(device) << device;
}

bool mam_report_next_device(const struct mam_report *report, int *device,
			    struct mam_report_part *part)
{
	struct mam_count_device counts;

	while (*device < MAM_WATCH_DEVICES_MAX && (report->devices >> *device & 1) == 0)
		++*device;
	if (*device == MAM_WATCH_DEVICES_MAX || (report->devices & (report->devices - 1)) == 0)
		return false;
	memset(part, 0, sizeof(*part));
	mam_count_sum_device(*device, &counts);
	for (int fate = 0; fate < MAM_FATE_COUNT; fate++) {
		part->fate[fate] = counts.calls[fate];
		part->caught += counts.calls[fate];
	}
	part->bytes_asked = counts.bytes;
	collect_memory(*device, part);
	part->account.peak[MAM_ACCOUNT_HOST] = 0;
	return true;
}

static int write_keys(const struct mam_report *report, const char *path)
{
	struct mam_file_text text = { .number = -1 };
	struct mam_file file;
	int error = mam_file_open(path, &file);

	if (error != 0)
		return error;
	text.file = &file;
	mam_report_keys(&text, report);
	error = mam_file_flush(&text);
	if (error == 0)
		error = mam_file_publish(&file);
	return mam_file_close(&file) != 0 && error == 0 ? errno : error;
}

void mam_report_statistics(void)
{
	const char *path = mam_option_value("MAM_STATS_FILE");
	static struct mam_report report; /* a process exits only once */
	int error;

	mam_report_collect(&report);
	if (report.all.caught == 0 && !mam_file_is_started_one())
		return;
	/* No file without calls: it might replace that of another process of the rank. */
	if (path == NULL || path[0] == '\0' ||
	    (report.all.caught == 0 && mam_file_is_of_rank(path))) {
		struct mam_file_text text = { .number = STDERR_FILENO };

		mam_report_table(&text, &report);
		mam_file_flush(&text);
		return;
	}
	error = write_keys(&report, path);
	if (error != 0)
		mam_say(MAM_SAY_ERROR, "cannot write statistics to '%s': %s", path,
			mam_file_error(error));
}
