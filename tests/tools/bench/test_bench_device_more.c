/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_device_more.c - `mam bench device` on a simulated GPU: every allocator passes the
 * workloads beyond malloc and free, a broken one passes none of them, and a file that is not a
 * module is refused.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/device/device_allocators.h"
#include "bench/papers/walk/device_pages.h"
#include "bench/harness/gpu.h"
#include "device_player.h"
#include "tools/bench/sim/device_sim.h"

extern const unsigned char mam_device_example_fatbin[];

START_TEST(churn_reuses_freed_memory)
{
	/* More than the heap has, if nothing were freed. */
	struct device_cell cells[] = { player_cell(DEVICE_W4, 256, 64, 64, 8),
				       player_cell(DEVICE_W4, 64, 4, 4, 2) };

	cells[0].heap_bytes = PLAYER_HEAP / 8;
	player_play(NULL, cells[_i]);
	player_check_all("mops", false, false);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	ck_assert_ptr_null(strstr(player_notes, " mam: "));
	player_play("broken", cells[_i]);
	player_check_broken("mops");
}
END_TEST

START_TEST(utilization_is_reported)
{
	static const uint32_t sizes[] = { 64, 1050, 8192 };
	struct device_cell cell = player_cell(DEVICE_W6, 32, sizes[_i], sizes[_i], 0);

	cell.heap_bytes = PLAYER_HEAP / 2;
	if (sizes[_i] == 8192)
		cell.heap_bytes = PLAYER_HEAP * 2;
	player_play(NULL, cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_eq(player_value("mam", "wrong"), 0);
	ck_assert_double_gt(player_value("mam", "used_ratio"), 0.85);
	ck_assert_double_le(player_value("mam", "used_ratio"), 1);
	ck_assert_double_lt(player_value("mam", "taken_ratio"), player_value("mam", "used_ratio"));
	ck_assert_double_gt(player_value("bump", "used_ratio"), 0.97);
	ck_assert_double_gt(player_value("rw-malloc", "used_ratio"), 0.9);
	player_play("broken", cell);
	player_check_broken("used_ratio");
}
END_TEST

START_TEST(latencies_are_reported)
{
	struct device_cell cell = player_cell(DEVICE_W7, _i == 0 ? 32 : 1, 64, 64, 100);

	cell.heap_bytes = PLAYER_HEAP / 8;
	player_play(NULL, cell);
	player_check_all("malloc_cycles", false, false);
	player_check_all("free_cycles", false, true);
	ck_assert_double_eq(player_value("bump", "free_cycles"), -1);
	ck_assert_double_eq(player_value("mam", "none"), 0);
}
END_TEST

START_TEST(registers_are_reported)
{
	player_play(NULL, player_cell(DEVICE_REGISTERS, 32, 64, 64, 0));
	player_check_all("registers", false, false);
	player_check_all("packed_registers", false, false);
	ck_assert_double_eq(player_value("mam", "packed_local_bytes"), 8);
}
END_TEST

START_TEST(start_times_are_reported)
{
	player_play(NULL, player_cell(DEVICE_START, 128, 64, 64, 0));
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_gt(player_value("mam", "make_us"), 0);
	ck_assert_double_gt(player_value("mam", "first_us"), 0);
	ck_assert_double_gt(player_value("mam", "steady_us"), 0);
	ck_assert_double_gt(player_value("rw", "first_us"), 0);
	ck_assert_double_eq(player_value("cuda-malloc", "make_us"), -1);
}
END_TEST

START_TEST(address_range_stays_small)
{
	struct device_cell cell = _i == 0 ? player_cell(DEVICE_FRAGMENT, 64, 64, 64, 60)
					  : player_cell(DEVICE_FRAGMENT, 64, 4, 4096, 8);

	/* More than the heap has, if nothing were freed. */
	if (_i == 0)
		cell.heap_bytes = PLAYER_HEAP / 8;
	player_play(NULL, cell);
	player_check_all("range_ratio", _i != 0, true);
	ck_assert_double_ge(player_value("mam", "range_ratio"), 1);
	if (_i == 0) { /* 64 objects of 64 bytes */
		ck_assert_double_eq(player_value("mam", "none"), 0);
		ck_assert_double_le(player_value("mam", "range_ratio"), PLAYER_HEAP / 8.0 / 4096);
	}
	ck_assert_double_eq(player_value("bump", "range_ratio"), -1);
	player_play("broken", cell);
	player_check_broken("range_ratio");
}
END_TEST

START_TEST(growing_lists_are_correct)
{
	/* 32 per vertex on average: lists of 16 to 256 bytes. */
	struct device_cell cell = player_cell(DEVICE_GRAPH, 256, 16, 4096, 32);

	cell.heap_bytes = PLAYER_HEAP / 2;
	player_play(NULL, cell);
	player_check_all("mops", true, false);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	/* Old lists were freed, or the heap would not have sufficed so often. */
	ck_assert_ptr_null(strstr(player_notes, " mam: "));
	player_play("broken", cell);
	player_check_broken("mops");
}
END_TEST

START_TEST(generated_objects_are_correct)
{
	/* More than one block, and a last one that is not full. */
	struct device_cell cell = player_cell(DEVICE_GENERATE, 600, 4, 64, 0);

	/* Twice as much, if nothing were freed. */
	cell.heap_bytes = PLAYER_HEAP / 8;
	player_play("mam", cell);
	ck_assert_double_eq(player_value("mam", "none"), 0);
	cell.heap_bytes = PLAYER_HEAP;
	player_play(NULL, cell);
	player_check_all("mops", true, false);
	ck_assert_double_eq(player_value("prefix-sum", "wrong"), 0);
	ck_assert_double_gt(player_value("prefix-sum", "mops"), 0);
	player_play("broken", cell);
	player_check_broken("mops");
}
END_TEST

/* Every heap is destroyed, and its memory range is as reported. */
START_TEST(every_heap_is_created_and_destroyed)
{
	size_t i;

	for (i = 0; i < device_allocator_count; i++) {
		const struct device_allocator *allocator = &device_allocators[i];
		struct device_heap heap = { .allocator = allocator };

		ck_assert_ptr_null(allocator->make(&heap, PLAYER_HEAP, 48));
		if (allocator->role != DEVICE_SYSTEM) {
			ck_assert_uint_eq(device_sim_blocks, 1);
			ck_assert_uint_le(heap.space_bytes, PLAYER_HEAP);
			ck_assert_uint_lt(heap.low, heap.high);
			ck_assert_uint_le(heap.high - heap.low, heap.space_bytes);
			ck_assert_uint_gt(heap.high - heap.low, PLAYER_HEAP / 2);
		}
		allocator->end(&heap);
		ck_assert_uint_eq(device_sim_blocks, 0);
		ck_assert_ptr_nonnull(allocator->make(&heap, PLAYER_HEAP << 12, 48));
		ck_assert_uint_eq(device_sim_blocks, 0);
	}
}
END_TEST

/* The number of a page is computed from its address, for any page size. */
START_TEST(page_number_is_the_inverse_of_its_address)
{
	static unsigned char space[1];
	struct bench_pages pages;
	uint32_t bytes, page;

	for (bytes = 16; bytes <= 8192; bytes += 16) {
		bench_pages_format(&pages, space, bytes);
		for (page = 0; page < 100; page++)
			ck_assert_uint_eq(bench_pages_number(&pages, bench_pages_at(&pages, page)),
					  page);
		page = (uint32_t)((UINT64_C(16) << 30) / bytes) - 1;
		ck_assert_uint_eq(bench_pages_number(&pages, bench_pages_at(&pages, page)), page);
	}
}
END_TEST

/* ---- files ---- */

static void write_file(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

static void refuse(const char *text, const char *with)
{
	struct device_allocator added = { .name = NULL };
	char why[200] = "";

	ck_assert(!device_added_read(text, &added, why, sizeof(why)));
	ck_assert_msg(strstr(why, with) != NULL, "'%s' has no '%s'", why, with);
	ck_assert_ptr_null(added.name);
}

START_TEST(invalid_fat_binaries_are_refused)
{
	/*
	 * The header of a fat binary: magic, version, size of the header, number of bytes after it.
	 */
	unsigned char image[128] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 112 };
	char folder[] = "/tmp/mam-device-XXXXXX", path[64], sized[80];
	struct device_allocator added = { .name = NULL }, second = { .name = NULL };
	struct device_heap heap = { .allocator = &added };
	char why[200] = "";
	uint64_t first;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/mine.fatbin", folder);
	refuse(path, "No such file");
	refuse("", "names no file");
	refuse(folder, "");
	write_file(path, image, 40);
	refuse(path, "is not a fat binary");
	write_file(path, image, sizeof(image) - 1);
	refuse(path, "is not a complete fat binary");
	image[0] = 'x';
	write_file(path, image, sizeof(image));
	refuse(path, "is not a complete fat binary");
	image[0] = 0x50;
	write_file(path, image, sizeof(image));
	snprintf(sized, sizeof(sized), "%s:64K", path);
	ck_assert(device_added_read(sized, &added, why, sizeof(why)));
	ck_assert_str_eq(added.name, "mine");
	ck_assert(device_added_read(path, &second, why, sizeof(why)));
	ck_assert_int_eq(memcmp(added.module, image, sizeof(image)), 0);
	/* A heap of a given number of bytes, which its first 8 bytes contain. */
	heap.module = bench_gpu_module(mam_device_example_fatbin, why, sizeof(why));
	ck_assert_ptr_null(added.make(&heap, PLAYER_HEAP, 64));
	memcpy(&first, heap.heap, sizeof(first));
	ck_assert_uint_eq(first, 65536);
	added.end(&heap);
	heap.allocator = &second;
	ck_assert_ptr_null(second.make(&heap, PLAYER_HEAP, 64));
	memcpy(&first, heap.heap, sizeof(first));
	ck_assert_uint_eq(first, PLAYER_HEAP);
	second.end(&heap);
	device_added_fini(&added);
	device_added_fini(&second);
	ck_assert_int_eq(remove(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench device more");
	TCase *works = tcase_create("works"), *pieces = tcase_create("pieces");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(works, player_setup, NULL);
	tcase_set_timeout(works, 120);
	tcase_add_loop_test(works, churn_reuses_freed_memory, 0, 2);
	tcase_add_loop_test(works, utilization_is_reported, 0, 3);
	tcase_add_loop_test(works, latencies_are_reported, 0, 2);
	tcase_add_test(works, registers_are_reported);
	tcase_add_test(works, start_times_are_reported);
	tcase_add_loop_test(works, address_range_stays_small, 0, 2);
	tcase_add_test(works, growing_lists_are_correct);
	tcase_add_test(works, generated_objects_are_correct);
	tcase_add_test(pieces, every_heap_is_created_and_destroyed);
	tcase_add_test(pieces, page_number_is_the_inverse_of_its_address);
	tcase_add_test(pieces, invalid_fat_binaries_are_refused);
	suite_add_tcase(suite, works);
	suite_add_tcase(suite, pieces);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
