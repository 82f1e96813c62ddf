/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_join_counted.c - a hash join of two tables that counts before it writes, as published;
 * join_counted.h has its kernels.
 *
 * Its own memory: both tables sorted by partition (16 bytes per tuple), counters, and the results
 * (12 bytes per row). If tables are sorted in two steps, the output of the first is freed as soon
 * as the second has read it, one table after the other.
 */
#include <string.h>

#include "bench/harness/gpu.h"
#include "join_job.h"
#include "play_join.h"

#define THREADS 256u
#define TILE 4096u
#define ROW 12u

enum { R, S, TABLES };

/* The allocations, so that all are freed on every path. */
enum { FIRST_R, FIRST_S, LAST_R, LAST_S, UPPER, LOWER, COUNTS, ROWS, OUT, TAKEN };

struct counted {
	struct case_play play;
	const struct join_play *join;
	struct device_job job;
	void *memory[TAKEN];
	uint64_t bytes[TAKEN];
};

static bool take(struct counted *counted, unsigned int which, uint64_t bytes)
{
	counted->memory[which] = case_take(&counted->play, bytes);
	counted->bytes[which] = bytes;
	return counted->memory[which] != NULL;
}

static void give(struct counted *counted, unsigned int which)
{
	case_give(&counted->play, counted->memory[which], counted->bytes[which]);
	counted->memory[which] = NULL;
}

static uint64_t address_of(const struct counted *counted, unsigned int which)
{
	return (uint64_t)(uintptr_t)counted->memory[which];
}

/* Launches enough blocks per part of the input to keep the device busy. */
static bool launch_parts(struct counted *counted, const char *kernel, uint32_t parts,
			 uint64_t tuples)
{
	const uint64_t max = tuples / TILE + 1;
	const uint64_t wanted =
		(uint64_t)join_blocks(counted->play.heap, kernel, UINT32_MAX) / parts + 1;
	const uint32_t each = (uint32_t)(wanted < max ? wanted : max);

	counted->job.seed = JOIN_SEED(counted->join->shape.kind, each);
	return case_launch(&counted->play, kernel,
			   join_blocks(counted->play.heap, kernel, (uint64_t)parts * each), THREADS,
			   &counted->job);
}

/* One step for these tables, into `to` (R's output); `within` has the partitions of the input. */
static bool in_order(struct counted *counted, uint32_t table, uint32_t tables, uint32_t shift,
		     uint32_t again, unsigned int to, unsigned int bounds)
{
	const struct join_shape *shape = &counted->join->shape;
	const uint32_t parts = again > 0 ? ((shape->total - 1) >> again) + 1 : 1;
	struct device_job *const job = &counted->job;

	job->JOIN_TABLE = table;
	job->JOIN_TABLES = tables;
	job->JOIN_SHIFT = shift;
	job->flags = JOIN_AGAIN_FLAGS(again);
	job->JOIN_WITHIN = again > 0 ? address_of(counted, UPPER) : 0;
	job->JOIN_R_TO = counted->memory[to];
	job->JOIN_S_TO = address_of(counted, to + 1);
	job->JOIN_COUNTS = counted->memory[COUNTS];
	job->JOIN_BOUNDS = address_of(counted, bounds);
	return bench_gpu_fill(job->JOIN_COUNTS, 0, counted->bytes[COUNTS]) &&
	       launch_parts(counted, "joinc_count", (tables - table) * parts, shape->n / parts) &&
	       case_launch(&counted->play, "joinc_scan", tables - table, THREADS, job) &&
	       launch_parts(counted, "joinc_scatter", (tables - table) * parts, shape->n / parts);
}

/* Both tables, in two steps. Returns false on failure or if memory ran out. */
static bool order_twice(struct counted *counted)
{
	const struct join_shape *shape = &counted->join->shape;
	const uint64_t bytes = sizeof(uint64_t) * (uint64_t)shape->n;
	uint32_t table;

	if (!take(counted, FIRST_R, bytes) || !take(counted, FIRST_S, bytes) ||
	    !in_order(counted, R, TABLES, shape->shift, 0, FIRST_R, UPPER))
		return false;
	counted->job.got = counted->memory[FIRST_R];
	counted->job.more = counted->memory[FIRST_S];
	for (table = R; table < TABLES; table++) {
		if (!take(counted, LAST_R + table, bytes) ||
		    !in_order(counted, table, table + 1, 0, shape->shift, LAST_R, LOWER))
			return false;
		give(counted, FIRST_R + table);
	}
	return true;
}

static bool order(struct counted *counted)
{
	const struct join_shape *shape = &counted->join->shape;
	const uint64_t bytes = sizeof(uint64_t) * (uint64_t)shape->n;
	const uint64_t places = sizeof(uint32_t) * TABLES * ((uint64_t)shape->total + 1);
	const bool twice = shape->shift > 0;

	if (!take(counted, COUNTS, places) || !take(counted, LOWER, places) ||
	    (twice && !take(counted, UPPER, places)))
		return false;
	if (twice ? !order_twice(counted)
		  : !take(counted, LAST_R, bytes) || !take(counted, LAST_S, bytes) ||
			    !in_order(counted, R, TABLES, 0, 0, LAST_R, LOWER))
		return false;
	give(counted, COUNTS);
	if (twice)
		give(counted, UPPER);
	counted->job.got = counted->memory[LAST_R];
	counted->job.more = counted->memory[LAST_S];
	return true;
}

static bool probe(struct counted *counted)
{
	const uint32_t total = counted->join->shape.total;
	struct device_job *const job = &counted->job;
	uint32_t rows = 0;

	if (!take(counted, ROWS, sizeof(uint32_t) * ((uint64_t)total + 1)))
		return false;
	job->JOIN_BOUNDS = address_of(counted, LOWER);
	job->JOIN_ROWS = address_of(counted, ROWS);
	job->JOIN_OUT = 0;
	job->JOIN_TABLE = 0;
	if (!join_probe(&counted->play, "joinc_probe", total, job))
		return false;
	job->JOIN_COUNTS = counted->memory[ROWS];
	job->JOIN_BOUNDS = job->JOIN_ROWS;
	if (!case_launch(&counted->play, "joinc_scan", 1, THREADS, job) ||
	    !bench_gpu_fetch(&rows, (uint32_t *)counted->memory[ROWS] + total, sizeof(rows)) ||
	    !take(counted, OUT, (uint64_t)rows * ROW))
		return false;
	job->JOIN_BOUNDS = address_of(counted, LOWER);
	job->JOIN_OUT = address_of(counted, OUT);
	job->JOIN_OUT_ROWS = rows;
	return join_probe(&counted->play, "joinc_probe", total, job);
}

bool join_once_counted(struct device_run *run, struct device_heap *heap,
		       const struct device_cell *cell, struct case_pass *pass, void *user)
{
	struct counted counted = { .play = { .run = run, .heap = heap },
				   .join = (const struct join_play *)user,
				   .job = case_job(run, heap, cell) };
	const struct join_shape *const shape = &counted.join->shape;
	const uint64_t begin = bench_now();
	unsigned int i;
	bool good;

	counted.job.got = counted.join->r;
	counted.job.more = counted.join->s;
	counted.job.askers = shape->n;
	counted.job.JOIN_TOTAL = shape->total;
	good = order(&counted) && probe(&counted);
	pass->us = counted.play.us;
	pass->wall_us = (double)(bench_now() - begin) / 1000;
	pass->peak = counted.play.peak;
	pass->none = counted.play.none;
	good = good &&
	       case_launch(&counted.play, "joinc_check",
			   join_blocks(heap, "joinc_check", UINT32_MAX), THREADS, &counted.job);
	if (!good && !pass->none)
		return false;
	for (i = 0; i < TAKEN; i++)
		give(&counted, i);
	return join_wrong(run, counted.join, pass);
}
