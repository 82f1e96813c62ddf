/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worst-case programs of the literature, run against the pool. Sizes and memory are counted in
 * words; a word here is a granule. A program has at most M live words at a time, in blocks of at
 * most n, and sees the addresses that it gets. The pool's memory is one chunk, used from its low
 * end: its high water mark is the memory that it needed.
 *
 * Three bounds, and what each one proves:
 *
 *   low    M (lb(n) / 2 + 1) - n + 1. No allocator that cannot move blocks needs less against the
 *          first program, whatever its strategy: J. M. Robson, "Bounds for Some Functions
 *          Concerning Dynamic Storage Allocation", J. ACM 21 (1974), 491-499. The paper also has a
 *          strategy, not best fit, that never needs more while all sizes are powers of two. So
 *          needing more is the fault of the strategy, and needing less would be an error in this
 *          file.
 *   best   (M - 4n + 11) (n - 2). Best fit needs at least that against the second program: J. M.
 *          Robson, "Worst Case Fragmentation of First Fit and Best Fit Storage Allocation
 *          Strategies", Comp. J. 20 (1977), 242-244; the patterns are also in D. E. Knuth, "The Art
 *          of Computer Programming" 1, 3rd ed., answer to exercise 2.5-42. (First fit needs about
 *          M lb(n) at worst, by the same paper.) mam uses best fit, and does no better.
 *   high   n (M - s) + s for a growth by a request of s, thus less than n M. An allocator never
 *          needs more if it uses fresh memory only when no free block fits. At that moment every
 *          free block is below s, and is followed by a live block of at least one word. L live
 *          words leave at most L free blocks of at most s - 1. So the memory is at most
 *          L + L (s - 1) + s, and L <= M - s.
 *
 * The bound `high` is a theorem as long as the pool follows its rules. The test checks it at each
 * growth, also with a random program. The first program leaves no free block that its next blocks
 * would fit, so strategy has no influence. To need exactly `low`, the pool must cut memory without
 * gaps and merge freed neighbors. The second program is designed for best fit, and fails
 * immediately with any other strategy.
 *
 * Pieces of memory that move to where they are needed avoid all three bounds, as far as memory is
 * concerned. The last test runs the first program on the simulated vmm source.
 */
#include <check.h>
#include <stdlib.h>

#include "base/bits.h"
#include "fixture.h"
#include "source/source.h"

#define WORD ((size_t)512)

struct block {
	uint64_t at;   /* word */
	uint64_t size; /* words */
};

struct game {
	struct mam_pool *pool;
	size_t word;   /* bytes */
	uint64_t base; /* address of word 0 */
	uint64_t live; /* words */
	uint64_t max;  /* maximum of `live` so far */
	uint64_t M, n;
	bool bounded;   /* blocks never move: `high` is a bound */
	uint64_t store; /* highest end of any block so far */
};

static struct game game_on(struct mam_source *source, size_t word, size_t chunk, uint64_t M,
			   uint64_t n)
{
	struct mam_pool_config config = { .granule = word, .chunk_bytes = chunk };
	struct game game = { .word = word, .M = M, .n = n, .bounded = chunk != 0 };

	if (chunk != 0)
		config.growth_bytes = MAM_GROWTH_NONE;
	game.pool = calloc(1, sizeof(*game.pool));
	ck_assert_ptr_nonnull(game.pool);
	ck_assert_int_eq(mam_pool_init(game.pool, source, true, &config), MAM_OK);
	return game;
}

/* One chunk of host addresses, as large as the theorem says can ever be needed. */
static struct game game_of(uint64_t M, uint64_t n)
{
	struct mam_source *source;
	size_t chunk = mam_round_up(M * n * WORD, 2 * MIB);

	ck_assert_int_eq(mam_source_host(chunk, false, &source), MAM_OK);
	return game_on(source, WORD, chunk, M, n);
}

static struct mam_stats numbers(struct game *game)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(game->pool, &stats), MAM_OK);
	return stats;
}

static bool note_live(const struct mam_segment_info *segment, void *user)
{
	void ***next = user;

	if (segment->live)
		*(*next)++ = segment->base;
	return true;
}

/* The end: the freed memory merges into one segment, and the pool is destroyed. */
static void game_end(struct game *game)
{
	void **blocks = calloc(game->M, sizeof(*blocks)), **end = blocks;

	ck_assert_ptr_nonnull(blocks);
	ck_assert_int_eq(mam_pool_check(game->pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_walk(game->pool, note_live, &end), MAM_OK);
	while (end != blocks)
		ck_assert_int_eq(mam_pool_free(game->pool, *--end), MAM_OK);
	if (game->bounded)
		ck_assert_uint_eq(numbers(game).segments, 1);
	ck_assert_int_eq(mam_pool_fini(game->pool), MAM_OK);
	free(game->pool);
	free(blocks);
}

static struct block alloc_words(struct game *game, uint64_t size)
{
	void *address;
	uint64_t end;

	/* Runs millions of times. Check would record each assertion that holds, which is slow. */
	if (game->live + size > game->M || size > game->n)
		ck_abort_msg("%llu words exceed the program's bound", (unsigned long long)size);
	if (mam_pool_alloc(game->pool, size * game->word, 0, &address) != MAM_OK)
		ck_abort_msg("%llu words are refused", (unsigned long long)size);
	if (game->base == 0)
		game->base = (uintptr_t)address;
	game->live += size;
	if (game->live > game->max)
		game->max = game->live;
	end = ((uintptr_t)address - game->base) / game->word + size;
	if (end > game->store) {
		game->store = end;
		if (game->bounded)
			ck_assert_uint_le(game->store, (game->live - size) * size + size);
	}
	return (struct block){ end - size, size };
}

static void free_words(struct game *game, struct block block)
{
	void *address = (void *)(uintptr_t)(game->base + block.at * game->word);

	if (mam_pool_free(game->pool, address) != MAM_OK)
		ck_abort_msg("a free of %p is refused", address);
	game->live -= block.size;
}

/*
 * The first program. It starts with M blocks of one word. Then for sizes 2, 4, ... n: choose one of
 * two positions in every aligned run of that many words, the one that leaves more of the rest
 * unusable. Free each block that does not cover it, and fill up with blocks of the new size.
 */
struct set {
	struct block *block;
	size_t count;
};

static bool covers(const struct block *block, uint64_t place, uint64_t run)
{
	uint64_t first = block->at <= place ? place : place + mam_round_up(block->at - place, run);

	return first < block->at + block->size;
}

static uint64_t waste_of(const struct set *set, uint64_t place, uint64_t run)
{
	uint64_t waste = 0;

	for (size_t i = 0; i < set->count; i++)
		if (covers(&set->block[i], place, run))
			waste += run - set->block[i].size;
	return waste;
}

static void keep_those_at(struct game *game, struct set *set, uint64_t place, uint64_t run)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		if (covers(&set->block[i], place, run))
			set->block[kept++] = set->block[i];
		else
			free_words(game, set->block[i]);
	}
	set->count = kept;
}

static void fill_up(struct game *game, struct set *set, uint64_t size)
{
	while (game->live + size <= game->M)
		set->block[set->count++] = alloc_words(game, size);
}

static void play_first(struct game *game)
{
	struct set set = { calloc(game->M, sizeof(struct block)), 0 };
	uint64_t place = 0;

	ck_assert_ptr_nonnull(set.block);
	fill_up(game, &set, 1);
	for (uint64_t run = 2; run <= game->n; run *= 2) {
		if (waste_of(&set, place + run / 2, run) > waste_of(&set, place, run))
			place += run / 2;
		keep_those_at(game, &set, place, run);
		fill_up(game, &set, run);
	}
	free(set.block);
}

static uint64_t lb(uint64_t power)
{
	return power <= 1 ? 0 : 1 + lb(power / 2);
}

static uint64_t low(uint64_t M, uint64_t n)
{
	return M * lb(n) / 2 + M - n + 1;
}

static const struct {
	uint64_t M, n;
} first[] = {
	{ 64, 1 },    { 64, 2 },      { 256, 16 },    { 1024, 32 },
	{ 4096, 64 }, { 4096, 1024 }, { 16384, 256 },
};

START_TEST(first_program_needs_exactly_lower_bound)
{
	const uint64_t M = first[_i].M, n = first[_i].n;
	struct game game = game_of(M, n);

	play_first(&game);
	ck_assert_uint_eq(numbers(&game).high_water_bytes, game.store * WORD);
	ck_assert_uint_eq(game.max, M);
	ck_assert_uint_ge(game.store, low(M, n)); /* otherwise this is not the program */
	ck_assert_uint_le(game.store, low(M, n)); /* measured */
	game_end(&game);
}
END_TEST

/*
 * The second program. R is a live block, F a free block, and m stands for n:
 *
 *   before  R(m-2) [F(m-3) R(1)] k times
 *   1. Allocate two R(m-2), which fit no free block, at the top. Free the last unit and the first
 *      of the two. R(m) R(m-5) R(1) fill their place, each by best fit; then free R(m) and the
 *      upper R(m-2).
 *   2. F(m) R(m-5) R(1) changes places with the unit below it, repeatedly, until it is the lowest:
 *      R(m-2) R(2) go into F(m); free the unit and that R(m-2); R(m) R(m-5) R(1) go into the free
 *      space; free R(m), R(2) and the upper R(m-5). The lowest unit is R(m-2).
 *   3. Free R(m-5) and allocate R(m-2): F(m-3) is left above it.
 *   after   the same with k + 1
 *
 * Each unit costs a word and wastes m - 2.
 */
/* R(m) R(m-5) R(1) into a free block of 2m - 4; then free R(m). */
static void wedge(struct game *game, struct block *middle, struct block *one)
{
	struct block whole = alloc_words(game, game->n);

	*middle = alloc_words(game, game->n - 5);
	*one = alloc_words(game, 1);
	ck_assert_uint_eq(middle->at, whole.at + whole.size);
	ck_assert_uint_eq(one->at, middle->at + middle->size);
	free_words(game, whole);
}

/* units[0] is the lowest; there are k + 1 before and k + 2 after. */
static void add_unit(struct game *game, struct block *units, size_t *count)
{
	const uint64_t m = game->n;
	struct block low_one = alloc_words(game, m - 2), top = alloc_words(game, m - 2), middle,
		     one;

	free_words(game, units[*count - 1]);
	free_words(game, low_one);
	wedge(game, &middle, &one);
	free_words(game, top);
	for (size_t below = *count - 1; below-- != 0;) {
		struct block whole = alloc_words(game, m - 2), two = alloc_words(game, 2);
		struct block new_middle, new_one;

		ck_assert_uint_eq(two.at, whole.at + whole.size);
		free_words(game, units[below]);
		free_words(game, whole);
		wedge(game, &new_middle, &new_one);
		free_words(game, two);
		free_words(game, middle);
		units[below + 2] = one; /* below the free block that two and middle left */
		middle = new_middle;
		one = new_one;
	}
	free_words(game, middle);
	units[1] = one;
	units[0] = alloc_words(game, m - 2);
	ck_assert_uint_eq(units[0].at, 0);
	++*count;
}

/*
 * The maximum of live words in one round, beyond those at its start: in step 2, with R(m)
 * allocated.
 */
static uint64_t round_needs(uint64_t m)
{
	return 3 * m - 7;
}

static const struct {
	uint64_t M, n;
} second[] = { { 64, 8 }, { 128, 16 }, { 256, 12 }, { 512, 32 } };

START_TEST(second_program_reaches_best_fit_worst_case)
{
	const uint64_t M = second[_i].M, n = second[_i].n;
	struct game game = game_of(M, n);
	struct block *units = calloc(M + 2, sizeof(*units));
	size_t count = 1;

	ck_assert_ptr_nonnull(units);
	units[0] = alloc_words(&game, n - 2);
	while (game.live + round_needs(n) <= M)
		add_unit(&game, units, &count);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(units[i].at, i == 0 ? 0 : (i + 1) * (n - 2) - 1);
	ck_assert_uint_le(game.max, M);
	ck_assert_uint_ge(game.store, (M - 4 * n + 11) * (n - 2));
	ck_assert_uint_eq(numbers(&game).high_water_bytes, game.store * WORD);
	game_end(&game);
	free(units);
}
END_TEST

START_TEST(random_program_stays_below_upper_bound)
{
	const uint64_t M = 600, n = 40;
	struct game game = game_of(M, n);
	struct block *held = calloc(M, sizeof(*held));
	size_t count = 0;

	ck_assert_ptr_nonnull(held);
	srand((unsigned int)_i + 1);
	for (int step = 0; step < 20000; step++) {
		uint64_t size = 1 + (uint64_t)rand() % n;
		size_t place;

		if (rand() % 3 != 0 && game.live + size <= M) {
			held[count++] = alloc_words(&game, size);
		} else if (count != 0) {
			place = (size_t)rand() % count;
			free_words(&game, held[place]);
			held[place] = held[--count];
		}
	}
	ck_assert_uint_gt(game.max, M - n);
	game_end(&game);
	free(held);
}
END_TEST

#define PIECE ((size_t)2 << 20)

START_TEST(movable_memory_avoids_lower_bound)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	const uint64_t M = 1024, n = 32;
	struct mam_source *source;
	struct mam_stats stats;
	struct game game;

	attr.simulated = true;
	attr.range_bytes = (size_t)1 << 40;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_OK);
	game = game_on(source, PIECE, 0, M, n);
	play_first(&game);
	stats = numbers(&game);
	ck_assert_uint_eq(stats.peak_live_bytes, M * PIECE);
	/* 1.014 measured */
	ck_assert_uint_le(stats.peak_physical_bytes, M * PIECE + M * PIECE / 20);
	ck_assert_uint_gt(game.store, M); /* there are enough addresses */
	ck_assert_uint_gt(stats.remaps, 0);
	game_end(&game);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("pool/robson");

	tcase_add_loop_test(tests, first_program_needs_exactly_lower_bound, 0,
			    sizeof(first) / sizeof(first[0]));
	tcase_add_loop_test(tests, second_program_reaches_best_fit_worst_case, 0,
			    sizeof(second) / sizeof(second[0]));
	tcase_add_loop_test(tests, random_program_stays_below_upper_bound, 0, 3);
	tcase_add_test(tests, movable_memory_avoids_lower_bound);
	return suite_end();
}
