/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Like ck_assert_msg, which writes a message to Check at each call: here that would take most of
 * the time.
 */
#define must(condition, ...)                       \
	do {                                       \
		if (!(condition))                  \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

static void *grown(void *array, size_t count, size_t unit)
{
	array = realloc(array, (count ? count : 1) * unit);
	must(array != NULL, "the oracle is out of host memory");
	return array;
}

void oracle_init(struct oracle *oracle, size_t granule)
{
	memset(oracle, 0, sizeof(*oracle));
	oracle->granule = granule;
}

void oracle_fini(struct oracle *oracle)
{
	for (size_t i = 0; i < oracle->chunks; i++)
		free(oracle->chunk[i].holder);
	free(oracle->chunk);
	free(oracle->freelists);
	free(oracle->block);
}

static size_t to_granules(const struct oracle *oracle, size_t bytes)
{
	return bytes / oracle->granule + (bytes % oracle->granule != 0);
}

static uintptr_t address_at(const struct oracle *oracle, const struct oracle_chunk *chunk,
			    size_t at)
{
	return chunk->base + at * oracle->granule;
}

static struct oracle_chunk *chunk_over(const struct oracle *oracle, uintptr_t address)
{
	for (size_t i = 0; i < oracle->chunks; i++)
		if (address - oracle->chunk[i].base < oracle->chunk[i].granules * oracle->granule)
			return &oracle->chunk[i];
	return NULL;
}

static void count_peaks(struct oracle *oracle)
{
	struct mam_stats *now = &oracle->now;
	uint64_t high = 0;

	for (size_t i = 0; i < oracle->chunks; i++)
		high += oracle->chunk[i].top * oracle->granule;
	if (now->high_water_bytes < high)
		now->high_water_bytes = high;
	if (now->peak_live_blocks < now->live_blocks)
		now->peak_live_blocks = now->live_blocks;
	if (now->peak_live_bytes < now->live_bytes)
		now->peak_live_bytes = now->live_bytes;
	if (now->peak_live_rounded_bytes < now->live_rounded_bytes)
		now->peak_live_rounded_bytes = now->live_rounded_bytes;
	if (now->peak_reserved_bytes < now->reserved_bytes)
		now->peak_reserved_bytes = now->reserved_bytes;
}

static bool still_owned(const struct space *space, size_t serial)
{
	for (size_t i = 0; i < space->pieces; i++)
		if (space->piece[i].serial == serial)
			return true;
	return false;
}

static bool already_known(const struct oracle *oracle, size_t serial)
{
	for (size_t i = 0; i < oracle->chunks; i++)
		if (oracle->chunk[i].serial == serial)
			return true;
	return false;
}

static bool wholly_free(const struct oracle_chunk *chunk)
{
	for (size_t g = 0; g < chunk->granules; g++)
		if (chunk->holder[g])
			return false;
	return true;
}

static void lose_chunk(struct oracle *oracle, size_t index)
{
	struct oracle_chunk *chunk = &oracle->chunk[index];

	must(wholly_free(chunk), "step %llu: a chunk with live blocks was released",
	     (unsigned long long)oracle->step);
	oracle->now.chunks--;
	oracle->now.shrinks++;
	oracle->now.reserved_bytes -= chunk->granules * oracle->granule;
	free(chunk->holder);
	oracle->chunks--;
	memmove(chunk, chunk + 1, (oracle->chunks - index) * sizeof(*chunk));
}

static void gain_chunk(struct oracle *oracle, const struct space_piece *piece)
{
	struct oracle_chunk *chunk;

	must(piece->bytes % oracle->granule == 0,
	     "a chunk of %zu bytes is not a multiple of the granule", piece->bytes);
	oracle->chunk = grown(oracle->chunk, oracle->chunks + 1, sizeof(*oracle->chunk));
	chunk = &oracle->chunk[oracle->chunks++];
	chunk->base = piece->base;
	chunk->serial = piece->serial;
	chunk->granules = piece->bytes / oracle->granule;
	chunk->top = 0;
	chunk->holder = grown(NULL, chunk->granules, sizeof(*chunk->holder));
	memset(chunk->holder, 0, chunk->granules * sizeof(*chunk->holder));
	oracle->now.chunks++;
	oracle->now.grows++;
	oracle->now.reserved_bytes += piece->bytes;
}

static int run_order(const void *a, const void *b)
{
	const struct oracle_run *left = a, *right = b;

	return left->base < right->base ? -1 : left->base > right->base;
}

struct oracle_run *oracle_runs(const struct oracle *oracle, size_t *count)
{
	struct oracle_run *runs = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < oracle->chunks; i++) {
		const struct oracle_chunk *chunk = &oracle->chunk[i];

		for (size_t g = 0, end; g < chunk->granules; g = end) {
			end = g + 1;
			if (chunk->holder[g]) {
				end = g + oracle->block[chunk->holder[g] - 1].granules;
				continue;
			}
			while (end < chunk->granules && chunk->holder[end] == 0)
				end++;
			if (*count == room)
				runs = grown(runs, room = room * 2 + 16, sizeof(*runs));
			runs[*count].base = address_at(oracle, chunk, g);
			runs[*count].bytes = (end - g) * oracle->granule;
			runs[*count].chunk = i;
			runs[*count].serial = chunk->serial;
			runs[*count].tail = end == chunk->granules;
			(*count)++;
		}
	}
	if (runs)
		qsort(runs, *count, sizeof(*runs), run_order);
	return runs;
}

static bool is_fresh(const struct oracle *oracle, const struct oracle_run *run)
{
	return run->tail && run->chunk == oracle->chunks - 1;
}

static bool same_run(const struct oracle_run *a, const struct oracle_run *b)
{
	return a->base == b->base && a->bytes == b->bytes && a->serial == b->serial;
}

static bool stands_in(const struct oracle_run *run, const struct oracle_run *in, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (same_run(run, &in[i]))
			return true;
	return false;
}

/* Of equal runs, one below the first becomes the first; any other becomes the second. */
static void insert_free(struct oracle *oracle, const struct oracle_run *run)
{
	size_t place = 0;

	while (place < oracle->listed && oracle->freelists[place].bytes != run->bytes)
		place++;
	if (place < oracle->listed && oracle->freelists[place].base < run->base)
		place++;
	oracle->freelists = grown(oracle->freelists, oracle->listed + 1, sizeof(*run));
	memmove(&oracle->freelists[place + 1], &oracle->freelists[place],
		(oracle->listed - place) * sizeof(*run));
	oracle->freelists[place] = *run;
	oracle->listed++;
}

static void remove_free(struct oracle *oracle, size_t place)
{
	oracle->listed--;
	memmove(&oracle->freelists[place], &oracle->freelists[place + 1],
		(oracle->listed - place) * sizeof(*oracle->freelists));
}

/*
 * After a change, remove the runs that are no longer free from the free list, then insert the new
 * ones in address order.
 */
static void update_freelists(struct oracle *oracle)
{
	struct oracle_run *runs;
	size_t count, free_blocks = 0;

	runs = oracle_runs(oracle, &count);
	for (size_t i = 0; i < count; i++)
		if (!is_fresh(oracle, &runs[i]))
			runs[free_blocks++] = runs[i];
	for (size_t i = oracle->listed; i-- > 0;)
		if (!stands_in(&oracle->freelists[i], runs, free_blocks))
			remove_free(oracle, i);
	for (size_t i = 0; i < free_blocks; i++)
		if (!stands_in(&runs[i], oracle->freelists, oracle->listed))
			insert_free(oracle, &runs[i]);
	free(runs);
}

void oracle_sync(struct oracle *oracle, struct space *space)
{
	for (size_t i = oracle->chunks; i-- > 0;)
		if (!still_owned(space, oracle->chunk[i].serial))
			lose_chunk(oracle, i);
	update_freelists(oracle);
	for (size_t i = 0; i < space->pieces; i++)
		if (!already_known(oracle, space->piece[i].serial))
			gain_chunk(oracle, &space->piece[i]);
	update_freelists(oracle);
	count_peaks(oracle);
}

void oracle_trimmed(const struct oracle *oracle, size_t keep)
{
	for (size_t i = 0; i < oracle->chunks; i++) {
		size_t bytes = oracle->chunk[i].granules * oracle->granule;

		must(!wholly_free(&oracle->chunk[i]) || oracle->now.reserved_bytes < keep + bytes,
		     "step %llu: trim to %zu left an idle chunk of %zu bytes",
		     (unsigned long long)oracle->step, keep, bytes);
	}
}

void oracle_put_back(struct oracle *oracle, uintptr_t base)
{
	struct oracle_chunk chunk;
	size_t i;

	for (i = 0; i < oracle->chunks; i++)
		if (oracle->chunk[i].base == base)
			break;
	must(i < oracle->chunks, "the pool offered a chunk that it did not own");
	must(wholly_free(&oracle->chunk[i]), "the pool offered a chunk with live blocks");
	/* It also lost its position among equal runs. */
	for (size_t r = oracle->listed; r-- > 0;)
		if (oracle->freelists[r].base == base)
			remove_free(oracle, r);
	chunk = oracle->chunk[i];
	memmove(&oracle->chunk[1], &oracle->chunk[0], i * sizeof(chunk));
	oracle->chunk[0] = chunk;
	update_freelists(oracle);
}

/*
 * Where in the run the request would start: as low as its alignment permits. False when it does not
 * fit.
 */
static bool fits(const struct oracle_run *run, size_t rounded, size_t alignment, uintptr_t *start)
{
	uintptr_t first = run->base;

	if (alignment)
		first = (first + alignment - 1) & ~(uintptr_t)(alignment - 1);
	if (first < run->base || first - run->base > run->bytes ||
	    run->bytes - (first - run->base) < rounded)
		return false;
	*start = first;
	return true;
}

/* Insertion sort, which is stable. */
static void sort_by_size(struct oracle_run *run, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct oracle_run moved = run[i];
		size_t place = i;

		while (place > 0 && run[place - 1].bytes > moved.bytes) {
			run[place] = run[place - 1];
			place--;
		}
		run[place] = moved;
	}
}

/*
 * The rule, over the free list sorted by size: take the first run that fits the request. An aligned
 * request examines only a few runs that are large enough but misaligned. After that it takes the
 * first run that fits at any start address, if there is one, and otherwise continues.
 */
static bool pick_run(const struct oracle_run *run, size_t count, size_t rounded, size_t alignment,
		     size_t granule, struct oracle_run *best)
{
	size_t first = count, tight = 0;
	uintptr_t start;

	for (size_t i = 0; i < count && first == count; i++) {
		if (run[i].bytes < rounded)
			continue;
		if (fits(&run[i], rounded, alignment, &start))
			first = i;
		else
			tight++;
	}
	if (tight >= ORACLE_ALIGNED_TRIES)
		for (size_t i = 0; i < count; i++)
			if (run[i].bytes >= rounded + alignment - granule) {
				first = i;
				break;
			}
	if (first < count)
		*best = run[first];
	return first < count;
}

bool oracle_best(const struct oracle *oracle, size_t bytes, size_t alignment,
		 struct oracle_run *best)
{
	size_t rounded = to_granules(oracle, bytes) * oracle->granule;
	struct oracle_run *runs;
	size_t count;
	uintptr_t start;
	bool found;

	if (rounded < bytes)
		return false;
	runs = grown(NULL, oracle->listed, sizeof(*runs));
	if (oracle->listed)
		memcpy(runs, oracle->freelists, oracle->listed * sizeof(*runs));
	sort_by_size(runs, oracle->listed);
	found = pick_run(runs, oracle->listed, rounded, alignment, oracle->granule, best);
	free(runs);
	if (found)
		return true;
	runs = oracle_runs(oracle, &count);
	for (size_t i = 0; i < count; i++)
		if (is_fresh(oracle, &runs[i]) && fits(&runs[i], rounded, alignment, &start)) {
			*best = runs[i];
			found = true;
		}
	free(runs);
	return found;
}

static size_t new_entry(struct oracle *oracle)
{
	for (size_t i = 0; i < oracle->blocks; i++)
		if (oracle->block[i].base == 0)
			return i;
	oracle->block = grown(oracle->block, oracle->blocks + 1, sizeof(*oracle->block));
	return oracle->blocks++;
}

void oracle_alloc(struct oracle *oracle, size_t bytes, size_t alignment, const void *block)
{
	unsigned long long step = oracle->step;
	uintptr_t base = (uintptr_t)block, start = 0;
	struct oracle_chunk *chunk = chunk_over(oracle, base);
	struct oracle_run best;
	size_t entry, first, granules = to_granules(oracle, bytes);

	must(chunk != NULL, "step %llu: block %p is in no chunk", step, block);
	must((base - chunk->base) % oracle->granule == 0,
	     "step %llu: block %p is not granule-aligned", step, block);
	if (alignment)
		must((base & (alignment - 1)) == 0, "step %llu: block %p is not aligned to %zu",
		     step, block, alignment);
	must(oracle_best(oracle, bytes, alignment, &best),
	     "step %llu: returned %p for %zu bytes, but no run fits", step, block, bytes);
	fits(&best, granules * oracle->granule, alignment, &start);
	must(base == start,
	     "step %llu: %zu bytes aligned %zu came from %p, best fit is %p in the run %p + %zu",
	     step, bytes, alignment, block, (void *)start, (void *)best.base, best.bytes);

	first = (base - chunk->base) / oracle->granule;
	entry = new_entry(oracle);
	for (size_t g = first; g < first + granules; g++) {
		must(g < chunk->granules && chunk->holder[g] == 0, "step %llu: block %p overlaps",
		     step, block);
		chunk->holder[g] = (uint32_t)entry + 1;
	}
	oracle->block[entry] = (struct oracle_block){ base, bytes, granules };
	if (chunk->top < first + granules)
		chunk->top = first + granules;
	update_freelists(oracle);
	oracle->now.allocs++;
	oracle->now.live_blocks++;
	oracle->now.live_bytes += bytes;
	oracle->now.live_rounded_bytes += granules * oracle->granule;
	count_peaks(oracle);
}

void oracle_refused(struct oracle *oracle, size_t bytes, size_t alignment)
{
	struct oracle_run best;

	must(!oracle_best(oracle, bytes, alignment, &best),
	     "step %llu: refused %zu bytes aligned %zu, but %p + %zu is free",
	     (unsigned long long)oracle->step, bytes, alignment, (void *)best.base, best.bytes);
}

enum mam_status oracle_free(struct oracle *oracle, uintptr_t address)
{
	struct oracle_chunk *chunk = chunk_over(oracle, address);
	struct oracle_block *block;
	size_t first;

	if (chunk == NULL)
		return MAM_ERROR_NOT_OWNED;
	first = (address - chunk->base) / oracle->granule;
	if (chunk->holder[first] == 0)
		return MAM_ERROR_DOUBLE_FREE;
	block = &oracle->block[chunk->holder[first] - 1];
	if (block->base != address)
		return MAM_ERROR_INTERIOR;
	memset(&chunk->holder[first], 0, block->granules * sizeof(*chunk->holder));
	oracle->now.frees++;
	oracle->now.live_blocks--;
	oracle->now.live_bytes -= block->requested;
	oracle->now.live_rounded_bytes -= block->granules * oracle->granule;
	block->base = 0;
	update_freelists(oracle);
	return MAM_OK;
}

const struct oracle_block *oracle_pick(const struct oracle *oracle, uint64_t random)
{
	size_t skip;

	if (oracle->now.live_blocks == 0)
		return NULL;
	skip = random % oracle->now.live_blocks;
	for (size_t i = 0; i < oracle->blocks; i++)
		if (oracle->block[i].base && skip-- == 0)
			return &oracle->block[i];
	ck_abort_msg("the oracle lost a block");
	return NULL;
}

/* The current segments, counted from the map. */
static void count_runs(const struct oracle *oracle, struct mam_stats *stats)
{
	struct oracle_run *runs;
	size_t count;

	runs = oracle_runs(oracle, &count);
	stats->segments = stats->live_blocks + count;
	for (size_t i = 0; i < count; i++) {
		const struct oracle_chunk *chunk = &oracle->chunk[runs[i].chunk];
		uintptr_t top = address_at(oracle, chunk, chunk->top);

		if (stats->largest_free_bytes < runs[i].bytes)
			stats->largest_free_bytes = runs[i].bytes;
		if (runs[i].base >= top || runs[i].tail)
			continue;
		stats->free_blocks++;
		stats->free_block_bytes += runs[i].bytes;
		if (stats->largest_free_block_bytes < runs[i].bytes)
			stats->largest_free_block_bytes = runs[i].bytes;
	}
	free(runs);
}

struct number {
	const char *name;
	size_t offset;
};

#define NUMBER(field)                                     \
	{                                                 \
#field, offsetof(struct mam_stats, field) \
	}
/* clang-format off */
static const struct number numbers[] = {
	NUMBER(live_blocks), NUMBER(live_bytes), NUMBER(live_rounded_bytes),
	NUMBER(peak_live_blocks), NUMBER(peak_live_bytes), NUMBER(peak_live_rounded_bytes),
	NUMBER(chunks), NUMBER(reserved_bytes), NUMBER(peak_reserved_bytes),
	NUMBER(high_water_bytes),
	NUMBER(segments), NUMBER(free_blocks), NUMBER(free_block_bytes),
	NUMBER(largest_free_block_bytes), NUMBER(largest_free_bytes),
	NUMBER(allocs), NUMBER(frees), NUMBER(failures), NUMBER(grows), NUMBER(shrinks),
};
/* clang-format on */

static uint64_t number_of(const struct mam_stats *stats, const struct number *number)
{
	return *(const uint64_t *)((const char *)stats + number->offset);
}

static void compare_stats(const struct oracle *oracle, struct mam_pool *pool)
{
	struct mam_stats expected = oracle->now, got;

	count_runs(oracle, &expected);
	memset(&got, 0xa5, sizeof(got));
	got.size = sizeof(got);
	ck_assert_int_eq(mam_pool_stats(pool, &got), MAM_OK);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		must(number_of(&got, &numbers[i]) == number_of(&expected, &numbers[i]),
		     "step %llu: %s is %llu, expected %llu", (unsigned long long)oracle->step,
		     numbers[i].name, (unsigned long long)number_of(&got, &numbers[i]),
		     (unsigned long long)number_of(&expected, &numbers[i]));
}

struct compared {
	const struct oracle *oracle;
	uintptr_t last_end; /* current position of mam_pool_walk() */
	uint64_t seen;      /* bytes */
};

static bool compare_segment(const struct mam_segment_info *segment, void *user)
{
	struct compared *compared = user;
	const struct oracle *oracle = compared->oracle;
	uintptr_t base = (uintptr_t)segment->base;
	const struct oracle_chunk *chunk = chunk_over(oracle, base);
	size_t first, granules = segment->bytes / oracle->granule;
	uint32_t holder;

	must(base >= compared->last_end, "mam_pool_walk is not in address order");
	compared->last_end = base + segment->bytes;
	compared->seen += segment->bytes;
	must(chunk != NULL, "mam_pool_walk reports %p, which is in no chunk", segment->base);
	must((uintptr_t)segment->chunk_base == chunk->base &&
		     segment->chunk_bytes == chunk->granules * oracle->granule,
	     "mam_pool_walk reports %p in the chunk %p + %zu", segment->base, segment->chunk_base,
	     segment->chunk_bytes);
	first = (base - chunk->base) / oracle->granule;
	holder = chunk->holder[first];
	must(segment->live == (holder != 0), "mam_pool_walk reports %p with live = %d",
	     segment->base, segment->live);
	must(segment->requested == (holder ? oracle->block[holder - 1].requested : 0),
	     "mam_pool_walk reports %zu requested bytes for %p", segment->requested, segment->base);
	must(granules > 0 && first + granules <= chunk->granules,
	     "segment %p + %zu is empty or exceeds its chunk", segment->base, segment->bytes);
	for (size_t g = first; g < first + granules; g++)
		must(chunk->holder[g] == holder, "segment %p + %zu contains more than one block",
		     segment->base, segment->bytes);
	/*
	 * Neighbors are merged as far as possible, and each block is one segment: the granules next
	 * to it belong to something else.
	 */
	if (first > 0)
		must(chunk->holder[first - 1] != holder,
		     "segment %p could merge with the one below", segment->base);
	if (first + granules < chunk->granules)
		must(chunk->holder[first + granules] != holder,
		     "segment %p could merge with the one above", segment->base);
	return true;
}

void oracle_compare(struct oracle *oracle, struct mam_pool *pool)
{
	struct compared compared = { oracle, 0, 0 };
	char why[256] = "";

	must(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "step %llu: %s",
	     (unsigned long long)oracle->step, why);
	compare_stats(oracle, pool);
	ck_assert_int_eq(mam_pool_walk(pool, compare_segment, &compared), MAM_OK);
	ck_assert_uint_eq(compared.seen, oracle->now.reserved_bytes);
	oracle->step++;
}
