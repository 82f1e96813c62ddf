/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer.c - what the tracer writes for events that no program produces on demand: addresses
 * that are reused without a free, frees of foreign pointers, disks that fill up during a run.
 *
 * The rest of the interposer is simulated here. Each test runs in a process of its own.
 */
#include "interpose/watch/tracer.h"

#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

#define BASE 0x7f0000000000u

_Atomic unsigned int mam_watch_bits;
static bool has_zlib = true;

void mam_watch_start(unsigned int bits)
{
	mam_watch_bits |= bits;
}

void mam_watch_stop(unsigned int bits)
{
	mam_watch_bits &= ~bits;
}

atomic_int mam_init_state;

bool mam_init_is_off_slow(void)
{
	return false;
}

bool mam_init_is_awake(void)
{
	return true;
}

static void *find(void *handle, const char *name)
{
	return has_zlib ? dlsym(handle, name) : NULL;
}

const struct mam_real_linker *mam_real_linker(void)
{
	static const struct mam_real_linker linker = { .dlsym = find };

	return &linker;
}

static char folder[] = "/tmp/mam-test-tracer.XXXXXX";
static char path[64];

static void setup(void)
{
	char number[32];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("MAM_RUN_PID", number, 1);
	setenv("MAM_TRACE", path, 1);
	has_zlib = false; /* plain text, which this test can read */
	mam_tracer_start();
	ck_assert_uint_eq(mam_watch_bits, MAM_WATCH_TRACE);
}

static void teardown(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void allocate(enum mam_table_id function, unsigned int block, size_t bytes, void *context,
		     enum mam_fate fate)
{
	struct mam_watch_call call = { .function = function,
				       .fate = fate,
				       .block = (void *)(uintptr_t)(BASE + block * 512u),
				       .bytes = bytes,
				       .context = context };

	mam_tracer_alloc(&call);
}

static void release(enum mam_table_id function, unsigned int block)
{
	struct mam_watch_call call = { .function = function,
				       .block = (void *)(uintptr_t)(BASE + block * 512u) };

	mam_tracer_free(&call);
}

/* The events of the trace without the fields that vary from run to run: "a0:100 f0 ". */
static const char *events(void)
{
	static char text[512];
	char line[256], *fields;
	FILE *trace = fopen(path, "r");

	ck_assert_ptr_nonnull(trace);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), trace));
	ck_assert_int_eq(strncmp(line, "# mam run trace of ", 19), 0);
	text[0] = '\0';
	while (fgets(line, sizeof(line), trace)) {
		unsigned long long id, bytes = 0;

		fields = strstr(line, " t=");
		if (sscanf(line, "a %llu %llu 0 t=", &id, &bytes) == 2)
			sprintf(text + strlen(text), "a%llu:%llu", id, bytes);
		else if (sscanf(line, "f %llu t=", &id) == 1)
			sprintf(text + strlen(text), "f%llu", id);
		else
			sprintf(text + strlen(text), "%.30s", line);
		if (fields != NULL && strstr(fields, " by=driver") != NULL)
			strcat(text, "d");
		if (fields != NULL && strstr(fields, " implied=yes") != NULL)
			strcat(text, "i");
		strcat(text, " ");
	}
	fclose(trace);
	return text;
}

START_TEST(alloc_and_its_free_share_an_id)
{
	allocate(MAM_TABLE_cudaMalloc, 1, 100, NULL, MAM_FATE_SERVED);
	allocate(MAM_TABLE_cuMemAllocAsync, 2, 200, NULL, MAM_FATE_FORWARDED);
	release(MAM_TABLE_cuMemFree_v2, 1);
	allocate(MAM_TABLE_cuMemAlloc_v2, 1, 300, NULL, MAM_FATE_SERVED);
	release(MAM_TABLE_cuMemFreeAsync, 2);
	release(MAM_TABLE_cudaFree, 1);
	mam_tracer_finish();
	ck_assert_str_eq(events(), "a0:100 a1:200d f0 a3:300 f1 f3 ");
	ck_assert_uint_eq(mam_watch_bits, 0);
}
END_TEST

START_TEST(reused_address_implies_a_free)
{
	allocate(MAM_TABLE_cudaMalloc, 1, 100, NULL, MAM_FATE_SERVED);
	allocate(MAM_TABLE_cudaMalloc, 1, 200, NULL, MAM_FATE_SERVED);
	release(MAM_TABLE_cudaFree, 1);
	release(MAM_TABLE_cudaFree, 1);
	mam_tracer_finish();
	ck_assert_str_eq(events(), "a0:100 a1:200 f0i f1 ");
}
END_TEST

START_TEST(untraced_block_is_not_freed)
{
	release(MAM_TABLE_cudaFree, 5);
	allocate(MAM_TABLE_cuMemAllocManaged, 1, 100, NULL, MAM_FATE_FORWARDED);
	allocate(MAM_TABLE_cuMemHostAlloc, 2, 100, NULL, MAM_FATE_FORWARDED);
	allocate(MAM_TABLE_cuMemCreate, 3, 100, NULL, MAM_FATE_FORWARDED);
	release(MAM_TABLE_cudaFree, 1);
	release(MAM_TABLE_cuMemFreeHost, 2);
	release(MAM_TABLE_cuMemRelease, 3);
	allocate(MAM_TABLE_cuMemAllocPitch_v2, 4, 7, NULL, MAM_FATE_SERVED);
	release(MAM_TABLE_cuMemRelease, 4); /* a handle with that value is a different object */
	mam_tracer_finish();
	ck_assert_str_eq(events(), "a0:7 ");
}
END_TEST

START_TEST(context_end_frees_its_blocks)
{
	int one, other;

	allocate(MAM_TABLE_cudaMalloc, 1, 100, &one, MAM_FATE_SERVED);
	allocate(MAM_TABLE_cudaMalloc, 2, 200, &other, MAM_FATE_SERVED);
	mam_tracer_context_gone(&one);
	release(MAM_TABLE_cudaFree, 1);
	release(MAM_TABLE_cudaFree, 2);
	mam_tracer_finish();
	ck_assert_str_eq(events(), "a0:100 a1:200 f0i f1 ");
}
END_TEST

/* Like forwarded frees, which are traced only when another thread may already have the address. */
static void *quarrel(void *unused)
{
	for (unsigned int i = 0; i < 50000; i++) {
		allocate(MAM_TABLE_cudaMalloc, i % 3, 100, NULL, MAM_FATE_FORWARDED);
		release(MAM_TABLE_cudaFree, i % 3);
	}
	return unused;
}

START_TEST(no_line_frees_a_dead_block)
{
	static bool alive[1000000];
	char line[256];
	pthread_t threads[3];
	unsigned int wrong = 0, seen = 0;
	FILE *trace;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, quarrel, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	mam_tracer_finish();
	trace = fopen(path, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace)) {
		unsigned long id;

		if (sscanf(line, "a %lu ", &id) == 1 && ++seen)
			wrong += id >= 1000000 || alive[id];
		else if (sscanf(line, "f %lu ", &id) == 1)
			wrong += id >= 1000000 || !alive[id];
		else
			continue;
		if (id < 1000000)
			alive[id] = line[0] == 'a';
	}
	fclose(trace);
	ck_assert_uint_eq(wrong, 0);
	/* On a busy machine the writer falls behind, and the ring drops events. */
	ck_assert_uint_gt(seen, 10000);
}
END_TEST

/* A test cannot fill a disk; for the writer a file size limit is the same. */
START_TEST(file_that_cannot_grow_ends_with_a_complete_line)
{
	struct rlimit limit = { 9000000, RLIM_INFINITY };
	char line[256] = "", message[256] = "";
	int log = open(folder, O_TMPFILE | O_RDWR, 0600);
	struct stat status;
	FILE *trace;

	ck_assert_int_ge(dup2(log, STDERR_FILENO), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned int i = 0; i < 300000; i++) {
		allocate(MAM_TABLE_cudaMalloc, i % 100, 100, NULL, MAM_FATE_SERVED);
		release(MAM_TABLE_cudaFree, i % 100);
	}
	mam_tracer_finish();
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_gt(status.st_size, 8000000);
	ck_assert_int_le(status.st_size, 9000000);
	trace = fopen(path, "r");
	fseek(trace, -1, SEEK_END);
	ck_assert_int_eq(fgetc(trace), '\n');
	fclose(trace);
	ck_assert_int_gt(pread(log, message, sizeof(message) - 1, 0), 0);
	ck_assert_ptr_nonnull(strstr(message, "ends early: File too large"));
	ck_assert_ptr_eq(strchr(message, '\n'), message + strlen(message) - 1);
	snprintf(line, sizeof(line), "%s.ring", path);
	ck_assert_int_ne(access(line, F_OK), 0);
}
END_TEST

/* Neither the C library nor mam sees this child, and it shares the ring. */
START_TEST(unseen_child_writes_nothing)
{
	pid_t child;
	int status;

	allocate(MAM_TABLE_cudaMalloc, 1, 100, NULL, MAM_FATE_SERVED);
	child = (pid_t)syscall(SYS_fork);
	if (child == 0) {
		release(MAM_TABLE_cudaFree, 1);
		allocate(MAM_TABLE_cudaMalloc, 2, 200, NULL, MAM_FATE_SERVED);
		mam_tracer_finish();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	release(MAM_TABLE_cudaFree, 1);
	mam_tracer_finish();
	ck_assert_str_eq(events(), "a0:100 f0 ");
}
END_TEST

START_TEST(child_starts_a_new_trace)
{
	int status;
	pid_t child;

	allocate(MAM_TABLE_cudaMalloc, 1, 100, NULL, MAM_FATE_SERVED);
	child = fork();
	if (child == 0) {
		mam_tracer_restart();
		allocate(MAM_TABLE_cudaMalloc, 1, 300, NULL, MAM_FATE_SERVED);
		mam_tracer_finish();
		snprintf(path + strlen(path), sizeof(path) - strlen(path), ".%d", (int)getpid());
		_exit(strcmp(events(), "a0:300 ") != 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	release(MAM_TABLE_cudaFree, 1);
	mam_tracer_finish();
	ck_assert_str_eq(events(), "a0:100 f0 ");
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("tracer");
	Suite *suite = suite_create("tracer");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, alloc_and_its_free_share_an_id);
	tcase_add_test(cases, reused_address_implies_a_free);
	tcase_add_test(cases, untraced_block_is_not_freed);
	tcase_add_test(cases, no_line_frees_a_dead_block);
	tcase_add_test(cases, context_end_frees_its_blocks);
	tcase_add_test(cases, file_that_cannot_grow_ends_with_a_complete_line);
	tcase_add_test(cases, unseen_child_writes_nothing);
	tcase_add_test(cases, child_starts_a_new_trace);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
