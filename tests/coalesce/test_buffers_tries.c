/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buffers_tries.c - how many tries at FIFOs may be lost, or find them empty or full, before a
 * request goes to the base (the base specifies it); and how many tries a search makes at a FIFO: as
 * many as it has places.
 */
#include <string.h>

#include "coalesce/fifo.h"

static enum mam_fifo_answer seen_take(struct mam_fifo *fifo, uint32_t *payload);
static enum mam_fifo_answer seen_put(struct mam_fifo *fifo, uint32_t payload);

/* All tries of the buffers are recorded. */
#define mam_fifo_try_take seen_take
#define mam_fifo_try_put seen_put

#include "coalesce/buffers_kit.h"

#undef mam_fifo_try_take
#undef mam_fifo_try_put

/* ---- records of tries ---------------------------------------------------------------------- */

#define LANES 32

/* Per lane, since its request began. */
struct seen {
	uint32_t tries, lost;
	enum mam_fifo_answer answer; /* of the last try */
	struct mam_fifo *fifo;       /* the FIFO of the last try */
	uint32_t strayed;            /* tries that were not at the next FIFO of the class */
};

static struct seen seen[LANES];
static bool in_turn; /* each try must be at the FIFO that follows the last one */

/*
 * Other lanes win this number of the next tries; then they take this number of blocks before the
 * lane's own try.
 */
static struct {
	uint32_t faster, takes;
} others;

#define ALWAYS UINT32_MAX

CKIT_UNSEEN bool others_faster(void)
{
	if (!others.faster)
		return false;
	if (others.faster != ALWAYS)
		others.faster--;
	return true;
}

CKIT_UNSEEN struct seen *seen_mine(void)
{
	return &seen[simt_thread()];
}

/* The next FIFO of the same class. */
CKIT_UNSEEN struct mam_fifo *seen_next(const struct mam_fifo *fifo)
{
	size_t at = (size_t)((const char *)fifo - (const char *)(buffers + 1));
	uint32_t index = (uint32_t)(at / buffers->fifo_bytes), first;

	first = index / buffers->count * buffers->count;
	return mam_buffers_fifo(buffers, buffers->fifo_bytes,
				first + (index + 1 - first) % buffers->count);
}

CKIT_UNSEEN enum mam_fifo_answer seen_note(struct mam_fifo *fifo, enum mam_fifo_answer answer)
{
	struct seen *mine = seen_mine();

	if (in_turn && mine->tries && fifo != seen_next(mine->fifo))
		mine->strayed++;
	mine->tries++;
	mine->lost += answer == MAM_FIFO_LOST;
	mine->answer = answer;
	mine->fifo = fifo;
	return answer;
}

CKIT_UNSEEN void seen_begin(void)
{
	memset(seen_mine(), 0, sizeof(struct seen));
}

static enum mam_fifo_answer seen_take(struct mam_fifo *fifo, uint32_t *payload)
{
	enum mam_fifo_answer answer;
	uint32_t got = *payload;

	if (others_faster())
		return seen_note(fifo, MAM_FIFO_LOST);
	answer = mam_fifo_try_take(fifo, &got);
	if (answer == MAM_FIFO_DONE && others.takes) {
		others.takes--;
		return seen_note(fifo, MAM_FIFO_LOST);
	}
	*payload = got;
	return seen_note(fifo, answer);
}

static enum mam_fifo_answer seen_put(struct mam_fifo *fifo, uint32_t payload)
{
	if (others_faster())
		return seen_note(fifo, MAM_FIFO_LOST);
	return seen_note(fifo, mam_fifo_try_put(fifo, payload));
}

/* ---- other lanes always win ---------------------------------------------------------------- */

/*
 * A base that only counts. When called, it may change the other lanes: they no longer win, but take
 * this number of blocks.
 */
static struct {
	uint32_t allocs, frees;
	uint32_t tries; /* before the last call of alloc or free */
	void *block;
	bool turns;
	uint32_t takes;
} mock;

static void *mock_alloc(void *heap, size_t bytes)
{
	(void)heap;
	(void)bytes;
	mock.allocs++;
	mock.tries = seen_mine()->tries;
	if (mock.turns) {
		others.faster = 0;
		others.takes = mock.takes;
		seen_begin();
	}
	return mock.block;
}

static bool mock_free(void *heap, void *block)
{
	(void)heap;
	mock.frees++;
	mock.tries = seen_mine()->tries;
	return block == mock.block;
}

static void mock_begin(uint32_t count, uint32_t blocks, uint64_t reference)
{
	buffers_make(count, blocks, reference);
	memset(&mock, 0, sizeof(mock));
	memset(&others, 0, sizeof(others));
	in_turn = false;
	seen_begin();
}

/*
 * The request loses this number of tries, at one FIFO after the other, and then calls the base at
 * once.
 */
START_TEST(base_is_called_after_lost_tries)
{
	static const struct {
		uint32_t tries, worth;
	} rows[] = {
		{ 0, 3 }, { 1, 1 }, { 2, 2 },   { 3, 3 },
		{ 4, 4 }, { 7, 7 }, { 64, 64 }, { 1000, 1000 },
	};
	static const uint32_t counts[] = { 1, 2, 4, 32 };
	static _Alignas(16) char block[64];
	uint32_t worth = rows[_i % 8].worth;
	struct mam_kbase base = { mock_alloc, mock_free, NULL, rows[_i % 8].tries };

	mock_begin(counts[_i / 8], MAM_BUFFERS_BLOCKS, (uintptr_t)block);
	others.faster = ALWAYS;
	in_turn = true;
	mock.block = block;
	ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, 40), block);
	ck_assert_uint_eq(mock.allocs, 1);
	ck_assert_uint_eq(mock.tries, worth);
	ck_assert_uint_eq(seen[0].tries, worth);
	ck_assert_uint_eq(seen[0].strayed, 0);
	seen_begin();
	ck_assert(mam_buffers_free(buffers, base, block, 40));
	ck_assert_uint_eq(mock.frees, 1);
	ck_assert_uint_eq(mock.tries, worth);
	ck_assert_uint_eq(seen[0].tries, worth);
	ck_assert_uint_eq(seen[0].strayed, 0);
	ck_assert_uint_eq(buffers_cached(0), 0);
	buffers_drop();
}
END_TEST

/* ---- empty and full FIFOs ------------------------------------------------------------------ */

/*
 * The number of tries if other lanes win the first ones, and the rest find an empty or full FIFO.
 */
static uint32_t tries_of(uint32_t worth, uint32_t lost)
{
	if (lost >= worth)
		return worth;
	return lost + (worth - lost + MAM_BUFFERS_NOT - 1) / MAM_BUFFERS_NOT;
}

static const uint32_t worths[] = { 1, 3, 16, 17, 32, 33, 64, 127, 128, 129 };
static const uint32_t losses[] = { 0, 1, 2, 15, 16, 17, 100, 130 };

#define WORTHS ((int)(sizeof(worths) / sizeof(worths[0])))
#define LOSSES ((int)(sizeof(losses) / sizeof(losses[0])))

/* One FIFO after the other, regardless of the results. */
START_TEST(empty_fifos_count_as_several_tries)
{
	static _Alignas(16) char block[64];
	static const uint32_t counts[] = { 1, 2, 8, 32 };
	uint32_t worth = worths[_i % WORTHS], count = counts[_i / WORTHS],
		 class_ = mam_class_of(40);
	struct mam_kbase base = { mock_alloc, mock_free, NULL, worth };
	uint32_t i, k, expected;

	for (k = 0; k < LOSSES; k++) {
		expected = tries_of(worth, losses[k]);
		mock_begin(count, MAM_BUFFERS_BLOCKS_MIN, (uintptr_t)block);
		in_turn = true;
		mock.block = block;
		others.faster = losses[k];
		ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, 40), block);
		ck_assert_uint_eq(mock.allocs, 1);
		ck_assert_uint_eq(mock.tries, expected);
		ck_assert_uint_eq(seen[0].strayed, 0);
		for (i = 0; i < count; i++)
			while (mam_fifo_put(mam_buffers_at(buffers, (class_ - 1) * count + i), 0))
				;
		others.faster = losses[k];
		seen_begin();
		ck_assert(mam_buffers_free(buffers, base, block, 40));
		ck_assert_uint_eq(mock.frees, 1);
		ck_assert_uint_eq(mock.tries, expected);
		ck_assert_uint_eq(seen[0].strayed, 0);
	}
	buffers_drop();
}
END_TEST

/* Over CUDA's allocator, the only block in eight FIFOs is found, and so is the only free place. */
START_TEST(only_block_of_eight_fifos_is_found)
{
	static _Alignas(16) char block[64];
	struct mam_kbase base = { mock_alloc, mock_free, NULL, MAM_BASE_CUDA_TRIES };
	uint32_t class_ = mam_class_of(40), i, payload;

	ck_assert_uint_eq(tries_of(MAM_BASE_CUDA_TRIES, 0), 8);
	ck_assert_uint_eq(tries_of(MAM_BASE_TRIES, 0), 1);
	mock_begin(8, MAM_BUFFERS_BLOCKS_MIN, (uintptr_t)block);
	ck_assert(mam_fifo_put(mam_buffers_at(buffers, (class_ - 1) * 8 + (uint32_t)_i), 1));
	ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, 40), block + 16);
	for (i = 0; i < 8; i++)
		while (mam_fifo_put(mam_buffers_at(buffers, (class_ - 1) * 8 + i), 2))
			;
	ck_assert(
		mam_fifo_take(mam_buffers_at(buffers, (class_ - 1) * 8 + (uint32_t)_i), &payload));
	ck_assert(mam_buffers_free(buffers, base, block, 40));
	ck_assert_uint_eq(mock.allocs + mock.frees, 0);
	ck_assert_uint_eq(buffers_cached(class_), MAM_BUFFERS_BLOCKS_MIN);
	buffers_drop();
}
END_TEST

/* ---- the search ---------------------------------------------------------------------------- */

static const struct {
	uint32_t count, blocks;
} sizes[] = {
	{ 1, 32 },   { 4, 32 },   { 32, 32 },   { 1, 256 },   { 4, 256 },
	{ 1, 1024 }, { 4, 1024 }, { 32, 1024 }, { 1, 65536 }, { 4, 65536 },
};

#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))
#define CLASS 40u
/* The test does not access blocks, so they have no memory: the first one is at this address. */
#define REFERENCE ((uint64_t)1 << 40)

static void *block_of(uint32_t i)
{
	return (void *)(uintptr_t)(REFERENCE + (uint64_t)i * 16);
}

/* Fills the last FIFO of a class. */
static void fill_last(uint32_t class_)
{
	uint32_t n = 0;

	while (mam_fifo_put(mam_buffers_at(buffers, class_ * buffers->count - 1), n))
		n++;
	ck_assert_uint_eq(n, buffers->each);
}

/* A FIFO is full, and other lanes take all of its blocks except one: the search finds that one. */
START_TEST(search_finds_last_block)
{
	uint32_t count = sizes[_i].count, each = sizes[_i].blocks / count;
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 5 };

	mock_begin(count, sizes[_i].blocks, REFERENCE);
	fill_last(CLASS);
	others.faster = ALWAYS;
	mock.turns = true;
	mock.takes = each - 1;
	ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, mam_class_bytes(CLASS)),
			 block_of(each - 1));
	ck_assert_uint_eq(mock.frees, 0);
	ck_assert_uint_eq(buffers_cached(0), 0);
	ck_assert_uint_eq(mock.allocs, 1);
	ck_assert_uint_eq(mock.tries, 5);
	ck_assert_uint_eq(seen[0].lost, each - 1);
	ck_assert_uint_eq(seen[0].tries, count - 1 + each);
	buffers_drop();
}
END_TEST

/* The same for a drain. */
START_TEST(drain_finds_last_block)
{
	uint32_t count = sizes[_i].count, each = sizes[_i].blocks / count;
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 5 };

	mock_begin(count, sizes[_i].blocks, REFERENCE);
	mock.block = block_of(each - 1);
	fill_last(CLASS);
	others.takes = each - 1;
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), 1);
	ck_assert_uint_eq(mock.frees, 1);
	ck_assert_uint_eq(buffers_cached(0), 0);
	ck_assert_uint_eq(seen[0].lost, each - 1);
	ck_assert_uint_eq(seen[0].tries, each);
	buffers_drop();
}
END_TEST

/*
 * If other lanes always win, the search ends: as many tries per FIFO as it has places, then NULL.
 */
START_TEST(search_ends_when_all_tries_are_lost)
{
	uint32_t count = sizes[_i].count, each = sizes[_i].blocks / count;
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 5 };

	mock_begin(count, sizes[_i].blocks, REFERENCE);
	fill_last(CLASS - 1);
	fill_last(MAM_CLASSES);
	others.faster = ALWAYS;
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, mam_class_bytes(CLASS)));
	ck_assert_uint_eq(mock.allocs, 2);
	ck_assert_uint_eq(mock.frees, 0);
	/* The request's own tries; all FIFOs of its class; and the two FIFOs that are not empty. */
	ck_assert_uint_eq(seen[0].tries, 5 + count * each + 2 * each);
	seen_begin();
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), 0);
	ck_assert_uint_eq(seen[0].tries, 2 * each);
	ck_assert_uint_eq(buffers->moving, 0);
	buffers_drop();
}
END_TEST

/* ---- concurrent lanes ---------------------------------------------------------------------- */

struct plan {
	const char *name;
	uint32_t tries, worth; /* what the base specifies, and what it means */
	uint32_t lanes;
	uint32_t count, blocks;
	uint32_t seeds, seeds_race;
};

static uint32_t asked, freed; /* in all runs: requests, and frees, that lost all tries */

/* A lane that calls the base has just spent its tries; with a single FIFO, it has lost them. */
CKIT_UNSEEN void came(const struct plan *plan, uint32_t *count)
{
	const struct seen *mine = seen_mine();
	uint32_t spent = mine->lost + (mine->tries - mine->lost) * MAM_BUFFERS_NOT;
	uint32_t last = mine->answer == MAM_FIFO_NOT ? MAM_BUFFERS_NOT : 1;

	MAM_KASSERT(mine->strayed == 0 && mine->answer != MAM_FIFO_DONE);
	MAM_KASSERT(spent >= plan->worth && spent - last < plan->worth);
	MAM_KASSERT(plan->count > 1 || mine->lost == plan->worth);
	*count += mine->lost == plan->worth;
}

static void *rivals_alloc(void *heap, size_t bytes)
{
	came(((struct ckit *)heap)->plan, &asked);
	return ckit_base_alloc(heap, bytes);
}

static bool rivals_free(void *heap, void *block)
{
	came(((struct ckit *)heap)->plan, &freed);
	return ckit_base_free(heap, block);
}

/* The FIFOs hold a block per lane. */
static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	uint32_t class_ = mam_class_of(40), i;
	char *block;

	buffers_make(plan->count, plan->blocks, (uintptr_t)kit->arena);
	memset(&others, 0, sizeof(others));
	in_turn = true;
	for (i = 0; i < plan->lanes; i++) {
		block = mam_base_alloc(ckit_base(kit), mam_class_bytes(class_));
		MAM_KASSERT(mam_fifo_put(
			mam_buffers_at(buffers, (class_ - 1) * plan->count + i % plan->count),
			(uint32_t)((uintptr_t)block - (uintptr_t)kit->arena) / 16));
	}
}

/* All lanes take a block each, and when all have one, each puts it back. */
static MAM_KERNEL(rival)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kbase base = { rivals_alloc, rivals_free, kit, plan->tries };
	void *part;

	seen_begin();
	part = mam_buffers_alloc(buffers, base, 40);
	MAM_KASSERT(seen_mine()->tries <= plan->worth);
	ckit_own(kit, part, 40);
	mam_syncthreads();
	ckit_disown(kit, part);
	seen_begin();
	MAM_KASSERT(mam_buffers_free(buffers, base, part, 40));
	MAM_KASSERT(seen_mine()->tries <= plan->worth);
}

static const char *check(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	/* A lane loses at most as many tries as there are other lanes. */
	if (plan->count == 1 && plan->lanes <= plan->worth &&
	    (kit->allocs != plan->lanes || kit->frees))
		return "the base was called";
	in_turn = false;
	(void)mam_buffers_drain(buffers, ckit_base(kit));
	return ckit_check_empty(kit);
}

static const struct plan plans[] = {
	/* name, tries, worth, lanes, count, blocks, seeds */
	{ "one try", 1, 1, 1, 1, 256, 3, 3 },
	{ "one try, two lanes", 1, 1, 2, 1, 256, 100, 30 },
	{ "default number of tries", 0, 3, 3, 1, 256, 600, 150 },
	{ "default number of tries, one more lane", 0, 3, 4, 1, 256, 300, 100 },
	{ "three", 3, 3, 3, 1, 32, 300, 100 },
	{ "three tries, one more lane", 3, 3, 4, 1, 32, 300, 100 },
	{ "seven", 7, 7, 7, 1, 256, 300, 80 },
	{ "seven tries, one more lane", 7, 7, 8, 1, 256, 300, 80 },
	{ "seven tries, many lanes", 7, 7, 32, 1, 256, 60, 10 },
	{ "two tries at two FIFOs", 2, 2, 9, 2, 256, 200, 50 },
	{ "CUDA's tries at eight FIFOs", MAM_BASE_CUDA_TRIES, MAM_BASE_CUDA_TRIES, 32, 8, 256, 30,
	  5 },
	{ "two tries at FIFOs of one block", 2, 2, 32, 32, 32, 10, 3 },
};

START_TEST(rivals_lose_a_bounded_number_of_tries)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = ckit_create(1 << 12, plan);

	kit->begin = begin;
	asked = freed = 0;
	ckit_explore(kit, plan->name, rival, 1, plan->lanes,
		     CKIT_RACE ? plan->seeds_race : plan->seeds, check);
	/* With one more lane, some lane loses all tries in some of the runs. */
	if (plan->count == 1 && !getenv("SIMT_SEED") && !getenv("SIMT_CASE")) {
		ck_assert_int_eq(asked > 0, plan->lanes > plan->worth);
		ck_assert_int_eq(freed > 0, plan->lanes > plan->worth);
	}
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("buffer tries");

	tcase_add_loop_test(tcase, base_is_called_after_lost_tries, 0, 32);
	tcase_add_loop_test(tcase, empty_fifos_count_as_several_tries, 0, 4 * WORTHS);
	tcase_add_loop_test(tcase, only_block_of_eight_fifos_is_found, 0, 8);
	tcase_add_loop_test(tcase, search_finds_last_block, 0, SIZES);
	tcase_add_loop_test(tcase, drain_finds_last_block, 0, SIZES);
	tcase_add_loop_test(tcase, search_ends_when_all_tries_are_lost, 0, SIZES);
	tcase_add_loop_test(tcase, rivals_lose_a_bounded_number_of_tries, 0,
			    sizeof(plans) / sizeof(plans[0]));
	return ckit_run(tcase, "coalesce/buffer tries");
}
