/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oom.c - the parts of an out-of-memory report that compute: what would have helped, the largest
 * sums, and the trace that reproduces a heap, which is played here and compared.
 */
#include "interpose/report/oom_advice.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mam/mam.h>
#include <mam/source.h>

#include "interpose/report/oom_heap.h"
#include "interpose/report/oom_top.h"
#include "interpose/watch/tagged.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define BLOCKS 2000
#define SEGMENTS 16384

/* The rest of the interposer is simulated: no block has a tag. */
const char *mam_tagged_find(const void *block)
{
	(void)block;
	return NULL;
}

/* A GPU of 44 GiB, of which 1 GiB is free; the pool has 8 GiB in free blocks of at most 2 GiB. */
static struct mam_oom_facts full_gpu(uint64_t requested)
{
	return (struct mam_oom_facts){ .requested = requested,
				       .taken = requested,
				       .why = MAM_WHY_MEMORY,
				       .has_gpu = true,
				       .gpu_total = 44 * GIB,
				       .gpu_free = GIB,
				       .charged = 42 * GIB,
				       .free = 8 * GIB,
				       .largest_free = 2 * GIB,
				       .has_heap = true,
				       .whole_pieces = 7 * GIB,
				       .largest_run = 2 * GIB };
}

static void expect(const struct mam_oom_facts *facts, const char *first, const char *second)
{
	const char *const wanted[] = { first, second };
	struct mam_oom_advice advice;

	mam_oom_advise(facts, &advice);
	for (size_t i = 0; i < 2 && wanted[i] != NULL; i++) {
		ck_assert_uint_gt(advice.count, i);
		ck_assert_str_eq(advice.lines[i], wanted[i]);
	}
	ck_assert_uint_eq(advice.count, (size_t)(first != NULL) + (second != NULL));
}

#define NOT_IN_ONE                                                                                 \
	"enough memory is free, but not in one block; --source=vmm can move free pieces, and the " \
	"request may fit: it needs "

#define PIECES "enough memory is free, but not in one block, and "
#define TOO_LITTLE(bytes)                 \
	PIECES "too little of it (" bytes \
	       ") is in whole pieces of 2 MiB, which --source=vmm could move"

START_TEST(advice_counts_whole_pieces_only)
{
	struct mam_oom_facts facts = full_gpu(8 * GIB);

	expect(&facts, NOT_IN_ONE "44.0 GiB of 44.0 GiB", NULL);
	facts.requested = facts.taken = 3 * GIB;
	expect(&facts, NOT_IN_ONE "39.0 GiB of 44.0 GiB", NULL);
	facts.requested = facts.taken = 8 * GIB + 512; /* another piece: no longer */
	expect(&facts, TOO_LITTLE("7.0 GiB"), NULL);
	facts.requested = facts.taken = 9 * GIB + 512;
	expect(&facts, "all free memory together is too little: at least 512 B more must be freed",
	       NULL);
	facts = full_gpu(3 * GIB);
	facts.is_mapped = true;
	expect(&facts, PIECES "live blocks share its pieces of mapped memory", NULL);
	facts = full_gpu(3 * GIB);
	facts.has_heap = false;
	expect(&facts, NULL, NULL);
	facts = full_gpu(3 * GIB);
	facts.has_gpu = false;
	expect(&facts, NULL, NULL);
}
END_TEST

START_TEST(advice_knows_the_size_of_the_gpu)
{
	struct mam_oom_facts facts = full_gpu(44 * GIB + 1);

	expect(&facts, "the request is larger than the memory of the GPU, which is 44.0 GiB", NULL);
}
END_TEST

START_TEST(advice_on_the_limit)
{
	struct mam_oom_facts facts = full_gpu(10 * MIB);

	facts.why = MAM_WHY_LIMIT;
	facts.limit = 42 * GIB;
	facts.whole_pieces = 0;
	expect(&facts,
	       "the limit is too low: would fit with --limit=43018M: needs 42.0 GiB, and --limit "
	       "is 42.0 GiB",
	       NULL);
	facts.taken += 512; /* rounded up to a MiB */
	expect(&facts,
	       "the limit is too low: would fit with --limit=43019M: needs 42.0 GiB, and --limit "
	       "is 42.0 GiB",
	       NULL);
	facts.taken -= 512;
	facts.whole_pieces = 10 * MIB;
	expect(&facts,
	       "the limit is too low: would fit with --limit=43018M: needs 42.0 GiB, and --limit "
	       "is 42.0 GiB",
	       NOT_IN_ONE "42.0 GiB of 42.0 GiB");
	facts.gpu_free = 9 * MIB; /* a higher limit alone does not help */
	expect(&facts, NOT_IN_ONE "42.0 GiB of 42.0 GiB", NULL);
	facts.whole_pieces = 8 * MIB;
	facts.free = 8 * MIB;
	expect(&facts,
	       "all free memory together is too little: at least 2.0 MiB more must be freed", NULL);
}
END_TEST

START_TEST(advice_on_blocks_that_the_pool_could_not_use)
{
	struct mam_oom_facts facts = full_gpu(2 * GIB);

	facts.whole_pieces = 0;
	facts.why = MAM_WHY_LARGE;
	expect(&facts,
	       "the request is above --pass-above: would fit with --pass-above=2147483648, in a "
	       "free block of 2.0 GiB",
	       NULL);
	facts.largest_free = GIB;
	expect(&facts,
	       "freed blocks still wait for the GPU: would fit after a synchronization, which "
	       "makes 2.0 GiB free in one block",
	       NULL);
	facts.largest_run = 2 * GIB - 512;
	expect(&facts, TOO_LITTLE("0 B"), NULL);
}
END_TEST

START_TEST(largest_sums_are_exact_until_the_table_is_full)
{
	static struct mam_oom_top top; /* as in the report */
	struct mam_oom_sum largest[3];

	ck_assert_uint_eq(mam_oom_top_largest(&top, largest, 3), 0);
	for (uint64_t key = 0; key < 10000; key++)
		for (int i = 0; i <= (key == 2500) + 2 * (key == 7); i++)
			mam_oom_top_add(&top, key, key == 0 ? 9 : 4);
	ck_assert_uint_eq(mam_oom_top_largest(&top, largest, 3), 3);
	ck_assert_uint_eq(largest[0].key, 7);
	ck_assert_uint_eq(largest[0].blocks, 3);
	ck_assert_uint_eq(largest[0].bytes, 12);
	ck_assert_uint_eq(largest[1].key, 0);
	ck_assert_uint_eq(largest[2].key, 2500);
	ck_assert_uint_eq(top.used + top.others.blocks, 10000);
	ck_assert_uint_eq(top.others.bytes, 4 * top.others.blocks);
}
END_TEST

/* Free (0) or not, and the bytes, of the segments of a pool; free space at the end is dropped. */
struct layout {
	size_t count;
	uint64_t bytes[SEGMENTS];
	bool used[SEGMENTS];
	const void *chunk;
};

static void add(struct layout *layout, bool used, uint64_t bytes)
{
	if (layout->count > 0 && layout->used[layout->count - 1] == used && !used) {
		layout->bytes[layout->count - 1] += bytes;
		return;
	}
	ck_assert_uint_lt(layout->count, SEGMENTS);
	layout->used[layout->count] = used;
	layout->bytes[layout->count++] = bytes;
}

static bool note(const struct mam_segment_info *segment, void *user)
{
	struct layout *layout = user;

	layout->chunk = segment->chunk_base;
	add(layout, segment->live || segment->retired, segment->bytes);
	return true;
}

/* The same, with the block that the trace has between two chunks. */
static bool note_chunks(const struct mam_segment_info *segment, void *user)
{
	struct layout *layout = user;
	uint64_t place = 0;

	for (size_t i = 0; i < layout->count; i++)
		place += layout->bytes[i];
	if (layout->chunk != NULL && layout->chunk != segment->chunk_base)
		add(layout, true, (128 << 10) - place % (64 << 10));
	return note(segment, user);
}

static struct mam_pool *make_pool(struct mam_source *source, size_t chunk, size_t growth)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.chunk_bytes = chunk;
	attr.growth_bytes = growth;
	attr.free_policy = MAM_FREE_STREAM;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create_on(source, &attr, &pool), MAM_OK);
	return pool;
}

static size_t random_size(void)
{
	size_t sizes[] = { 512, 60000, MIB - 512, MIB, 3 * MIB + 700, 12 * MIB };

	return (size_t)rand() % sizes[rand() % 6] + 1;
}

/* Returns the size of the request that must fail at the end, and not before. */
static void play(FILE *trace, struct mam_pool *pool)
{
	static void *blocks[4 * SEGMENTS];
	unsigned long long id, bytes;
	bool failed = false;
	char line[200];

	while (fgets(line, sizeof(line), trace) != NULL) {
		ck_assert(!failed);
		if (sscanf(line, "a %llu %llu 0 who=", &id, &bytes) == 2)
			failed = mam_malloc(pool, bytes, &blocks[id]) != MAM_OK;
		else if (sscanf(line, "f %llu", &id) == 1)
			ck_assert_int_eq(mam_free(pool, blocks[id]), MAM_OK);
		else
			ck_abort_msg("line %s", line);
	}
	ck_assert(failed);
}

START_TEST(trace_reproduces_the_heap)
{
	static struct layout before, after;
	static struct mam_oom_top sizes;
	static void *blocks[BLOCKS];
	struct mam_file_text text = { .number = -1 };
	struct mam_source *source;
	struct mam_oom_replay replay;
	struct mam_oom_heap heap;
	struct mam_pool *pool;
	FILE *trace = tmpfile();

	srand((unsigned int)_i);
	before.count = after.count = 0;
	before.chunk = after.chunk = NULL;
	ck_assert_ptr_nonnull(trace);
	ck_assert_int_eq(mam_source_create("host", 0, &source), MAM_OK);
	pool = make_pool(source, 0, (size_t)(2 * MIB + 512 * (uint64_t)_i));
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mam_malloc(pool, random_size(), &blocks[i]), MAM_OK);
	for (int i = 0; i < BLOCKS; i++)
		if (rand() % 3 != 0)
			ck_assert_int_eq(mam_free(pool, blocks[i]), MAM_OK);
	mam_oom_heap_read(pool, &heap, &sizes);
	ck_assert(heap.is_whole);
	ck_assert_uint_eq(heap.kept, heap.seen);
	mam_pool_walk(pool, note_chunks, &before);
	mam_pool_destroy(pool);

	text.number = fileno(trace);
	mam_oom_heap_write(&heap, (uint64_t)1 << 40, &text, &replay);
	ck_assert_int_eq(mam_file_flush(&text), 0);
	mam_oom_heap_free(&heap);
	rewind(trace);
	pool = make_pool(source, replay.chunk, SIZE_MAX);
	play(trace, pool);
	mam_pool_walk(pool, note, &after);
	mam_pool_destroy(pool);
	mam_source_destroy(source);
	fclose(trace);

	ck_assert_uint_gt(before.count, 100);
	for (size_t i = 0; i < before.count && i < after.count; i++) {
		ck_assert_msg(before.used[i] == after.used[i] &&
				      (before.bytes[i] == after.bytes[i] || i + 1 == before.count),
			      "segment %zu: %llu and %llu bytes", i,
			      (unsigned long long)before.bytes[i],
			      (unsigned long long)after.bytes[i]);
	}
	ck_assert_uint_eq(before.count, after.count);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("out-of-memory report");
	TCase *cases = tcase_create("cases");
	SRunner *runner;
	int failed;

	tcase_add_test(cases, advice_counts_whole_pieces_only);
	tcase_add_test(cases, advice_knows_the_size_of_the_gpu);
	tcase_add_test(cases, advice_on_the_limit);
	tcase_add_test(cases, advice_on_blocks_that_the_pool_could_not_use);
	tcase_add_test(cases, largest_sums_are_exact_until_the_table_is_full);
	tcase_add_loop_test(cases, trace_reproduces_the_heap, 0, 6);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
