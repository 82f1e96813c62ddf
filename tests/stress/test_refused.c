/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_refused.c - the n-th driver call fails, for every n until the program runs clean.
 *
 * Each program is played again and again on a new pool; the n-th driver call from the pool's making on fails (alone, or
 * with some behind it, or with all). Whatever fails:
 *   1. every call of mam's answers with a status that its comment allows, and what did not succeed changed nothing;
 *   2. mam_pool_check() is content and the counts are right after each call;
 *   3. once the driver works again every block can be freed, everything can be trimmed, the pool ends, and the driver
 *      has all its memory, addresses and events back. One thing may be lost where the call that failed was the one
 *      that gives it back.
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
#define CLOSELY 16      /* calls behind the one that failed after each of which all is checked */
#define SELDOM 16       /* and of the rest every so many */

struct stage {
	const struct cuda *cuda;
	struct mam_pool *pool;
	struct mam_source *source; /* NULL: the pool's own */
	struct CUstream_st *streams[3];
	void *blocks[BLOCKS];
	uint64_t live, failures, remaps;
	unsigned long n, times; /* the call that fails, and how many do */
	unsigned calls;
	unsigned differs; /* calls since one of the driver's failed */
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
		return; /* all is as it was when nothing failed, and that was looked at */
	if (stage->differs++ >= CLOSELY && stage->differs % SELDOM != 0)
		return; /* what is broken stays so until a later look */
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
		      "n %lu, call %u (%s): %zu bytes went while work used them", stage->n,
		      stage->calls, call, bytes);
}

static void allow(struct stage *stage, enum mam_status status, const char *call)
{
	ck_assert_msg(status == MAM_OK || is_refusal(status), "n %lu, call %u: %s answers %s",
		      stage->n, stage->calls + 1, call, mam_status_name(status));
	consistent(stage, call);
}

static void take(struct stage *stage, unsigned at, size_t bytes, struct CUstream_st *stream,
		 bool ordered)
{
	void *untouched = stage, *block = untouched;
	enum mam_status status;

	if (stage->blocks[at]) /* a free of it was refused */
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

static void give(struct stage *stage, unsigned at, struct CUstream_st *stream, bool ordered)
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
		take(stage, i, (9 + i) * MIB, NULL, false);
		use(stage, i, MIB, stage->streams[i % 3]);
	}
	for (unsigned i = 0; i < 5; i++)
		give(stage, i, NULL, false);
}

/* Half is free, in holes of which none is large enough. */
static void play_holes(struct stage *stage)
{
	for (unsigned i = 0; i < 16; i++) {
		take(stage, i, 4 * MIB, NULL, false);
		use(stage, i, 4 * MIB, stage->streams[0]);
	}
	for (unsigned i = 0; i < 16; i += 2)
		give(stage, i, NULL, false);
	take(stage, 16, 16 * MIB, NULL, false);
	take(stage, 17, 10 * MIB, NULL, false);
	give(stage, 16, NULL, false);
	take(stage, 18, 3 * MIB, NULL, false);
	take(stage, 19, 24 * MIB, NULL, false);
}

/* The same in the order of streams: the holes are in use when they are wanted. */
static void play_busy_holes(struct stage *stage)
{
	for (unsigned i = 0; i < 16; i++) {
		take(stage, i, 4 * MIB, stage->streams[i % 3], true);
		use(stage, i, 4 * MIB, stage->streams[i % 3]);
	}
	for (unsigned i = 0; i < 16; i += 2)
		give(stage, i, stage->streams[i % 3], true);
	take(stage, 16, 16 * MIB, stage->streams[1], true);
	use(stage, 16, 16 * MIB, stage->streams[1]);
	give(stage, 16, stage->streams[1], true);
	take(stage, 17, 10 * MIB, stage->streams[2], true);
	take(stage, 18, 10 * MIB, NULL, false);
}

static void play_trim(struct stage *stage)
{
	for (unsigned i = 0; i < 8; i++) {
		take(stage, i, (i % 3 + 1) * 3 * MIB, stage->streams[i % 3], i % 2);
		use(stage, i, MIB, stage->streams[i % 3]);
	}
	for (unsigned i = 0; i < 8; i += 2)
		give(stage, i, stage->streams[i % 3], i % 4 == 0);
	trim(stage, 8 * MIB);
	trim(stage, 0);
	for (unsigned i = 1; i < 8; i += 2)
		give(stage, i, stage->streams[i % 3], true);
	trim(stage, 0);
	take(stage, 0, MIB, NULL, false);
}

static void play_streams(struct stage *stage)
{
	for (unsigned i = 0; i < 48; i++) {
		struct CUstream_st *stream = stage->streams[i % 3];

		take(stage, i, (i % 5 + 1) * 300 * KIB, stream, true);
		use(stage, i, 300 * KIB, stream);
		if (i % 3 != 2)
			give(stage, i, stream, true);
		if (i % 16 == 15)
			allow(stage, mam_stream_release(stage->pool, stream), "mam_stream_release");
	}
	take(stage, 0, 12 * MIB, STREAM_PER_THREAD, true);
	take(stage, 1, 12 * MIB, NULL, false);
}

static void play_small(struct stage *stage)
{
	for (unsigned i = 0; i < 200; i++)
		take(stage, i, i * 97 % 6000 + 1, NULL, false);
	for (unsigned i = 0; i < 200; i++)
		give(stage, i, stage->streams[0], i % 2);
	for (unsigned i = 0; i < 100; i++)
		take(stage, i, i * 61 % 6000 + 1, stage->streams[1], i % 2);
	trim(stage, 0);
}

static const struct program {
	const char *name;
	void (*play)(struct stage *stage);
	const char *source;
	enum mam_free_policy policy;
	size_t limit;
} programs[] = {
	{ "growth", play_growth, "cudamalloc", MAM_FREE_STRICT, 0 },
	{ "growth", play_growth, "vmm", MAM_FREE_STRICT, 0 },
	{ "growth, deferred", play_growth, "vmm", MAM_FREE_DEFERRED, 0 },
	{ "holes", play_holes, "cudamalloc", MAM_FREE_STRICT, 64 * MIB },
	{ "holes", play_holes, "vmm", MAM_FREE_STRICT, 64 * MIB },
	{ "busy holes", play_busy_holes, "cudamalloc", MAM_FREE_DEFERRED, 64 * MIB },
	{ "busy holes", play_busy_holes, "vmm", MAM_FREE_DEFERRED, 64 * MIB },
	{ "trim", play_trim, "cudamalloc", MAM_FREE_STRICT, 0 },
	{ "trim", play_trim, "vmm", MAM_FREE_STRICT, 0 },
	{ "streams", play_streams, "cudamalloc", MAM_FREE_STRICT, 32 * MIB },
	{ "streams", play_streams, "vmm", MAM_FREE_STRICT, 32 * MIB },
	{ "small blocks", play_small, "cudamalloc", MAM_FREE_STRICT, 0 },
	{ "small blocks", play_small, "vmm", MAM_FREE_STRICT, 0 },
};

static enum mam_status make_pool(struct stage *stage, const struct program *program)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_vmm_attr vmm = MAM_VMM_ATTR_INIT;
	enum mam_status status;

	attr.free_policy = program->policy;
	attr.limit_bytes = program->limit;
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

/* Calls that give something back, or stand before one that does. */
static bool may_lose(const struct stage *stage, const char *name)
{
	/* clang-format off */
	static const char *const calls[] = { "cuMemRelease",      "cuMemAddressFree", "cuMemFree",
					     "cuEventDestroy",    "cuCtxGetCurrent",
					     "cuCtxPushCurrent",  "cuThreadExchangeStreamCaptureMode",
					     "cuCtxGetId" };
	/* clang-format on */

	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (strcmp(name, calls[i]) == 0)
			return true;
	return stage->times >
	       1; /* the call that clears up behind the first one may be the second */
}

/* One handle, mapped only where undoing the map failed too; one range; one event. */
static void subtract_excused(const struct stage *stage, struct fake_held *held)
{
	if (held->handles == 1 && held->blocks == 0 && held->mappings <= (stage->times > 1)) {
		held->handles = held->mappings = 0;
		held->device_bytes = 0;
	}
	if (held->blocks == 1 &&
	    held->device_bytes == 512) { /* what a wait gives back (device.h) */
		held->blocks = 0;
		held->device_bytes = 0;
	}
	if (held->reservations == 1 && held->mappings == 0)
		held->reservations = 0;
	if (held->events == 1)
		held->events = 0;
}

static void nothing_held(const struct stage *stage, const struct fake_held *before,
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

	stage->differs = 1; /* each call is looked at from here on */
	for (unsigned at = 0; at < BLOCKS; at++) {
		if (!stage->blocks[at])
			continue;
		ck_assert_int_eq(mam_free(NULL, stage->blocks[at]), MAM_OK);
		stage->blocks[at] = NULL;
		stage->live--;
	}
	consistent(stage, "the last free");
	/*
	 * What failed is not avoided for ever; nor tried for ever, as addresses are whose map could not be undone.
	 * What was lost in runs before may be missing where more than one call failed.
	 */
	if (stage->times <= 3) {
		status = mam_malloc(stage->pool, 8 * MIB, &stage->blocks[0]);
		ck_assert_msg(status == MAM_OK ||
				      (stage->times > 1 && status == MAM_ERROR_OUT_OF_MEMORY),
			      "n %lu (%s): no request works any more: %s", stage->n, name,
			      mam_status_name(status));
		stage->live += status == MAM_OK;
		stage->failures += status != MAM_OK;
		give(stage, 0, NULL, false);
		ck_assert_ptr_null(stage->blocks[0]);
	}
	ck_assert_int_eq(mam_pool_trim(stage->pool, 0, &released), MAM_OK);
	consistent(stage, "the last trim");
	ck_assert_int_eq(mam_pool_destroy(stage->pool), MAM_OK);
	mam_source_destroy(stage->source);
}

/* Whether a call failed: if not, no later n will tell anything. */
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
	if (status == MAM_OK)
		program->play(stage);
	else
		ck_assert_msg(is_refusal(status) || status == MAM_ERROR_NO_DEVICE ||
				      status == MAM_ERROR_UNSUPPORTED,
			      "n %lu: the pool's making answers %s", n, mam_status_name(status));
	stage->cuda->fake_failed(name, sizeof(name));
	stage->cuda->fake_fail(0, 0);
	if (status == MAM_OK)
		end_well(stage, name);
	nothing_held(stage, &before, name);
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

/* Every call; where each is slow, every one of the first and some of the others. */
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
	ck_assert_msg(!play(&stage, program, 0, 0), "%s: refused by nobody", program->name);
	ck_assert_msg(stage.failures <= 3, "%s: %lu requests fail by themselves", program->name,
		      (unsigned long)stage.failures);
	if (program->play == play_holes && stage.source)
		ck_assert_uint_gt(stage.remaps, 0); /* or nothing is moved that could fail */
	while (play(&stage, program, n, times)) {
		n = next(n);
		ck_assert_uint_lt(n, MAX_CALLS);
	}
	ck_assert_uint_gt(n, min); /* or the program did not get far */
}

START_TEST(one_call_fails)
{
	play_all(&programs[_i], 1, 10);
}
END_TEST

START_TEST(three_calls_in_a_row_fail)
{
	play_all(&programs[_i], 3, 10);
}
END_TEST

START_TEST(every_call_fails_from_one_on)
{
	play_all(&programs[_i], MAX_CALLS, 10);
}
END_TEST

/* While a pool ends: nothing is answered but a status, and the handle is ended or still good. */
START_TEST(one_call_of_the_end_fails)
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
				give(&stage, at, stage.streams[0], at % 2);
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
	tcase_add_loop_test(refused, one_call_fails, 0, COUNT_OF(programs));
	tcase_add_loop_test(refused, three_calls_in_a_row_fail, 0, COUNT_OF(programs));
	tcase_add_loop_test(refused, every_call_fails_from_one_on, 0, COUNT_OF(programs));
	tcase_add_loop_test(refused, one_call_of_the_end_fails, 0, COUNT_OF(programs));
	return suite_run(suite);
}
