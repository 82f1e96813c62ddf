/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MAM_DEBUG=redzone on the fake driver, which runs the kernel that checks.
 *
 * Each case is a program of its own, in a child process: it ends with status 0 and an empty log, or it
 * aborts after the log has a text. A case that fails by itself ends with status 99.
 */
#include <mam/paper.h>
#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>
#include <mam/tag.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

/* Fill the bytes of blocks exactly. */
static void use_blocks(void)
{
	static const size_t sizes[] = { 1, 7, 512, 1000, 4097, MIB - 1, MIB, 3 * MIB + 5 };
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	char *blocks[COUNT];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < COUNT; i++) {
			blocks[i] = round % 2 ? get(sizes[i]) : get_async(sizes[i]);
			REQUIRE((uintptr_t)blocks[i] % 512 == 0);
			REQUIRE(sizes[i] < MIB || (uintptr_t)blocks[i] % (64 << 10) == 0);
			write_bytes(blocks[i], sizes[i]);
		}
		for (int i = 0; i < COUNT; i++) {
			if (i % 2)
				put(blocks[i]);
			else
				SUCCEEDS(mam_free_async(pool, blocks[i], stream));
		}
	}
}

static void clean(void)
{
	void *block;

	begin();
	use_blocks();
	SUCCEEDS(mam_malloc_aligned(pool, 3 * MIB, 2 * MIB, &block));
	REQUIRE((uintptr_t)block % (2 * MIB) == 0);
	write_bytes(block, 3 * MIB);
	put(block);
	use_blocks();
	write_bytes(get(100), 100);
}

static void clean_on_vmm(void)
{
	begin_on("vmm");
	use_blocks();
	write_bytes(get(100), 100);
}

static void clean_and_destroyed(void)
{
	struct fake_held held;

	begin();
	use_blocks();
	SUCCEEDS(mam_pool_destroy(pool));
	cuda.fake_holds(&held);
	REQUIRE(held.events == 0 && held.blocks == 0);
}

static void overflow(void)
{
	char *block;

	begin();
	block = get_filled(1000);
	write_bytes(block + 1000, 1);
	put(block);
}

static void underflow(void)
{
	char *block;

	begin();
	block = get_filled(1000);
	write_bytes(block - 1, 1);
	put(block);
}

static void overflow_of_large(void)
{
	char *block;

	begin_on("vmm");
	block = get_filled(3 * MIB);
	write_bytes(block + 3 * MIB, 1);
	put(block);
}

static void use_after_free(void)
{
	char *block;

	begin();
	block = get(1000);
	put(block);
	write_bytes(block + 17, 1);
}

static void overflow_of_live(void)
{
	begin();
	write_bytes(get_filled(1000) + 1000, 4);
}

/* The 64th free makes a launch, and a later call reports. */
static void overflow_reported_by_call(void)
{
	char *block;

	begin();
	block = get_filled(1000);
	write_bytes(block + 1000, 1);
	put(block);
	for (int i = 0; i < 70; i++)
		put(get(10));
	_exit(0);
}

static void overflow_reported_by_trim(void)
{
	char *block;

	begin();
	block = get_filled(1000);
	write_bytes(block + 1001, 1);
	put(block);
	SUCCEEDS(mam_pool_trim(pool, 0, NULL));
	_exit(0);
}

static void use_after_free_reported_by_destroy(void)
{
	char *block;

	begin();
	block = get(1000);
	put(block);
	write_bytes(block, 1);
	SUCCEEDS(mam_pool_destroy(pool));
	_exit(0);
}

static void overflow_in_stream(void)
{
	char *block;

	begin();
	block = get_async(1000);
	write_bytes(block, 1001);
	SUCCEEDS(mam_free_async(pool, block, stream));
}

static void use_after_free_in_stream(void)
{
	char *block;

	begin();
	block = get_async(2 * MIB);
	SUCCEEDS(mam_free_async(pool, block, stream));
	REQUIRE(cuda.cuCtxSynchronize() == CUDA_SUCCESS);
	write_bytes(block + MIB, 1);
}

static void overflow_with_tag(void)
{
	char *block;

	begin();
	SUCCEEDS(mam_tag_push("load"));
	block = get_filled(40);
	SUCCEEDS(mam_tag_pop());
	write_bytes(block + 40, 1);
	put(block);
}

/* Of freed blocks in quarantine, the oldest are checked and leave when it is full. */
static void use_after_free_when_full(void)
{
	char *block;

	begin();
	block = get(16 * MIB);
	put(block);
	write_bytes(block + 5, 1);
	for (int i = 0; i < 40; i++)
		put(get(16 * MIB));
	_exit(0);
}

static void memory_returns_when_full(void)
{
	begin();
	for (int i = 0; i < 30; i++)
		put(get(300 * MIB));
}

static void errors_and_views(void)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_pool *owner;
	uint64_t ticket;
	size_t bytes;
	char *block, *other;

	begin();
	block = get(1000);
	other = get(2000);
	SUCCEEDS(mam_usable_size(NULL, block, &bytes));
	REQUIRE(bytes == 1000);
	SUCCEEDS(mam_owner(block + 10, &owner, &segment));
	REQUIRE(owner == pool && segment.base == block && segment.bytes == 1000 &&
		segment.requested == 1000 && segment.live);
	REQUIRE(mam_free(pool, block + 1) == MAM_ERROR_INTERIOR);
	REQUIRE(mam_free(NULL, block - 512) == MAM_ERROR_INTERIOR);
	REQUIRE(mam_free_async(pool, block + 1, stream) == MAM_ERROR_INTERIOR);
	put(block);
	REQUIRE(mam_free(pool, block) == MAM_ERROR_DOUBLE_FREE);
	REQUIRE(mam_free_async(NULL, block, stream) == MAM_ERROR_DOUBLE_FREE);
	REQUIRE(mam_usable_size(pool, block, &bytes) == MAM_ERROR_DOUBLE_FREE);
	SUCCEEDS(mam_pool_stats(pool, &stats));
	REQUIRE(stats.live_blocks == 1 && stats.frees == 1 && stats.retired_blocks == 1);
	REQUIRE(mam_pool_destroy(pool) == MAM_ERROR_LIVE_BLOCKS);
	SUCCEEDS(mam_pool_retire(pool, other, &ticket, &bytes));
	REQUIRE(mam_pool_retire(pool, block, &ticket, &bytes) != MAM_OK);
	SUCCEEDS(mam_pool_reclaim(pool, ticket, NULL));
	SUCCEEDS(mam_pool_check(pool, NULL, 0));
	SUCCEEDS(mam_pool_alloc_nowait(pool, 100, 0, (void **)&block));
	write_bytes(block, 100);
	put(block);
	SUCCEEDS(mam_pool_trim(pool, 0, NULL));
	SUCCEEDS(mam_pool_stats(pool, &stats));
	REQUIRE(stats.live_blocks == 0 && stats.retired_blocks == 0 && stats.reserved_bytes == 0);
	SUCCEEDS(mam_pool_destroy(pool));
	REQUIRE(mam_free(pool, block) == MAM_ERROR_DESTROYED);
}

/* A stream in capture: blocks work and are not checked, and the capture stays valid. */
static void captured(void)
{
	struct CUgraph_st *graph;
	char *before, *inside, *apart, *late;
	unsigned long waited;

	begin();
	before = get_async(1000);
	REQUIRE(cuda.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
	inside = get_async(1000);
	apart = get(1000);
	late = get_async(1000);
	waited = cuda.fake_waited();
	SUCCEEDS(mam_free_async(pool, inside, stream));
	SUCCEEDS(mam_free_async(pool, before, stream));
	REQUIRE(cuda.fake_waited() == waited);
	put(apart);
	REQUIRE(cuda.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
	REQUIRE(cuda.cuGraphDestroy(graph) == CUDA_SUCCESS);
	put(late);
	put(get(1000));
}

/* With work in all streams, nothing waits except a strict free. */
static void waits_for_nothing(void)
{
	unsigned long long id;
	unsigned long waited;
	char *block, *first;
	uint64_t due;

	begin();
	first = get_async(MIB);
	REQUIRE(cuda.fake_use((uintptr_t)first, MIB, stream, &id, &due) == CUDA_SUCCESS);
	waited = cuda.fake_waited();
	for (int i = 0; i < 200; i++) {
		(void)get(1000);
		block = get_async(1000);
		SUCCEEDS(mam_free_async(pool, block, stream));
	}
	SUCCEEDS(mam_free_async(pool, first, stream));
	REQUIRE(cuda.fake_waited() == waited);
}

static unsigned count_calls(const char *name)
{
	const size_t length = strlen(name);
	unsigned count = 0;
	char line[512];
	FILE *file = fopen(calls_path, "r");

	REQUIRE(file != NULL);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strncmp(line, name, length) == 0 && line[length] == ' ';
	fclose(file);
	return count;
}

static void one_launch_per_batch(void)
{
	char *blocks[256];

	begin();
	for (int i = 0; i < 256; i++)
		blocks[i] = get(1000);
	for (int i = 0; i < 256; i++)
		put(blocks[i]);
	REQUIRE(count_calls("cuLaunchKernel") == 4);
}

static void suspended(void)
{
	char *block, *kept;

	begin_on("vmm");
	block = get(3 * MIB);
	kept = get(3 * MIB);
	put(get(MIB));
	SUCCEEDS(mam_pool_suspend(pool, NULL));
	put(block);
	SUCCEEDS(mam_pool_resume(pool));
	put(get(MIB));
	write_bytes(kept, 3 * MIB);
}

static void suspended_at_exit(void)
{
	begin_on("vmm");
	(void)get(3 * MIB);
	SUCCEEDS(mam_pool_suspend(pool, NULL));
}

/* The red zones are gone with the contents. */
static void discarded(void)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;
	char *block, *kept;

	begin_on("vmm");
	block = get_filled(3 * MIB);
	kept = get_filled(1000);
	attr.discard = true;
	SUCCEEDS(mam_pool_suspend(pool, &attr));
	SUCCEEDS(mam_pool_resume(pool));
	put(block);
	write_bytes(kept, 1000);
	put(get(MIB));
}

/* Blocks that the program has not freed end with the environment. */
static void paper(void)
{
	void *block;

	cuda = load();
	REQUIRE(MAM_Create(8 * MIB) == 0);
	for (int i = 0; i < 3; i++)
		REQUIRE(MAM_CudaMalloc(&block, 1000) == 0);
	REQUIRE(MAM_CudaFree(block) == 0);
	REQUIRE(MAM_Destroy() == 0);
}

/* The memory, and the stream, are of another context than the one that is current. */
static void overflow_in_other_context(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_source *source;
	struct CUctx_st *context;
	char *block;

	cuda = load();
	REQUIRE(cuda.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	SUCCEEDS(mam_source_create("cudamalloc", 0, &source));
	REQUIRE(cuda.cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
	attr.name = "tested";
	SUCCEEDS(mam_pool_create_on(source, &attr, &pool));
	REQUIRE(cuda.cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS);
	block = get_async(1000);
	write_bytes(block, 1001);
	SUCCEEDS(mam_free_async(pool, block, stream));
}

/* Its context is gone, and the memory with it. */
static void reset(void)
{
	void *block;

	cuda = load();
	SUCCEEDS(mam_malloc(NULL, 1000, &block));
	SUCCEEDS(mam_free(NULL, block));
	REQUIRE(cuda.cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
	SUCCEEDS(mam_malloc(NULL, 1000, &block));
	SUCCEEDS(mam_free(NULL, block));
}

static void forked(void)
{
	char *block;
	int status;
	pid_t child;

	begin();
	block = get(1000);
	put(get(1000));
	child = fork();
	if (child == 0) {
		REQUIRE(mam_free(pool, block) == MAM_ERROR_DESTROYED);
		REQUIRE(mam_free_async(pool, block, stream) == MAM_ERROR_DESTROYED);
		exit(0);
	}
	REQUIRE(waitpid(child, &status, 0) == child && status == 0);
	put(block);
}

static void *use_in_thread(void *argument)
{
	(void)argument;
	for (int round = 0; round < 300; round++) {
		char *first = get(100 + round), *second = get_async(5000);

		write_bytes(first, 100 + round);
		SUCCEEDS(mam_free_async(pool, second, stream));
		put(first);
		if (round % 50 == 0)
			SUCCEEDS(mam_pool_trim(pool, 0, NULL));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t ids[4];

	begin();
	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_create(&ids[i], NULL, use_in_thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_join(ids[i], NULL) == 0);
	SUCCEEDS(mam_pool_check(pool, NULL, 0));
}

/* Each case in turn with each call of the driver that fails once: nothing is reported. */
static unsigned long failing_call;

static void faults(void)
{
	void *blocks[40] = { NULL };
	char name[64];

	begin();
	cuda.fake_fail(failing_call, 1);
	for (int i = 0; i < 200; i++) {
		void **block = &blocks[i * 7 % 40];

		if (*block) {
			(void)(i % 3 == 0 ? mam_free_async(pool, *block, stream)
					  : mam_free(pool, *block));
			*block = NULL;
		} else if ((i % 2 == 0 ? mam_malloc(pool, 1000, block)
				       : mam_malloc_async(pool, 70000, stream, block)) != MAM_OK) {
			*block = NULL;
		}
	}
	cuda.fake_fail(0, 0);
	(void)cuda.fake_failed(name, sizeof(name));
	SUCCEEDS(mam_pool_check(pool, NULL, 0));
}

static void faults_at_creation(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct fake_held held;

	cuda = load();
	REQUIRE(cuda.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	cuda.fake_fail(failing_call, 1);
	if (mam_pool_create(&attr, &pool) != MAM_OK)
		exit(0);
	cuda.fake_fail(0, 0);
	put(get(1000));
	SUCCEEDS(mam_pool_destroy(pool));
	cuda.fake_holds(&held);
	REQUIRE(held.events == 0 && held.blocks == 0);
}

static void off(void)
{
	char *block;

	begin();
	block = get(1000);
	write_bytes(block + 1000, 1);
	put(block);
	REQUIRE(count_calls("cuModuleLoadData") == 0);
}

/* The status of a case's process. `log`: what it logged. */
static int run_case(void (*act)(void), char *log, size_t log_bytes)
{
	FILE *file;
	size_t got = 0;
	int status;
	pid_t child;

	unlink(log_path);
	unlink(calls_path);
	fflush(NULL);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		act();
		exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	file = fopen(log_path, "r");
	if (file) {
		got = fread(log, 1, log_bytes - 1, file);
		fclose(file);
	}
	log[got] = '\0';
	return status;
}

static void prepare(void)
{
	snprintf(log_path, sizeof(log_path), "/tmp/mam-redzone-log.%d", (int)getpid());
	snprintf(calls_path, sizeof(calls_path), "/tmp/mam-redzone-calls.%d", (int)getpid());
	setenv("MAM_DEBUG", "redzone", 1);
	setenv("MAM_LOG_FILE", log_path, 1);
	setenv("MAM_HOST_MEMORY", "64M", 1); /* otherwise a share of what the host has free */
	setenv("FAKE_CUDA_LOG", calls_path, 1);
	setenv("FAKE_CUDA_MEMORY", "512M", 1);
	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	unsetenv("FAKE_CUDA_FAIL_AT");
	unsetenv("FAKE_CUDA_DEVICES");
}

static void tidy(void)
{
	unlink(log_path);
	unlink(calls_path);
}

static const struct {
	void (*act)(void);
	const char *text; /* NULL: nothing is found */
} cases[] = {
	{ clean, NULL },
	{ clean_on_vmm, NULL },
	{ clean_and_destroyed, NULL },
	{ overflow, "out-of-bounds write to byte 1000 of a 1000-byte block" },
	{ underflow, "out-of-bounds write to byte -1 of a 1000-byte block" },
	{ overflow_of_large, "byte 3145728 of a 3145728-byte block" },
	{ use_after_free, "use after free: write to byte 17 of a 1000-byte block" },
	{ overflow_of_live, "detected while it was live" },
	{ overflow_reported_by_call, "byte 1000 of a 1000-byte block" },
	{ overflow_reported_by_trim, "byte 1001 of a 1000-byte block" },
	{ use_after_free_reported_by_destroy, "use after free: write to byte 0 of" },
	{ overflow_in_stream, "byte 1000 of a 1000-byte block" },
	{ use_after_free_in_stream, "use after free: write to byte 1048576 of" },
	{ overflow_with_tag, ", tag load); detected after it was freed" },
	{ use_after_free_when_full, "use after free: write to byte 5 of" },
	{ memory_returns_when_full, NULL },
	{ captured, NULL },
	{ waits_for_nothing, NULL },
	{ one_launch_per_batch, NULL },
	{ suspended, NULL },
	{ suspended_at_exit, NULL },
	{ discarded, NULL },
	{ paper, NULL },
	{ overflow_in_other_context, "byte 1000 of a 1000-byte block" },
	{ reset, NULL },
	{ forked, NULL },
	{ threads, NULL },
};

START_TEST(each_case)
{
	char log[4096];
	int status = run_case(cases[_i].act, log, sizeof(log));

	if (!cases[_i].text) {
		ck_assert_msg(status == 0, "status %#x: %s", status, log);
		ck_assert_str_eq(log, "");
		return;
	}
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %#x: %s", status,
		      log);
	ck_assert_msg(strstr(log, cases[_i].text) != NULL, "not in the log: %s", log);
	ck_assert_ptr_nonnull(strstr(log, "pool tested, allocated by thread "));
	ck_assert_ptr_nonnull(strstr(log, "MAM_DEBUG=redzone found damaged memory: abort"));
}
END_TEST

START_TEST(errors_are_returned)
{
	char log[4096];

	ck_assert_int_eq(run_case(errors_and_views, log, sizeof(log)), 0);
	ck_assert_msg(strstr(log, "double free") && strstr(log, "invalid free"), "%s", log);
	ck_assert_ptr_null(strstr(log, "MAM_DEBUG"));
}
END_TEST

START_TEST(driver_fails)
{
	void (*const act)(void) = _i ? faults_at_creation : faults;
	char log[4096];

	for (failing_call = 1; failing_call < (_i ? 80 : 1500); failing_call += _i ? 1 : 13) {
		int status = run_case(act, log, sizeof(log));

		ck_assert_msg(status == 0, "call %lu: status %#x: %s", failing_call, status, log);
		ck_assert_msg(strstr(log, "write") == NULL, "call %lu: %s", failing_call, log);
	}
}
END_TEST

START_TEST(value_is_checked)
{
	char log[4096];

	setenv("MAM_DEBUG", "readzone", 1);
	ck_assert_int_eq(run_case(off, log, sizeof(log)), 0);
	ck_assert_ptr_nonnull(strstr(log, "invalid value 'readzone' of MAM_DEBUG: expected one of "
					  "off|redzone; using the default 'off'"));
	setenv("MAM_DEBUG", "off", 1);
	ck_assert_int_eq(run_case(off, log, sizeof(log)), 0);
	ck_assert_str_eq(log, "");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, prepare, tidy);
	tcase_add_loop_test(tests, each_case, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tests, errors_are_returned);
	tcase_add_loop_test(tests, driver_fails, 0, 2);
	tcase_add_test(tests, value_is_checked);
}

int main(void)
{
	return run_suite("redzone", add);
}
