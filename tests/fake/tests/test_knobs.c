/* SPDX-License-Identifier: Apache-2.0 */
/* test_knobs.c - failures on demand, the log, and invalid settings. */
#include "fake/load.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

START_TEST(nth_call_of_function_fails)
{
	struct cuda cuda;
	unsigned long long address;

	setenv("FAKE_CUDA_FAIL_AT", "cuMemAlloc:2", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
}
END_TEST

START_TEST(plus_fails_all_calls_from_nth)
{
	struct cuda cuda;
	unsigned long long address;

	setenv("FAKE_CUDA_FAIL_AT", "cuMemAlloc:2+,cuMemFree:1:700", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), 700);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(kill_ends_process)
{
	struct cuda cuda;
	unsigned long long address;

	setenv("FAKE_CUDA_FAIL_AT", "cuMemAlloc:2:kill", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
	cuda.cuMemAlloc_v2(&address, 1);
}
END_TEST

START_TEST(star_counts_every_call)
{
	struct cuda cuda;
	unsigned long long address;

	setenv("FAKE_CUDA_FAIL_AT", "*:5", 1);
	cuda = load(); /* three calls */
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_UNKNOWN);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
}
END_TEST

static void *allocate(void *argument)
{
	struct cuda *cuda = argument;
	struct CUctx_st *context;

	cuda->cuDevicePrimaryCtxRetain(&context, 0);
	cuda->cuCtxSetCurrent(context);
	for (int i = 0; i < 100; i++) {
		unsigned long long address;

		cuda->cuMemAlloc_v2(&address, 512);
		cuda->cuMemFree_v2(address);
	}
	return NULL;
}

START_TEST(log_has_one_line_per_call)
{
	char path[] = "/tmp/fake-cuda-log.XXXXXX", line[512];
	int descriptor = mkstemp(path), lines = 0, allocations = 0;
	pthread_t threads[4];
	struct cuda cuda;
	FILE *log;

	ck_assert_int_ge(descriptor, 0);
	setenv("FAKE_CUDA_LOG", path, 1);
	cuda = load();
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate, &cuda), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	log = fdopen(descriptor, "r");
	ck_assert_ptr_nonnull(log);
	while (fgets(line, sizeof(line), log)) {
		lines++;
		ck_assert_msg(strncmp(line, "cu", 2) == 0 && strstr(line, " result=0\n") != NULL,
			      "%s", line);
		allocations += strncmp(line, "cuMemAlloc bytes=512 address=0x", 31) == 0;
	}
	fclose(log);
	unlink(path);
	ck_assert_int_eq(lines, 3 + 4 * 202);
	ck_assert_int_eq(allocations, 400);
}
END_TEST

static const struct {
	const char *name, *value;
} unreadable[] = {
	{ "FAKE_CUDA_DEVICES", "9" },
	{ "FAKE_CUDA_DEVICES", "two" },
	{ "FAKE_CUDA_FIRST", "9" },
	{ "FAKE_CUDA_MEMORY", "1G,x" },
	{ "FAKE_CUDA_MEMORY", "0" },
	{ "FAKE_CUDA_LINKS", "0-1" },
	{ "FAKE_CUDA_LINKS", "0-0:pcie" },
	{ "FAKE_CUDA_LINKS", "0-8:pcie" },
	{ "FAKE_CUDA_LINKS", "0-1:pcie,2" },
	{ "FAKE_CUDA_LINKS", "0-1:pcie:-1" },
	{ "FAKE_CUDA_LINKS", "0-1:pcie:3ms" },
	{ "FAKE_CUDA_LINKS", "0-1:wire:3" },
	{ "FAKE_CUDA_FAIL_AT", "cuMemAlloc" },
	{ "FAKE_CUDA_FAIL_AT", "cuMemAlloc:0" },
	{ "FAKE_CUDA_LAG_US", "-1" },
	{ "FAKE_CUDA_LOG", "/no/such/folder/log" },
	{ "FAKE_CUDA_LAG_RANDOM", "seed" },
	{ "FAKE_CUDA_STICKY_AFTER", "cuMemAlloc" },
	{ "FAKE_CUDA_VERSION", "12.4" },
	{ "FAKE_CUDA_STICKY_AFTER", "cuMemAlloc:1+" },
	{ "FAKE_CUDA_VMM", "9" },
};

START_TEST(invalid_setting_ends_program)
{
	struct cuda cuda;

	ck_assert(freopen("/dev/null", "w", stderr) != NULL);
	setenv(unreadable[_i].name, unreadable[_i].value, 1);
	cuda = load_only();
	cuda.cuInit(0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, nth_call_of_function_fails);
	tcase_add_test(tests, plus_fails_all_calls_from_nth);
	tcase_add_test_raise_signal(tests, kill_ends_process, SIGKILL);
	tcase_add_test(tests, star_counts_every_call);
	tcase_add_test(tests, log_has_one_line_per_call);
	tcase_add_loop_exit_test(tests, invalid_setting_ends_program, 2, 0,
				 sizeof(unreadable) / sizeof(unreadable[0]));
}

int main(void)
{
	return run_suite("fake/knobs", add);
}
