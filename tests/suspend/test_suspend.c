/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspend and resume a pool, on the fake driver: contents and addresses, what a suspended pool does,
 * what it waits for, and what happens without memory.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "blocks.h"

#define ROUNDS 2000

START_TEST(contents_and_addresses_stay)
{
	struct fake_held before, suspended;
	uint64_t mapped;

	begin("256M");
	fill_pool();
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	mapped = stats_of(pool).physical_bytes;
	before = held();
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
		expect_suspended(mapped);
		ck_assert_uint_eq(stats_of(pool).physical_bytes, 0);
		suspended = held();
		ck_assert_int_eq(suspended.handles, 0);
		ck_assert_int_eq(suspended.mappings, 0);
		ck_assert_int_eq(suspended.reservations, before.reservations);
		ck_assert_int_ne(cuda.cuMemcpyDtoH_v2(words, (uintptr_t)blocks[1], 8),
				 CUDA_SUCCESS);
		ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK); /* without effect */
		expect_suspended(mapped);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		ck_assert_uint_eq(stats_of(pool).physical_bytes, mapped);
		ck_assert_int_eq(held().handles, before.handles);
		check_blocks();
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK); /* without effect */
	}
	expect_usable();
	end_pool();
	ck_assert_int_eq(held().reservations, 0);
}
END_TEST

#define CREATES 7 /* calls of cuMemCreate by fill_pool() */

/* The last copies fail when most pieces are unmapped: these come back, or the pool stays suspended. */
START_TEST(copies_that_fail_late)
{
	static const char *const rules[] = { "cuStreamSynchronize:1",
					     "cuStreamSynchronize:1,cuMemCreate:8" };
	uint64_t mapped;

	begin_failing("256M", rules[_i]);
	fill_pool();
	ck_assert_int_eq(held().handles, CREATES);
	mapped = stats_of(pool).physical_bytes;
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_ERROR_DRIVER);
	if (_i == 0) {
		ck_assert_uint_eq(stats_of(pool).shrinks, stats_of(pool).grows - CREATES);
		ck_assert_uint_gt(stats_of(pool).shrinks, 0);
		ck_assert_uint_eq(stats_of(pool).physical_bytes, mapped);
	} else {
		expect_suspended(mapped - stats_of(pool).physical_bytes);
		ck_assert_uint_lt(stats_of(pool).physical_bytes, mapped);
		ck_assert_uint_gt(stats_of(pool).physical_bytes, 0);
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	}
	expect_usable();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end_pool();
}
END_TEST

START_TEST(discarded_blocks_keep_their_addresses)
{
	begin("256M");
	fill_pool();
	ck_assert_int_eq(suspend_to("/tmp", true), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(suspend_to(NULL, true), MAM_OK);
	ck_assert_int_eq(held().handles, 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	for (size_t i = 0; i < BLOCKS; i++)
		write_block(blocks[i], sizes[i]);
	expect_usable();
	end_pool();
}
END_TEST

START_TEST(each_allocation_fails)
{
	struct CUstream_st *stream;
	void *block = NULL, *freed[3];
	uint64_t failures;

	begin("256M");
	fill_pool();
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	/* Blocks in a thread's bins, in a stream's list, and free in the pool. */
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mam_malloc(pool, 4096, &freed[i]), MAM_OK);
	ck_assert_int_eq(mam_free(pool, freed[0]), MAM_OK);
	ck_assert_int_eq(mam_free_async(pool, freed[1], stream), MAM_OK);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_free(pool, freed[2]), MAM_OK);
	ck_assert_int_eq(mam_free_async(pool, blocks[0], stream), MAM_OK);
	blocks[0] = NULL;
	free_block(4);
	failures = stats_of(pool).failures;
	ck_assert_int_eq(mam_malloc(pool, 1000, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc(pool, 4096, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc(pool, 2 * MIB, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc(pool, 100 * MIB, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc_async(pool, 1000, stream, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc_async(pool, 4096, stream, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_pool_alloc_nowait(pool, 4096, 0, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_malloc_aligned(pool, 4096, 65536, &block), MAM_ERROR_SUSPENDED);
	ck_assert_int_eq(mam_pool_reserve(pool, MIB), MAM_ERROR_SUSPENDED);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(stats_of(pool).failures, failures + 8);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	prove();
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end_pool();
}
END_TEST

/* Pieces of which nothing is left do not come back. */
START_TEST(freed_memory_stays_away)
{
	uint64_t mapped;

	begin("256M");
	fill_pool();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	mapped = stats_of(pool).suspended_bytes;
	free_block(5);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	expect_suspended(mapped);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_uint_lt(stats_of(pool).physical_bytes, mapped);
	expect_usable();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i])
			free_block(i);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	prove();
	ck_assert_uint_eq(stats_of(pool).physical_bytes, 0);
	expect_usable();
	end_pool();
}
END_TEST

START_TEST(empty_pool_is_suspended_too)
{
	begin("256M");
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	expect_suspended(0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end_pool();
}
END_TEST

/* Memory of the host and the device is freed, whichever way the pool ends. */
START_TEST(suspended_pool_ends)
{
	begin("256M");
	fill_pool();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_ERROR_LIVE_BLOCKS);
	if (_i == 0) {
		end_pool();
		ck_assert_int_eq(held().reservations, 0);
	} else {
		ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	}
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_DESTROYED);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_ERROR_DESTROYED);
}
END_TEST

/* Another pool has the memory: what fits comes back, the rest later. */
START_TEST(resume_continues_after_lack_of_memory)
{
	struct mam_pool *other;
	uint64_t whole, partly;
	void *large;

	begin("64M");
	fill_pool();
	other = new_pool("other", 0);
	ck_assert_int_eq(mam_malloc(other, 40 * MIB, &large), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	whole = stats_of(pool).suspended_bytes;
	ck_assert_int_eq(mam_malloc(other, 40 * MIB, &large), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_OUT_OF_MEMORY);
	partly = stats_of(pool).suspended_bytes;
	ck_assert_uint_gt(partly, 0);
	ck_assert_uint_lt(partly, whole);
	expect_suspended(partly);
	if (_i == 0) { /* it releases what came back, without another copy */
		ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
		expect_suspended(whole);
		ck_assert_uint_eq(stats_of(pool).physical_bytes, 0);
	}
	ck_assert_int_eq(mam_free(other, large), MAM_OK);
	/* The other pool's free memory is released for it. */
	ck_assert_uint_gt(stats_of(other).physical_bytes, 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	ck_assert_int_eq(mam_pool_destroy(other), MAM_OK);
	end_pool();
}
END_TEST

static struct mam_pool *helper;
static void *helpers_block;

static bool help(struct mam_pool *of, size_t bytes, void *user)
{
	(void)of;
	(void)user;
	ck_assert_uint_gt(bytes, 0);
	if (!helpers_block)
		return false;
	ck_assert_int_eq(mam_free(helper, helpers_block), MAM_OK);
	helpers_block = NULL;
	ck_assert_int_eq(mam_pool_trim(helper, 0, NULL), MAM_OK);
	return true;
}

START_TEST(callbacks_help_a_resume)
{
	begin("64M");
	fill_pool();
	helper = new_pool("helper", 0);
	ck_assert_int_eq(mam_pool_on_oom(pool, help, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_malloc(helper, 40 * MIB, &helpers_block), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_ptr_null(helpers_block);
	expect_usable();
	end_pool();
}
END_TEST

START_TEST(limit_holds_for_a_resume)
{
	begin("256M");
	fill_pool();
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_set_limit(pool, 8 * MIB), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_le(stats_of(pool).physical_bytes, 8 * MIB);
	ck_assert_int_eq(mam_pool_set_limit(pool, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end_pool();
}
END_TEST

START_TEST(unsuitable_sources_are_refused)
{
	static const struct mam_vmm_attr attrs[] = {
		{ .size = sizeof(attrs[0]), .exportable = true },
		{ .size = sizeof(attrs[0]), .peers = 2 },
		{ .size = sizeof(attrs[0]), .simulated = true }, /* it has no contents */
	};
	struct mam_source *source, *limited;
	void *block;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	begin("256M");
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_int_eq(mam_pool_create(NULL, &pool), MAM_OK); /* cudamalloc */
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_ERROR_UNSUPPORTED);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	for (size_t i = 0; i < COUNT_OF(attrs); i++) {
		ck_assert_int_eq(mam_source_vmm(&attrs[i], &source), MAM_OK);
		ck_assert_int_eq(mam_source_limit(source, 0, 0, 0, &limited), MAM_OK);
		ck_assert_int_eq(mam_pool_create_on(i % 2 ? limited : source, NULL, &pool), MAM_OK);
		ck_assert_int_eq(mam_malloc(pool, 1000, &block), MAM_OK);
		ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_ERROR_UNSUPPORTED);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
		ck_assert_int_eq(mam_malloc(pool, 1000, &block), MAM_OK);
		ck_assert_int_eq(suspend_to(NULL, true),
				 attrs[i].simulated ? MAM_OK : MAM_ERROR_UNSUPPORTED);
		prove();
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
		prove();
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
		mam_source_destroy(limited);
		mam_source_destroy(source);
	}
	ck_assert_int_eq(mam_pool_suspend(NULL, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_pool_resume(NULL), MAM_ERROR_INVALID_VALUE);
}
END_TEST

/* Devices that have access by default have it again. */
START_TEST(default_peers_have_access_again)
{
	const struct cu_location peer = { 1, 1 };
	unsigned long long before = 0, after = 0;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	begin("256M");
	fill_pool();
	ck_assert_int_eq(cuda.cuMemGetAccess(&before, &peer, (uintptr_t)blocks[5]), CUDA_SUCCESS);
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_int_eq(cuda.cuMemGetAccess(&after, &peer, (uintptr_t)blocks[5]), CUDA_SUCCESS);
	ck_assert_uint_eq(before, 3);
	ck_assert_uint_eq(after, before);
	end_pool();
}
END_TEST

/* Work on blocks ends before they are copied and unmapped; that of freed ones, too. */
START_TEST(work_is_waited_for)
{
	struct CUstream_st *stream, *unknown; /* the pool never sees that one */
	unsigned long long id, address;
	uint64_t due_ns;
	size_t bytes;

	setenv("FAKE_CUDA_LAG_US", "20000", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	begin("256M");
	fill_pool();
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&unknown, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	fill_words(blocks[5], sizes[5]);
	for (size_t i = 0; i < MIB; i++)
		words[i] = ~words[i];
	for (int i = 0; i < 20; i++) /* longer than the copies of the suspend */
		ck_assert_int_eq(
			cuda.cuMemcpyHtoDAsync_v2((uintptr_t)blocks[5], words, 8 * MIB, unknown),
			CUDA_SUCCESS);
	if (_i == 1) {
		ck_assert_int_eq(
			cuda.fake_use((uintptr_t)blocks[1], sizes[1], stream, &id, &due_ns),
			CUDA_SUCCESS);
		ck_assert_int_eq(mam_free_async(pool, blocks[1], stream), MAM_OK);
		blocks[1] = NULL;
	}
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(cuda.fake_disturbed(&address, &bytes), 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_int_eq(cuda.cuMemcpyDtoH_v2(words, (uintptr_t)blocks[5], 8), CUDA_SUCCESS);
	ck_assert_uint_eq(words[0], ~((uintptr_t)blocks[5] * 0x9e3779b97f4a7c15u));
	write_block(blocks[5], sizes[5]);
	expect_usable();
	ck_assert_int_eq(cuda.fake_disturbed(&address, &bytes), 0);
	end_pool();
}
END_TEST

/* A capture goes on, and memory that was freed in it is not used elsewhere. */
START_TEST(captures_go_on)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph = NULL;

	begin("256M");
	fill_pool();
	ck_assert_int_eq(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
	ck_assert_int_eq(mam_free_async(pool, blocks[4], stream), MAM_OK);
	blocks[4] = NULL;
	ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_ptr_nonnull(graph);
	expect_usable();
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	ck_assert_int_eq(mam_stream_release(pool, stream), MAM_OK);
	end_pool();
}
END_TEST

START_TEST(child_cannot_resume)
{
	int status = -1;
	pid_t child;

	begin("256M");
	fill_pool();
	ck_assert_int_eq(suspend_to(_i == 0 ? NULL : "/tmp", false), MAM_OK);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(mam_pool_resume(pool) == MAM_ERROR_DESTROYED ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	expect_usable();
	end_pool();
}
END_TEST

static atomic_bool stop;

/* Allocates and frees all the time: a block that it gets is mapped, or it gets none. */
static void *worker(void *of)
{
	unsigned long served = 0;
	void *block;

	while (!atomic_load(&stop)) {
		enum mam_status status = mam_malloc(of, 4096, &block);

		if (status == MAM_OK && mam_free(of, block) == MAM_OK)
			served++;
		else if (status != MAM_ERROR_SUSPENDED)
			return NULL;
	}
	return (void *)(served + 1);
}

START_TEST(threads_get_a_block_or_an_error)
{
	struct mam_pool *other;
	pthread_t threads[3];
	void *served;

	begin("256M");
	fill_pool();
	other = new_pool("other", 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, worker, i == 2 ? other : pool),
				 0);
	for (int round = 0; round < 10; round++) {
		ck_assert_int_eq(mam_pool_suspend(pool, NULL), MAM_OK);
		/* The threads' own blocks are there when the suspend begins, and may end meanwhile. */
		for (int i = 0; i < ROUNDS; i++) {
			void *block = NULL;

			ck_assert_int_eq(mam_malloc(pool, 4096, &block), MAM_ERROR_SUSPENDED);
		}
		prove();
		ck_assert_int_eq(mam_pool_resume(pool), MAM_OK);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &served), 0);
		ck_assert_ptr_nonnull(served);
	}
	expect_usable();
	end_pool();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend");
	TCase *tests = suite_case(suite, "suspend");

	tcase_add_test(tests, contents_and_addresses_stay);
	tcase_add_loop_test(tests, copies_that_fail_late, 0, 2);
	tcase_add_test(tests, discarded_blocks_keep_their_addresses);
	tcase_add_test(tests, each_allocation_fails);
	tcase_add_test(tests, freed_memory_stays_away);
	tcase_add_test(tests, empty_pool_is_suspended_too);
	tcase_add_loop_test(tests, suspended_pool_ends, 0, 2);
	tcase_add_loop_test(tests, resume_continues_after_lack_of_memory, 0, 2);
	tcase_add_test(tests, callbacks_help_a_resume);
	tcase_add_test(tests, limit_holds_for_a_resume);
	tcase_add_test(tests, unsuitable_sources_are_refused);
	tcase_add_test(tests, default_peers_have_access_again);
	tcase_add_loop_test(tests, work_is_waited_for, 0, 2);
	tcase_add_test(tests, captures_go_on);
	tcase_add_loop_test(tests, child_cannot_resume, 0, 2);
	tcase_add_test(tests, threads_get_a_block_or_an_error);
	return suite_run(suite);
}
