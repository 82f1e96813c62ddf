/* SPDX-License-Identifier: Apache-2.0 */
/* test_procaddress.c - cuGetProcAddress: base name, version, flags. */
#include "load.h"

static void *find(const struct cuda *cuda, const char *symbol, int version, uint64_t flags,
		  int *status)
{
	void *function = &function;

	*status = -1;
	ck_assert_int_eq(cuda->cuGetProcAddress_v2(symbol, &function, version, flags, status),
			 CUDA_SUCCESS);
	return function;
}

START_TEST(a_base_name_gives_the_form_of_its_version)
{
	struct cuda cuda = load_only();
	int status;

	ck_assert_ptr_eq(find(&cuda, "cuMemAlloc", 3020, 0, &status), (void *)cuda.cuMemAlloc_v2);
	ck_assert_int_eq(status, PROC_FOUND);
	ck_assert_ptr_eq(find(&cuda, "cuMemAlloc", 13000, 0, &status), (void *)cuda.cuMemAlloc_v2);
	ck_assert_ptr_eq(find(&cuda, "cuGetProcAddress", 11030, 0, &status),
			 (void *)cuda.cuGetProcAddress);
	ck_assert_ptr_eq(find(&cuda, "cuGetProcAddress", 12000, 0, &status),
			 (void *)cuda.cuGetProcAddress_v2);
}
END_TEST

START_TEST(a_version_before_the_function_is_too_old)
{
	struct cuda cuda = load_only();
	int status;

	ck_assert_ptr_null(find(&cuda, "cuMemAllocAsync", 11010, 0, &status));
	ck_assert_int_eq(status, PROC_TOO_NEW);
}
END_TEST

START_TEST(names_with_a_suffix_and_no_name_are_unknown)
{
	struct cuda cuda = load_only();
	int status;

	ck_assert_ptr_null(find(&cuda, "cuMemAlloc_v2", 13000, 0, &status));
	ck_assert_int_eq(status, PROC_UNKNOWN);
	ck_assert_ptr_null(find(&cuda, "", 0, 0, &status));
	ck_assert_int_eq(status, PROC_UNKNOWN);
}
END_TEST

START_TEST(a_version_newer_than_the_driver_is_invalid)
{
	struct cuda cuda = load_only();
	void *function;
	int status;

	ck_assert_int_eq(cuda.cuGetProcAddress_v2("cuMemAlloc", &function, 13010, 0, &status),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(per_thread_streams_have_forms_of_their_own)
{
	struct cuda cuda = load_only();
	void *plain, *per_thread;
	int status;

	plain = find(&cuda, "cuMemAllocAsync", 11020, PROC_DEFAULT, &status);
	per_thread = find(&cuda, "cuMemAllocAsync", 11020, PROC_PER_THREAD_STREAM, &status);
	ck_assert_ptr_eq(plain, (void *)cuda.cuMemAllocAsync);
	ck_assert_ptr_eq(per_thread, dlsym(cuda.library, "cuMemAllocAsync_ptsz"));
	ck_assert_ptr_ne(per_thread, plain);
	ck_assert_ptr_eq(find(&cuda, "cuMemAlloc", 3020, PROC_PER_THREAD_STREAM, &status),
			 (void *)cuda.cuMemAlloc_v2);
}
END_TEST

START_TEST(the_first_form_says_not_found_by_its_result)
{
	struct cuda cuda = load_only();
	void *function;

	ck_assert_int_eq(cuda.cuGetProcAddress("cuMemAlloc", &function, 11030, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGetProcAddress("cuNoSuch", &function, 11030, 0),
			 CUDA_ERROR_NOT_FOUND);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_base_name_gives_the_form_of_its_version);
	tcase_add_test(tests, a_version_before_the_function_is_too_old);
	tcase_add_test(tests, names_with_a_suffix_and_no_name_are_unknown);
	tcase_add_test(tests, a_version_newer_than_the_driver_is_invalid);
	tcase_add_test(tests, per_thread_streams_have_forms_of_their_own);
	tcase_add_test(tests, the_first_form_says_not_found_by_its_result);
}

int main(void)
{
	return run_suite("fake/procaddress", add);
}
