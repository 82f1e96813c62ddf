/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_compute.c - estimate what no replay measures: the memory that a cudaMalloc per block would
 * have needed, and the time of the driver for a pool's chunks if the replay used only addresses.
 *
 * The model is fitted to one H100 (driver 580), in nanoseconds, with linear interpolation:
 *
 * Blocks of up to 1 MiB are cut in steps of 512 B from slabs of 2 MiB that the driver keeps; larger
 * ones occupy whole pages of 2 MiB. The estimate is the peak of the sum of both, with small blocks
 * packed densely into slabs: the driver needs at least that. A call that cuts a piece from a slab
 * is fast. A slab, or a large block, is new memory.
 *
 * A cudaFree also waits for all work on the GPU, which cannot be estimated and is not included.
 */
#include "compare/compare.h"

#include <string.h>

#include "kit/format.h"
#include "map/map.h"

#define PAGE_BYTES ((uint64_t)2 << 20)
#define SMALL_MAX ((uint64_t)1 << 20)
#define SMALL_STEP ((uint64_t)512)
#define SMALL_TAKE_NS 2200
#define SMALL_GIVE_NS 2900

/* The cost of new memory, at the three sizes that were measured. */
struct cost {
	double at_2m, at_64m, at_1g; /* ns */
};

static const struct cost take_cost = { 49000, 78000, 242000 };
static const struct cost give_cost = { 40000, 82000, 575000 };

/* The memory that the driver has allocated. */
struct driver {
	uint64_t large_bytes;
	uint64_t small_bytes;
	uint64_t slabs; /* count: slabs that the small blocks fill */
	uint64_t peak_bytes;
	double ns;
};

static double cost_of(const struct cost *cost, uint64_t bytes)
{
	const double mebi = 1 << 20, size = (double)bytes;

	if (bytes <= PAGE_BYTES)
		return cost->at_2m;
	if (size <= 64 * mebi)
		return cost->at_2m + (cost->at_64m - cost->at_2m) * (size - 2 * mebi) / (62 * mebi);
	return cost->at_64m + (cost->at_1g - cost->at_64m) * (size - 64 * mebi) / (960 * mebi);
}

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
	return (bytes + step - 1) / step * step;
}

static void fill_slabs(struct driver *driver)
{
	const uint64_t slabs = (driver->small_bytes + PAGE_BYTES - 1) / PAGE_BYTES;

	for (; driver->slabs < slabs; driver->slabs++)
		driver->ns += cost_of(&take_cost, PAGE_BYTES);
	for (; driver->slabs > slabs; driver->slabs--)
		driver->ns += cost_of(&give_cost, PAGE_BYTES);
}

static void take(struct driver *driver, uint64_t bytes)
{
	if (bytes <= SMALL_MAX) {
		driver->small_bytes += round_up(bytes, SMALL_STEP);
		driver->ns += SMALL_TAKE_NS;
		fill_slabs(driver);
	} else {
		driver->large_bytes += round_up(bytes, PAGE_BYTES);
		driver->ns += cost_of(&take_cost, round_up(bytes, PAGE_BYTES));
	}
	if (driver->large_bytes + driver->slabs * PAGE_BYTES > driver->peak_bytes)
		driver->peak_bytes = driver->large_bytes + driver->slabs * PAGE_BYTES;
}

static void give(struct driver *driver, uint64_t bytes)
{
	if (bytes <= SMALL_MAX) {
		driver->small_bytes -= round_up(bytes, SMALL_STEP);
		driver->ns += SMALL_GIVE_NS;
		fill_slabs(driver);
	} else {
		driver->large_bytes -= round_up(bytes, PAGE_BYTES);
		driver->ns += cost_of(&give_cost, round_up(bytes, PAGE_BYTES));
	}
}

bool compare_is_size(uint64_t bytes)
{
	return bytes > 0 && bytes < UINT64_C(1) << 48;
}

uint64_t compare_peak_live(const struct replay_trace *trace)
{
	uint64_t live = 0, peak = 0;

	for (uint32_t e = 0; e < trace->event_count; e++) {
		uint64_t bytes = trace->blocks[trace->events[e] >> 1].bytes;

		if (!compare_is_size(bytes))
			continue;
		live = trace->events[e] & 1 ? live - bytes : live + bytes;
		if (live > peak)
			peak = live;
	}
	return peak;
}

void compare_compute_each(const struct replay_trace *trace, struct compare_row *row)
{
	struct driver driver = { 0 };
	uint64_t rounded = 0, live = 0;

	memset(row, 0, sizeof(*row));
	row->result.trace = trace;
	for (uint32_t e = 0; e < trace->event_count; e++) {
		uint64_t bytes = trace->blocks[trace->events[e] >> 1].bytes;

		if (!compare_is_size(bytes))
			continue;
		if (trace->events[e] & 1) {
			give(&driver, bytes);
			live -= bytes;
		} else {
			take(&driver, bytes);
			live += bytes;
		}
		if (e == trace->peak_event)
			rounded = driver.large_bytes + driver.slabs * PAGE_BYTES - live;
	}
	row->needed_bytes = driver.peak_bytes;
	row->result.waste_bytes = rounded;
	row->result.allocs = trace->block_count;
	row->result.events = trace->event_count;
	row->driver_ms = 1e-6 * driver.ns;
	row->free_blocks = -1;
	if (trace->event_count)
		row->ns_per_event = driver.ns / trace->event_count;
}

/* Estimate the time of cudaMalloc and cudaFree for chunks that were only addresses. */
static double compute_chunks(const struct compare_row *row)
{
	const struct map *map = row->map;
	uint64_t reserved = 0;
	double ns = 0;

	if (row->setting->settings.growth_bytes == REPLAY_LARGEST)
		return 1e-6 * cost_of(&take_cost, row->needed_bytes);
	for (size_t i = 0; i < map->step_count; i++) {
		uint64_t now = map->steps[i].reserved_bytes;

		if (now > reserved)
			ns += cost_of(&take_cost, now - reserved);
		else if (now < reserved)
			ns += cost_of(&give_cost, reserved - now);
		reserved = now;
	}
	return 1e-6 * ns;
}

/*
 * Use the fastest pass: the others mainly show how busy the machine was, which must not make a
 * setting look slower. The driver's share is estimated, simulated, or contained in the measured
 * time.
 */
static void compute_time(struct compare_row *row)
{
	const struct replay_settings *settings = &row->setting->settings;
	const struct replay_result *result = &row->result;
	const bool is_host = strcmp(settings->source, "host") == 0;
	double events = result->trace->event_count;

	row->driver_ms = is_host                    ? compute_chunks(row)
			 : result->end.driver_calls ? result->driver_ms
						    : -1;
	row->ns_per_event = result->ns_per_event_best;
	if ((is_host || settings->simulate) && events > 0)
		row->ns_per_event += 1e6 * row->driver_ms / events;
}

uint64_t compare_needed_at(const struct compare_row *row, const struct map_step *step)
{
	return row->setting->settings.growth_bytes == REPLAY_LARGEST ? step->high_water_bytes
								     : step->physical_bytes;
}

void compare_compute(struct compare_row *row, uint64_t peak_live_bytes)
{
	const struct replay_result *result = &row->result;

	if (row->setting) {
		const struct mam_stats *end = &result->end;

		row->needed_bytes = row->setting->settings.growth_bytes == REPLAY_LARGEST
					    ? end->high_water_bytes
					    : end->peak_physical_bytes;
		compute_time(row);
		row->free_blocks = -1;
		if (result->peak.size)
			row->free_blocks =
				format_quotient(result->peak.free_block_bytes, peak_live_bytes);
		peak_live_bytes *= row->setting->settings.threads;
		row->high_water_ratio = format_quotient(end->high_water_bytes, peak_live_bytes);
	}
	row->needed_ratio = format_quotient(row->needed_bytes, peak_live_bytes);
	row->waste = -1;
	if (!row->setting || result->peak.size)
		row->waste =
			peak_live_bytes ? (double)result->waste_bytes / (double)peak_live_bytes : 0;
}
