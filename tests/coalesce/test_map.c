/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_map.c - the address map: against a model, with keys that all hash to the same places; full
 * to the last place; lanes that insert, remove and search for the same key concurrently; the memory
 * order of a value; and lanes that stop in the middle.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/stop.h"
#include "coalesce/map.h"
#include "simt/explore.h"

#ifdef SIMT_HOOKS
#define RACE true
#else
#define RACE false
#endif

#define LANES 128

struct kit {
	struct mam_kmap *map;
	uint32_t entries;
	uint32_t stride; /* of keys */
	uint32_t rounds;
	uint32_t stoppers; /* number of lanes, from the first one, that stop midway */
	uint32_t failed;   /* failed inserts; atomic */
	uint64_t turn;     /* atomic */
	uint32_t payload[LANES];
};

/* An address that is not at the start of a region. */
#define KEY 0x7f0000001230u

static void begin(void *argument)
{
	struct kit *kit = argument;

	memset(kit->map, 0, mam_map_bytes(kit->entries));
	mam_map_format(kit->map, kit->entries);
	memset(kit->payload, 0, sizeof(kit->payload));
	kit->failed = 0;
	kit->turn = 0;
	stop_begin(LANES - kit->stoppers);
}

static struct kit *create(uint32_t entries)
{
	struct kit *kit = calloc(1, sizeof(*kit));
	size_t bytes = (mam_map_bytes(entries) + 127) / 128 * 128;

	ck_assert_ptr_nonnull(kit);
	kit->entries = entries;
	kit->map = aligned_alloc(128, bytes);
	ck_assert_ptr_nonnull(kit->map);
	begin(kit);
	return kit;
}

static void destroy(struct kit *kit)
{
	free(kit->map);
	free(kit);
}

static const char *check_empty(void *argument)
{
	struct kit *kit = argument;

	return mam_map_count(kit->map) ? "map has leftover entries" : NULL;
}

static const char *check_all_fitted(void *argument)
{
	struct kit *kit = argument;

	return kit->failed ? "an insert failed although the map had space" : check_empty(argument);
}

static void explore(struct kit *kit, const char *name, simt_kernel *kernel, uint32_t grid,
		    uint32_t block, uint32_t seeds, const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = kit,
		.begin = begin,
		.check = check,
		.seeds = RACE ? (seeds + 2) / 3 : seeds,
		.config = { .race = RACE, .strict = true, .steps_max = 4000000 },
	};

	simt_must_pass(&test);
}

static uint32_t self(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

/* ---- one lane and a model -------------------------------------------------------------------- */

/* Pseudorandom numbers that are the same each time. */
static uint64_t chance(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* All places where the key may be are occupied. */
static bool is_full_for(struct kit *kit, uint64_t key)
{
	uint32_t window, i;

	for (window = 0; window < mam_map_reach(kit->map); window++)
		for (i = 0; i < 4; i++)
			if (!mam_map_window(kit->map, key, window)[i])
				return false;
	return true;
}

#define MODEL 300u

START_TEST(map_matches_model)
{
	static const uint32_t entries[] = { 0, 1, 8, 9, 40, 100 },
			      strides[] = { 1, 4, 16, 24, 4096 };
	uint32_t stride = strides[_i / 6], i, n, live = 0, refused = 0;
	uint64_t values[MODEL] = { 0 }, state = (uint64_t)_i, value, key;
	struct kit *kit = create(entries[_i % 6]);

	for (n = 0; n < 20000; n++) {
		i = (uint32_t)chance(&state) % MODEL;
		key = KEY + (uint64_t)i * stride;
		value = 77;
		if (values[i]) {
			ck_assert(mam_map_remove(kit->map, key, &value));
			ck_assert_uint_eq(value, values[i]);
			values[i] = 0;
			live--;
		} else if (chance(&state) % 4 == 0) {
			ck_assert(!mam_map_remove(kit->map, key, &value));
			ck_assert_uint_eq(value, 77);
		} else if (mam_map_insert(kit->map, key, n + 1)) {
			values[i] = n + 1;
			live++;
		} else {
			ck_assert(is_full_for(kit, key));
			refused++;
		}
		if (n % 100 == 0)
			ck_assert_uint_eq(mam_map_count(kit->map), live);
	}
	/* Small maps are full most of the time. */
	ck_assert(refused || kit->entries > 9);
	destroy(kit);
}
END_TEST

START_TEST(invalid_keys_are_refused)
{
	struct kit *kit = create(8);
	uint64_t value = 5;

	ck_assert(!mam_map_insert(kit->map, 0, 1) && !mam_map_insert(kit->map, MAM_MAP_BUSY, 1));
	ck_assert(!mam_map_remove(kit->map, 0, &value));
	ck_assert(!mam_map_remove(kit->map, MAM_MAP_BUSY, &value));
	ck_assert(value == 5 && mam_map_count(kit->map) == 0);
	/* Any value is valid. */
	ck_assert(mam_map_insert(kit->map, KEY, 0));
	ck_assert(mam_map_remove(kit->map, KEY, &value) && value == 0);
	destroy(kit);
}
END_TEST

START_TEST(map_size_follows_entry_count)
{
	struct kit *kit = create(100);

	ck_assert_uint_eq(mam_map_places(kit->map), 208);
	ck_assert_uint_eq(mam_map_bytes(100), 128 + 208 * 16);
	ck_assert_uint_eq(mam_map_bytes(0), 128 + 256);
	ck_assert_uint_eq(mam_map_bytes(0xffffffff), 128 + ((size_t)1 << 29) * 256);
	ck_assert_uint_eq(sizeof(struct mam_kmap), 128);
	destroy(kit);
}
END_TEST

/* The map holds as many keys as it was created for, at any stride, and finds each of them. */
START_TEST(map_holds_its_capacity_at_any_stride)
{
	static const uint32_t strides[] = { 1,   2,   3,    4,    8,    12,   16,   20,
					    24,  32,  40,   48,   64,   100,  128,  256,
					    400, 512, 1024, 1600, 2064, 4096, 65536 };
	struct kit *kit = create(30000);
	uint64_t value, key, place, found = 0;
	uint32_t i, block;

	for (i = 0; i < kit->entries; i++) {
		/* Parts of many blocks, each at least a page after the one before. */
		block = i / 1000;
		key = KEY + ((uint64_t)block * 1000 * strides[_i] / 4096 + block) * 4096 * 3 +
		      (uint64_t)(i % 1000) * strides[_i];
		ck_assert_msg(mam_map_insert(kit->map, key, key + 1), "%u of stride %u", i,
			      strides[_i]);
	}
	ck_assert_uint_eq(mam_map_count(kit->map), kit->entries);
	for (place = 0; place < mam_map_places(kit->map); place++) {
		key = mam_map_at(kit->map, place, &value);
		if (!key)
			continue;
		found++;
		ck_assert_uint_eq(value, key + 1);
		ck_assert(mam_map_remove(kit->map, key, &value) && value == key + 1);
		ck_assert(!mam_map_remove(kit->map, key, &value));
	}
	ck_assert(found == kit->entries && mam_map_count(kit->map) == 0);
	destroy(kit);
}
END_TEST

/*
 * ---- many lanes -------------------------------------------------------------------------------
 */

/*
 * Each lane inserts and removes its own keys again and again, in a map whose places other lanes
 * compete for.
 */
static MAM_KERNEL(churn)
{
	struct kit *kit = argument;
	uint64_t value, key = KEY + (uint64_t)self() * kit->stride;
	bool stops = self() < kit->stoppers;
	uint32_t round;

	if (stops)
		stop_after(1 + (uint32_t)(simt_random() % 40));
	for (round = 0; round < kit->rounds; round++) {
		value = 1;
		if (!mam_map_insert(kit->map, key, key + round)) {
			(void)mam_atomic_add32(&kit->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
			MAM_KASSERT(!mam_map_remove(kit->map, key, &value) && value == 1);
			continue;
		}
		MAM_KASSERT(mam_map_remove(kit->map, key, &value) && value == key + round);
		MAM_KASSERT(!mam_map_remove(kit->map, key, &value));
	}
	if (!stops)
		stop_leave();
}

/* Lanes, entries and strides: with space for all, and without. */
START_TEST(concurrent_lanes_insert_and_remove)
{
	static const struct {
		const char *name;
		uint32_t entries, stride, grid, block;
		bool room;
	} cases[] = {
		{ "four lanes, a line", 8, 0x10000, 2, 2, true },
		{ "sixteen lanes, a line", 8, 1, 1, 16, true },
		{ "more lanes than entries", 8, 16, 2, 10, false },
		{ "two warps side by side", 64, 16, 1, 64, true },
		{ "two warps packed", 64, 1, 1, 64, true },
	};
	struct kit *kit = create(cases[_i].entries);

	kit->stride = cases[_i].stride;
	kit->rounds = 3;
	explore(kit, cases[_i].name, churn, cases[_i].grid, cases[_i].block,
		cases[_i].block > 16 ? 20 : 200, cases[_i].room ? check_all_fitted : check_empty);
	destroy(kit);
}
END_TEST

static uint32_t halts, runs;

static const char *check_stopped(void *argument)
{
	runs++;
	halts += stop.stopped;
	return check_all_fitted(argument);
}

static void begin_stopped(void *argument)
{
	struct kit *kit = argument;

	begin(argument);
	stop_begin(8 - kit->stoppers);
}

/*
 * Two of eight lanes stop forever before any of their atomics: the other lanes finish, and their
 * inserts succeed.
 */
START_TEST(stopped_lanes_do_not_block_others)
{
	struct kit *kit = create(8);
	struct simt_case test = {
		.name = "stopped",
		.kernel = churn,
		.grid = 2,
		.block = 4,
		.argument = kit,
		.begin = begin_stopped,
		.check = check_stopped,
		.seeds = RACE ? 100 : 400,
		.config = { .race = RACE, .strict = true },
	};

	kit->stride = _i ? 0x10000 : 1;
	kit->rounds = 4;
	kit->stoppers = 2;
	runs = halts = 0;
	simt_must_pass(&test);
	ck_assert(runs < 30 || halts > runs / 2);
	destroy(kit);
}
END_TEST

/* All lanes try to remove the key that lane 0 announced; one succeeds. */
static MAM_KERNEL(one_wins)
{
	struct kit *kit = argument;
	uint64_t value = 3;
	uint32_t round;

	for (round = 0; round < 3; round++) {
		if (self() == 0)
			MAM_KASSERT(mam_map_insert(kit->map, KEY, 100 + round));
		mam_syncthreads();
		if (mam_map_remove(kit->map, KEY, &value)) {
			MAM_KASSERT(value == 100 + round);
			(void)mam_atomic_add64(&kit->turn, 1, MAM_RELAXED, MAM_AT_DEVICE);
		}
		mam_syncthreads();
		MAM_KASSERT(mam_atomic_load64(&kit->turn, MAM_RELAXED, MAM_AT_DEVICE) == round + 1);
		mam_syncthreads();
	}
}

START_TEST(concurrent_remove_succeeds_once)
{
	struct kit *kit = create(8);

	explore(kit, "one lane wins", one_wins, 1, _i ? 40 : 4, _i ? 30 : 300, check_empty);
	destroy(kit);
}
END_TEST

/*
 * One key is inserted again and again, each time with another value, while other lanes try to
 * remove it at any time. Each value is removed once, never before it was inserted, never for
 * another key, and never stale. Another key may occupy the same place in between.
 */
static MAM_KERNEL(comes_back)
{
	struct kit *kit = argument;
	uint64_t value, n, key = KEY + 0x100000u * self();

	switch (self()) {
	case 0:
		for (n = 0; n < kit->rounds; n++) {
			MAM_KASSERT(mam_map_insert(kit->map, KEY, 1000 + n));
			while (mam_atomic_load64(&kit->turn, MAM_ACQUIRE, MAM_AT_DEVICE) == n)
				mam_nanosleep(20);
		}
		break;
	case 1:
		for (n = 0; n < kit->rounds; n++) {
			MAM_KASSERT(mam_map_insert(kit->map, key, n));
			MAM_KASSERT(mam_map_remove(kit->map, key, &value) && value == n);
		}
		break;
	default:
		do {
			n = mam_atomic_load64(&kit->turn, MAM_ACQUIRE, MAM_AT_DEVICE);
			if (mam_map_remove(kit->map, KEY, &value)) {
				MAM_KASSERT(value >= 1000 + n && value < 1000 + kit->rounds);
				n = mam_atomic_add64(&kit->turn, 1, MAM_ACQ_REL, MAM_AT_DEVICE);
				MAM_KASSERT(value == 1000 + n);
			}
			mam_nanosleep(20);
		} while (n < kit->rounds &&
			 mam_atomic_load64(&kit->turn, MAM_ACQUIRE, MAM_AT_DEVICE) < kit->rounds);
	}
}

START_TEST(reinserted_key_has_fresh_value)
{
	struct kit *kit = create(1);

	kit->rounds = 4;
	explore(kit, "the same key again", comes_back, 5, 1, 500, check_empty);
	destroy(kit);
}
END_TEST

/*
 * Writes before an insert are visible to the lane that removed the key, without other
 * synchronization.
 */
static MAM_KERNEL(orders)
{
	struct kit *kit = argument;
	uint32_t pair = self() / 2;
	uint64_t value, key = KEY + (uint64_t)pair * kit->stride;

	if (self() % 2 == 0) {
		kit->payload[pair] = pair + 9;
		MAM_KASSERT(mam_map_insert(kit->map, key, (uintptr_t)&kit->payload[pair]));
		return;
	}
	while (!mam_map_remove(kit->map, key, &value))
		mam_nanosleep(50);
	MAM_KASSERT(*(uint32_t *)(uintptr_t)value == pair + 9);
	*(uint32_t *)(uintptr_t)value = 0;
}

START_TEST(insert_happens_before_remove)
{
	struct kit *kit = create(8);

	kit->stride = 16;
	explore(kit, "order", orders, 6, 2, 200, check_empty);
	destroy(kit);
}
END_TEST

/* Data written before a remove may be overwritten by the lane that inserts into its place. */
static MAM_KERNEL(hands_places_on)
{
	struct kit *kit = argument;
	uint64_t key = KEY + 16u * self(), value;

	while (!mam_map_insert(kit->map, key, self()))
		mam_nanosleep(50);
	/* Sixteen places, of which fifteen are occupied: a lane that gets here has the last one. */
	kit->payload[0]++;
	MAM_KASSERT(mam_map_remove(kit->map, key, &value) && value == self());
}

static void begin_one_place(void *argument)
{
	struct kit *kit = argument;
	uint32_t i;

	begin(argument);
	for (i = 0; i < MAM_MAP_LINE - 1; i++)
		(void)mam_map_insert(kit->map, 0x1000 + i, 1);
}

static const char *check_one_place(void *argument)
{
	struct kit *kit = argument;

	if (mam_map_count(kit->map) != MAM_MAP_LINE - 1)
		return "an entry was lost";
	return kit->payload[0] == 6 ? NULL : "two lanes had one place";
}

START_TEST(remove_happens_before_reuse_of_place)
{
	struct kit *kit = create(1);
	struct simt_case test = {
		.name = "one place",
		.kernel = hands_places_on,
		.grid = 3,
		.block = 2,
		.argument = kit,
		.begin = begin_one_place,
		.check = check_one_place,
		.seeds = RACE ? 40 : 100,
		.config = { .race = RACE, .strict = true },
	};

	simt_must_pass(&test);
	destroy(kit);
}
END_TEST

/* ---- formatted by a lane of a kernel --------------------------------------------------------- */

static MAM_KERNEL(format_here)
{
	struct kit *kit = argument;
	uint64_t value;

	if (self() == 0)
		mam_map_format(kit->map, kit->entries);
	mam_syncthreads();
	MAM_KASSERT(mam_map_insert(kit->map, KEY + self(), self()));
	MAM_KASSERT(mam_map_remove(kit->map, KEY + self(), &value) && value == self());
	mam_syncthreads();
	MAM_KASSERT(mam_map_count(kit->map) == 0);
}

static void begin_zeroed(void *argument)
{
	struct kit *kit = argument;

	memset(kit->map, 0, mam_map_bytes(kit->entries));
}

START_TEST(map_can_be_formatted_in_kernel)
{
	struct kit *kit = create(40);
	struct simt_case test = {
		.name = "formatted in a kernel",
		.kernel = format_here,
		.grid = 1,
		.block = 40,
		.argument = kit,
		.begin = begin_zeroed,
		.check = check_empty,
		.seeds = 10,
		.config = { .race = RACE, .strict = true },
	};

	simt_must_pass(&test);
	destroy(kit);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coalesce/map");
	TCase *tcase = tcase_create("map");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, map_matches_model, 0, 30);
	tcase_add_test(tcase, invalid_keys_are_refused);
	tcase_add_test(tcase, map_size_follows_entry_count);
	tcase_add_loop_test(tcase, map_holds_its_capacity_at_any_stride, 0, 23);
	tcase_add_loop_test(tcase, concurrent_lanes_insert_and_remove, 0, 5);
	tcase_add_loop_test(tcase, stopped_lanes_do_not_block_others, 0, 2);
	tcase_add_loop_test(tcase, concurrent_remove_succeeds_once, 0, 2);
	tcase_add_test(tcase, reinserted_key_has_fresh_value);
	tcase_add_test(tcase, insert_happens_before_remove);
	tcase_add_test(tcase, remove_happens_before_reuse_of_place);
	tcase_add_test(tcase, map_can_be_formatted_in_kernel);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
