/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buffers.c - buffers used by one lane: which cached block serves which request, what goes to
 * the base, and which FIFOs lanes choose. Numbers of blocks: test_buffers_blocks.c.
 */
#include <string.h>

#include "device/port.h"

/* A clock that tests set; outside a launch there is no other. */
static uint64_t clock_now;

#undef mam_clock
#define mam_clock() clock_now

#include "coalesce/buffers_kit.h"

/* ---- one lane ------------------------------------------------------------------------------ */

static struct ckit *alone_create(size_t arena, uint32_t count)
{
	struct ckit *kit = ckit_create(arena, NULL);

	ckit_begin(kit);
	buffers_make(count, MAM_BUFFERS_BLOCKS, (uintptr_t)kit->arena);
	return kit;
}

static void alone_destroy(struct ckit *kit)
{
	ck_assert_ptr_null(ckit_check_empty(kit));
	ckit_destroy(kit);
	buffers_drop();
}

/* A block serves any request of its class, and no request of another class. */
START_TEST(block_serves_only_its_class)
{
	struct ckit *kit = alone_create(1 << 19, 1);
	struct mam_kbase base = ckit_base(kit);
	uint32_t class_, low, high;
	void *first, *second, *other;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		high = mam_class_bytes(class_);
		low = class_ == 1 ? 1 : mam_class_bytes(class_ - 1) + 1;
		first = mam_buffers_alloc(buffers, base, low);
		ckit_own(kit, first, high); /* the whole class, regardless of the requested size */
		ckit_disown(kit, first);
		ck_assert(mam_buffers_free(buffers, base, first, low));
		ck_assert_uint_eq(kit->allocs, class_);
		ck_assert_uint_eq(kit->frees, 0);
		ck_assert_uint_eq(buffers_cached(class_), 1);
		other = mam_buffers_alloc(buffers, base, class_ < MAM_CLASSES ? high + 1 : low - 1);
		ck_assert_ptr_ne(other, first);
		ck_assert_uint_eq(kit->allocs, class_ + (class_ < MAM_CLASSES));
		second = mam_buffers_alloc(buffers, base, high);
		ck_assert_ptr_eq(first, second);
		ck_assert(mam_buffers_free(buffers, base, second, high));
		ck_assert(mam_buffers_free(buffers, base, other,
					   class_ < MAM_CLASSES ? high + 1 : low - 1));
		if (class_ < MAM_CLASSES) {
			/* Unchanged, and serves the next class. */
			ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, high + 1), other);
			ck_assert(mam_base_free(base, other));
			kit->allocs--;
			kit->frees--;
		}
	}
	ck_assert_uint_eq(buffers_cached(0), MAM_CLASSES);
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), MAM_CLASSES);
	ck_assert_uint_eq(buffers_cached(0), 0);
	alone_destroy(kit);
}
END_TEST

/* Requests larger than all classes, and invalid requests. */
START_TEST(large_blocks_are_not_cached)
{
	struct ckit *kit = alone_create(1 << 17, 2);
	struct mam_kbase base = ckit_base(kit);
	void *block = mam_buffers_alloc(buffers, base, MAM_CLASS_BYTES_MAX + 1);

	ckit_own(kit, block, MAM_CLASS_BYTES_MAX + 1);
	ckit_disown(kit, block);
	ck_assert(mam_buffers_free(buffers, base, block, MAM_CLASS_BYTES_MAX + 1));
	ck_assert_uint_eq(kit->frees, 1);
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 0));
	ck_assert_ptr_null(mam_buffers_alloc(NULL, base, 0));
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, SIZE_MAX));
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, (size_t)1 << 32));
	ck_assert_uint_eq(kit->allocs, 1);
	block = mam_buffers_alloc(buffers, base, MAM_CLASS_BYTES_MAX);
	ck_assert(mam_buffers_free(buffers, base, block, 0));
	ck_assert_uint_eq(kit->frees, 2);
	alone_destroy(kit);
}
END_TEST

/* A base that returns a fixed result, and records its last call. */
static struct {
	void *block;
	size_t bytes;
	uint32_t allocs, frees;
	bool result;
} mock;

static void *mock_alloc(void *heap, size_t bytes)
{
	(void)heap;
	mock.bytes = bytes;
	mock.allocs++;
	return mock.block;
}

static bool mock_free(void *heap, void *block)
{
	(void)heap;
	mock.block = block;
	mock.frees++;
	return mock.result;
}

/* Without buffers, the base gets the request unchanged. */
START_TEST(without_buffers_base_gets_request)
{
	static const struct {
		uint32_t count, blocks;
	} rows[] = {
		{ 0, 256 },     { 3, 256 },    { 12, 256 },       { 33, 256 },         { 64, 256 },
		{ 64, 64 },     { 64, 65536 }, { 1u << 31, 256 }, { UINT32_MAX, 256 }, { 1, 0 },
		{ 1, 1 },       { 1, 16 },     { 16, 16 },        { 32, 31 },          { 1, 33 },
		{ 4, 100 },     { 16, 255 },   { 16, 257 },       { 1, 65535 },        { 1, 65537 },
		{ 32, 131072 }, { 1, 98304 },  { 2, 1u << 31 },   { 1, UINT32_MAX },   { 0, 0 },
		{ 3, 33 },      { 0, 32 },     { 0, 65536 },
	};
	uint32_t count = rows[_i].count, blocks = rows[_i].blocks;
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 0 };
	struct mam_buffers *passed;
	char block[32];

	ck_assert_uint_eq(mam_buffers_valid(count, blocks), 0);
	ck_assert_uint_eq(mam_buffers_bytes(count, blocks), sizeof(struct mam_buffers));
	buffers_make(count, blocks, (uintptr_t)block);
	ck_assert_uint_eq(buffers->count, 0);
	passed = _i ? buffers : NULL;
	memset(&mock, 0, sizeof(mock));
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 300));
	ck_assert(mock.bytes == 300 && mock.allocs == 1);
	mock.block = block;
	ck_assert_ptr_eq(mam_buffers_alloc(passed, base, 301), block);
	ck_assert(mock.bytes == 301 && mock.allocs == 2);
	ck_assert(!mam_buffers_free(passed, base, block, 301));
	mock.result = true;
	ck_assert(mam_buffers_free(passed, base, block + 16, 301));
	ck_assert(mock.frees == 2 && mock.block == block + 16);
	ck_assert_uint_eq(mam_buffers_drain(passed, base), 0);
	buffers_drop();
}
END_TEST

/* A drain counts the blocks that the base accepted. */
START_TEST(drain_counts_accepted_blocks)
{
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 0 };
	char block[32];

	memset(&mock, 0, sizeof(mock));
	buffers_make(1, MAM_BUFFERS_BLOCKS, (uintptr_t)block);
	ck_assert(mam_buffers_free(buffers, base, block, 8));
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), 0);
	ck_assert_uint_eq(mock.frees, 1);
	ck_assert_uint_eq(buffers_cached(0), 0);
	buffers_drop();
}
END_TEST

/* Offsets reach 64 GiB, at multiples of 16 from the reference. */
START_TEST(block_out_of_reach_goes_to_base)
{
	static const uint64_t wide = (uint64_t)1 << 36;
	static _Alignas(16) char block[64];
	static const struct {
		uint64_t offset; /* the reference is this far below the block */
		bool kept;
	} rows[] = {
		{ 0, true },
		{ 16, true },
		{ 8, false },
		{ 1, false },
		{ wide - 16, true },
		{ wide - 8, false },
		{ wide, false },
		{ wide + 16, false },
		{ 2 * wide, false },
		{ (uint64_t)-16, false },
		{ (uint64_t)0 - wide, false },
		{ wide / 2, true },
	};
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 0 };

	memset(&mock, 0, sizeof(mock));
	mock.result = true;
	buffers_make(1, MAM_BUFFERS_BLOCKS, (uintptr_t)block - rows[_i].offset);
	ck_assert(mam_buffers_free(buffers, base, block, 40));
	ck_assert_uint_eq(mock.frees, !rows[_i].kept);
	ck_assert_uint_eq(buffers_cached(0), rows[_i].kept);
	if (rows[_i].kept) {
		ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, 48), block);
		ck_assert_uint_eq(mock.allocs, 0);
	}
	buffers_drop();
}
END_TEST

/* Freeing NULL goes to the base, even if the reference is NULL. */
START_TEST(free_of_null_goes_to_base)
{
	struct mam_kbase base = { mock_alloc, mock_free, NULL, 0 };

	memset(&mock, 0, sizeof(mock));
	mock.result = true;
	buffers_make(2, MAM_BUFFERS_BLOCKS, 0);
	ck_assert(mam_buffers_free(buffers, base, NULL, 40));
	ck_assert_uint_eq(mock.frees, 1);
	ck_assert(mam_buffers_free(buffers, base, (void *)(uintptr_t)16, 40));
	ck_assert_uint_eq(mock.frees, 1);
	ck_assert_uint_eq(buffers_cached(3), 1);
	buffers_drop();
}
END_TEST

/* ---- a base without memory ------------------------------------------------------------------- */

/* All memory is in buffers, in blocks of another class: each request is served nevertheless. */
START_TEST(blocks_of_other_classes_are_drained)
{
	static const size_t wanted[] = { 16, 100, 4096, 8192, 8193, 16384 };
	struct ckit *kit = alone_create(16384, 1u << _i % 6);
	struct mam_kbase base = ckit_base(kit);
	void *block[256], *large;
	uint32_t i, w;

	for (w = 0; w < 6; w++) {
		for (i = 0; i < 256; i++) {
			block[i] = mam_buffers_alloc(buffers, base, 64);
			ck_assert_ptr_nonnull(block[i]);
		}
		ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 64));
		for (i = 0; i < 256; i++, clock_now += 77)
			ck_assert(mam_buffers_free(buffers, base, block[i], 64));
		large = mam_buffers_alloc(buffers, base, wanted[w]);
		ck_assert_ptr_nonnull(large);
		ckit_own(kit, large, wanted[w]);
		ckit_disown(kit, large);
		ck_assert(mam_base_free(base, large));
		(void)mam_buffers_drain(buffers, base);
		ck_assert_uint_eq(kit->allocs, kit->frees);
	}
	alone_destroy(kit);
}
END_TEST

/* The base refuses from now on: the search finds every block in any FIFO of the class. */
START_TEST(all_cached_blocks_of_class_are_found)
{
	uint32_t count = 1u << _i, i, n;
	struct ckit *kit = alone_create(1 << 16, count);
	struct mam_kbase base = ckit_base(kit);
	void *block[256];

	for (i = 0; i < 256; i++)
		block[i] = mam_buffers_alloc(buffers, base, 200);
	for (i = 0; i < 256; i++, clock_now += 77)
		ck_assert(mam_buffers_free(buffers, base, block[i], 200));
	n = buffers_cached(0);
	ck_assert_uint_gt(n, 200); /* so all FIFOs have blocks */
	ck_assert_uint_eq(kit->frees + n, 256);
	kit->max_bytes = 1;
	for (i = 0; i < n; i++, clock_now += 77) {
		block[i] = mam_buffers_alloc(buffers, base, 200);
		ck_assert_ptr_nonnull(block[i]);
		ckit_own(kit, block[i], 200);
	}
	ck_assert_uint_eq(buffers_cached(0), 0);
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 200));
	for (i = 0; i < n; i++) {
		ckit_disown(kit, block[i]);
		ck_assert(mam_base_free(base, block[i]));
	}
	alone_destroy(kit);
}
END_TEST

/* ---- choice of a FIFO ------------------------------------------------------------------------ */

static uint32_t chosen[6]; /* one mask per 1 << i FIFOs, with a bit for each FIFO; atomic */

static MAM_KERNEL(choose)
{
	uint32_t i, which;

	(void)argument;
	for (i = 0; i < 6; i++) {
		which = mam_buffers_choose(1u << i);
		MAM_KASSERT(which < 1u << i);
		(void)mam_atomic_or32(&chosen[i], 1u << which, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

static void all_chosen(uint32_t grid, uint32_t block, int shape)
{
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	simt_set_shape(&config, (uint64_t)shape);
	ck_assert_msg(simt_launch(&config, choose, grid, block, NULL, &result) == SIMT_FINE, "%s",
		      result.text);
}

/* Of 32 FIFOs, 128 random choices miss at most about one in fifty. */
static void chosen_well(void)
{
	uint32_t i;

	for (i = 0; i < 5; i++)
		ck_assert_uint_eq(chosen[i], (uint32_t)(((uint64_t)1 << (1u << i)) - 1));
	ck_assert_uint_ge(mam_popc32(chosen[5]), 27);
}

/* Thread, block and time: if two of them are equal, the third one makes a difference. */
START_TEST(fifo_choices_are_spread)
{
	int shape = _i / 5, way = _i % 5;
	uint32_t i;

	memset(chosen, 0, sizeof(chosen));
	clock_now = 123456;
	if (way == 0)
		all_chosen(1, 128, shape);
	else if (way == 1)
		all_chosen(128, 1, shape);
	else if (way == 2)
		for (i = 0; i < 128; i++, clock_now++)
			all_chosen(1, 1, shape);
	else if (way == 3)
		for (i = 0; i < 128; i++, clock_now += 1000)
			all_chosen(1, 1, shape);
	else
		all_chosen(2, 64, shape);
	chosen_well();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("buffers");

	tcase_add_test(tcase, block_serves_only_its_class);
	tcase_add_test(tcase, large_blocks_are_not_cached);
	tcase_add_loop_test(tcase, without_buffers_base_gets_request, 0, 28);
	tcase_add_test(tcase, drain_counts_accepted_blocks);
	tcase_add_loop_test(tcase, block_out_of_reach_goes_to_base, 0, 12);
	tcase_add_test(tcase, free_of_null_goes_to_base);
	tcase_add_loop_test(tcase, blocks_of_other_classes_are_drained, 0, 6);
	tcase_add_loop_test(tcase, all_cached_blocks_of_class_are_found, 0, 6);
	tcase_add_loop_test(tcase, fifo_choices_are_spread, 0, 5 * SIMT_SHAPES);
	return ckit_run(tcase, "coalesce/buffers");
}
