/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vector.c - the vector with one thread; then lanes of several warps and blocks push to it,
 * which stop anywhere, find no memory, push to two vectors at the same time, or read meanwhile.
 */
#define MAM_VECTOR_WAITS 6u
#include "ds/kit.h"
#include "ds/vector.h"

struct plan {
	const char *name;
	uint32_t shift, bytes;
	uint32_t grid, block, rounds;
	uint32_t refuse_after; /* of the base's calls */
	uint32_t stoppers;     /* the first blocks, each with a lane that stops */
	uint32_t seeds;
};

struct own {
	struct mam_vector vector[2];
	uint32_t pushed;    /* successful pushes; atomic */
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
	mam_vector_init(&own->vector[0], plan->bytes, plan->shift);
	mam_vector_init(&own->vector[1], plan->bytes, plan->shift);
	own->pushed = 0;
	own->published = 0;
	dkit_begin((plan->grid - plan->stoppers) * plan->block);
}

static struct ckit *create(const struct plan *plan, size_t bytes)
{
	struct ckit *kit = dkit_create(bytes, plan, sizeof(struct own), begin);

	kit->refuse_after = plan->refuse_after;
	return kit;
}

/* ---- one thread ---------------------------------------------------------------------------- */

/* Each element follows the previous one or starts a segment, and never moves. */
START_TEST(elements_never_move)
{
	static const struct plan plans[] = { { .bytes = 4 },
					     { .bytes = 16, .shift = 3, .grid = 1, .block = 1 },
					     { .bytes = 24, .shift = 5 },
					     { .bytes = 1, .shift = 0 } };
	struct ckit *kit = create(&plans[_i], 1 << 16);
	struct mam_vector *vector = own_of(kit)->vector;
	unsigned char *places[1000], *place;
	uint64_t number = 7;
	uint32_t i, segments = 0, round;

	ckit_begin(kit);
	ck_assert_uint_eq(mam_vector_count(vector), 0);
	ck_assert_ptr_null(mam_vector_get(vector, 0));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 1000; i++) {
			place = mam_vector_push(vector, ckit_base(kit), &number);
			ck_assert(place && number == i);
			ck_assert(!round || place == places[i]);
			places[i] = place;
			memset(place, (int)i, plans[_i].bytes);
			ck_assert_uint_eq(mam_vector_count(vector), i + 1);
			ck_assert_ptr_null(mam_vector_get(vector, i + 1));
			/* 2^k - 1 times the first segment's size is below segment k. */
			if (i == ((1u << segments) - 1) << plans[_i].shift) {
				segments++;
				ck_assert_uint_eq((uintptr_t)place % 16, 0);
			} else {
				ck_assert(place == places[i - 1] + plans[_i].bytes);
			}
			ck_assert_uint_eq(kit->allocs, round ? kit->allocs : segments);
		}
		for (i = 0; i < 1000; i++) {
			ck_assert_ptr_eq(mam_vector_get(vector, i), places[i]);
			ck_assert(places[i][0] == (unsigned char)i &&
				  places[i][plans[_i].bytes - 1] == (unsigned char)i);
		}
		/* The memory is kept. */
		mam_vector_clear(vector);
		ck_assert_uint_eq(mam_vector_count(vector), 0);
		ck_assert_ptr_null(mam_vector_get(vector, 0));
		ck_assert_uint_eq(kit->frees, 0);
		segments = 0;
	}
	mam_vector_fini(vector, ckit_base(kit));
	ck_assert_ptr_null(ckit_check_empty(kit));
	/* The vector can be used again. */
	ck_assert(mam_vector_push(vector, ckit_base(kit), &number) && number == 0);
	mam_vector_fini(vector, ckit_base(kit));
	ck_assert_ptr_null(ckit_check_empty(kit));
	dkit_destroy(kit);
}
END_TEST

/*
 * The vector is full when the base fails, until it is cleared, although the base has memory again.
 */
START_TEST(vector_stays_full_until_cleared)
{
	static const struct plan plan = { .bytes = 8, .shift = 2, .refuse_after = 3 };
	struct ckit *kit = create(&plan, 1 << 16);
	struct mam_vector *vector = own_of(kit)->vector;
	uint64_t number = 7;
	uint32_t i, round;

	ckit_begin(kit);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 12; i++)
			ck_assert(mam_vector_push(vector, ckit_base(kit), &number));
		for (i = 0; i < 100; i++)
			ck_assert(!mam_vector_push(vector, ckit_base(kit), &number) &&
				  number == 11);
		kit->refuse_after = 0;
		ck_assert_ptr_null(mam_vector_push(vector, ckit_base(kit), &number));
		ck_assert_uint_eq(mam_vector_count(vector), 12);
		ck_assert_ptr_null(mam_vector_get(vector, 12));
		ck_assert_uint_eq(kit->refusals, round + 1);
		mam_vector_clear(vector);
		kit->refuse_after = kit->allocs + kit->refusals + 1;
	}
	kit->refuse_after = 0;
	for (i = 0; i < 100; i++)
		ck_assert(mam_vector_push(vector, ckit_base(kit), &number) && number == i);
	mam_vector_fini(vector, ckit_base(kit));
	ck_assert_ptr_null(ckit_check_empty(kit));
	dkit_destroy(kit);
}
END_TEST

/* The first allocation fails; and a size that no base can provide is not requested. */
START_TEST(push_fails_without_memory)
{
	struct plan plan = { .bytes = 8, .refuse_after = 1 };
	struct ckit *kit = create(&plan, 1 << 12);
	struct mam_vector *vector = own_of(kit)->vector;
	uint64_t number = 7;

	ckit_begin(kit);
	ck_assert_ptr_null(mam_vector_push(vector, ckit_base(kit), &number));
	ck_assert_uint_eq(mam_vector_count(vector), 0);
	ck_assert_uint_eq(kit->refusals, 1);
	mam_vector_init(vector, 0xffffffff, 99);
	ck_assert_uint_eq(vector->shift, MAM_VECTOR_SHIFT_MAX);
	vector->reserved = (uint64_t)1 << 62;
	vector->segment[0] = vector->segment[1] = vector->segment[2] = 4096;
	ck_assert_ptr_null(mam_vector_push(vector, ckit_base(kit), &number));
	/* Segment 3 would be 2^55 bytes. */
	ck_assert_uint_eq(kit->refusals, 1);
	ck_assert_uint_eq(vector->segment[3], MAM_VECTOR_FULL);
	ck_assert_uint_eq(mam_vector_count(vector), 7u << MAM_VECTOR_SHIFT_MAX);
	ck_assert_uint_eq(number, 7);
	dkit_destroy(kit);
}
END_TEST

/* ---- many lanes ---------------------------------------------------------------------------- */

static void put(struct ckit *kit, struct mam_vector *vector)
{
	uint64_t number = DKIT_NUMBERS;
	uint32_t *place = mam_vector_push(vector, ckit_base(kit), &number);

	if (!place) {
		MAM_KASSERT(number == DKIT_NUMBERS);
		return;
	}
	dkit_note(number);
	MAM_KASSERT(mam_vector_get(vector, number) == place);
	*place = (uint32_t)number + 100;
	(void)mam_atomic_add32(&own_of(kit)->pushed, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static MAM_KERNEL(push)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	bool stops = mam_block() < plan->stoppers;
	uint32_t i;

	if (stops && simt_thread() == simt_random() % plan->block)
		stop_after(1 + (uint32_t)(simt_random() % (6 * plan->rounds)));
	for (i = 0; i < plan->rounds; i++)
		put(kit, &own_of(kit)->vector[0]);
	if (!stops)
		stop_leave();
}

/* The elements are what was pushed, without gaps; then everything is freed. */
static const char *check_pushed(void *argument)
{
	struct ckit *kit = argument;
	struct mam_vector *vector = own_of(kit)->vector;
	uint64_t i, count = mam_vector_count(vector);
	const char *wrong = dkit_check_noted(count);
	uint32_t *place;

	dkit_count_run();
	if (wrong)
		return wrong;
	if (count != own_of(kit)->pushed)
		return "the count differs from the successful pushes";
	for (i = 0; i < count; i++) {
		place = mam_vector_get(vector, i);
		if (!place || *place != i + 100)
			return "an element differs from what was pushed";
	}
	if (mam_vector_get(vector, count))
		return "there is an element after the last";
	mam_vector_fini(vector, ckit_base(kit));
	return ckit_check_empty(kit);
}

static const char *check_all(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	const struct own *own = kit->own;

	return own->pushed == plan->grid * plan->block * plan->rounds ? check_pushed(argument)
								      : "a push failed";
}

/*
 * There is room for the segments below the one whose allocation fails, although lanes try
 * repeatedly.
 */
static const char *check_full(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	const struct own *own = kit->own;
	uint32_t room = ((1u << (plan->refuse_after - 1)) - 1) << plan->shift;

	if (plan->stoppers ? own->pushed > room : own->pushed != room)
		return "the number of elements differs from the room";
	return check_pushed(argument);
}

static const struct plan plans[] = {
	/* name, shift, bytes, grid, block, rounds, refuse, stoppers, seeds */
	{ "two lanes", 0, 4, 2, 1, 4, 0, 0, 500 },
	{ "a warp", 1, 8, 1, 32, 3, 0, 0, 40 },
	{ "four blocks", 0, 16, 4, 2, 3, 0, 0, 300 },
	{ "more than two warps", 2, 4, 1, 70, 2, 0, 0, 20 },
	{ "full at the first segment", 0, 4, 3, 2, 3, 1, 0, 200 },
	{ "full at the third segment", 0, 4, 3, 2, 3, 3, 0, 300 },
	{ "full in a warp", 1, 4, 1, 20, 2, 4, 0, 40 },
	{ "one stopped lane", 0, 4, 4, 1, 4, 0, 1, 500 },
	{ "two stopped lanes", 1, 4, 4, 2, 3, 0, 2, 300 },
	{ "one stopped lane, full", 0, 4, 4, 1, 4, 4, 1, 300 },
};

START_TEST(concurrent_pushes_leave_no_gaps)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = create(plan, 1 << 14);

	ckit_explore(kit, plan->name, push, plan->grid, plan->block,
		     CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds,
		     plan->refuse_after ? check_full : check_all);
	ck_assert(!plan->stoppers || dkit.runs < 60 || dkit.stopped > dkit.runs / 3);
	dkit_destroy(kit);
}
END_TEST

/* Lanes of one warp use two vectors; each vector has what was pushed to it. */
static MAM_KERNEL(push_two)
{
	struct ckit *kit = argument;
	struct mam_vector *vector = &own_of(kit)->vector[simt_thread() % 3 == 0];
	uint64_t number;
	uint32_t *place, i;

	for (i = 0; i < 3; i++) {
		place = mam_vector_push(vector, ckit_base(kit), &number);
		MAM_KASSERT(place);
		*place = simt_thread() % 3 == 0;
	}
}

static const char *check_two(void *argument)
{
	struct ckit *kit = argument;
	struct mam_vector *vector;
	uint64_t i, which;

	for (which = 0; which < 2; which++) {
		vector = &own_of(kit)->vector[which];
		if (mam_vector_count(vector) != (which ? 12 : 24))
			return "a vector has the wrong number of elements";
		for (i = 0; i < mam_vector_count(vector); i++)
			if (*(uint32_t *)mam_vector_get(vector, i) != which)
				return "an element belongs to the other vector";
		mam_vector_fini(vector, ckit_base(kit));
	}
	return ckit_check_empty(kit);
}

START_TEST(lanes_of_a_warp_push_to_two_vectors)
{
	static const struct plan plan = { .bytes = 4, .shift = 1, .grid = 1, .block = 12 };
	struct ckit *kit = create(&plan, 1 << 14);

	ckit_explore(kit, "two vectors", push_two, 1, 12, CKIT_RACE ? 30 : 100, check_two);
	dkit_destroy(kit);
}
END_TEST

/*
 * A lane's writes to memory that it freed happen before other lanes' writes to elements in it,
 * although another lane allocated the segment.
 */
static MAM_KERNEL(push_where_others_wrote)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit);
	uint32_t *block = mam_base_alloc(base, 32), i;

	for (i = 0; block && i < 8; i++)
		block[i] = 1;
	if (block)
		(void)mam_base_free(base, block);
	for (i = 0; i < 3; i++)
		put(kit, &own_of(kit)->vector[0]);
}

START_TEST(writes_to_reused_memory_are_ordered)
{
	static const struct plan plan = {
		.bytes = 4, .shift = 2, .grid = 3, .block = 1, .rounds = 3
	};
	struct ckit *kit = create(&plan, 1 << 14);

	ckit_explore(kit, "reused memory", push_where_others_wrote, 3, 1, 300, check_all);
	dkit_destroy(kit);
}
END_TEST

/*
 * While lanes push, one lane reads: the count only grows, and every element below it exists.
 * Another lane reads a published number, and finds the element that was written before it.
 */
static MAM_KERNEL(look)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;
	struct mam_vector *vector = own->vector;
	uint64_t count = 0, now, number;
	uint32_t i, *place;

	switch (mam_block()) {
	case 0:
		for (i = 0; i < 6; i++, count = now) {
			now = mam_vector_count(vector);
			MAM_KASSERT(now >= count);
			MAM_KASSERT(!now || mam_vector_get(vector, now - 1));
			MAM_KASSERT(!now || mam_vector_get(vector, 0));
		}
		break;
	case 1:
		for (i = 0; i < 4; i++) {
			number = mam_atomic_load64(&own->published, MAM_ACQUIRE, MAM_AT_DEVICE);
			if (!number)
				continue;
			place = mam_vector_get(vector, number - 1);
			MAM_KASSERT(place && *place == number + 99);
		}
		break;
	default:
		for (i = 0; i < 3; i++) {
			place = mam_vector_push(vector, ckit_base(kit), &number);
			MAM_KASSERT(place);
			dkit_note(number);
			*place = (uint32_t)number + 100;
			mam_atomic_store64(&own->published, number + 1, MAM_RELEASE, MAM_AT_DEVICE);
			(void)mam_atomic_add32(&own->pushed, 1, MAM_RELAXED, MAM_AT_DEVICE);
		}
	}
}

START_TEST(readers_see_growing_vector)
{
	static const struct plan plan = { .bytes = 4, .grid = 5, .block = 1 };
	struct ckit *kit = create(&plan, 1 << 14);

	ckit_explore(kit, "one lane reads", look, 5, 1, CKIT_RACE ? 150 : 500, check_pushed);
	dkit_destroy(kit);
}
END_TEST

/*
 * Lanes of one block initialize a vector, push to it, clear it and free it, with barriers in
 * between.
 */
static MAM_KERNEL(all_in_kernel)
{
	struct ckit *kit = argument;
	struct mam_vector *vector = own_of(kit)->vector;
	uint64_t number;
	uint32_t round, *place;

	if (!simt_thread())
		mam_vector_init(vector, 4, 1);
	mam_syncthreads();
	for (round = 0; round < 2; round++) {
		place = mam_vector_push(vector, ckit_base(kit), &number);
		MAM_KASSERT(place);
		*place = simt_thread();
		mam_syncthreads();
		MAM_KASSERT(mam_vector_count(vector) == simt_block_threads());
		place = mam_vector_get(vector, simt_thread());
		MAM_KASSERT(place && *place < simt_block_threads());
		mam_syncthreads();
		if (!simt_thread())
			mam_vector_clear(vector);
		mam_syncthreads();
	}
	if (!simt_thread())
		mam_vector_fini(vector, ckit_base(kit));
}

START_TEST(kernel_may_initialize_and_free_vector)
{
	static const struct plan plan = { .bytes = 4, .grid = 1, .block = 40 };
	struct ckit *kit = create(&plan, 1 << 14);

	ckit_explore(kit, "all in a kernel", all_in_kernel, 1, 40, 20, NULL);
	dkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("vector");

	tcase_add_loop_test(tcase, elements_never_move, 0, 4);
	tcase_add_test(tcase, vector_stays_full_until_cleared);
	tcase_add_test(tcase, push_fails_without_memory);
	tcase_add_loop_test(tcase, concurrent_pushes_leave_no_gaps, 0,
			    sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, lanes_of_a_warp_push_to_two_vectors);
	tcase_add_test(tcase, writes_to_reused_memory_are_ordered);
	tcase_add_test(tcase, readers_see_growing_vector);
	tcase_add_test(tcase, kernel_may_initialize_and_free_vector);
	return ckit_run(tcase, "ds/vector");
}
