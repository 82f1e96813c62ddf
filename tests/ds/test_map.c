/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_map.c - the map with one thread, against a model, with buckets of many pages; then lanes
 * insert the same keys, stop anywhere or find no memory, while others look them up.
 */
#include "ds/kit.h"
#include "ds/map.h"

#define BUCKETS_MAX 16u

struct plan {
	const char *name;
	uint32_t buckets;
	uint32_t grid, block, rounds;
	uint32_t keys;
	bool multi;
	uint32_t refuse_every;
	uint32_t stoppers; /* the first blocks, each with a lane that stops */
	uint32_t seeds;
};

struct own {
	uint64_t memory[2 + 2 * BUCKETS_MAX];
	uint32_t done, there, refused; /* results; atomic */
	uint32_t payload[1024];        /* each is written before its insert */
};

static struct mam_dsmap *map_of(struct ckit *kit)
{
	return (struct mam_dsmap *)((struct own *)kit->own)->memory;
}

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;

	memset(own, 0, sizeof(*own));
	mam_dsmap_init(map_of(kit), plan->buckets);
	dkit_begin((plan->grid - plan->stoppers) * plan->block);
}

static struct ckit *create(const struct plan *plan)
{
	struct ckit *kit = dkit_create(1 << 17, plan, sizeof(struct own), begin);

	kit->refuse_every = plan->refuse_every;
	return kit;
}

/* ---- one thread ---------------------------------------------------------------------------- */

#define MODEL 500u

/*
 * Random inserts: a key is found as often as it was inserted, with its values, in order of
 * insertion.
 */
START_TEST(map_matches_model)
{
	static const struct plan plans[] = { { .buckets = 1 },
					     { .buckets = 3 },
					     { .buckets = 16 } };
	struct ckit *kit = create(&plans[_i]);
	struct mam_dsmap *map = map_of(kit);
	static uint64_t values[MODEL][8];
	uint32_t count[MODEL] = { 0 }, seen[MODEL] = { 0 }, n, key, total = 0, lane;
	uint64_t random = 88172645463325252u, value;
	struct mam_dsmap_walk walk;
	bool once;

	ck_assert_uint_eq(mam_dsmap_bytes(16), 16 + 16 * 16);
	ck_assert_uint_eq(sizeof(struct mam_dsmap_page), 256);
	ckit_begin(kit);
	ck_assert_uint_eq(mam_dsmap_count(map), 0);
	for (n = 0; n < 1500; n++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		key = random % MODEL;
		once = random >> 60 < 8;
		if (!once && count[key] == 8)
			continue;
		if (once && count[key]) {
			ck_assert(mam_dsmap_insert(map, ckit_base(kit), key, n) == MAM_DSMAP_THERE);
			continue;
		}
		ck_assert((once ? mam_dsmap_insert(map, ckit_base(kit), key, n)
				: mam_dsmap_insert_multi(map, ckit_base(kit), key, n)) ==
			  MAM_DSMAP_DONE);
		values[key][count[key]++] = n;
		total++;
		ck_assert_uint_eq(mam_dsmap_count(map), n % 50 ? mam_dsmap_count(map) : total);
	}
	ck_assert_uint_eq(mam_dsmap_count(map), total);
	/* A bucket gets a new page only when all entries of the previous page are used. */
	ck_assert_uint_le(kit->allocs - kit->frees, total / MAM_DSMAP_ENTRIES + plans[_i].buckets);
	for (key = 0; key < MODEL; key++) {
		n = 0;
		value = 12345678;
		ck_assert(mam_dsmap_find(map, key, &value) == (count[key] > 0));
		ck_assert_uint_eq(value, count[key] ? values[key][0] : 12345678);
		if (mam_dsmap_first(map, key, &walk))
			do {
				ck_assert(n < count[key] && walk.key == key);
				ck_assert_uint_eq(walk.value, values[key][n++]);
			} while (mam_dsmap_next(&walk));
		ck_assert_uint_eq(n, count[key]);
	}
	/* Three lanes that share an iteration see each entry once. */
	for (lane = 0; lane < 3; lane++)
		for (mam_dsmap_walk_begin(map, lane, &walk); mam_dsmap_walk_next(map, 3, &walk);)
			seen[walk.key]++;
	for (key = 0; key < MODEL; key++)
		ck_assert_uint_eq(seen[key], count[key]);
	mam_dsmap_fini(map, ckit_base(kit));
	ck_assert_ptr_null(ckit_check_empty(kit));
	ck_assert_uint_eq(mam_dsmap_count(map), 0);
	ck_assert(mam_dsmap_insert_multi(map, ckit_base(kit), 3, 4) == MAM_DSMAP_DONE);
	ck_assert(mam_dsmap_find(map, 3, &value) && value == 4);
	dkit_destroy(kit);
}
END_TEST

START_TEST(invalid_key_or_value_is_rejected)
{
	static const struct plan plan = { .buckets = 2 };
	struct ckit *kit = create(&plan);
	struct mam_dsmap *map = map_of(kit);
	uint64_t value = 5;

	ckit_begin(kit);
	ck_assert(mam_dsmap_insert(map, ckit_base(kit), MAM_DSMAP_NONE, 1) == MAM_DSMAP_NO_ROOM);
	ck_assert(mam_dsmap_insert_multi(map, ckit_base(kit), 1, MAM_DSMAP_NONE) ==
		  MAM_DSMAP_NO_ROOM);
	ck_assert(!mam_dsmap_find(map, MAM_DSMAP_NONE, &value) && value == 5);
	ck_assert_uint_eq(kit->allocs, 0);
	kit->refuse_every = 1;
	ck_assert(mam_dsmap_insert(map, ckit_base(kit), 1, 1) == MAM_DSMAP_NO_ROOM);
	ck_assert(!mam_dsmap_find(map, 1, &value) && value == 5);
	kit->refuse_every = 0;
	/* 0 is an ordinary key and value. */
	ck_assert(mam_dsmap_insert(map, ckit_base(kit), 0, 0) == MAM_DSMAP_DONE);
	ck_assert(mam_dsmap_find(map, 0, &value) && value == 0);
	/* The key exists, whatever the base returns. */
	kit->refuse_every = 1;
	ck_assert(mam_dsmap_insert(map, ckit_base(kit), 0, 1) == MAM_DSMAP_THERE);
	dkit_destroy(kit);
}
END_TEST

/* ---- many lanes ---------------------------------------------------------------------------- */

/* A value is the number of the insert that wrote it, whose payload is visible. */
static void check_value(struct ckit *kit, uint64_t key, uint64_t value)
{
	MAM_KASSERT(value < 1024);
	MAM_KASSERT(((struct own *)kit->own)->payload[value] == key + 9);
}

static MAM_KERNEL(insert)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	struct mam_dsmap *map = map_of(kit);
	bool stops = mam_block() < plan->stoppers;
	enum mam_dsmap_answer answer;
	uint64_t key, number, value;
	uint32_t i;

	if (stops && simt_thread() == simt_random() % plan->block)
		stop_after(1 + (uint32_t)(simt_random() % (8 * plan->rounds)));
	for (i = 0; i < plan->rounds; i++) {
		number = dkit_self() * plan->rounds + i;
		key = simt_random() % plan->keys;
		own->payload[number] = (uint32_t)key + 9;
		answer = plan->multi ? mam_dsmap_insert_multi(map, ckit_base(kit), key, number)
				     : mam_dsmap_insert(map, ckit_base(kit), key, number);
		(void)mam_atomic_add32(answer == MAM_DSMAP_DONE    ? &own->done
				       : answer == MAM_DSMAP_THERE ? &own->there
								   : &own->refused,
				       1, MAM_RELAXED, MAM_AT_DEVICE);
		if (answer == MAM_DSMAP_DONE) {
			MAM_KASSERT(mam_dsmap_find(map, key, &value));
			check_value(kit, key, value);
		}
		key = simt_random() % plan->keys;
		if (mam_dsmap_find(map, key, &value))
			check_value(kit, key, value);
	}
	if (!stops)
		stop_leave();
}

static const char *check_map(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	struct mam_dsmap *map = map_of(kit);
	uint32_t count = 0, keys[64] = { 0 }, all = plan->grid * plan->block * plan->rounds;
	struct mam_dsmap_walk walk;

	dkit_count_run();
	for (mam_dsmap_walk_begin(map, 0, &walk); mam_dsmap_walk_next(map, 1, &walk); count++) {
		dkit_note(walk.value);
		check_value(kit, walk.key, walk.value);
		if (keys[walk.key]++ && !plan->multi)
			return "a key occurs twice";
	}
	if (count != own->done || count != mam_dsmap_count(map))
		return "the number of entries differs from the successful inserts";
	if (own->done + own->there + own->refused != all)
		return "an insert returned no result";
	if (!plan->refuse_every && own->refused)
		return "an insert failed";
	if (plan->multi && own->there)
		return "an existing key prevented a multi-insert";
	if (kit->allocs - kit->frees > count / MAM_DSMAP_ENTRIES + plan->buckets)
		return "more pages than necessary";
	mam_dsmap_fini(map, ckit_base(kit));
	return ckit_check_empty(kit);
}

static const struct plan plans[] = {
	/* name, buckets, grid, block, rounds, keys, multi, refuse, stoppers, seeds */
	{ "one key", 1, 3, 1, 2, 1, false, 0, 0, 600 },
	{ "few keys", 1, 3, 1, 4, 3, false, 0, 0, 600 },
	{ "two buckets", 2, 3, 2, 4, 8, false, 0, 0, 200 },
	{ "two pages", 1, 3, 2, 6, 40, false, 0, 0, 150 },
	{ "two warps", 4, 1, 40, 2, 64, false, 0, 0, 15 },
	{ "some allocations fail", 2, 3, 2, 4, 8, false, 2, 0, 200 },
	{ "one stopped lane", 1, 4, 1, 4, 3, false, 0, 1, 400 },
	{ "two stopped lanes, two pages", 1, 4, 2, 6, 40, false, 0, 2, 100 },
	{ "multi", 1, 3, 1, 4, 2, true, 0, 0, 400 },
	{ "multi, three pages", 1, 3, 3, 4, 2, true, 0, 0, 150 },
	{ "multi, warps", 3, 1, 50, 2, 8, true, 0, 0, 15 },
	{ "multi, some allocations fail", 1, 3, 2, 6, 8, true, 2, 0, 150 },
	{ "multi, one stopped lane", 1, 4, 1, 6, 3, true, 0, 1, 300 },
};

START_TEST(concurrent_inserts_match_results)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = create(plan);

	ckit_explore(kit, plan->name, insert, plan->grid, plan->block,
		     CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds, check_map);
	ck_assert(!plan->stoppers || dkit.runs < 60 || dkit.stopped > dkit.runs / 3);
	dkit_destroy(kit);
}
END_TEST

/* Threads of a block share an iteration over everything that they have inserted. */
static MAM_KERNEL(iterate_together)
{
	struct ckit *kit = argument;
	struct mam_dsmap *map = map_of(kit);
	struct mam_dsmap_walk walk;

	MAM_KASSERT(mam_dsmap_insert_multi(map, ckit_base(kit), simt_thread() % 7, simt_thread()) ==
		    MAM_DSMAP_DONE);
	mam_syncthreads();
	for (mam_dsmap_walk_begin(map, simt_thread(), &walk);
	     mam_dsmap_walk_next(map, simt_block_threads(), &walk);)
		dkit_note(walk.value);
	mam_syncthreads();
	if (!simt_thread())
		mam_dsmap_fini(map, ckit_base(kit));
}

static const char *check_walked(void *argument)
{
	const char *wrong = dkit_check_noted(40);

	return wrong ? wrong : ckit_check_empty(argument);
}

START_TEST(shared_iteration_visits_each_entry_once)
{
	static const struct plan plan = { .buckets = 5, .grid = 1, .block = 40 };
	struct ckit *kit = create(&plan);

	ckit_explore(kit, "shared iteration", iterate_together, 1, 40, 20, check_walked);
	dkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("map");

	tcase_add_loop_test(tcase, map_matches_model, 0, 3);
	tcase_add_test(tcase, invalid_key_or_value_is_rejected);
	tcase_add_loop_test(tcase, concurrent_inserts_match_results, 0,
			    sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, shared_iteration_visits_each_entry_once);
	return ckit_run(tcase, "ds/map");
}
