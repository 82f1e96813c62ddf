/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_device.c - `mam bench device` on a simulated GPU: every allocator passes W1, W2, W3
 * and W5, a broken one does not, and each check detects its kind of error.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/device/device_job.h"
#include "bench/harness/gpu.h"
#include "device_player.h"
#include "tools/bench/sim/device_sim.h"

extern const unsigned char mam_device_checks_fatbin[];

/* ---- workloads ---- */

START_TEST(malloc_and_free_are_timed)
{
	static const uint32_t cells[][3] = {
		/* work, requesting lanes, bytes */
		{ DEVICE_W1, 256, 16 },  { DEVICE_W1, 64, 4096 }, { DEVICE_W1, 32, 8192 },
		{ DEVICE_SCALE, 1, 64 }, { DEVICE_SCALE, 7, 64 },
	};
	const uint32_t askers = cells[_i][1], bytes = cells[_i][2];

	player_play(NULL, player_cell(cells[_i][0], askers, bytes, bytes, 1));
	player_check_all("mops", false, false);
	player_check_all("free_mops", false, true);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	ck_assert_double_eq(player_value("bump", "free_us"), -1);
	/* A rate is requests per time. */
	ck_assert_double_eq_tol(player_value("mam", "mops") * player_value("mam", "us"), askers,
				askers * 1e-6);
	ck_assert_double_eq_tol(player_value("mam", "free_mops") * player_value("mam", "free_us"),
				askers, askers * 1e-6);
}
END_TEST

/* All threads of blocks and grids of any shape allocate one object each. */
START_TEST(every_thread_of_any_shape_gets_an_object)
{
	static const struct {
		struct bench_gpu_dims block, grid;
	} shapes[] = {
		{ { 64, 1, 1 }, { 3, 1, 1 } },  { { 16, 4, 1 }, { 1, 3, 1 } },
		{ { 48, 4, 1 }, { 2, 1, 1 } },  { { 33, 3, 1 }, { 1, 2, 1 } },
		{ { 100, 2, 1 }, { 1, 1, 2 } }, { { 8, 8, 4 }, { 2, 1, 1 } },
	};
	struct device_cell cell;
	uint32_t threads;

	cell = player_cell(DEVICE_SHAPES, 0, 64, 64, 1);
	cell.block = shapes[_i].block;
	cell.grid = shapes[_i].grid;
	threads = cell.block.x * cell.block.y * cell.block.z;
	cell.askers = threads * cell.grid.x * cell.grid.y * cell.grid.z;
	cell.lanes = DEVICE_WARP;
	player_play(NULL, cell);
	player_check_all("mops", false, false);
	player_check_all("free_mops", false, true);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	player_play("broken", cell);
	player_check_broken("mops");
}
END_TEST

START_TEST(reduced_shapes_keep_their_proportions)
{
	struct device_plan plan;
	size_t i;

	device_plan_make(&plan);
	for (i = 0; i < plan.count; i++) {
		struct device_cell cell = plan.cells[i];

		if (cell.work != DEVICE_SHAPES)
			continue;
		device_plan_shrink(&cell, 16384);
		ck_assert_uint_le(cell.askers, 16384);
		ck_assert_uint_gt(cell.askers, 16384 / 3);
		ck_assert_uint_eq(cell.askers, cell.block.x * cell.block.y * cell.block.z *
						       cell.grid.x * cell.grid.y * cell.grid.z);
	}
}
END_TEST

/*
 * Without CUDA's own: the host's malloc, which replaces it, spreads its blocks widely under a
 * sanitizer, and no map is large enough.
 */
START_TEST(mixed_sizes_are_timed)
{
	static const char *const names[] = { "mam", "rw-malloc", "bump", "bumpw", "rw" };
	struct device_cell cell = player_cell(DEVICE_W2, 96, 4, 8192, 1);

	cell.heap_bytes = 8 * PLAYER_HEAP; /* a slab for each of many classes */
	player_play(names[_i], cell);
	if (strcmp(names[_i], "rw") == 0) /* it serves one size only */
		ck_assert_double_eq(player_value("rw", "mops"), -1);
	else
		player_check_all("mops", true, false);
	ck_assert_double_le(player_value(names[_i], "none"), 0);
}
END_TEST

START_TEST(single_lanes_are_timed)
{
	struct device_cell cell = player_cell(DEVICE_W3, 12, 64, 64, 1);

	cell.lanes = 1;
	player_play(NULL, cell);
	player_check_all("mops", false, false);
	player_check_all("free_mops", false, true);
	ck_assert_double_eq(player_value("mam", "none"), 0);
}
END_TEST

/* Failed requests are counted, and the others are timed. */
START_TEST(failed_requests_are_counted)
{
	struct device_cell cell = player_cell(DEVICE_W1, 96, 4096, 4096, 1);

	cell.heap_bytes = PLAYER_HEAP / 4;
	player_play("mam", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_msg(player_value("mam", "wrong") == 0, "%s", player_notes);
	ck_assert_double_ge(player_value("mam", "none"), 32);
	ck_assert_double_lt(player_value("mam", "none"), 96);
	ck_assert_double_gt(player_value("mam", "mops"), 0);
}
END_TEST

START_TEST(broken_allocator_is_detected)
{
	player_play("broken", player_cell(DEVICE_W1, 64, 64, 64, 1));
	player_check_broken("mops");
	ck_assert_ptr_nonnull(strstr(player_notes, "objects overlap others"));
	ck_assert_double_eq(player_value("broken", "free_us"), -1);
}
END_TEST

/* 64 KiB, so that it is soon full; of 256 objects a half, or 1 in 8. */
START_TEST(nearly_full_heap_serves_all_requests)
{
	struct device_cell cell = player_cell(DEVICE_W5, 24, 256, 256, 1);

	cell.heap_bytes = PLAYER_HEAP / 4;
	cell.share = _i == 0 ? 500 : 125;
	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_eq(player_value("mam", "wrong"), 0);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	ck_assert_double_eq(player_value("mam", "failed_percent"), 0);
	ck_assert_double_gt(player_value("mam", "us"), 0);
	ck_assert_double_eq(player_value("mam", "free_us"), -1);
	ck_assert_double_eq(player_value("corw", "none"), 0);
	ck_assert_double_gt(player_value("corw", "us"), 0);
	ck_assert_double_eq(player_value("bump", "us"), -1); /* it frees nothing */
	player_play("broken", cell);
	player_check_broken("us");
}
END_TEST

/*
 * As many requests as freed objects, or more: some get nothing, exactly as many as there are too
 * few.
 */
START_TEST(full_heap_fails_the_missing_objects)
{
	struct device_cell cell = player_cell(DEVICE_W5, 64, 256, 256, 1);

	cell.heap_bytes = PLAYER_HEAP / 8;
	cell.share = 10;
	player_play("mam", cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_eq(player_value("mam", "wrong"), 0);
	ck_assert_double_ge(player_value("mam", "none"), 32);
	ck_assert_double_eq_tol(player_value("mam", "failed_percent"),
				player_value("mam", "none") * 100 / 64, 1e-6);
}
END_TEST

/* ---- checks ---- */

#define PLACES 8

static _Alignas(64) unsigned char space[1 << 16];
static uint64_t map[sizeof(space) / DEVICE_GRAIN / 64 + 2], got[PLACES];
static struct device_found found;
static struct device_job job;

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)space + offset;
}

static void setup(void)
{
	memset(map, 0, sizeof(map));
	memset(got, 0, sizeof(got));
	memset(&found, 0, sizeof(found));
	job = (struct device_job){ .askers = PLACES,
				   .lanes = DEVICE_WARP,
				   .min = 100,
				   .max = 100,
				   .flags = 1,
				   .got = got,
				   .map = map,
				   .low = at(0),
				   .high = at(sizeof(space)),
				   .found = &found };
}

static void run(const char *kernel)
{
	char why[64];
	void *module = bench_gpu_module(mam_device_checks_fatbin, why, sizeof(why));

	ck_assert_ptr_nonnull(module);
	ck_assert_msg(bench_gpu_run(bench_gpu_kernel(module, kernel), kernel, 1, DEVICE_BLOCK, &job,
				    NULL),
		      "%s", bench_gpu_trouble());
}

START_TEST(check_finds_objects_that_overlap)
{
	static const struct {
		uint32_t bytes;
		size_t first, second;
		unsigned int twice;
	} pairs[] = {
		{ 100, 0, 112, 0 },     { 100, 0, 96, 1 },           { 100, 0, 0, 1 },
		{ 16, 32, 48, 0 },      { 16, 32, 32, 1 },           { 8, 32, 40, 0 },
		{ 24, 0, 24, 0 },       { 5000, 16, 5024, 0 },       { 5000, 16, 5008, 1 },
		{ 1024, 1024, 0, 0 },   { 1024, 1024, 1008, 0 + 1 }, { 4, 1020, 1024, 0 },
		{ 16384, 0, 16384, 0 }, { 16384, 0, 16368, 1 },
	};

	job.min = job.max = pairs[_i].bytes;
	got[1] = at(pairs[_i].first);
	got[5] = at(pairs[_i].second);
	run("check_mark");
	ck_assert_uint_eq(found.twice, pairs[_i].twice);
	ck_assert_uint_eq(found.objects, 2);
	ck_assert_uint_eq(found.none, PLACES - 2);
	ck_assert_uint_eq(found.bytes, 2 * (uint64_t)pairs[_i].bytes);
	ck_assert_uint_eq(found.beyond, 0);
}
END_TEST

START_TEST(check_finds_objects_outside_the_heap)
{
	got[0] = at(sizeof(space) - 100);
	got[1] = at(sizeof(space) - 99);
	got[2] = at(0) - 1;
	got[3] = at(0) + sizeof(space);
	got[4] = 1;
	got[5] = UINT64_MAX - 5;
	run("check_mark");
	ck_assert_uint_eq(found.beyond, 5);
	ck_assert_uint_eq(found.objects, 6);
	ck_assert_uint_eq(found.twice, 0);
	/* Nothing is written there. */
	run("check_write");
	run("check_read");
	ck_assert_uint_eq(found.corrupt, 0);
}
END_TEST

START_TEST(check_finds_misaligned_objects)
{
	job.max = job.min = _i == 0 ? 16 : 15;
	got[0] = at(8);
	got[1] = at(108);
	got[2] = at(208);
	run("check_mark");
	ck_assert_uint_eq(found.crooked, _i == 0 ? 2 : 1);
}
END_TEST

START_TEST(check_computes_the_address_range)
{
	got[2] = at(5000);
	got[3] = at(70);
	got[6] = at(4901);
	run("check_span");
	ck_assert_uint_eq(~found.low, at(70));
	ck_assert_uint_eq(found.high, at(5100));
}
END_TEST

/* Each byte of an object is checked by one lane, and no other byte is. */
START_TEST(each_byte_is_written_and_checked_once)
{
	static const uint32_t widths[] = { 1, 8, 32 };
	uint32_t bytes, i, crooked;

	job.flags = widths[_i];
	got[2] = at(512);
	got[3] = at(2048);
	for (bytes = 1; bytes <= 70; bytes += bytes < 9 ? 1 : 20) {
		for (crooked = 0; crooked < 3; crooked++) {
			job.min = job.max = bytes;
			got[2] = at(512 + crooked);
			memset(space, 0x5a, sizeof(space));
			run("check_write");
			ck_assert_uint_eq(space[511 + crooked], 0x5a);
			ck_assert_uint_eq(space[512 + crooked + bytes], 0x5a);
			memset(&found, 0, sizeof(found));
			run("check_read");
			ck_assert_uint_eq(found.corrupt, 0);
			for (i = 0; i < bytes; i += bytes < 10 ? 1 : 23) {
				space[512 + crooked + i] ^= 1;
				memset(&found, 0, sizeof(found));
				run("check_read");
				ck_assert_uint_eq(found.corrupt, 1);
				space[512 + crooked + i] ^= 1;
			}
		}
	}
}
END_TEST

/* Two owners of one place: one of them finds the other's mark. */
START_TEST(check_finds_an_object_with_two_owners)
{
	got[2] = got[3] = at(512);
	run("check_write");
	run("check_read");
	ck_assert_uint_ge(found.corrupt, 1);
}
END_TEST

/* A request is within its bounds, and every bound occurs. */
START_TEST(sizes_stay_within_their_bounds)
{
	bool seen[8] = { false };
	uint32_t asker, other = 0;

	job.min = 5;
	job.max = 12;
	for (asker = 0; asker < 1000; asker++) {
		const uint32_t bytes = device_bytes_of(&job, asker);

		ck_assert(bytes >= 5 && bytes <= 12);
		seen[bytes - 5] = true;
		job.seed = 1;
		other += bytes != device_bytes_of(&job, asker);
		job.seed = 0;
	}
	for (asker = 0; asker < 8; asker++)
		ck_assert(seen[asker]);
	ck_assert_uint_gt(other, 500); /* another seed, other sizes */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_device");
	TCase *works = tcase_create("works"), *checks = tcase_create("checks");
	SRunner *runner;
	int failed;

	tcase_set_timeout(works, 120);
	tcase_set_timeout(checks, 60);
	tcase_add_checked_fixture(works, player_setup, NULL);
	tcase_add_loop_test(works, every_thread_of_any_shape_gets_an_object, 0, 6);
	tcase_add_test(works, reduced_shapes_keep_their_proportions);
	tcase_add_loop_test(works, malloc_and_free_are_timed, 0, 5);
	tcase_add_loop_test(works, mixed_sizes_are_timed, 0, 5);
	tcase_add_test(works, single_lanes_are_timed);
	tcase_add_test(works, failed_requests_are_counted);
	tcase_add_test(works, broken_allocator_is_detected);
	tcase_add_loop_test(works, nearly_full_heap_serves_all_requests, 0, 2);
	tcase_add_test(works, full_heap_fails_the_missing_objects);
	tcase_add_checked_fixture(checks, setup, NULL);
	tcase_add_loop_test(checks, check_finds_objects_that_overlap, 0, 14);
	tcase_add_test(checks, check_finds_objects_outside_the_heap);
	tcase_add_loop_test(checks, check_finds_misaligned_objects, 0, 2);
	tcase_add_test(checks, check_computes_the_address_range);
	tcase_add_loop_test(checks, each_byte_is_written_and_checked_once, 0, 3);
	tcase_add_test(checks, check_finds_an_object_with_two_owners);
	tcase_add_test(checks, sizes_stay_within_their_bounds);
	suite_add_tcase(suite, works);
	suite_add_tcase(suite, checks);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
