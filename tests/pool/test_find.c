/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mam_pool_find reports for an address: the block, the free segment, or not owned by this
 * pool.
 */
#include "fixture.h"

static struct mam_segment_info found(struct fixture *f, void *address)
{
	struct mam_segment_info info = { 0 };

	ck_assert_int_eq(mam_pool_find(f->pool, address, &info), MAM_OK);
	return info;
}

START_TEST(find_returns_block_for_start_and_interior)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 1000);

	for (ptrdiff_t inside = 0; inside < 1024; inside += 341) {
		struct mam_segment_info info = found(f, at(block, inside));

		ck_assert_ptr_eq(info.base, block);
		ck_assert_uint_eq(info.bytes, 1024);
		ck_assert_uint_eq(info.requested, 1000);
		ck_assert(info.live);
		ck_assert_uint_eq((uintptr_t)info.chunk_base, f->space.piece[0].base);
		ck_assert_uint_eq(info.chunk_bytes, 16 * KIB);
	}
	ck_assert_ptr_eq(found(f, at(block, 1023)).base, block);
	fixture_end(f);
}
END_TEST

START_TEST(find_reports_free_space_as_free)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 1024), *wall = alloc(f, 512);
	struct mam_segment_info info;

	dealloc(f, block);
	info = found(f, at(block, 600));
	ck_assert_ptr_eq(info.base, block);
	ck_assert_uint_eq(info.bytes, 1024);
	ck_assert_uint_eq(info.requested, 0);
	ck_assert(!info.live);
	info = found(f, at(wall, 512));
	ck_assert_uint_eq(info.bytes, 16 * KIB - 1536);
	ck_assert(!info.live);
	fixture_end(f);
}
END_TEST

START_TEST(find_of_foreign_address_leaves_output_unchanged)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	struct mam_segment_info info = { .bytes = 77 };
	void *block = alloc(f, 512);
	void *outside[] = { at(block, -1), at(block, 16 * KIB), NULL, f, (void *)UINTPTR_MAX };

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		ck_assert_int_eq(mam_pool_find(f->pool, outside[i], &info), MAM_ERROR_NOT_OWNED);
		ck_assert_uint_eq(info.bytes, 77);
	}
	fixture_end(f);
}
END_TEST

START_TEST(find_separates_adjacent_chunks)
{
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, SPACE_DOWN, 4096, 4096, 0);
	void *first = alloc(f, 4096), *second = alloc(f, 4096);

	ck_assert_ptr_eq(second, at(first, -4096));
	ck_assert_ptr_eq(found(f, at(second, 4095)).base, second);
	ck_assert_ptr_eq(found(f, at(second, 4096)).base, first);
	ck_assert_ptr_eq(found(f, first).chunk_base, first);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/find");

	tcase_add_test(tcase, find_returns_block_for_start_and_interior);
	tcase_add_test(tcase, find_reports_free_space_as_free);
	tcase_add_test(tcase, find_of_foreign_address_leaves_output_unchanged);
	tcase_add_test(tcase, find_separates_adjacent_chunks);
	return suite_end();
}
