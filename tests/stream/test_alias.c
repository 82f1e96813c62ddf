/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a stream freed is mapped at a second address while its work uses the first one
 * (pool/alias.h), on the fake driver, whose work is unfinished until a call waits.
 *
 * The fake reports two errors: memory that is unmapped while work uses that address (scene_end), and
 * new memory that unfinished work of another stream accesses, at whatever address (pending).
 */
#include "scene.h"

#include "pool/alias.h"

#define KIB ((size_t)1 << 10)
#define BLOCK (16 * MIB)
#define BLOCKS 4

/* A pool with blocks of stream one, of which every second one was freed while work uses it. */
static struct scene *scattered(void **blocks)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct scene *s;

	attr.source = "vmm";
	s = scene_with(&attr);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = alloc(s, BLOCK, s->one);
		work(s, blocks[i], BLOCK, s->one);
	}
	for (int i = 0; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], s->one);
	return s;
}

static void free_rest(struct scene *s, void **blocks)
{
	for (int i = 1; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], s->one);
}

START_TEST(freed_memory_is_used_elsewhere_at_once)
{
	void *blocks[BLOCKS], *wide;
	struct scene *s = scattered(blocks);
	uint64_t before = stats_of(s).physical_bytes;
	unsigned long waited = s->cuda.fake_waited();

	wide = alloc(s, 2 * BLOCK, s->one);
	intact(s);
	ck_assert_uint_le(stats_of(s).physical_bytes, before + 2 * MIB);
	ck_assert_uint_gt(stats_of(s).remaps, 0);
	ck_assert_uint_eq(s->cuda.fake_waited(), waited);
	ck_assert_int_ne(pending(s, wide, 2 * BLOCK),
			 0); /* the same memory, in the stream's order */
	work(s, wide, 2 * BLOCK, s->one);
	dealloc(s, wide, s->one);
	free_rest(s, blocks);
	scene_end(s);
}
END_TEST

/* The old addresses stay mapped until a later growth finds the fence passed. */
START_TEST(old_address_is_unmapped_after_its_fence)
{
	void *blocks[BLOCKS], *wide, *more;
	struct scene *s = scattered(blocks);
	unsigned long long address;
	size_t bytes;

	wide = alloc(s, 2 * BLOCK, s->one);
	calls_forget();
	more = alloc(s, BLOCK, s->one); /* grows, and nothing has passed */
	ck_assert_uint_eq(calls("cuMemUnmap"), 0);
	finish(s, s->one);
	dealloc(s, alloc(s, 3 * BLOCK, s->one), s->one);
	ck_assert_uint_gt(calls("cuMemUnmap"), 0);
	ck_assert_int_eq(s->cuda.fake_disturbed(&address, &bytes), 0);
	dealloc(s, wide, s->one);
	dealloc(s, more, s->one);
	free_rest(s, blocks);
	scene_end(s);
}
END_TEST

/* Neither the new address nor the rest after a block is for another stream before the fence. */
START_TEST(other_stream_gets_no_alias)
{
	void *blocks[BLOCKS], *wide, *other[6];
	struct scene *s = scattered(blocks);

	wide = alloc(s, 2 * BLOCK - 3 * MIB, s->one);
	dealloc(s, wide, s->one);
	for (size_t i = 0; i < 6; i++) {
		other[i] = alloc(s, (1 + i) * MIB, s->two);
		ck_assert_int_eq(pending(s, other[i], (1 + i) * MIB), 0);
		work(s, other[i], (1 + i) * MIB, s->two);
	}
	other[0] = (dealloc(s, other[0], s->two), alloc(s, 2 * BLOCK, s->two));
	ck_assert_int_eq(pending(s, other[0], 2 * BLOCK), 0);
	for (int i = 0; i < 6; i++)
		dealloc(s, other[i], s->two);
	free_rest(s, blocks);
	scene_end(s);
}
END_TEST

/* The graph will use the old address each time that it runs. */
START_TEST(capture_gets_no_alias)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	void *blocks[BLOCKS], *wide;
	struct scene *s;

	attr.source = "vmm";
	s = scene_with(&attr);
	capture_begin(s, s->one, 2);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = alloc(s, BLOCK, s->one);
	for (int i = 0; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], s->one);
	wide = alloc(s, 2 * BLOCK, s->one);
	ck_assert_uint_eq(stats_of(s).remaps, 0);
	dealloc(s, wide, s->one);
	free_rest(s, blocks);
	capture_end(s, s->one, true);
	scene_end(s);
}
END_TEST

/* The stream is destroyed while its old addresses leave: the fence still passes. */
START_TEST(destroyed_stream_leaves_nothing_mapped)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	void *blocks[BLOCKS], *wide;
	struct scene *s;
	struct CUstream_st *gone;

	attr.source = "vmm";
	s = scene_with(&attr);
	gone = stream_new(s);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = alloc(s, BLOCK, gone);
		work(s, blocks[i], BLOCK, gone);
	}
	for (int i = 0; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], gone);
	wide = alloc(s, 2 * BLOCK, gone);
	ck_assert_uint_gt(stats_of(s).remaps, 0);
	dealloc(s, wide, gone);
	for (int i = 1; i < BLOCKS; i += 2)
		dealloc(s, blocks[i], gone);
	stream_end(s, gone);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	intact(s);
	ck_assert_uint_eq(stats_of(s).physical_bytes, 0);
	scene_end(s);
}
END_TEST

START_TEST(trim_waits_and_releases_all)
{
	void *blocks[BLOCKS];
	struct scene *s = scattered(blocks);

	dealloc(s, alloc(s, 2 * BLOCK, s->one), s->one);
	free_rest(s, blocks);
	ck_assert_int_eq(mam_pool_trim(s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(s).physical_bytes, 0);
	scene_end(s);
}
END_TEST

/* All memory of the device: only waiting for the old addresses, or aliasing, serves the request. */
START_TEST(out_of_memory_is_served_by_aliases)
{
	void *blocks[15], *wide;
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct scene *s;

	attr.source = "vmm";
	s = scene_with(&attr);
	for (int i = 0; i < 15; i++) {
		blocks[i] = alloc(s, BLOCK, s->one);
		work(s, blocks[i], BLOCK, s->one);
	}
	for (int turn = 0; turn < 8; turn++) {
		for (int i = 0; i < 15; i += 2)
			dealloc(s, blocks[i], s->one);
		wide = alloc(s, 8 * BLOCK - 8 * MIB, s->one);
		work(s, wide, 8 * BLOCK - 8 * MIB, s->one);
		dealloc(s, wide, s->one);
		for (int i = 0; i < 15; i += 2) {
			blocks[i] = alloc(s, BLOCK, s->one);
			work(s, blocks[i], BLOCK, s->one);
		}
		intact(s);
	}
	for (int i = 0; i < 15; i++)
		dealloc(s, blocks[i], s->one);
	scene_end(s);
}
END_TEST

static const char *const mapped_calls[] = { "cuMemMap",     "cuMemSetAccess", "cuMemUnmap",
					    "cuMemCreate",  "cuMemRelease",   "cuEventRecord",
					    "cuEventQuery", "cuEventCreate" };

#define CALLS_THAT_FAIL 8
#define FAILURES 24

/* One call of each function fails, at each moment; a request may then fail, but nothing breaks. */
START_TEST(failed_calls_break_nothing)
{
	const char *call = mapped_calls[_i % CALLS_THAT_FAIL];
	int at = 1 + _i / CALLS_THAT_FAIL;
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	char rule[64];
	void *blocks[BLOCKS] = { NULL }, *wide = NULL;
	struct scene *s;

	snprintf(rule, sizeof(rule), "%s:%d", call, at);
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
	attr.source = "vmm";
	s = scene_with(&attr);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < BLOCKS; i++) {
			if (blocks[i] != NULL)
				continue;
			if (mam_malloc_async(s->pool, BLOCK, s->one, &blocks[i]) == MAM_OK)
				work(s, blocks[i], BLOCK, s->one);
			intact(s);
		}
		for (int i = turn % 2; i < BLOCKS; i += 2) {
			ck_assert_int_eq(mam_free_async(s->pool, blocks[i], s->one), MAM_OK);
			blocks[i] = NULL;
		}
		if (mam_malloc_async(s->pool, 2 * BLOCK, s->one, &wide) == MAM_OK) {
			work(s, wide, 2 * BLOCK, s->one);
			ck_assert_int_eq(mam_free_async(s->pool, wide, s->one), MAM_OK);
		}
		intact(s);
		if (turn == 1)
			finish(s, s->one);
	}
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mam_free_async(s->pool, blocks[i], s->one), MAM_OK);
	intact(s);
	unsetenv("FAKE_CUDA_FAIL_AT");
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, freed_memory_is_used_elsewhere_at_once);
	tcase_add_test(tests, old_address_is_unmapped_after_its_fence);
	tcase_add_test(tests, other_stream_gets_no_alias);
	tcase_add_test(tests, capture_gets_no_alias);
	tcase_add_test(tests, destroyed_stream_leaves_nothing_mapped);
	tcase_add_test(tests, trim_waits_and_releases_all);
	tcase_add_test(tests, out_of_memory_is_served_by_aliases);
	tcase_add_loop_test(tests, failed_calls_break_nothing, 0, CALLS_THAT_FAIL * FAILURES);
}

int main(void)
{
	return suite_run("stream/alias", add);
}
