/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for a thread that a running kernel waits for, from the sources whose chunks the driver
 * allocates whole, on the fake driver. The memory is mapped, by calls that do not wait for other
 * threads in the driver, and is unmapped the same way.
 */
#include "api/prompt.h"
#include "driven.h"
#include "source/driver.h"
#include "source/vmm.h"

static const char *const waiting[] = { "cuMemAlloc",    "cuMemFree",         "cuMemHostAlloc",
				       "cuMemFreeHost", "cuMemAllocManaged", "cuMemUnmap",
				       "cuMemRelease",  "cuCtxSynchronize" };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void nothing_waited(void)
{
	for (size_t i = 0; i < COUNT_OF(waiting); i++)
		ck_assert_msg(calls_of(waiting[i], false) == 0, "%s was called", waiting[i]);
}

static void *prompt(struct mam_source *source, size_t bytes)
{
	void *base = NULL;

	ck_assert_int_eq(mam_source_grow_prompt(source, bytes, &base), MAM_OK);
	ck_assert_uint_eq((uintptr_t)base % (2 * MIB), 0);
	return base;
}

static void refused(struct mam_source *source, size_t bytes, enum mam_status status)
{
	void *untouched = &source, *base = untouched;

	ck_assert_int_eq(mam_source_grow_prompt(source, bytes, &base), status);
	ck_assert_ptr_eq(base, untouched);
}

START_TEST(device_memory_is_mapped_and_unmapped)
{
	struct cuda cuda = load();
	struct mam_source *source = driven_source("cudamalloc", 0);
	char *ours, *usual;
	size_t bytes;
	unsigned long long base;

	ours = prompt(source, 6 * MIB);
	ck_assert_uint_eq(calls_of("cuMemCreate", true), 1);
	ck_assert_uint_eq(calls_of("cuMemMap", true), 1);
	ck_assert_uint_eq(calls_of("cuMemSetAccess", true), 1);
	nothing_waited();
	ck_assert_int_eq(cuda.cuMemGetAddressRange_v2(&base, &bytes, (uintptr_t)ours),
			 CUDA_SUCCESS);
	usual = grown(source, 4 * MIB);
	ck_assert_uint_eq(calls_of("cuMemAlloc", true), 1);
	ck_assert_int_eq(mam_source_shrink(source, usual, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(calls_of("cuMemFree", true), 1);
	ck_assert_uint_eq(calls_of("cuMemUnmap", true), 0);
	ck_assert_int_eq(mam_source_shrink(source, ours, 6 * MIB), MAM_OK);
	ck_assert_uint_eq(calls_of("cuMemUnmap", true), 1);
	ck_assert_uint_eq(calls_of("cuMemRelease", true), 1);
	ck_assert_uint_eq(calls_of("cuMemAddressFree", true), 1);
	/* Unlike cuMemFree it does not wait for work: the caller has waited before. */
	ck_assert_uint_eq(calls_of("cuMemFree", true), 2);
	mam_source_destroy(source);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

START_TEST(many_chunks_are_freed_in_any_order)
{
	struct mam_source *source;
	char *chunk[48];
	size_t room;

	load_only();
	source = driven_source("cudamalloc", 0);
	room = mam_source_room(source);
	for (size_t i = 0; i < COUNT_OF(chunk); i++)
		chunk[i] = i % 3 == 0 ? grown(source, 2 * MIB) : prompt(source, 2 * MIB);
	ck_assert_uint_eq(mam_source_room(source), room - COUNT_OF(chunk) * 2 * MIB);
	for (size_t i = 0; i < COUNT_OF(chunk); i++)
		ck_assert_int_eq(mam_source_shrink(source, chunk[(i * 29) % 48], 2 * MIB), MAM_OK);
	/* Waits keep a small block, and thus a slab. */
	ck_assert_uint_eq(mam_source_room(source), room - 2 * MIB);
	mam_source_destroy(source);
}
END_TEST

START_TEST(pinned_and_managed_refuse)
{
	const char *const names[] = { "pinned", "managed" };
	struct mam_source *source;

	load_only();
	source = driven_source(names[_i], 0);
	refused(source, 2 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	nothing_waited();
	mam_source_destroy(source);
}
END_TEST

START_TEST(other_sources_grow_normally)
{
	struct mam_source *source;
	void *base;

	ck_assert_int_eq(mam_source_host(8 * MIB, false, &source), MAM_OK);
	base = prompt(source, 2 * MIB);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(quota_counts_mapped_chunk)
{
	struct mam_source *inner, *source;
	void *base;

	load_only();
	inner = driven_source("cudamalloc", 0);
	ck_assert_int_eq(mam_source_limit(inner, 6 * MIB, 0, 0, &source), MAM_OK);
	base = prompt(source, 4 * MIB);
	refused(source, 4 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls_of("cuMemCreate", false), 1);
	nothing_waited();
	ck_assert_int_eq(mam_source_shrink(source, base, 4 * MIB), MAM_OK);
	base = prompt(source, 6 * MIB);
	ck_assert_int_eq(mam_source_shrink(source, base, 6 * MIB), MAM_OK);
	mam_source_destroy(source);
	mam_source_destroy(inner);
}
END_TEST

START_TEST(full_device_refuses)
{
	struct mam_source *source;
	void *base;

	load_only();
	source = driven_source("cudamalloc", 0);
	refused(source, 512 * MIB, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls_of("cuMemAddressFree", true), 1); /* nothing leaks */
	base = prompt(source, 128 * MIB);
	ck_assert_int_eq(mam_source_shrink(source, base, 128 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

/* Each driver call fails in turn, until none is left to fail. */
START_TEST(no_failure_leaks)
{
	/* clang-format off */
	const char *const calls[] = { "cuMemAddressReserve", "cuMemCreate", "cuMemMap",
				      "cuMemSetAccess", "cuMemGetAllocationGranularity",
				      "cuDeviceTotalMem", "cuCtxGetCurrent" };
	/* clang-format on */
	char fail_at[64];
	struct mam_source *source;
	void *base = NULL;
	enum mam_status status;

	/* Creating the source first queries the total and the current context. */
	snprintf(fail_at, sizeof(fail_at), "%s:%d", calls[_i], _i < 5 ? 1 : 2);
	setenv("FAKE_CUDA_FAIL_AT", fail_at, 1);
	load_only();
	source = driven_source("cudamalloc", 0);
	status = mam_source_grow_prompt(source, 2 * MIB, &base);
	ck_assert_msg(status != MAM_OK, "%s did not fail", calls[_i]);
	ck_assert_ptr_null(base);
	ck_assert_uint_eq(calls_of("cuMemCreate", true), calls_of("cuMemRelease", true));
	ck_assert_uint_eq(calls_of("cuMemAddressReserve", true),
			  calls_of("cuMemAddressFree", true));
	base = prompt(source, 2 * MIB);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

/*
 * A pool with its first chunk from the ordinary call, and later chunks from the prompt calls while
 * kernels run.
 */
START_TEST(prompt_pool_calls_map_chunks)
{
	const char *const names[] = { "cudamalloc", "vmm" };
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	unsigned created, allocated;
	struct mam_pool *pool;
	void *block = NULL;
	char why[200] = "";

	load_only();
	attr.source = names[_i];
	attr.growth_bytes = 32 * MIB;
	attr.free_policy = MAM_FREE_STRICT;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 24 * MIB, &block), MAM_OK);
	created = calls_of("cuMemCreate", true);
	allocated = calls_of("cuMemAlloc", true);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(truncate(calls_path, 0), 0);
	ck_assert_int_eq(mam_prompt_alloc(pool, 48 * MIB, 64 << 10, 1000000, &block), MAM_OK);
	ck_assert_uint_eq(calls_of("cuMemCreate", true), 1);
	ck_assert_int_eq(mam_prompt_free(pool, block), MAM_OK);
	nothing_waited();
	ck_assert_uint_eq(created + allocated, _i == 0 ? 1 : created);
	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_uint_ge(calls_of("cuMemUnmap", true), 1);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/prompt");
	TCase *tests = tcase_create("prompt");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, device_memory_is_mapped_and_unmapped);
	tcase_add_test(tests, many_chunks_are_freed_in_any_order);
	tcase_add_loop_test(tests, pinned_and_managed_refuse, 0, 2);
	tcase_add_test(tests, other_sources_grow_normally);
	tcase_add_test(tests, quota_counts_mapped_chunk);
	tcase_add_test(tests, full_device_refuses);
	tcase_add_loop_test(tests, no_failure_leaks, 0, 7);
	tcase_add_loop_test(tests, prompt_pool_calls_map_chunks, 0, 2);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
