/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_arraylist.c - the list of blocks with one thread; then grown by single lanes and by whole
 * thread blocks at the same time, which stop anywhere or find no memory, while others read.
 */
#include "ds/kit.h"
#include "ds/arraylist.h"

struct plan {
	const char *name;
	uint32_t bytes;
	uint32_t grid, block, rounds;
	uint32_t refuse_every; /* of the base's calls */
	uint32_t stoppers;     /* the first blocks, each with a lane that stops */
	uint32_t seeds;
};

struct own {
	struct mam_arraylist list, other;
	uint32_t grown;     /* elements that lanes got; atomic */
	uint64_t published; /* a number plus 1, or 0; atomic */
};

static struct own *own_of(struct ckit *kit)
{
	return kit->own;
}

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;

	memset(own, 0xa5, sizeof(*own));
	mam_arraylist_init(&own->list, plan->bytes);
	mam_arraylist_init(&own->other, plan->bytes);
	own->grown = 0;
	own->published = 0;
	dkit_begin((plan->grid - plan->stoppers) * plan->block);
}

static struct ckit *create(const struct plan *plan)
{
	struct ckit *kit = dkit_create(1 << 16, plan, sizeof(struct own), begin);

	kit->refuse_every = plan->refuse_every;
	return kit;
}

/* ---- one thread ---------------------------------------------------------------------------- */

START_TEST(elements_have_consecutive_numbers)
{
	static const struct plan plans[] = { { .bytes = 4 }, { .bytes = 16 }, { .bytes = 7 } };
	struct ckit *kit = create(&plans[_i]);
	struct mam_arraylist *list = &own_of(kit)->list;
	struct mam_arraylist_block *block;
	unsigned char *places[300], *place;
	uint64_t number = 9;
	uint32_t i, round;

	ckit_begin(kit);
	for (round = 0; round < 2; round++) {
		ck_assert(!mam_arraylist_count(list) && !mam_arraylist_get(list, 0));
		ck_assert_ptr_null(mam_arraylist_newest(list));
		for (i = 0; i < 300; i++) {
			place = mam_arraylist_grow(list, ckit_base(kit), &number);
			ck_assert(place && number == i && (uintptr_t)place % 16 == 0);
			places[i] = place;
			memset(place, (int)i, plans[_i].bytes);
			ck_assert_uint_eq(mam_arraylist_count(list), i + 1);
			ck_assert_ptr_null(mam_arraylist_get(list, i + 1));
		}
		for (i = 0; i < 300; i++) {
			ck_assert_ptr_eq(mam_arraylist_get(list, i), places[i]);
			ck_assert(places[i][0] == (unsigned char)i &&
				  places[i][plans[_i].bytes - 1] == (unsigned char)i);
		}
		ck_assert_ptr_null(mam_arraylist_get(list, ~(uint64_t)0));
		for (block = mam_arraylist_newest(list); block;
		     block = mam_arraylist_older(block)) {
			ck_assert(block->first == --i && block->count == 1);
			ck_assert_ptr_eq(mam_arraylist_at(list, block, 0), places[i]);
		}
		ck_assert_uint_eq(i, 0);
		mam_arraylist_clear(list, ckit_base(kit));
		ck_assert_ptr_null(ckit_check_empty(kit));
	}
	kit->refuse_every = 1;
	number = 9;
	ck_assert(!mam_arraylist_grow(list, ckit_base(kit), &number) && number == 9);
	ck_assert_uint_eq(mam_arraylist_count(list), 0);
	dkit_destroy(kit);
}
END_TEST

/* ---- many lanes ---------------------------------------------------------------------------- */

/* Records that the caller got `count` elements, from `place` and from number `first`. */
static void got(struct ckit *kit, unsigned char *place, uint64_t first, uint32_t count)
{
	struct mam_arraylist *list = &own_of(kit)->list;
	uint32_t i;

	for (i = 0; i < count; i++) {
		dkit_note(first + i);
		MAM_KASSERT(mam_arraylist_get(list, first + i) == place + i * list->bytes);
		*(uint32_t *)(place + i * list->bytes) = (uint32_t)(first + i) + 100;
	}
	(void)mam_atomic_add32(&own_of(kit)->grown, count, MAM_RELAXED, MAM_AT_DEVICE);
}

static MAM_KERNEL(grow)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	bool stops = mam_block() < plan->stoppers;
	unsigned char *place;
	uint64_t number;
	uint32_t i;

	if (stops && simt_thread() == simt_random() % plan->block)
		stop_after(1 + (uint32_t)(simt_random() % (5 * plan->rounds)));
	for (i = 0; i < plan->rounds; i++) {
		number = 77777;
		place = mam_arraylist_grow(&own_of(kit)->list, ckit_base(kit), &number);
		MAM_KASSERT(place || (plan->refuse_every && number == 77777));
		if (place)
			got(kit, place, number, 1);
	}
	if (!stops)
		stop_leave();
}

/* Blocks are contiguous; elements have the written values; then everything is freed. */
static const char *check_grown(void *argument)
{
	struct ckit *kit = argument;
	struct mam_arraylist *list = &own_of(kit)->list;
	uint64_t i, count = mam_arraylist_count(list), end = count;
	const char *wrong = dkit_check_noted(count);
	struct mam_arraylist_block *block;
	uint32_t *place;

	dkit_count_run();
	if (wrong)
		return wrong;
	if (count != own_of(kit)->grown)
		return "the count differs from the elements that lanes got";
	for (block = mam_arraylist_newest(list); block; block = mam_arraylist_older(block)) {
		if (!block->count || block->first + block->count != end)
			return "a block does not start where the previous one ends";
		end = block->first;
	}
	if (end)
		return "the first block does not start at 0";
	for (i = 0; i < count; i++) {
		place = mam_arraylist_get(list, i);
		if (!place || *place != i + 100)
			return "an element has a wrong value";
	}
	mam_arraylist_clear(list, ckit_base(kit));
	return ckit_check_empty(kit);
}

static const char *check_all(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	const struct own *own = kit->own;

	return plan->refuse_every || own->grown == plan->grid * plan->block * plan->rounds
		       ? check_grown(argument)
		       : "a request failed";
}

static const struct plan plans[] = {
	/* name, bytes, grid, block, rounds, refuse, stoppers, seeds */
	{ "two lanes", 4, 2, 1, 4, 0, 0, 500 },
	{ "four lanes", 8, 4, 1, 3, 0, 0, 500 },
	{ "more than a warp", 4, 1, 40, 2, 0, 0, 30 },
	{ "two blocks", 16, 2, 5, 3, 0, 0, 200 },
	{ "some allocations fail", 4, 3, 2, 3, 3, 0, 300 },
	{ "one stopped lane", 4, 4, 1, 4, 0, 1, 500 },
	{ "two stopped lanes", 4, 4, 2, 3, 0, 2, 300 },
};

START_TEST(concurrent_lanes_grow_list)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = create(plan);

	ckit_explore(kit, plan->name, grow, plan->grid, plan->block,
		     CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds,
		     plan->stoppers ? check_grown : check_all);
	ck_assert(!plan->stoppers || dkit.runs < 60 || dkit.stopped > dkit.runs / 3);
	dkit_destroy(kit);
}
END_TEST

/* Lanes of one warp use two lists; each list has what was added to it. */
static MAM_KERNEL(grow_two)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;
	bool other = simt_thread() % 3 == 0;
	uint32_t i, *place;
	uint64_t number;

	for (i = 0; i < 2; i++) {
		place = mam_arraylist_grow(other ? &own->other : &own->list, ckit_base(kit),
					   &number);
		MAM_KASSERT(place);
		*place = other;
	}
}

static const char *check_two(void *argument)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;
	uint32_t i;

	if (mam_arraylist_count(&own->list) != 16 || mam_arraylist_count(&own->other) != 8)
		return "a list has the wrong number of elements";
	for (i = 0; i < 16; i++)
		if (*(uint32_t *)mam_arraylist_get(&own->list, i) ||
		    (i < 8 && !*(uint32_t *)mam_arraylist_get(&own->other, i)))
			return "an element belongs to the other list";
	mam_arraylist_clear(&own->list, ckit_base(kit));
	mam_arraylist_clear(&own->other, ckit_base(kit));
	return ckit_check_empty(kit);
}

START_TEST(lanes_of_a_warp_grow_two_lists)
{
	static const struct plan plan = { .bytes = 4, .grid = 1, .block = 12 };
	struct ckit *kit = create(&plan);

	ckit_explore(kit, "two lists", grow_two, 1, 12, CKIT_RACE ? 30 : 100, check_two);
	dkit_destroy(kit);
}
END_TEST

/* ---- whole blocks -------------------------------------------------------------------------- */

/* How many elements a thread requests in a round; in the last round none does. */
static uint32_t wants(const struct plan *plan, uint32_t thread, uint32_t round)
{
	return round + 1 == plan->rounds ? 0 : (thread * 5 + round * 3) % 4;
}

static uint64_t wanted_before(const struct plan *plan, uint32_t thread, uint32_t round)
{
	uint64_t sum = 0;

	while (thread--)
		sum += wants(plan, thread, round);
	return sum;
}

/*
 * Each thread's elements follow those of the previous thread, counted from thread 0, whose number
 * is known when all have one.
 */
static MAM_KERNEL(grow_local)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round, count;
	unsigned char *place;
	uint64_t first;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	MAM_SHARED(uint64_t, zero);
	for (round = 0; round < plan->rounds; round++) {
		count = wants(plan, simt_thread(), round);
		first = 77777;
		place = mam_arraylist_grow_local(&own_of(kit)->list, ckit_base(kit), shared, count,
						 &first);
		MAM_KASSERT(place ? count : !count || plan->refuse_every);
		MAM_KASSERT(place || first == 77777);
		if (place)
			got(kit, place, first, count);
		/* The first thread that requests any, and those after it. */
		if (place && !wanted_before(plan, simt_thread(), round))
			*zero = first;
		mam_syncthreads();
		MAM_KASSERT(!place || first == *zero + wanted_before(plan, simt_thread(), round));
		mam_syncthreads();
	}
}

/* One allocation for all threads of a block, none if no thread requests any. */
static const char *check_local(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	const struct own *own = kit->own;
	uint32_t round, requests = 0;
	uint64_t sum = 0, one;

	for (round = 0; round < plan->rounds; round++) {
		one = wanted_before(plan, plan->block, round);
		sum += one * plan->grid;
		requests += one ? plan->grid : 0;
	}
	if (kit->allocs + kit->refusals != requests)
		return "not exactly one request per block and round";
	if (!plan->refuse_every && own->grown != sum)
		return "a request failed";
	return check_grown(argument);
}

static const struct plan locals[] = {
	{ "a block of one thread", 4, 2, 1, 4, 0, 0, 200 },
	{ "a block of three threads", 4, 2, 3, 3, 0, 0, 200 },
	{ "blocks of 32", 8, 2, 32, 3, 0, 0, 20 },
	{ "a block of 33", 4, 1, 33, 3, 0, 0, 20 },
	{ "blocks of 70", 4, 2, 70, 3, 0, 0, 10 },
	{ "blocks, some allocations fail", 4, 3, 5, 4, 3, 0, 100 },
	{ "a block of 1024", 4, 1, 1024, 2, 0, 0, 1 },
};

START_TEST(block_grows_list_with_one_allocation)
{
	const struct plan *plan = &locals[_i];
	struct ckit *kit = create(plan);

	kit->whole = true;
	ckit_explore(kit, plan->name, grow_local, plan->grid, plan->block,
		     CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds, check_local);
	dkit_destroy(kit);
}
END_TEST

/* One thread requests too many: no thread gets any, and the base is not called. */
static MAM_KERNEL(too_many)
{
	struct ckit *kit = argument;
	struct mam_arraylist *list = &own_of(kit)->list;
	uint64_t first = 5;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	MAM_KASSERT(!mam_arraylist_grow_local(list, ckit_base(kit), shared,
					      simt_thread() == 34 ? MAM_ARRAYLIST_MAX + 1 : 1,
					      &first));
	MAM_KASSERT(first == 5 && !kit->refusals && !mam_arraylist_count(list));
	/* The maximum is requested from the base. */
	mam_syncthreads();
	MAM_KASSERT(
		!mam_arraylist_grow_local(list, ckit_base(kit), shared, MAM_ARRAYLIST_MAX, &first));
	mam_syncthreads();
	MAM_KASSERT(first == 5 && kit->refusals == 1 && !mam_arraylist_count(list));
}

START_TEST(oversized_request_of_block_fails)
{
	static const struct plan plan = { .bytes = 4, .grid = 1, .block = 40 };
	struct ckit *kit = create(&plan);

	kit->whole = true;
	ckit_explore(kit, "too many elements", too_many, 1, 40, 5, NULL);
	dkit_destroy(kit);
}
END_TEST

/* Lanes, a block, a reader, and a lane that is given a published number, all at the same time. */
static MAM_KERNEL(mixed)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;
	struct mam_arraylist_block *block;
	uint64_t number, count = 0, now, end;
	unsigned char *place;
	uint32_t i;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	switch (mam_block()) {
	case 0:
		for (i = 0; i < 4; i++, count = now) {
			now = mam_arraylist_count(&own->list);
			MAM_KASSERT(now >= count);
			MAM_KASSERT(!now || mam_arraylist_get(&own->list, now - 1));
			block = mam_arraylist_newest(&own->list);
			for (end = 0; block; block = mam_arraylist_older(block)) {
				MAM_KASSERT(!end || block->first + block->count == end);
				end = block->first;
			}
			number = mam_atomic_load64(&own->published, MAM_ACQUIRE, MAM_AT_DEVICE);
			place = number ? mam_arraylist_get(&own->list, number - 1) : NULL;
			MAM_KASSERT(!number || (place && *(uint32_t *)place == number + 99));
		}
		break;
	case 1:
		place = mam_arraylist_grow_local(&own->list, ckit_base(kit), shared, 2, &number);
		MAM_KASSERT(place);
		got(kit, place, number, 2);
		break;
	default:
		for (i = 0; i < 2; i++) {
			place = mam_arraylist_grow(&own->list, ckit_base(kit), &number);
			MAM_KASSERT(place);
			got(kit, place, number, 1);
			mam_atomic_store64(&own->published, number + 1, MAM_RELEASE, MAM_AT_DEVICE);
		}
	}
}

START_TEST(readers_see_consistent_list)
{
	static const struct plan plan = { .bytes = 4, .grid = 4, .block = 2 };
	struct ckit *kit = create(&plan);

	kit->whole = true;
	ckit_explore(kit, "all at the same time", mixed, 4, 2, CKIT_RACE ? 100 : 300, check_grown);
	dkit_destroy(kit);
}
END_TEST

/* Writes to memory that was freed happen before the writes to elements in it. */
static MAM_KERNEL(grow_where_others_wrote)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit);
	uint32_t *old = mam_base_alloc(base, 48), i;
	unsigned char *place;
	uint64_t number;

	MAM_SHARED(struct mam_arraylist_shared, shared);
	for (i = 0; old && i < 12; i++)
		old[i] = 1;
	if (old)
		(void)mam_base_free(base, old);
	place = mam_arraylist_grow(&own_of(kit)->list, base, &number);
	if (place)
		got(kit, place, number, 1);
	place = mam_arraylist_grow_local(&own_of(kit)->list, base, shared, 1, &number);
	if (place)
		got(kit, place, number, 1);
}

START_TEST(writes_to_reused_memory_are_ordered)
{
	static const struct plan plan = { .bytes = 4, .grid = 2, .block = 3 };
	struct ckit *kit = create(&plan);

	kit->whole = true;
	ckit_explore(kit, "reused memory", grow_where_others_wrote, 2, 3, 150, check_grown);
	dkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("arraylist");

	tcase_add_loop_test(tcase, elements_have_consecutive_numbers, 0, 3);
	tcase_add_loop_test(tcase, concurrent_lanes_grow_list, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, lanes_of_a_warp_grow_two_lists);
	tcase_add_loop_test(tcase, block_grows_list_with_one_allocation, 0,
			    sizeof(locals) / sizeof(locals[0]));
	tcase_add_test(tcase, oversized_request_of_block_fails);
	tcase_add_test(tcase, readers_see_consistent_list);
	tcase_add_test(tcase, writes_to_reused_memory_are_ordered);
	return ckit_run(tcase, "ds/arraylist");
}
