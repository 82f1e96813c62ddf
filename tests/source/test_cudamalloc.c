/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory, on the fake driver: the right context on every thread, valid captures, threads
 * whose state is restored, and no leak when a driver call fails. Behavior that pinned and managed
 * memory share is tested here; test_whole.c has the rest.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "driven.h"

static struct mam_source *made(int device)
{
	return driven_source("cudamalloc", device);
}

START_TEST(properties_are_correct)
{
	struct mam_source *source;

	load_only();
	source = made(MAM_DEVICE_CURRENT);
	ck_assert_str_eq(source->properties.name, "cudamalloc");
	ck_assert_uint_eq(source->properties.granularity, 2 * MIB);
	ck_assert_uint_eq(source->properties.alignment, 2 * MIB);
	ck_assert_uint_eq(source->properties.total_bytes, 256 * MIB);
	ck_assert_int_eq(source->properties.device, 0);
	ck_assert(!source->properties.survives_fork);
	ck_assert_ptr_nonnull(source->ops->quiesce);
	mam_source_destroy(source);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

START_TEST(memory_is_allocated_and_freed)
{
	struct cuda cuda = load();
	struct mam_source *source = made(0);
	char *a = grown(source, 2 * MIB), *b = grown(source, 6 * MIB);
	size_t bytes;
	unsigned long long base;

	ck_assert_uint_eq((uintptr_t)a % (2 * MIB), 0);
	ck_assert_int_eq(cuda.cuMemGetAddressRange_v2(&base, &bytes, (uintptr_t)b + 5 * MIB),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(base, (uintptr_t)b);
	ck_assert_uint_eq(bytes, 6 * MIB);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, a, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, b, 6 * MIB), MAM_OK);
	mam_source_destroy(source);
	/* Two chunks, and for the wait one block that stays and one that is freed. */
	ck_assert_uint_eq(calls_of("cuMemAlloc", true), 4);
	ck_assert_uint_eq(calls_of("cuMemFree", true), 4);
	ck_assert_uint_eq(calls_of("cuCtxSynchronize", false), 0);
}
END_TEST

START_TEST(grow_is_bounded_by_device_memory)
{
	struct mam_source *source;
	size_t bytes = 0, rest;
	void *base = NULL, *other;

	load_only();
	source = made(0);
	ck_assert_int_eq(mam_source_grow(source, 258 * MIB, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(base);
	other = grown(source, 100 * MIB);
	ck_assert_uint_eq(mam_source_room(source), 156 * MIB);
	ck_assert_int_eq(mam_source_grow_largest(source, SIZE_MAX, &bytes, &base), MAM_OK);
	ck_assert_uint_eq(bytes, 156 * MIB);
	ck_assert_int_eq(mam_source_grow_largest(source, SIZE_MAX, &rest, &other),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_shrink(source, base, bytes), MAM_OK);
	mam_source_destroy(source);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

START_TEST(missing_device_is_rejected)
{
	struct mam_source *source = NULL;

	load_only();
	ck_assert_int_eq(mam_source_create("cudamalloc", 1, &source), MAM_ERROR_NO_DEVICE);
	ck_assert_int_eq(mam_source_create("cudamalloc", 1000000, &source), MAM_ERROR_NO_DEVICE);
	ck_assert_ptr_null(source);
	ck_assert_ptr_nonnull(strstr(contents(log_path), "the driver has no such device\n"));
}
END_TEST

START_TEST(thread_without_context_uses_primary_context)
{
	struct cuda cuda = load_only();
	struct mam_source *source = made(MAM_DEVICE_CURRENT);
	unsigned int flags;
	int active = 0;

	ck_assert_ptr_null(current(&cuda));
	mam_source_shrink(source, grown(source, 2 * MIB), 2 * MIB);
	ck_assert_ptr_null(current(&cuda));
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
	ck_assert_int_eq(active, 1);
	mam_source_destroy(source);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
	ck_assert_int_eq(active, 0);
	ck_assert_uint_eq(calls_of("cuCtxPushCurrent", true), 2);
	ck_assert_uint_eq(calls_of("cuCtxPopCurrent", true), 2);
}
END_TEST

START_TEST(source_is_bound_to_current_context)
{
	struct cuda cuda = load();
	struct CUctx_st *own, *owner, *below = current(&cuda);
	struct mam_source *source;
	void *base;

	ck_assert_int_eq(cuda.cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
	ck_assert_ptr_eq(current(&cuda), own);
	source = made(_i == 0 ? MAM_DEVICE_CURRENT : 0);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	base = grown(source, 2 * MIB);
	ck_assert_ptr_eq(current(&cuda), below);
	ck_assert_int_eq(cuda.cuPointerGetAttribute(&owner, 1 /* context */, (uintptr_t)base),
			 CUDA_SUCCESS);
	ck_assert_ptr_eq(owner, own);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(own), CUDA_SUCCESS);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	ck_assert_ptr_eq(current(&cuda), own);
	mam_source_destroy(source);
	ck_assert_uint_eq(calls_of("cuCtxPushCurrent", true), 1);
	/* load() retained it once; the source did not. */
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRetain", true), 1);
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRelease", true), 0);
}
END_TEST

START_TEST(source_can_use_other_device)
{
	struct cuda cuda;
	struct CUctx_st *before;
	struct mam_source *source;
	int ordinal = -1;
	void *base;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_MEMORY", "256M,64M", 1);
	cuda = load();
	before = current(&cuda);
	source = made(1);
	ck_assert_int_eq(source->properties.device, 1);
	ck_assert_uint_eq(source->properties.total_bytes, 64 * MIB);
	base = grown(source, 2 * MIB);
	ck_assert_int_eq(cuda.cuPointerGetAttribute(&ordinal, 9 /* device */, (uintptr_t)base),
			 CUDA_SUCCESS);
	ck_assert_int_eq(ordinal, 1);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	ck_assert_ptr_eq(current(&cuda), before);
	mam_source_destroy(source);
}
END_TEST

/* In each capture mode, with and without the context being current. */
START_TEST(capture_survives_grow_and_shrink)
{
	struct cuda cuda = load();
	struct mam_source *source = made(0);
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	struct CUctx_st *context = current(&cuda);
	const bool is_current = _i % 2;
	int status = -1;
	void *base;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, _i / 2), CUDA_SUCCESS);
	if (!is_current)
		ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	base = grown(source, 2 * MIB);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 256 * MIB);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	mam_source_destroy(source);
}
END_TEST

START_TEST(capture_mode_is_restored)
{
	struct cuda cuda = load();
	struct mam_source *source = made(0);
	int mode = _i;

	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	mam_source_shrink(source, grown(source, 2 * MIB), 2 * MIB);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	mode = 0;
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(mode, _i);
	mam_source_destroy(source);
}
END_TEST

/* All calls in the life of a source; each result must be one that the contract permits. */
static void live_once(void)
{
	struct mam_source *source;
	enum mam_status status = mam_source_create("cudamalloc", MAM_DEVICE_CURRENT, &source);
	size_t bytes;
	void *base, *largest;

	ck_assert(status == MAM_OK || status == MAM_ERROR_NO_DEVICE || status == MAM_ERROR_DRIVER);
	if (status != MAM_OK)
		return;
	status = mam_source_grow(source, 2 * MIB, &base);
	if (status == MAM_OK) {
		mam_source_quiesce(source);
		/* If the driver refused, the source still owns the memory, so the test retries. */
		if (mam_source_shrink(source, base, 2 * MIB) != MAM_OK)
			ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	}
	status = mam_source_grow_largest(source, SIZE_MAX, &bytes, &largest);
	if (status == MAM_OK && mam_source_shrink(source, largest, bytes) != MAM_OK)
		ck_assert_int_eq(mam_source_shrink(source, largest, bytes), MAM_OK);
	mam_source_destroy(source);
}

#define CALLS 60 /* more than one life makes */

START_TEST(source_survives_failure_of_any_call)
{
	const bool fails = _i < CALLS;
	struct CUctx_st *context;
	unsigned int exchanges;
	struct cuda cuda;
	char rule[32];

	snprintf(rule, sizeof(rule), "*:%d:999", _i);
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
	cuda = load_only();
	live_once();
	/* Chunks are freed. A small block of the wait leaks if the driver fails to free it. */
	ck_assert_uint_le(calls_of("cuMemAlloc", true), calls_of("cuMemFree", true) + fails);
	ck_assert_uint_eq(calls_of("cuCtxPushCurrent", true), calls_of("cuCtxPopCurrent", false));
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRetain", true),
			  calls_of("cuDevicePrimaryCtxRelease", false));
	/*
	 * Each entry into the driver changes the mode and restores it, except an entry that could
	 * not.
	 */
	exchanges = calls_of("cuThreadExchangeStreamCaptureMode", false);
	if (exchanges % 2)
		ck_assert_uint_eq(calls_of("cuThreadExchangeStreamCaptureMode", true),
				  exchanges - 1);
	/* A failure is reported in one line, or not at all if it had no effect. */
	contents(log_path);
	ck_assert_ptr_eq(strchr(text, '\n'), text[0] ? text + strlen(text) - 1 : NULL);
	if (!fails) {
		ck_assert_str_eq(text, "");
		ck_assert_int_eq(cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
		ck_assert_ptr_null(context);
	}
}
END_TEST

START_TEST(one_life_makes_fewer_calls_than_tested)
{
	unsigned int lines = 0;

	load_only();
	live_once();
	contents(calls_path);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	ck_assert_uint_gt(lines, 20);
	ck_assert_uint_lt(lines, CALLS);
}
END_TEST

/* Which call fails with which result, what the source's call returns, and what is logged. */
static const struct {
	const char *rule;
	enum mam_status grow, quiesce, shrink;
	const char *report;
} failures[] = {
	{ "cuMemAlloc:1:2", MAM_ERROR_OUT_OF_MEMORY, MAM_OK, MAM_OK, "" },
	{ "cuMemAlloc:1:700", MAM_ERROR_DRIVER, MAM_OK, MAM_OK, "cuMemAlloc returned" },
	{ "cuMemAlloc:1:4", MAM_ERROR_DRIVER, MAM_OK, MAM_OK, "cuMemAlloc returned" },
	{ "cuMemAlloc:2:700", MAM_OK, MAM_ERROR_DRIVER, MAM_OK, "cuMemAlloc returned" },
	{ "cuMemAlloc:2:4", MAM_OK, MAM_OK, MAM_OK, "" },
	{ "cuMemAlloc:2:2,cuMemHostAlloc:1:700", MAM_OK, MAM_ERROR_DRIVER, MAM_OK,
	  "cuMemHostAlloc returned" },
	{ "cuMemAlloc:2:2,cuMemFreeHost:1:700", MAM_OK, MAM_ERROR_DRIVER, MAM_OK,
	  "cuMemFreeHost returned" },
	{ "cuMemAlloc:2:2,cuMemHostAlloc:1:2,cuCtxSynchronize:1:700", MAM_OK, MAM_ERROR_DRIVER,
	  MAM_OK, "cuCtxSynchronize returned" },
	{ "cuMemAlloc:2:2,cuMemHostAlloc:1:2,cuCtxSynchronize:1:4", MAM_OK, MAM_OK, MAM_OK, "" },
	{ "cuMemFree:1:1", MAM_OK, MAM_ERROR_DRIVER, MAM_OK, "cuMemFree returned" },
	{ "cuMemFree:1:4", MAM_OK, MAM_OK, MAM_OK, "" },
	{ "cuMemFree:2:1", MAM_OK, MAM_OK, MAM_ERROR_DRIVER, "cuMemFree returned" },
	{ "cuMemFree:2:4", MAM_OK, MAM_OK, MAM_OK, "" },
	{ "cuCtxPushCurrent:1:709", MAM_ERROR_DRIVER, MAM_OK, MAM_OK, "cuCtxPushCurrent returned" },
	{ "cuCtxPushCurrent:2:4", MAM_OK, MAM_OK, MAM_OK, "" },
};

START_TEST(driver_failures_map_to_statuses)
{
	struct mam_source *source;
	enum mam_status status;
	void *base;

	setenv("FAKE_CUDA_FAIL_AT", failures[_i].rule, 1);
	load_only();
	source = made(0);
	status = mam_source_grow(source, 2 * MIB, &base);
	ck_assert_int_eq(status, failures[_i].grow);
	if (status != MAM_OK)
		base = grown(source, 2 * MIB);
	ck_assert_int_eq(mam_source_quiesce(source), failures[_i].quiesce);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), failures[_i].shrink);
	contents(log_path);
	if (failures[_i].report[0])
		ck_assert_ptr_nonnull(strstr(text, failures[_i].report));
	else
		ck_assert_str_eq(text, "");
	mam_source_destroy(source);
}
END_TEST

static void *use(void *user)
{
	struct mam_source *source = user;

	for (int i = 0; i < 50; i++) {
		void *base;

		if (mam_source_grow(source, 2 * MIB, &base) != MAM_OK ||
		    mam_source_quiesce(source) != MAM_OK ||
		    mam_source_shrink(source, base, 2 * MIB) != MAM_OK)
			return NULL;
	}
	return user;
}

START_TEST(threads_share_one_source)
{
	struct mam_source *source;
	pthread_t threads[4];
	void *result;

	load();
	source = made(0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use, source), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		ck_assert_ptr_nonnull(result);
	}
	/* All except the slab of the small block that the waits keep. */
	ck_assert_uint_eq(mam_source_room(source), 254 * MIB);
	mam_source_destroy(source);
}
END_TEST

START_TEST(child_of_fork_makes_no_driver_call)
{
	struct mam_source *source;
	unsigned int calls = 0;
	void *base;
	int status;
	pid_t child;

	load_only();
	source = made(0);
	base = grown(source, 2 * MIB);
	contents(calls_path);
	calls = (unsigned int)strlen(text);
	child = fork();
	if (child == 0) {
		struct mam_source *other;
		void *more;
		bool refused;

		refused = mam_source_grow(source, 2 * MIB, &more) == MAM_ERROR_NO_DEVICE &&
			  mam_source_quiesce(source) == MAM_ERROR_NO_DEVICE &&
			  mam_source_shrink(source, base, 2 * MIB) == MAM_ERROR_NO_DEVICE &&
			  mam_source_create("cudamalloc", 0, &other) == MAM_ERROR_NO_DEVICE;
		mam_source_destroy(source);
		_exit(refused ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(strlen(contents(calls_path)), calls);
	ck_assert_ptr_nonnull(strstr(contents(log_path), "does not survive a fork"));
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/cudamalloc");
	TCase *memory = tcase_create("memory");
	TCase *contexts = tcase_create("contexts");
	TCase *failing = tcase_create("failing");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(memory, set_up, tear_down);
	tcase_add_test(memory, properties_are_correct);
	tcase_add_test(memory, memory_is_allocated_and_freed);
	tcase_add_test(memory, grow_is_bounded_by_device_memory);
	tcase_add_test(memory, missing_device_is_rejected);
	tcase_add_test(memory, threads_share_one_source);
	suite_add_tcase(suite, memory);
	tcase_add_checked_fixture(contexts, set_up, tear_down);
	tcase_add_test(contexts, thread_without_context_uses_primary_context);
	tcase_add_loop_test(contexts, source_is_bound_to_current_context, 0, 2);
	tcase_add_test(contexts, source_can_use_other_device);
	tcase_add_loop_test(contexts, capture_survives_grow_and_shrink, 0, 6);
	tcase_add_loop_test(contexts, capture_mode_is_restored, 0, 3);
	suite_add_tcase(suite, contexts);
	tcase_add_checked_fixture(failing, set_up, tear_down);
	tcase_set_timeout(failing, 60);
	tcase_add_loop_test(failing, source_survives_failure_of_any_call, 1, CALLS + 1);
	tcase_add_test(failing, one_life_makes_fewer_calls_than_tested);
	tcase_add_loop_test(failing, driver_failures_map_to_statuses, 0,
			    sizeof(failures) / sizeof(failures[0]));
	tcase_add_test(failing, child_of_fork_makes_no_driver_call);
	suite_add_tcase(suite, failing);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
