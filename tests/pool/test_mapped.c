/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool on a source that maps memory in pieces: how it starts and ends, with other threads, and
 * after permanent driver failures. Also its counters and its metadata.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../source/space.h"
#include "mapped.h"

/* ---- the first chunk ---- */

static const struct {
	size_t chunk, limit, total, range;
	unsigned int refused_from;
	size_t held; /* 0: no pool */
} firsts[] = {
	{ 100 * MIB, 0, 1024 * MIB, 0, 0, 100 * MIB },
	{ 99 * MIB, 0, 1024 * MIB, 0, 0, 100 * MIB },
	{ 64 * MIB, 32 * MIB, 1024 * MIB, 0, 0, 0 },
	{ 64 * MIB, 0, 1024 * MIB, 32 * MIB, 0, 0 },
	{ 2048 * MIB, 0, 1024 * MIB, 0, 0, 0 },
	{ SIZE_MAX - 1, 0, 1024 * MIB, 0, 0, 0 },
	{ MAM_CHUNK_LARGEST, 0, 128 * MIB, 0, 0, 128 * MIB },
	{ MAM_CHUNK_LARGEST, 65 * MIB, 128 * MIB, 0, 0, 64 * MIB },
	{ MAM_CHUNK_LARGEST, 256 * MIB, 128 * MIB, 0, 0, 128 * MIB },
	{ MAM_CHUNK_LARGEST, 0, 128 * MIB, 0, 5, 32 * MIB }, /* others were faster */
	{ MAM_CHUNK_LARGEST, 0, 128 * MIB, 0, 1, 0 },
	{ 100 * MIB, 0, 1024 * MIB, 0, 5, 0 },
};

START_TEST(init_maps_first_chunk_or_fails)
{
	struct mam_pool_config config = config_of(0, firsts[_i].chunk, firsts[_i].limit);
	enum mam_status status;

	tear_down();
	make_source_of(firsts[_i].total, firsts[_i].range);
	refuse_at[MAP] = firsts[_i].refused_from;
	refuse_times = 1000;
	status = make_pool(&config);
	if (firsts[_i].held == 0) {
		ck_assert_int_eq(status, MAM_ERROR_OUT_OF_MEMORY);
		ck_assert_uint_eq(made[SHRINK], made[GROW]);
		ck_assert_uint_eq(mam_source_room(inner), firsts[_i].total);
		return;
	}
	ck_assert_int_eq(status, MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, firsts[_i].held);
	if (firsts[_i].refused_from == 0)
		ck_assert_uint_lt(made[MAP], 20); /* not one unit per call */
	refuse_at[MAP] = 0;
	alloc(firsts[_i].held);
	prove();
}
END_TEST

START_TEST(range_is_whole_units_and_halved_until_granted)
{
	fresh_pool((size_t)8 << 30, 5 * MIB, NULL); /* rounded up to 6 */
	alloc(6 * MIB);
	tear_down();
	make_source_of((size_t)8 << 30, 6 * MIB);
	refuse_at[GROW] = 1;
	ck_assert_int_eq(make_pool(NULL), MAM_OK);
	ck_assert_uint_eq(made[GROW], 3);
	prove();
}
END_TEST

START_TEST(first_range_is_released_if_second_is_refused)
{
	tear_down();
	make_source((size_t)8 << 30);
	refuse_at[GROW] = 2;
	refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(make_pool(NULL), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(made[SHRINK], 1);
}
END_TEST

static struct rlimit plenty;

static enum mam_status grow_with_the_last_memory(struct mam_source *source, size_t bytes,
						 void **base)
{
	enum mam_status status = do_grow(source, bytes, base);
	struct rlimit none = { 1 << 20, plenty.rlim_max };

	setrlimit(RLIMIT_AS, &none);
	return status;
}

static enum mam_status shrink_with_memory(struct mam_source *source, void *base, size_t bytes)
{
	setrlimit(RLIMIT_AS, &plenty);
	return do_shrink(source, base, bytes);
}

START_TEST(range_is_released_if_metadata_allocation_fails)
{
	enum mam_status status;

	tear_down();
	make_source((size_t)8 << 30);
	getrlimit(RLIMIT_AS, &plenty);
	ops.grow = grow_with_the_last_memory;
	ops.shrink = shrink_with_memory;
	status = make_pool(NULL);
	setrlimit(RLIMIT_AS, &plenty);
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
	ck_assert_uint_eq(made[GROW], 1);
	ck_assert_uint_eq(made[SHRINK], 1);
}
END_TEST

/* ---- other threads, and failures ---- */

static void *stolen;

static void take_second_piece(enum call call)
{
	if (call == MAP && made[MAP] == 2)
		ck_assert_int_eq(mam_pool_alloc_held(pool, 4 * MIB, 0, &stolen), MAM_OK);
}

START_TEST(space_taken_by_other_thread_is_mapped_again)
{
	meanwhile = take_second_piece;
	alloc(16 * MIB);
	ck_assert_ptr_nonnull(stolen);
	ck_assert_uint_eq(stats().physical_bytes, 20 * MIB);
	prove();
}
END_TEST

static unsigned int steal_until = 1000;

static void take_mapped_memory(enum call call)
{
	if (call == MAP && made[MAP] >= 2 && made[MAP] < steal_until)
		ck_assert_int_eq(mam_pool_alloc_held(pool, 8 * MIB, 0, &stolen), MAM_OK);
}

START_TEST(alloc_succeeds_after_repeated_theft)
{
	steal_until = 8;
	meanwhile = take_mapped_memory;
	alloc(16 * MIB);
	ck_assert_uint_eq(made[MAP], 8);
	prove();
}
END_TEST

START_TEST(alloc_returns_out_of_memory_if_always_robbed)
{
	meanwhile = take_mapped_memory;
	ck_assert_int_eq(try_alloc(16 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	meanwhile = NULL;
	alloc(16 * MIB);
	prove();
}
END_TEST

#define OTHERS 4

static pthread_t other[OTHERS];
static size_t wish;        /* bytes of each of the others' requests */
static uint64_t announced; /* 0: only the wait of one of them is awaited */

static void *alloc_too(void *unused)
{
	void *block = NULL;

	(void)unused;
	ck_assert_int_eq(mam_pool_alloc(pool, wish, 0, &block), MAM_OK);
	return block;
}

/* The others begin while the pool maps its first piece, and wait. */
static void begin_others(enum call call)
{
	if (call != MAP || made[MAP] != 1)
		return;
	for (int i = 0; i < OTHERS; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, alloc_too, NULL), 0);
	while (announced != 0 ? atomic_load(&pool->waiting) != announced
			      : atomic_load(&pool->grow_lock.word) != 2)
		usleep(100);
	ck_assert_uint_eq(atomic_load(&pool->waiting), announced);
}

static void alloc_with_others(size_t bytes)
{
	meanwhile = begin_others;
	alloc(bytes);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(other[i], NULL);
	ck_assert_uint_eq(atomic_load(&pool->waiting), 0);
	prove();
}

START_TEST(one_growth_serves_all_threads_that_wait)
{
	wish = 6 * MIB;
	announced = OTHERS * wish;
	alloc_with_others(8 * MIB);
	ck_assert_uint_eq(made[MAP], 2);
	ck_assert_uint_eq(stats().physical_bytes, 8 * MIB + OTHERS * wish);
}
END_TEST

START_TEST(refused_growth_for_others_costs_no_wait)
{
	make_stream_pool(0);
	dealloc(alloc(MIB / 2)); /* its piece cannot move without a wait */
	wish = 6 * MIB;
	announced = OTHERS * wish;
	made[MAP] = 0;
	refuse_at[MAP] = 2;
	alloc_with_others(8 * MIB);
	ck_assert_uint_eq(made[MAP], 4);
	ck_assert_uint_eq(made[QUIESCE], 0);
	ck_assert_uint_eq(stats().failures, 0);
}
END_TEST

START_TEST(large_request_waits_for_its_own_growth)
{
	wish = 34 * MIB;
	announced = 0; /* they may be too large for the device */
	alloc_with_others(8 * MIB);
	ck_assert_uint_eq(stats().physical_bytes, 8 * MIB + OTHERS * wish);
}
END_TEST

/*
 * After a mapping that could neither be finished nor undone, nothing can be mapped at its
 * addresses.
 */
START_TEST(growth_skips_addresses_after_driver_failure)
{
	char *first = alloc(8 * MIB), *next;

	bad_from = (uintptr_t)first + 8 * MIB;
	bad_to = bad_from + 2 * MIB;
	refuse_at[MAP] = 0;
	ck_assert_int_eq(try_alloc(8 * MIB), MAM_ERROR_DRIVER);
	next = alloc(8 * MIB);
	ck_assert_uint_ge((uintptr_t)next, bad_to);
	alloc(24 * MIB);
	ck_assert_uint_eq(stats().failures, 1);
	ck_assert_uint_eq(stats().free_blocks, 0);
	ck_assert_int_eq(mam_pool_free(pool, first + 8 * MIB), MAM_ERROR_DOUBLE_FREE);
	dealloc(next);
	trim_all();
	prove();
}
END_TEST

START_TEST(move_skips_addresses_after_driver_failure)
{
	char *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(32 * MIB);
	dealloc(blocks[0]);
	dealloc(blocks[2]);
	bad_from = (uintptr_t)blocks[3] + 32 * MIB;
	bad_to = bad_from + 16 * MIB;
	ck_assert_int_eq(try_alloc(64 * MIB), MAM_ERROR_DRIVER);
	while (try_alloc(64 * MIB) != MAM_OK)
		ck_assert_uint_lt(stats().failures, 4);
	ck_assert_uint_eq(stats().physical_bytes, 128 * MIB);
	prove();
}
END_TEST

START_TEST(skipped_addresses_are_retried_when_range_is_full)
{
	char *first;

	fresh_pool((size_t)8 << 30, 32 * MIB, NULL);
	first = alloc(8 * MIB);
	bad_from = (uintptr_t)first + 8 * MIB;
	bad_to = bad_from + 24 * MIB;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(try_alloc(8 * MIB), MAM_ERROR_DRIVER);
	bad_from = bad_to = 0;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(try_alloc(8 * MIB), MAM_OK);
	ck_assert_uint_eq(stats().physical_bytes, 32 * MIB);
}
END_TEST

START_TEST(fini_logs_memory_that_source_refuses)
{
	static char log_path[64];
	FILE *log;
	char line[200] = "";

	snprintf(log_path, sizeof(log_path), "/tmp/mam-edges-log.%d", (int)getpid());
	unlink(log_path); /* left by a killed process with the same id */
	setenv("MAM_LOG_FILE", log_path, 1);
	for (int i = 0; i < 3; i++)
		dealloc(alloc(32 * MIB));
	dealloc(alloc(1000));
	refuse_at[_i == 0 ? UNMAP : SHRINK] = 1;
	refusal = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	ck_assert_uint_eq(made[UNMAP], 4 + 1);
	/* The range of the refused piece stays, the other one is released. */
	ck_assert_uint_eq(made[SHRINK], _i == 0 ? 1 : 2);
	log = fopen(log_path, "r");
	ck_assert_ptr_nonnull(log);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), log));
	fclose(log);
	unlink(log_path);
	ck_assert_ptr_nonnull(strstr(line, "refused to release some memory"));
}
END_TEST

START_TEST(source_calls_are_counted)
{
	void *blocks[4];
	struct mam_stats now;

	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(32 * MIB);
	dealloc(blocks[0]);
	dealloc(blocks[2]);
	alloc(64 * MIB);
	dealloc(blocks[1]);
	trim_all();
	now = stats();
	ck_assert_uint_gt(made[MAP] * made[MOVE] * made[UNMAP], 0);
	ck_assert_uint_eq(now.driver_calls, made[MAP] + made[MOVE] + made[UNMAP]);
	ck_assert_uint_eq(now.grows, made[MAP]);
	ck_assert_uint_eq(now.shrinks, made[UNMAP]);
}
END_TEST

static void take_two_milliseconds(enum call call)
{
	const struct timespec pause = { 0, 2000000 };

	if (call == MAP)
		nanosleep(&pause, NULL);
}

static uint64_t estimate(struct mam_source *source)
{
	(void)source;
	return 1000 * (uint64_t)made[MAP];
}

START_TEST(driver_time_is_measured_or_estimated)
{
	meanwhile = take_two_milliseconds;
	if (_i == 1)
		ops.cost = estimate;
	alloc(16 * MIB);
	ck_assert_uint_eq(made[MAP], 2);
	if (_i == 1)
		ck_assert_uint_eq(stats().driver_ns, 2000);
	else
		ck_assert_uint_ge(stats().driver_ns, 4000000);
}
END_TEST

START_TEST(fini_frees_metadata)
{
	size_t before = 0;

	for (int i = 0; i < 40; i++) {
		fresh_pool((size_t)8 << 30, 0, NULL);
		dealloc(alloc(32 * MIB));
		dealloc(alloc(1000));
		ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
		if (i == 8)
			before = address_space();
	}
	ck_assert_uint_lt(address_space(), before + (1 << 20));
}
END_TEST

int main(void)
{
	TCase *tcase = mapped_begin("pool/mapped");

	tcase_add_loop_test(tcase, init_maps_first_chunk_or_fails, 0,
			    (int)(sizeof(firsts) / sizeof(firsts[0])));
	tcase_add_test(tcase, range_is_whole_units_and_halved_until_granted);
	tcase_add_test(tcase, first_range_is_released_if_second_is_refused);
	if (SPACE_IS_OURS)
		tcase_add_test(tcase, range_is_released_if_metadata_allocation_fails);
	tcase_add_test(tcase, space_taken_by_other_thread_is_mapped_again);
	tcase_add_test(tcase, alloc_succeeds_after_repeated_theft);
	tcase_add_test(tcase, alloc_returns_out_of_memory_if_always_robbed);
	tcase_add_test(tcase, one_growth_serves_all_threads_that_wait);
	tcase_add_test(tcase, refused_growth_for_others_costs_no_wait);
	tcase_add_test(tcase, large_request_waits_for_its_own_growth);
	tcase_add_test(tcase, growth_skips_addresses_after_driver_failure);
	tcase_add_test(tcase, move_skips_addresses_after_driver_failure);
	tcase_add_test(tcase, skipped_addresses_are_retried_when_range_is_full);
	tcase_add_loop_test(tcase, fini_logs_memory_that_source_refuses, 0, 2);
	tcase_add_test(tcase, source_calls_are_counted);
	tcase_add_loop_test(tcase, driver_time_is_measured_or_estimated, 0, 2);
	if (SPACE_IS_OURS)
		tcase_add_test(tcase, fini_frees_metadata);
	return mapped_end();
}
