/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a pool: destroyed or dropped, and what later calls return. */
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

static const struct mam_pool_config two_chunks = { .chunk_bytes = 16 * KIB,
						   .growth_bytes = 16 * KIB };

static bool visit(const struct mam_segment_info *segment, void *user)
{
	(void)segment, (void)user;
	ck_abort_msg("a destroyed pool reports a segment");
	return false;
}

static void ck_assert_ended(struct mam_pool *pool, void *block)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_segment_info info;
	char why[100];
	void *other = NULL;
	size_t released = 77;

	ck_assert_int_eq(mam_pool_alloc(pool, 512, 0, &other), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_alloc(pool, SIZE_MAX, 0, &other), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 512, 0, &other), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, SIZE_MAX, 0, &other), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_free(pool, block), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_find(pool, block, &info), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_trim(pool, 0, &released), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_walk(pool, visit, NULL), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_check(pool, why, sizeof(why)), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_drop(pool), MAM_ERROR_DESTROYED);
	ck_assert_ptr_null(other);
	ck_assert_uint_eq(released, 77);
}

START_TEST(fini_with_live_blocks_fails)
{
	struct fixture *f = fixture_new(&two_chunks);
	void *block = alloc(f, 512);
	size_t calls = f->space.all_calls;

	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_ERROR_LIVE_BLOCKS);
	ck_assert_uint_eq(f->space.all_calls, calls);
	intact(f);
	dealloc(f, block);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	fixture_end(f);
}
END_TEST

START_TEST(fini_releases_chunks_and_later_calls_fail)
{
	struct fixture *f = fixture_new(&two_chunks);
	void *block = alloc(f, 16 * KIB), *other = alloc(f, 16 * KIB);

	dealloc(f, block);
	dealloc(f, other);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	ck_assert_uint_eq(f->space.pieces, 0);
	ck_assert_uint_eq(atomic_load(&f->space.destroyed), 0); /* the caller's source */
	atomic_store(&f->space.forbidden, true);
	ck_assert_ended(f->pool, block);
	atomic_store(&f->space.forbidden, false);
	fixture_end(f);
}
END_TEST

START_TEST(drop_makes_no_source_call)
{
	struct fixture *f = fixture_new(&two_chunks);
	void *block = alloc(f, 512);

	atomic_store(&f->space.forbidden, true);
	ck_assert_int_eq(mam_pool_drop(f->pool), MAM_OK);
	ck_assert_ended(f->pool, block);
	atomic_store(&f->space.forbidden, false);
	ck_assert_uint_eq(f->space.pieces, 1);
	fixture_end(f);
}
END_TEST

START_TEST(fini_destroys_owned_source_but_drop_does_not)
{
	struct mam_pool *pool = calloc(1, sizeof(*pool));
	struct space space;

	space_init(&space, SPACE_UP, 512, 512);
	ck_assert_int_eq(mam_pool_init(pool, &space.source, true, &two_chunks), MAM_OK);
	ck_assert_int_eq(_i ? mam_pool_drop(pool) : mam_pool_fini(pool), MAM_OK);
	ck_assert_uint_eq(atomic_load(&space.destroyed), _i ? 0 : 1);
	space_fini(&space);
	free(pool);
}
END_TEST

START_TEST(fini_succeeds_if_a_shrink_is_refused)
{
	struct fixture *f = fixture_new(&two_chunks);

	alloc(f, 16 * KIB);
	dealloc(f, alloc(f, 16 * KIB));
	dealloc(f, (void *)f->space.piece[0].base);
	space_refuse(&f->space, SPACE_SHRINK, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_fini(f->pool), MAM_OK);
	ck_assert_uint_eq(f->space.pieces, 1);
	ck_assert_uint_eq(f->space.calls[SPACE_SHRINK], 2);
	ck_assert_ended(f->pool, NULL);
	fixture_end(f);
}
END_TEST

START_TEST(call_on_ended_pool_returns_destroyed)
{
	struct fixture *f = fixture_new(&two_chunks);

	ck_assert_int_eq(mam_pool_drop(f->pool), MAM_OK);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_ERROR_DESTROYED);
	fixture_end(f);
}
END_TEST

/* Policies: which pools wait before a free. */
START_TEST(only_strict_pool_waits_for_source)
{
	/* clang-format off */
	static const struct { enum mam_free_policy policy; size_t waits; } rows[] = {
		{ MAM_FREE_STRICT, 1 }, { MAM_FREE_DEFAULT, 1 }, { MAM_FREE_STREAM, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mam_pool_config config = { .chunk_bytes = 16 * KIB,
						  .free_policy = rows[i].policy };
		struct fixture *f = fixture_new(&config);

		ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
		ck_assert_uint_eq(f->space.calls[SPACE_QUIESCE], rows[i].waits);
		fixture_end(f);
	}
}
END_TEST

START_TEST(failed_wait_is_returned)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB, .free_policy = MAM_FREE_STRICT };
	struct fixture *f = fixture_new(&config);

	space_refuse(&f->space, SPACE_QUIESCE, 1, 1, MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_pool_quiesce(f->pool), MAM_OK);
	fixture_end(f);
}
END_TEST

START_TEST(strict_pool_works_without_quiesce)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB, .free_policy = MAM_FREE_STRICT };
	struct mam_source_ops ops;
	struct space space;
	struct mam_pool *pool = calloc(1, sizeof(*pool));

	space_init(&space, SPACE_UP, 512, 512);
	ops = *space.source.ops;
	ops.quiesce = NULL;
	space.source.ops = &ops;
	ck_assert_int_eq(mam_pool_init(pool, &space.source, false, &config), MAM_OK);
	ck_assert_int_eq(mam_pool_quiesce(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	space_fini(&space);
	free(pool);
}
END_TEST

static void *wait_for_device(void *pool)
{
	return mam_pool_quiesce(pool) == MAM_OK ? pool : NULL;
}

static void *end_pool(void *pool)
{
	return mam_pool_fini(pool) == MAM_OK ? pool : NULL;
}

/*
 * A free is in the source's quiesce when another thread destroys the pool. The source must outlive
 * the wait.
 */
START_TEST(owned_source_outlives_waiting_free)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB, .free_policy = MAM_FREE_STRICT };
	struct space space;
	struct mam_pool *pool = calloc(1, sizeof(*pool));
	pthread_t waiter, ender;
	void *waited, *ended;

	space_init(&space, SPACE_UP, 512, 512);
	ck_assert_int_eq(mam_pool_init(pool, &space.source, true, &config), MAM_OK);
	space_stop(&space, SPACE_QUIESCE);
	ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for_device, pool), 0);
	ck_assert(space_wait_inside(&space));
	ck_assert_int_eq(pthread_create(&ender, NULL, end_pool, pool), 0);
	while (atomic_load(&pool->state) != MAM_POOL_ENDED)
		usleep(1000);
	usleep(50000); /* long enough to detect a destroy that does not wait */
	ck_assert_uint_eq(atomic_load(&space.destroyed), 0);
	space_go(&space, SPACE_QUIESCE);
	ck_assert_int_eq(pthread_join(waiter, &waited), 0);
	ck_assert_int_eq(pthread_join(ender, &ended), 0);
	ck_assert_ptr_eq(waited, pool);
	ck_assert_ptr_eq(ended, pool);
	ck_assert_uint_eq(atomic_load(&space.destroyed), 1);
	space_fini(&space);
	free(pool);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/fini");

	tcase_add_test(tcase, fini_with_live_blocks_fails);
	tcase_add_test(tcase, fini_releases_chunks_and_later_calls_fail);
	tcase_add_test(tcase, drop_makes_no_source_call);
	tcase_add_loop_test(tcase, fini_destroys_owned_source_but_drop_does_not, 0, 2);
	tcase_add_test(tcase, fini_succeeds_if_a_shrink_is_refused);
	tcase_add_test(tcase, call_on_ended_pool_returns_destroyed);
	tcase_add_test(tcase, only_strict_pool_waits_for_source);
	tcase_add_test(tcase, failed_wait_is_returned);
	tcase_add_test(tcase, strict_pool_works_without_quiesce);
	tcase_add_test(tcase, owned_source_outlives_waiting_free);
	return suite_end();
}
