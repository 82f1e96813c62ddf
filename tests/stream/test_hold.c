/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds: ground that is freed to its caller and kept apart, joined and split within itself, and the
 * pool's again when released.
 */
#include "pool/fixture.h"

#include <stdlib.h>

#include "pool/hold.h"

static uint32_t hold_new(struct fixture *f)
{
	uint32_t hold = 0;

	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_hold_begin_locked(f->pool, &hold), MAM_OK);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_ne(hold, 0);
	return hold;
}

static uint32_t loose_hold_new(struct fixture *f)
{
	uint32_t hold = hold_new(f);

	mam_lock_take(&f->pool->lock);
	ck_assert(!mam_hold_at(f->pool, hold)->loose);
	mam_hold_at(f->pool, hold)->loose = 1;
	mam_lock_release(&f->pool->lock);
	return hold;
}

static enum mam_status put(struct fixture *f, uint32_t hold, void *block)
{
	enum mam_status status;

	mam_lock_take(&f->pool->lock);
	if (mam_hold_at(f->pool, hold)->loose)
		status = mam_hold_keep_locked(f->pool, hold, (uintptr_t)block);
	else
		status = mam_hold_put_locked(f->pool, hold, (uintptr_t)block);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return status;
}

/* NULL: nothing in the holds fits. */
static void *take_held(struct fixture *f, const uint32_t *holds, unsigned count, size_t bytes)
{
	struct mam_request request;
	void *block = NULL;
	uint32_t best;

	ck_assert_int_eq(mam_ground_shape(f->pool, bytes, 0, &request), MAM_OK);
	mam_lock_take(&f->pool->lock);
	best = mam_hold_best_locked(f->pool, holds, count, request.bytes);
	if (best != 0)
		ck_assert_int_eq(mam_hold_take_locked(f->pool, best, &request, &block), MAM_OK);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return block;
}

static unsigned release(struct fixture *f, uint32_t hold, unsigned most)
{
	unsigned released;

	mam_lock_take(&f->pool->lock);
	released = mam_hold_release_locked(f->pool, hold, most);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return released;
}

static struct fixture *small_pool(void)
{
	static const struct mam_pool_config config = { .chunk_bytes = 64 * KIB,
						       .growth_bytes = MAM_GROWTH_NONE };

	return fixture_new(&config);
}

START_TEST(held_ground_is_freed_to_callers_and_given_to_nobody)
{
	struct fixture *f = small_pool();
	void *a = take(f, 64 * KIB);
	uint32_t hold = hold_new(f);
	struct mam_stats stats;

	ck_assert_int_eq(put(f, hold, a), MAM_OK);
	kept(f, a, MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(put(f, hold, a), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(put(f, hold, at(a, 1 << 20)), MAM_ERROR_NOT_OWNED);
	refused(f, 512, 0, MAM_ERROR_OUT_OF_MEMORY);
	stats = stats_of(f);
	ck_assert_uint_eq(stats.live_blocks, 0);
	ck_assert_uint_eq(stats.retired_blocks, 1);
	ck_assert_uint_eq(stats.retired_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.peak_retired_bytes, 64 * KIB);
	ck_assert_uint_eq(stats.holes, 0);
	ck_assert_uint_eq(release(f, hold, 64), 1);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 0);
	ck_assert_ptr_eq(take(f, 64 * KIB), a);
	fixture_end(f);
}
END_TEST

START_TEST(neighbours_of_one_hold_join_and_of_two_do_not)
{
	struct fixture *f = small_pool();
	void *a = take(f, 1024), *b = take(f, 1024), *c = take(f, 1024);
	uint32_t one = hold_new(f), two = hold_new(f);

	take(f, 512);
	ck_assert_int_eq(put(f, one, a), MAM_OK);
	ck_assert_int_eq(put(f, one, c), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_int_eq(put(f, one, b), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_null(take_held(f, &two, 1, 512));
	ck_assert_ptr_eq(take_held(f, &one, 1, 3072), a);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 0);
	ck_assert_int_eq(put(f, two, a), MAM_OK);
	b = take_held(f, &two, 1, 1024);
	ck_assert_ptr_eq(b, a);
	ck_assert_int_eq(put(f, one, b), MAM_OK);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_ptr_null(take_held(f, &two, 1, 3072));
	mam_lock_take(&f->pool->lock);
	ck_assert_uint_eq(mam_hold_move_locked(f->pool, one, two, 64), 1);
	mam_lock_release(&f->pool->lock);
	intact(f);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_eq(take_held(f, &two, 1, 3072), a);
	fixture_end(f);
}
END_TEST

START_TEST(neighbours_of_a_loose_hold_join_when_they_leave_it)
{
	struct fixture *f = small_pool();
	void *a = take(f, 1024), *b = take(f, 1024), *c = take(f, 1024);
	uint32_t loose = loose_hold_new(f), to = hold_new(f);

	take(f, 512);
	ck_assert_int_eq(put(f, loose, a), MAM_OK);
	ck_assert_int_eq(put(f, loose, c), MAM_OK);
	ck_assert_int_eq(put(f, loose, b), MAM_OK);
	ck_assert_int_eq(put(f, loose, b), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(put(f, loose, at(a, 1 << 20)), MAM_ERROR_NOT_OWNED);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 3);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 3072);
	ck_assert_ptr_null(take_held(f, &loose, 1, 3072));
	b = take_held(f, &loose, 1, 1024);
	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_int_eq(put(f, loose, b), MAM_OK);
	mam_lock_take(&f->pool->lock);
	ck_assert_uint_eq(mam_hold_move_locked(f->pool, loose, to, 64), 3);
	mam_lock_release(&f->pool->lock);
	intact(f);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 1);
	ck_assert_ptr_eq(take_held(f, &to, 1, 3072), a);
	fixture_end(f);
}
END_TEST

/* Loose is what a hold is, not what a record was. */
START_TEST(the_next_hold_in_a_loose_ones_place_joins)
{
	struct fixture *f = small_pool();
	uint32_t loose = loose_hold_new(f);

	mam_lock_take(&f->pool->lock);
	mam_hold_end_locked(f->pool, loose);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_eq(hold_new(f), loose);
	ck_assert(!mam_hold_at(f->pool, loose)->loose);
	fixture_end(f);
}
END_TEST

START_TEST(the_best_of_several_holds_is_taken)
{
	struct fixture *f = small_pool();
	void *large = take(f, 4096), *wall = take(f, 512), *small = take(f, 2048);
	uint32_t holds[2] = { hold_new(f), hold_new(f) };

	take(f, 512);
	(void)wall;
	ck_assert_int_eq(put(f, holds[0], large), MAM_OK);
	ck_assert_int_eq(put(f, holds[1], small), MAM_OK);
	ck_assert_ptr_eq(take_held(f, holds, 2, 1024), small);
	ck_assert_ptr_eq(take_held(f, holds, 2, 1024), at(small, 1024));
	ck_assert_ptr_eq(take_held(f, holds, 2, 1024), large);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 3072);
	fixture_end(f);
}
END_TEST

static bool absorb(struct fixture *f, uint32_t hold, size_t bytes)
{
	bool absorbed;

	mam_lock_take(&f->pool->lock);
	absorbed = mam_hold_absorb_locked(f->pool, hold, bytes);
	mam_lock_release(&f->pool->lock);
	intact(f);
	return absorbed;
}

START_TEST(free_ground_beside_held_ground_joins_it_when_it_is_needed)
{
	struct fixture *f = small_pool();
	void *low = take(f, 2048), *one = take(f, 1024), *high = take(f, 2048), *two;
	uint32_t hold = hold_new(f), other = hold_new(f);

	take(f, 512);
	two = take(f, 1024);
	take(f, 512);
	ck_assert_int_eq(put(f, hold, one), MAM_OK);
	ck_assert_int_eq(put(f, other, two), MAM_OK);
	ck_assert(!absorb(f, hold, 1536)); /* live on both sides */
	give(f, low);
	give(f, high);
	ck_assert(!absorb(f, hold, 5632));
	ck_assert(!absorb(f, other, 1536));
	ck_assert_uint_eq(stats_of(f).retired_bytes, 2048);
	/* Upwards first, and no more than is needed. */
	ck_assert(absorb(f, hold, 2560));
	ck_assert_uint_eq(stats_of(f).retired_bytes, 2048 + 1536);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 2);
	ck_assert_ptr_eq(take(f, 512), at(one, 2560));
	ck_assert(absorb(f, hold, 4096));
	ck_assert_ptr_eq(take_held(f, &hold, 1, 4096), at(low, 512));
	ck_assert_ptr_eq(take(f, 512), low);
	release(f, hold, 8);
	release(f, other, 8);
	fixture_end(f);
}
END_TEST

START_TEST(the_tail_may_be_absorbed_in_part)
{
	struct fixture *f = small_pool();
	void *one = take(f, 1024);
	uint32_t hold = hold_new(f);

	ck_assert_int_eq(put(f, hold, one), MAM_OK);
	ck_assert(!absorb(f, hold, 64 * KIB + 512));
	ck_assert(absorb(f, hold, 8192));
	ck_assert_uint_eq(stats_of(f).retired_bytes, 8192);
	ck_assert_uint_eq(stats_of(f).high_water_bytes, 8192);
	ck_assert_ptr_eq(take(f, 56 * KIB), at(one, 8192));
	ck_assert_ptr_eq(take_held(f, &hold, 1, 8192), one);
	fixture_end(f);
}
END_TEST

START_TEST(a_hold_is_released_in_steps_and_used_again)
{
	struct fixture *f = small_pool();
	uint32_t hold = hold_new(f);
	void *blocks[20];

	for (int i = 0; i < 20; i++)
		blocks[i] = take(f, 1024);
	for (int i = 0; i < 20; i += 2)
		ck_assert_int_eq(put(f, hold, blocks[i]), MAM_OK);
	ck_assert_uint_eq(release(f, hold, 6), 6);
	ck_assert_uint_eq(stats_of(f).retired_blocks, 4);
	ck_assert_uint_eq(release(f, hold, 6), 4);
	ck_assert_uint_eq(release(f, hold, 6), 0);
	mam_lock_take(&f->pool->lock);
	mam_hold_end_locked(f->pool, hold);
	mam_lock_release(&f->pool->lock);
	intact(f);
	ck_assert_uint_eq(hold_new(f), hold);
	fixture_end(f);
}
END_TEST

START_TEST(a_chunk_with_held_ground_stays)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	void *a = take(f, 1024);
	uint32_t hold = hold_new(f);
	size_t released = 1;

	ck_assert_int_eq(put(f, hold, a), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 0);
	release(f, hold, 1);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, &released), MAM_OK);
	ck_assert_uint_eq(released, 64 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(a_pool_with_held_ground_can_end)
{
	struct fixture *f = small_pool();
	uint32_t hold = hold_new(f);
	void *a = take(f, 1024);

	ck_assert_int_eq(put(f, hold, a), MAM_OK);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_hold_put_locked(f->pool, hold, (uintptr_t)a), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_hold_begin_locked(f->pool, &hold), MAM_ERROR_DESTROYED);
	mam_lock_release(&f->pool->lock);
	fixture_end(f);
}
END_TEST

START_TEST(a_hold_that_nobody_has_must_be_empty)
{
	struct fixture *f = small_pool();
	void *a = take(f, 4096);
	uint32_t hold = hold_new(f);
	char why[128] = "";

	ck_assert_int_eq(put(f, hold, a), MAM_OK);
	mam_lock_take(&f->pool->lock);
	mam_hold_end_locked(f->pool, hold);
	mam_lock_release(&f->pool->lock);
	ck_assert_int_eq(mam_pool_check(f->pool, why, sizeof(why)), MAM_ERROR_CORRUPT);
	ck_assert_str_eq(why, "a hold that nobody has is not empty");
	ck_assert_uint_eq(hold_new(f), hold);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(without_host_memory_nothing_changes)
{
	struct fixture *f = small_pool();
	uint32_t hold = 0;
	void *a = take(f, 4096);

	mam_records_refuse_at(1);
	mam_lock_take(&f->pool->lock);
	ck_assert_int_eq(mam_hold_begin_locked(f->pool, &hold), MAM_ERROR_OUT_OF_HOST_MEMORY);
	mam_lock_release(&f->pool->lock);
	ck_assert_uint_eq(hold, 0);
	intact(f);
	hold = hold_new(f);
	ck_assert_int_eq(put(f, hold, a), MAM_OK);
	fixture_end(f);
}
END_TEST

/* At random, with a shadow of what is whose: no block overlaps another's, the books are right. */
#define BLOCKS 120
#define HOLDS 3

START_TEST(at_random_nobody_gets_what_another_holds)
{
	struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = 64 * KIB });
	struct { char *base; size_t bytes; } blocks[BLOCKS] = { { 0 } };
	struct { char *from, *to; int hold; } held[4096];
	uint32_t holds[HOLDS];
	unsigned count = 0;

	for (int i = 0; i < HOLDS; i++)
		holds[i] = i == 0 ? loose_hold_new(f) : hold_new(f);
	srand(11);
	for (int step = 0; step < 8000; step++) {
		int i = rand() % BLOCKS, hold = rand() % HOLDS;

		if (blocks[i].base == NULL) {
			size_t bytes = 512 * (1 + (size_t)rand() % 12);
			char *got = take_held(f, &holds[hold], 1, bytes);
			bool own = got != NULL, absorbed = false;

			if (!own && hold != 0 && step % 3 == 0) {
				absorbed = absorb(f, holds[hold], bytes);
				got = take_held(f, &holds[hold], 1, bytes);
				ck_assert(!absorbed || got != NULL);
				own = got != NULL;
			}
			if (!own)
				got = take(f, bytes);
			for (unsigned k = 0; k < count; k++) {
				if (held[k].to == held[k].from || held[k].to <= got ||
				    got + bytes <= held[k].from)
					continue;
				ck_assert(own && held[k].hold == hold);
				/* what is left of it on either side */
				if (held[k].to > got + bytes && count < 4096) {
					held[count] = held[k];
					held[count++].from = got + bytes;
				}
				held[k].to = held[k].from < got ? got : held[k].from;
			}
			blocks[i].base = got;
			blocks[i].bytes = bytes;
		} else {
			ck_assert_int_eq(put(f, holds[hold], blocks[i].base), MAM_OK);
			held[count].from = blocks[i].base;
			held[count].to = blocks[i].base + blocks[i].bytes;
			held[count++].hold = hold;
			blocks[i].base = NULL;
		}
		if (step % 97 == 0 || count > 4000) {
			unsigned kept = 0;

			while (release(f, holds[hold], 64) == 64)
				;
			for (unsigned k = 0; k < count; k++)
				if (held[k].hold != hold && held[k].to > held[k].from)
					held[kept++] = held[k];
			count = kept;
		}
	}
	for (int i = 0; i < HOLDS; i++)
		while (release(f, holds[i], 64) == 64)
			;
	ck_assert_uint_eq(stats_of(f).retired_blocks, 0);
	ck_assert_uint_eq(stats_of(f).retired_bytes, 0);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tests = suite_begin("stream/hold");

	tcase_add_test(tests, held_ground_is_freed_to_callers_and_given_to_nobody);
	tcase_add_test(tests, neighbours_of_one_hold_join_and_of_two_do_not);
	tcase_add_test(tests, neighbours_of_a_loose_hold_join_when_they_leave_it);
	tcase_add_test(tests, the_next_hold_in_a_loose_ones_place_joins);
	tcase_add_test(tests, the_best_of_several_holds_is_taken);
	tcase_add_test(tests, free_ground_beside_held_ground_joins_it_when_it_is_needed);
	tcase_add_test(tests, the_tail_may_be_absorbed_in_part);
	tcase_add_test(tests, a_hold_is_released_in_steps_and_used_again);
	tcase_add_test(tests, a_chunk_with_held_ground_stays);
	tcase_add_test(tests, a_pool_with_held_ground_can_end);
	tcase_add_test(tests, a_hold_that_nobody_has_must_be_empty);
	tcase_add_test(tests, without_host_memory_nothing_changes);
	tcase_add_test(tests, at_random_nobody_gets_what_another_holds);
	return suite_end();
}
