/* SPDX-License-Identifier: Apache-2.0 */
/* When the pool gets chunks, how many and how large; and that blocks of two chunks never merge. */
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

START_TEST(first_chunk_is_allocated_at_init_if_requested)
{
	struct mam_pool_config config = { .chunk_bytes = 100 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 4096, 4096, 0);

	ck_assert_uint_eq(stats_of(f).chunks, 1);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 100 * KIB);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1);
	fixture_end(f);
}
END_TEST

START_TEST(first_chunk_without_size_is_allocated_on_demand)
{
	struct mam_pool_config config = { 0 };
	struct fixture *f = fixture_new(&config);

	ck_assert_uint_eq(f->space.all_calls, 0);
	ck_assert_uint_eq(stats_of(f).segments, 0);
	alloc(f, 1);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * MIB);
	fixture_end(f);
}
END_TEST

START_TEST(chunk_size_rounds_up_to_granularity_and_granule)
{
	struct mam_pool_config coarse_source = { .chunk_bytes = 4097, .growth_bytes = 4097 };
	struct mam_pool_config coarse_granule = { .chunk_bytes = 4097,
						  .growth_bytes = 4097,
						  .granule = 64 * KIB };
	struct fixture *f = fixture_on(&coarse_source, SPACE_UP, 4096, 4096, 0);

	ck_assert_uint_eq(stats_of(f).reserved_bytes, 8192);
	alloc(f, 8192);
	alloc(f, 1);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 16384);
	fixture_end(f);

	f = fixture_on(&coarse_granule, SPACE_UP, 4096, 64 * KIB, 0);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	alloc(f, 64 * KIB);
	alloc(f, 1);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 128 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(later_chunks_have_growth_or_request_size)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB, .growth_bytes = 32 * KIB };
	struct fixture *f = fixture_new(&config);

	alloc(f, 16 * KIB);
	alloc(f, 512);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 48 * KIB);
	alloc(f, 100 * KIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 148 * KIB);
	ck_assert_uint_eq(stats_of(f).grows, 3);
	fixture_end(f);
}
END_TEST

START_TEST(default_growth_is_64_mib_then_an_eighth_up_to_1_gib)
{
	/* Reserved size, and the growth that a small request then causes. */
	static const uint64_t steps_mib[][2] = { { 0, 64 },     { 64, 64 },     { 512, 64 },
						 { 1024, 128 }, { 8192, 1024 }, { 16384, 1024 } };
	struct mam_pool_config config = { 0 };
	uint64_t before;

	for (size_t i = 0; i < sizeof(steps_mib) / sizeof(steps_mib[0]); i++) {
		struct fixture *f = fixture_on(&config, SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0);

		if (steps_mib[i][0] != 0)
			alloc(f, steps_mib[i][0] * MIB);
		before = stats_of(f).reserved_bytes;
		ck_assert_uint_eq(before, steps_mib[i][0] * MIB);
		alloc(f, 1);
		ck_assert_uint_eq(stats_of(f).reserved_bytes - before, steps_mib[i][1] * MIB);
		fixture_end(f);
	}
}
END_TEST

START_TEST(default_growth_gives_large_request_its_own_chunk)
{
	struct mam_pool_config config = { 0 };
	struct fixture *f = fixture_on(&config, SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0);

	alloc(f, 32 * MIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 32 * MIB);
	alloc(f, 100 * MIB + 1);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 134 * MIB);
	alloc(f, 30 * MIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, (134 + 64) * MIB);
	fixture_end(f);
}
END_TEST

/*
 * Free chunks of 40 and 50 MiB and a third one in use, when a request of 70 MiB fits none of them.
 */
static void outgrow(struct fixture *f)
{
	void *a = alloc(f, 40 * MIB), *b = alloc(f, 50 * MIB);

	alloc(f, 1);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	dealloc(f, a);
	dealloc(f, b);
	alloc(f, 70 * MIB);
	/* Growth releases no chunk, because that might wait. */
	ck_assert_uint_eq(stats_of(f).shrinks, 0);
}

START_TEST(strict_free_after_growth_releases_idle_chunks)
{
	struct mam_pool_config config = { .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_on(&config, SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0);
	void *c;

	outgrow(f);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, (64 + 70) * MIB);
	ck_assert_uint_eq(stats_of(f).shrinks, 2);
	/* Once per growth: a chunk that is freed and allocated alternately stays. */
	c = alloc(f, 72 * MIB);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
		dealloc(f, c);
		c = alloc(f, 72 * MIB);
	}
	ck_assert_uint_eq(stats_of(f).grows, 5);
	ck_assert_uint_eq(stats_of(f).shrinks, 2);
	fixture_end(f);
}
END_TEST

START_TEST(other_policies_and_sizes_keep_idle_chunks)
{
	static const struct mam_pool_config configs[] = {
		{ .free_policy = MAM_FREE_STREAM },
		{ .free_policy = MAM_FREE_STRICT, .growth_bytes = 32 * MIB },
		{ .free_policy = MAM_FREE_STRICT, .chunk_bytes = 2 * MIB },
	};
	struct fixture *f = fixture_on(&configs[_i], SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0);

	outgrow(f);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	ck_assert_uint_eq(stats_of(f).shrinks, 0);
	ck_assert_int_eq(mam_pool_trim(f->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(f).shrinks, 2);
	fixture_end(f);
}
END_TEST

/* A chunk that the source does not take back stays in the pool, and the free continues. */
START_TEST(idle_chunk_stays_if_shrink_is_refused)
{
	struct mam_pool_config config = { .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_on(&config, SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0);

	outgrow(f);
	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, (64 + 70 + 90) * MIB);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(no_growth_allows_only_first_chunk)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_new(&config);

	alloc(f, 16 * KIB);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(f->space.calls[SPACE_GROW], 1);
	ck_assert_uint_eq(stats_of(f).failures, 1);
	fixture_end(f);
}
END_TEST

START_TEST(limit_is_kept_and_used_fully)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = 64 * KIB,
					  .limit_bytes = 50 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 4096, 4096, 0);

	alloc(f, 16 * KIB);
	/* the growth size would exceed the limit, so the chunk is the rest of it, in whole units */
	alloc(f, 4 * KIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 48 * KIB);
	alloc(f, 28 * KIB);
	refused(f, 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	fixture_end(f);
}
END_TEST

START_TEST(request_over_limit_makes_no_source_call)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
					  .growth_bytes = 16 * KIB,
					  .limit_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);

	refused(f, 64 * KIB + 1, 0, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(f->space.all_calls, 1); /* the first chunk */
	fixture_end(f);
}
END_TEST

START_TEST(idle_chunks_are_released_to_stay_below_limit)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB, .limit_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block[4];

	for (int i = 0; i < 4; i++)
		block[i] = alloc(f, 16 * KIB);
	for (int i = 0; i < 3; i++)
		dealloc(f, block[i]);
	alloc(f, 48 * KIB);
	ck_assert_uint_eq(stats_of(f).reserved_bytes, 64 * KIB);
	ck_assert_uint_eq(stats_of(f).shrinks, 3);
	fixture_end(f);
}
END_TEST

START_TEST(growth_is_reduced_if_source_has_less)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 4096, 4096, 20 * KIB);

	alloc(f, 5 * KIB);
	ck_assert_uint_eq(stats_of(f).chunks, 1);
	ck_assert_uint_ge(stats_of(f).reserved_bytes, 8 * KIB);
	ck_assert_uint_le(stats_of(f).reserved_bytes, 20 * KIB);
	fixture_end(f);
}
END_TEST

START_TEST(largest_chunk_is_nearly_all_source_memory)
{
	struct mam_pool_config config = { .chunk_bytes = MAM_CHUNK_LARGEST,
					  .growth_bytes = MAM_GROWTH_NONE };
	struct fixture *f = fixture_on(&config, SPACE_UP, 4096, 4096, 100 * MIB);

	ck_assert_uint_le(stats_of(f).reserved_bytes, 100 * MIB);
	ck_assert_uint_ge(stats_of(f).reserved_bytes, 100 * MIB / 32 * 31);
	ck_assert_uint_eq(stats_of(f).chunks, 1);
	fixture_end(f);
}
END_TEST

START_TEST(largest_chunk_fits_limit_in_whole_granules)
{
	struct mam_pool_config config = { .chunk_bytes = MAM_CHUNK_LARGEST,
					  .growth_bytes = MAM_GROWTH_NONE,
					  .limit_bytes = 10 * MIB + 4096,
					  .granule = 64 * KIB };
	struct fixture *f = fixture_on(&config, SPACE_UP, 4096, 64 * KIB, 100 * MIB);

	ck_assert_uint_eq(stats_of(f).reserved_bytes, 10 * MIB);
	intact(f);
	fixture_end(f);

	/* The source has less than the limit. */
	f = fixture_on(&config, SPACE_UP, 4096, 64 * KIB, 5 * MIB);
	ck_assert_uint_gt(stats_of(f).reserved_bytes, 4 * MIB);
	ck_assert_uint_le(stats_of(f).reserved_bytes, 5 * MIB);
	intact(f);
	fixture_end(f);
}
END_TEST

START_TEST(init_fails_without_first_chunk)
{
	static const struct {
		struct mam_pool_config config;
		enum mam_status status;
	} rows[] = {
		{ { .chunk_bytes = 2 * MIB }, MAM_ERROR_OUT_OF_MEMORY },
		{ { .chunk_bytes = 512 * KIB, .limit_bytes = 256 * KIB }, MAM_ERROR_OUT_OF_MEMORY },
		{ { .chunk_bytes = SIZE_MAX - 1 }, MAM_ERROR_OUT_OF_MEMORY },
		{ { .chunk_bytes = 512, .free_policy = (enum mam_free_policy)77 },
		  MAM_ERROR_INVALID_VALUE },
		{ { .chunk_bytes = 0, .growth_bytes = MAM_GROWTH_NONE }, MAM_ERROR_INVALID_VALUE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mam_pool *pool = calloc(1, sizeof(*pool));
		struct space space;

		space_init(&space, SPACE_UP, 512, 512);
		space.total_bytes = MIB;
		ck_assert_int_eq(mam_pool_init(pool, &space.source, true, &rows[i].config),
				 rows[i].status);
		ck_assert_uint_eq(space.pieces, 0);
		/* An owned source is destroyed on failure. */
		ck_assert_uint_eq(atomic_load(&space.destroyed), 1);
		space_fini(&space);
		free(pool);
	}
}
END_TEST

START_TEST(free_space_of_adjacent_chunks_never_merges)
{
	static const enum space_layout layouts[] = { SPACE_UP, SPACE_DOWN };
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, layouts[_i], 4096, 4096, 0);
	void *block[3];

	for (int i = 0; i < 3; i++)
		block[i] = alloc(f, 4096);
	ck_assert_ptr_eq(block[1], at(block[0], _i ? -4096 : 4096));
	dealloc(f, block[1]);
	dealloc(f, block[0]);
	dealloc(f, block[2]);
	ck_assert_picture(f, 4096, "F1 | F1 | F1");
	ck_assert_uint_eq(stats_of(f).largest_free_bytes, 4096);
	alloc(f, 8192); /* no two of them together serve it */
	ck_assert_uint_eq(stats_of(f).grows, 4);
	fixture_end(f);
}
END_TEST

static void *alloc_one(void *user)
{
	struct fixture *f = user;
	void *block = NULL;

	ck_assert_int_eq(mam_pool_alloc(f->pool, 512, 0, &block), MAM_OK);
	return block;
}

START_TEST(waiting_thread_uses_memory_of_other_growth)
{
	struct mam_pool_config config = { .growth_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	pthread_t other[4];

	space_stop(&f->space, SPACE_GROW);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, alloc_one, f), 0);
	ck_assert(space_wait_inside(&f->space));
	/*
	 * By now the others wait for the first thread. If they do not, the test still passes but
	 * proves nothing.
	 */
	usleep(50000);
	space_go(&f->space, SPACE_GROW);
	for (int i = 0; i < 4; i++)
		pthread_join(other[i], NULL);
	ck_assert_uint_eq(stats_of(f).grows, 1);
	ck_assert_picture(f, 512, "L1 L1 L1 L1 F28");
	fixture_end(f);
}
END_TEST

START_TEST(no_block_spans_two_chunks)
{
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, SPACE_UP, 4096, 4096, 0);
	void *low = alloc(f, 512);

	alloc(f, 3 * 512);
	alloc(f, 3072);
	ck_assert_picture(f, 512, "L1 L3 F4 | L6 F2");
	alloc(f, 6 * 512);
	ck_assert_picture(f, 512, "L1 L3 F4 | L6 F2 | L6 F2");
	(void)low;
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/chunk");

	tcase_add_test(tcase, first_chunk_is_allocated_at_init_if_requested);
	tcase_add_test(tcase, first_chunk_without_size_is_allocated_on_demand);
	tcase_add_test(tcase, chunk_size_rounds_up_to_granularity_and_granule);
	tcase_add_test(tcase, later_chunks_have_growth_or_request_size);
	tcase_add_test(tcase, default_growth_is_64_mib_then_an_eighth_up_to_1_gib);
	tcase_add_test(tcase, default_growth_gives_large_request_its_own_chunk);
	tcase_add_test(tcase, strict_free_after_growth_releases_idle_chunks);
	tcase_add_loop_test(tcase, other_policies_and_sizes_keep_idle_chunks, 0, 3);
	tcase_add_test(tcase, idle_chunk_stays_if_shrink_is_refused);
	tcase_add_test(tcase, no_growth_allows_only_first_chunk);
	tcase_add_test(tcase, limit_is_kept_and_used_fully);
	tcase_add_test(tcase, request_over_limit_makes_no_source_call);
	tcase_add_test(tcase, idle_chunks_are_released_to_stay_below_limit);
	tcase_add_test(tcase, growth_is_reduced_if_source_has_less);
	tcase_add_test(tcase, largest_chunk_is_nearly_all_source_memory);
	tcase_add_test(tcase, largest_chunk_fits_limit_in_whole_granules);
	tcase_add_test(tcase, init_fails_without_first_chunk);
	tcase_add_loop_test(tcase, free_space_of_adjacent_chunks_never_merges, 0, 2);
	tcase_add_test(tcase, waiting_thread_uses_memory_of_other_growth);
	tcase_add_test(tcase, no_block_spans_two_chunks);
	return suite_end();
}
