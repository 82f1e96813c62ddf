/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_resize.c - mam_kcalloc(), mam_krealloc() and mam_kusable(): memory is cleared although it
 * was dirty, realloc copies the contents, an object stays in place where that is promised, and a
 * request that fails leaves the old object unchanged.
 */
#include <mam/heap.cuh>

#include "heap/objects/objects_kit.h"

#ifdef SIMT_HOOKS
#define SEEDS 12
#else
#define SEEDS 40
#endif

START_TEST(product_saturates_on_overflow)
{
	static const struct {
		size_t n, bytes, product;
	} rows[] = {
		{ 0, 0, 0 },
		{ 0, SIZE_MAX, 0 },
		{ 7, 0, 0 },
		{ 3, 5, 15 },
		{ 1, SIZE_MAX, SIZE_MAX },
		{ SIZE_MAX, 1, SIZE_MAX },
		{ (size_t)1 << 32, (size_t)1 << 31, (size_t)1 << 63 },
		{ (size_t)1 << 32, (size_t)1 << 32, SIZE_MAX },
		{ SIZE_MAX / 2, 3, SIZE_MAX },
		{ 2, SIZE_MAX / 2 + 1, SIZE_MAX },
		{ 2, SIZE_MAX / 2, SIZE_MAX - 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_uint_eq(mam_resize_product(rows[i].n, rows[i].bytes), rows[i].product);
}
END_TEST

/*
 * An object stays in place if it is large enough, and a new one would be more than half as large.
 */
START_TEST(object_stays_if_large_enough)
{
	for (size_t was = 1; was < 70000; was += 1 + was / 16) {
		size_t usable = okit_usable(was);

		for (size_t bytes = 1; bytes < 70000; bytes += 1 + bytes / 16)
			ck_assert_int_eq(mam_resize_stays(usable, bytes),
					 bytes <= usable && okit_usable(bytes) > usable / 2);
	}
	ck_assert(mam_resize_stays(16, 1));
	ck_assert(!mam_resize_stays(32, 16));
	ck_assert(mam_resize_stays(32, 17));
	ck_assert(!mam_resize_stays(32, 33));
	ck_assert(mam_resize_stays(20 << 10, (10 << 10) + 1));
	ck_assert(!mam_resize_stays(20 << 10, 10 << 10));
	ck_assert(!mam_resize_stays(20 << 10, SIZE_MAX));
}
END_TEST

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Memory that is dirty before the first run; later runs find what lanes wrote. */
static void explore(const char *name, simt_kernel *kernel, uint32_t grid, uint32_t block)
{
	struct okit *kit = okit_create(64, 2, NULL);

	memset(kit->space, 0xa5, (size_t)kit->blocks << MAM_BLOCK_SHIFT);
	okit_explore(kit, name, kernel, grid, block, SEEDS, okit_check_served);
	okit_destroy(kit);
}

/* The shadow records an object of its usable size. */
static void own(struct okit *kit, void *object, size_t bytes)
{
	size_t usable = mam_kusable(kit->heap, object);

	uint32_t unit = (uint32_t)(((unsigned char *)object - kit->space) >> MAM_UNIT_SHIFT);

	MAM_KASSERT(usable >= bytes && usable % 16 == 0);
	/* A short run may have the size of a power of two, but not its alignment. */
	if (okit_owner_of(kit, unit) > MAM_OWNER_FEW)
		usable = mam_class_bytes(mam_class_of(usable) - 1);
	okit_note(kit, object, usable);
}

static MAM_KERNEL(clear)
{
	struct okit *kit = argument;

	for (uint32_t round = 0; round < 3; round++) {
		size_t n = simt_random() % 9 + 1, bytes = simt_random() % 60 + 1, k;
		unsigned char *object = mam_kcalloc(kit->heap, n, bytes);

		MAM_KASSERT(object);
		own(kit, object, n * bytes);
		for (k = 0; k < n * bytes; k++)
			MAM_KASSERT(!object[k]);
		memset(object, 0xff, mam_kusable(kit->heap, object));
		okit_forget(kit, object);
		MAM_KASSERT(mam_kfree(kit->heap, object));
	}
}

START_TEST(calloc_clears_memory)
{
	explore("calloc", clear, 2, 40);
}
END_TEST

static uint64_t word_of(size_t k)
{
	return (uint64_t)(mam_block() * simt_block_threads() + simt_thread() + 1) << 32 | k;
}

/* Grows and shrinks: each step finds what the previous one wrote, up to the smaller size. */
static MAM_KERNEL(steps)
{
	struct okit *kit = argument;
	size_t words = 0, next, usable = 0, k;
	uint64_t *object = NULL, *was;
	bool stays;

	for (uint32_t step = 0; step < 6; step++) {
		next = 1 + simt_random() % (step % 3 == 2 ? 1300 : 40);
		was = object;
		if (object)
			okit_forget(kit, (unsigned char *)object);
		stays = object && mam_resize_stays(usable, next * 8);
		object = mam_krealloc(kit->heap, object, next * 8);
		MAM_KASSERT(object);
		MAM_KASSERT(!was || stays == (object == was));
		own(kit, object, next * 8);
		usable = mam_kusable(kit->heap, object);
		MAM_KASSERT(stays || okit_fits(next * 8, usable));
		for (k = 0; k < words && k < next; k++)
			MAM_KASSERT(object[k] == word_of(k));
		words = next;
		for (k = 0; k < words; k++)
			object[k] = word_of(k);
	}
	okit_forget(kit, (unsigned char *)object);
	MAM_KASSERT(!mam_krealloc(kit->heap, object, 0));
}

START_TEST(realloc_keeps_contents)
{
	explore("realloc", steps, 1, 34);
}
END_TEST

/* ---- one lane -------------------------------------------------------------------------------- */

/*
 * Growing without room returns NULL and leaves the old object unchanged. Shrinking without room
 * leaves it in place.
 */
START_TEST(failed_realloc_keeps_object)
{
	struct okit *kit = okit_create(2, 1, NULL);
	unsigned char *large = mam_kmalloc(kit->heap, 40 << 10), *small, *next;
	size_t k;

	ck_assert_ptr_nonnull(large);
	ck_assert_ptr_nonnull(small = mam_kmalloc(kit->heap, 8192));
	while (mam_kmalloc(kit->heap, 8192))
		;
	while (mam_kmalloc(kit->heap, 16))
		;
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_FULL), 2);
	for (k = 0; k < 8192; k++)
		small[k] = (unsigned char)(k * 7);
	ck_assert_ptr_null(mam_krealloc(kit->heap, small, 8193));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_FULL), 3);
	ck_assert_ptr_null(mam_krealloc(kit->heap, small, SIZE_MAX));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_TOO_LARGE), 1);
	ck_assert_uint_eq(mam_kusable(kit->heap, small), 8192);
	for (k = 0; k < 8192; k++)
		ck_assert_uint_eq(small[k], (unsigned char)(k * 7));
	ck_assert_ptr_eq(mam_krealloc(kit->heap, small, 100), small);
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_FULL), 4);
	ck_assert_uint_eq(mam_kusable(kit->heap, small), 8192);
	/* With room it moves to a smaller one. */
	ck_assert(mam_kfree(kit->heap, large));
	next = mam_krealloc(kit->heap, small, 100);
	ck_assert_ptr_nonnull(next);
	ck_assert_ptr_ne(next, small);
	ck_assert_uint_eq(mam_kusable(kit->heap, small), 0);
	for (k = 0; k < 100; k++)
		ck_assert_uint_eq(next[k], (unsigned char)(k * 7));
	okit_destroy(kit);
}
END_TEST

/* Each return value, and which counter increases. */
START_TEST(invalid_call_is_counted)
{
	struct okit *kit = okit_create(2, 1, NULL);
	struct mam_kheap *heap = kit->heap, other;
	char *object, *large, local[64];

	ck_assert_ptr_null(mam_kcalloc(heap, 0, 8));
	ck_assert_ptr_null(mam_kcalloc(heap, 8, 0));
	ck_assert_ptr_null(mam_krealloc(heap, NULL, 0));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_ZERO), 3);
	ck_assert_ptr_null(mam_kcalloc(heap, SIZE_MAX / 2, 4));
	ck_assert_ptr_null(mam_kcalloc(heap, (size_t)1 << 32, (size_t)1 << 32));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_TOO_LARGE), 2);

	object = mam_krealloc(heap, NULL, 100);
	large = mam_krealloc(heap, NULL, 20000);
	ck_assert_uint_eq(mam_kusable(heap, object), 112);
	ck_assert_uint_eq(mam_kusable(heap, large), 20 << 10);
	ck_assert_uint_eq(mam_kusable(heap, NULL), 0);
	ck_assert_uint_eq(mam_kusable(heap, object + 1), 0);
	ck_assert_uint_eq(mam_kusable(heap, object + 16), 0);
	ck_assert_uint_eq(mam_kusable(heap, object + 112), 0);
	ck_assert_uint_eq(mam_kusable(heap, large + 1024), 0);
	ck_assert_uint_eq(mam_kusable(heap, local), 0);
	ck_assert_uint_eq(mam_kusable(NULL, object), 0);
	for (int what = 0; what < MAM_OBJECT_TALLIES; what++)
		if (what != MAM_OBJECT_ZERO && what != MAM_OBJECT_TOO_LARGE)
			ck_assert_uint_eq(okit_tally(kit, what), 0);

	/* realloc rejects an invalid pointer too, with any size. */
	ck_assert_ptr_null(mam_krealloc(heap, object + 8, 100));
	ck_assert_ptr_null(mam_krealloc(heap, large + 1024, 0));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_INTERIOR), 2);
	ck_assert_ptr_null(mam_krealloc(heap, local, 100));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_FOREIGN), 1);
	ck_assert_uint_eq(mam_kusable(heap, object), 112);
	ck_assert_ptr_null(mam_krealloc(heap, object, 0));
	ck_assert_uint_eq(mam_kusable(heap, object), 0);
	ck_assert_ptr_null(mam_krealloc(heap, object, 100));
	ck_assert_ptr_null(mam_krealloc(heap, object, 0));
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_TWICE), 2);
	ck_assert_uint_eq(okit_tally(kit, MAM_OBJECT_ZERO), 3);

	/* A NULL heap, and a heap of another layout. */
	ck_assert_ptr_null(mam_kmalloc(NULL, 8));
	ck_assert_ptr_null(mam_kcalloc(NULL, 8, 8));
	ck_assert_ptr_null(mam_krealloc(NULL, NULL, 8));
	ck_assert_ptr_null(mam_krealloc(NULL, large, 8));
	ck_assert(!mam_kfree(NULL, large));
	other = *heap;
	other.layout++;
	ck_assert_ptr_null(mam_kmalloc(&other, 8));
	ck_assert_ptr_null(mam_kcalloc(&other, 8, 8));
	ck_assert_ptr_null(mam_krealloc(&other, large, 8));
	ck_assert(!mam_kfree(&other, large));
	ck_assert_uint_eq(mam_kusable(&other, large), 0);
	ck_assert(mam_kfree(heap, large));
	ck_assert(mam_kfree(heap, NULL));
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("resize");

	tcase_add_test(tcase, product_saturates_on_overflow);
	tcase_add_test(tcase, object_stays_if_large_enough);
	tcase_add_test(tcase, calloc_clears_memory);
	tcase_add_test(tcase, realloc_keeps_contents);
	tcase_add_test(tcase, failed_realloc_keeps_object);
	tcase_add_test(tcase, invalid_call_is_counted);
	return kit_run(tcase, "heap/resize");
}
