/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_device_reuse.c - `mam bench device` on a simulated GPU: the workloads in which freed
 * memory serves other sizes and other lanes. Counters have the results that are computed here, and
 * a broken allocator has none.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/device/device_allocators.h"
#include "bench/device/device_time.h"
#include "bench/harness/gpu.h"
#include "device_player.h"
#include "tools/bench/sim/device_sim.h"

#define KIB UINT64_C(1024)

extern const unsigned char mam_device_checks_fatbin[], mam_device_mam_fatbin[];

/* ---- the plan ---- */

static unsigned int count_cells(unsigned int work, const struct device_allocator *allocator)
{
	struct device_plan plan;
	unsigned int count = 0;
	size_t i;

	device_plan_make(&plan);
	for (i = 0; i < plan.count; i++)
		count += plan.cells[i].work == work &&
			 (allocator == NULL || device_plan_takes_part(allocator, &plan.cells[i]));
	return count;
}

static const struct device_allocator *allocator_of(const char *name)
{
	size_t i;

	for (i = 0; i < device_allocator_count; i++) {
		if (strcmp(device_allocators[i].name, name) == 0)
			return &device_allocators[i];
	}
	ck_abort_msg("there is no %s", name);
	return NULL;
}

/* Which cells each kind of allocator plays: any sizes; one size; no free; CUDA's own. */
START_TEST(every_allocator_has_its_cells)
{
	static const struct {
		unsigned int work, all, mam, rw, bump, cuda;
	} works[] = {
		{ DEVICE_REUSE, 12, 12, 0, 3, 0 },    { DEVICE_CHURN, 2, 2, 0, 0, 1 },
		{ DEVICE_EXCHANGE, 3, 3, 0, 0, 1 },   { DEVICE_FAIL, 2, 2, 1, 2, 0 },
		{ DEVICE_SMALL, 12, 12, 12, 12, 12 },
	};

	ck_assert_uint_eq(count_cells(works[_i].work, NULL), works[_i].all);
	ck_assert_uint_eq(count_cells(works[_i].work, allocator_of("mam")), works[_i].mam);
	ck_assert_uint_eq(count_cells(works[_i].work, allocator_of("rw")), works[_i].rw);
	ck_assert_uint_eq(count_cells(works[_i].work, allocator_of("bump")), works[_i].bump);
	ck_assert_uint_eq(count_cells(works[_i].work, allocator_of("cuda-malloc")), works[_i].cuda);
}
END_TEST

/* The arrays have a place for each request of the cells, also of reduced ones. */
START_TEST(every_request_has_a_place)
{
	struct device_plan plan;
	size_t i;

	device_plan_make(&plan);
	for (i = 0; i < plan.count; i++) {
		struct device_cell cell = plan.cells[i];
		const uint64_t mean = ((uint64_t)cell.min + cell.max) / 2;

		if (_i == 1)
			device_plan_shrink(&cell, 16384);
		if (_i == 1 && (cell.work == DEVICE_REUSE || cell.work == DEVICE_CHURN ||
				cell.work == DEVICE_EXCHANGE || cell.work == DEVICE_FAIL))
			ck_assert_uint_le(cell.heap_bytes, 64 << 20);
		if (_i == 1 && cell.work != DEVICE_W6)
			ck_assert(cell.askers <= 16384 || cell.work <= DEVICE_SCALE ||
				  cell.work == DEVICE_FRAGMENT || cell.work == DEVICE_START ||
				  cell.work == DEVICE_GENERATE);
		ck_assert_uint_ge(device_plan_places(&cell), cell.askers);
		if (cell.work == DEVICE_REUSE)
			ck_assert_uint_gt(device_plan_places(&cell),
					  cell.heap_bytes / mean + cell.heap_bytes / cell.then);
		if (cell.work == DEVICE_FAIL)
			ck_assert_uint_gt(device_plan_places(&cell), cell.heap_bytes / mean);
		if (cell.work == DEVICE_CHURN) /* a share of the heap is live */
			ck_assert_uint_le(cell.askers * mean, cell.heap_bytes / 1000 * cell.share);
		if (cell.work == DEVICE_EXCHANGE)
			ck_assert_uint_ge(device_plan_places(&cell) * mean,
					  cell.heap_bytes / 1000 * cell.share * 99 / 100);
	}
}
END_TEST

/* ---- reuse ---- */

static struct device_cell reuse_cell(uint32_t group, uint32_t share, uint32_t then)
{
	struct device_cell cell = player_cell(DEVICE_REUSE, 64, 16, 512, 1);

	cell.heap_bytes = PLAYER_HEAP / 4;
	cell.group = group;
	cell.share = share;
	cell.then = then;
	return cell;
}

/* Counters leave all memory after the last object: they get all of it. */
START_TEST(counters_get_all_the_memory_that_is_left)
{
	const struct device_cell cell = reuse_cell(0, 250, 1024);

	player_play("bump", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_eq(player_value("bump", "wrong"), 0);
	ck_assert_double_eq_tol(player_value("bump", "live_ratio"), 0.25, 0.01);
	/* Except for bytes to the next multiple of 16, and the last, incomplete object. */
	ck_assert_double_le(player_value("bump", "free_ratio"), 1);
	ck_assert_double_gt(player_value("bump", "free_ratio"), 0.96);
	ck_assert_double_eq(player_value("bump", "room_ratio"), 1);
	ck_assert_double_gt(player_value("bump", "us"), 0);
	ck_assert_double_eq(player_value("bump", "none"), -1);
	player_play("bump", reuse_cell(1, 750, 1024));
	ck_assert_double_eq(player_value("bump", "wrong"), -1);
}
END_TEST

START_TEST(larger_objects_get_freed_memory)
{
	static const uint32_t cells[][3] = {
		/* neighbors, share, bytes */
		{ 0, 250, 4096 },  { 1, 750, 1024 },  { 16, 750, 1024 },
		{ 64, 750, 1024 }, { 1, 1000, 4096 },
	};
	const struct device_cell cell = reuse_cell(cells[_i][0], cells[_i][1], cells[_i][2]);

	player_play("mam", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_msg(player_value("mam", "wrong") == 0, "%s", player_notes);
	ck_assert_double_ge(player_value("mam", "free_ratio"), 0);
	ck_assert_double_le(player_value("mam", "free_ratio"), 1);
	ck_assert_double_le(player_value("mam", "room_ratio"), 1);
	ck_assert_double_gt(player_value("mam", "us"), 0);
	if (cells[_i][1] == 1000) { /* all are free */
		ck_assert_double_eq(player_value("mam", "live_ratio"), 0);
		ck_assert_double_gt(player_value("mam", "free_ratio"), 0.95);
	} else {
		ck_assert_double_gt(player_value("mam", "live_ratio"), 0.15);
		ck_assert_double_lt(player_value("mam", "live_ratio"), 0.3);
	}
	player_play("example", cell);
	ck_assert_msg(player_value("example", "wrong") == 0, "%s", player_notes);
	player_play("broken", cell);
	player_check_broken("free_ratio");
}
END_TEST

/* An adapter's heap may be larger than the cell's, as here. */
static const char *make_larger(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	return device_ours_make(heap, 64 * bytes, object_bytes);
}

static const struct device_allocator larger[] = {
	{ .name = "larger",
	  .role = DEVICE_ADDED,
	  .module = mam_device_mam_fatbin,
	  .frees = true,
	  .make = make_larger,
	  .end = device_ours_end,
	  .reset = device_ours_reset },
};
static const size_t larger_count = 1;
static const struct device_suite suite_larger = {
	.prefix = "device",
	.allocators = larger,
	.allocator_count = &larger_count,
	.works = device_works,
	.work_count = DEVICE_WORKS,
	.takes_part = device_plan_takes_part,
	.places = device_plan_places,
};

START_TEST(heap_that_is_not_full_has_no_results)
{
	struct device_cell cell =
		_i == 0 ? reuse_cell(1, 750, 1024) : player_cell(DEVICE_FAIL, 64, 16, 16, 1);

	player_setup_suite(&suite_larger);
	cell.heap_bytes = 64 * KIB;
	player_play("larger", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_ptr_nonnull(strstr(player_notes, "larger than that of the cell"));
	ck_assert_double_eq(player_value("larger", "us"), -1);
	ck_assert_double_eq(player_value("larger", "free_ratio"), -1);
}
END_TEST

/* ---- release, on its own ---- */

#define OBJECTS 96

static uint64_t got[OBJECTS], more[OBJECTS];
static uint32_t numbers[OBJECTS];
static struct device_found found;

static void launch(void *module, const char *kernel, struct device_job *job)
{
	memset(&found, 0, sizeof(found));
	job->found = &found;
	ck_assert_msg(bench_gpu_run(bench_gpu_kernel(module, kernel), kernel, 1, 128, job, NULL),
		      "%s", bench_gpu_trouble());
}

/* Fills it with OBJECTS objects of mixed sizes. */
static struct device_job start_heap(struct device_heap *heap)
{
	struct device_job job = { .askers = 32,
				  .lanes = 32,
				  .min = 16,
				  .max = 128,
				  .count = OBJECTS,
				  .got = got,
				  .more = more,
				  .numbers = numbers };
	char why[64];
	uint32_t i;

	*heap = (struct device_heap){ .allocator = allocator_of("mam") };
	heap->module = bench_gpu_module(mam_device_mam_fatbin, why, sizeof(why));
	ck_assert_ptr_null(heap->allocator->make(heap, PLAYER_HEAP, 0));
	job.heap = heap->heap;
	launch(heap->module, "exhaust", &job);
	/* Each request is counted once, and each of the 32 askers sees the limit. */
	ck_assert_uint_eq(found.spare[0], OBJECTS + 32);
	ck_assert_uint_eq(found.objects, OBJECTS);
	ck_assert_uint_eq(found.none, 0);
	for (i = 0; i < OBJECTS; i++) {
		ck_assert_uint_eq(numbers[i], device_bytes_of(&job, i));
		ck_assert_uint_ne(got[i], 0);
	}
	return job;
}

/* Neighbors are freed together, and the share is exact. */
START_TEST(groups_of_neighbors_are_freed)
{
	static const uint32_t groups[] = { 1, 8, 96, 200 }, freed[] = { 72, 72, 0, 0 };
	const uint32_t group = groups[_i];
	struct device_heap heap;
	struct device_job job = start_heap(&heap);
	uint32_t i, count = 0, changes = 0;

	job.rounds = group;
	job.flags = 750;
	launch(heap.module, "release", &job);
	for (i = 0; i < OBJECTS; i++) {
		count += got[i] == 0;
		ck_assert_int_eq(got[i] == 0, got[i / group * group] == 0);
		changes += i > 0 && (got[i] == 0) != (got[i - 1] == 0);
	}
	ck_assert_uint_eq(count, freed[_i]);
	if (count > 0) /* they are not all at one end */
		ck_assert_uint_gt(changes, 1);
	heap.allocator->end(&heap);
}
END_TEST

/* Objects that stay are those that were there, and all others are new ones. */
START_TEST(half_of_the_objects_are_exchanged)
{
	struct device_heap heap;
	struct device_job job = start_heap(&heap);
	uint64_t before[OBJECTS];
	uint32_t i, stayed = 0;

	memcpy(before, got, sizeof(before));
	job.askers = OBJECTS;
	job.seed = 3;
	launch(heap.module, "swap", &job);
	ck_assert_uint_eq(found.none, 0);
	for (i = 0; i < OBJECTS; i++) {
		ck_assert_uint_ne(got[i], 0);
		if (more[i] != 0) {
			stayed++;
			ck_assert_uint_eq(more[i], before[i]);
			ck_assert_uint_eq(got[i], before[i]);
		} else {
			ck_assert_uint_eq(numbers[i], device_bytes_of(&job, i));
		}
	}
	ck_assert_uint_gt(stayed, OBJECTS / 3);
	ck_assert_uint_lt(stayed, OBJECTS * 2 / 3);
	heap.allocator->end(&heap);
}
END_TEST

/* Sizes of the checks may be given one by one. */
START_TEST(checks_use_the_given_sizes)
{
	static _Alignas(64) unsigned char space[4096];
	static uint64_t map[sizeof(space) / DEVICE_GRAIN / 64 + 2];
	static const uint32_t sizes[2] = { 32, 48 };
	struct device_job job = { .askers = 2,
				  .lanes = 32,
				  .min = 16,
				  .max = 16,
				  .flags = 1,
				  .got = got,
				  .map = map,
				  .sizes = sizes,
				  .low = (uint64_t)(uintptr_t)space,
				  .high = (uint64_t)(uintptr_t)space + sizeof(space) };
	char why[64];
	void *module = bench_gpu_module(mam_device_checks_fatbin, why, sizeof(why));

	memset(got, 0, sizeof(got));
	got[0] = job.low;
	got[1] = job.low + (_i == 0 ? 32 : 16);
	launch(module, "check_mark", &job);
	ck_assert_uint_eq(found.twice, (unsigned int)_i);
	ck_assert_uint_eq(found.bytes, 80);
	memset(space, 0x5a, sizeof(space));
	launch(module, "check_write", &job);
	ck_assert_uint_ne(space[got[1] - job.low + 47], 0x5a);
	ck_assert_uint_eq(space[got[1] - job.low + 48], 0x5a);
	space[got[1] - job.low + 47] ^= 1;
	launch(module, "check_read", &job);
	ck_assert_uint_eq(found.corrupt, 1 + (unsigned int)_i);
}
END_TEST

/* A work that damages one object between the two checks. */
static bool play_damage(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell)
{
	struct device_verdict intact = { .none = 0 }, damaged = intact, freed = intact;
	struct device_job job;
	uint32_t *object;

	device_ask(run, heap, cell, &job);
	if (!device_launch(heap, "get", &job, NULL) || !device_look(run, heap, &job, &intact) ||
	    !device_look_again(run, heap, &job, &intact))
		return false;
	object = (uint32_t *)(uintptr_t)job.got[5];
	object[cell->max / 4 - 1] ^= 1;
	if (!device_look_again(run, heap, &job, &damaged))
		return false;
	job.got[5] = 0;
	if (!device_look_again(run, heap, &job, &freed))
		return false;
	device_row(run, heap, cell, "intact", (double)intact.wrong);
	device_row(run, heap, cell, "damaged", (double)damaged.wrong);
	device_row(run, heap, cell, "freed", (double)freed.wrong);
	return true;
}

START_TEST(damage_after_the_first_check_is_found)
{
	static const struct device_work works[] = { { "damage", "", NULL, play_damage } };
	struct device_suite suite = suite_larger;

	suite.works = works;
	suite.work_count = 1;
	player_setup_suite(&suite);
	player_play("larger", player_cell(0, 32, 64, 64, 1));
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_eq(player_value("larger", "intact"), 0);
	ck_assert_double_eq(player_value("larger", "damaged"), 1);
	ck_assert_double_eq(player_value("larger", "freed"), 0);
}
END_TEST

/* ---- extents ---- */

static uint64_t room_of(uint64_t (*ranges)[2], size_t count, uint64_t low, uint64_t high,
			uint64_t bytes)
{
	struct device_extent of[4];
	struct device_extents extents = { .of = of, .count = count };
	size_t i;

	for (i = 0; i < count; i++)
		of[i] = (struct device_extent){ ranges[i][0], ranges[i][1] };
	return device_extents_room(&extents, low, high, bytes);
}

START_TEST(room_between_objects_is_computed)
{
	uint64_t ranges[][2] = { { 96, 100 }, { 144, 160 }, { 160, 200 } };

	ck_assert_uint_eq(room_of(NULL, 0, 0, 256, 64), 4);
	ck_assert_uint_eq(room_of(NULL, 0, 1, 256, 64), 3); /* 240 bytes from 16 */
	ck_assert_uint_eq(room_of(NULL, 0, 0, 255, 64), 3);
	/* 0 to 96, 112 to 144, 208 to 256 */
	ck_assert_uint_eq(room_of(ranges, 3, 0, 256, 16), 6 + 2 + 3);
	ck_assert_uint_eq(room_of(ranges, 3, 0, 256, 32), 3 + 1 + 1);
	ck_assert_uint_eq(room_of(ranges, 3, 0, 256, 48), 2 + 0 + 1);
	ck_assert_uint_eq(room_of(ranges, 3, 0, 200, 16), 6 + 2);
	ck_assert_uint_eq(room_of(ranges, 3, 96, 256, 64), 0);
}
END_TEST

START_TEST(objects_are_fetched_in_address_order)
{
	struct device_job job = { .askers = 4, .got = got, .numbers = numbers };
	struct device_extents extents;

	memset(got, 0, sizeof(got));
	got[0] = 5000;
	got[2] = 70;
	got[3] = 900;
	numbers[0] = 8;
	numbers[1] = 99;
	numbers[2] = 16;
	numbers[3] = 100;
	ck_assert(device_extents_fetch(&job, &extents));
	ck_assert_uint_eq(extents.count, 3);
	ck_assert_uint_eq(extents.of[0].first, 70);
	ck_assert_uint_eq(extents.of[0].end, 86);
	ck_assert_uint_eq(extents.of[1].first, 900);
	ck_assert_uint_eq(extents.of[2].end, 5008);
	ck_assert_uint_eq(device_extents_bytes(&extents), 124);
	free(extents.of);
	job.askers = 0;
	ck_assert(device_extents_fetch(&job, &extents));
	ck_assert_ptr_nonnull(extents.of);
	ck_assert_uint_eq(extents.count, 0);
	free(extents.of);
}
END_TEST

/* ---- churn and exchange ---- */

static struct device_cell churn_cell(uint32_t rounds)
{
	struct device_cell cell = player_cell(DEVICE_CHURN, 64, 16, 1024, rounds);

	cell.share = 500;
	return cell;
}

START_TEST(churn_exchanges_objects_for_others)
{
	/* More than the heap has, if nothing were freed. */
	struct device_cell cell = churn_cell(50);

	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	player_check_all("early_us", true, true);
	player_check_all("late_us", true, true);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	ck_assert_double_gt(player_value("example", "none"), 0); /* it has no such sizes */
	ck_assert_double_eq(player_value("bump", "early_us"), -1);
	player_play("broken", cell);
	player_check_broken("early_us");
	/* Too few for two groups of ten kernels. */
	player_play("mam", churn_cell(19));
	ck_assert_double_gt(player_value("mam", "early_us"), 0);
	ck_assert_double_eq(player_value("mam", "late_us"), -1);
}
END_TEST

START_TEST(churn_counts_failed_requests)
{
	struct device_cell cell = churn_cell(2);

	cell.heap_bytes = PLAYER_HEAP / 8;
	cell.askers = 1024;
	player_play("mam", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_msg(player_value("mam", "wrong") == 0, "%s", player_notes);
	ck_assert_double_gt(player_value("mam", "none"), 500);
	ck_assert_double_gt(player_value("mam", "early_us"), 0);
}
END_TEST

static struct device_cell exchange_cell(uint64_t heap_bytes, uint32_t share)
{
	struct device_cell cell = player_cell(DEVICE_EXCHANGE, 64, 16, 512, 8);

	cell.heap_bytes = heap_bytes;
	cell.share = share;
	return cell;
}

START_TEST(askers_free_objects_of_others)
{
	struct device_cell cell = exchange_cell(4 * PLAYER_HEAP, 30);

	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	player_check_all("mops", true, true);
	player_check_all("max_us", true, true);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	ck_assert_double_ge(player_value("mam", "max_us"), player_value("mam", "us"));
	/* A rate is pairs per time. */
	ck_assert_double_eq_tol(player_value("mam", "mops") * player_value("mam", "us"), 64 * 8,
				1e-3);
	ck_assert_double_eq(player_value("bump", "mops"), -1);
	player_play("broken", cell);
	player_check_broken("mops");
	/* More slots than the heap has room for. */
	cell = exchange_cell(PLAYER_HEAP / 4, 1500);
	player_play("mam", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_msg(player_value("mam", "wrong") == 0, "%s", player_notes);
	ck_assert_double_gt(player_value("mam", "none"), 0);
}
END_TEST

/* A word that another lane has written to a published object is found by the lane that frees it. */
START_TEST(corrupt_objects_in_slots_are_found)
{
	struct device_heap heap;
	struct device_job job = start_heap(&heap);
	uint32_t *object;

	memset(more, 0, sizeof(more));
	job.count = job.askers = 32;
	launch(heap.module, "exchange_fill", &job);
	ck_assert_uint_eq(found.none, 0);
	launch(heap.module, "exchange_write", &job);
	launch(heap.module, "exchange_fill", &job); /* nothing is missing, and all sizes are read */
	ck_assert_uint_eq(found.corrupt, 0);
	ck_assert_uint_eq(numbers[7], device_bytes_of(&job, 7));
	object = (uint32_t *)(uintptr_t)more[7];
	object[_i == 0 ? numbers[7] / 4 - 1 : 0] ^= 0x10000;
	job.rounds = 64; /* every slot is exchanged */
	launch(heap.module, "exchange_check", &job);
	ck_assert_uint_eq(found.corrupt, 1);
	ck_assert_uint_eq(found.none, 0);
	launch(heap.module, "exchange_check", &job);
	ck_assert_uint_eq(found.corrupt, 0);
	object = (uint32_t *)(uintptr_t)more[3];
	object[0] = 5000; /* not a size of the job's */
	launch(heap.module, "exchange", &job);
	ck_assert_uint_eq(found.corrupt, 1);
	heap.allocator->end(&heap);
}
END_TEST

/* ---- few threads, and requests that must fail ---- */

START_TEST(few_threads_are_timed)
{
	player_play(NULL, player_cell(DEVICE_SMALL, 32, 256, 256, 1));
	player_check_all("us", false, false);
	player_check_all("free_us", false, true);
	ck_assert_double_eq(player_value("mam", "none"), 0);
}
END_TEST

START_TEST(requests_to_a_full_heap_fail)
{
	struct device_cell cell = _i == 0 ? player_cell(DEVICE_FAIL, 64, 16, 16, 1)
					  : player_cell(DEVICE_FAIL, 64, 16, 512, 1);
	static const char *const names[] = { "mam", "bump", "bumpw" };
	size_t i;

	cell.heap_bytes = PLAYER_HEAP / 8;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		player_play(names[i], cell);
		ck_assert_str_eq(player_trouble, "");
		ck_assert_msg(player_value(names[i], "wrong") == 0, "%s", player_notes);
		ck_assert_double_gt(player_value(names[i], "us"), 0);
		ck_assert_double_eq(player_value(names[i], "served"), 0);
		ck_assert_double_eq(player_value(names[i], "none"), -1);
	}
	player_play("broken", cell);
	player_check_broken("us");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench device reuse");
	TCase *works = tcase_create("works"), *pieces = tcase_create("pieces");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(works, player_setup, NULL);
	tcase_set_timeout(works, 120);
	tcase_set_timeout(pieces, 60);
	tcase_add_loop_test(pieces, every_allocator_has_its_cells, 0, 5);
	tcase_add_loop_test(pieces, every_request_has_a_place, 0, 2);
	tcase_add_test(works, counters_get_all_the_memory_that_is_left);
	tcase_add_loop_test(works, larger_objects_get_freed_memory, 0, 5);
	tcase_add_loop_test(works, heap_that_is_not_full_has_no_results, 0, 2);
	tcase_add_loop_test(pieces, groups_of_neighbors_are_freed, 0, 4);
	tcase_add_test(pieces, half_of_the_objects_are_exchanged);
	tcase_add_loop_test(pieces, checks_use_the_given_sizes, 0, 2);
	tcase_add_test(works, damage_after_the_first_check_is_found);
	tcase_add_test(pieces, room_between_objects_is_computed);
	tcase_add_test(pieces, objects_are_fetched_in_address_order);
	tcase_add_test(works, churn_exchanges_objects_for_others);
	tcase_add_test(works, churn_counts_failed_requests);
	tcase_add_test(works, askers_free_objects_of_others);
	tcase_add_loop_test(pieces, corrupt_objects_in_slots_are_found, 0, 2);
	tcase_add_test(works, few_threads_are_timed);
	tcase_add_loop_test(works, requests_to_a_full_heap_fail, 0, 2);
	suite_add_tcase(suite, works);
	suite_add_tcase(suite, pieces);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
