/* SPDX-License-Identifier: Apache-2.0 */
/* test_mempool.c - pools for stream-ordered allocation. */
#include "fake/load.h"

static struct CUmemPoolHandle_st *make_pool(const struct cuda *cuda, int device, size_t max_bytes)
{
	struct cu_pool_properties wanted = { .type = 1,
					     .location = { 1, device },
					     .max_bytes = max_bytes };
	struct CUmemPoolHandle_st *pool = NULL;

	ck_assert_int_eq(cuda->cuMemPoolCreate(&pool, &wanted), CUDA_SUCCESS);
	ck_assert_ptr_nonnull(pool);
	return pool;
}

START_TEST(pool_allocates_from_its_device)
{
	struct cuda cuda;
	struct CUmemPoolHandle_st *pool, *preset;
	unsigned long long address;
	int device = 7;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	cuda = load();
	pool = make_pool(&cuda, 1, 0);
	ck_assert_int_eq(cuda.cuMemAllocFromPoolAsync(&address, 512, pool, NULL), CUDA_SUCCESS);
	cuda.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, address);
	ck_assert_int_eq(device, 1);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceGetDefaultMemPool(&preset, 1), CUDA_SUCCESS);
	ck_assert_ptr_ne(preset, pool);
	ck_assert_int_eq(cuda.cuMemAllocFromPoolAsync(&address, 512, preset, NULL), CUDA_SUCCESS);
	cuda.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, address);
	ck_assert_int_eq(device, 1);
	ck_assert_int_eq(cuda.cuDeviceGetDefaultMemPool(&preset, 2), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

START_TEST(invalid_pools_are_refused)
{
	struct cuda cuda = load();
	struct CUmemPoolHandle_st *pool = make_pool(&cuda, 0, 0), *preset;
	struct cu_pool_properties nowhere = { .type = 1, .location = { 1, 3 } };
	unsigned long long address;

	ck_assert_int_eq(cuda.cuMemAllocFromPoolAsync(&address, 512, NULL, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemPoolDestroy(pool), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemAllocFromPoolAsync(&address, 512, pool, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	cuda.cuDeviceGetDefaultMemPool(&preset, 0);
	ck_assert_int_eq(cuda.cuMemPoolDestroy(preset), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemPoolCreate(&pool, &nowhere), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

START_TEST(pool_has_a_limit_and_its_blocks_outlive_it)
{
	struct cuda cuda = load();
	struct CUmemPoolHandle_st *pool = make_pool(&cuda, 0, 4096);
	unsigned long long address;

	ck_assert_int_eq(cuda.cuMemAllocFromPoolAsync(&address, 4097, pool, NULL),
			 CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAllocFromPoolAsync(&address, 4096, pool, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemPoolDestroy(pool), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* The second free finds that the block is freed, or will be. */
START_TEST(second_ordered_free_is_refused)
{
	struct cuda cuda;
	unsigned long long address;

	setenv("FAKE_CUDA_LAG_US", "50000", 1);
	cuda = load();
	cuda.cuMemAllocAsync(&address, 512, NULL);
	cuda.cuMemsetD8Async(address, 1, 512, NULL);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/*
 * Both null streams follow only their own work: a thread's own default stream is not the legacy
 * one.
 */
START_TEST(per_thread_version_uses_threads_own_stream)
{
	struct cuda cuda;
	__typeof__(cuMemFreeAsync) *free_own;
	__typeof__(cuMemAllocFromPoolAsync) *allocate_own;
	struct CUmemPoolHandle_st *pool;
	struct CUstream_st *busy;
	unsigned long long a, b, filled;
	size_t free_bytes, total;

	setenv("FAKE_CUDA_LAG_US", "3000000", 1);
	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	cuda = load();
	allocate_own =
		(__typeof__(allocate_own))dlsym(cuda.library, "cuMemAllocFromPoolAsync_ptsz");
	free_own = (__typeof__(free_own))dlsym(cuda.library, "cuMemFreeAsync_ptsz");
	ck_assert(allocate_own && free_own);
	cuda.cuDeviceGetDefaultMemPool(&pool, 0);
	ck_assert_int_eq(allocate_own(&a, 512, pool, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(allocate_own(&b, 512, pool, NULL), CUDA_SUCCESS);
	cuda.cuMemAlloc_v2(&filled, 512);
	cuda.cuStreamCreate(&busy, 0); /* blocking: the legacy stream waits for it */
	cuda.cuMemsetD8Async(filled, 1, 512, busy);
	ck_assert_int_eq(free_own(a, NULL), CUDA_SUCCESS);
	cuda.cuMemGetInfo_v2(&free_bytes, &total);
	ck_assert_uint_eq(total - free_bytes, 2 * 512);
	ck_assert_int_eq(cuda.cuMemFreeAsync(b, NULL), CUDA_SUCCESS);
	cuda.cuMemGetInfo_v2(&free_bytes, &total);
	ck_assert_uint_eq(total - free_bytes, 2 * 512);
}
END_TEST

START_TEST(pool_caches_up_to_its_threshold)
{
	const size_t mib = (size_t)1 << 20;
	struct CUmemPoolHandle_st *pool;
	unsigned long long address;
	size_t free_bytes, total;
	struct cuda cuda;
	uint64_t kept = 1, threshold = 10 * mib;

	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	cuda = load();
	cuda.cuDeviceGetDefaultMemPool(&pool, 0);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 8 * mib, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	cuda.cuMemPoolGetAttribute(pool, POOL_RESERVED_NOW, &kept);
	ck_assert_uint_eq(kept, 0);
	ck_assert_int_eq(cuda.cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &threshold),
			 CUDA_SUCCESS);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 8 * mib, NULL), CUDA_SUCCESS);
		ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
		cuda.cuMemPoolGetAttribute(pool, POOL_RESERVED_NOW, &kept);
		ck_assert_uint_eq(kept, 8 * mib);
		cuda.cuMemGetInfo_v2(&free_bytes, &total);
		ck_assert_uint_eq(free_bytes, 56 * mib);
	}
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 60 * mib), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 60 * mib, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 8 * mib, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemPoolTrimTo(pool, 2 * mib), CUDA_SUCCESS);
	cuda.cuMemGetInfo_v2(&free_bytes, &total);
	ck_assert_uint_eq(free_bytes, 62 * mib);
	ck_assert_int_eq(cuda.cuMemPoolTrimTo(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(current_pool_serves_calls_without_a_pool)
{
	struct cuda cuda;
	struct cu_pool_properties first = { .type = 1, .location = { 1, 0 } },
				  other = { .type = 1, .location = { 1, 1 } };
	struct CUmemPoolHandle_st *pool, *elsewhere, *found, *normal;
	uint64_t all = UINT64_MAX, kept = 0;
	unsigned long long address;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	cuda = load();
	ck_assert_int_eq(cuda.cuMemPoolCreate(&pool, &first), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemPoolCreate(&elsewhere, &other), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceGetDefaultMemPool(&normal, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceSetMemPool(0, elsewhere), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuDeviceSetMemPool(0, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuDeviceSetMemPool(-1, pool), CUDA_ERROR_INVALID_DEVICE);
	ck_assert_int_eq(cuda.cuDeviceSetMemPool(0, pool), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceGetMemPool(&found, 0), CUDA_SUCCESS);
	ck_assert_ptr_eq(found, pool);
	cuda.cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &all);
	ck_assert_int_eq(cuda.cuMemAllocAsync(&address, 1 << 20, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
	cuda.cuMemPoolGetAttribute(pool, POOL_RESERVED_NOW, &kept);
	ck_assert_uint_eq(kept, 1 << 20);
	ck_assert_int_eq(cuda.cuMemPoolDestroy(pool), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuDeviceGetMemPool(&found, 0), CUDA_SUCCESS);
	ck_assert_ptr_eq(found, normal);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, current_pool_serves_calls_without_a_pool);
	tcase_add_test(tests, pool_caches_up_to_its_threshold);
	tcase_add_test(tests, pool_allocates_from_its_device);
	tcase_add_test(tests, invalid_pools_are_refused);
	tcase_add_test(tests, pool_has_a_limit_and_its_blocks_outlive_it);
	tcase_add_test(tests, second_ordered_free_is_refused);
	tcase_add_test(tests, per_thread_version_uses_threads_own_stream);
}

int main(void)
{
	return run_suite("fake/mempool", add);
}
