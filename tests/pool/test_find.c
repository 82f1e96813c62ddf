/* SPDX-License-Identifier: Apache-2.0 */
/* What lies at an address: the block, the free segment, or nothing of this pool. */
#include "fixture.h"

static struct mam_segment_info found(struct fixture *f, void *address)
{
	struct mam_segment_info info = { 0 };

	ck_assert_int_eq(mam_pool_find(f->pool, address, &info), MAM_OK);
	return info;
}

START_TEST(a_block_is_found_at_its_start_and_inside)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = take(f, 1000);

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

START_TEST(free_space_is_found_as_free)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	void *block = take(f, 1024), *wall = take(f, 512);
	struct mam_segment_info info;

	give(f, block);
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

START_TEST(an_address_outside_is_not_owned_and_leaves_the_output)
{
	struct mam_pool_config config = { .chunk_bytes = 16 * KIB };
	struct fixture *f = fixture_new(&config);
	struct mam_segment_info info = { .bytes = 77 };
	void *block = take(f, 512);
	void *outside[] = { at(block, -1), at(block, 16 * KIB), NULL, f, (void *)UINTPTR_MAX };

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		ck_assert_int_eq(mam_pool_find(f->pool, outside[i], &info), MAM_ERROR_NOT_OWNED);
		ck_assert_uint_eq(info.bytes, 77);
	}
	fixture_end(f);
}
END_TEST

START_TEST(chunks_that_touch_keep_their_own_addresses)
{
	struct mam_pool_config config = { .growth_bytes = 4096 };
	struct fixture *f = fixture_on(&config, SPACE_DOWN, 4096, 4096, 0);
	void *first = take(f, 4096), *second = take(f, 4096);

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

	tcase_add_test(tcase, a_block_is_found_at_its_start_and_inside);
	tcase_add_test(tcase, free_space_is_found_as_free);
	tcase_add_test(tcase, an_address_outside_is_not_owned_and_leaves_the_output);
	tcase_add_test(tcase, chunks_that_touch_keep_their_own_addresses);
	return suite_end();
}
