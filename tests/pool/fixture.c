/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture *fixture_on(const struct mam_pool_config *config, enum space_layout layout,
			   size_t granularity, size_t alignment, size_t total_bytes)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	enum mam_status status;

	ck_assert_ptr_nonnull(fixture);
	space_init(&fixture->space, layout, granularity, alignment);
	fixture->space.total_bytes = total_bytes;
	fixture->pool = calloc(1, sizeof(*fixture->pool));
	ck_assert_ptr_nonnull(fixture->pool);
	status = mam_pool_init(fixture->pool, &fixture->space.source, false, config);
	ck_assert_msg(status == MAM_OK, "mam_pool_init returns %d", (int)status);
	return fixture;
}

struct fixture *fixture_new(const struct mam_pool_config *config)
{
	return fixture_on(config, SPACE_UP, 0, 0, 0);
}

void fixture_end(struct fixture *fixture)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	enum mam_status status = mam_pool_stats(fixture->pool, &stats);

	space_refuse_none(&fixture->space);
	if (status == MAM_OK && stats.live_blocks) {
		intact(fixture);
		ck_assert_int_eq(mam_pool_drop(fixture->pool), MAM_OK);
	} else if (status == MAM_OK) {
		intact(fixture);
		ck_assert_int_eq(mam_pool_fini(fixture->pool), MAM_OK);
		ck_assert_uint_eq(fixture->space.pieces, 0);
	} else {
		ck_assert_int_eq(status, MAM_ERROR_DESTROYED);
	}
	ck_assert_uint_eq(atomic_load(&fixture->space.broken), 0);
	space_fini(&fixture->space);
	free(fixture->pool);
	free(fixture);
}

void intact(struct fixture *fixture)
{
	char why[256] = "";
	enum mam_status status = mam_pool_check(fixture->pool, why, sizeof(why));

	ck_assert_msg(status == MAM_OK, "mam_pool_check: %s", why);
}

void *alloc_aligned(struct fixture *fixture, size_t bytes, size_t alignment)
{
	void *block = NULL;
	enum mam_status status = mam_pool_alloc(fixture->pool, bytes, alignment, &block);

	ck_assert_msg(status == MAM_OK, "%zu bytes aligned %zu: status %d", bytes, alignment,
		      (int)status);
	ck_assert_ptr_nonnull(block);
	intact(fixture);
	return block;
}

void *alloc(struct fixture *fixture, size_t bytes)
{
	return alloc_aligned(fixture, bytes, 0);
}

void dealloc(struct fixture *fixture, void *block)
{
	enum mam_status status = mam_pool_free(fixture->pool, block);

	ck_assert_msg(status == MAM_OK, "free of %p: status %d", block, (int)status);
	intact(fixture);
}

/*
 * All counters except those that a failed request may change: failures, source calls, and the host
 * memory of the metadata.
 */
static void ck_assert_same(const struct mam_stats *before, const struct mam_stats *after)
{
	struct mam_stats left = *before, right = *after;

	left.failures = right.failures = 0;
	left.host_bytes = right.host_bytes = 0;
	left.driver_calls = right.driver_calls = left.driver_ns = right.driver_ns = 0;
	ck_assert_mem_eq(&left, &right, sizeof(left));
}

void refused(struct fixture *fixture, size_t bytes, size_t alignment, enum mam_status status)
{
	struct mam_stats before = stats_of(fixture), after;
	void *untouched = fixture, *block = untouched;

	ck_assert_int_eq(mam_pool_alloc(fixture->pool, bytes, alignment, &block), status);
	ck_assert_ptr_eq(block, untouched);
	intact(fixture);
	after = stats_of(fixture);
	ck_assert_same(&before, &after);
}

void kept(struct fixture *fixture, void *block, enum mam_status status)
{
	struct mam_stats before = stats_of(fixture), after;

	ck_assert_int_eq(mam_pool_free(fixture->pool, block), status);
	intact(fixture);
	after = stats_of(fixture);
	ck_assert_same(&before, &after);
	ck_assert_uint_eq(before.failures, after.failures);
}

struct mam_stats stats_of(struct fixture *fixture)
{
	struct mam_stats stats;

	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	ck_assert_int_eq(mam_pool_stats(fixture->pool, &stats), MAM_OK);
	return stats;
}

void *at(void *block, ptrdiff_t bytes)
{
	return (void *)((uintptr_t)block + (uintptr_t)bytes);
}

struct canvas {
	char text[1024];
	size_t used;
	size_t unit;
	void *chunk_base;
};

static bool draw(const struct mam_segment_info *segment, void *user)
{
	struct canvas *canvas = user;
	const char *divide = canvas->used == 0                           ? ""
			     : canvas->chunk_base != segment->chunk_base ? " | "
									 : " ";
	size_t left = sizeof(canvas->text) - canvas->used;
	int wrote = snprintf(canvas->text + canvas->used, left, "%s%c%zu%s", divide,
			     segment->live ? 'L' : 'F', segment->bytes / canvas->unit,
			     segment->bytes % canvas->unit ? "+" : "");

	canvas->chunk_base = segment->chunk_base;
	if (wrote < 0 || (size_t)wrote >= left)
		return false;
	canvas->used += (size_t)wrote;
	return true;
}

const char *picture(struct fixture *fixture, size_t unit)
{
	static struct canvas canvas;

	memset(&canvas, 0, sizeof(canvas));
	canvas.unit = unit;
	ck_assert_int_eq(mam_pool_walk(fixture->pool, draw, &canvas), MAM_OK);
	return canvas.text;
}

static Suite *suite;

TCase *suite_begin(const char *name)
{
	TCase *tcase = tcase_create(name);

	suite = suite_create(name);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 60);
	return tcase;
}

int suite_end(void)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
