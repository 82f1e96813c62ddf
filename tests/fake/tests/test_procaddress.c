/* SPDX-License-Identifier: Apache-2.0 */
/* test_procaddress.c - cuGetProcAddress: base name, version, flags. */
#include "fake/load.h"

static void *find(const struct cuda *cuda, const char *symbol, int version, uint64_t flags,
		  int *status)
{
	void *function = &function;

	*status = -1;
	ck_assert_int_eq(cuda->cuGetProcAddress_v2(symbol, &function, version, flags, status),
			 CUDA_SUCCESS);
	return function;
}

START_TEST(base_name_returns_version_of_function)
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

START_TEST(version_older_than_function_is_too_old)
{
	struct cuda cuda = load_only();
	int status;

	ck_assert_ptr_null(find(&cuda, "cuMemAllocAsync", 11010, 0, &status));
	ck_assert_int_eq(status, PROC_TOO_NEW);
}
END_TEST

START_TEST(suffixed_and_empty_names_are_unknown)
{
	struct cuda cuda = load_only();
	int status;

	ck_assert_ptr_null(find(&cuda, "cuMemAlloc_v2", 13000, 0, &status));
	ck_assert_int_eq(status, PROC_UNKNOWN);
	ck_assert_ptr_null(find(&cuda, "", 0, 0, &status));
	ck_assert_int_eq(status, PROC_UNKNOWN);
}
END_TEST

START_TEST(version_newer_than_driver_is_invalid)
{
	struct cuda cuda = load_only();
	void *function;
	int status;

	ck_assert_int_eq(cuda.cuGetProcAddress_v2("cuMemAlloc", &function, 13010, 0, &status),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(per_thread_streams_have_own_functions)
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

START_TEST(first_version_returns_error_if_not_found)
{
	struct cuda cuda = load_only();
	void *function;

	ck_assert_int_eq(cuda.cuGetProcAddress("cuMemAlloc", &function, 11030, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGetProcAddress("cuNoSuch", &function, 11030, 0),
			 CUDA_ERROR_NOT_FOUND);
}
END_TEST

START_TEST(every_stream_function_has_per_thread_version)
{
	static const struct {
		const char *base, *symbol;
		int version;
	} forms[] = {
		{ "cuMemAllocAsync", "cuMemAllocAsync_ptsz", 11020 },
		{ "cuMemFreeAsync", "cuMemFreeAsync_ptsz", 11020 },
		{ "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync_ptsz", 11020 },
		{ "cuStreamBeginCapture", "cuStreamBeginCapture_ptsz", 10000 },
		{ "cuStreamBeginCapture", "cuStreamBeginCapture_v2_ptsz", 10010 },
		{ "cuStreamBeginCaptureToGraph", "cuStreamBeginCaptureToGraph_ptsz", 12030 },
		{ "cuStreamEndCapture", "cuStreamEndCapture_ptsz", 10000 },
		{ "cuStreamIsCapturing", "cuStreamIsCapturing_ptsz", 10000 },
	};
	struct cuda cuda = load_only();
	int status;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		void *found = find(&cuda, forms[i].base, forms[i].version, PROC_PER_THREAD_STREAM,
				   &status);

		ck_assert_int_eq(status, PROC_FOUND);
		ck_assert_ptr_nonnull(found);
		ck_assert_ptr_eq(found, dlsym(cuda.library, forms[i].symbol));
	}
}
END_TEST

START_TEST(older_driver_lacks_later_functions)
{
	struct cuda cuda;
	int status, version = 0;

	setenv("FAKE_CUDA_VERSION", "12040", 1);
	cuda = load_only();
	ck_assert_ptr_null(find(&cuda, "cuCtxRecordEvent", 12040, 0, &status));
	ck_assert_int_eq(status, PROC_UNKNOWN);
	ck_assert_ptr_nonnull(find(&cuda, "cuGreenCtxCreate", 12040, 0, &status));
	cuda.cuDriverGetVersion(&version);
	ck_assert_int_eq(version, 12040);
}
END_TEST

/* The second build: a driver of CUDA 12.4, by cuGetProcAddress and by dlsym. */
START_TEST(old_library_lacks_context_event)
{
	static const char *const later[] = { "cuCtxRecordEvent", "cuCtxCreate_v4",
					     "cuCtxSynchronize_v2", "cuCtxGetDevice_v2",
					     "cuGreenCtxStreamCreate" };
	const char *build = getenv("MAM_BUILDDIR");
	__typeof__(cuGetProcAddress_v2) *get;
	__typeof__(cuDriverGetVersion) *get_version;
	char path[4096];
	void *library, *found;
	int status, version = 0;

	snprintf(path, sizeof(path), "%s/tests/fake/old/libcuda.so.1", build ? build : ".");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		ck_assert_msg(!dlsym(library, later[i]), "%s exists", later[i]);
	ck_assert_ptr_nonnull(dlsym(library, "cuMemAlloc_v2"));
	ck_assert_ptr_nonnull(dlsym(library, "cuMemAllocAsync_ptsz"));
	get_version = (__typeof__(get_version))dlsym(library, "cuDriverGetVersion");
	get_version(&version);
	ck_assert_int_eq(version, 12040);
	get = (__typeof__(get))dlsym(library, "cuGetProcAddress_v2");
	ck_assert_int_eq(get("cuCtxRecordEvent", &found, 12040, 0, &status), CUDA_SUCCESS);
	ck_assert_ptr_null(found);
	ck_assert_int_eq(get("cuCtxRecordEvent", &found, 12050, 0, &status),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(get("cuMemAlloc", &found, 12040, 0, &status), CUDA_SUCCESS);
	ck_assert_ptr_eq(found, dlsym(library, "cuMemAlloc_v2"));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, every_stream_function_has_per_thread_version);
	tcase_add_test(tests, older_driver_lacks_later_functions);
	tcase_add_test(tests, old_library_lacks_context_event);
	tcase_add_test(tests, base_name_returns_version_of_function);
	tcase_add_test(tests, version_older_than_function_is_too_old);
	tcase_add_test(tests, suffixed_and_empty_names_are_unknown);
	tcase_add_test(tests, version_newer_than_driver_is_invalid);
	tcase_add_test(tests, per_thread_streams_have_own_functions);
	tcase_add_test(tests, first_version_returns_error_if_not_found);
}

int main(void)
{
	return run_suite("fake/procaddress", add);
}
