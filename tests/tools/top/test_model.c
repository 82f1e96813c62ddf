/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of statistics pages: figures by GPU and pool, rates, history, and processes that start,
 * end, or have pages of any contents.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mam/statpage.h>

#include "tools/page/stand_in.h"
#include "top/model.h"

#define SECOND UINT64_C(1000000000)

static char folder[STAND_IN_PATH], path[STAND_IN_PATH];
static struct mam_statpage page;
static struct top_model model;

static void begin(void)
{
	ck_assert(stand_in_folder(folder));
	memset(&model, 0, sizeof(model));
	model.list.is_quiet = true;
	stand_in_begin(&page, getpid(), 0, "program");
}

static void end(void)
{
	top_model_fini(&model);
	stand_in_remove(folder);
}

static void sample(uint64_t second)
{
	ck_assert(stand_in_write(&page, 0, path));
	ck_assert(top_model_sample(&model, second * SECOND));
}

START_TEST(pools_are_summed_by_gpu)
{
	struct mam_statpage_counts *counts;
	const struct top_process *process;

	counts = stand_in_pool(&page, "first", "vmm", 3);
	counts->live_bytes = 10;
	counts->cached_bytes = 1;
	counts->reserved_bytes = 100;
	counts->peak_live_bytes = 20;
	counts->failures = 2;
	counts->driver_ns = 5;
	counts = stand_in_pool(&page, "second", "host", 1);
	counts->live_bytes = 1000;
	counts = stand_in_pool(&page, "third", "host", 3);
	counts->live_bytes = 30;
	counts->retired_bytes = 7;
	counts->reserved_bytes = 200;
	counts->peak_live_bytes = 40;
	counts->failures = 3;
	counts->driver_ns = 6;
	page.rank = 9;
	sample(1);
	ck_assert_uint_eq(model.count, 1);
	process = &model.processes[0];
	ck_assert_str_eq(process->program, "program");
	ck_assert_uint_eq(process->rank, 9);
	ck_assert_uint_eq(process->use_count, 2);
	ck_assert_int_eq(process->uses[0].gpu, 1);
	ck_assert_uint_eq(process->uses[0].figures.live_bytes, 1000);
	ck_assert_int_eq(process->uses[1].gpu, 3);
	ck_assert_uint_eq(process->uses[1].figures.live_bytes, 40);
	ck_assert_uint_eq(process->uses[1].figures.cached_bytes, 1);
	ck_assert_uint_eq(process->uses[1].figures.retired_bytes, 7);
	ck_assert_uint_eq(process->uses[1].figures.reserved_bytes, 300);
	ck_assert_uint_eq(process->uses[1].figures.peak_live_bytes, 60);
	ck_assert_uint_eq(process->uses[1].figures.failures, 5);
	ck_assert_uint_eq(process->uses[1].figures.driver_ns, 11);
	ck_assert_uint_eq(process->uses[1].figures.pools, 2);
	ck_assert_uint_eq(process->pool_count, 3);
	ck_assert_str_eq(process->pools[1].name, "second");
	ck_assert_str_eq(process->pools[1].source, "host");
	ck_assert_int_eq(process->pools[1].gpu, 1);
	ck_assert(process->uses[0].nvml_bytes == TOP_NO_BYTES);
}
END_TEST

START_TEST(rate_is_of_the_time_between_samples)
{
	struct mam_statpage_counts *counts = stand_in_pool(&page, "pool", "vmm", 0);

	counts->allocs = 1000;
	sample(10);
	ck_assert(model.processes[0].uses[0].alloc_rate < 0);
	ck_assert(model.processes[0].pools[0].alloc_rate < 0);
	counts->allocs = 1500;
	sample(12);
	ck_assert_double_eq(model.processes[0].uses[0].alloc_rate, 250);
	ck_assert_double_eq(model.processes[0].pools[0].alloc_rate, 250);
	sample(13);
	ck_assert_double_eq(model.processes[0].uses[0].alloc_rate, 0);
	counts->allocs = 3; /* another pool in its place */
	sample(14);
	ck_assert(model.processes[0].pools[0].alloc_rate < 0);
	snprintf(page.pools[0].name, sizeof(page.pools[0].name), "other");
	counts->allocs = 100;
	sample(15);
	ck_assert(model.processes[0].pools[0].alloc_rate < 0);
}
END_TEST

START_TEST(history_is_a_ring)
{
	struct mam_statpage_counts *counts = stand_in_pool(&page, "pool", "vmm", 0);
	const struct top_use *use;

	for (unsigned int i = 0; i < TOP_HISTORY + 10; i++) {
		counts->live_bytes = 100 + i;
		sample(i);
		use = &model.processes[0].uses[0];
		ck_assert_uint_eq(top_history(use, 0), 100 + i);
		ck_assert_uint_eq(top_history(use, 5), i < 5 ? 0 : 95 + i);
	}
	ck_assert_uint_eq(top_history(use, TOP_HISTORY - 1), 100 + 10);
	ck_assert_uint_eq(top_history(use, TOP_HISTORY), 0);
}
END_TEST

START_TEST(ended_pool_has_only_totals)
{
	struct mam_statpage_counts *counts = stand_in_pool(&page, "pool", "vmm", 0);

	counts->live_bytes = 5;
	counts->reserved_bytes = 10;
	counts->allocs = 7;
	page.pools[0].state = MAM_STATPAGE_ENDED;
	sample(1);
	ck_assert(model.processes[0].pools[0].has_ended);
	ck_assert_uint_eq(model.processes[0].uses[0].figures.live_bytes, 0);
	ck_assert_uint_eq(model.processes[0].uses[0].figures.reserved_bytes, 0);
	ck_assert_uint_eq(model.processes[0].uses[0].figures.allocs, 7);
}
END_TEST

START_TEST(process_without_pools_has_no_gpu)
{
	sample(1);
	ck_assert_uint_eq(model.processes[0].pool_count, 0);
	ck_assert_uint_eq(model.processes[0].use_count, 1);
	ck_assert_int_eq(model.processes[0].uses[0].gpu, TOP_NO_GPU);
	/* It keeps its history from the first pool on. */
	stand_in_pool(&page, "pool", "vmm", 0)->live_bytes = 1;
	sample(2);
	ck_assert_uint_eq(model.processes[0].use_count, 1);
	ck_assert_int_eq(model.processes[0].uses[0].gpu, 0);
	ck_assert_uint_eq(model.processes[0].uses[0].samples, 1);
}
END_TEST

START_TEST(process_that_ends_disappears)
{
	stand_in_pool(&page, "pool", "vmm", 0);
	sample(1);
	ck_assert_uint_eq(model.count, 1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(top_model_sample(&model, 2 * SECOND));
	ck_assert_uint_eq(model.count, 0);
	sample(3);
	ck_assert_uint_eq(model.count, 1);
	ck_assert(model.processes[0].uses[0].alloc_rate < 0);
	ck_assert_uint_eq(model.processes[0].uses[0].samples, 1);
}
END_TEST

START_TEST(page_that_is_cut_off_is_skipped)
{
	stand_in_pool(&page, "pool", "vmm", 0);
	sample(1);
	ck_assert_int_eq(truncate(path, 100), 0);
	for (int i = 2; i < 4; i++) {
		ck_assert(top_model_sample(&model, (uint64_t)i * SECOND));
		ck_assert_uint_eq(model.count, 0);
		ck_assert_uint_eq(model.list.skipped_count, 1);
	}
}
END_TEST

/* A hostile page: every byte after the heading is random. */
START_TEST(any_contents_are_read)
{
	uint64_t state = 88172645463325252 + (uint64_t)_i;

	for (size_t i = offsetof(struct mam_statpage, past); i < sizeof(page); i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		((unsigned char *)&page)[i] = (unsigned char)state;
	}
	for (unsigned int i = 0; i < MAM_STATPAGE_POOLS; i++)
		page.pools[i].state = (uint32_t)(i % 4);
	sample(1);
	sample(2);
	ck_assert_uint_eq(model.count, 1);
	ck_assert_uint_eq(model.processes[0].pool_count, MAM_STATPAGE_POOLS / 2);
	for (size_t i = 0; i < model.processes[0].pool_count; i++) {
		const struct top_pool *pool = &model.processes[0].pools[i];

		ck_assert(pool->gpu >= 0 && pool->gpu < MAM_STATPAGE_DEVICES);
		for (const char *c = pool->name; *c; c++)
			ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model");
	TCase *tests = tcase_create("samples");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, pools_are_summed_by_gpu);
	tcase_add_test(tests, rate_is_of_the_time_between_samples);
	tcase_add_test(tests, history_is_a_ring);
	tcase_add_test(tests, ended_pool_has_only_totals);
	tcase_add_test(tests, process_without_pools_has_no_gpu);
	tcase_add_test(tests, process_that_ends_disappears);
	tcase_add_test(tests, page_that_is_cut_off_is_skipped);
	tcase_add_loop_test(tests, any_contents_are_read, 0, 8);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
