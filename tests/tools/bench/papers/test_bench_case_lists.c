/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bench_case_lists.c - lists of pages to which many lanes append, under many interleavings: no
 * item is lost, none occurs twice, no page is requested needlessly, all pages are freed; also with
 * a directory of three trees, and when pages run out.
 */
#include <string.h>

#include "device/port.h"

static void *pool_alloc(void *heap, uint32_t bytes);
static void pool_free(void *heap, void *object);
#define CASE_ALLOC(heap, bytes, steps) ((void)(steps), pool_alloc(heap, bytes))
#define CASE_FREE(heap, object, bytes) ((void)(bytes), pool_free(heap, object))
#include "bench/papers/cases/lists.h"
#include "simt/explore.h"
#include "simt/suite.h"

#define PAGE 32u /* four items, or four words of a directory */
#define ITEMS (PAGE / 8)
#define LISTS 3u
#define DIRECT 2u
#define POOL 4096u
#define LANES 96u
#define WANT_MAX 7u

static struct own {
	struct device_job job;
	struct case_told told;
	struct case_lists lists;
	uint64_t words[LISTS * (DIRECT + 1 + CASE_TREES)];
	uint64_t next;        /* page of the pool */
	uint32_t room;        /* number of pages */
	uint32_t taken[POOL]; /* 1: the page has an owner */
	uint64_t asked, given;
	uint32_t lane_max; /* lanes that append */
	uint32_t scale;    /* items that each appends */
	uint32_t dropped;
} own;
static uint64_t pool[POOL][PAGE / 8];

static void *pool_alloc(void *heap, uint32_t bytes)
{
	const uint64_t n = mam_atomic_add64(&own.next, 1, MAM_RELAXED, MAM_AT_DEVICE);

	(void)heap;
	if (bytes != PAGE || n >= own.room)
		return NULL;
	own.taken[n] = 1;
	(void)mam_atomic_add64(&own.asked, 1, MAM_RELAXED, MAM_AT_DEVICE);
	return pool[n];
}

static void pool_free(void *heap, void *object)
{
	const size_t n = (size_t)((uint64_t(*)[PAGE / 8]) object - pool);

	(void)heap;
	MAM_KASSERT(n < POOL && own.taken[n] == 1);
	own.taken[n] = 0;
	(void)mam_atomic_add64(&own.given, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static uint32_t wants(uint32_t lane, uint32_t list)
{
	return own.scale * (bench_mix(lane * LISTS + list) % (WANT_MAX + 1));
}

/* Each lane appends `items` items with its own number to each list. */
static void append(void *argument)
{
	const struct device_job *job = argument;
	const uint32_t lane = device_thread();
	uint32_t n, i, want, from;
	uint64_t page;

	for (n = 0; n < LISTS && lane < own.lane_max; n++) {
		uint64_t *const list = case_list_at(&own.lists, n);

		want = wants(lane, n);
		from = want > 0 ? case_list_reserve(list, want) : 0;
		case_list_open(job, &own.lists, list, from, want);
		for (i = 0; i < want; i++) {
			page = case_list_glance(&own.lists, list, (from + i) / ITEMS);
			page = case_list_await(job, &own.lists, list, (from + i) / ITEMS, page);
			if (page != 0)
				((uint64_t *)(uintptr_t)page)[(from + i) % ITEMS] = lane + 1;
			else
				mam_atomic_add32(&own.dropped, 1, MAM_RELAXED, MAM_AT_DEVICE);
		}
	}
}

static void begin(void *argument)
{
	(void)argument;
	memset(pool, 0, sizeof(pool));
	memset(own.words, 0, sizeof(own.words));
	memset(own.taken, 0, sizeof(own.taken));
	memset(&own.told, 0, sizeof(own.told));
	own.next = own.asked = own.given = 0;
	own.dropped = 0;
	own.job = (struct device_job){ .found = (struct device_found *)(void *)&own.told };
	own.lists = (struct case_lists){ own.words, DIRECT, PAGE, ITEMS };
}

static uint32_t seen[LANES + 1];

static const char *check_list(uint32_t n)
{
	uint64_t *const list = case_list_at(&own.lists, n);
	uint32_t i, count = 0, lane;
	uint64_t page;

	memset(seen, 0, sizeof(seen));
	for (lane = 0; lane < own.lane_max; lane++)
		count += wants(lane, n);
	if (case_list_count(list) != count)
		return "a list has the wrong count";
	for (i = 0; i < count; i++) {
		page = case_list_page(&own.job, &own.lists, list, i / ITEMS);
		if (page == 0 && own.dropped == 0)
			return "a page is missing";
		if (page != 0)
			seen[((uint64_t *)(uintptr_t)page)[i % ITEMS]]++;
	}
	for (lane = 0; lane < own.lane_max; lane++) {
		if (own.dropped == 0 ? seen[lane + 1] != wants(lane, n)
				     : seen[lane + 1] > wants(lane, n))
			return "items are lost, or duplicated";
	}
	case_list_end(&own.job, &own.lists, list, true);
	return NULL;
}

/* By the only lane of the only block. */
static const char *check(void *argument)
{
	const char *wrong = NULL;
	size_t i;
	uint32_t n;

	(void)argument;
	for (n = 0; n < LISTS && wrong == NULL; n++)
		wrong = check_list(n);
	for (i = 0; i < POOL && wrong == NULL; i++) {
		if (own.taken[i])
			wrong = "a page was not freed";
	}
	for (i = 0; i < sizeof(own.words) / 8 && wrong == NULL; i++) {
		if (own.words[i] != 0)
			wrong = "a list is not empty at the end";
	}
	return wrong;
}

static void explore(const char *name, uint32_t lanes, uint32_t scale, uint32_t room)
{
	const struct simt_case test = { .name = name,
					.kernel = append,
					.grid = 3,
					.block = LANES / 3,
					.argument = &own.job,
					.begin = begin,
					.check = check,
					.seeds = 60,
					.config = { .race = true, .whole = true } };

	own.lane_max = lanes;
	own.scale = scale;
	own.room = room;
	simt_must_pass(&test);
}

START_TEST(lists_within_the_directory_keep_all_items)
{
	explore("lists within the directory", 4, 1, POOL);
}
END_TEST

START_TEST(lists_with_trees_keep_all_items)
{
	explore("lists with trees", 80, 1, POOL);
	ck_assert_uint_eq(own.dropped, 0);
}
END_TEST

START_TEST(appends_of_many_pages_keep_all_items)
{
	explore("appends of many pages", 6, 9, POOL);
	ck_assert_uint_eq(own.dropped, 0);
}
END_TEST

START_TEST(appends_without_pages_are_dropped_and_counted)
{
	explore("too few pages", LANES, 1, 40);
	ck_assert_uint_gt(own.dropped, 0);
	ck_assert_uint_gt(own.told.none, 0);
}
END_TEST

SIMT_SUITE("bench case lists", lists_within_the_directory_keep_all_items,
	   lists_with_trees_keep_all_items, appends_of_many_pages_keep_all_items,
	   appends_without_pages_are_dropped_and_counted)
