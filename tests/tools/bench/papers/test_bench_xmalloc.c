/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_xmalloc.c - `mam bench xmalloc` on a simulated GPU: every allocator passes its
 * workloads, with any number of workers per warp and any number of buffers, a broken one fails, and
 * buffered memory is returned to its base.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "bench/papers/xmalloc/layers.h"
#include "bench/papers/xmalloc/xmalloc.h"
#include "tools/bench/device_player.h"
#include "tools/bench/sim/device_sim.h"
#include "coalesce/buffers.h"
#include "coalesce/compartments.h"
#include "heap/pages/head.h"

static const struct device_suite suite = {
	.prefix = "xmalloc",
	.allocators = xmalloc_allocators,
	.allocator_count = &xmalloc_allocator_count,
	.works = xmalloc_works,
	.work_count = XMALLOC_WORKS,
	.system_heap = XMALLOC_HEAP,
	.takes_part = xmalloc_plan_takes_part,
	.places = xmalloc_plan_places,
};

static const char *const layered[] = {
	"mam-coalesce",   "mam-xmalloc",   "mam-xmc",      "pages",
	"pages-coalesce", "cuda-coalesce", "cuda-xmalloc", "cuda-xmc"
};
#define LAYERED (sizeof(layered) / sizeof(layered[0]))

static void setup(void)
{
	xmalloc_allocators_make();
	player_setup_suite(&suite);
}

static struct device_cell cell_of(enum xmalloc_work work, uint32_t askers, uint32_t lanes)
{
	struct device_cell cell = player_cell(work, askers, 4, 4, 1);

	cell.lanes = lanes;
	cell.buffers = XMALLOC_BUFFERS;
	return cell;
}

static void check_times(const struct device_cell *cell, const char *name)
{
	ck_assert_str_eq(player_trouble, "");
	ck_assert_msg(player_value(name, "wrong") == 0, "%s: %s", name, player_notes);
	ck_assert_double_eq(player_value(name, "none"), 0);
	ck_assert_double_gt(player_value(name, "ns"), 0);
	ck_assert_double_eq_tol(player_value(name, "ns") * cell->askers,
				player_value(name, "us") * 1000, 1e-3);
	ck_assert_double_gt(player_value(name, "mean_ns"), 0);
	ck_assert_double_eq(player_value(name, "runs"), 2);
}

START_TEST(pairs_are_timed)
{
	static const uint32_t lanes[] = { 1, 3, 16, 32 };
	const struct device_cell cell = cell_of(XMALLOC_TIME, 3 * lanes[_i] - 1, lanes[_i]);
	size_t i;

	player_play(NULL, cell);
	for (i = 0; i < xmalloc_allocator_count; i++)
		check_times(&cell, xmalloc_allocators[i].name);
	ck_assert_double_eq_tol(player_value("mam-xmalloc", "request_ns") *
					((cell.askers + cell.lanes - 1) / cell.lanes),
				player_value("mam-xmalloc", "us") * 1000, 1e-3);
}
END_TEST

START_TEST(prefilled_heap_is_timed)
{
	struct device_cell cell = cell_of(XMALLOC_PREFILLED, 64, 32);
	size_t i;

	cell.filled = 100;
	player_play(NULL, cell);
	for (i = 0; i < LAYERED; i++)
		check_times(&cell, layered[i]);
	check_times(&cell, "mam");
	check_times(&cell, "cuda");
	ck_assert_double_eq(player_value("rw", "ns"), -1);
	ck_assert_double_eq(player_value("bump", "ns"), -1);
	ck_assert_str_eq(player_notes, "");
	cell.filled = 4000; /* more than available */
	player_play("mam-coalesce", cell);
	ck_assert_ptr_nonnull(strstr(player_notes, "blocks that could not be allocated before"));
}
END_TEST

START_TEST(coalesced_requests_are_timed)
{
	struct device_cell cell = cell_of(XMALLOC_COALESCE, 64, 32);

	player_play(NULL, cell);
	check_times(&cell, "mam");
	check_times(&cell, "mam-coalesce");
	check_times(&cell, "cuda");
	check_times(&cell, "cuda-coalesce");
	check_times(&cell, "pages");
	check_times(&cell, "pages-coalesce");
	ck_assert_double_eq(player_value("cuda-xmalloc", "ns"), -1);
	ck_assert_double_eq(player_value("cuda-xmc", "ns"), -1);
	ck_assert_double_eq(player_value("rw", "ns"), -1);
	cell.min = cell.max = 520; /* the requests of coalescing */
	cell.lanes = 1;
	player_play(NULL, cell);
	check_times(&cell, "mam");
	check_times(&cell, "cuda");
	check_times(&cell, "pages");
	ck_assert_double_eq(player_value("mam-coalesce", "ns"), -1);
	ck_assert_double_eq(player_value("cuda-coalesce", "ns"), -1);
}
END_TEST

START_TEST(buffers_are_timed)
{
	static const uint32_t counts[] = { 0, 1, 4, 32 };
	struct device_cell cell = cell_of(XMALLOC_FIFOS, _i < 4 ? 7 : 96, _i < 4 ? 1 : 32);

	cell.buffers = counts[_i % 4];
	player_play(NULL, cell);
	check_times(&cell, "mam-xmalloc");
	check_times(&cell, "cuda-xmalloc");
	ck_assert_double_eq(player_value("mam", "ns"), -1);
	ck_assert_double_eq(player_value("cuda-coalesce", "ns"), -1);
	ck_assert_double_eq(player_value("cuda-xmc", "ns"), -1);
	ck_assert_double_eq(player_value("pages", "ns"), -1);
	ck_assert_double_eq(player_value("pages-coalesce", "ns"), -1);
}
END_TEST

START_TEST(held_objects_are_timed)
{
	static const char *const names[] = { "mam",       "mam-coalesce", "mam-xmalloc",
					     "rw-malloc", "bump",         "pages-coalesce" };
	struct device_cell cell = cell_of(XMALLOC_HOLD, 40, 32);

	cell.heap_bytes = 8 * PLAYER_HEAP; /* a slab for each of many classes */
	cell.max = 256;
	cell.rounds = 3;
	player_play(names[_i], cell);
	ck_assert_str_eq(player_trouble, "");
	ck_assert_msg(player_value(names[_i], "wrong") == 0, "%s", player_notes);
	ck_assert_double_eq(player_value(names[_i], "none"), 0);
	ck_assert_double_gt(player_value(names[_i], "ns"), 0);
	if (strcmp(names[_i], "bump") == 0)
		ck_assert_double_eq(player_value("bump", "free_ns"), -1);
	else
		ck_assert_double_gt(player_value(names[_i], "free_ns"), 0);
}
END_TEST

/* With a page per object, the held objects would not fit. */
START_TEST(pages_hold_no_mixed_sizes)
{
	struct device_cell cell = cell_of(XMALLOC_HOLD, 40, 32);

	player_play("pages", cell);
	ck_assert_double_eq(player_value("pages", "ns"), -1);
	cell.work = XMALLOC_TIME;
	player_play("pages", cell);
	ck_assert_double_gt(player_value("pages", "ns"), 0);
}
END_TEST

/*
 * More workers than pages: only those with a page are checked; the others fail while they are
 * timed.
 */
START_TEST(workers_without_a_page_are_counted)
{
	/* Lanes that are active together in a simulated warp are not always all lanes. */
	struct device_cell cell = cell_of(XMALLOC_TIME, 64, _i % 2 == 0 ? 32 : 1);
	const char *const name = _i % 2 == 0 ? "pages" : "pages-coalesce";

	cell.heap_bytes = 4096; /* three pages */
	if (_i >= 2) {
		cell.work = XMALLOC_PREFILLED;
		cell.filled = 1; /* of two pages */
	}
	player_play(name, cell);
	check_times(&cell, name);
	ck_assert_ptr_nonnull(strstr(player_notes, "that got nothing while it was timed"));
}
END_TEST

START_TEST(broken_allocator_is_detected)
{
	struct device_cell cell = cell_of(_i == 0 ? XMALLOC_TIME : XMALLOC_HOLD, 64, 32);

	cell.rounds = _i == 0 ? 1 : 2;
	player_play("broken", cell);
	player_check_broken("ns");
}
END_TEST

/* ---- one heap, by hand ---- */

static uint64_t got[256];
static struct device_found found;

static struct device_heap heap_of(const char *name)
{
	struct device_heap heap = { .own_numbers = { 0 } };
	char why[64];
	size_t i;

	for (i = 0; i < xmalloc_allocator_count; i++) {
		if (strcmp(xmalloc_allocators[i].name, name) == 0)
			heap.allocator = &xmalloc_allocators[i];
	}
	heap.module = bench_gpu_module(heap.allocator->module, why, sizeof(why));
	ck_assert_ptr_null(heap.allocator->make(&heap, UINT64_C(1) << 20, 0));
	return heap;
}

START_TEST(drained_buffers_return_to_the_base)
{
	static const char *const names[] = { "cuda-xmalloc", "cuda-coalesce", "cuda-xmc" };
	const char *const name = names[_i / 2];
	struct device_run run = { .got = got, .found = &found };
	struct device_heap heap = heap_of(name);
	struct device_job job = { .askers = 80,
				  .lanes = _i % 2 == 0 ? 32 : 1,
				  .min = 4,
				  .max = 100,
				  .rounds = 3,
				  .got = got,
				  .found = &found };
	size_t i;

	job.heap = heap.heap;
	ck_assert(xmalloc_format(&run, &heap, 4));
	for (i = 0; i < 3; i++) {
		ck_assert(device_launch(&heap, "hold", &job, NULL));
		ck_assert_uint_gt(device_sim_base_blocks, 0);
		ck_assert(device_launch(&heap, "drop", &job, NULL));
		ck_assert(device_launch(&heap, "use", &job, NULL));
	}
	ck_assert(xmalloc_drain(&run, &heap));
	ck_assert_str_eq(bench_gpu_trouble(), "");
	ck_assert_uint_eq(device_sim_base_blocks, 0);
	ck_assert_uint_eq(found.none, 0);
	ck_assert_uint_eq(found.corrupt, 0);
	heap.allocator->end(&heap);
	ck_assert_uint_eq(device_sim_blocks, 0);
}
END_TEST

/* The tag that XMalloc's own layers write in front of an object. */
static uint32_t tag_of(uint64_t object)
{
	return (uint32_t)(((const uint64_t *)(uintptr_t)object)[-1] >> 32);
}

/* As published; by the calls, for 600 warps; over mam by the calls, there is nothing between. */
START_TEST(layers_have_the_published_sizes)
{
	struct device_run run = { .got = got, .found = &found };
	struct device_heap published = heap_of("cuda-xmalloc"), called = heap_of("cuda-xmc");
	struct device_job job = { .askers = 64,
				  .lanes = 1,
				  .min = 4,
				  .max = 4,
				  .rounds = 1,
				  .got = got,
				  .found = &found };
	const struct bench_layers *layers = called.heap;
	struct device_heap over_mam = heap_of("mam-xmc"), with_layers = heap_of("mam-xmalloc");
	const struct mam_buffers *buffers = layers->buffers;

	ck_assert_uint_eq(called.space_bytes - published.space_bytes,
			  mam_buffers_bytes(32, 1024) - mam_buffers_bytes(32, 256));
	ck_assert(xmalloc_format(&run, &called, 4));
	ck_assert_uint_eq(buffers->count, 32);
	ck_assert_uint_eq(buffers->each, 1024 / 32);
	ck_assert(xmalloc_format(&run, &over_mam, 4));
	job.heap = over_mam.heap;
	ck_assert(device_launch(&over_mam, "hold", &job, NULL));
	/* One of the two is not the first in the memory. */
	ck_assert_uint_ne(tag_of(got[got[0] == over_mam.low]), MAM_COMPARTMENT_ALONE);
	ck_assert(device_launch(&over_mam, "drop", &job, NULL));
	job.heap = with_layers.heap;
	memset(got, 0, sizeof(got));
	ck_assert(xmalloc_format(&run, &with_layers, 4));
	ck_assert(device_launch(&with_layers, "hold", &job, NULL));
	ck_assert_uint_eq(tag_of(got[0]), MAM_COMPARTMENT_ALONE);
	ck_assert(device_launch(&with_layers, "drop", &job, NULL));
	ck_assert(xmalloc_drain(&run, &with_layers));
	with_layers.allocator->end(&with_layers);
	called.allocator->end(&called);
	published.allocator->end(&published);
	over_mam.allocator->end(&over_mam);
	ck_assert_uint_eq(device_sim_blocks, 0);
}
END_TEST

static unsigned int taken_pages(const struct device_heap *heap)
{
	const struct bench_layers *layers = heap->heap;
	const struct mam_kheap *head = layers->base;
	const uint64_t *bits = mam_pages_bits((struct mam_pages *)(uintptr_t)(head + 1));
	unsigned int i, taken = 0;

	ck_assert_uint_eq((uintptr_t)head, heap->high);
	for (i = 0; i < head->pages; i++)
		taken += bits[i / 64] >> i % 64 & 1;
	return taken;
}

/* One page per lane, or per group of active lanes of a warp; all pages are freed. */
START_TEST(each_lane_or_group_takes_a_page)
{
	const bool alone = _i < 2 || _i % 2 == 1;
	struct device_heap heap = heap_of(_i < 2 ? "pages" : "pages-coalesce");
	struct device_job job = { .heap = heap.heap,
				  .askers = 80,
				  .lanes = _i % 2 == 0 ? 32 : 1,
				  .min = 4,
				  .max = 4,
				  .rounds = 3,
				  .got = got,
				  .found = &found };

	ck_assert_uint_eq(xmalloc_pages_of(&heap) * XMALLOC_PAGE, heap.high - heap.low);
	ck_assert(device_launch(&heap, "hold", &job, NULL));
	if (alone) {
		ck_assert_uint_eq(taken_pages(&heap), 80 * 3);
	} else {
		ck_assert_uint_ge(taken_pages(&heap), 3 * 3);
		ck_assert_uint_lt(taken_pages(&heap), 80 * 3 / 2);
	}
	ck_assert(device_launch(&heap, "drop", &job, NULL));
	ck_assert_uint_eq(taken_pages(&heap), 0);
	job.min = job.max = 1024;
	memset(got, 0, sizeof(got));
	ck_assert(device_launch(&heap, "base_fill", &job, NULL));
	ck_assert_uint_eq(taken_pages(&heap), 80 * 2);
	ck_assert(device_launch(&heap, "base_give", &job, NULL));
	ck_assert_uint_eq(taken_pages(&heap), 0);
	ck_assert_uint_eq(found.none, 0);
	ck_assert_str_eq(bench_gpu_trouble(), "");
	heap.allocator->end(&heap);
	ck_assert_uint_eq(device_sim_blocks, 0);
}
END_TEST

START_TEST(heap_too_small_for_the_layers_is_reported)
{
	size_t i;

	for (i = 0; i < LAYERED; i++) {
		struct device_cell cell = cell_of(XMALLOC_TIME, 64, 32);

		cell.heap_bytes = 1024; /* no block, and no page */
		cell.min = cell.max = 4;
		if (i < 5) { /* those over mam, and over pages */
			player_play(layered[i], cell);
			ck_assert_ptr_nonnull(strstr(player_notes, "memory"));
			ck_assert_str_eq(player_trouble, "");
		}
	}
}
END_TEST

/* ---- numbers ---- */

static struct bench_results results;

static double times_of(const char *base, const char *name)
{
	double value = -1;

	(void)bench_results_get(&results, "xmalloc-speedup", base, name, "times", &value);
	return value;
}

/* How many times faster, and over which base; with fewer workers where a million have no time. */
START_TEST(speedups_are_computed)
{
	bench_results_add(&results, "xmalloc-time", "cuda", "1M 32", "ns", 600);
	bench_results_add(&results, "xmalloc-time", "cuda", "16K 32", "ns", 1);
	bench_results_add(&results, "xmalloc-time", "cuda-xmalloc", "1M 32", "ns", 10);
	bench_results_add(&results, "xmalloc-time", "cuda-xmalloc", "16K 32", "ns", 9);
	bench_results_add(&results, "xmalloc-time", "cuda-xmc", "1M 32", "ns", 4);
	bench_results_add(&results, "xmalloc-time", "mam", "1M 32", "ns", 3);
	bench_results_add(&results, "xmalloc-time", "mam-xmalloc", "1M 32", "ns", 4);
	bench_results_add(&results, "xmalloc-prefilled", "cuda-xmalloc", "1M 32", "ns", 100);
	bench_results_add(&results, "xmalloc-prefilled", "cuda-xmalloc", "16K 32", "ns", 50);
	bench_results_add(&results, "xmalloc-prefilled", "cuda-xmc", "16K 32", "ns", 16);
	bench_results_add(&results, "xmalloc-prefilled", "cuda", "16K 32", "ns", 400);
	bench_results_add(&results, "xmalloc-coalesce", "cuda", "1M 32", "ns", 90);
	bench_results_add(&results, "xmalloc-coalesce", "cuda-coalesce", "1M 32", "ns", 3);
	bench_results_add(&results, "xmalloc-time", "pages", "1M 32", "ns", 6);
	bench_results_add(&results, "xmalloc-time", "pages-coalesce", "1M 32", "ns", 5);
	bench_results_add(&results, "xmalloc-coalesce", "pages", "1M 32", "ns", 12);
	bench_results_add(&results, "xmalloc-coalesce", "pages-coalesce", "1M 32", "ns", 3);
	bench_results_add(&results, "xmalloc-buffers", "cuda-xmalloc", "16K 1 1", "request_ns", 70);
	bench_results_add(&results, "xmalloc-buffers", "cuda-xmalloc", "16K 1 16", "request_ns",
			  14);
	xmalloc_complete(&results);
	ck_assert_double_eq(times_of("over-cuda", "time"), 150);
	ck_assert_double_eq(times_of("over-cuda", "time_256"), 60);
	ck_assert_double_eq(times_of("over-mam", "time"), -1);
	ck_assert_double_eq(times_of("over-mam", "time_256"), 0.75);
	ck_assert_double_eq(times_of("over-cuda", "prefilled"), 25);
	ck_assert_double_eq(times_of("over-cuda", "prefilled_256"), 8);
	ck_assert_double_eq(times_of("over-cuda", "coalesce"), 30);
	ck_assert_double_eq(times_of("over-cuda", "buffers"), 5);
	ck_assert_double_eq(times_of("over-mam", "coalesce"), -1);
	ck_assert_double_eq(times_of("over-pages", "time"), -1);
	ck_assert_double_eq(times_of("over-pages", "coalesce"), 4);
	ck_assert_double_eq(times_of("published", "time"), 48);
	ck_assert_double_eq(times_of("published", "prefilled"), 6);
	ck_assert_double_eq(times_of("published", "coalesce"), 50);
	ck_assert_double_eq(times_of("published", "buffers"), 5);
	bench_results_fini(&results);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bench xmalloc");
	TCase *works = tcase_create("works"), *hand = tcase_create("by hand");
	TCase *numbers = tcase_create("numbers");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(works, setup, NULL);
	tcase_add_loop_test(works, pairs_are_timed, 0, 4);
	tcase_add_test(works, prefilled_heap_is_timed);
	tcase_add_test(works, coalesced_requests_are_timed);
	tcase_add_loop_test(works, buffers_are_timed, 0, 8);
	tcase_add_loop_test(works, held_objects_are_timed, 0, 6);
	tcase_add_test(works, pages_hold_no_mixed_sizes);
	tcase_add_loop_test(works, workers_without_a_page_are_counted, 0, 4);
	tcase_add_loop_test(works, broken_allocator_is_detected, 0, 2);
	tcase_add_test(works, heap_too_small_for_the_layers_is_reported);
	tcase_set_timeout(works, 120);
	suite_add_tcase(s, works);
	tcase_add_checked_fixture(hand, setup, NULL);
	tcase_add_loop_test(hand, drained_buffers_return_to_the_base, 0, 6);
	tcase_add_test(hand, layers_have_the_published_sizes);
	tcase_add_loop_test(hand, each_lane_or_group_takes_a_page, 0, 4);
	suite_add_tcase(s, hand);
	tcase_add_test(numbers, speedups_are_computed);
	suite_add_tcase(s, numbers);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
