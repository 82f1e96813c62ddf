/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A free merges the block with free neighbors. For any address that is not a live block, it returns
 * the kind of error and changes nothing.
 */
#include "fixture.h"

static const struct mam_pool_config one_chunk = { .chunk_bytes = 64 * KIB,
						  .growth_bytes = MAM_GROWTH_NONE };

START_TEST(free_between_live_blocks_merges_with_neither)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block[3] = { alloc(f, 512), alloc(f, 512), alloc(f, 512) };

	dealloc(f, block[1]);
	ck_assert_picture(f, 512, "L1 F1 L1 F125");
	fixture_end(f);
}
END_TEST

START_TEST(free_merges_with_free_block_below)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block[4] = { alloc(f, 512), alloc(f, 512), alloc(f, 1024), alloc(f, 512) };

	dealloc(f, block[1]);
	dealloc(f, block[2]);
	ck_assert_picture(f, 512, "L1 F3 L1 F123");
	ck_assert_ptr_eq(alloc(f, 3 * 512), block[1]);
	fixture_end(f);
}
END_TEST

START_TEST(free_merges_with_free_block_above)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block[4] = { alloc(f, 512), alloc(f, 512), alloc(f, 1024), alloc(f, 512) };

	dealloc(f, block[2]);
	dealloc(f, block[1]);
	ck_assert_picture(f, 512, "L1 F3 L1 F123");
	ck_assert_ptr_eq(alloc(f, 3 * 512), block[1]);
	fixture_end(f);
}
END_TEST

START_TEST(free_merges_with_free_blocks_on_both_sides)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block[5] = { alloc(f, 512), alloc(f, 512), alloc(f, 1024), alloc(f, 1536),
			   alloc(f, 512) };

	dealloc(f, block[1]);
	dealloc(f, block[3]);
	ck_assert_picture(f, 512, "L1 F1 L2 F3 L1 F120");
	dealloc(f, block[2]);
	ck_assert_picture(f, 512, "L1 F6 L1 F120");
	fixture_end(f);
}
END_TEST

START_TEST(free_below_fresh_space_merges_with_it)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *low = alloc(f, 512), *high = alloc(f, 512);

	dealloc(f, high);
	ck_assert_picture(f, 512, "L1 F127");
	dealloc(f, low);
	ck_assert_picture(f, 512, "F128");
	fixture_end(f);
}
END_TEST

START_TEST(frees_in_any_order_leave_one_segment)
{
	for (unsigned n = 0; n < 120; n++) {
		struct fixture *f = fixture_new(&one_chunk);
		void *block[5];

		for (unsigned i = 0; i < 5; i++)
			block[i] = alloc(f, (i + 1) * 512);
		for (unsigned rest = n, left = 5; left > 0; rest /= left, left--) {
			dealloc(f, block[rest % left]);
			block[rest % left] = block[left - 1];
		}
		ck_assert_picture(f, 512, "F128");
		fixture_end(f);
	}
}
END_TEST

START_TEST(double_free_is_reported)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc(f, 512), *wall = alloc(f, 512);

	dealloc(f, block);
	kept(f, block, MAM_ERROR_DOUBLE_FREE);
	ck_assert_ptr_eq(alloc(f, 512), block);
	dealloc(f, block); /* live again: a valid free */
	dealloc(f, wall);
	kept(f, block, MAM_ERROR_DOUBLE_FREE); /* now at the start of the one free segment */
	kept(f, wall, MAM_ERROR_DOUBLE_FREE);  /* and inside it */
	fixture_end(f);
}
END_TEST

START_TEST(free_of_never_allocated_space_fails)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc(f, 512);

	kept(f, at(block, 512), MAM_ERROR_DOUBLE_FREE);
	kept(f, at(block, 64 * KIB - 1), MAM_ERROR_DOUBLE_FREE);
	fixture_end(f);
}
END_TEST

START_TEST(free_of_interior_pointer_is_reported)
{
	static const size_t inside[] = { 1, 8, 511, 512, 513, 1024, 1535 };
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc(f, 3 * 512);

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		kept(f, at(block, (ptrdiff_t)inside[i]), MAM_ERROR_INTERIOR);
	dealloc(f, block);
	fixture_end(f);
}
END_TEST

START_TEST(free_of_foreign_address_is_reported)
{
	struct fixture *f = fixture_new(&one_chunk);
	void *block = alloc(f, 512);
	int local;

	kept(f, at(block, -1), MAM_ERROR_NOT_OWNED);
	kept(f, at(block, 64 * KIB), MAM_ERROR_NOT_OWNED);
	kept(f, &local, MAM_ERROR_NOT_OWNED);
	kept(f, (void *)1, MAM_ERROR_NOT_OWNED);
	kept(f, (void *)UINTPTR_MAX, MAM_ERROR_NOT_OWNED);
	fixture_end(f);
}
END_TEST

START_TEST(pool_without_chunks_owns_nothing)
{
	struct mam_pool_config config = { .growth_bytes = 64 * KIB };
	struct fixture *f = fixture_new(&config);

	kept(f, (void *)0x700000000000, MAM_ERROR_NOT_OWNED);
	fixture_end(f);
}
END_TEST

START_TEST(free_finds_each_of_many_blocks)
{
	struct mam_pool_config config = { .chunk_bytes = 4 * MIB };
	struct fixture *f = fixture_new(&config);
	static void *block[8000];

	for (int i = 0; i < 8000; i++)
		ck_assert_int_eq(mam_pool_alloc(f->pool, 512, 0, &block[i]), MAM_OK);
	intact(f);
	for (int i = 0; i < 8000;
	     i += 3) /* every third, then the rest from the top: all kinds of merges */
		ck_assert_int_eq(mam_pool_free(f->pool, block[i]), MAM_OK);
	intact(f);
	for (int i = 7999; i >= 0; i--)
		ck_assert_int_eq(mam_pool_free(f->pool, block[i]),
				 i % 3 ? MAM_OK : MAM_ERROR_DOUBLE_FREE);
	ck_assert_picture(f, MIB, "F4");
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/free");

	tcase_add_test(tcase, free_between_live_blocks_merges_with_neither);
	tcase_add_test(tcase, free_merges_with_free_block_below);
	tcase_add_test(tcase, free_merges_with_free_block_above);
	tcase_add_test(tcase, free_merges_with_free_blocks_on_both_sides);
	tcase_add_test(tcase, free_below_fresh_space_merges_with_it);
	tcase_add_test(tcase, frees_in_any_order_leave_one_segment);
	tcase_add_test(tcase, double_free_is_reported);
	tcase_add_test(tcase, free_of_never_allocated_space_fails);
	tcase_add_test(tcase, free_of_interior_pointer_is_reported);
	tcase_add_test(tcase, free_of_foreign_address_is_reported);
	tcase_add_test(tcase, pool_without_chunks_owns_nothing);
	tcase_add_test(tcase, free_finds_each_of_many_blocks);
	return suite_end();
}
