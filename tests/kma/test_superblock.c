/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_superblock.c - one superblock used by many lanes: each block has one owner at a time, the
 * lane that makes the superblock free owns all of it, and it is reused, also with another class.
 */
#include "kma/kit.h"

/* Blocks at a time. */
#define MAX 3
#define SHIFT 8u

struct plan {
	const char *name;
	uint32_t classes[2]; /* its classes, in turn */
	uint32_t grid, block, rounds;
	uint32_t attach; /* one of this many lanes attaches and detaches it; 0: none */
	uint32_t stoppers;
	uint32_t seeds, seeds_race;
};

struct own {
	const struct plan *plan;
	uint64_t state;      /* atomic */
	uint32_t vacant;     /* atomic: it is free, and has no owner */
	uint32_t bytes[64];  /* the superblock */
	uint32_t holder[64]; /* per block: 1 + the lane that owns it; the test's own */
	uint32_t alone;      /* a lane owns all of it */
	uint32_t lives, runs, halts, full;
};

STOP_UNSEEN void note_block(struct own *own, uint32_t block, uint32_t from, uint32_t to)
{
	MAM_KASSERT(block < 64 && own->holder[block] == from && !own->alone);
	own->holder[block] = to;
}

STOP_UNSEEN void note_alone(struct own *own, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < 64; i++)
		MAM_KASSERT(!own->holder[i]);
	MAM_KASSERT(own->alone == from);
	own->alone = to;
	own->lives += to;
}

STOP_UNSEEN void note_full(struct own *own)
{
	own->full++;
}

static struct mam_kma_class cut_of(const struct own *own, uint64_t state)
{
	(void)own;
	return mam_kma_class(SHIFT, mam_kma_state_kind(state) - MAM_KMA_OF_CLASS);
}

static uint32_t *bitmap_of(struct own *own, uint64_t state)
{
	return own->bytes + 64 - mam_kma_words(cut_of(own, state).total);
}

static void use(struct own *own, uint64_t state, uint32_t block)
{
	uint32_t words = cut_of(own, state).size / 4, i, self = mam_kma_self() + 1;

	MAM_KASSERT(block < cut_of(own, state).total);
	note_block(own, block, 0, self);
	for (i = 0; i < words; i++)
		own->bytes[block * words + i] = self * 100 + i;
	for (i = 0; i < words; i++)
		MAM_KASSERT(own->bytes[block * words + i] == self * 100 + i);
	note_block(own, block, self, 0);
}

/* The caller owns all of it. */
static void use_all(struct own *own)
{
	uint32_t i;

	MAM_KASSERT(mam_kma_state_kind(mam_atomic_load64(&own->state, MAM_RELAXED,
							 MAM_AT_DEVICE)) == MAM_KMA_FREE);
	note_alone(own, 0, 1);
	for (i = 0; i < 64; i++)
		own->bytes[i] = ~i;
	note_alone(own, 1, 0);
}

/* And leaves it for any lane that finds it. */
static void leave(struct own *own)
{
	use_all(own);
	MAM_KASSERT(!mam_atomic_xchg32(&own->vacant, 1, MAM_RELEASE, MAM_AT_DEVICE));
}

static void release(struct own *own, uint64_t state, const uint32_t *blocks, uint32_t count,
		    bool attach)
{
	uint64_t before;
	uint32_t i;

	for (i = 0; i < count; i++) {
		use(own, state, blocks[i]);
		MAM_KASSERT(mam_kma_give_bit(bitmap_of(own, state), blocks[i]));
	}
	before = mam_kma_unreserve(&own->state,
				   mam_atomic_load64(&own->state, MAM_RELAXED, MAM_AT_DEVICE),
				   count, attach);
	if (attach ? !mam_kma_state_attached(before) && mam_kma_detach(&own->state)
		   : mam_kma_gave_last(before, count))
		leave(own);
}

static void live_again(struct own *own)
{
	uint64_t made = mam_atomic_load64(&own->state, MAM_RELAXED, MAM_AT_DEVICE);
	uint32_t kind = own->plan->classes[(made >> 40) % 2] + MAM_KMA_OF_CLASS, total, taken;
	const uint32_t blocks[MAX] = { 0, 1, 2 };

	use_all(own);
	total = mam_kma_class(SHIFT, kind - MAM_KMA_OF_CLASS).total;
	taken = 1 + kkit_below(total < MAX ? total : MAX);
	made = mam_kma_state_made(made, kind, total);
	mam_kma_prepare(&own->state, bitmap_of(own, made), kind, total, taken, kkit_below(2));
	if (kkit_below(3) == 0 && mam_kma_unprepare(&own->state, taken)) {
		leave(own);
		return;
	}
	/* Now it is not attached, and the caller owns blocks of it. */
	MAM_KASSERT(!mam_kma_detach(&own->state));
	release(own, made, blocks, taken, false);
}

static MAM_KERNEL(churn)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;
	uint32_t n, i, count, blocks[MAX];
	uint64_t seen;
	bool attach;

	if (mam_block() < plan->stoppers && simt_thread() == kkit_below(plan->block))
		stop_after(1 + kkit_below(6 * plan->rounds));
	for (n = 0; n < plan->rounds; n++) {
		seen = mam_atomic_load64(&own->state, MAM_RELAXED, MAM_AT_DEVICE);
		if (!mam_kma_state_cut(seen)) {
			if (mam_atomic_xchg32(&own->vacant, 0, MAM_ACQUIRE, MAM_AT_DEVICE))
				live_again(own);
			continue;
		}
		attach = plan->attach && !kkit_below(plan->attach);
		count = mam_kma_reserve(&own->state, mam_kma_state_kind(seen), 1 + kkit_below(MAX),
					attach, &seen);
		if (!count) {
			note_full(own);
			continue;
		}
		/* A rank only determines the start of the search. */
		for (i = 0; i < count; i++)
			blocks[i] = mam_kma_take_bit(bitmap_of(own, seen), cut_of(own, seen).total,
						     mam_kma_self(), kkit_below(2) * i);
		if (attach && !mam_kma_state_attached(seen))
			MAM_KASSERT(!mam_kma_detach(&own->state));
		release(own, seen, blocks, count, plan->attach && !kkit_below(plan->attach));
	}
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

static void begin(void *argument)
{
	struct own *own = argument;

	memset(own->bytes, 0xa5, sizeof(own->bytes));
	memset(own->holder, 0, sizeof(own->holder));
	own->alone = own->lives = 0;
	own->vacant = 1;
	/* Near the wraparound of a generation. */
	own->state = (uint64_t)0xfffffd << 40;
	stop_begin((own->plan->grid - own->plan->stoppers) * own->plan->block);
}

static const char *check(void *argument)
{
	struct own *own = argument;

	own->runs++;
	own->halts += stop.stopped;
	if (mam_kma_state_kind(own->state) != MAM_KMA_FREE || !own->vacant)
		return "all blocks were freed, but the superblock is not free";
	return own->lives ? NULL : "no lane ever owned it";
}

static const struct plan plans[] = {
	/* name, classes, grid, block, rounds, attach, stoppers, seeds */
	{ "two blocks, three lanes", { 5, 5 }, 3, 1, 8, 0, 0, 2000, 400 },
	{ "two blocks or three", { 5, 4 }, 4, 1, 8, 0, 0, 2000, 400 },
	{ "two blocks or three, attached", { 5, 4 }, 4, 1, 8, 2, 0, 2000, 400 },
	{ "many or few, attached", { 0, 5 }, 2, 3, 8, 3, 0, 1000, 200 },
	{ "sixteen and seven", { 2, 3 }, 2, 12, 4, 4, 0, 200, 40 },
	{ "one lane stops", { 5, 4 }, 4, 1, 8, 0, 1, 1500, 300 },
	{ "two lanes stop, attached", { 4, 5 }, 5, 1, 8, 2, 2, 1500, 300 },
};

START_TEST(blocks_have_one_owner)
{
	const struct plan *plan = &plans[_i];
	struct own *own = calloc(1, sizeof(*own));
	struct simt_case test = {
		.name = plan->name,
		.kernel = churn,
		.grid = plan->grid,
		.block = plan->block,
		.argument = own,
		.begin = begin,
		.check = check,
		.seeds = KKIT_RACE ? plan->seeds_race : plan->seeds,
		.config = { .race = KKIT_RACE, .strict = true, .steps_max = 200000 },
	};

	ck_assert_ptr_nonnull(own);
	own->plan = plan;
	simt_must_pass(&test);
	if (own->runs >= 60) {
		ck_assert(!plan->stoppers || own->halts > own->runs / 4);
		ck_assert(own->full || plan->grid * plan->block > 5);
	}
	free(own);
}
END_TEST

/* The fields of a state are extracted unchanged. */
START_TEST(state_fields_are_independent)
{
	uint64_t state = (uint64_t)0xabcdef << 40;

	state = mam_kma_state_made(state, 7, 0xffff);
	ck_assert(mam_kma_state_kind(state) == 7 && mam_kma_state_total(state) == 0xffff);
	ck_assert(mam_kma_state_free(state) == 0xffff && state >> 40 == 0xabcdef);
	ck_assert(!mam_kma_state_attached(state) && mam_kma_state_cut(state));
	ck_assert(mam_kma_state_unused(state));
	state -= MAM_KMA_ONE_FREE;
	ck_assert(mam_kma_state_free(state) == 0xfffe && mam_kma_state_total(state) == 0xffff);
	ck_assert(!mam_kma_state_unused(state) && mam_kma_gave_last(state, 1));
	ck_assert(!mam_kma_gave_last(state | MAM_KMA_ATTACHED, 1));
	ck_assert(!mam_kma_gave_last(state, 2) && mam_kma_gave_last(state - MAM_KMA_ONE_FREE, 2));
	ck_assert_uint_eq(mam_kma_state_freed(state), (uint64_t)0xabcdf0 << 40);
	state = mam_kma_state_made(state, MAM_KMA_RUN, 0xfffffff0);
	ck_assert(mam_kma_state_length(state) == 0xfffffff0 && state >> 40 == 0xabcdef);
	ck_assert(mam_kma_state_kind(state) == MAM_KMA_RUN && !mam_kma_state_cut(state));
	ck_assert(!mam_kma_state_unused(state));
	state = mam_kma_state_made(state, MAM_KMA_INSIDE, 0);
	ck_assert(mam_kma_state_kind(state) == MAM_KMA_INSIDE && !mam_kma_state_unused(state));
	/* The last generation is followed by the first, and nothing else changes. */
	ck_assert_uint_eq(mam_kma_state_freed((uint64_t)0xffffff << 40 | 5), 0);
}
END_TEST

/*
 * Each block is found once, wherever the search begins, and no more than there are; each rank gets
 * its own block, in the order of blocks from there on.
 */
START_TEST(search_finds_each_block_once)
{
	uint32_t bitmap[4], total = (uint32_t)_i, start, i, block, first;
	uint64_t seen[2];

	for (start = 0; start < 9; start++) {
		memset(bitmap, 0, sizeof(bitmap));
		memset(seen, 0, sizeof(seen));
		for (i = 0; i < total; i++) {
			block = mam_kma_take_bit(bitmap, total, start, 0);
			ck_assert(block < total && !(seen[block / 64] >> block % 64 & 1));
			ck_assert(i || block == start % mam_kma_words(total) * 32);
			seen[block / 64] |= (uint64_t)1 << block % 64;
		}
		memset(bitmap, 0, sizeof(bitmap));
		first = start % mam_kma_words(total) * 32;
		for (i = 0; i < total; i++) {
			block = mam_kma_take_bit(bitmap, total, start, i);
			ck_assert_uint_eq(block, (first + i) % total);
			ck_assert(mam_kma_give_bit(bitmap, block));
		}
		memset(bitmap, 0xff, sizeof(bitmap));
		for (i = 0; i < total; i++) {
			ck_assert(mam_kma_give_bit(bitmap, i) && !mam_kma_give_bit(bitmap, i));
			ck_assert_uint_eq(mam_kma_take_bit(bitmap, total, start + i, i), i);
		}
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("superblock");

	tcase_add_test(tcase, state_fields_are_independent);
	tcase_add_loop_test(tcase, search_finds_each_block_once, 2, 129);
	tcase_add_loop_test(tcase, blocks_have_one_owner, 0, sizeof(plans) / sizeof(plans[0]));
	return kkit_run(tcase, "kma/superblock");
}
