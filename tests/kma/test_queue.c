/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_queue.c - a queue of superblocks: one lane against a model; then lanes of several warps and
 * blocks, some of which stop forever. Each number has one owner at a time, keeps its order,
 * publishes the writes of the lane that put it, and is found while it must be in the queue.
 */
#include "kma/kit.h"

#define MAX 8u
#define QUEUES 2u

struct plan {
	const char *name;
	uint32_t superblocks, inside; /* initial number of elements */
	uint32_t grid, block, rounds;
	uint32_t stoppers; /* number of blocks, from the first one, with a lane that stops */
	uint32_t seeds, seeds_race;
	bool both; /* puts and takes use any of QUEUES queues; otherwise there is one */
};

struct own {
	const struct plan *plan;
	struct mam_kma_queue *queue;
	uint32_t value[MAX]; /* of the superblock's owner; plain */
	uint32_t held[MAX];  /* the test's own */
	uint32_t takes[MAX];
	uint32_t runs, halts;
};

STOP_UNSEEN void note_put(struct own *own, uint32_t superblock)
{
	MAM_KASSERT(superblock < MAX && own->held[superblock]);
	own->held[superblock] = 0;
}

STOP_UNSEEN void note_taken(struct own *own, uint32_t superblock)
{
	MAM_KASSERT(superblock < own->plan->superblocks && !own->held[superblock]);
	own->held[superblock] = 1;
	own->takes[superblock]++;
}

static uint32_t queues(const struct own *own)
{
	return own->plan->both ? QUEUES : 1;
}

static struct own *own_create(const struct plan *plan)
{
	struct own *own = calloc(1, sizeof(*own));

	ck_assert_ptr_nonnull(own);
	own->plan = plan;
	own->queue = aligned_alloc(MAM_KMA_LINE, mam_kma_queue_bytes(MAX, QUEUES));
	ck_assert_ptr_nonnull(own->queue);
	return own;
}

static void own_begin(void *argument)
{
	struct own *own = argument;
	uint32_t i;

	memset(own->queue, 0xa5, mam_kma_queue_bytes(MAX, QUEUES));
	memset(own->value, 0, sizeof(own->value));
	memset(own->takes, 0, sizeof(own->takes));
	stop_begin(0);
	mam_kma_queue_format(own->queue, own->plan->superblocks, queues(own), 0, 1);
	/* Near the wraparound of a tag. */
	for (i = 0; i < own->plan->superblocks + queues(own); i++)
		*mam_kma_queue_link(own->queue, i) |= (uint64_t)0xfffffffd << 32;
	for (i = 0; i < queues(own); i++) {
		*mam_kma_queue_head(own->queue, i) |= (uint64_t)0xfffffffe << 32;
		*mam_kma_queue_tail(own->queue, i) |= (uint64_t)0xfffffffe << 32;
	}
	for (i = 0; i < own->plan->superblocks; i++) {
		own->held[i] = i >= own->plan->inside;
		if (!own->held[i])
			mam_kma_queue_put(own->queue, i % queues(own), i);
	}
	stop_begin((own->plan->grid - own->plan->stoppers) * own->plan->block);
}

/* A random sequence of puts and takes: results match the model, and the queue can be empty. */
START_TEST(sequence_matches_model)
{
	struct plan plan = { .superblocks = (uint32_t)_i, .inside = 0, .grid = 1, .block = 1 };
	struct own *own = own_create(&plan);
	uint32_t model[4096], front = 0, back = 0, n, i, got;
	uint64_t random = 88172645463325252u;

	own_begin(own);
	for (n = 0; n < 4000; n++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if ((random >> 40) % 8 < (n / 20 % 2 ? 6 : 2)) {
			for (i = 0; i < plan.superblocks && !own->held[i]; i++)
				;
			if (i == plan.superblocks)
				continue;
			own->held[i] = 0;
			model[back++] = i;
			mam_kma_queue_put(own->queue, 0, i);
		} else {
			got = mam_kma_queue_take(own->queue, 0);
			ck_assert_uint_eq(got, front == back ? MAM_KMA_NONE : model[front]);
			if (got != MAM_KMA_NONE)
				own->held[model[front++]] = 1;
		}
	}
	ck_assert_uint_gt(front, 500);
	free(own->queue);
	free(own);
}
END_TEST

START_TEST(format_stays_within_its_bytes)
{
	uint32_t n, i, workers, size, queues;
	unsigned char *one, *many;

	for (n = 1; n < 300; n += 37)
		for (workers = 1; workers < 40; workers += 13) {
			queues = 1 + n % 3;
			size = (uint32_t)mam_kma_queue_bytes(n, queues);
			one = aligned_alloc(MAM_KMA_LINE, size + MAM_KMA_LINE);
			many = aligned_alloc(MAM_KMA_LINE, size + MAM_KMA_LINE);
			ck_assert(one && many);
			memset(one, 0x5a, size + MAM_KMA_LINE);
			memset(many, 0x5a, size + MAM_KMA_LINE);
			mam_kma_queue_format((struct mam_kma_queue *)one, n, queues, 0, 1);
			for (i = workers; i-- > 0;)
				mam_kma_queue_format((struct mam_kma_queue *)many, n, queues, i,
						     workers);
			ck_assert_mem_eq(one, many, size + MAM_KMA_LINE);
			for (i = 0; i < MAM_KMA_LINE; i++)
				ck_assert_uint_eq(one[size + i], 0x5a);
			free(one);
			free(many);
		}
}
END_TEST

static void pass(struct own *own, bool must)
{
	uint32_t superblock = mam_kma_queue_take(own->queue, kkit_below(queues(own)));

	if (superblock == MAM_KMA_NONE) {
		MAM_KASSERT(!must);
		return;
	}
	note_taken(own, superblock);
	own->value[superblock]++;
	note_put(own, superblock);
	mam_kma_queue_put(own->queue, kkit_below(queues(own)), superblock);
}

/* If there are no more lanes than superblocks in the queue, each lane finds one. */
static MAM_KERNEL(pass_on)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;
	uint32_t n;

	if (mam_block() < plan->stoppers && simt_thread() == kkit_below(plan->block))
		stop_after(1 + kkit_below(10 * plan->rounds));
	for (n = 0; n < plan->rounds; n++)
		pass(own, !plan->both && plan->grid * plan->block <= plan->inside);
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

static const char *all_there(void *argument)
{
	struct own *own = argument;
	uint32_t i, superblock, passes = 0;

	own->runs++;
	own->halts += stop.stopped;
	for (i = 0; i < own->plan->inside; i++) {
		superblock = mam_kma_queue_take(own->queue, 0);
		if (superblock == MAM_KMA_NONE && own->plan->both)
			superblock = mam_kma_queue_take(own->queue, 1);
		if (superblock == MAM_KMA_NONE)
			return "a superblock was lost";
		passes += own->takes[superblock];
		if (own->value[superblock] != own->takes[superblock])
			return "two lanes had a superblock at the same time";
		note_taken(own, superblock);
	}
	if (mam_kma_queue_take(own->queue, 0) != MAM_KMA_NONE)
		return "a superblock appeared that was not put";
	return passes ? NULL : "no lane had a superblock";
}

static void explore(struct own *own, simt_kernel *kernel, const char *(*check)(void *))
{
	const struct plan *plan = own->plan;
	struct simt_case test = {
		.name = plan->name,
		.kernel = kernel,
		.grid = plan->grid,
		.block = plan->block,
		.argument = own,
		.begin = own_begin,
		.check = check,
		.seeds = KKIT_RACE ? plan->seeds_race : plan->seeds,
		.config = { .race = KKIT_RACE, .strict = true, .steps_max = 200000 },
	};

	simt_must_pass(&test);
}

static const struct plan passes[] = {
	/* name, superblocks, inside, grid, block, rounds, stoppers, seeds */
	{ "one", 1, 1, 3, 1, 6, 0, 1500, 300, false },
	{ "one of two", 2, 1, 4, 1, 6, 0, 1500, 300, false },
	{ "two", 2, 2, 4, 1, 6, 0, 2000, 400, false },
	{ "two for two", 2, 2, 2, 1, 12, 0, 2000, 400, false },
	{ "three for three", 3, 3, 3, 1, 8, 0, 2000, 400, false },
	{ "four for four, a warp", 4, 4, 1, 4, 8, 0, 1000, 200, false },
	{ "five for warps", 5, 5, 2, 40, 3, 0, 20, 4, false },
	{ "one in two queues", 1, 1, 3, 1, 8, 0, 2000, 400, true },
	{ "three in two queues", 3, 3, 4, 1, 8, 0, 2000, 400, true },
	{ "two queues, one lane stops", 3, 3, 4, 1, 8, 1, 1500, 300, true },
	{ "two, one lane stops", 2, 2, 4, 1, 6, 1, 1500, 300, false },
	{ "three, two lanes stop", 3, 3, 5, 1, 8, 2, 1500, 300, false },
};

START_TEST(recurring_superblocks_have_one_owner)
{
	const struct plan *plan = &passes[_i];
	struct own *own = own_create(plan);

	explore(own, pass_on, all_there);
	if (own->runs >= 60)
		ck_assert(!plan->stoppers || own->halts > own->runs / 3);
	free(own->queue);
	free(own);
}
END_TEST

/* Lane 0 puts them in their order; the other lanes take, and each sees rising numbers. */
static MAM_KERNEL(in_order)
{
	struct own *own = argument;
	uint32_t n, got, last = 0;

	if (!mam_block()) {
		for (n = 0; n < own->plan->superblocks; n++) {
			own->value[n] = n + 100;
			note_put(own, n);
			mam_kma_queue_put(own->queue, 0, n);
		}
		return;
	}
	for (n = 0; n < own->plan->rounds; n++) {
		got = mam_kma_queue_take(own->queue, 0);
		if (got == MAM_KMA_NONE)
			continue;
		note_taken(own, got);
		MAM_KASSERT(got + 1 > last && own->value[got] == got + 100);
		own->value[got] = 0;
		last = got + 1;
	}
}

static const char *rest_in_order(void *argument)
{
	struct own *own = argument;
	uint32_t i, got, taken = 0, first = 0;

	for (i = 0; i < own->plan->superblocks; i++) {
		taken += own->takes[i];
		if (own->takes[i])
			first = i + 1;
	}
	if (taken != first)
		return "a later one came first";
	for (i = first; i < own->plan->superblocks; i++) {
		got = mam_kma_queue_take(own->queue, 0);
		if (got != i)
			return "the rest is out of order";
	}
	return NULL;
}

static const struct plan orders[] = {
	{ "one puts, one takes", 6, 0, 2, 1, 8, 0, 1500, 300, false },
	{ "one puts, two take", 7, 0, 3, 1, 6, 0, 1500, 300, false },
};

START_TEST(queue_is_first_in_first_out)
{
	struct own *own = own_create(&orders[_i]);

	explore(own, in_order, rest_in_order);
	free(own->queue);
	free(own);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("queue");

	tcase_add_loop_test(tcase, sequence_matches_model, 1, MAX + 1);
	tcase_add_test(tcase, format_stays_within_its_bytes);
	tcase_add_loop_test(tcase, recurring_superblocks_have_one_owner, 0,
			    sizeof(passes) / sizeof(passes[0]));
	tcase_add_loop_test(tcase, queue_is_first_in_first_out, 0,
			    sizeof(orders) / sizeof(orders[0]));
	return kkit_run(tcase, "kma/queue");
}
