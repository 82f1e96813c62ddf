/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_captured.c - a stream is in capture, in each of the three modes, while the pool does
 * everything that it can: it grows, maps, moves pieces, trims, allocates and frees in the order of
 * other streams and of the captured one.
 *
 * None of this may invalidate the capture, and memory that was freed inside the capture is not
 * reused outside: the graph may use it again at any time.
 */
#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include <stdbool.h>
#include <string.h>

#include "api/suite.h"
#include "fake/load.h"
#include "scale.h"

#define BLOCKS 16

static struct cuda cuda;
static struct mam_pool *pool;
static struct mam_source *source;
static struct CUstream_st *captured, *other;

static const struct row {
	const char *source;
	enum mam_free_policy policy;
	int mode;
} rows[] = {
	{ "cudamalloc", MAM_FREE_STREAM, CAPTURE_GLOBAL },
	{ "cudamalloc", MAM_FREE_STREAM, CAPTURE_THREAD_LOCAL },
	{ "cudamalloc", MAM_FREE_STREAM, CAPTURE_RELAXED },
	{ "vmm", MAM_FREE_STREAM, CAPTURE_GLOBAL },
	{ "vmm", MAM_FREE_STREAM, CAPTURE_THREAD_LOCAL },
	{ "vmm", MAM_FREE_STREAM, CAPTURE_RELAXED },
};

static void begin(const struct row *row)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	setenv("FAKE_CUDA_LAG_US", "300", 1);
	setenv("FAKE_CUDA_MEMORY", "128M", 1);
	cuda = load();
	attr.free_policy = row->policy;
	attr.limit_bytes = 64 * MIB;
	ck_assert_int_eq(mam_source_create(row->source, 0, &source), MAM_OK);
	ck_assert_int_eq(mam_pool_create_on(source, &attr, &pool), MAM_OK);
	ck_assert_int_eq(cuda.cuStreamCreate(&captured, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&other, STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

static void begin_capture(const struct row *row)
{
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(captured, row->mode), CUDA_SUCCESS);
}

static void end_capture(void)
{
	struct CUgraph_st *graph = NULL;
	unsigned long long where;
	size_t bytes;

	ck_assert_int_eq(cuda.cuStreamEndCapture(captured, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.fake_disturbed(&where, &bytes), 0);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
}

static void end(void)
{
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	mam_source_destroy(source);
}

static void use(void *block, struct CUstream_st *stream)
{
	unsigned long long id;
	uint64_t due_ns;

	ck_assert_int_eq(cuda.fake_use((uintptr_t)block, 512, stream, &id, &due_ns), CUDA_SUCCESS);
}

static void *alloc(size_t bytes, struct CUstream_st *stream)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc_async(pool, bytes, stream, &block), MAM_OK);
	use(block, stream);
	return block;
}

static void dealloc(void *block, struct CUstream_st *stream)
{
	ck_assert_int_eq(mam_free_async(pool, block, stream), MAM_OK);
}

START_TEST(growth_and_trim_invalidate_no_capture)
{
	const struct row *row = &rows[_i];
	void *blocks[BLOCKS], *plain;

	begin(row);
	begin_capture(row);
	for (unsigned i = 0; i < 4; i++)
		blocks[i] = alloc((i + 2) * MIB, i % 2 ? captured : other);
	ck_assert_int_eq(mam_malloc(pool, 9 * MIB, &plain), MAM_OK);
	ck_assert_int_eq(mam_free(pool, plain), MAM_OK);
	for (unsigned i = 0; i < 4; i++)
		dealloc(blocks[i], i % 2 ? captured : other);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_int_eq(mam_stream_release(pool, other), MAM_OK);
	end_capture();
	end();
}
END_TEST

/*
 * Enough free memory, but fragmented, and partly in use: while a capture is active, no thread may
 * wait.
 */
START_TEST(request_that_moves_pieces_invalidates_no_capture)
{
	const struct row *row = &rows[_i];
	void *blocks[BLOCKS], *large = NULL;
	enum mam_status status;

	begin(row);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(mam_malloc(pool, 4 * MIB, &blocks[i]), MAM_OK);
		use(blocks[i], other);
	}
	if (_i % 2) /* work still uses the freed memory, or does not */
		cuda.cuCtxSynchronize();
	begin_capture(row);
	for (unsigned i = 0; i < BLOCKS; i += 2)
		ck_assert_int_eq(mam_free(pool, blocks[i]), MAM_OK);
	status = mam_malloc(pool, 16 * MIB, &large);
	ck_assert_msg(status == MAM_OK || status == MAM_ERROR_OUT_OF_MEMORY ||
			      status == MAM_ERROR_DRIVER,
		      "a request returns %s", mam_status_name(status));
	end_capture();
	if (status != MAM_OK) /* now it may wait */
		status = mam_malloc(pool, 16 * MIB, &large);
	if (strcmp(row->source, "vmm") == 0)
		ck_assert_int_eq(status, MAM_OK);
	if (status == MAM_OK)
		ck_assert_int_eq(mam_free(pool, large), MAM_OK);
	for (unsigned i = 1; i < BLOCKS; i += 2)
		ck_assert_int_eq(mam_free(pool, blocks[i]), MAM_OK);
	end();
}
END_TEST

static bool overlap(const void *a, const void *b, size_t bytes)
{
	return (uintptr_t)a < (uintptr_t)b + bytes && (uintptr_t)b < (uintptr_t)a + bytes;
}

START_TEST(memory_freed_in_capture_stays_in_it)
{
	const struct row *row = &rows[_i];
	void *inside, *again, *outside[6];

	begin(row);
	begin_capture(row);
	inside = alloc(8 * MIB, captured);
	dealloc(inside, captured);
	again = alloc(8 * MIB, captured);
	ck_assert_ptr_eq(again, inside);
	dealloc(again, captured);
	for (unsigned i = 0; i < 6; i++) {
		if (i == 3)
			end_capture();
		outside[i] = alloc(8 * MIB, i % 2 ? other : NULL);
		ck_assert_msg(!overlap(outside[i], inside, 8 * MIB),
			      "block %u is in memory that the graph may use", i);
	}
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	for (unsigned i = 0; i < 6; i++)
		dealloc(outside[i], i % 2 ? other : NULL);
	ck_assert_int_eq(mam_stream_release(pool, captured), MAM_OK);
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 50 * MIB, &outside[0]), MAM_OK);
	ck_assert_int_eq(mam_free(pool, outside[0]), MAM_OK);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/captured");
	TCase *all = suite_case(suite, "captured");

	tcase_add_loop_test(all, growth_and_trim_invalidate_no_capture, 0, COUNT_OF(rows));
	tcase_add_loop_test(all, request_that_moves_pieces_invalidates_no_capture, 0,
			    COUNT_OF(rows));
	tcase_add_loop_test(all, memory_freed_in_capture_stays_in_it, 0, COUNT_OF(rows));
	return suite_run(suite);
}
