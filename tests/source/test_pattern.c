/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pattern.c - <mam/pattern.h>: arguments and refusals on any machine, the kernels where a GPU
 * is available.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include <mam/pattern.h>

#include "source/driver.h"
#include "source/pattern.h"

#define BYTES ((size_t)(3 << 20) + 5) /* more words than threads, and a tail of five bytes */

static const struct mam_driver *driver;
static struct mam_pool *pool;
static unsigned char *block;
static unsigned char host[BYTES];

/* With a driver but no GPU code, or with a fake driver, only refusals are tested. */
static bool has_kernels(void)
{
	void *probe = NULL;
	bool works;

	if (mam_malloc(NULL, 4096, &probe) != MAM_OK)
		return false;
	works = mam_pattern_fill(probe, 4096, 1) == MAM_OK;
	mam_free(NULL, probe);
	return works;
}

static void setup(void)
{
	struct CUctx_st *context;
	void *made;

	ck_assert_uint_eq(mam_pool_create(NULL, &pool), MAM_OK);
	ck_assert_uint_eq(mam_malloc(pool, BYTES + 64, &made), MAM_OK);
	/*
	 * Only this test's own copies need a current context; mam finds the block's context by
	 * itself.
	 */
	ck_assert_uint_eq(mam_driver_get(&driver), MAM_OK);
	ck_assert_uint_eq(driver->device_primary_ctx_retain(&context, 0), 0);
	ck_assert_uint_eq(driver->ctx_push_current(context), 0);
	block = made;
	ck_assert_uint_eq(driver->memset_d8((uintptr_t)block, 0xee, BYTES + 64), 0);
}

static void teardown(void)
{
	struct CUctx_st *context;

	ck_assert_uint_eq(driver->ctx_pop_current(&context), 0);
	ck_assert_uint_eq(driver->device_primary_ctx_release(0), 0);
	ck_assert_uint_eq(mam_free(pool, block), MAM_OK);
	ck_assert_uint_eq(mam_pool_destroy(pool), MAM_OK);
}

START_TEST(empty_block_is_intact)
{
	bool intact = false;
	size_t bad = 7;

	ck_assert_uint_eq(mam_pattern_fill(NULL, 0, 1), MAM_OK);
	ck_assert_uint_eq(mam_pattern_check(NULL, 0, 1, &intact, &bad), MAM_OK);
	ck_assert(intact);
	ck_assert_uint_eq(bad, 7);
}
END_TEST

START_TEST(invalid_arguments_are_rejected_first)
{
	const uintptr_t end = UINTPTR_MAX & ~(uintptr_t)7;
	bool intact = false;

	ck_assert_uint_eq(mam_pattern_fill(NULL, 8, 1), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(mam_pattern_fill((void *)(uintptr_t)0x1004, 8, 1),
			  MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(mam_pattern_fill((void *)end, 4096, 1), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(mam_pattern_check(NULL, 8, 1, &intact, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(mam_pattern_check((void *)(uintptr_t)0x1000, 8, 1, NULL, NULL),
			  MAM_ERROR_INVALID_VALUE);
	ck_assert(!intact);
}
END_TEST

START_TEST(host_memory_is_rejected)
{
	static unsigned long long on_host[4] = { 1, 2, 3, 4 };
	enum mam_status status = mam_pattern_fill(on_host, sizeof(on_host), 1);

#ifdef MAM_HAVE_KERNELS
	if (mam_driver_get(&driver) != MAM_OK)
		ck_assert_uint_eq(status, MAM_ERROR_NO_DEVICE);
	else
		ck_assert_uint_ne(status, MAM_OK);
#else
	ck_assert_uint_eq(status, MAM_ERROR_UNSUPPORTED);
#endif
	ck_assert_uint_eq(on_host[0], 1);
	ck_assert_uint_eq(on_host[3], 4);
}
END_TEST

START_TEST(words_differ_by_seed_and_index)
{
	ck_assert_uint_ne(mam_pattern_word(1, 0), mam_pattern_word(2, 0));
	ck_assert_uint_ne(mam_pattern_word(1, 0), mam_pattern_word(1, 1));
	/* The content of one block does not match another block at a nearby address. */
	for (unsigned long long i = 0; i < 1000; i++)
		for (unsigned long long near = 0; near < 8; near++)
			ck_assert_uint_ne(mam_pattern_word(1, i), mam_pattern_word(2, near));
}
END_TEST

START_TEST(fill_writes_exactly_the_block)
{
	unsigned char after = 0;

	ck_assert_uint_eq(mam_pattern_fill(block, BYTES, 42), MAM_OK);
	ck_assert_uint_eq(driver->memcpy_dtoh(host, (uintptr_t)block, BYTES), 0);
	for (size_t at = 0; at < BYTES; at++) {
		const unsigned char wanted =
			(unsigned char)(mam_pattern_word(42, at / 8) >> (at % 8 * 8));

		if (host[at] != wanted)
			ck_abort_msg("offset %zu holds %#x, not %#x", at, host[at], wanted);
	}
	ck_assert_uint_eq(driver->memcpy_dtoh(&after, (uintptr_t)block + BYTES, 1), 0);
	ck_assert_uint_eq(after, 0xee);
}
END_TEST

START_TEST(check_finds_lowest_bad_byte)
{
	static const size_t places[] = { 0, 1, 7, 8, 4095, (3 << 20) - 1, BYTES - 5, BYTES - 1 };
	bool intact = false;
	size_t bad = 0;

	ck_assert_uint_eq(mam_pattern_fill(block, BYTES, 43), MAM_OK);
	ck_assert_uint_eq(mam_pattern_check(block, BYTES, 43, &intact, &bad), MAM_OK);
	ck_assert(intact);
	/* From the last to the first, so that each time the lowest of several must be reported. */
	for (size_t i = sizeof(places) / sizeof(places[0]); i-- > 0;) {
		const unsigned long long address = (uintptr_t)block + places[i];
		unsigned char byte;

		ck_assert_uint_eq(driver->memcpy_dtoh(&byte, address, 1), 0);
		byte ^= 0x10;
		ck_assert_uint_eq(driver->memcpy_htod(address, &byte, 1), 0);
		ck_assert_uint_eq(mam_pattern_check(block, BYTES, 43, &intact, &bad), MAM_OK);
		ck_assert(!intact);
		ck_assert_uint_eq(bad, places[i]);
	}
}
END_TEST

START_TEST(check_detects_other_seed)
{
	bool intact = true;

	ck_assert_uint_eq(mam_pattern_fill(block, BYTES, 44), MAM_OK);
	ck_assert_uint_eq(mam_pattern_check(block, BYTES, 45, &intact, NULL), MAM_OK);
	ck_assert(!intact);
}
END_TEST

START_TEST(interior_addresses_are_accepted)
{
	bool intact = false;

	ck_assert_uint_eq(mam_pattern_fill(block + 8, 3, 46), MAM_OK);
	ck_assert_uint_eq(mam_pattern_check(block + 8, 3, 46, &intact, NULL), MAM_OK);
	ck_assert(intact);
	ck_assert_uint_eq(driver->memcpy_dtoh(host, (uintptr_t)block, 16), 0);
	ck_assert_uint_eq(host[7], 0xee);
	ck_assert_uint_eq(host[11], 0xee);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pattern");
	TCase *anywhere = tcase_create("anywhere");
	TCase *on_gpu;
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(anywhere, empty_block_is_intact);
	tcase_add_test(anywhere, invalid_arguments_are_rejected_first);
	tcase_add_test(anywhere, host_memory_is_rejected);
	tcase_add_test(anywhere, words_differ_by_seed_and_index);
	suite_add_tcase(suite, anywhere);

	/* CUDA does not survive the fork in which Check runs a test. */
	srunner_set_fork_status(runner, CK_NOFORK);
	if (has_kernels()) {
		on_gpu = tcase_create("on a GPU");
		tcase_add_checked_fixture(on_gpu, setup, teardown);
		tcase_add_test(on_gpu, fill_writes_exactly_the_block);
		tcase_add_test(on_gpu, check_finds_lowest_bad_byte);
		tcase_add_test(on_gpu, check_detects_other_seed);
		tcase_add_test(on_gpu, interior_addresses_are_accepted);
		suite_add_tcase(suite, on_gpu);
	} else {
		puts("skip - pattern kernels: no GPU available");
	}
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
