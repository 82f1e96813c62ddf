/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads of the bench with a heap that only counts: their requests add up, their results match
 * what the heap did, and they free what they allocated.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/host/play.h"

#define MIB BENCH_MIB

/*
 * A heap without memory: blocks are numbers, and it takes whole MiB from a source without memory.
 */
static struct counting {
	size_t live, reserved, peak_live; /* bytes */
	size_t capacity;                  /* larger requests fail; 0: all succeed */
	size_t allocs, frees, growths, opens, closes;
	uintptr_t next;
} heap;

bool bench_mam_metadata(const struct bench_peer *peer, double *segments, double *bytes)
{
	(void)peer;
	(void)segments;
	(void)bytes;
	return false;
}

size_t bench_cuda_free_bytes(void)
{
	return 0;
}

static bool heap_open(struct bench_peer *peer)
{
	heap.opens++;
	heap.live = heap.reserved = 0;
	heap.capacity = peer->chunk_bytes;
	return true;
}

static void heap_close(struct bench_peer *peer)
{
	(void)peer;
	ck_assert_uint_eq(heap.live, 0);
	heap.closes++;
}

static void *heap_alloc(struct bench_peer *peer, size_t bytes)
{
	(void)peer;
	ck_assert_uint_gt(bytes, 0);
	if (heap.capacity != 0 && heap.live + bytes > heap.capacity)
		return NULL;
	heap.live += bytes;
	if (heap.live > heap.peak_live)
		heap.peak_live = heap.live;
	if (heap.live > heap.reserved) {
		heap.reserved = (heap.live + MIB - 1) / MIB * MIB;
		heap.growths++;
	}
	heap.allocs++;
	return (void *)++heap.next;
}

static void heap_release(struct bench_peer *peer, void *block, size_t bytes)
{
	(void)peer;
	ck_assert_ptr_nonnull(block);
	ck_assert_uint_le(bytes, heap.live);
	heap.live -= bytes;
	heap.frees++;
}

static bool heap_gauge(struct bench_peer *peer, struct bench_gauge *gauge)
{
	(void)peer;
	*gauge = (struct bench_gauge){ .reserved = (double)heap.reserved,
				       .peak_reserved = (double)heap.reserved,
				       .physical = (double)heap.reserved,
				       .peak_physical = (double)heap.reserved };
	return true;
}

static struct bench_peer counter = {
	.name = "counter",
	.open = heap_open,
	.close = heap_close,
	.alloc = heap_alloc,
	.release = heap_release,
	.gauge = heap_gauge,
	.bounded = true,
	.space_bytes = (size_t)8 << 30,
};

static struct bench_effort effort = { .name = "test",
				      .repeats = 1,
				      .slice_ns = 1000000,
				      .case_ns = UINT64_C(600000000000),
				      .other_case_ns = UINT64_C(600000000000),
				      .fine = true };

static struct bench_sample sample;

/* One case, after which nothing remains allocated. */
static const char *play(const struct bench_workload *workload, size_t which)
{
	struct bench_random random = { 1 };
	const char *why;

	memset(&heap, 0, sizeof(heap));
	sample.count = 0;
	ck_assert(heap_open(&counter));
	why = workload->run(&counter, &workload->cases[which], &effort, &random, &sample);
	heap_close(&counter);
	ck_assert_uint_eq(heap.opens, heap.closes);
	ck_assert_uint_eq(heap.allocs, heap.frees);
	return why;
}

static double number(const char *parameter, const char *metric)
{
	size_t i;

	for (i = 0; i < sample.count; i++) {
		const struct bench_number *one = &sample.numbers[i];

		if (strcmp(one->metric, metric) == 0 &&
		    (parameter == NULL
			     ? one->parameter == NULL
			     : one->parameter != NULL && strcmp(one->parameter, parameter) == 0))
			return one->value;
	}
	ck_abort_msg("no number %s", metric);
	return 0;
}

START_TEST(latency_counts_growths_separately)
{
	size_t which;

	for (which = 0; which < bench_work_latency.case_count; which++) {
		ck_assert_ptr_null(play(&bench_work_latency, which));
		ck_assert_double_eq(number(NULL, "growths"), (double)heap.growths);
		ck_assert_uint_gt(heap.growths, 0);
		ck_assert_uint_ge(heap.allocs, 500);
		ck_assert_double_le(number(NULL, "growth_ns"), number(NULL, "growth_max_ns"));
		ck_assert_double_le(number(NULL, "alloc_p50_ns"), number(NULL, "alloc_p90_ns"));
		ck_assert_double_le(number(NULL, "alloc_p90_ns"), number(NULL, "alloc_p99_ns"));
		ck_assert_double_le(number(NULL, "alloc_p99_ns"), number(NULL, "alloc_p999_ns"));
		ck_assert_double_le(number(NULL, "alloc_p999_ns"), number(NULL, "alloc_max_ns"));
		ck_assert_double_le(number(NULL, "free_p999_ns"), number(NULL, "free_max_ns"));
	}
}
END_TEST

START_TEST(latency_stays_within_its_share_of_the_heap)
{
	ck_assert_ptr_null(play(&bench_work_latency, 2)); /* large blocks */
	ck_assert_uint_le(heap.peak_live, counter.space_bytes / 4);
	ck_assert_uint_ge(heap.peak_live, counter.space_bytes / 8);
}
END_TEST

START_TEST(fill_fills_the_heap_each_time)
{
	effort.slice_ns = 0; /* its minimum */
	ck_assert_ptr_null(play(&bench_work_fill, 0));
	ck_assert_uint_le(heap.peak_live, counter.space_bytes);
	ck_assert_uint_ge(heap.peak_live, counter.space_bytes - BENCH_GIB);
	ck_assert_double_eq(number(NULL, "fills"), 2);
	ck_assert_double_eq(number(NULL, "fills") * number(NULL, "blocks_a_fill"),
			    (double)heap.allocs);
	ck_assert_double_ge(number("1B", "alloc_ns"), 0);
	ck_assert_double_ge(number("128MiB", "free_ns"), 0);
}
END_TEST

START_TEST(smallest_chunk_of_a_perfect_heap_equals_the_peak)
{
	double enough, fails;

	ck_assert_ptr_null(play(&bench_work_smallest, 0));
	enough = number(NULL, "chunk_ratio");
	fails = number(NULL, "fails_ratio");
	ck_assert_double_ge(enough, 1);
	ck_assert_double_le(enough, 1.002);
	ck_assert_double_lt(fails, 1);
	ck_assert_double_le(enough - fails, 0.002);
	ck_assert_uint_eq(counter.chunk_bytes, 0);
}
END_TEST

START_TEST(training_is_replayed_cold_and_warm)
{
	struct training training;
	size_t allocs = 0, i;

	ck_assert(training_make(&training));
	for (i = 0; i < training.count; i++)
		allocs += training.events[i].bytes > 0;
	training_fini(&training);
	ck_assert_ptr_null(play(&bench_work_training, 0));
	ck_assert_double_eq(number(NULL, "cold_events"), 207743);
	ck_assert_double_eq(number(NULL, "done_ratio"), 1);
	/* once cold, three times warm, once with each operation timed */
	ck_assert_uint_eq(heap.allocs, 5 * allocs);
	ck_assert_double_ge(number(NULL, "reserved_ratio"), 1);
	ck_assert_double_le(number(NULL, "reserved_ratio"), 1.001);
	ck_assert_double_ge(number(NULL, "alloc_p99_ns"), number(NULL, "alloc_ns"));
	ck_assert_double_ge(number(NULL, "free_p99_ns"), number(NULL, "free_ns"));
}
END_TEST

START_TEST(expected_failures_are_counted)
{
	/* 1 B, 5 B and 2 B where 6 B fit: the second request fails, and its free is skipped */
	struct training_event events[] = { { 2, 0 }, { 5, 1 }, { 1, 2 }, { 0, 1 },
					   { 0, 0 }, { 5, 1 }, { 0, 1 }, { 0, 2 } };
	struct training script = { events, 8, 3, 8, 0 };
	struct bench_block blocks[3] = { { NULL, 0 } };

	memset(&heap, 0, sizeof(heap));
	heap.capacity = 6;
	sample.count = 0;
	ck_assert_str_eq(play_script(&counter, &script, false, false, &effort, &sample),
			 "a request was refused");
	ck_assert_uint_eq(heap.live, 0);
	sample.count = 0;
	ck_assert_ptr_null(play_script(&counter, &script, false, true, &effort, &sample));
	ck_assert_double_eq(number(NULL, "failures"), 1);
	ck_assert_uint_eq(heap.allocs, heap.frees);
	ck_assert(!play_fits(&counter, &script, blocks));
	heap.capacity = 8;
	ck_assert(play_fits(&counter, &script, blocks));
	ck_assert_uint_eq(heap.live, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench workloads");
	TCase *tests = tcase_create("workloads");
	SRunner *runner;
	int failed;

	bench_measure_init();
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, latency_counts_growths_separately);
	tcase_add_test(tests, latency_stays_within_its_share_of_the_heap);
	tcase_add_test(tests, fill_fills_the_heap_each_time);
	tcase_add_test(tests, smallest_chunk_of_a_perfect_heap_equals_the_peak);
	tcase_add_test(tests, training_is_replayed_cold_and_warm);
	tcase_add_test(tests, expected_failures_are_counted);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
