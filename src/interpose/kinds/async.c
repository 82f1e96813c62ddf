/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async.c - cuMemAllocAsync and cuMemAllocFromPoolAsync: allocation from the driver's own pools,
 * which mam leaves to the driver. Allocated blocks are counted and limited. Memory that the
 * driver's pool retains is neither.
 *
 * In a stream under capture these calls become memory nodes of a graph, which hold no memory yet.
 * Such a call is only counted, and it fails with out of memory if it exceeds the limit (graph.c).
 *
 * The memory belongs to the device of the stream, which may differ from the current context's
 * device.
 */
#include "interpose/memory/capture.h"
#include "interpose/memory/kept.h"
#include "interpose/memory/pass.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"

#define PER_THREAD ((void *)2) /* CU_STREAM_PER_THREAD: what NULL means to a _ptsz function */
#define UNIT ((size_t)512)

typedef int plain_function(unsigned long long *block, size_t bytes, void *stream);
typedef int pool_function(unsigned long long *block, size_t bytes, void *pool, void *stream);

struct arguments {
	plain_function *plain; /* exactly one of plain and pooled is set */
	pool_function *pooled;
	void *pool;
	void *stream;
	void *true_stream;         /* the same stream, as a handle valid in every function */
	unsigned long long *block; /* out */
};

static int call(const struct arguments *arguments, size_t bytes)
{
	unsigned long long *block = arguments->block;

	return arguments->plain != NULL
		       ? arguments->plain(block, bytes, arguments->stream)
		       : arguments->pooled(block, bytes, arguments->pool, arguments->stream);
}

static int ask(void *user, size_t bytes, uint64_t *key)
{
	const struct arguments *arguments = user;
	int answer = call(arguments, bytes);

	if (answer == MAM_CUDA_SUCCESS)
		*key = *arguments->block;
	return answer;
}

static int alloc(enum mam_table_id function, enum mam_road road, struct arguments *arguments,
		 size_t bytes)
{
	MAM_GATE_PASS();
	struct mam_pass pass = { .function = function,
				 .road = road,
				 .kind = MAM_ACCOUNT_ASYNC,
				 .bytes = bytes,
				 .taken = bytes > SIZE_MAX - UNIT
						  ? bytes
						  : (bytes + UNIT - 1) / UNIT * UNIT,
				 .stream = arguments->stream,
				 .ask = ask,
				 .arguments = arguments };
	int answer;
	bool over;

	if (arguments->plain == NULL && arguments->pooled == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || arguments->block == NULL || bytes == 0)
		return call(arguments, bytes);
	if (mam_capture_has(arguments->true_stream)) {
		mam_init_depth++;
		mam_kept_note_graphs();
		over = mam_kept_is_too_much(bytes);
		answer = over ? MAM_CUDA_OUT_OF_MEMORY : call(arguments, bytes);
		mam_pass_watch(function, road, over ? MAM_WHY_LIMIT : MAM_WHY_CAPTURE, answer);
		mam_init_depth--;
		return answer;
	}
	return mam_pass_alloc(&pass);
}

int cuMemAllocAsync(unsigned long long *block, size_t bytes, void *stream)
{
	struct arguments arguments = {
		MAM_TABLE_ORIGINAL(cuMemAllocAsync), NULL, NULL, stream, stream, block
	};

	return alloc(MAM_TABLE_cuMemAllocAsync, mam_road_taken(), &arguments, bytes);
}
MAM_THUNK(cuMemAllocAsync);

int cuMemAllocAsync_ptsz(unsigned long long *block, size_t bytes, void *stream)
{
	struct arguments arguments = { MAM_TABLE_ORIGINAL(cuMemAllocAsync_ptsz), NULL, NULL, stream,
				       stream == NULL ? PER_THREAD : stream,     block };

	return alloc(MAM_TABLE_cuMemAllocAsync_ptsz, mam_road_taken(), &arguments, bytes);
}
MAM_THUNK(cuMemAllocAsync_ptsz);

int cuMemAllocFromPoolAsync(unsigned long long *block, size_t bytes, void *pool, void *stream)
{
	struct arguments arguments = { NULL,   MAM_TABLE_ORIGINAL(cuMemAllocFromPoolAsync),
				       pool,   stream,
				       stream, block };

	return alloc(MAM_TABLE_cuMemAllocFromPoolAsync, mam_road_taken(), &arguments, bytes);
}
MAM_THUNK(cuMemAllocFromPoolAsync);

int cuMemAllocFromPoolAsync_ptsz(unsigned long long *block, size_t bytes, void *pool, void *stream)
{
	/* clang-format off */
	struct arguments arguments = { NULL, MAM_TABLE_ORIGINAL(cuMemAllocFromPoolAsync_ptsz), pool,
				       stream, stream == NULL ? PER_THREAD : stream, block };
	/* clang-format on */

	return alloc(MAM_TABLE_cuMemAllocFromPoolAsync_ptsz, mam_road_taken(), &arguments, bytes);
}
MAM_THUNK(cuMemAllocFromPoolAsync_ptsz);
