/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_marks.c - attributes that blocks lose when they are freed: single cases, and random steps
 * compared with a plain table.
 *
 * The rest of the interposer is simulated here. Each test runs in a process of its own.
 */
#include "interpose/share/marks.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "interpose/watch/watch.h"

#define CHUNK ((uintptr_t)0x7f0000000000)
#define CHUNK_BYTES ((size_t)2 << 20)
#define BLOCK 512u
#define BLOCKS 200 /* per chunk, as used in these tests */
#define CHUNKS 8
#define ROUNDS 60000

_Atomic unsigned int mam_watch_bits;
static unsigned int starts, stops;
static unsigned int withdrawn[256]; /* by a token's first byte */
static const void *off[4];          /* the latest chunks whose attribute was unset */
static unsigned int offs;

void mam_watch_start(unsigned int bits)
{
	mam_watch_bits |= bits;
	starts++;
}

void mam_watch_stop(unsigned int bits)
{
	mam_watch_bits &= ~bits;
	stops++;
}

static void note_withdrawn(const unsigned char *token)
{
	withdrawn[token[0]]++;
}

static void note_off(void *chunk)
{
	off[offs++ % 4] = chunk;
}

static const struct mam_marks_ends ends = { note_withdrawn, note_off };

static void *block_of(unsigned int chunk, unsigned int block)
{
	return (void *)(CHUNK + chunk * CHUNK_BYTES + block * BLOCK);
}

START_TEST(buffer_id_lives_as_long_as_its_block)
{
	uint64_t first = 0, again = 0, other = 0, next = 0;

	ck_assert(mam_marks_buffer_id(block_of(0, 1), &first));
	ck_assert(mam_marks_buffer_id(block_of(0, 2), &other));
	ck_assert(mam_marks_buffer_id(block_of(0, 1), &again));
	ck_assert_uint_eq(first, again);
	ck_assert_uint_ne(first, other);
	ck_assert_uint_ne(first >> 63, 0);
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert(mam_marks_buffer_id(block_of(0, 1), &next));
	ck_assert_uint_ne(next, first);
	ck_assert_uint_ne(next, other);
}
END_TEST

START_TEST(frees_are_watched_while_a_mark_exists)
{
	uint64_t id;

	ck_assert_uint_eq(mam_watch_bits, 0);
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert(!mam_marks_is_synchronous(block_of(0, 1)));
	ck_assert(mam_marks_set_synchronous(block_of(0, 1), block_of(0, 0), false));
	ck_assert_uint_eq(mam_watch_bits, 0);
	mam_marks_buffer_id(block_of(0, 1), &id);
	mam_marks_buffer_id(block_of(0, 2), &id);
	ck_assert_uint_eq(mam_watch_bits, MAM_WATCH_MARKS);
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert_uint_eq(mam_watch_bits, MAM_WATCH_MARKS);
	mam_marks_free(block_of(0, 2), &ends);
	ck_assert_uint_eq(mam_watch_bits, 0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(stops, 1);
}
END_TEST

START_TEST(chunk_is_synchronous_until_its_last_block_is_freed)
{
	void *chunk = block_of(0, 0);

	/* The first block starts at the start of the chunk. */
	ck_assert(mam_marks_set_synchronous(block_of(0, 0), chunk, true));
	ck_assert(mam_marks_set_synchronous(block_of(0, 1), chunk, true));
	ck_assert(mam_marks_set_synchronous(block_of(0, 1), chunk, true));
	ck_assert(mam_marks_set_synchronous(block_of(0, 2), chunk, true));
	ck_assert(mam_marks_chunk_is_synchronous(chunk));
	ck_assert(!mam_marks_chunk_is_synchronous(block_of(1, 0)));
	ck_assert(mam_marks_is_synchronous(block_of(0, 0)));
	ck_assert(!mam_marks_is_synchronous(block_of(0, 3)));
	mam_marks_free(block_of(0, 0), &ends);
	ck_assert(!mam_marks_is_synchronous(block_of(0, 0)));
	ck_assert(mam_marks_set_synchronous(block_of(0, 1), chunk, false));
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert(mam_marks_chunk_is_synchronous(chunk));
	ck_assert_uint_eq(offs, 0);
	mam_marks_free(block_of(0, 2), &ends);
	ck_assert(!mam_marks_chunk_is_synchronous(chunk));
	ck_assert_uint_eq(offs, 1);
	ck_assert_ptr_eq(off[0], chunk);
	ck_assert_uint_eq(mam_watch_bits, 0);
}
END_TEST

START_TEST(unsetting_the_last_block_does_not_unset_the_chunk)
{
	ck_assert(mam_marks_set_synchronous(block_of(0, 1), block_of(0, 0), true));
	ck_assert(mam_marks_set_synchronous(block_of(0, 1), block_of(0, 0), false));
	ck_assert(!mam_marks_chunk_is_synchronous(block_of(0, 0)));
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert_uint_eq(offs, 0);
}
END_TEST

START_TEST(token_stays_until_the_free)
{
	unsigned char first[MAM_MARKS_TOKEN_BYTES] = { 1 }, second[MAM_MARKS_TOKEN_BYTES] = { 2 };
	unsigned char got[MAM_MARKS_TOKEN_BYTES] = { 0 };
	const void *block = NULL;

	ck_assert(!mam_marks_token(block_of(0, 1), got));
	ck_assert(!mam_marks_block_of(first, &block));
	ck_assert(mam_marks_set_token(block_of(0, 1), first));
	ck_assert(mam_marks_set_token(block_of(0, 1), second));
	ck_assert_uint_eq(second[0], 1);
	ck_assert(mam_marks_token(block_of(0, 1), got));
	ck_assert_uint_eq(got[0], 1);
	second[0] = 2;
	ck_assert(!mam_marks_block_of(second, &block));
	ck_assert(mam_marks_block_of(first, &block));
	ck_assert_ptr_eq(block, block_of(0, 1));
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert(!mam_marks_block_of(first, &block));
	ck_assert_uint_eq(withdrawn[1], 1);
	ck_assert_uint_eq(withdrawn[2], 0);
	ck_assert(!mam_marks_token(block_of(0, 1), got));
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert_uint_eq(withdrawn[1], 1);
}
END_TEST

START_TEST(chunk_end_drops_the_marks_of_its_blocks)
{
	unsigned char token[MAM_MARKS_TOKEN_BYTES] = { 0 };
	uint64_t id, before;

	for (unsigned int i = 0; i < BLOCKS; i++) {
		token[0] = (unsigned char)i;
		ck_assert(mam_marks_set_token(block_of(1, i), token));
		ck_assert(mam_marks_set_synchronous(block_of(1, i), block_of(1, 0), true));
	}
	ck_assert(mam_marks_buffer_id(block_of(0, BLOCKS), &before));
	ck_assert(mam_marks_buffer_id(block_of(2, 0), &id));
	mam_marks_chunk_gone(block_of(1, 0), CHUNK_BYTES, &ends);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		ck_assert_uint_eq(withdrawn[i], 1);
		ck_assert(!mam_marks_is_synchronous(block_of(1, i)));
	}
	ck_assert(!mam_marks_chunk_is_synchronous(block_of(1, 0)));
	ck_assert_uint_eq(offs, 0);
	ck_assert(mam_marks_buffer_id(block_of(0, BLOCKS), &id));
	ck_assert_uint_eq(id, before);
	mam_marks_free(block_of(0, BLOCKS), &ends);
	mam_marks_free(block_of(2, 0), &ends);
	ck_assert_uint_eq(mam_watch_bits, 0);
}
END_TEST

START_TEST(calls_that_need_no_memory_succeed_without_memory)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	uint64_t id = 0;

	/*
	 * Together with the chunk's own mark they fill half of the first 256 slots, which is when
	 * the table grows.
	 */
	ck_assert(mam_marks_set_synchronous(block_of(0, 0), block_of(0, 0), true));
	for (unsigned int i = 1; i < 127; i++)
		ck_assert(mam_marks_buffer_id(block_of(0, i), &id));
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	ck_assert(!mam_marks_buffer_id(block_of(0, 127), &id));
	ck_assert(!mam_marks_set_synchronous(block_of(1, 0), block_of(1, 0), true));
	ck_assert(!mam_marks_set_token(block_of(1, 0), (unsigned char *)&id));
	ck_assert(!mam_marks_chunk_is_synchronous(block_of(1, 0)));
	ck_assert(mam_marks_set_synchronous(block_of(0, 0), block_of(0, 0), false));
	ck_assert(!mam_marks_is_synchronous(block_of(0, 0)));
	ck_assert(!mam_marks_chunk_is_synchronous(block_of(0, 0)));
	ck_assert(mam_marks_buffer_id(block_of(0, 1), &id));
}
END_TEST

static unsigned int visits;

static void visit(const unsigned char *token)
{
	visits += token[0];
}

START_TEST(exit_visits_every_token_and_a_child_visits_none)
{
	unsigned char token[MAM_MARKS_TOKEN_BYTES] = { 3 };
	uint64_t id;

	mam_marks_each_token(visit);
	ck_assert_uint_eq(visits, 0);
	mam_marks_set_token(block_of(0, 1), token);
	token[0] = 4;
	mam_marks_set_token(block_of(0, 2), token);
	mam_marks_buffer_id(block_of(0, 3), &id);
	mam_marks_each_token(visit);
	ck_assert_uint_eq(visits, 7);
	mam_marks_restart();
	mam_marks_each_token(visit);
	ck_assert_uint_eq(visits, 7);
	mam_marks_free(block_of(0, 1), &ends);
	ck_assert_uint_eq(withdrawn[3], 0);
}
END_TEST

static _Atomic bool holds, lets_go;

/* A second caller would wait for a minute. */
static void visit_slowly(const unsigned char *token)
{
	const struct timespec moment = { 0, 1000000 };

	(void)token;
	if (atomic_exchange(&holds, true))
		ck_abort_msg("visited by both");
	for (int i = 0; i < 60000 && !atomic_load(&lets_go); i++)
		nanosleep(&moment, NULL);
	atomic_store(&holds, false);
}

static void *hold_the_lock(void *unused)
{
	(void)unused;
	mam_marks_each_token(visit_slowly);
	return NULL;
}

START_TEST(exit_does_not_wait_forever)
{
	const struct timespec moment = { 0, 1000000 };
	unsigned char token[MAM_MARKS_TOKEN_BYTES] = { 3 };
	pthread_t holder;

	mam_marks_set_token(block_of(0, 1), token);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_the_lock, NULL), 0);
	while (!atomic_load(&holds))
		nanosleep(&moment, NULL);
	mam_marks_each_token(visit_slowly);
	ck_assert(atomic_load(&holds)); /* it did not wait for the other caller */
	atomic_store(&lets_go, true);
	pthread_join(holder, NULL);
	ck_assert(!atomic_load(&holds));
}
END_TEST

/* --- random steps --- */

static struct {
	uint64_t id;
	bool synchronous;
} model[CHUNKS][BLOCKS];

static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static unsigned int synchronous_ones(unsigned int chunk)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < BLOCKS; i++)
		count += model[chunk][i].synchronous;
	return count;
}

static void ask_id(unsigned int chunk, unsigned int block)
{
	static uint64_t newest;
	uint64_t id = 0;

	ck_assert(mam_marks_buffer_id(block_of(chunk, block), &id));
	if (model[chunk][block].id != 0) {
		ck_assert_uint_eq(id, model[chunk][block].id);
		return;
	}
	ck_assert_uint_gt(id, newest);
	newest = id;
	model[chunk][block].id = id;
}

static void release(unsigned int chunk, unsigned int block)
{
	unsigned int before = offs;
	bool last = model[chunk][block].synchronous && synchronous_ones(chunk) == 1;

	mam_marks_free(block_of(chunk, block), &ends);
	memset(&model[chunk][block], 0, sizeof(model[chunk][block]));
	ck_assert_uint_eq(offs - before, last);
}

START_TEST(random_steps_match_a_plain_table)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t word = random_word();
		unsigned int chunk = (word >> 8) % CHUNKS, block = (word >> 16) % BLOCKS;
		bool on = (word >> 40) % 2;

		switch (word % 16) {
		case 0:
		case 1:
		case 2:
		case 3: ask_id(chunk, block); break;
		case 4:
		case 5:
		case 6:
		case 7:
		case 8:
			ck_assert(mam_marks_set_synchronous(block_of(chunk, block),
							    block_of(chunk, 0), on));
			model[chunk][block].synchronous = on;
			break;
		case 9:
			if ((word >> 48) % 200 == 0) {
				mam_marks_chunk_gone(block_of(chunk, 0), CHUNK_BYTES, &ends);
				memset(model[chunk], 0, sizeof(model[chunk]));
			}
			break;
		default: release(chunk, block);
		}
		ck_assert(mam_marks_is_synchronous(block_of(chunk, block)) ==
			  model[chunk][block].synchronous);
		ck_assert(mam_marks_chunk_is_synchronous(block_of(chunk, 0)) ==
			  (synchronous_ones(chunk) != 0));
	}
	for (unsigned int chunk = 0; chunk < CHUNKS; chunk++)
		for (unsigned int block = 0; block < BLOCKS; block++)
			release(chunk, block);
	ck_assert_uint_eq(mam_watch_bits, 0);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("marks");
	Suite *suite = suite_create("marks");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, buffer_id_lives_as_long_as_its_block);
	tcase_add_test(cases, frees_are_watched_while_a_mark_exists);
	tcase_add_test(cases, chunk_is_synchronous_until_its_last_block_is_freed);
	tcase_add_test(cases, unsetting_the_last_block_does_not_unset_the_chunk);
	tcase_add_test(cases, token_stays_until_the_free);
	tcase_add_test(cases, chunk_end_drops_the_marks_of_its_blocks);
	tcase_add_test(cases, calls_that_need_no_memory_succeed_without_memory);
	tcase_add_test(cases, exit_visits_every_token_and_a_child_visits_none);
	tcase_add_test(cases, exit_does_not_wait_forever);
	tcase_add_test(cases, random_steps_match_a_plain_table);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
