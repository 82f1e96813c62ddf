/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_group.c - the group-by of `mam bench case`: its cells, its input, and the host's reference
 * result. After Pham et al. (2024), section 6.2: Gaussian 32-bit keys, runs of 8 bits.
 *
 * The result is correct if the number of groups, and the sum over a digest of each group's key,
 * number of rows and sum of rows, match the reference. The host counts rows and sums them by key in
 * an array over the range of keys, once per input for all allocators.
 *
 * In a cell: `filled` rows, `rounds` the spread of keys (group_work.h), `buffers` bits of a key.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "group_play.h"

#define SPREAD 14u /* about 100,000 distinct keys among 10 million */
#define WIDE 17u   /* a million */
#define FEW 32768u /* rows, of keys of half as many bits */
#define RANGE_MAX (UINT64_C(1) << 26)
/*
 * Partly filled pages of the spread kernel's blocks: one page per bucket, for the blocks that run
 * at once.
 */
#define RESIDENT 800u

/* ---- cells ---- */

static uint64_t need_of(uint64_t rows, uint32_t spread)
{
	const uint64_t tiles = rows / GROUP_TILE + 2;
	const uint64_t open = (tiles < RESIDENT ? tiles : RESIDENT) * GROUP_BLOCK;
	uint64_t groups = (uint64_t)8 << spread;

	groups = groups < rows ? groups : rows;
	return rows * 9 + (open + groups) * GROUP_PAGE;
}

void case_plan_group(struct device_plan *plan)
{
	static const uint32_t rows[] = { 1u << 16, 1u << 20, 1u << 22, 10000000u, 1u << 26 };
	static const char *const names[] = { "64K", "1M", "4M", "10M", "64M" };
	static const uint32_t shares[] = { 1000, 500, 50 };
	struct device_cell cell = { .work = CASE_GROUP,
				    .askers = 1,
				    .lanes = 1,
				    .min = GROUP_PAGE,
				    .max = GROUP_PAGE,
				    .rounds = SPREAD };
	size_t i, k;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
			cell.filled = rows[i];
			cell.share = shares[k];
			cell.heap_bytes = case_heap_bytes(need_of(rows[i], SPREAD), shares[k]);
			cell.fine = rows[i] != 10000000u && rows[i] != 1u << 20;
			device_plan_add(plan, cell, "%s %u%%", names[i], shares[k] / 10);
		}
	}
	cell.filled = 10000000u;
	cell.share = 1000;
	cell.rounds = WIDE;
	cell.fine = true;
	cell.heap_bytes = case_heap_bytes(need_of(cell.filled, WIDE), 1000);
	device_plan_add(plan, cell, "10M wide 100%%");
}

/* ---- shared by the parts ---- */

bool group_take(struct group_case *group, struct group_memory *memory, uint64_t bytes)
{
	memory->at = case_take(&group->play, bytes);
	memory->bytes = bytes;
	return memory->at != NULL;
}

void group_give(struct group_case *group, struct group_memory *memory)
{
	case_give(&group->play, memory->at, memory->bytes);
	memory->at = NULL;
}

uint64_t group_blocks(uint64_t threads)
{
	return (threads + GROUP_BLOCK - 1) / GROUP_BLOCK;
}

bool group_run(struct group_case *group, const char *kernel, uint64_t blocks,
	       const struct group_work *work)
{
	if (blocks == 0)
		return true;
	return bench_gpu_put(group->work, work, sizeof(*work)) &&
	       case_launch(&group->play, kernel, (uint32_t)blocks, GROUP_BLOCK, &group->job);
}

bool group_beside(struct group_case *group, const char *kernel, uint64_t blocks,
		  const struct group_work *work)
{
	const double us = group->play.us;
	const bool good = group_run(group, kernel, blocks, work);

	group->play.us = us;
	return good;
}

bool group_zero(struct group_case *group, const struct group_memory *memory)
{
	struct device_job job = group->job;
	const uint64_t words = memory->bytes / sizeof(uint64_t);
	const uint64_t blocks = group_blocks(words);

	job.got = memory->at;
	job.own[1] = words;
	return case_launch(&group->play, "group_clear", blocks < 16384 ? (uint32_t)blocks : 16384,
			   GROUP_BLOCK, &job);
}

bool group_begin(struct group_case *group, struct group_work *work, unsigned int i)
{
	const uint32_t left = group->domain - i * GROUP_BITS;

	memset(work, 0, sizeof(*work));
	work->keys = group->keys;
	work->count = group->count;
	work->shift = left > GROUP_BITS ? left - GROUP_BITS : 0;
	work->mask = left > GROUP_BITS ? GROUP_BLOCK - 1 : (1u << left) - 1;
	work->totals = group->totals;
	return bench_gpu_fill(group->totals, 0, sizeof(*group->totals));
}

bool group_come_to(struct group_case *group, struct group_totals *totals)
{
	return bench_gpu_fetch(totals, group->totals, sizeof(*totals));
}

/* ---- the reference ---- */

static struct {
	uint32_t count, spread, domain; /* of the input */
	uint64_t groups, digest;
} reference;

/* Returns false if the host had too little memory, or the range of keys is too large. */
static bool compute(uint32_t count, uint32_t spread, uint32_t domain)
{
	uint32_t min = UINT32_MAX, max = 0, i, key;
	uint64_t *sums;
	uint32_t *counts;

	if (reference.count == count && reference.spread == spread && reference.domain == domain)
		return true;
	if (spread == GROUP_UNIFORM) {
		min = 0;
		max = (1u << (domain - 1)) * 2 - 1;
	} else {
		/*
		 * Four numbers below the width, less half of their range; the width is below 2
		 * sigma.
		 */
		min = (1u << (domain - 1)) - (spread != GROUP_EQUAL ? 4u << spread : 0);
		max = (1u << (domain - 1)) + (spread != GROUP_EQUAL ? 4u << spread : 8);
	}
	if ((uint64_t)max - min >= RANGE_MAX)
		return false;
	sums = calloc((size_t)(max - min) + 1, sizeof(*sums));
	counts = calloc((size_t)(max - min) + 1, sizeof(*counts));
	if (sums != NULL && counts != NULL) {
		for (i = 0; i < count; i++) {
			key = group_key(i, spread, domain) - min;
			sums[key] += i;
			counts[key]++;
		}
		reference.count = count;
		reference.spread = spread;
		reference.domain = domain;
		reference.groups = reference.digest = 0;
		for (key = 0; key <= max - min; key++) {
			reference.groups += counts[key] > 0;
			if (counts[key] > 0)
				reference.digest += group_digest(min + key, counts[key], sums[key]);
		}
	}
	free(sums);
	free(counts);
	return sums != NULL && counts != NULL;
}

/* ---- a pass ---- */

/* Compares the kernels' values of the result with the reference: counts 1 for each that differs. */
static bool compare(struct device_run *run, struct group_case *group, struct case_pass *pass)
{
	struct device_found found;
	struct case_told told;

	if (!device_count_end(run, &found))
		return false;
	memcpy(&told, &found, sizeof(told));
	pass->none = group->play.none;
	if (!pass->none && told.none == 0)
		pass->wrong = (told.own[0] != reference.groups) +
			      (told.own[1] != reference.digest) + (told.own[2] != group->count);
	pass->wrong += told.live != 0;
	return true;
}

static bool once(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
		 struct case_pass *pass, void *user)
{
	struct group_case group = *(const struct group_case *)user;
	const bool counted = case_is_reserved(heap->allocator);
	const uint64_t began = bench_now();

	group.play = (struct case_play){ .run = run, .heap = heap };
	group.job = case_job(run, heap, cell);
	group.job.flags = pass->counts ? CASE_COUNT : 0;
	group.job.own[0] = (uint64_t)(uintptr_t)group.work;
	if (!(counted ? group_play_counts(&group, strcmp(heap->allocator->name, CASE_COMPACT) == 0)
		      : group_play_pages(&group)))
		return false;
	pass->us = group.play.us;
	pass->wall_us = (double)(bench_now() - began) / 1000;
	pass->peak = group.play.peak;
	return compare(run, &group, pass);
}

bool case_play_group(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell)
{
	struct group_case group = { .count = cell->filled, .domain = cell->buffers };
	uint32_t spread = cell->rounds;
	struct device_job job = case_job(run, heap, cell);
	bool good;

	/* A small run has few rows, and 2^32 counters would take longer than everything else. */
	if (group.domain == 0)
		group.domain = cell->filled <= FEW ? 16 : 32;
	if (group.domain < 32 && spread < GROUP_EQUAL && spread + 3 >= group.domain)
		spread = group.domain - 4;
	if (!compute(group.count, spread, group.domain)) {
		device_note(run, heap, cell, "the host has too little memory for the reference");
		return true;
	}
	group.keys = bench_gpu_take(sizeof(uint32_t) * (uint64_t)group.count + 1);
	group.work = bench_gpu_take(sizeof(*group.work));
	group.totals = bench_gpu_take(sizeof(*group.totals));
	group.resident = bench_gpu_resident(
		bench_gpu_kernel(heap->module,
				 case_is_reserved(heap->allocator) ? "group_move" : "group_spread"),
		GROUP_BLOCK);
	group.exactly = !heap->allocator->one_size && cell->share == 1000;
	if (group.keys == NULL || group.work == NULL || group.totals == NULL) {
		device_note(run, heap, cell, "the device has too little free memory for that");
		good = true;
	} else {
		job.numbers = group.keys;
		job.own[1] = group.count;
		job.own[2] = spread;
		job.own[3] = group.domain;
		good = device_launch_as(heap, "group_fill",
					1024 < group_blocks(group.count)
						? 1024
						: (uint32_t)group_blocks(group.count),
					GROUP_BLOCK, &job, NULL) &&
		       case_runs(run, heap, cell, once, &group);
	}
	bench_gpu_give(group.keys);
	bench_gpu_give(group.work);
	bench_gpu_give(group.totals);
	return good;
}
