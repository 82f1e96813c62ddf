/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of the default pools that the plugs use: PyTorch's prefers mapped memory, and
 * mam_plug_source() and MAM_SOURCE select any source.
 */
#include <pthread.h>

#include <mam/options.h>
#include <mam/pools.h>

#include "plugs.h"

#define TORCH_WAYS CUPY /* the first functions of ways[] */
#define THREADS 4
#define ROUNDS 40
#define CALLS 40

static void set_up_source(void)
{
	set_up();
	unsetenv("MAM_SOURCE");
	unsetenv("FAKE_CUDA_VMM");
	unsetenv("FAKE_CUDA_DEVICES");
}

static bool copy_source(const struct mam_pool_info *info, void *user)
{
	struct {
		const struct mam_pool *pool;
		char name[16];
	} *wanted = user;

	if (info->pool != wanted->pool)
		return true;
	snprintf(wanted->name, sizeof(wanted->name), "%s", info->source);
	return false;
}

/* The source of a default pool, which is created if there is none. */
static const char *source_of(int device)
{
	static struct {
		struct mam_pool *pool;
		char name[16];
	} wanted;

	ck_assert_int_eq(mam_pool_default(device, &wanted.pool), MAM_OK);
	snprintf(wanted.name, sizeof(wanted.name), "none");
	ck_assert_int_eq(mam_pool_each(copy_source, &wanted), MAM_OK);
	return wanted.name;
}

static void use_way(int way, int device)
{
	void *block = way_alloc(way, MIB, device, one);

	ck_assert_ptr_nonnull(block);
	way_free(way, block, MIB, device, one);
}

START_TEST(torch_prefers_mapped_memory)
{
	start();
	use_way(_i, 0);
	ck_assert_str_eq(source_of(0), "vmm");
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(other_plugs_use_chunks)
{
	start();
	use_way(CUPY + _i, 0);
	ck_assert_str_eq(source_of(0), "cudamalloc");
}
END_TEST

/* Also if the driver does not report what the device can do. */
START_TEST(torch_uses_chunks_where_memory_cannot_be_mapped)
{
	if (_i == 0)
		setenv("FAKE_CUDA_VMM", "0", 1);
	else
		setenv("FAKE_CUDA_FAIL_AT", "cuDeviceGetAttribute:1+", 1);
	start();
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), "cudamalloc");
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(each_device_has_the_source_that_it_can_have)
{
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_VMM", "1", 1);
	start();
	use_way(0, 1 - _i);
	use_way(0, _i);
	ck_assert_str_eq(source_of(0), "vmm");
	ck_assert_str_eq(source_of(1), "cudamalloc");
	ck_assert_str_eq(logged(), "");
}
END_TEST

static const char *const words[] = { "vmm", "cudamalloc", "pinned", "managed", "host" };

#define WORDS ((int)COUNT_OF(words))

/* Otherwise the tests below leave one out. */
START_TEST(words_are_those_of_the_option)
{
	const struct mam_option_row *const *rows;
	char all[64] = "";
	size_t count;

	for (int i = 0; i < WORDS; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? "|" : "",
			 words[i]);
	rows = mam_options(&count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i]->name, "MAM_SOURCE") == 0)
			ck_assert_str_eq(rows[i]->values, all);
}
END_TEST

START_TEST(environment_decides_before_the_preference)
{
	setenv("MAM_SOURCE", words[_i], 1);
	start();
	ck_assert_int_eq(mam_plug_source(NULL), MAM_OK);
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), words[_i]);
}
END_TEST

START_TEST(call_decides_before_the_environment)
{
	setenv("MAM_SOURCE", words[(_i + 1) % WORDS], 1);
	start();
	ck_assert_int_eq(mam_plug_source(NULL), MAM_OK);
	ck_assert_int_eq(mam_plug_source(words[(_i + 2) % WORDS]), MAM_OK);
	ck_assert_int_eq(mam_plug_source(words[_i]), MAM_OK);
	ck_assert_int_eq(mam_plug_source(NULL), MAM_OK);
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), words[_i]);
}
END_TEST

/* The message about an invalid value says that the default is used. */
START_TEST(invalid_environment_means_the_default)
{
	setenv("MAM_SOURCE", "disk", 1);
	start();
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), "cudamalloc");
	ck_assert_ptr_nonnull(strstr(logged(), "'disk' of MAM_SOURCE"));
}
END_TEST

START_TEST(preference_serves_every_plug_that_asks)
{
	start();
	ck_assert_int_eq(mam_plug_source(NULL), MAM_OK);
	use_way(CUPY + _i, 0);
	ck_assert_str_eq(source_of(0), "vmm");
}
END_TEST

START_TEST(unknown_source_is_invalid)
{
	static const char *const unknown[] = { "",         "disk",      "VMM",  "vm",
					       "vmm|host", "simulated", "limit" };

	start();
	for (size_t i = 0; i < COUNT_OF(unknown); i++)
		ck_assert_int_eq(mam_plug_source(unknown[i]), MAM_ERROR_INVALID_VALUE);
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), "vmm");
}
END_TEST

START_TEST(first_default_pool_decides)
{
	struct mam_pool *pool;
	void *block;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	start();
	ck_assert_int_eq(mam_malloc(NULL, MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_plug_source(NULL), MAM_OK);
	ck_assert_int_eq(mam_plug_source("cudamalloc"), MAM_OK);
	ck_assert_int_eq(mam_plug_source("vmm"), MAM_ERROR_UNSUPPORTED);
	ck_assert_int_eq(mam_plug_source("host"), MAM_ERROR_UNSUPPORTED);
	use_way(0, 0);
	use_way(0, 1);
	ck_assert_str_eq(source_of(0), "cudamalloc");
	ck_assert_str_eq(source_of(1), "cudamalloc");
	/* Also after its end. */
	ck_assert_int_eq(mam_free(NULL, block), MAM_OK);
	ck_assert_int_eq(mam_pool_default(0, &pool), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_plug_source("vmm"), MAM_ERROR_UNSUPPORTED);
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), "cudamalloc");
}
END_TEST

/* A pool that cannot be created decides nothing. */
START_TEST(program_may_select_another_source_after_a_failure)
{
	setenv("FAKE_CUDA_VMM", "0", 1);
	start();
	ck_assert_int_eq(mam_plug_source("vmm"), MAM_OK);
	ck_assert_ptr_null(mam_torch_alloc((ssize_t)MIB, 0, one));
	ck_assert_ptr_nonnull(strstr(logged(), "cannot map memory"));
	ck_assert_int_eq(mam_plug_source("cudamalloc"), MAM_OK);
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), "cudamalloc");
}
END_TEST

/* A program's own pools have the source of their attributes. */
START_TEST(other_pools_are_not_affected)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct {
		struct mam_pool *pool;
		char name[16];
	} own = { NULL, "none" };

	start();
	ck_assert_int_eq(mam_plug_source("vmm"), MAM_OK);
	ck_assert_int_eq(mam_pool_create(&attr, &own.pool), MAM_OK);
	ck_assert_int_eq(mam_pool_each(copy_source, &own), MAM_OK);
	ck_assert_str_eq(own.name, "cudamalloc");
	ck_assert_int_eq(mam_plug_source("managed"), MAM_OK);
	use_way(0, 0);
	ck_assert_str_eq(source_of(0), "managed");
}
END_TEST

static void *select_and_use(void *argument)
{
	const char *source = argument;
	bool was_selected = false;
	void *block;

	for (int i = 0; i < ROUNDS; i++) {
		was_selected = mam_plug_source(source) == MAM_OK;
		if (i % 8 != 7)
			continue;
		block = mam_torch_pool_alloc((ssize_t)MIB, 0, NULL);
		ck_assert_ptr_nonnull(block);
		mam_torch_free(block, (ssize_t)MIB, 0, NULL);
	}
	return was_selected ? argument : NULL;
}

/* After the first pool was created, every thread gets the same result. */
START_TEST(threads_agree_on_one_source)
{
	static const char *const wanted[] = { "vmm", "cudamalloc", "managed", "vmm" };
	pthread_t threads[THREADS];
	void *result;

	start();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, select_and_use,
						(void *)(uintptr_t)wanted[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &result), 0);
		ck_assert_int_eq(result != NULL, strcmp(wanted[i], source_of(0)) == 0);
	}
}
END_TEST

/* Whichever call of the driver fails after it was loaded, the plug recovers, on either source. */
START_TEST(first_allocation_survives_failure_of_any_call)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *other;
	void *block, *again;

	start();
	ck_assert_int_eq(mam_pool_create(&attr, &other), MAM_OK);
	cuda.fake_fail((unsigned long)_i, 1);
	block = mam_torch_pool_alloc((ssize_t)MIB, 0, one);
	cuda.fake_fail(0, 0);
	again = mam_torch_pool_alloc((ssize_t)MIB, 0, one);
	ck_assert_ptr_nonnull(again);
	ck_assert_ptr_ne(again, block);
	mam_torch_free(again, (ssize_t)MIB, 0, one);
	mam_torch_free(block, (ssize_t)MIB, 0, one);
	ck_assert_uint_eq(stats().live_blocks, 0);
	ck_assert(strcmp(source_of(0), "vmm") == 0 || strcmp(source_of(0), "cudamalloc") == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/plug_source");
	TCase *tests = suite_case(suite, "source");

	tcase_add_checked_fixture(tests, set_up_source, tear_down);
	tcase_add_loop_test(tests, torch_prefers_mapped_memory, 0, TORCH_WAYS);
	tcase_add_loop_test(tests, other_plugs_use_chunks, 0, WAYS - CUPY);
	tcase_add_loop_test(tests, torch_uses_chunks_where_memory_cannot_be_mapped, 0, 2);
	tcase_add_loop_test(tests, each_device_has_the_source_that_it_can_have, 0, 2);
	tcase_add_test(tests, words_are_those_of_the_option);
	tcase_add_loop_test(tests, environment_decides_before_the_preference, 0, WORDS);
	tcase_add_loop_test(tests, call_decides_before_the_environment, 0, WORDS);
	tcase_add_test(tests, invalid_environment_means_the_default);
	tcase_add_loop_test(tests, preference_serves_every_plug_that_asks, 0, WAYS - CUPY);
	tcase_add_test(tests, unknown_source_is_invalid);
	tcase_add_test(tests, first_default_pool_decides);
	tcase_add_test(tests, program_may_select_another_source_after_a_failure);
	tcase_add_test(tests, other_pools_are_not_affected);
	tcase_add_test(tests, threads_agree_on_one_source);
	tcase_add_loop_test(tests, first_allocation_survives_failure_of_any_call, 1, CALLS);
	return suite_run(suite);
}
