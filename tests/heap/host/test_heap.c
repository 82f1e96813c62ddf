/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap in its memory: aligned pages, metadata as layout.h formats it, statistics that match the
 * metadata, reset and destruction.
 */
#include "heap_fixture.h"

START_TEST(new_heap_has_all_pages_free)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, 1000 * KIB, 0);
	struct mam_heap_info stats = stats_of(heap);

	(void)cuda;
	ck_assert_uint_eq(stats.page_bytes, MAM_HEAP_PAGE_DEFAULT);
	ck_assert_uint_eq(stats.pages, 250);
	ck_assert_uint_eq(stats.free, 250);
	ck_assert_uint_eq(stats.longest_free, 250);
	ck_assert_uint_eq(stats.full + stats.no_run + stats.contended + stats.bad_sizes, 0);
	ck_assert_uint_eq(stats.double_frees + stats.foreign_frees, 0);
	ck_assert_uint_eq(stats.space_bytes,
			  1000 * KIB + sizeof(struct mam_kheap) + mam_pages_bytes(250));
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* One byte more than n pages needs another page; one byte needs a page. */
START_TEST(bytes_are_rounded_up_to_pages)
{
	static const struct {
		size_t bytes, page_bytes;
		uint64_t pages;
	} rows[] = {
		{ 1, 256, 1 },
		{ 256, 256, 1 },
		{ 257, 256, 2 },
		{ 64 * 256, 256, 64 },
		{ 64 * 256 + 1, 256, 65 },
		{ 1, 4 * MIB, 1 },
		{ 12 * MIB, 4 * MIB, 3 },
	};
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	(void)cuda;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mam_heap *heap = heap_of(pool, rows[i].bytes, rows[i].page_bytes);

		ck_assert_uint_eq(stats_of(heap).pages, rows[i].pages);
		ck_assert_uint_eq(stats_of(heap).page_bytes, rows[i].page_bytes);
		heap_end(heap);
	}
	pool_end(pool);
}
END_TEST

START_TEST(pages_are_aligned_to_their_size)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heaps[15];
	unsigned int count = 0;

	(void)cuda;
	for (size_t page = 256; page <= 4 * MIB; page *= 2) {
		struct mam_kheap *head;

		heaps[count] = heap_of(pool, page, page);
		head = mam_heap_device(heaps[count++]);
		ck_assert_uint_eq((uintptr_t)head->space % page, 0);
		ck_assert_uint_eq((uintptr_t)head % MAM_PAGES_LINE, 0);
		ck_assert_ptr_eq((unsigned char *)head, head->space + page);
		ck_assert_uint_eq((size_t)1 << head->shift, page);
		ck_assert_uint_eq(head->pages, 1);
	}
	ck_assert_uint_eq(count, 15);
	while (count != 0)
		heap_end(heaps[--count]);
	pool_end(pool);
}
END_TEST

/* The device has what layout.h formats, whatever the memory contained before. */
START_TEST(metadata_matches_format)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	for (uint32_t pages = 1; pages <= 200; pages++) {
		struct mam_heap *heap;
		struct mam_pages *wanted = calloc(1, mam_pages_bytes(pages));
		void *dirt;

		ck_assert_ptr_nonnull(wanted);
		mam_pages_format(wanted, pages, MAM_HEAP_LOW_DEFAULT);
		ck_assert_int_eq(mam_malloc(pool, 128 * KIB, &dirt), MAM_OK);
		memset(dirt, 0xa5, 128 * KIB);
		ck_assert_int_eq(mam_free(pool, dirt), MAM_OK);

		heap = heap_of(pool, pages * (size_t)256, 256);
		ck_assert_mem_eq(metadata_of(heap), wanted, mam_pages_bytes(pages));

		/* Everything that kernels may change. */
		memset(&metadata_of(heap)->open, 0x5a,
		       mam_pages_bytes(pages) - offsetof(struct mam_pages, open));
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
		ck_assert_mem_eq(metadata_of(heap), wanted, mam_pages_bytes(pages));
		heap_end(heap);
		free(wanted);
	}
	pool_end(pool);
}
END_TEST

/* Nothing outside the metadata is written: neither pages nor memory after the metadata. */
START_TEST(only_metadata_is_written)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	unsigned char *dirt;
	struct mam_heap *heap;
	size_t metadata = sizeof(struct mam_kheap) + mam_pages_bytes(77), around = 77 * 1024;
	void *block;

	ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
	dirt = block;
	memset(dirt, 0xa5, MIB);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	heap = heap_of(pool, around, 1024);
	ck_assert_ptr_eq(mam_heap_device(heap)->space, dirt);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
	ck_assert_int_eq(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
	for (size_t i = 0; i < MIB; i++)
		if (i < around || i >= around + metadata)
			ck_assert_uint_eq(dirt[i], 0xa5);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(statistics_match_metadata)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, 300 * 256, 256);
	struct mam_pages *metadata = metadata_of(heap);
	uint64_t *bits = (uint64_t *)(metadata + 1);
	struct mam_heap_info stats;

	(void)cuda;
	bits[0] = 0x8000000000000001u; /* pages 0 and 63 */
	bits[2] = 0x00000000000000f0u; /* 132 to 135: 64 to 131 free before them */
	stats = stats_of(heap);
	ck_assert_uint_eq(stats.taken, 6);
	ck_assert_uint_eq(stats.free, 294);
	ck_assert_uint_eq(stats.longest_free, 300 - 136);
	bits[4] |= 1; /* 256 */
	ck_assert_uint_eq(stats_of(heap).longest_free, 256 - 136);
	bits[3] = ~(uint64_t)0; /* 192 to 255 */
	ck_assert_uint_eq(stats_of(heap).longest_free, 132 - 64);
	for (unsigned int i = 0; i < 5; i++)
		bits[i] = ~(uint64_t)0;
	stats = stats_of(heap);
	ck_assert_uint_eq(stats.taken, 300);
	ck_assert_uint_eq(stats.longest_free, 0);

	metadata->tally[MAM_TALLY_FULL] = 1;
	metadata->tally[MAM_TALLY_NO_RUN] = 2;
	metadata->tally[MAM_TALLY_CONTENDED] = 3;
	metadata->tally[MAM_TALLY_BAD_SIZE] = 4;
	metadata->tally[MAM_TALLY_TWICE] = 5;
	metadata->tally[MAM_TALLY_FOREIGN] = (uint64_t)6 << 32;
	stats = stats_of(heap);
	ck_assert_uint_eq(stats.full, 1);
	ck_assert_uint_eq(stats.no_run, 2);
	ck_assert_uint_eq(stats.contended, 3);
	ck_assert_uint_eq(stats.bad_sizes, 4);
	ck_assert_uint_eq(stats.double_frees, 5);
	ck_assert_uint_eq(stats.foreign_frees, (uint64_t)6 << 32);
	heap_end(heap); /* with allocated pages */
	pool_end(pool);
}
END_TEST

/* Compared with a page-by-page count of random words: runs across words, full and empty words. */
START_TEST(statistics_match_reference_count)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = heap_of(pool, 1000 * 256, 256);
	uint64_t *bits = (uint64_t *)(metadata_of(heap) + 1), state = 1;

	(void)cuda;
	for (unsigned int round = 0; round < 300; round++) {
		uint64_t taken = 0, run = 0, longest = 0;
		struct mam_heap_info stats;

		for (unsigned int i = 0; i < 16; i++) {
			uint64_t word;

			state = state * 6364136223846793005u + 1442695040888963407u;
			word = state ^ state >> 29;
			state = state * 6364136223846793005u + 1442695040888963407u;
			bits[i] = state >> 62 == 0 ? 0 : state >> 62 == 1 ? word & word >> 7 : word;
			if (state >> 59 == 31)
				bits[i] = ~(uint64_t)0;
		}
		bits[15] |= ~(uint64_t)0 << (1000 % 64);
		for (unsigned int page = 0; page < 1000; page++) {
			bool is_taken = bits[page / 64] >> page % 64 & 1;

			taken += is_taken;
			run = is_taken ? 0 : run + 1;
			longest = run > longest ? run : longest;
		}
		stats = stats_of(heap);
		ck_assert_uint_eq(stats.taken, taken);
		ck_assert_uint_eq(stats.longest_free, longest);
	}
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* More words than one copy transfers. */
START_TEST(large_heap_is_counted_in_pieces)
{
	const uint32_t pages = 5000000;
	struct mam_heap_info stats;
	struct mam_pool *pool;
	struct mam_heap *heap;
	uint64_t *bits;

	setenv("FAKE_CUDA_MEMORY", "2G", 1); /* only written memory is backed */
	(void)load();
	pool = pool_new();
	heap = heap_of(pool, pages * (size_t)256, 256);
	bits = (uint64_t *)(metadata_of(heap) + 1);
	stats = stats_of(heap);
	ck_assert_uint_eq(stats.free, pages);
	ck_assert_uint_eq(stats.longest_free, pages);
	bits[0] = 1;
	bits[pages / 64 - 1] = 3;
	stats = stats_of(heap);
	ck_assert_uint_eq(stats.taken, 3);
	ck_assert_uint_eq(stats.longest_free, pages - 65);
	bits[1 << 16] = 7; /* in the second piece */
	stats = stats_of(heap);
	ck_assert_uint_eq(stats.taken, 6);
	ck_assert_uint_eq(stats.longest_free, ((uint64_t)1 << 22) - 1);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Each heap has its own memory and counts, whatever pool and device it is on. */
START_TEST(heaps_are_independent)
{
	struct cuda cuda = load();
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pools[2];
	struct mam_heap *heaps[4];

	(void)cuda;
	for (int i = 0; i < 2; i++) {
		attr.device = i;
		ck_assert_int_eq(mam_pool_create(&attr, &pools[i]), MAM_OK);
	}
	for (unsigned int i = 0; i < 4; i++)
		heaps[i] = heap_of(pools[i % 2], (100 + i) * KIB, KIB);
	for (unsigned int i = 0; i < 4; i++)
		((uint64_t *)(metadata_of(heaps[i]) + 1))[0] = ((uint64_t)1 << i) - 1;
	ck_assert_int_eq(mam_heap_reset(heaps[3], NULL), MAM_OK);
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_uint_eq(stats_of(heaps[i]).pages, 100 + i);
		ck_assert_uint_eq(stats_of(heaps[i]).taken, i == 3 ? 0 : i);
	}
	for (unsigned int i = 0; i < 4; i++)
		heap_end(heaps[i]);
	for (unsigned int i = 0; i < 2; i++)
		pool_end(pools[i]);
}
END_TEST

START_TEST(every_device_source_works)
{
	static const char *const sources[] = { "cudamalloc", "vmm", "managed", "pinned" };
	struct cuda cuda = load();

	(void)cuda;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct mam_pool *pool = pool_on(sources[i], MAM_FREE_DEFAULT);
		struct mam_heap *heap = heap_of(pool, MIB, 0);

		ck_assert_uint_eq(stats_of(heap).free, 256);
		((uint64_t *)(metadata_of(heap) + 1))[3] = 7;
		ck_assert_uint_eq(stats_of(heap).taken, 3);
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		ck_assert_uint_eq(stats_of(heap).taken, 0);
		heap_end(heap);
		pool_end(pool);
	}
}
END_TEST

START_TEST(null_pool_means_default_pool)
{
	struct cuda cuda = load();
	struct mam_heap *heap = heap_of(NULL, MIB, 0);
	struct mam_pool *pool = NULL, *owner = NULL;

	(void)cuda;
	ck_assert_int_eq(mam_pool_default(MAM_DEVICE_CURRENT, &pool), MAM_OK);
	ck_assert_int_eq(mam_owner(mam_heap_device(heap), &owner, NULL), MAM_OK);
	ck_assert_ptr_eq(owner, pool);
	heap_end(heap);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, new_heap_has_all_pages_free);
	tcase_add_test(tests, bytes_are_rounded_up_to_pages);
	tcase_add_test(tests, pages_are_aligned_to_their_size);
	tcase_add_test(tests, metadata_matches_format);
	tcase_add_test(tests, only_metadata_is_written);
	tcase_add_test(tests, statistics_match_metadata);
	tcase_add_test(tests, statistics_match_reference_count);
	tcase_add_test(tests, large_heap_is_counted_in_pieces);
	tcase_add_test(tests, heaps_are_independent);
	tcase_add_test(tests, every_device_source_works);
	tcase_add_test(tests, null_pool_means_default_pool);
}

int main(void)
{
	return run_suite("heap/heap", add);
}
