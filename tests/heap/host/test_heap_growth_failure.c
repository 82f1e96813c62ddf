/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures around a heap that grows: attributes, in this version's struct and in others; each
 * driver call in turn; out of host memory. Nothing leaks, no operation is left incomplete, and the
 * pool's metadata is correct.
 */
#include "tools/failing.h"

#include <mam/heap.cuh>

#include "heap/growth/growing.h"

/* ---- attributes ------------------------------------------------------------------------------ */

START_TEST(attributes_out_of_range_are_rejected)
{
#define GOOD .size = sizeof(struct mam_heap_attr), .bytes = MIB
	static const struct mam_heap_attr rows[] = {
		{ GOOD, .max_bytes = MIB - 1 },
		{ GOOD, .max_bytes = 1 },
		{ GOOD, .max_bytes = 8 * MIB, .grow_bytes = 2 * MIB - 1 },
		{ GOOD, .max_bytes = 8 * MIB, .grow_bytes = 1 },
		{ GOOD, .max_bytes = 8 * MIB, .grow_bytes = SIZE_MAX },
		{ GOOD, .grow_bytes = 1 },
		{ GOOD, .max_bytes = 8 * MIB, .wait_us = 10000001 },
		{ GOOD, .max_bytes = 8 * MIB, .ahead = 5 },
		{ GOOD, .max_bytes = 8 * MIB, .ahead = MAM_HEAP_AHEAD_NONE - 1 },
		{ GOOD, .debug = 2 },
		{ GOOD, .peers = 2 },
		{ GOOD, .max_bytes = 8 * MIB, .peers = 2 },
		{ GOOD, .kind = MAM_HEAP_PAGES, .max_bytes = 8 * MIB },
		{ GOOD, .kind = MAM_HEAP_PAGES, .grow_bytes = 8 * MIB },
		{ GOOD, .kind = MAM_HEAP_PAGES, .wait_us = 1 },
		{ GOOD, .kind = MAM_HEAP_PAGES, .ahead = 1 },
		{ GOOD, .kind = MAM_HEAP_PAGES, .debug = 1 },
		{ GOOD, .kind = MAM_HEAP_PAGES, .peers = 2 },
	};
#undef GOOD
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = (struct mam_heap *)&pool;

	(void)cuda;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(mam_heap_create(pool, &rows[i], &heap) == MAM_ERROR_INVALID_VALUE,
			      "row %zu", i);
	ck_assert_ptr_eq(heap, (struct mam_heap *)&pool);
	ck_assert_uint_eq(pool_stats(pool).live_blocks, 0);
	pool_end(pool);
}
END_TEST

START_TEST(attributes_at_range_limits_are_valid)
{
	static const struct mam_heap_attr rows[] = {
		{ .bytes = MIB, .max_bytes = MIB },
		{ .bytes = 1,
		  .max_bytes = 1 }, /* less than a block counts as one, and then the heap is full */
		{ .bytes = MIB, .max_bytes = 8 * MIB, .grow_bytes = 2 * MIB, .wait_us = 10000000 },
		{ .bytes = MIB, .max_bytes = MAM_HEAP_UNLIMITED, .wait_us = 1, .ahead = 4 },
		{ .bytes = MIB, .max_bytes = SIZE_MAX - 1, .ahead = MAM_HEAP_AHEAD_NONE },
		{ .bytes = MIB, .debug = 1 },
		{ .bytes = MIB, .max_bytes = 8 * MIB, .debug = 1 },
	};
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	(void)cuda;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mam_heap_attr attr = rows[i];
		struct mam_heap *heap;

		attr.size = sizeof(attr);
		heap = made(pool, &attr);
		ck_assert_uint_eq(mam_heap_device(heap)->growth->mail != NULL, attr.max_bytes != 0);
		if (!attr.debug)
			ck_assert(take(heap, 16));
		ck_assert_uint_eq(stats_of(heap).objects, !attr.debug);
		heap_end(heap);
	}
	pool_end(pool);
}
END_TEST

/* Programs of the first version, whose struct ended before growth, and of a later version. */
START_TEST(structs_of_other_versions_work)
{
	struct {
		struct mam_heap_attr attr;
		unsigned char more[64];
	} newer = { .attr = GROWING(MIB, 8 * MIB) };
	struct mam_heap_attr older = { .size = 32, .bytes = MIB, .max_bytes = 1, .peers = 77 };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &older), *none = NULL;

	(void)cuda;
	ck_assert_ptr_null(mam_heap_device(heap)->growth);
	heap_end(heap);
	for (size_t size = 33; size < sizeof(struct mam_heap_attr); size++) {
		older.size = size;
		ck_assert_int_eq(mam_heap_create(pool, &older, &none), MAM_ERROR_INVALID_VALUE);
	}
	newer.attr.size = sizeof(newer);
	heap = made(pool, &newer.attr);
	ck_assert_ptr_nonnull(mam_heap_device(heap)->growth);
	heap_end(heap);
	newer.more[63] = 1;
	ck_assert_int_eq(mam_heap_create(pool, &newer.attr, &none), MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(none);
	pool_end(pool);
}
END_TEST

/* ---- one trial ------------------------------------------------------------------------------- */

struct trial {
	struct cuda cuda;
	struct mam_pool *pool;
	struct mam_heap *heap;
	bool failed; /* whether a call failed in the last trial */
};

/* The call is over: stops failure injection. */
static void stop(struct trial *trial)
{
	char name[64];

	trial->failed = trial->cuda.fake_failed(name, sizeof(name)) != 0;
	trial->cuda.fake_fail(0, 0);
	failing_left = -1;
}

/* At least two grants and two large objects; no grants are posted ahead, so the service is idle. */
static struct mam_heap *grown(struct mam_pool *pool)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct mam_heap *heap;

	attr.ahead = MAM_HEAP_AHEAD_NONE;
	heap = made(pool, &attr);
	ck_assert(take(heap, 300 * KIB) && take(heap, 400 * KIB));
	fill(heap, 1500, 4096);
	ck_assert_uint_ge(counted(heap).grants, 2);
	return heap;
}

static struct trial begin(void)
{
	struct trial trial = { .cuda = load() };

	trial.pool = pool_new();
	trial.heap = grown(trial.pool);
	return trial;
}

static void end(struct trial *trial)
{
	compare(trial->heap);
	heap_end(trial->heap);
	pool_end(trial->pool);
}

/* ---- the calls under test, and checks of the state that they leave --------------------------- */

static enum mam_status try_create(struct trial *trial)
{
	struct mam_heap_attr attr = GROWING(3 * MAM_HEAP_BLOCK, 64 * MIB);
	uint64_t blocks = pool_stats(trial->pool).live_blocks;
	struct mam_heap *other = NULL;
	enum mam_status status;

	attr.ahead = MAM_HEAP_AHEAD_NONE;
	status = mam_heap_create(trial->pool, &attr, &other);
	stop(trial);
	if (status == MAM_OK)
		heap_end(other);
	else
		ck_assert_ptr_null(other);
	ck_assert_uint_eq(pool_stats(trial->pool).live_blocks, blocks);
	return status;
}

static enum mam_status try_stats(struct trial *trial)
{
	struct mam_heap_info info = { .size = sizeof(info), .objects = 77 };
	enum mam_status status = mam_heap_stats(trial->heap, NULL, &info);

	stop(trial);
	ck_assert_uint_eq(info.objects, status == MAM_OK ? held.count : 77);
	return status;
}

static bool count_one(void *argument, void *address, size_t bytes)
{
	(void)address;
	(void)bytes;
	++*(unsigned int *)argument;
	return true;
}

static enum mam_status try_walk(struct trial *trial)
{
	unsigned int count = 0;
	enum mam_status status = mam_heap_walk(trial->heap, NULL, count_one, &count);

	stop(trial);
	if (status == MAM_OK)
		ck_assert_uint_eq(count, held.count);
	else
		ck_assert_uint_lt(count, held.count);
	return status;
}

/* If it fails, part of the metadata may be cleared; a successful reset clears all of it. */
static enum mam_status try_reset(struct trial *trial)
{
	uint64_t grants = mam_heap_device(trial->heap)->growth->parts.value;
	enum mam_status status = mam_heap_reset(trial->heap, NULL);

	stop(trial);
	if (status != MAM_OK)
		ck_assert_int_eq(mam_heap_reset(trial->heap, NULL), MAM_OK);
	held.count = 0;
	compare(trial->heap);
	ck_assert_uint_eq(stats_of(trial->heap).grants, grants);
	ck_assert(take(trial->heap, 300 * KIB) && take(trial->heap, 400 * KIB));
	fill(trial->heap, 1500, 4096);
	return status;
}

/* The remaining objects are in a grant in the middle; the other grants are empty. */
static enum mam_status try_trim(struct trial *trial)
{
	enum mam_status status;
	size_t freed = 77, again;

	while (held.count > 600)
		give(trial->heap, held.count - 1);
	status = mam_heap_trim(trial->heap, NULL, &freed);
	stop(trial);
	compare(trial->heap);
	if (status == MAM_OK) {
		ck_assert_uint_gt(freed, 0);
	} else {
		ck_assert_uint_eq(freed, 77);
		ck_assert_int_eq(mam_heap_trim(trial->heap, NULL, &again), MAM_OK);
	}
	compare(trial->heap);
	fill(trial->heap, 1500, 4096);
	compare(trial->heap);
	return status;
}

static enum mam_status try_free(struct trial *trial)
{
	size_t taken = 77;
	enum mam_status status;

	status = mam_heap_free(trial->heap, NULL, (void *const *)held.address, 10, &taken);
	stop(trial);
	ck_assert_uint_eq(taken, status == MAM_OK ? 10 : 0);
	if (stats_of(trial->heap).returned != 0) {
		mam_kdrain(mam_heap_device(trial->heap));
		memmove(held.address, held.address + 10,
			(held.count - 10) * sizeof(held.address[0]));
		memmove(held.bytes, held.bytes + 10, (held.count - 10) * sizeof(held.bytes[0]));
		held.count -= 10;
	}
	compare(trial->heap);
	return status;
}

/* A failed destroy leaves the heap unchanged. */
static enum mam_status try_destroy(struct trial *trial)
{
	enum mam_status status = mam_heap_destroy(trial->heap);

	stop(trial);
	if (status != MAM_OK) {
		compare(trial->heap);
		heap_end(trial->heap);
	}
	held.count = 0;
	ck_assert_uint_eq(pool_stats(trial->pool).live_blocks, 0);
	trial->heap = grown(trial->pool);
	return status;
}

/* ---- each fails in turn ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum mam_status (*call)(struct trial *trial);
	unsigned int min;    /* failed driver calls */
	unsigned int memory; /* failed allocations of the host side */
} calls[] = {
	{ "create", try_create, 10, 1 },  { "stats", try_stats, 20, 0 },
	{ "walk", try_walk, 20, 0 },      { "reset", try_reset, 10, 1 },
	{ "trim", try_trim, 20, 0 },      { "free", try_free, 10, 0 },
	{ "destroy", try_destroy, 1, 0 },
};

#define CALLS ((int)(sizeof(calls) / sizeof(calls[0])))

/* The n-th driver call fails, for each n until all succeed. */
START_TEST(failed_driver_call_leaks_nothing)
{
	struct trial trial = begin();
	unsigned int failed = 0;

	for (unsigned long at = 1;; at++) {
		enum mam_status status;

		trial.cuda.fake_fail(at, 1);
		status = calls[_i].call(&trial);
		if (!trial.failed) {
			ck_assert_msg(status == MAM_OK, "%s", calls[_i].name);
			break;
		}
		failed += status != MAM_OK;
	}
	ck_assert_msg(failed >= calls[_i].min, "%s: %u", calls[_i].name, failed);
	end(&trial);
}
END_TEST

/* The n-th allocation fails. */
START_TEST(calls_fail_without_host_memory)
{
	struct trial trial = begin();
	unsigned int at;

	for (at = 0;; at++) {
		enum mam_status status;

		failing_left = at;
		status = calls[_i].call(&trial);
		if (status == MAM_OK)
			break;
		ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
		ck_assert_uint_lt(at, 200);
	}
	ck_assert_msg(at >= calls[_i].memory, "%s: %u", calls[_i].name, at);
	end(&trial);
}
END_TEST

static void start(void)
{
	set_up();
	held.count = 0;
}

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, attributes_out_of_range_are_rejected);
	tcase_add_test(tests, attributes_at_range_limits_are_valid);
	tcase_add_test(tests, structs_of_other_versions_work);
	tcase_add_loop_test(tests, failed_driver_call_leaks_nothing, 0, CALLS);
	tcase_add_loop_test(tests, calls_fail_without_host_memory, 0, CALLS);
}

int main(void)
{
	return run_suite("heap/heap_growth_failure", add);
}
