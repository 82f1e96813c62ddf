/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fifo.c - the FIFO against a model: by one lane, step by step; then by lanes of several warps
 * and blocks, which sleep in the middle or stop forever; and a producer's writes before a put are
 * visible to the consumer.
 */
#include "coalesce/watch.h"
#include "coalesce/kit.h"

#define RECORDS 2048u
#define SHIFT_MAX 5u

/* The data of a message: belongs to its holder, with plain loads and stores. */
struct record {
	uint32_t value;
	uint32_t state; /* the test's own: counts its puts and takes; hidden from the checker */
};

struct plan {
	const char *name;
	uint32_t shift, first;
	uint32_t grid, block;
	uint32_t putters; /* the first lanes of a block put, others take; 0: each does both */
	uint32_t rounds;
	uint32_t naps;
	uint32_t stoppers; /* number of blocks, from the first one, with a lane that stops */
	uint32_t seeds, seeds_race;
};

struct own {
	const struct plan *plan;
	struct mam_fifo *fifo;
	struct record record[RECORDS];
	uint32_t halts, runs;
};

STOP_UNSEEN void note_put(struct own *own, uint32_t payload)
{
	MAM_KASSERT(payload < RECORDS && own->record[payload].state % 2 == 0);
	own->record[payload].state++;
}

STOP_UNSEEN void note_taken(struct own *own, uint32_t payload)
{
	MAM_KASSERT(payload < RECORDS && own->record[payload].state % 2 == 1);
	own->record[payload].state++;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

static struct own *own_create(const struct plan *plan)
{
	struct own *own = calloc(1, sizeof(*own));

	ck_assert_ptr_nonnull(own);
	own->plan = plan;
	own->fifo = aligned_alloc(MAM_FIFO_LINE, mam_fifo_bytes(SHIFT_MAX));
	ck_assert_ptr_nonnull(own->fifo);
	memset(&watch, 0, sizeof(watch));
	return own;
}

static void own_destroy(struct own *own)
{
	free(own->fifo);
	free(own);
}

static void own_begin(void *argument)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;

	memset(own->record, 0, sizeof(own->record));
	memset(own->fifo, 0xa5, mam_fifo_bytes(SHIFT_MAX));
	mam_fifo_format(own->fifo, plan->shift, plan->first);
	stop_begin((plan->grid - plan->stoppers) * plan->block);
	watch_begin(own->fifo, plan->grid * plan->block);
	watch.naps = plan->naps;
}

/* ---- one lane ------------------------------------------------------------------------------ */

static const uint32_t firsts[] = { 0, 1, 5, 0x7ffffffd, 0xfffffffe, 0xffffffff, 0xffffffc0 };

/*
 * A random sequence of puts and takes: each result matches the model, with exactly the necessary
 * number of accesses.
 */
START_TEST(sequence_matches_model)
{
	uint32_t shift, n, payload, got, held, in, out;
	struct plan plan = { .first = firsts[_i], .grid = 1, .block = 1 };
	struct own *own = own_create(&plan);
	uint64_t random = 88172645463325252u;

	for (shift = 0; shift <= SHIFT_MAX; shift++) {
		plan.shift = shift;
		own_begin(own);
		in = out = 0;
		for (n = 0; n < 3000; n++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			payload = (uint32_t)random;
			held = in - out;
			ck_assert(mam_fifo_is_empty(own->fifo) == !held);
			/*
			 * Alternates between more puts and more takes, so it is sometimes full and
			 * sometimes empty.
			 */
			if ((random >> 40) % 8 < (n / 200 % 2 ? 6 : 2)) {
				ck_assert(watch_try_put(own->fifo, payload) ==
					  (held < 1u << shift ? MAM_FIFO_DONE : MAM_FIFO_NOT));
				in += held < 1u << shift;
				ck_assert_uint_eq(watch.lane[0].atomics,
						  held < 1u << shift ? 5 : 3);
			} else {
				got = payload;
				ck_assert(watch_try_take(own->fifo, &got) ==
					  (held ? MAM_FIFO_DONE : MAM_FIFO_NOT));
				ck_assert(held || got == payload);
				out += held > 0;
				ck_assert_uint_eq(watch.lane[0].atomics, held > 1 ? 4
									 : held   ? 3
										  : 2);
			}
		}
		ck_assert(watch.full && watch.empty && !watch.lost);
	}
	own_destroy(own);
}
END_TEST

START_TEST(fifo_holds_exactly_its_capacity)
{
	struct plan plan = { .first = 0xfffffffd, .grid = 1, .block = 1 };
	struct own *own = own_create(&plan);
	uint32_t i, payload = 0, round;

	for (plan.shift = 0; plan.shift <= SHIFT_MAX; plan.shift++) {
		own_begin(own);
		for (round = 0; round < 3; round++) {
			for (i = 0; i < 1u << plan.shift; i++)
				ck_assert(watch_put(own->fifo, i * 7));
			ck_assert(!watch_put(own->fifo, 1));
			ck_assert(watch_take(own->fifo, &payload) && payload == 0);
			ck_assert(watch_put(own->fifo, 1000));
			ck_assert(!watch_put(own->fifo, 1));
			for (i = 1; i < 1u << plan.shift; i++)
				ck_assert(watch_take(own->fifo, &payload) && payload == i * 7);
			ck_assert(watch_take(own->fifo, &payload) && payload == 1000);
			ck_assert(!watch_take(own->fifo, &payload) && payload == 1000);
		}
	}
	own_destroy(own);
}
END_TEST

/* Whole cache lines, no more than needed, and no write after them. */
START_TEST(format_stays_within_its_bytes)
{
	uint32_t shift, i;
	size_t size;
	unsigned char *memory;

	ck_assert_uint_eq(sizeof(struct mam_fifo), 2 * MAM_FIFO_LINE);
	ck_assert_uint_eq(offsetof(struct mam_fifo, tail), MAM_FIFO_LINE);
	for (shift = 0; shift <= 10; shift++) {
		size = mam_fifo_bytes(shift);
		ck_assert_uint_eq(size % MAM_FIFO_LINE, 0);
		ck_assert_uint_ge(size, 2 * MAM_FIFO_LINE + ((size_t)8 << shift));
		ck_assert_uint_lt(size, 3 * MAM_FIFO_LINE + ((size_t)8 << shift));
		memory = aligned_alloc(MAM_FIFO_LINE, size + MAM_FIFO_LINE);
		ck_assert_ptr_nonnull(memory);
		memset(memory, 0x5a, size + MAM_FIFO_LINE);
		mam_fifo_format((struct mam_fifo *)memory, shift, 3);
		for (i = 0; i < MAM_FIFO_LINE; i++)
			ck_assert_uint_eq(memory[size + i], 0x5a);
		for (i = 2 * MAM_FIFO_LINE + (8u << shift); i < size; i++)
			ck_assert_uint_eq(memory[i], 0x5a);
		free(memory);
	}
}
END_TEST

/* ---- many lanes ---------------------------------------------------------------------------- */

/* Each message once: its number consists of the lane and the round. */
static void put_one(struct own *own, uint32_t payload, bool try_once)
{
	own->record[payload].value = payload ^ 0x5a5a;
	note_put(own, payload);
	if (try_once ? watch_try_put(own->fifo, payload) == MAM_FIFO_DONE
		     : watch_put(own->fifo, payload))
		return;
	note_taken(own, payload);
}

static void take_one(struct own *own, bool try_once)
{
	uint32_t payload = RECORDS;

	if (try_once ? watch_try_take(own->fifo, &payload) != MAM_FIFO_DONE
		     : !watch_take(own->fifo, &payload)) {
		MAM_KASSERT(payload == RECORDS);
		return;
	}
	note_taken(own, payload);
	MAM_KASSERT(own->record[payload].value == (payload ^ 0x5a5a));
	own->record[payload].value = 0;
}

static void may_stop(const struct plan *plan)
{
	if (mam_block() < plan->stoppers && simt_thread() == below(plan->block))
		stop_after(1 + below(4 * plan->rounds));
}

static MAM_KERNEL(each_once)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread(), n;

	may_stop(plan);
	for (n = 0; n < plan->rounds; n++)
		if (plan->putters ? simt_thread() < plan->putters : below(2))
			put_one(own, me * plan->rounds + n, below(3) == 0);
		else
			take_one(own, below(3) == 0);
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

/* The remaining messages come out in order, and then the FIFO is empty. */
static const char *all_there(void *argument)
{
	struct own *own = argument;
	uint32_t i, left = watch.back - watch.front + 1, payload = 0;

	own->runs++;
	own->halts += stop.stopped;
	watch.naps = 0;
	for (i = 0; i < left; i++) {
		if (!watch_take(own->fifo, &payload))
			return "a message is missing";
		note_taken(own, payload);
	}
	if (watch_take(own->fifo, &payload))
		return "a message appeared that was not put";
	for (i = 0; i < RECORDS; i++)
		if (own->record[i].state != 0 && own->record[i].state != 2)
			return "a message was lost, or taken twice";
	return NULL;
}

static void explore(struct own *own, void (*begin)(void *), simt_kernel *kernel,
		    const char *(*check)(void *))
{
	const struct plan *plan = own->plan;
	struct simt_case test = {
		.name = plan->name,
		.kernel = kernel,
		.grid = plan->grid,
		.block = plan->block,
		.argument = own,
		.begin = begin,
		.check = check,
		.seeds = CKIT_RACE ? plan->seeds_race : plan->seeds,
		.config = { .race = CKIT_RACE, .strict = true, .steps_max = 200000 },
	};

	simt_must_pass(&test);
}

static const struct plan onces[] = {
	/* name, shift, first, grid, block, putters, rounds, naps, stoppers, seeds */
	{ "one and one", 1, 0xfffffffa, 1, 2, 1, 12, 0, 0, 1000, 300 },
	{ "one and one, sleeps", 2, 0xfffffffa, 1, 2, 1, 12, 5, 0, 1000, 300 },
	{ "one place", 0, 0xfffffffa, 2, 2, 1, 8, 0, 0, 1500, 400 },
	{ "one place, sleeps", 0, 0xfffffffc, 3, 2, 1, 8, 6, 0, 1000, 300 },
	{ "two places, all do both", 1, 0xfffffffc, 4, 1, 0, 8, 0, 0, 1500, 400 },
	{ "two places, sleeps", 1, 0xfffffffc, 4, 1, 0, 8, 6, 0, 1000, 300 },
	{ "four places", 2, 0x7ffffffa, 2, 3, 0, 8, 0, 0, 1000, 300 },
	{ "four places, sleeps", 2, 0xfffffffc, 2, 3, 0, 10, 10, 0, 800, 200 },
	{ "many put", 2, 3, 2, 4, 3, 6, 0, 0, 600, 150 },
	{ "many take", 3, 0, 2, 4, 1, 8, 0, 0, 600, 150 },
	{ "warps and blocks", 3, 0xffffffe0, 3, 40, 0, 4, 0, 0, 20, 5 },
	{ "warps and blocks, sleeps", 4, 0xffffffe0, 2, 64, 0, 4, 20, 0, 20, 5 },
	{ "one lane stops", 1, 0xfffffffc, 4, 1, 0, 8, 0, 1, 1500, 400 },
	{ "two lanes stop, one place", 0, 0xfffffffc, 4, 1, 0, 8, 0, 2, 1500, 400 },
	{ "three lanes stop, sleeps", 2, 0xfffffffc, 6, 1, 0, 8, 12, 3, 800, 200 },
	{ "one lane stops in each warp", 2, 0, 3, 6, 0, 6, 0, 2, 300, 80 },
};

START_TEST(each_message_is_taken_once)
{
	const struct plan *plan = &onces[_i];
	struct own *own = own_create(plan);

	explore(own, own_begin, each_once, all_there);
	/* With fewer runs the test proves nothing. */
	if (own->runs >= 60) {
		ck_assert(watch.full && watch.empty);
		/* With one producer and one consumer, neither ever loses. */
		ck_assert(!watch.lost == (plan->grid * plan->block == 2));
		ck_assert(watch.wrapped || plan->first < 0xfffffffa);
		ck_assert(!plan->stoppers || own->halts > own->runs / 3);
	}
	own_destroy(own);
}
END_TEST

/* ---- recurring payloads, as blocks are ------------------------------------------------------- */

/* Half of the places are occupied, or all. */
static void begin_tokens(void *argument)
{
	struct own *own = argument;
	uint32_t i, n = own->plan->putters;

	own_begin(own);
	watch.naps = 0;
	for (i = 0; i < n; i++) {
		note_put(own, i);
		ck_assert(watch_put(own->fifo, i));
	}
	watch.naps = own->plan->naps;
}

/* There is a place for each token, so no put may fail. */
static MAM_KERNEL(pass_tokens)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;
	uint32_t n, token = 0;

	may_stop(plan);
	for (n = 0; n < plan->rounds; n++) {
		if (!watch_take(own->fifo, &token))
			continue;
		note_taken(own, token);
		own->record[token].value++;
		note_put(own, token);
		MAM_KASSERT(watch_put(own->fifo, token));
	}
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

static const char *all_tokens(void *argument)
{
	struct own *own = argument;
	uint32_t i, passes = 0, token = 0;

	own->runs++;
	own->halts += stop.stopped;
	watch.naps = 0;
	for (i = 0; i < own->plan->putters; i++) {
		if (!watch_take(own->fifo, &token))
			return "a token was lost";
		note_taken(own, token);
		passes += own->record[token].value;
		if (own->record[token].state != 2 * own->record[token].value + 2)
			return "two lanes had a token at the same time";
	}
	return passes ? NULL : "no lane ever had a token";
}

static const struct plan tokens[] = {
	/* name, shift, first, grid, block, tokens, rounds, naps, stoppers, seeds */
	{ "one token", 0, 0xfffffffa, 3, 1, 1, 8, 0, 0, 1500, 400 },
	{ "one token, sleeps", 0, 0xfffffffc, 4, 1, 1, 8, 6, 0, 800, 200 },
	{ "two tokens", 1, 0xfffffffc, 4, 1, 2, 8, 0, 0, 1500, 400 },
	{ "two tokens, sleeps", 1, 0xfffffffc, 4, 1, 2, 12, 8, 0, 800, 200 },
	{ "three of four", 2, 0xfffffffc, 2, 3, 3, 8, 0, 0, 600, 150 },
	{ "warps", 2, 0xfffffffc, 2, 40, 4, 4, 0, 0, 20, 5 },
	{ "tokens, one lane stops", 1, 0xfffffffc, 4, 1, 2, 8, 0, 1, 1000, 300 },
	{ "tokens, two lanes stop", 2, 0xfffffffc, 5, 1, 4, 8, 9, 2, 800, 200 },
};

START_TEST(recurring_token_has_one_owner)
{
	const struct plan *plan = &tokens[_i];
	struct own *own = own_create(plan);

	explore(own, begin_tokens, pass_tokens, all_tokens);
	if (own->runs >= 60) {
		ck_assert(watch.lost && !watch.full);
		ck_assert(!plan->stoppers || own->halts > own->runs / 3);
	}
	own_destroy(own);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fifo");

	tcase_add_loop_test(tcase, sequence_matches_model, 0, sizeof(firsts) / sizeof(firsts[0]));
	tcase_add_test(tcase, fifo_holds_exactly_its_capacity);
	tcase_add_test(tcase, format_stays_within_its_bytes);
	tcase_add_loop_test(tcase, each_message_is_taken_once, 0, sizeof(onces) / sizeof(onces[0]));
	tcase_add_loop_test(tcase, recurring_token_has_one_owner, 0,
			    sizeof(tokens) / sizeof(tokens[0]));
	return ckit_run(tcase, "coalesce/fifo");
}
