/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_refused.c - the n-th driver call fails, for every n until a run has no failure.
 *
 * Each program runs repeatedly on a new pool; the n-th driver call from the pool's creation on
 * fails (alone, or with some calls after it, or with all). In each run:
 *   1. every call of mam returns a status that its comment permits, and a failed call changed
 *      nothing;
 *   2. mam_pool_check() succeeds and the statistics are correct after each call;
 *   3. once the driver works again, every block can be freed, everything can be trimmed, the pool
 *      can be destroyed, and the driver has all its memory, addresses and events back. One item may
 *      leak if the failed call was the one that frees it.
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

#define BLOCKS 512
#define MAX_CALLS 20000 /* no program makes more */
#define CLOSELY 16      /* calls after the failed one that are each followed by a full check */
#define SELDOM 16       /* of the remaining calls, one in this many */

struct stage {
	const struct cuda *cuda;
	struct mam_pool *pool;
	struct mam_source *source; /* NULL: the pool's own */
	struct CUstream_st *streams[3];
	void *blocks[BLOCKS];
	uint64_t live, failures, remaps;
	unsigned long n, times; /* the first failing call, and the number of failing calls */
	unsigned calls;
	unsigned long waits; /* of the program for unfinished work */
	unsigned differs;    /* calls since the first driver failure */
};

static bool is_refusal(enum mam_status status)
{
	return status == MAM_ERROR_OUT_OF_MEMORY || status == MAM_ERROR_DRIVER ||
	       status == MAM_ERROR_OUT_OF_HOST_MEMORY;
}

static void consistent(struct stage *stage, const char *call)
{
	struct mam_stats stats = { .size = sizeof(stats) };
	unsigned long long where = 0;
	char why[256] = "";
	size_t bytes = 0;

	stage->calls++;
	if (stage->differs == 0 && stage->n != 0 && stage->cuda->fake_failed(why, sizeof(why)) == 0)
		return; /* same state as in the run without failures, which was checked */
	if (stage->differs++ >= CLOSELY && stage->differs % SELDOM != 0)
		return; /* errors persist until a later check */
	ck_assert_msg(mam_pool_check(stage->pool, why, sizeof(why)) == MAM_OK,
		      "n %lu, call %u (%s): %s", stage->n, stage->calls, call, why);
	ck_assert_int_eq(mam_pool_stats(stage->pool, &stats), MAM_OK);
	stage->remaps = stats.remaps;
	ck_assert_msg(stats.live_blocks == stage->live && stats.failures == stage->failures,
		      "n %lu, call %u (%s): %llu live and %llu failures, not %llu and %llu",
		      stage->n, stage->calls, call, (unsigned long long)stats.live_blocks,
		      (unsigned long long)stats.failures, (unsigned long long)stage->live,
		      (unsigned long long)stage->failures);
	ck_assert_msg(stage->cuda->fake_disturbed(&where, &bytes) == 0,
		      "n %lu, call %u (%s): %zu bytes were released while work used them", stage->n,
		      stage->calls, call, bytes);
}

static void allow(struct stage *stage, enum mam_status status, const char *call)
{
	ck_assert_msg(status == MAM_OK || is_refusal(status), "n %lu, call %u: %s returns %s",
		      stage->n, stage->calls + 1, call, mam_status_name(status));
	consistent(stage, call);
}

static void alloc(struct stage *stage, unsigned at, size_t bytes, struct CUstream_st *stream,
		  bool ordered)
{
	void *untouched = stage, *block = untouched;
	enum mam_status status;

	if (stage->blocks[at]) /* a free of it failed */
		return;
	status = ordered ? mam_malloc_async(stage->pool, bytes, stream, &block)
			 : mam_malloc(stage->pool, bytes, &block);
	stage->live += status == MAM_OK;
	stage->failures += status != MAM_OK;
	if (status == MAM_OK)
		stage->blocks[at] = block;
	else
		ck_assert_ptr_eq(block, untouched);
	allow(stage, status, ordered ? "mam_malloc_async" : "mam_malloc");
}

static void dealloc(struct stage *stage, unsigned at, struct CUstream_st *stream, bool ordered)
{
	enum mam_status status;

	if (!stage->blocks[at])
		return;
	status = ordered ? mam_free_async(stage->pool, stage->blocks[at], stream)
			 : mam_free(stage->pool, stage->blocks[at]);
	if (status == MAM_OK) {
		stage->blocks[at] = NULL;
		stage->live--;
	}
	allow(stage, status, ordered ? "mam_free_async" : "mam_free");
}

static void use(struct stage *stage, unsigned at, size_t bytes, struct CUstream_st *stream)
{
	unsigned long long id;
	uint64_t due_ns;

	if (stage->blocks[at])
		ck_assert_int_eq(stage->cuda->fake_use((uintptr_t)stage->blocks[at], bytes, stream,
						       &id, &due_ns),
				 CUDA_SUCCESS);
}

static void trim(struct stage *stage, size_t keep)
{
	allow(stage, mam_pool_trim(stage->pool, keep, NULL), "mam_pool_trim");
}

static void play_growth(struct stage *stage)
{
	for (unsigned i = 0; i < 5; i++) {
		alloc(stage, i, (9 + i) * MIB, NULL, false);
		use(stage, i, MIB, stage->streams[i % 3]);
	}
	for (unsigned i = 0; i < 5; i++)
		dealloc(stage, i, NULL, false);
}

/* Half is free, in blocks of which none is large enough. */
static void play_fragments(struct stage *stage)
{
	for (unsigned i = 0; i < 16; i++) {
		alloc(stage, i, 4 * MIB, NULL, false);
		use(stage, i, 4 * MIB, stage->streams[0]);
	}
	for (unsigned i = 0; i < 16; i += 2)
		dealloc(stage, i, NULL, false);
	alloc(stage, 16, 16 * MIB, NULL, false);
	alloc(stage, 17, 10 * MIB, NULL, false);
	dealloc(stage, 16, NULL, false);
	alloc(stage, 18, 3 * MIB, NULL, false);
	alloc(stage, 19, 24 * MIB, NULL, false);
}

/* The same in stream order: the free blocks are in use when they are needed. */
static void play_busy_fragments(struct stage *stage)
{
	for (unsigned i = 0; i < 16; i++) {
		alloc(stage, i, 4 * MIB, stage->streams[i % 3], true);
		use(stage, i, 4 * MIB, stage->streams[i % 3]);
	}
	for (unsigned i = 0; i < 16; i += 2)
		dealloc(stage, i, stage->streams[i % 3], true);
	alloc(stage, 16, 16 * MIB, stage->streams[1], true);
	use(stage, 16, 16 * MIB, stage->streams[1]);
	dealloc(stage, 16, stage->streams[1], true);
	alloc(stage, 17, 10 * MIB, stage->streams[2], true);
	alloc(stage, 18, 10 * MIB, NULL, false);
}

static void play_trim(struct stage *stage)
{
	for (unsigned i = 0; i < 8; i++) {
		alloc(stage, i, (i % 3 + 1) * 3 * MIB, stage->streams[i % 3], i % 2);
		use(stage, i, MIB, stage->streams[i % 3]);
	}
	for (unsigned i = 0; i < 8; i += 2)
		dealloc(stage, i, stage->streams[i % 3], i % 4 == 0);
	trim(stage, 8 * MIB);
	trim(stage, 0);
	for (unsigned i = 1; i < 8; i += 2)
		dealloc(stage, i, stage->streams[i % 3], true);
	trim(stage, 0);
	alloc(stage, 0, MIB, NULL, false);
}

static void play_streams(struct stage *stage)
{
	for (unsigned i = 0; i < 48; i++) {
		struct CUstream_st *stream = stage->streams[i % 3];

		alloc(stage, i, (i % 5 + 1) * 300 * KIB, stream, true);
		use(stage, i, 300 * KIB, stream);
		if (i % 3 != 2)
			dealloc(stage, i, stream, true);
		if (i % 16 == 15)
			allow(stage, mam_stream_release(stage->pool, stream), "mam_stream_release");
	}
	alloc(stage, 0, 12 * MIB, STREAM_PER_THREAD, true);
	alloc(stage, 1, 12 * MIB, NULL, false);
}

/* A block whose free failed belongs to its former stream. */
static void alloc_and_use(struct stage *stage, unsigned at, size_t bytes,
			  struct CUstream_st *stream)
{
	if (stage->blocks[at])
		return;
	alloc(stage, at, bytes, stream, true);
	use(stage, at, bytes, stream);
}

/* Each stream needs memory that others freed and still use: as one block, and in pieces. */
static void play_lent(struct stage *stage)
{
	for (unsigned i = 0; i < 12; i++)
		alloc_and_use(stage, i, (i % 4 + 1) * 2 * MIB, stage->streams[i % 3]);
	for (unsigned i = 0; i < 12; i += 2)
		dealloc(stage, i, stage->streams[i % 3], true);
	for (unsigned i = 0; i < 12; i += 2)
		alloc_and_use(stage, i, (i % 4 + 1) * 2 * MIB, stage->streams[(i + 1) % 3]);
	for (unsigned i = 0; i < 12; i += 2)
		dealloc(stage, i, stage->streams[(i + 1) % 3], true);
	alloc_and_use(stage, 0, 20 * MIB, stage->streams[2]);
}

static void play_small(struct stage *stage)
{
	for (unsigned i = 0; i < 200; i++)
		alloc(stage, i, i * 97 % 6000 + 1, NULL, false);
	for (unsigned i = 0; i < 200; i++)
		dealloc(stage, i, stage->streams[0], i % 2);
	for (unsigned i = 0; i < 100; i++)
		alloc(stage, i, i * 61 % 6000 + 1, stage->streams[1], i % 2);
	trim(stage, 0);
}

static const struct program {
	const char *name;
	void (*play)(struct stage *stage);
	const char *source;
	enum mam_free_policy policy;
	size_t limit;
	size_t footprint;
} programs[] = {
	{ "growth", play_growth, "cudamalloc", MAM_FREE_STRICT, 0, 0 },
	{ "growth", play_growth, "vmm", MAM_FREE_STRICT, 0, 0 },
	{ "growth, deferred", play_growth, "vmm", MAM_FREE_DEFERRED, 0, 0 },
	{ "fragments", play_fragments, "cudamalloc", MAM_FREE_STRICT, 64 * MIB, 0 },
	{ "fragments", play_fragments, "vmm", MAM_FREE_STRICT, 64 * MIB, 0 },
	{ "busy fragments", play_busy_fragments, "cudamalloc", MAM_FREE_DEFERRED, 64 * MIB, 0 },
	{ "busy fragments", play_busy_fragments, "vmm", MAM_FREE_DEFERRED, 64 * MIB, 0 },
	{ "trim", play_trim, "cudamalloc", MAM_FREE_STRICT, 0, 0 },
	{ "trim", play_trim, "vmm", MAM_FREE_STRICT, 0, 0 },
	{ "streams", play_streams, "cudamalloc", MAM_FREE_STRICT, 32 * MIB, 0 },
	{ "streams", play_streams, "vmm", MAM_FREE_STRICT, 32 * MIB, 0 },
	{ "lent", play_lent, "cudamalloc", MAM_FREE_STRICT, 0, 1 },
	{ "lent", play_lent, "vmm", MAM_FREE_STRICT, 0, 1 },
	{ "lent, limited", play_lent, "vmm", MAM_FREE_STRICT, 64 * MIB, 0 },
	{ "small blocks", play_small, "cudamalloc", MAM_FREE_STRICT, 0, 0 },
	{ "small blocks", play_small, "vmm", MAM_FREE_STRICT, 0, 0 },
};

static enum mam_status make_pool(struct stage *stage, const struct program *program)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_vmm_attr vmm = MAM_VMM_ATTR_INIT;
	enum mam_status status;

	attr.free_policy = program->policy;
	attr.limit_bytes = program->limit;
	attr.footprint = program->footprint;
	if (strcmp(program->source, "vmm") != 0) {
		attr.source = program->source;
		return mam_pool_create(&attr, &stage->pool);
	}
	status = mam_source_vmm(&vmm, &stage->source);
	if (status == MAM_OK)
		status = mam_pool_create_on(stage->source, &attr, &stage->pool);
	if (status != MAM_OK) {
		mam_source_destroy(stage->source);
		stage->source = NULL;
	}
	return status;
}

/* Calls that free something, or precede such a call. */
static bool may_lose(const struct stage *stage, const char *name)
{
	/* clang-format off */
	static const char *const calls[] = { "cuMemRelease",      "cuMemAddressFree", "cuMemFree",
					     "cuEventDestroy",    "cuCtxGetCurrent",
					     "cuCtxPushCurrent",
					     "cuThreadExchangeStreamCaptureMode",
					     "cuCtxGetId" };
	/* clang-format on */

	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (strcmp(name, calls[i]) == 0)
			return true;
	/* The second failure may be the call that rolls back the first one. */
	return stage->times > 1;
}

/* One handle, mapped only if its rollback failed too; one range; one event. */
static void subtract_excused(const struct stage *stage, struct fake_held *held)
{
	if (held->handles == 1 && held->blocks == 0 && held->mappings <= (stage->times > 1)) {
		held->handles = held->mappings = 0;
		held->device_bytes = 0;
	}
	if (held->blocks == 1 &&
	    held->device_bytes == 512) { /* memory that a wait frees (device.h) */
		held->blocks = 0;
		held->device_bytes = 0;
	}
	if (held->reservations == 1 && held->mappings == 0)
		held->reservations = 0;
	if (held->events == 1)
		held->events = 0;
}

static void nothing_leaked(const struct stage *stage, const struct fake_held *before,
			   const char *name)
{
	struct fake_held held;

	stage->cuda->fake_holds(&held);
	held.device_bytes -= before->device_bytes;
	held.blocks -= before->blocks;
	held.handles -= before->handles;
	held.mappings -= before->mappings;
	held.reservations -= before->reservations;
	held.events -= before->events;
	if (may_lose(stage, name))
		subtract_excused(stage, &held);
	ck_assert_msg(!held.device_bytes && !held.blocks && !held.handles && !held.mappings &&
			      !held.reservations && !held.events,
		      "n %lu (%s): leaked %zu bytes, %d blocks, %d handles, %d mappings, %d "
		      "ranges, %d events",
		      stage->n, name, held.device_bytes, held.blocks, held.handles, held.mappings,
		      held.reservations, held.events);
}

/* The driver works again. */
static void end_well(struct stage *stage, const char *name)
{
	enum mam_status status;
	size_t released;

	stage->differs = 1; /* each call is checked from here on */
	for (unsigned at = 0; at < BLOCKS; at++) {
		if (!stage->blocks[at])
			continue;
		ck_assert_int_eq(mam_free(NULL, stage->blocks[at]), MAM_OK);
		stage->blocks[at] = NULL;
		stage->live--;
	}
	consistent(stage, "the last free");
	/*
	 * The pool does not avoid a failed operation forever; nor does it retry forever, for
	 * example addresses whose map could not be undone. Leaks of earlier runs may be missing if
	 * more than one call failed.
	 */
	if (stage->times <= 3) {
		status = mam_malloc(stage->pool, 8 * MIB, &stage->blocks[0]);
		ck_assert_msg(status == MAM_OK ||
				      (stage->times > 1 && status == MAM_ERROR_OUT_OF_MEMORY),
			      "n %lu (%s): requests fail permanently: %s", stage->n, name,
			      mam_status_name(status));
		stage->live += status == MAM_OK;
		stage->failures += status != MAM_OK;
		dealloc(stage, 0, NULL, false);
		ck_assert_ptr_null(stage->blocks[0]);
	}
	ck_assert_int_eq(mam_pool_trim(stage->pool, 0, &released), MAM_OK);
	consistent(stage, "the last trim");
	ck_assert_int_eq(mam_pool_destroy(stage->pool), MAM_OK);
	mam_source_destroy(stage->source);
}

/* Returns whether a call failed: if not, no larger n has an effect. */
static bool play(struct stage *stage, const struct program *program, unsigned long n,
		 unsigned long times)
{
	struct fake_held before;
	char name[48] = "";
	enum mam_status status;

	stage->n = n;
	stage->times = times;
	stage->live = stage->failures = stage->calls = 0;
	stage->source = NULL;
	stage->differs = 0;
	memset(stage->blocks, 0, sizeof(stage->blocks));
	stage->cuda->fake_holds(&before);
	stage->cuda->fake_fail(n, times);
	status = make_pool(stage, program);
	stage->waits = stage->cuda->fake_waited();
	if (status == MAM_OK)
		program->play(stage);
	else
		ck_assert_msg(is_refusal(status) || status == MAM_ERROR_NO_DEVICE ||
				      status == MAM_ERROR_UNSUPPORTED,
			      "n %lu: pool creation returns %s", n, mam_status_name(status));
	stage->waits = stage->cuda->fake_waited() - stage->waits;
	stage->cuda->fake_failed(name, sizeof(name));
	stage->cuda->fake_fail(0, 0);
	ck_assert_msg(stage->cuda->fake_crossed() == 0,
		      "n %lu (%s): two streams used memory at the same time", n, name);
	if (status == MAM_OK)
		end_well(stage, name);
	nothing_leaked(stage, &before, name);
	return name[0] != '\0';
}

static void begin(struct stage *stage, struct cuda *cuda)
{
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	setenv("FAKE_CUDA_LAG_US", "100", 1);
	setenv("FAKE_CUDA_MEMORY", "128M", 1);
	*cuda = load();
	stage->cuda = cuda;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(
			cuda->cuStreamCreate(&stage->streams[i], i % 2 ? 0 : STREAM_NON_BLOCKING),
			CUDA_SUCCESS);
}

/* Every call; if each is slow, all of the first ones and some of the others. */
static unsigned long next(unsigned long n)
{
	return n + (STRESS_SHARE == 1 || n < 30 ? 1 : 7);
}

static void play_all(const struct program *program, unsigned long times, unsigned long min)
{
	static struct stage stage;
	static struct cuda cuda;
	unsigned long n = 1;

	begin(&stage, &cuda);
	ck_assert_msg(!play(&stage, program, 0, 0), "%s: a call failed although none should",
		      program->name);
	ck_assert_msg(stage.failures <= 3, "%s: %lu requests fail without a driver failure",
		      program->name, (unsigned long)stage.failures);
	if (program->play == play_fragments && stage.source)
		ck_assert_uint_gt(stage.remaps, 0); /* otherwise no move is tested */
	if (program->play == play_lent)
		ck_assert_uint_eq(stage.waits, 0); /* the GPU waits instead */
	while (play(&stage, program, n, times)) {
		n = next(n);
		ck_assert_uint_lt(n, MAX_CALLS);
	}
	ck_assert_uint_gt(n, min); /* otherwise the program did not get far */
}

START_TEST(pool_survives_one_failed_call)
{
	play_all(&programs[_i], 1, 10);
}
END_TEST

START_TEST(pool_survives_three_failed_calls)
{
	play_all(&programs[_i], 3, 10);
}
END_TEST

START_TEST(pool_survives_permanent_failure)
{
	play_all(&programs[_i], MAX_CALLS, 10);
}
END_TEST

/*
 * While a pool is destroyed: each call returns a status, and the handle is destroyed or still
 * valid.
 */
START_TEST(destroy_survives_one_failed_call)
{
	const struct program *program = &programs[_i];
	static struct stage stage;
	static struct cuda cuda;
	bool failed = true;
	char name[48];

	begin(&stage, &cuda);
	for (unsigned long n = 1; failed; n = next(n)) {
		struct mam_stats stats = { .size = sizeof(stats) };
		enum mam_status status;

		stage.source = NULL;
		stage.differs = 0;
		memset(stage.blocks, 0, sizeof(stage.blocks));
		stage.n = n;
		stage.live = stage.failures = stage.calls = 0;
		ck_assert_int_eq(make_pool(&stage, program), MAM_OK);
		program->play(&stage);
		for (unsigned at = 0; at < BLOCKS; at++)
			if (stage.blocks[at])
				dealloc(&stage, at, stage.streams[0], at % 2);
		cuda.cuCtxSynchronize();
		cuda.fake_fail(n, 1);
		status = mam_pool_destroy(stage.pool);
		if (status == MAM_OK)
			ck_assert_int_eq(mam_pool_stats(stage.pool, &stats), MAM_ERROR_DESTROYED);
		else
			ck_assert_int_eq(mam_pool_check(stage.pool, NULL, 0), MAM_OK);
		mam_source_destroy(status == MAM_OK ? stage.source : NULL);
		failed = cuda.fake_failed(name, sizeof(name)) > 0;
		cuda.fake_fail(0, 0);
		ck_assert_uint_lt(n, MAX_CALLS);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/refused");
	TCase *refused = suite_case(suite, "refused");

	tcase_set_timeout(refused, 600);
	tcase_add_loop_test(refused, pool_survives_one_failed_call, 0, COUNT_OF(programs));
	tcase_add_loop_test(refused, pool_survives_three_failed_calls, 0, COUNT_OF(programs));
	tcase_add_loop_test(refused, pool_survives_permanent_failure, 0, COUNT_OF(programs));
	tcase_add_loop_test(refused, destroy_survives_one_failed_call, 0, COUNT_OF(programs));
	return suite_run(suite);
}
