/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sites.c - sampled call sites: the table and its reader, also with a page that another process
 * wrote or left; and the watcher, with a clock of the test.
 */
#include "interpose/watch/sites.h"

#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include <mam/statpage.h>

#include "interpose/profile/sample.h"
#include "interpose/profile/unwind.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/site_table.h"
#include "interpose/watch/watch.h"

#define MIB ((uint64_t)1 << 20)
#define ROOM (MAM_STATPAGE_SITES + 1)

/* Functions of other parts that the files under test call. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static _Atomic int64_t seconds = 1000;
_Atomic unsigned int mam_watch_bits;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	time->tv_sec = atomic_load(&seconds);
	time->tv_nsec = 0;
	return 0;
}

void mam_watch_start(unsigned int bits)
{
	atomic_fetch_or(&mam_watch_bits, bits);
}

void mam_watch_stop(unsigned int bits)
{
	atomic_fetch_and(&mam_watch_bits, ~bits);
}

const struct mam_real_linker *mam_real_linker(void)
{
	static const struct mam_real_linker linker = { .dlsym = dlsym };

	return &linker;
}

/* ---- the table ---- */

static struct mam_site_table table;
static struct mam_statpage page;
static struct mam_statpage_holder holders[ROOM], sum;
static uint64_t since;

static void setup(void)
{
	memset(&table, 0, sizeof(table));
	memset(&page, 0, sizeof(page));
	mam_site_table_begin(&table, &page.sites, 77);
}

static struct mam_site_place add(uint64_t key, int device, uint64_t bytes, double probability)
{
	struct mam_site_place place;
	char name[32];

	snprintf(name, sizeof(name), "site %llu", (unsigned long long)key);
	place = mam_site_table_find(&table, &page.sites, key, device, name);
	mam_site_table_add(&table, &page.sites, &place, bytes, probability);
	return place;
}

static size_t read_sites(int device, size_t room)
{
	return mam_statpage_read_sites(&page, device, holders, room, &since, &sum);
}

START_TEST(sites_are_sorted_and_the_rest_is_others)
{
	add(1, 0, 100, 1);
	add(2, 0, 300, 1);
	add(3, 0, 200, 1);
	add(2, 0, 300, 1);
	ck_assert_uint_eq(read_sites(0, ROOM), 3);
	ck_assert_uint_eq(since, 77);
	ck_assert_str_eq(holders[0].name, "site 2");
	ck_assert_uint_eq(holders[0].bytes, 600);
	ck_assert_uint_eq(holders[0].blocks, 2);
	ck_assert_uint_eq(holders[0].error, 0);
	ck_assert_str_eq(holders[1].name, "site 3");
	ck_assert_str_eq(holders[2].name, "site 1");
	ck_assert_uint_eq(read_sites(0, 2), 2);
	ck_assert_str_eq(holders[0].name, "site 2");
	ck_assert_str_eq(holders[1].name, "");
	ck_assert_uint_eq(holders[1].bytes, 300);
	ck_assert_uint_eq(holders[1].blocks, 2);
	ck_assert_uint_eq(sum.bytes, 900);
	ck_assert_uint_eq(read_sites(0, 1), 1);
	ck_assert_uint_eq(holders[0].bytes, 900);
}
END_TEST

START_TEST(a_block_counts_by_its_probability_until_its_free)
{
	struct mam_site_place one = add(1, 0, 1000, 0.3), other = add(1, 0, 7, 0.00001);
	double error = 2 * sqrt(1e6 * 0.7 / 0.09 + 49 * 0.99999 / 1e-10);

	ck_assert_uint_eq(read_sites(0, ROOM), 1);
	ck_assert_uint_eq(holders[0].bytes, 3333 + 700000);
	ck_assert_uint_eq(holders[0].blocks, 100003);
	ck_assert(fabs((double)holders[0].error - error) <= 0.05 * error);
	mam_site_table_subtract(&table, &page.sites, &other, 7, 0.00001);
	mam_site_table_subtract(&table, &page.sites, &one, 1000, 0.3);
	ck_assert_uint_eq(read_sites(0, ROOM), 0);
	ck_assert_uint_eq(sum.bytes, 0);
}
END_TEST

START_TEST(devices_are_apart)
{
	add(1, 0, 100, 1);
	add(1, 5, 200, 1);
	add(1, -1, 50, 1); /* unknown */
	ck_assert_uint_eq(read_sites(0, ROOM), 1);
	ck_assert_uint_eq(holders[0].bytes, 150);
	ck_assert_uint_eq(read_sites(5, ROOM), 1);
	ck_assert_uint_eq(holders[0].bytes, 200);
	ck_assert_uint_eq(read_sites(6, ROOM), 0);
	ck_assert_uint_eq(read_sites(-1, ROOM), 0);
	ck_assert_uint_eq(read_sites(MAM_STATPAGE_DEVICES, ROOM), 0);
}
END_TEST

/* Three times as many sites as places: the large ones stay, and no byte is lost. */
START_TEST(small_sites_make_room)
{
	struct mam_site_place first = add(1000, 0, 10, 1), place;
	uint64_t all = 10;

	for (uint64_t i = 1; i <= 3 * MAM_STATPAGE_SITES; i++) {
		uint64_t bytes = i <= 10 ? 1000000 * i : 20 + i % 7;

		add(i, 0, bytes, 1);
		all += bytes;
	}
	ck_assert_uint_eq(read_sites(0, 11), 11);
	ck_assert_uint_eq(sum.bytes, all);
	for (uint64_t i = 0; i < 10; i++)
		ck_assert_uint_eq(holders[i].bytes, 1000000 * (10 - i));
	ck_assert_str_eq(holders[10].name, "");
	/* The first block's site has lost its place. */
	mam_site_table_subtract(&table, &page.sites, &first, 10, 1);
	read_sites(0, 11);
	ck_assert_uint_eq(sum.bytes, all - 10);
	place = add(10, 0, 5, 1); /* a site that stayed has its place */
	mam_site_table_subtract(&table, &page.sites, &place, 5, 1);
	read_sites(0, 11);
	ck_assert_uint_eq(holders[0].bytes, 10000000);
}
END_TEST

START_TEST(a_site_that_was_killed_while_it_changed_is_skipped)
{
	struct mam_site_place place = add(1, 0, 100, 1);

	add(2, 0, 200, 1);
	page.sites.sites[place.number].sequence++;
	ck_assert_uint_eq(read_sites(0, ROOM), 1);
	ck_assert_str_eq(holders[0].name, "site 2");
}
END_TEST

/* The writer's decisions do not depend on the page, which a program of the user may write. */
START_TEST(a_hostile_page_does_no_harm)
{
	for (uint64_t i = 1; i <= MAM_STATPAGE_SITES; i++)
		add(i, 0, i, 1);
	for (int i = 0; i < MAM_STATPAGE_SITES; i++) {
		page.sites.sites[i].device = i % 2 == 0 ? UINT64_MAX : MAM_STATPAGE_DEVICES;
		page.sites.sites[i].sequence = UINT64_MAX - 1;
		page.sites.sites[i].live.bytes = UINT64_MAX - (uint64_t)i;
		page.sites.sites[i].live.variance = UINT64_MAX / 2;
		memset((void *)page.sites.sites[i].name, i % 2 == 0 ? '\n' : 'x',
		       MAM_STATPAGE_SITE_NAME);
	}
	page.sites.others[0].bytes = INT64_MAX;
	add(MAM_STATPAGE_SITES + 1, 0, 1, 1);
	page.sites.sites[3].live.bytes = INT64_MAX;
	page.sites.sites[5].live.bytes = INT64_MAX;
	page.sites.sites[6].live.bytes = INT64_MAX;
	ck_assert_uint_ge(read_sites(0, ROOM), 3);
	for (size_t i = 0; holders[i].name[0] == 'x' || holders[i].name[0] == '?'; i++)
		ck_assert_uint_eq(strlen(holders[i].name), MAM_STATPAGE_SITE_NAME);
}
END_TEST

START_TEST(probabilities_are_exact)
{
	for (uint64_t bytes = 1; bytes < (uint64_t)1 << 40; bytes += 1 + bytes / 7) {
		double expected = -expm1(-(double)bytes / (double)(MIB / 2));

		ck_assert(fabs(mam_sample_probability(bytes, MIB / 2) - expected) <=
			  1e-12 * expected);
	}
}
END_TEST

/* ---- the watcher ---- */

static struct mam_watch_call call_of(uintptr_t block, size_t bytes, void *context)
{
	return (struct mam_watch_call){ .function = MAM_TABLE_cuMemAlloc_v2,
					.fate = MAM_FATE_SERVED,
					.block = (void *)block,
					.bytes = bytes,
					.context = context };
}

static void alloc(uintptr_t block, size_t bytes, void *context)
{
	const struct mam_watch_call call = call_of(block, bytes, context);

	if (mam_watch_wants(MAM_WATCH_SITES) != 0)
		mam_sites_alloc(&call);
}

static void release(uintptr_t block)
{
	const struct mam_watch_call call = call_of(block, 0, NULL);

	if (mam_watch_wants(MAM_WATCH_SITES) != 0)
		mam_sites_free(&call);
}

static uint64_t sampled(void)
{
	mam_statpage_read_sites(mam_statpage_own(), 0, holders, ROOM, &since, &sum);
	return sum.bytes;
}

static void stop(void)
{
	ck_assert_ptr_null(mam_sites_sample(0));
}

START_TEST(large_blocks_are_exact)
{
	alloc(1 << 20, 64 * MIB, NULL); /* not sampled yet */
	ck_assert_ptr_null(mam_sites_sample(60));
	ck_assert_uint_eq(sampled(), 0);
	ck_assert_uint_eq(since, (uint64_t)atomic_load(&seconds));
	alloc(2 << 20, 64 * MIB, NULL);
	alloc(3 << 20, 100 * MIB, NULL);
	ck_assert_uint_eq(sampled(), 164 * MIB);
	release(1 << 20);
	release(2 << 20);
	ck_assert_uint_eq(sampled(), 100 * MIB);
	alloc(3 << 20, 50 * MIB, NULL); /* a call that mam does not intercept freed it */
	ck_assert_uint_eq(sampled(), 50 * MIB);
	stop();
	ck_assert_uint_eq(sampled(), 0);
	ck_assert_uint_eq(since, 0);
	ck_assert_uint_eq(mam_watch_bits, 0);
}
END_TEST

START_TEST(small_blocks_are_estimated)
{
	const uint64_t bytes = 40000 * 4096;

	mam_sites_sample(60);
	for (uintptr_t i = 1; i <= 40000; i++)
		alloc(i << 20, 4096, NULL);
	/* 312 samples are expected: the standard error is 5.7%. */
	ck_assert(sampled() > bytes * 7 / 10 && sum.bytes < bytes * 13 / 10);
	ck_assert(sum.error > bytes / 12 && sum.error < bytes / 6);
	for (uintptr_t i = 1; i <= 40000; i++)
		release(i << 20);
	ck_assert_uint_eq(sampled(), 0);
	stop();
}
END_TEST

START_TEST(sampling_ends_by_itself)
{
	mam_sites_sample(60);
	atomic_fetch_add(&seconds, 50);
	mam_sites_sample(60); /* longer */
	mam_sites_sample(5);  /* not shorter */
	atomic_fetch_add(&seconds, 59);
	alloc(1 << 20, 64 * MIB, NULL);
	ck_assert_uint_eq(sampled(), 64 * MIB);
	atomic_fetch_add(&seconds, 1);
	alloc(2 << 20, 64 * MIB, NULL);
	ck_assert_uint_eq(sampled(), 0);
	ck_assert_uint_eq(mam_watch_bits, 0);
	/* The next period knows nothing of the last one. */
	mam_sites_sample(UINT64_MAX);
	release(1 << 20);
	ck_assert_uint_eq(sampled(), 0);
	alloc(3 << 20, 64 * MIB, NULL);
	ck_assert_uint_eq(sampled(), 64 * MIB);
	stop();
}
END_TEST

static ucontext_t inside, outside;
static char stack[64 << 10] __attribute__((aligned(64)));

static void alloc_inside(void)
{
	alloc(1 << 20, 64 * MIB, NULL);
}

/* Returns how many bytes of the stack a coroutine used. */
static size_t used_by(void (*run)(void))
{
	size_t unused = 0;

	memset(stack, 0x5a, sizeof(stack));
	ck_assert_int_eq(getcontext(&inside), 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, run, 0);
	ck_assert_int_eq(swapcontext(&outside, &inside), 0);
	while (unused < sizeof(stack) && stack[unused] == 0x5a)
		unused++;
	return sizeof(stack) - unused;
}

START_TEST(a_short_stack_suffices)
{
	mam_sites_sample(60);
	used_by(alloc_inside); /* binds functions */
	ck_assert_uint_lt(used_by(alloc_inside), 3000);
	ck_assert_uint_eq(sampled(), 64 * MIB);
	stop();
}
END_TEST

START_TEST(contexts_take_their_blocks_along)
{
	int one, other;

	mam_sites_sample(60);
	for (uintptr_t i = 1; i <= 100; i++)
		alloc(i << 20, 64 * MIB, i % 2 == 0 ? (void *)&one : (void *)&other);
	mam_sites_context_gone(&one);
	ck_assert_uint_eq(sampled(), 50 * 64 * MIB);
	stop();
}
END_TEST

START_TEST(leaks_have_all_sites)
{
	mam_watch_start(MAM_WATCH_LEAKS);
	ck_assert_ptr_nonnull(mam_sites_sample(60));
	ck_assert_ptr_null(mam_sites_sample(0));
	mam_watch_stop(MAM_WATCH_LEAKS);
}
END_TEST

START_TEST(a_child_does_not_sample)
{
	mam_sites_sample(60);
	alloc(1 << 20, 64 * MIB, NULL);
	atomic_store(&mam_watch_bits, 0);
	mam_sites_restart();
	ck_assert_uint_eq(sampled(), 0);
	ck_assert_uint_eq(since, 0);
	mam_sites_sample(60);
	release(1 << 20);
	alloc(2 << 20, 64 * MIB, NULL);
	ck_assert_uint_eq(sampled(), 64 * MIB);
	stop();
}
END_TEST

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS 3000

static atomic_bool is_over;

static void *work(void *argument)
{
	const uintptr_t own = ((uintptr_t)argument + 1) << 40;

	for (uintptr_t i = 0; i < ROUNDS; i++) {
		alloc(own + (i % 16 << 20), i % 3 == 0 ? 64 * MIB : 100000, NULL);
		release(own + ((i + 8) % 16 << 20));
	}
	for (uintptr_t i = 0; i < 16; i++)
		release(own + (i << 20));
	return NULL;
}

static void *read_on(void *unused)
{
	struct mam_statpage_holder some[5], all;
	uint64_t began;

	while (!atomic_load(&is_over))
		mam_statpage_read_sites(mam_statpage_own(), 0, some, 5, &began, &all);
	return unused;
}

/* _i: 1: sampling ends and begins meanwhile. */
START_TEST(threads_allocate_while_others_read)
{
	pthread_t threads[THREADS], reader;

	atomic_store(&is_over, false);
	mam_sites_sample(60);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_on, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (int i = 0; i < 50 && _i == 1; i++) {
		stop();
		mam_sites_sample(60);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&is_over, true);
	pthread_join(reader, NULL);
	if (_i == 0)
		ck_assert_uint_eq(sampled(), 0);
	stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sites");
	TCase *of_table = tcase_create("table"), *of_watcher = tcase_create("watcher");
	SRunner *runner = srunner_create(suite);
	int failed;

#ifdef __SANITIZE_THREAD__
	mam_unwind_distrust(); /* libunwind reads memory that TSan protects */
#endif
	tcase_add_checked_fixture(of_table, setup, NULL);
	tcase_add_test(of_table, sites_are_sorted_and_the_rest_is_others);
	tcase_add_test(of_table, a_block_counts_by_its_probability_until_its_free);
	tcase_add_test(of_table, devices_are_apart);
	tcase_add_test(of_table, small_sites_make_room);
	tcase_add_test(of_table, a_site_that_was_killed_while_it_changed_is_skipped);
	tcase_add_test(of_table, a_hostile_page_does_no_harm);
	tcase_add_test(of_table, probabilities_are_exact);
	suite_add_tcase(suite, of_table);
	tcase_set_timeout(of_watcher, 60);
	tcase_add_test(of_watcher, large_blocks_are_exact);
	tcase_add_test(of_watcher, small_blocks_are_estimated);
	tcase_add_test(of_watcher, sampling_ends_by_itself);
	tcase_add_test(of_watcher, a_short_stack_suffices);
	tcase_add_test(of_watcher, contexts_take_their_blocks_along);
	tcase_add_test(of_watcher, leaks_have_all_sites);
	tcase_add_test(of_watcher, a_child_does_not_sample);
	tcase_add_loop_test(of_watcher, threads_allocate_while_others_read, 0, 2);
	suite_add_tcase(suite, of_watcher);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
