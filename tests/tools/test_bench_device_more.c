/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_device_more.c - `mam bench device` on a simulated GPU: every allocator passes the
 * works beyond malloc and free, a broken one passes none of them, and a file that is no module is
 * refused.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/device_allocators.h"
#include "bench/device_pages.h"
#include "bench/device_play.h"
#include "bench/gpu.h"
#include "device_sim.h"

#define ROWS 512
#define HEAP (UINT64_C(1) << 20)

extern const unsigned char mam_device_broken_fatbin[], mam_device_example_fatbin[];

static struct row {
	char allocator[24], metric[24];
	double value;
} rows[ROWS];
static size_t row_count;
static char last_trouble[512], notes[4096];

static struct device_request request;
static struct device_plan plan;

static const char *make_added(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	heap->own[0] = heap->heap = bench_gpu_take(bytes);
	heap->ground_bytes = bytes;
	heap->low = (uint64_t)(uintptr_t)heap->heap;
	heap->high = heap->low + bytes;
	memset(heap->heap, 0, bytes);
	memcpy(heap->heap, &bytes, sizeof(bytes));
	return NULL;
}

static bool reset_added(struct device_heap *heap)
{
	(void)heap;
	return true;
}

static void add_allocator(const char *name, const unsigned char *module)
{
	request.allocators[request.allocator_count++] =
		(struct device_allocator){ .name = name,
					   .role = DEVICE_ADDED,
					   .module = module,
					   .frees = true,
					   .make = make_added,
					   .end = device_heap_end_block,
					   .reset = reset_added };
}

/* All of mam's list, and the two of the tests. */
static void setup(void)
{
	size_t i;

	memset(&request, 0, sizeof(request));
	request.effort = (struct device_effort){ .name = "test",
						 .repeats = 2,
						 .warm = 1,
						 .deadline_ns = UINT64_MAX,
						 .askers_most = UINT32_MAX,
						 .heap_most = UINT64_MAX,
						 .fine = true };
	memset(request.wanted, true, sizeof(request.wanted));
	for (i = 0; i < device_allocator_count; i++)
		request.allocators[request.allocator_count++] = device_allocators[i];
	add_allocator("example", mam_device_example_fatbin);
	add_allocator("broken", mam_device_broken_fatbin);
}

static void read_line(char *line)
{
	char *fields[6] = { line };
	size_t count = 1;

	line[strcspn(line, "\n")] = '\0';
	for (; *line != '\0'; line++) {
		if (*line == '\t' && count < 6) {
			*line = '\0';
			fields[count++] = line + 1;
		}
	}
	if (strcmp(fields[0], "R") == 0 && count == 6 && row_count < ROWS) {
		struct row *row = &rows[row_count++];

		snprintf(row->allocator, sizeof(row->allocator), "%s", fields[2]);
		snprintf(row->metric, sizeof(row->metric), "%s", fields[4]);
		row->value = strtod(fields[5], NULL);
	} else if (strcmp(fields[0], "N") == 0 && strlen(notes) + 200 < sizeof(notes)) {
		snprintf(notes + strlen(notes), 200, "%.190s\n", fields[1]);
	} else if (strcmp(fields[0], "T") == 0 || strcmp(fields[0], "X") == 0) {
		snprintf(last_trouble, sizeof(last_trouble), "%s", fields[1]);
	}
}

/* One cell, by a worker of its own. */
static void play(const char *name, struct device_cell cell)
{
	char line[1024];
	int pipes[2];
	FILE *in;
	pid_t worker;
	size_t i;

	row_count = 0;
	last_trouble[0] = notes[0] = '\0';
	for (i = 0; i < request.allocator_count; i++)
		request.usable[i] = name == NULL ? strcmp(request.allocators[i].name, "broken") != 0
						 : strcmp(request.allocators[i].name, name) == 0;
	snprintf(cell.parameter, sizeof(cell.parameter), "it");
	plan.count = 1;
	plan.cells[0] = cell;
	ck_assert_int_eq(pipe(pipes), 0);
	worker = fork();
	ck_assert_int_ge(worker, 0);
	if (worker == 0) {
		close(pipes[0]);
		device_worker(&request, &plan, 0, UINT64_MAX, pipes[1]);
	}
	close(pipes[1]);
	in = fdopen(pipes[0], "r");
	ck_assert_ptr_nonnull(in);
	while (fgets(line, sizeof(line), in) != NULL)
		read_line(line);
	fclose(in);
	ck_assert_int_eq(waitpid(worker, NULL, 0), worker);
}

static double value(const char *allocator, const char *metric)
{
	size_t i;

	for (i = 0; i < row_count; i++) {
		if (strcmp(rows[i].allocator, allocator) == 0 &&
		    strcmp(rows[i].metric, metric) == 0)
			return rows[i].value;
	}
	return -1;
}

/* Those that take part have nothing wrong, and this metric, which is above 0. */
static void check_all(const char *metric, bool mixed, bool frees)
{
	size_t i;

	ck_assert_str_eq(last_trouble, "");
	for (i = 0; i < request.allocator_count; i++) {
		const struct device_allocator *allocator = &request.allocators[i];

		if (!request.usable[i] || (mixed && allocator->one_size) ||
		    (frees && !allocator->frees))
			continue;
		ck_assert_msg(value(allocator->name, metric) > 0, "%s of %s: %g; %s", metric,
			      allocator->name, value(allocator->name, metric), notes);
		if (value(allocator->name, "wrong") >= 0)
			ck_assert_msg(value(allocator->name, "wrong") == 0, "%s: %s",
				      allocator->name, notes);
	}
}

static void check_broken(const char *metric)
{
	ck_assert_str_eq(last_trouble, "");
	ck_assert_double_gt(value("broken", "wrong"), 0);
	ck_assert_double_eq(value("broken", metric), -1);
	ck_assert_ptr_nonnull(strstr(notes, "broken: "));
}

static struct device_cell cell_of(enum device_work_kind work, uint32_t askers, uint32_t least,
				  uint32_t most, uint32_t rounds)
{
	return (struct device_cell){ .work = work,
				     .heap_bytes = HEAP,
				     .askers = askers,
				     .lanes = askers < 32 ? askers : 32,
				     .least = least,
				     .most = most,
				     .rounds = rounds };
}

START_TEST(test_churn)
{
	/* More than the heap has, if nothing came back. */
	struct device_cell cells[] = { cell_of(DEVICE_W4, 256, 64, 64, 8),
				       cell_of(DEVICE_W4, 64, 4, 4, 2) };

	cells[0].heap_bytes = HEAP / 8;
	play(NULL, cells[_i]);
	check_all("mops", false, false);
	ck_assert_double_eq(value("mam", "none"), 0);
	ck_assert_ptr_null(strstr(notes, " mam: "));
	play("broken", cells[_i]);
	check_broken("mops");
}
END_TEST

START_TEST(test_use)
{
	static const uint32_t sizes[] = { 64, 1050, 8192 };
	struct device_cell cell = cell_of(DEVICE_W6, 32, sizes[_i], sizes[_i], 0);

	cell.heap_bytes = HEAP / 2;
	if (sizes[_i] == 8192)
		cell.heap_bytes = HEAP * 2;
	play(NULL, cell);
	ck_assert_str_eq(last_trouble, "");
	ck_assert_double_eq(value("mam", "wrong"), 0);
	ck_assert_double_gt(value("mam", "used_ratio"), 0.85);
	ck_assert_double_le(value("mam", "used_ratio"), 1);
	ck_assert_double_lt(value("mam", "taken_ratio"), value("mam", "used_ratio"));
	ck_assert_double_gt(value("bump", "used_ratio"), 0.97);
	ck_assert_double_gt(value("rw-malloc", "used_ratio"), 0.9);
	play("broken", cell);
	check_broken("used_ratio");
}
END_TEST

START_TEST(test_latency)
{
	struct device_cell cell = cell_of(DEVICE_W7, _i == 0 ? 32 : 1, 64, 64, 100);

	cell.heap_bytes = HEAP / 8;
	play(NULL, cell);
	check_all("malloc_cycles", false, false);
	check_all("free_cycles", false, true);
	ck_assert_double_eq(value("bump", "free_cycles"), -1);
	ck_assert_double_eq(value("mam", "none"), 0);
}
END_TEST

START_TEST(test_registers)
{
	play(NULL, cell_of(DEVICE_REGISTERS, 32, 64, 64, 0));
	check_all("registers", false, false);
	check_all("packed_registers", false, false);
	ck_assert_double_eq(value("mam", "packed_local_bytes"), 8);
}
END_TEST

START_TEST(test_start)
{
	play(NULL, cell_of(DEVICE_START, 128, 64, 64, 0));
	ck_assert_str_eq(last_trouble, "");
	ck_assert_double_gt(value("mam", "make_us"), 0);
	ck_assert_double_gt(value("mam", "first_us"), 0);
	ck_assert_double_gt(value("mam", "steady_us"), 0);
	/* Who finds no handle walks, and that takes longer. */
	ck_assert_double_gt(value("mam", "first_us"), value("mam", "steady_us"));
	ck_assert_double_gt(value("rw", "first_us"), 0);
	ck_assert_double_eq(value("cuda-malloc", "make_us"), -1);
}
END_TEST

START_TEST(test_fragment)
{
	const struct device_cell cell = _i == 0 ? cell_of(DEVICE_FRAGMENT, 64, 64, 64, 8)
						: cell_of(DEVICE_FRAGMENT, 64, 4, 4096, 8);

	play(NULL, cell);
	check_all("range_ratio", _i != 0, true);
	ck_assert_double_ge(value("mam", "range_ratio"), 1);
	ck_assert_double_eq(value("bump", "range_ratio"), -1);
	play("broken", cell);
	check_broken("range_ratio");
}
END_TEST

START_TEST(test_graph)
{
	/* 32 of a vertex on average: lists of 16 to 256 bytes. */
	struct device_cell cell = cell_of(DEVICE_GRAPH, 256, 16, 4096, 32);

	cell.heap_bytes = HEAP / 4;
	play(NULL, cell);
	check_all("mops", true, false);
	ck_assert_double_eq(value("mam", "none"), 0);
	/* Old lists went back, or the heap would not have been large enough so often. */
	ck_assert_ptr_null(strstr(notes, " mam: "));
	play("broken", cell);
	check_broken("mops");
}
END_TEST

START_TEST(test_generate)
{
	/* More than one block, and a last one that is not full. */
	const struct device_cell cell = cell_of(DEVICE_GENERATE, 600, 4, 64, 0);

	play(NULL, cell);
	check_all("mops", true, false);
	ck_assert_double_eq(value("prefix-sum", "wrong"), 0);
	ck_assert_double_gt(value("prefix-sum", "mops"), 0);
	play("broken", cell);
	check_broken("mops");
}
END_TEST

/* Every heap goes back, and its ground is what it says. */
START_TEST(test_heaps)
{
	size_t i;

	for (i = 0; i < device_allocator_count; i++) {
		const struct device_allocator *allocator = &device_allocators[i];
		struct device_heap heap = { .allocator = allocator };

		ck_assert_ptr_null(allocator->make(&heap, HEAP, 48));
		if (allocator->role != DEVICE_SYSTEM) {
			ck_assert_uint_eq(device_sim_blocks, 1);
			ck_assert_uint_le(heap.ground_bytes, HEAP);
			ck_assert_uint_lt(heap.low, heap.high);
			ck_assert_uint_le(heap.high - heap.low, heap.ground_bytes);
			ck_assert_uint_gt(heap.high - heap.low, HEAP / 2);
		}
		allocator->end(&heap);
		ck_assert_uint_eq(device_sim_blocks, 0);
		ck_assert_ptr_nonnull(allocator->make(&heap, HEAP << 12, 48));
		ck_assert_uint_eq(device_sim_blocks, 0);
	}
}
END_TEST

/* A page's number comes back from its address, whatever its size. */
START_TEST(test_inverse)
{
	static unsigned char ground[1];
	struct bench_pages pages;
	uint32_t bytes, page;

	for (bytes = 16; bytes <= 8192; bytes += 16) {
		bench_pages_format(&pages, ground, bytes);
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

START_TEST(test_files)
{
	/* A fat binary's head: magic, version, bytes of the head, bytes behind it. */
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
	refuse(path, "is no fat binary");
	write_file(path, image, sizeof(image) - 1);
	refuse(path, "a part of one");
	image[0] = 'x';
	write_file(path, image, sizeof(image));
	refuse(path, "is no fat binary");
	image[0] = 0x50;
	write_file(path, image, sizeof(image));
	snprintf(sized, sizeof(sized), "%s:64K", path);
	ck_assert(device_added_read(sized, &added, why, sizeof(why)));
	ck_assert_str_eq(added.name, "mine");
	ck_assert(device_added_read(path, &second, why, sizeof(why)));
	ck_assert_int_eq(memcmp(added.module, image, sizeof(image)), 0);
	/* A heap of so many bytes, which its first 8 say. */
	heap.module = bench_gpu_module(mam_device_example_fatbin, why, sizeof(why));
	ck_assert_ptr_null(added.make(&heap, HEAP, 64));
	memcpy(&first, heap.heap, sizeof(first));
	ck_assert_uint_eq(first, 65536);
	added.end(&heap);
	heap.allocator = &second;
	ck_assert_ptr_null(second.make(&heap, HEAP, 64));
	memcpy(&first, heap.heap, sizeof(first));
	ck_assert_uint_eq(first, HEAP);
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

	tcase_add_checked_fixture(works, setup, NULL);
	tcase_set_timeout(works, 120);
	tcase_add_loop_test(works, test_churn, 0, 2);
	tcase_add_loop_test(works, test_use, 0, 3);
	tcase_add_loop_test(works, test_latency, 0, 2);
	tcase_add_test(works, test_registers);
	tcase_add_test(works, test_start);
	tcase_add_loop_test(works, test_fragment, 0, 2);
	tcase_add_test(works, test_graph);
	tcase_add_test(works, test_generate);
	tcase_add_test(pieces, test_heaps);
	tcase_add_test(pieces, test_inverse);
	tcase_add_test(pieces, test_files);
	suite_add_tcase(suite, works);
	suite_add_tcase(suite, pieces);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
