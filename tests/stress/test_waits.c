/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waits.c - no allocation waits for the GPU while the driver has memory.
 *
 * A stream always has work that takes a minute of the fake's clock. Requests of random sizes, with
 * free chunks and pieces that are too small for them, make the pool grow with every source and free
 * policy. No driver call of an allocation may have to wait for that work. Frees may wait, under the
 * strict policy.
 *
 * Large blocks of device memory are aligned to 64 KiB, whichever call allocates them.
 *
 * When the driver or the limit refuses, an allocation may wait, and must then find the free memory.
 */
#include <mam/mam.h>
#include <mam/pools.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include <stdbool.h>
#include <string.h>

#include "api/suite.h"
#include "fake/load.h"
#include "scale.h"

#define BLOCKS 12
#define STEPS (3000 / STRESS_SHARE)

static struct cuda cuda;
static struct mam_pool *pool;
static struct CUstream_st *busy;
static uint64_t seed = 88172645463325252u;

static const struct row {
	const char *source;
	enum mam_free_policy policy;
	enum mam_cache_mode cache;
	size_t max_bytes;
} rows[] = {
	{ "cudamalloc", MAM_FREE_STRICT, MAM_CACHE_ON, 300 * MIB },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_ON, 300 * MIB },
	{ "cudamalloc", MAM_FREE_STRICT, MAM_CACHE_OFF, 300 * MIB },
	{ "cudamalloc", MAM_FREE_STREAM, MAM_CACHE_OFF, 300 * MIB },
	{ "vmm", MAM_FREE_STRICT, MAM_CACHE_ON, 300 * MIB },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_ON, 300 * MIB },
	{ "vmm", MAM_FREE_STRICT, MAM_CACHE_OFF, 300 * MIB },
	{ "vmm", MAM_FREE_STREAM, MAM_CACHE_OFF, 300 * MIB },
	{ "managed", MAM_FREE_STRICT, MAM_CACHE_ON, 300 * MIB },
	{ "managed", MAM_FREE_STREAM, MAM_CACHE_OFF, 300 * MIB },
	/* It leaves a quarter of the host's memory to other programs. */
	{ "pinned", MAM_FREE_STRICT, MAM_CACHE_ON, 40 * MIB },
	{ "pinned", MAM_FREE_STREAM, MAM_CACHE_OFF, 40 * MIB },
};

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void begin(const struct row *row, const char *memory, size_t limit_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	setenv("FAKE_CUDA_LAG_US", "60000000", 1);
	setenv("FAKE_CUDA_MEMORY", memory, 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuStreamCreate(&busy, STREAM_NON_BLOCKING), CUDA_SUCCESS);
	attr.source = row->source;
	attr.free_policy = row->policy;
	attr.cache = row->cache;
	attr.limit_bytes = limit_bytes;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
}

static void end(void)
{
	unsigned long long where;
	char why[200] = "";
	size_t bytes;

	ck_assert_int_eq(cuda.fake_disturbed(&where, &bytes), 0);
	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
}

/* Work on all of a block, which only a wait ends. */
static void use(void *block, size_t bytes)
{
	unsigned long long id;
	uint64_t due;

	ck_assert_int_eq(cuda.fake_use((uintptr_t)block, bytes, busy, &id, &due), CUDA_SUCCESS);
}

static enum mam_status allocate(size_t bytes, void **block)
{
	switch (draw(8)) {
	case 0: return mam_malloc_aligned(pool, bytes, (size_t)1 << draw(22), block);
	case 1:
	case 2:
	case 3: return mam_malloc_async(pool, bytes, busy, block);
	case 4:
		ck_assert_int_eq(mam_pool_reserve(pool, bytes), MAM_OK);
		return mam_malloc(pool, bytes, block);
	default: return mam_malloc(pool, bytes, block);
	}
}

static size_t draw_bytes(const struct row *row)
{
	static const size_t scales[] = { 2 * KIB, 600 * KIB, 40 * MIB, SIZE_MAX };
	size_t scale = scales[draw(COUNT_OF(scales))];

	return 1 + draw(scale < row->max_bytes ? scale : row->max_bytes);
}

static bool is_device_memory(const struct row *row)
{
	return strcmp(row->source, "cudamalloc") == 0 || strcmp(row->source, "vmm") == 0;
}

START_TEST(allocations_do_not_wait_while_driver_has_memory)
{
	const struct row *row = &rows[_i];
	void *blocks[BLOCKS] = { NULL };
	unsigned long waited;

	begin(row, "64G", 0);
	for (int step = 0; step < STEPS; step++) {
		void **block = &blocks[draw(BLOCKS)];
		size_t bytes = draw_bytes(row);

		if (*block && draw(4) == 0)
			ck_assert_int_eq(mam_free_async(pool, *block, busy), MAM_OK);
		else
			ck_assert_int_eq(mam_free(pool, *block), MAM_OK);
		waited = cuda.fake_waited();
		ck_assert_int_eq(allocate(bytes, block), MAM_OK);
		ck_assert_msg(cuda.fake_waited() == waited, "step %d: %zu bytes waited for the GPU",
			      step, bytes);
		if (bytes >= MIB && is_device_memory(row))
			ck_assert_uint_eq((uintptr_t)*block % (64 * KIB), 0);
		use(*block, bytes);
	}
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mam_free(pool, blocks[i]), MAM_OK);
	end();
}
END_TEST

/*
 * With free memory in pieces that are too small, repeatedly: the existing memory is insufficient.
 */
static void fill_with_pieces(void)
{
	void *blocks[8];

	for (int i = 0; i < 8; i++) {
		ck_assert_int_eq(mam_malloc(pool, 40 * MIB, &blocks[i]), MAM_OK);
		use(blocks[i], 40 * MIB);
	}
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(mam_free(pool, blocks[i]), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, KIB, &blocks[0]), MAM_OK);
	use(blocks[0], KIB);
	ck_assert_int_eq(mam_free_async(pool, blocks[0], busy), MAM_OK);
}

/* The device, or the limit, has no more: the pool combines free memory, after a wait. */
START_TEST(free_memory_is_found_after_wait)
{
	const struct row *row = &rows[_i / 2];
	void *block;

	begin(row, _i % 2 ? "400M" : "1G", _i % 2 ? 0 : 400 * MIB);
	fill_with_pieces();
	ck_assert_int_eq(mam_malloc(pool, 200 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stress/waits");
	TCase *waits = suite_case(suite, "waits");

	tcase_add_loop_test(waits, allocations_do_not_wait_while_driver_has_memory, 0,
			    COUNT_OF(rows));
	/* The sources of device memory. */
	tcase_add_loop_test(waits, free_memory_is_found_after_wait, 0, 2 * 8);
	return suite_run(suite);
}
