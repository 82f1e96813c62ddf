/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a heap of objects: what the host and a reset write is what metadata.h formats,
 * and nothing else is written.
 */
#include "heap/objects/objects.h"

#include "heap_fixture.h"

/* The result of metadata.h for the memory and the head that the device has. */
static struct mam_kheap *formatted(const struct mam_kheap *device, size_t *bytes)
{
	uint32_t columns = mam_metadata_columns(device->blocks);
	struct mam_kheap *wanted;

	*bytes = mam_metadata_plan_of(device->blocks, columns).end;
	wanted = calloc(1, *bytes);
	ck_assert_ptr_nonnull(wanted);
	mam_metadata_format(wanted, device->space, device->blocks, columns);
	mam_metadata_head(wanted, device->space, (unsigned char *)device, device->blocks, columns);
	return wanted;
}

/* The previous contents of the memory, and the work of kernels, do not matter. */
START_TEST(metadata_matches_format)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	for (uint32_t blocks = 1; blocks <= 130; blocks += 1 + blocks / 3) {
		struct mam_kheap *device, *wanted;
		struct mam_pages *none;
		struct mam_heap *heap;
		size_t bytes, line = offsetof(struct mam_pages, open);
		void *dirt;

		ck_assert_int_eq(mam_malloc(pool, 16 * MIB, &dirt), MAM_OK);
		memset(dirt, 0xa5, 16 * MIB);
		ck_assert_int_eq(mam_free(pool, dirt), MAM_OK);
		heap = objects_of(pool, blocks * (size_t)MAM_HEAP_BLOCK);
		device = mam_heap_device(heap);
		wanted = formatted(device, &bytes);
		ck_assert_mem_eq(device, wanted, bytes);

		none = (struct mam_pages *)(device + 1);
		memset(&none->open, 0x5a, (size_t)((char *)device->units - (char *)&none->open));
		memset(&device->units->open, 0x5a,
		       bytes - (size_t)((char *)device->units - (char *)device) - line);
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
		ck_assert_mem_eq(device, wanted, bytes);
		heap_end(heap);
		free(wanted);
	}
	pool_end(pool);
}
END_TEST

/* Neither blocks nor memory after the metadata. */
START_TEST(only_metadata_is_written)
{
	const size_t around = 7 * MAM_HEAP_BLOCK;
	const size_t metadata = mam_metadata_plan_of(7, mam_metadata_columns(7)).end;
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	unsigned char *dirt;
	struct mam_heap *heap;
	void *block;

	ck_assert_int_eq(mam_malloc_aligned(pool, 2 * MIB, MAM_HEAP_BLOCK, &block), MAM_OK);
	dirt = block;
	memset(dirt, 0xa5, 2 * MIB);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	heap = objects_of(pool, around);
	ck_assert_ptr_eq(mam_heap_device(heap)->space, dirt);
	ck_assert_uint_lt(around + metadata, 2 * MIB);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	for (size_t i = 0; i < 2 * MIB; i++)
		if (i < around || i >= around + metadata)
			ck_assert_uint_eq(dirt[i], 0xa5);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, metadata_matches_format);
	tcase_add_test(tests, only_metadata_is_written);
}

int main(void)
{
	return run_suite("heap/heap_metadata", add);
}
